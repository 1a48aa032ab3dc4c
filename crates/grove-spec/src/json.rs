//! JSON with positions, read into the same tree as YAML.
//!
//! `serde_json` gives the position of a syntax error but not of a value, and findings about chain files, manifests and
//! settings name a line. Nesting and the number of values are bounded.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::diagnostic::Position;
use crate::yaml::{self, Scalar, YamlEntry, YamlNode, YamlValue};

/// The deepest nesting of lists and objects.
pub const MAX_DEPTH: usize = 64;
/// The most values that a text may have.
pub const MAX_VALUES: usize = 400_000;

/// A JSON text as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json {
    /// The value. Text is a quoted scalar; numbers, `true`, `false` and `null` are plain ones.
    pub node: YamlNode,
    /// Keys that appear twice in one object; the last one counts, as in other readers.
    pub duplicates: Vec<(String, Position)>,
    /// The members of the outermost object in the order of the text.
    pub members: Vec<JsonMember>,
    /// The bytes of the items of the outermost list.
    pub items: Vec<Range<usize>>,
}

/// A member of the outermost object, with the bytes where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonMember {
    /// The key, without its quotes.
    pub key: String,
    /// Byte offset of the key, its quote included.
    pub start: usize,
    /// Byte offset of the value's start.
    pub value: usize,
    /// Byte offset of the value's end.
    pub end: usize,
}

/// The reason why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonFault {
    /// The fault in words.
    pub message: String,
    /// The place of the fault.
    pub position: Position,
}

/// Reads a text; a byte order mark before it is passed over.
pub fn parse(text: &str) -> Result<Json, JsonFault> {
    parse_values(text, MAX_VALUES)
}

/// Reads a text of at most `most` values.
pub fn parse_values(text: &str, most: usize) -> Result<Json, JsonFault> {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut reader = JsonReader {
        text,
        at: start,
        line: 1,
        marked: (start, 1),
        values: 0,
        most,
        duplicates: Vec::new(),
        members: Vec::new(),
        items: Vec::new(),
    };
    let node = reader.value(0)?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.fault("text after the value"));
    }
    Ok(Json {
        node,
        duplicates: reader.duplicates,
        members: reader.members,
        items: reader.items,
    })
}

/// A node as a JSON value. Plain scalars become numbers, `true`, `false` or `null` if they are such; all others become text.
pub fn value_of(node: &YamlNode) -> serde_json::Value {
    match &node.value {
        YamlValue::Text(scalar) if scalar.plain => {
            serde_json::from_str(&scalar.text).unwrap_or_else(|_| scalar.text.clone().into())
        }
        YamlValue::Text(scalar) => scalar.text.clone().into(),
        YamlValue::List(items) => items.iter().map(value_of).collect(),
        YamlValue::Map(entries) => {
            let members = entries.iter();
            members
                .map(|entry| (entry.key.to_string(), value_of(&entry.value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
    }
}

/// Returns a node's text; nothing for JSON's `42` and `true`, which are not text.
pub fn text_of(node: &YamlNode) -> Option<&str> {
    match &node.value {
        YamlValue::Text(scalar) if !scalar.plain => Some(&scalar.text),
        _ => None,
    }
}

/// A node as JSON in which every scalar but null is text, as it is written.
pub fn words_of(node: &YamlNode) -> serde_json::Value {
    match &node.value {
        YamlValue::Text(scalar) if scalar.is_null() => serde_json::Value::Null,
        YamlValue::Text(scalar) => scalar.text.clone().into(),
        YamlValue::List(items) => items.iter().map(words_of).collect(),
        YamlValue::Map(entries) => words_of_entries(entries),
    }
}

/// A map as JSON in which every scalar but null is text, as it is written.
pub fn words_of_entries(entries: &[YamlEntry]) -> serde_json::Value {
    let members = entries.iter();
    let members = members.map(|entry| (entry.key.to_string(), words_of(&entry.value)));
    serde_json::Value::Object(members.collect())
}

/// The name of a node's kind of value, in JSON's words.
pub fn kind_of(node: &YamlNode) -> &'static str {
    match &node.value {
        YamlValue::Text(scalar) if !scalar.plain => "text",
        YamlValue::Text(scalar) => match scalar.text.as_str() {
            "null" => "null",
            "true" | "false" => "true or false",
            _ => "a number",
        },
        YamlValue::List(_) => "a list",
        YamlValue::Map(_) => "an object",
    }
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// A place in the current line and its column. Positions are asked for in order, so a text without line ends is
    /// counted once and not from its start for every value.
    marked: (usize, u32),
    values: usize,
    most: usize,
    duplicates: Vec<(String, Position)>,
    members: Vec<JsonMember>,
    items: Vec<Range<usize>>,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => {
                    self.line = self.line.saturating_add(1);
                    self.marked = (self.at + 1, 1);
                }
                b' ' | b'\t' | b'\r' => {}
                _ => break,
            }
            self.at += 1;
        }
    }

    fn position(&mut self) -> Position {
        let (from, column) = self.marked;
        let before = self.text.get(from..self.at).unwrap_or_default();
        let more = u32::try_from(before.chars().count()).unwrap_or(u32::MAX);
        self.marked = (self.at, column.saturating_add(more));
        Position::new(self.line, self.marked.1)
    }

    fn fault(&mut self, message: impl Into<String>) -> JsonFault {
        JsonFault {
            message: message.into(),
            position: self.position(),
        }
    }

    // The depth is bounded, so the recursion is too.
    fn value(&mut self, depth: usize) -> Result<YamlNode, JsonFault> {
        self.blanks();
        if depth > MAX_DEPTH {
            return Err(self.fault(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.values += 1;
        if self.values > self.most {
            return Err(self.fault(format!("more than {} values", self.most)));
        }
        let position = self.position();
        let value = match self.peek() {
            Some(b'{') => YamlValue::Map(self.object(depth)?),
            Some(b'[') => YamlValue::List(self.list(depth)?),
            Some(b'"') => YamlValue::Text(Scalar {
                text: self.string()?,
                plain: false,
            }),
            Some(_) => YamlValue::Text(Scalar {
                text: self.word()?,
                plain: true,
            }),
            None => return Err(self.fault("the text ends where a value belongs")),
        };
        Ok(YamlNode::new(value, position))
    }

    fn list(&mut self, depth: usize) -> Result<Vec<YamlNode>, JsonFault> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.take(b']') {
            return Ok(items);
        }
        loop {
            self.blanks();
            let start = self.at;
            items.push(self.value(depth + 1)?);
            if depth == 0 {
                self.items.push(start..self.at);
            }
            if !self.goes_on(b']')? {
                return Ok(items);
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Vec<YamlEntry>, JsonFault> {
        self.at += 1;
        let mut entries: Vec<YamlEntry> = Vec::new();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        self.blanks();
        if self.take(b'}') {
            return Ok(entries);
        }
        loop {
            self.blanks();
            let (position, start) = (self.position(), self.at);
            if self.peek() != Some(b'"') {
                return Err(self.fault("a key in double quotes belongs here"));
            }
            let key = self.string()?;
            self.blanks();
            if !self.take(b':') {
                return Err(self.fault("a colon belongs after a key"));
            }
            self.blanks();
            let value_start = self.at;
            let value = self.value(depth + 1)?;
            if depth == 0 {
                self.members.push(JsonMember {
                    key: key.clone(),
                    start,
                    value: value_start,
                    end: self.at,
                });
            }
            let entry = YamlEntry {
                key: yaml::key(&key),
                position,
                value,
            };
            if let Some(slot) = known.get(&key).and_then(|at| entries.get_mut(*at)) {
                self.duplicates.push((key, position));
                *slot = entry;
            } else {
                known.insert(key, entries.len());
                entries.push(entry);
            }
            if !self.goes_on(b'}')? {
                return Ok(entries);
            }
        }
    }

    /// After an item, returns true if another one follows.
    fn goes_on(&mut self, end: u8) -> Result<bool, JsonFault> {
        self.blanks();
        if self.take(b',') {
            return Ok(true);
        }
        if self.take(end) {
            return Ok(false);
        }
        Err(self.fault(match self.peek() {
            None => "the text ends inside a list or object",
            Some(_) => "a comma or the end of a list or object belongs here",
        }))
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Reads a number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<String, JsonFault> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        let sound = serde_json::from_str::<serde::de::IgnoredAny>(word).is_ok();
        if !sound {
            return Err(self.fault("this is no JSON value"));
        }
        let word = word.to_owned();
        self.at += end;
        Ok(word)
    }

    fn string(&mut self) -> Result<String, JsonFault> {
        let (text, start) = (self.text, self.at);
        loop {
            self.at += 1;
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 1,
                Some(0..=0x1f) => return Err(self.fault("a control character in a string")),
                Some(_) => {}
                None => {
                    self.at = text.len();
                    return Err(self.fault("the text ends inside a string"));
                }
            }
        }
        self.at += 1;
        let written = text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(written).map_err(|error| {
            self.at = start + error.column().saturating_sub(1);
            self.fault("an escape that JSON does not have")
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_stand_where_they_stand() {
        let json = parse("{\n  \"a\": [1,\n    \"é\", true],\n \"b\": {}\n}\n").unwrap();
        let list = json.node.get("a").unwrap();
        assert_eq!(list.position, Position::new(2, 8));
        let YamlValue::List(items) = &list.value else {
            panic!("a list")
        };
        assert_eq!(items[1].position, Position::new(3, 5));
        assert_eq!(items[2].position, Position::new(3, 10));
        assert_eq!(text_of(&items[0]), None);
        assert_eq!(text_of(&items[1]), Some("é"));
    }

    #[test]
    fn the_last_of_two_equal_keys_counts_and_is_said() {
        let json = parse("{\"a\": 1,\n\"a\": 2}").unwrap();
        assert_eq!(value_of(&json.node), serde_json::json!({"a": 2}));
        assert_eq!(json.duplicates, [("a".to_owned(), Position::new(2, 1))]);
    }

    #[test]
    fn what_is_no_json_is_said_with_its_place() {
        for (text, line, column) in [
            ("", 1, 1),
            ("{\"a\": ", 1, 7),
            ("{\"a\" 1}", 1, 6),
            ("[1,]", 1, 4),
            ("[1\n2]", 2, 1),
            ("{a: 1}", 1, 2),
            ("\"a\nb\"", 1, 3),
            ("\"\\x\"", 1, 3),
            ("\"\\ud800\"", 1, 8),
            ("01", 1, 1),
            ("1 2", 1, 3),
            ("nul", 1, 1),
        ] {
            let fault = parse(text).unwrap_err();
            assert_eq!(fault.position, Position::new(line, column), "{text:?}");
        }
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(parse(&deep(MAX_DEPTH + 1)).is_ok());
        assert!(parse(&deep(MAX_DEPTH + 2)).is_err());
        assert!(parse(&"[".repeat(1_000_000)).is_err());
    }

    proptest! {
        #[test]
        fn it_reads_what_serde_json_reads(text in r#"([\[\]{},: \n]|"[a\\u0"]*"|[-0-9.eE]{1,4}|true|null){0,12}"#) {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            match parse(&text) {
                Ok(ours) => prop_assert_eq!(theirs.ok(), Some(value_of(&ours.node))),
                // A number beyond its range is the only valid JSON that `serde_json` refuses.
                Err(_) => prop_assert!(theirs.is_err(), "{}", text),
            }
        }

        #[test]
        fn what_is_written_is_read(text in any::<String>(), number in any::<i64>()) {
            let value = serde_json::json!({"k": [text, number, null, {"x": false}], "": {}});
            for written in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                prop_assert_eq!(value_of(&parse(&written).unwrap().node), value.clone());
            }
        }
    }
}
