//! JSON as the same tree that YAML gives, so that one reader of fields serves both and every value has its place.
//!
//! A library decides whether the text is JSON; the tree is then built with positions. Texts are quoted scalars,
//! numbers, `true`, `false` and `null` plain ones. Of a key that stands twice the last counts, as for every
//! reader of JSON.

use crate::diagnostic::Position;
use crate::yaml::{self, Entry, Node, Value};

/// Why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotJson {
    /// Where reading stopped.
    pub position: Position,
    /// What is wrong, without the place.
    pub message: String,
}

/// Reads a text; a byte order mark in front of it is not part of it.
pub fn parse(text: &str) -> Result<Node, NotJson> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let checked: Result<serde_json::Value, _> = serde_json::from_str(text);
    let refused = |position, message: String| NotJson { position, message };
    if let Err(error) = checked {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let position = Position::new(number(error.line()), number(error.column()));
        let whole = error.to_string();
        let message = whole.split(" at line ").next().unwrap_or_default();
        return Err(refused(position, message.to_owned()));
    }
    let mut walk = Walk {
        rest: text,
        line: 1,
        column: 1,
    };
    let node = walk.node();
    node.ok_or_else(|| refused(walk.position(), "not JSON".to_owned()))
}

/// A walk over a text that is known to be JSON and nested no deeper than the library allows.
struct Walk<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
}

impl Walk<'_> {
    fn position(&self) -> Position {
        Position::new(self.line, self.column)
    }

    /// Takes so many bytes.
    fn take(&mut self, bytes: usize) -> Option<&str> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        for c in taken.chars() {
            if c == '\n' {
                self.line = self.line.saturating_add(1);
                self.column = 1;
            } else {
                self.column = self.column.saturating_add(1);
            }
        }
        self.rest = rest;
        Some(taken)
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        let kept = self.rest.trim_start_matches(is_skipped).len();
        self.take(self.rest.len() - kept);
    }

    /// The next sign that is neither blank nor a separator.
    fn next(&mut self) -> Option<char> {
        self.skip(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | ',' | ':'));
        self.rest.chars().next()
    }

    fn node(&mut self) -> Option<Node> {
        let sign = self.next()?;
        let position = self.position();
        match sign {
            '{' => {
                self.take(1);
                let mut entries: Vec<Entry> = Vec::new();
                while self.next()? != '}' {
                    let position = self.position();
                    let key = yaml::key(&self.string()?);
                    let value = self.node()?;
                    entries.push(Entry {
                        key,
                        position,
                        value,
                    });
                }
                self.take(1);
                Some(Node::new(Value::Map(last_of_each(entries)), position))
            }
            '[' => {
                self.take(1);
                let mut items = Vec::new();
                while self.next()? != ']' {
                    items.push(self.node()?);
                }
                self.take(1);
                Some(Node::new(Value::List(items), position))
            }
            '"' => Some(Node::text(self.string()?, position)),
            _ => {
                let ends = |c: char| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace();
                let length = self.rest.find(ends).unwrap_or(self.rest.len());
                let word = self.take(length)?.to_owned();
                Some(Node::plain(word, position))
            }
        }
    }

    /// A text between quotes, with its escapes resolved by the library.
    fn string(&mut self) -> Option<String> {
        let mut escaped = false;
        let end = self.rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        })?;
        let quoted = self.take(end.0 + 1)?;
        serde_json::from_str(quoted).ok()
    }
}

fn last_of_each(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut seen = std::collections::BTreeSet::new();
    entries.reverse();
    entries.retain(|entry| seen.insert(entry.key.clone()));
    entries.reverse();
    entries
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(node: &Node) -> (u32, u32) {
        (node.position.line, node.position.column)
    }

    #[test]
    fn every_value_has_its_place() {
        let node =
            parse("\u{feff}{\n  \"a\": [1, \"é\\\"\",\n    {\"b\": null}],\n  \"c\": true\n}\n");
        let node = node.unwrap();
        let list = node.get("a").unwrap();
        let Value::List(items) = &list.value else {
            panic!("not a list");
        };
        assert_eq!(place(list), (2, 8));
        assert_eq!(place(&items[1]), (2, 12));
        assert_eq!(items[1].as_text(), Some("é\""));
        assert!(items[2].get("b").unwrap().is_null());
        assert_eq!(place(node.get("c").unwrap()), (4, 8));
        assert_eq!(node.as_map().unwrap()[1].position, Position::new(4, 3));
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        let node = parse("{\"a\": 1, \"b\": 2, \"a\": 3}").unwrap();
        assert_eq!(node.as_map().map(<[Entry]>::len), Some(2));
        assert_eq!(node.get("a").unwrap().as_text(), Some("3"));
    }

    #[test]
    fn what_is_no_json_says_where() {
        for (text, line) in [("", 1), ("{\n\"a\": }", 2), ("{} x", 1), ("[1,\n2,\n]", 3)] {
            assert_eq!(parse(text).unwrap_err().position.line, line, "{text:?}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(&deep).is_err());
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            ".*".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::vec((".*", inner), 0..4)
                    .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    fn same(node: &Node, value: &serde_json::Value) -> bool {
        match (&node.value, value) {
            (Value::Text(scalar), serde_json::Value::String(text)) => {
                !scalar.plain && scalar.text == *text
            }
            (Value::Text(scalar), other) => scalar.plain && scalar.text == other.to_string(),
            (Value::List(nodes), serde_json::Value::Array(items)) => {
                nodes.len() == items.len() && nodes.iter().zip(items).all(|(a, b)| same(a, b))
            }
            (Value::Map(entries), serde_json::Value::Object(map)) => {
                entries.len() == map.len()
                    && entries
                        .iter()
                        .all(|entry| map.get(&*entry.key).is_some_and(|b| same(&entry.value, b)))
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn the_tree_is_what_the_library_reads(value in value(), pretty: bool) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            prop_assert!(same(&parse(&text).unwrap(), &value), "{text}");
        }
    }
}
