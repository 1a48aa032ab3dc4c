//! The items of a list: found by a pointer, told apart by a key.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::compose::{ItemValue, Variables, compose, missing_of_item};
use crate::event::Item;
use crate::plan::FanOut;
use crate::view::NodeView;

/// The greatest number of characters of a key as it is written.
const MAX_KEY: usize = 200;
/// The greatest number of characters of a key in the id of a node.
const MAX_KEY_OF_NODE: usize = 80;

/// The reason why a step runs for no items.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ItemsError {
    /// There is nothing where the list is to be.
    #[error("the output has nothing at `{0}`")]
    Nothing(String),
    /// There is something else.
    #[error("what the output has at `{0}` is no list")]
    NoList(String),
    /// The list is longer than it may be.
    #[error("{count} items are more than {most} (`maxItems`)")]
    TooMany {
        /// The number of items.
        count: usize,
        /// The greatest number that there may be.
        most: u64,
    },
    /// Two items cannot be told apart.
    #[error("two items have the key `{0}`")]
    SameKey(String),
    /// Two items cannot be told apart in the ids of nodes.
    #[error("two items have keys that are `{0}` when written as an id")]
    SameId(String),
    /// The task names something that an item does not have.
    #[error("item `{key}` has no `{{{missing}}}`")]
    Missing {
        /// The key of the item.
        key: String,
        /// The name that the task has.
        missing: String,
    },
    /// The key of an item is no word.
    #[error("the key of item {0} is no text and no number")]
    KeyKind(usize),
    /// An item has no key.
    #[error("item {at} has nothing at `{pointer}` (`key`)")]
    NoKey {
        /// The place of the item.
        at: usize,
        /// The place in it where the key is to be.
        pointer: String,
    },
    /// The key of an item cannot be shown.
    #[error("the key of item {0} is empty, too long or has control characters")]
    UnfitKey(usize),
}

impl FanOut {
    /// Returns the list in an output.
    pub fn list<'a>(&self, output: &'a Value) -> Result<&'a Vec<Value>, ItemsError> {
        let found = output.pointer(&self.path);
        let found = found.ok_or_else(|| ItemsError::Nothing(self.path.clone()))?;
        let list = found.as_array();
        list.ok_or_else(|| ItemsError::NoList(self.path.clone()))
    }

    /// Returns the items of a list, each with a key of its own and everything that the task and the label name.
    pub fn items(
        &self,
        list: &[Value],
        task: &str,
        label: Option<&str>,
    ) -> Result<Vec<Item>, ItemsError> {
        if list.len() as u64 > self.max_items {
            let (count, most) = (list.len(), self.max_items);
            return Err(ItemsError::TooMany { count, most });
        }
        let (mut written, mut of_nodes) = (BTreeSet::new(), BTreeSet::new());
        let mut items = Vec::with_capacity(list.len());
        for (at, value) in list.iter().enumerate() {
            let key = self.key_of(at, value)?;
            let of_node = key_of_node(&key);
            if !written.insert(key.clone()) {
                return Err(ItemsError::SameKey(key));
            }
            if !of_nodes.insert(of_node.clone()) {
                return Err(ItemsError::SameId(of_node));
            }
            for text in [Some(task), label].into_iter().flatten() {
                if let Some(missing) = missing_of_item(text, &self.item, value) {
                    let missing = missing.to_owned();
                    return Err(ItemsError::Missing { key, missing });
                }
            }
            let variables = Variables {
                item: Some(ItemValue {
                    name: self.item.clone(),
                    value: value.clone(),
                    key: of_node.clone(),
                }),
                ..Variables::default()
            };
            items.push(Item {
                key: of_node,
                label: label.map(|label| compose(label, &variables)),
            });
        }
        Ok(items)
    }

    /// Returns the outputs of all items, in their order.
    pub fn collected(&self, list: &[Value], said: &[NodeView]) -> Vec<Value> {
        let all = list.iter().zip(said).enumerate();
        all.map(|(at, (value, said))| {
            let key = self.key_of(at, value).unwrap_or_else(|_| at.to_string());
            collected_item(at, &key, value, said)
        })
        .collect()
    }

    fn key_of(&self, at: usize, value: &Value) -> Result<String, ItemsError> {
        let Some(pointer) = &self.key else {
            return Ok(at.to_string());
        };
        let key = match value.pointer(pointer) {
            Some(Value::String(text)) => text.clone(),
            Some(key @ (Value::Number(_) | Value::Bool(_))) => key.to_string(),
            Some(_) => return Err(ItemsError::KeyKind(at)),
            None => {
                let pointer = pointer.clone();
                return Err(ItemsError::NoKey { at, pointer });
            }
        };
        let is_fit = !key.trim().is_empty()
            && key.chars().count() <= MAX_KEY
            && !key.chars().any(char::is_control);
        is_fit.then_some(key).ok_or(ItemsError::UnfitKey(at))
    }
}

/// A key as it stands in the id of a node: small letters, digits and dashes.
fn key_of_node(key: &str) -> String {
    let letters = key.chars().map(|c| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    });
    let text: String = letters.take(MAX_KEY_OF_NODE).collect();
    let text = text.trim_matches('-');
    if text.is_empty() { "item" } else { text }.to_owned()
}

/// Returns true if these can be in ids of nodes, each once.
pub(crate) fn are_keys(items: &[Item]) -> bool {
    let mut seen = BTreeSet::new();
    items
        .iter()
        .all(|item| key_of_node(&item.key) == item.key && seen.insert(&item.key))
}

/// Returns the output of one item, in the form in which it is put together with the others.
fn collected_item(at: usize, key: &str, value: &Value, said: &NodeView) -> Value {
    let mut entry = json!({
        "key": key,
        "index": at,
        "item": value,
        "agent": said.agent,
        "text": said.output.text.clone().unwrap_or_default(),
    });
    if let Some(structured) = &said.output.structured {
        entry["structured"] = structured.clone();
    }
    if let Some(path) = &said.output.path {
        entry["outputPath"] = json!(path);
    }
    entry
}

#[cfg(test)]
mod tests {
    use grove_spec::Digest;

    use super::*;
    use crate::ids::NodeId;
    use crate::plan::Child;

    fn fan_out(key: Option<&str>) -> FanOut {
        FanOut {
            from: Some(NodeId::step(1)),
            items: None,
            path: "/files".to_owned(),
            item: "file".to_owned(),
            key: key.map(str::to_owned),
            max_items: 3,
            fail_if_empty: false,
            schema: None,
            child: Child::new("worker", Digest::of(b"told"), "p/m"),
            reviewer: None,
        }
    }

    #[test]
    fn items_are_found_or_it_is_said_why_not() {
        let path = Some("/path");
        for (key, output, expected) in [
            (
                path,
                json!({"files": [{"path": "src/A.rs"}, {"path": "b"}]}),
                Ok("src-a-rs b"),
            ),
            (
                None,
                json!({"files": [{"path": 1}, {"path": 1}]}),
                Ok("0 1"),
            ),
            (
                path,
                json!({"files": [{"path": 7}, {"path": true}]}),
                Ok("7 true"),
            ),
            (path, json!({"files": [{"path": "é"}]}), Ok("item")),
            (path, json!({"files": []}), Ok("")),
            (
                path,
                json!({"other": []}),
                Err("the output has nothing at `/files`"),
            ),
            (
                path,
                json!({"files": {}}),
                Err("what the output has at `/files` is no list"),
            ),
            (
                path,
                json!({"files": [{"path": "a"}, {"path": "a"}]}),
                Err("two items have the key `a`"),
            ),
            (
                path,
                json!({"files": [{"path": "a/b"}, {"path": "A b"}]}),
                Err("two items have keys that are `a-b` when written as an id"),
            ),
            (
                path,
                json!({"files": [{"path": " "}]}),
                Err("the key of item 0 is empty"),
            ),
            (
                path,
                json!({"files": [{"path": "a\nb"}]}),
                Err("the key of item 0 is empty"),
            ),
            (
                path,
                json!({"files": [{"path": []}]}),
                Err("the key of item 0 is no text"),
            ),
            (
                path,
                json!({"files": [{"x": 1}]}),
                Err("item 0 has nothing at `/path`"),
            ),
            (
                None,
                json!({"files": [{"x": 1}]}),
                Err("item `0` has no `{file.path}`"),
            ),
            (
                path,
                json!({"files": [{"path": 1}, {"path": 2}, {"path": 3}, {"path": 4}]}),
                Err("4 items are more than 3"),
            ),
        ] {
            let fan_out = fan_out(key);
            let found = fan_out
                .list(&output)
                .and_then(|list| fan_out.items(list, "look at {file.path} and {this}", None));
            match (found, expected) {
                (Ok(items), Ok(keys)) => {
                    let found: Vec<&str> = items.iter().map(|item| item.key.as_str()).collect();
                    assert_eq!(found.join(" "), keys, "{output}");
                    assert!(are_keys(&items), "{output}");
                }
                (Err(why), Err(message)) => assert!(why.to_string().starts_with(message), "{why}"),
                (found, expected) => panic!("{output}: {found:?} is not {expected:?}"),
            }
        }
        let list = [json!({"path": "a"})];
        let items = fan_out(path)
            .items(&list, "", Some("of {file.path}"))
            .unwrap();
        assert_eq!(items[0].label.as_deref(), Some("of a"));
        for strange in ["../x", "A", "", "a]"] {
            let item = Item {
                key: strange.to_owned(),
                label: None,
            };
            assert!(!are_keys(&[item]), "{strange}");
        }
    }
}
