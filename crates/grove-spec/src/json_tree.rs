//! JSON with comments and trailing commas, as the tree that YAML is read into, with positions.
//!
//! Hosts write their settings so, and a finding without its line is of little use in a long file.

use crate::diagnostic::Position;
use crate::yaml::{self, Entry, Node, Value};

/// How deep lists and maps may nest.
const MAX_DEPTH: usize = 64;

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotJson {
    pub(crate) message: &'static str,
    pub(crate) position: Position,
}

/// Reads a text.
pub(crate) fn read(text: &str) -> Result<Node, NotJson> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader {
        text,
        offset: 0,
        places: Places::default(),
    };
    let node = reader.value(0)?;
    reader.blanks()?;
    if reader.offset < text.len() {
        return Err(reader.fault("more after the end"));
    }
    Ok(node)
}

struct Reader<'a> {
    text: &'a str,
    offset: usize,
    places: Places,
}

/// The last place that was asked for: each is at or after the one before, so a text is counted once.
#[derive(Default)]
struct Places {
    offset: usize,
    line: u32,
    column: u32,
}

impl Places {
    fn at(&mut self, text: &str, offset: usize) -> Position {
        let passed = text.get(self.offset..offset).unwrap_or_default();
        for c in passed.chars() {
            if c == '\n' {
                self.line = self.line.saturating_add(1);
                self.column = 0;
            } else {
                self.column = self.column.saturating_add(1);
            }
        }
        self.offset = self.offset.max(offset);
        Position::new(self.line.saturating_add(1), self.column.saturating_add(1))
    }
}

impl Reader<'_> {
    fn here(&mut self) -> Position {
        self.places.at(self.text, self.offset)
    }

    fn fault(&mut self, message: &'static str) -> NotJson {
        NotJson {
            message,
            position: self.here(),
        }
    }

    fn rest(&self) -> &str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_there = self.rest().starts_with(wanted);
        if is_there {
            self.offset += wanted.len_utf8();
        }
        is_there
    }

    /// Passes over blanks and comments.
    fn blanks(&mut self) -> Result<(), NotJson> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            self.offset += blank;
            let rest = self.rest();
            let comment = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                match rest.find("*/") {
                    Some(end) => end + 2,
                    None => return Err(self.fault("a comment does not end")),
                }
            } else {
                return Ok(());
            };
            self.offset += comment;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, NotJson> {
        self.blanks()?;
        let position = self.here();
        if depth > MAX_DEPTH {
            return Err(self.fault("nested too deeply"));
        }
        if self.takes('{') {
            return Ok(Node::new(Value::Map(self.entries(depth)?), position));
        }
        if self.takes('[') {
            return Ok(Node::new(Value::List(self.items(depth)?), position));
        }
        if self.rest().starts_with('"') {
            return Ok(Node::text(self.string()?, position));
        }
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '+' | '.'))
            .unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default().to_owned();
        let is_number = word.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            && serde_json::from_str::<serde_json::Number>(&word).is_ok();
        if !is_number && !matches!(word.as_str(), "true" | "false" | "null") {
            return Err(self.fault("no value where one is expected"));
        }
        self.offset += end;
        Ok(Node::plain(word, position))
    }

    fn entries(&mut self, depth: usize) -> Result<Vec<Entry>, NotJson> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            self.blanks()?;
            if self.takes('}') {
                return Ok(entries);
            }
            let position = self.here();
            if !self.rest().starts_with('"') {
                return Err(self.fault("no key where one is expected"));
            }
            let key = self.string()?;
            self.blanks()?;
            if !self.takes(':') {
                return Err(self.fault("no colon after a key"));
            }
            let value = self.value(depth + 1)?;
            entries.push(Entry {
                key: yaml::key(&key),
                position,
                value,
            });
            self.blanks()?;
            if !self.takes(',') && !self.rest().starts_with('}') {
                return Err(self.fault("no comma between two entries"));
            }
        }
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Node>, NotJson> {
        let mut items = Vec::new();
        loop {
            self.blanks()?;
            if self.takes(']') {
                return Ok(items);
            }
            items.push(self.value(depth + 1)?);
            self.blanks()?;
            if !self.takes(',') && !self.rest().starts_with(']') {
                return Err(self.fault("no comma between two items"));
            }
        }
    }

    fn string(&mut self) -> Result<String, NotJson> {
        let mut is_escaped = false;
        let end = self.rest().char_indices().skip(1).find(|(_, c)| {
            let is_end = *c == '"' && !is_escaped;
            is_escaped = *c == '\\' && !is_escaped;
            is_end
        });
        let Some((end, _)) = end else {
            return Err(self.fault("a text does not end"));
        };
        let quoted = self.rest().get(..=end).unwrap_or_default();
        let Ok(text) = serde_json::from_str(quoted) else {
            return Err(self.fault("a text that cannot be read"));
        };
        self.offset += end + 1;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn to_json(node: &Node) -> serde_json::Value {
        match &node.value {
            Value::Text(scalar) if scalar.plain => serde_json::from_str(&scalar.text).unwrap(),
            Value::Text(scalar) => scalar.text.clone().into(),
            Value::List(items) => items.iter().map(to_json).collect(),
            Value::Map(entries) => {
                let pairs = entries
                    .iter()
                    .map(|entry| (entry.key.to_string(), to_json(&entry.value)));
                serde_json::Value::Object(pairs.collect())
            }
        }
    }

    #[test]
    fn comments_and_commas_at_the_end_are_read_over_and_lines_are_counted() {
        let text = "// settings\n{\n  \"a\": [1, -2.5e3, true, null,], /* x\n */ \"b\": \"\\\"\\u00e9\\ud83d\\ude00//\",\n}\n";
        let node = read(text).unwrap();
        assert_eq!(
            to_json(&node),
            serde_json::json!({"a": [1, -2500.0, true, null], "b": "\"é😀//"})
        );
        let entries = node.as_map().unwrap();
        assert_eq!(entries[0].position, Position::new(3, 3));
        assert_eq!(entries[1].position, Position::new(4, 5));
    }

    #[test]
    fn what_is_not_json_is_placed() {
        for (text, line, column) in [
            ("", 1, 1),
            ("{\"a\": }", 1, 7),
            ("{\n\"a\" 1}", 2, 5),
            ("{\"a\": 1 \"b\": 2}", 1, 9),
            ("[1 2]", 1, 4),
            ("{a: 1}", 1, 2),
            ("[\"x]", 1, 2),
            ("{} x", 1, 4),
            ("/* x", 1, 1),
            ("[01]", 1, 2),
            ("[\"\\x\"]", 1, 2),
        ] {
            let fault = read(text).expect_err(text);
            assert_eq!(fault.position, Position::new(line, column), "{text:?}");
        }
        assert!(read(&"[".repeat(100_000)).is_err());
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i32>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_json_reads_as_it_does_elsewhere(value in json(), is_pretty in any::<bool>()) {
            let text = if is_pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            prop_assert_eq!(to_json(&read(&text).unwrap()), value);
        }

        #[test]
        fn no_text_is_too_much(text in "\\PC*|[\\[\\]{}:,\"0-9a-f/*\\\\ \n]*") {
            let _ = read(&text);
        }
    }
}
