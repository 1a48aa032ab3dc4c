//! Frontmatter as JSON, with every field as its author wrote it.
//!
//! Plain scalars get their type in YAML 1.2's core schema; a number that JSON cannot hold stays text.

use grove_spec::yaml::{Scalar, YamlEntry, YamlNode, YamlValue as Yaml};
use grove_spec::{fence, yaml};
use serde_json::{Map, Value};

/// Returns the frontmatter of a skill file; none when it is not YAML that every reader reads alike.
pub(crate) fn as_json(file: &str) -> Option<Map<String, Value>> {
    let fenced = fence::split(file).ok()?;
    let entries = yaml::events::parse(fenced.frontmatter, 2).ok()?;
    Some(map(&entries))
}

fn map(entries: &[YamlEntry]) -> Map<String, Value> {
    let pairs = entries.iter();
    pairs
        .map(|entry| (entry.key.to_string(), value(&entry.value)))
        .collect()
}

// The parser refuses more than sixteen levels of nesting, so this recursion ends soon.
fn value(node: &YamlNode) -> Value {
    match &node.value {
        Yaml::Text(scalar) => scalar_value(scalar),
        Yaml::List(items) => Value::Array(items.iter().map(value).collect()),
        Yaml::Map(entries) => Value::Object(map(entries)),
    }
}

fn scalar_value(scalar: &Scalar) -> Value {
    let text = || Value::String(scalar.text.clone());
    if !scalar.plain {
        return text();
    }
    if scalar.is_null() {
        return Value::Null;
    }
    match scalar.text.as_str() {
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        other => number(other).unwrap_or_else(text),
    }
}

fn number(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(unsigned) {
        let whole: i64 = text.strip_prefix('+').unwrap_or(text).parse().ok()?;
        return Some(Value::from(whole));
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return i64::from_str_radix(hex, 16).ok().map(Value::from);
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return i64::from_str_radix(octal, 8).ok().map(Value::from);
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = all(whole)
        && all(part)
        && !(whole.is_empty() && part.is_empty())
        && exponent
            .is_none_or(|exponent| digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)));
    if !is_number {
        return None;
    }
    let float: f64 = text.parse().ok()?;
    serde_json::Number::from_f64(float).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_pass_through_as_they_are() {
        let file = "---\nname: pdf\ndescription: |\n  Two\n  lines\nmetadata:\n  version: 1.0\n  build: \"007\"\n  \
                    list: [a, 2, true]\nlicense: ~\n---\nbody";
        let expected = json!({
            "name": "pdf",
            "description": "Two\nlines\n",
            "metadata": { "version": 1.0, "build": "007", "list": ["a", 2, true] },
            "license": null,
        });
        assert_eq!(as_json(file).map(Value::Object), Some(expected));
        assert_eq!(as_json("no frontmatter"), None);
        assert_eq!(as_json("---\nname: a\ndescription: x: y\n---\n"), None);
    }

    #[test]
    fn scalars_are_those_of_the_core_schema() {
        for (plain, expected) in [
            ("1", json!(1)),
            ("-1", json!(-1)),
            ("+3", json!(3)),
            ("1.5", json!(1.5)),
            ("1e3", json!(1000.0)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("yes", json!("yes")),
            ("2026-01-02", json!("2026-01-02")),
            ("1.2.3", json!("1.2.3")),
            (".", json!(".")),
            (".inf", json!(".inf")),
            ("99999999999999999999", json!("99999999999999999999")),
            ("Null", Value::Null),
            ("TRUE", json!(true)),
            ("tRUE", json!("tRUE")),
        ] {
            let scalar = |plain_style| Scalar {
                text: plain.to_owned(),
                plain: plain_style,
            };
            assert_eq!(scalar_value(&scalar(true)), expected, "{plain}");
            assert_eq!(scalar_value(&scalar(false)), json!(plain), "quoted {plain}");
        }
    }
}
