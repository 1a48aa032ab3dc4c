//! Bounds on schemas that others wrote: their size, and the work that one value makes with them.
//!
//! References make a small schema large: two of them at each of 48 levels are 2^48 checks of one value. Here they are
//! followed and counted, without any of that work. What depends on the value is bounded where values are checked.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

const MOST_BYTES: usize = 256 << 10;
const MOST_LEVELS: usize = 64;
/// The most schemas that are applied to one value, references followed.
const MOST_STEPS: u64 = 65_536;
/// The most schemas that follow from one another, references followed.
const MOST_CHAIN: u64 = 192;
/// The most places that are followed for one name.
const MOST_PLACES: usize = 64;
const MOST_EXPRESSIONS: usize = 256;
const MOST_EXPRESSION_BYTES: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaBound {
    #[error("it has more than {MOST_BYTES} bytes")]
    Bytes,
    #[error("it has more than {MOST_LEVELS} levels")]
    Levels,
    #[error("with its references followed it has more than {MOST_STEPS} parts")]
    Steps,
    #[error("with its references followed it has more than {MOST_CHAIN} levels")]
    Chain,
    #[error("a part of it refers to itself for the same value")]
    Circle,
    #[error("it has more than {MOST_EXPRESSIONS} regular expressions")]
    Expressions,
    #[error("a regular expression in it has more than {MOST_EXPRESSION_BYTES} bytes")]
    ExpressionBytes,
}

/// Keywords whose schema is for the same value.
const SAME_VALUE: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords with a list of schemas for the same value.
const SAME_VALUE_LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "extends"];
/// Keywords that name a schema for the same value.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Returns an error that names the bound which a schema does not keep.
pub(crate) fn check(schema: &Value) -> Result<(), SchemaBound> {
    if serde_json::to_vec(schema).map_or(usize::MAX, |bytes| bytes.len()) > MOST_BYTES {
        return Err(SchemaBound::Bytes);
    }
    if is_deeper_than(schema, MOST_LEVELS) {
        return Err(SchemaBound::Levels);
    }
    let mut found = SchemaParts::default();
    found.collect(schema, "#", None);
    found.check_expressions()?;
    found.check_circles()?;
    let size = found.size();
    if size.steps > MOST_STEPS {
        return Err(SchemaBound::Steps);
    }
    if size.chain > MOST_CHAIN {
        return Err(SchemaBound::Chain);
    }
    Ok(())
}

fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let Some(left) = levels.checked_sub(1) else {
        return value.is_array() || value.is_object();
    };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper_than(item, left)),
        Value::Object(fields) => fields.values().any(|field| is_deeper_than(field, left)),
        _ => false,
    }
}

/// Every object and list of a schema by its place, whatever it is: a reference may lead to each.
#[derive(Debug, Default)]
struct SchemaParts<'a> {
    parts: BTreeMap<String, SchemaPart<'a>>,
    names: BTreeMap<&'a str, Vec<String>>,
    expressions: Vec<&'a str>,
}

/// The size of a part with everything that follows from it.
#[derive(Debug, Clone, Copy)]
struct PartSize {
    steps: u64,
    chain: u64,
}

impl PartSize {
    const ONE: Self = Self { steps: 1, chain: 1 };

    fn add(&mut self, inner: Self) {
        self.steps = self.steps.saturating_add(inner.steps);
        self.chain = self.chain.max(inner.chain.saturating_add(1));
    }
}

#[derive(Debug, Default)]
struct SchemaPart<'a> {
    inner: Vec<PartPlace>,
    references: Vec<&'a str>,
}

/// The place of a part in another one.
#[derive(Debug)]
struct PartPlace {
    place: String,
    /// True if both apply to the same value.
    is_same: bool,
}

impl<'a> SchemaParts<'a> {
    fn collect(&mut self, value: &'a Value, place: &str, keyword: Option<&str>) {
        let mut part = SchemaPart::default();
        match value {
            Value::Array(items) => {
                let is_same = keyword.is_some_and(|it| SAME_VALUE_LISTS.contains(&it));
                for (at, item) in items.iter().enumerate() {
                    let place = format!("{place}/{at}");
                    self.add(&mut part, item, None, PartPlace { place, is_same });
                }
            }
            Value::Object(fields) => {
                let is_by_name = keyword.is_some_and(|it| it.starts_with("dependen"));
                for (name, field) in fields {
                    let escaped = name.replace('~', "~0").replace('/', "~1");
                    let is_same = is_by_name
                        || SAME_VALUE.contains(&name.as_str())
                        || SAME_VALUE_LISTS.contains(&name.as_str())
                        || name.starts_with("dependen");
                    if keyword == Some("patternProperties") {
                        self.expressions.push(name);
                    }
                    self.take_words(&mut part, name, field, place);
                    let place = format!("{place}/{escaped}");
                    self.add(&mut part, field, Some(name), PartPlace { place, is_same });
                }
            }
            _ => {}
        }
        self.parts.insert(place.to_owned(), part);
    }

    fn add(
        &mut self,
        part: &mut SchemaPart<'a>,
        value: &'a Value,
        keyword: Option<&str>,
        at: PartPlace,
    ) {
        if value.is_array() || value.is_object() {
            self.collect(value, &at.place, keyword);
            part.inner.push(at);
        }
    }

    fn take_words(
        &mut self,
        part: &mut SchemaPart<'a>,
        name: &'a str,
        field: &'a Value,
        place: &str,
    ) {
        let Some(text) = field.as_str() else {
            return;
        };
        match name {
            "pattern" => self.expressions.push(text),
            "$anchor" | "$dynamicAnchor" | "$id" | "id" => {
                let places = self.names.entry(text.trim_start_matches('#')).or_default();
                places.push(place.to_owned());
            }
            name if REFERENCES.contains(&name) => part.references.push(text),
            _ => {}
        }
    }

    fn check_expressions(&self) -> Result<(), SchemaBound> {
        if self.expressions.len() > MOST_EXPRESSIONS {
            return Err(SchemaBound::Expressions);
        }
        let mut all = self.expressions.iter();
        if all.any(|text| text.len() > MOST_EXPRESSION_BYTES) {
            return Err(SchemaBound::ExpressionBytes);
        }
        Ok(())
    }

    /// Returns the places that a reference may lead to. One that leads elsewhere is refused when the schema is read.
    fn targets(&self, reference: &str) -> Vec<&str> {
        let known = |place: &str| self.parts.get_key_value(place).map(|(place, _)| &**place);
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let bases: Vec<&str> = if base.is_empty() {
            known("#").into_iter().collect()
        } else {
            self.named(base)
        };
        let fragment = percent_decoded(fragment);
        if fragment.is_empty() {
            return bases;
        }
        if fragment.starts_with('/') {
            let places = bases.iter().map(|base| format!("{base}{fragment}"));
            return places.filter_map(|place| known(&place)).collect();
        }
        self.named(&fragment)
    }

    fn named(&self, name: &str) -> Vec<&str> {
        let places = self.names.get(name).into_iter().flatten();
        places.map(String::as_str).take(MOST_PLACES).collect()
    }

    /// Returns every part that follows from one; true for those that apply to the same value.
    fn following(&self, place: &str) -> Vec<(&str, bool)> {
        let Some(part) = self.parts.get(place) else {
            return Vec::new();
        };
        let inner = part.inner.iter();
        let inner = inner.map(|at| (at.place.as_str(), at.is_same));
        let named = part.references.iter().flat_map(|it| self.targets(it));
        inner.chain(named.map(|place| (place, true))).collect()
    }

    /// Refuses a part that applies to the same value as itself, because it would be applied for ever.
    fn check_circles(&self) -> Result<(), SchemaBound> {
        let (mut done, mut under_way) = (BTreeSet::<&str>::new(), BTreeSet::<&str>::new());
        for start in self.parts.keys() {
            // Each part under way stands with the parts that follow from it and were not looked at.
            let mut path: Vec<(&str, Vec<&str>)> = Vec::new();
            let mut next = (!done.contains(start.as_str())).then_some(start.as_str());
            loop {
                if let Some(place) = next.take() {
                    if under_way.contains(place) {
                        return Err(SchemaBound::Circle);
                    }
                    if !done.contains(place) {
                        under_way.insert(place);
                        let same = self.following(place).into_iter();
                        let same = same.filter(|(_, is_same)| *is_same).map(|(it, _)| it);
                        path.push((place, same.collect()));
                    }
                }
                match path.last_mut() {
                    Some((_, left)) if !left.is_empty() => next = left.pop(),
                    Some((place, _)) => {
                        under_way.remove(place);
                        done.insert(*place);
                        path.pop();
                    }
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Counts the parts that are applied in all. A part already under way is for a deeper value and counts once.
    fn size(&self) -> PartSize {
        let mut known: BTreeMap<&str, PartSize> = BTreeMap::new();
        let mut under_way: BTreeSet<&str> = BTreeSet::new();
        // Each part under way stands with the parts that follow from it and were not looked at, and with its size so far.
        let mut path: Vec<(&str, Vec<&str>, PartSize)> = Vec::new();
        let mut next = Some("#");
        loop {
            if let Some(place) = next.take() {
                let counted = known.get(place).copied();
                let counted =
                    counted.or_else(|| under_way.contains(place).then_some(PartSize::ONE));
                match (counted, path.last_mut()) {
                    (Some(size), Some((_, _, above))) => above.add(size),
                    (Some(size), None) => return size,
                    (None, _) => {
                        under_way.insert(place);
                        let all = self.following(place).into_iter().map(|(it, _)| it);
                        path.push((place, all.collect(), PartSize::ONE));
                    }
                }
            }
            if let Some((_, left, _)) = path.last_mut()
                && let Some(place) = left.pop()
            {
                next = Some(place);
                continue;
            }
            let Some((place, _, size)) = path.pop() else {
                return PartSize::ONE;
            };
            under_way.remove(place);
            known.insert(place, size);
            match path.last_mut() {
                Some((_, _, above)) => above.add(size),
                None => return size,
            }
        }
    }
}

/// Returns a fragment with its `%` codes decoded: `%25` is a percent sign.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        if let Some(byte) = byte.filter(|_| *first == b'%') {
            bytes.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Makes a schema of so many levels, each with two references to the next one under a keyword.
    fn doubled(levels: usize, key: &str, keyword: &str) -> Value {
        let level = |at: usize| {
            let next = json!({ "$ref": format!("#/{key}/l{}", at + 1) });
            let both = match keyword {
                "if" => json!({ "if": next, "then": next }),
                "properties" => json!({ "properties": { "a": next, "b": next } }),
                "dependentSchemas" => json!({ "dependentSchemas": { "a": next, "b": next } }),
                list => json!({ list: [next, next] }),
            };
            (format!("l{at}"), both)
        };
        let mut levels: serde_json::Map<_, _> = (0..levels).map(level).collect();
        let last = format!("l{}", levels.len());
        levels.insert(last, json!({ "type": "object" }));
        json!({ "$ref": format!("#/{key}/l0"), key: levels })
    }

    /// Makes a schema of so many levels, each of which refers to the next one.
    fn chain(levels: usize) -> Value {
        let level = |at: usize| {
            (
                format!("l{at}"),
                json!({ "$ref": format!("#/$defs/l{}", at + 1) }),
            )
        };
        let mut levels: serde_json::Map<_, _> = (0..levels).map(level).collect();
        levels.insert(format!("l{}", levels.len()), json!(true));
        json!({ "$defs": levels, "$ref": "#/$defs/l0" })
    }

    #[test]
    fn a_schema_that_keeps_the_bounds_is_taken_and_another_is_refused_by_name() {
        let tree =
            json!({ "type": "object", "properties": { "children": { "items": { "$ref": "#" } } } });
        let words = json!({ "$defs": { "word": { "type": "string", "pattern": "^a+$" } },
            "properties": { "a": { "$ref": "#/$defs/word" }, "b": { "$ref": "#/$defs/word" } } });
        let deep = (0..70).fold(json!({}), |inner, _| json!({ "not": inner }));
        let many: serde_json::Map<_, _> = (0..300)
            .map(|at| (format!("{at}"), json!({ "pattern": "a" })))
            .collect();
        let circle = json!({ "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/b" }] }, "b": { "$ref": "#/$defs/a" } },
            "$ref": "#/$defs/a" });
        let anchored = json!({ "$anchor": "top", "anyOf": [{ "$ref": "#top" }] });
        for (schema, expected) in [
            (json!(true), Ok(())),
            (json!({ "type": "object" }), Ok(())),
            (tree, Ok(())),
            (words, Ok(())),
            (doubled(10, "$defs", "allOf"), Ok(())),
            (doubled(48, "$defs", "allOf"), Err(SchemaBound::Steps)),
            (chain(300), Err(SchemaBound::Chain)),
            (json!({ "$ref": "#" }), Err(SchemaBound::Circle)),
            (circle, Err(SchemaBound::Circle)),
            (anchored, Err(SchemaBound::Circle)),
            (
                json!({ "description": "x".repeat(300_000) }),
                Err(SchemaBound::Bytes),
            ),
            (deep, Err(SchemaBound::Levels)),
            (json!({ "properties": many }), Err(SchemaBound::Expressions)),
            (
                json!({ "pattern": "a".repeat(1025) }),
                Err(SchemaBound::ExpressionBytes),
            ),
            (
                json!({ "patternProperties": { "a".repeat(1025): {} } }),
                Err(SchemaBound::ExpressionBytes),
            ),
        ] {
            let text = schema.to_string();
            let start = &text[..text.len().min(80)];
            assert_eq!(check(&schema), expected, "{start}");
        }
    }

    proptest! {
        #[test]
        fn doubled_levels_are_refused_in_any_words(
            levels in 17..60_usize,
            key in "[a-z$%~/]{1,8}",
            keyword in 0..6_usize,
        ) {
            let keywords = ["allOf", "anyOf", "oneOf", "if", "properties", "dependentSchemas"];
            let escaped = key.replace('~', "~0").replace('/', "~1").replace('%', "%25");
            let text = doubled(levels, "KEY", keywords[keyword]).to_string();
            // The place is named by its escaped key, the field by the key itself.
            let key = Value::from(key).to_string();
            let text = text.replace("#/KEY/", &format!("#/{escaped}/")).replace("\"KEY\"", &key);
            let schema: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(check(&schema), Err(SchemaBound::Steps));
        }
    }
}
