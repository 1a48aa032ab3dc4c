//! A skill's own keys about its place in a tree: `metadata.children` and `metadata.parent`.
//!
//! A child is the name of a folder below the skill's own, so a name that could lead elsewhere is refused. The code that
//! reads the folders checks that they exist.

use serde::{Deserialize, Serialize};

use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::hidden_text;
use crate::text::{first_names, is_control, one_line};
use crate::yaml::{YamlEntry, YamlNode, YamlValue};

/// The most children that a skill may name.
pub const MAX_CHILDREN: usize = 1_000;
/// The longest name of a folder, in bytes.
const MAX_SEGMENT: usize = 255;
const MAX_PARENT: usize = 1_024;

/// A skill's own keys about its place in a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeKeys {
    /// The children that the skill declares.
    pub children: Option<DeclaredValue<DeclaredChildren>>,
    /// The name or id of the skill's parent.
    pub parent: Option<DeclaredValue<String>>,
}

/// A value and its position in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredValue<T> {
    /// The value as declared.
    pub value: T,
    /// The position of the value.
    pub at: Position,
}

/// The folders below a skill's own that are its children.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeclaredChildren {
    /// Every folder with a skill file: `*`.
    Every,
    /// These folders, in this order; a name may appear twice.
    Named(Vec<String>),
}

pub(super) fn read(
    metadata: &[YamlEntry],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Box<TreeKeys>> {
    let find = |key: &str| {
        let entry = metadata.iter().find(|entry| entry.key == key)?;
        (!entry.value.is_null()).then_some(entry)
    };
    let keys = TreeKeys {
        children: find("children").and_then(|entry| children(entry, diagnostics)),
        parent: find("parent").and_then(|entry| parent(entry, diagnostics)),
    };
    (keys != TreeKeys::default()).then(|| Box::new(keys))
}

fn children(
    entry: &YamlEntry,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<DeclaredValue<DeclaredChildren>> {
    let at = entry.value.position;
    let names: Vec<(&str, Position)> = match &entry.value.value {
        YamlValue::Text(scalar) => scalar
            .text
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|name| !name.is_empty())
            .map(|name| (name, at))
            .collect(),
        YamlValue::List(items) => {
            let texts = items.iter().filter_map(|item| {
                let text = item.as_text();
                if text.is_none() {
                    diagnostics.push(wrong_kind("children", item, "a name"));
                }
                text.map(|text| (text.trim(), item.position))
            });
            texts.collect()
        }
        YamlValue::Map(_) => {
            let wanted = "names in a text or a list, or `*`";
            diagnostics.push(wrong_kind("children", &entry.value, wanted));
            return None;
        }
    };
    if names.iter().any(|(name, _)| *name == "*") {
        let value = DeclaredChildren::Every;
        return Some(DeclaredValue { value, at });
    }
    let mut kept = Vec::with_capacity(names.len().min(MAX_CHILDREN));
    for (name, at) in names.iter().take(MAX_CHILDREN) {
        if is_folder_name(name) {
            kept.push((*name).to_owned());
        } else {
            diagnostics.push(bad_name("children", name, *at));
        }
    }
    let beyond = names.get(MAX_CHILDREN..).unwrap_or_default();
    if !beyond.is_empty() {
        let beyond: Vec<String> = beyond.iter().map(|(name, _)| shown(name)).collect();
        let message = format!(
            "`metadata.children` has {} names, more than {MAX_CHILDREN}; the rest were left out: {}",
            names.len(),
            first_names(&beyond)
        );
        diagnostics.push(Diagnostic::new(Code::ChildLimit, message).at(at));
    }
    let value = DeclaredChildren::Named(kept);
    (value != DeclaredChildren::Named(Vec::new())).then_some(DeclaredValue { value, at })
}

fn parent(entry: &YamlEntry, diagnostics: &mut Vec<Diagnostic>) -> Option<DeclaredValue<String>> {
    let at = entry.value.position;
    let Some(text) = entry.value.as_text() else {
        diagnostics.push(wrong_kind("parent", &entry.value, "the name of one skill"));
        return None;
    };
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    if text.len() > MAX_PARENT || !text.split('/').all(is_folder_name) {
        diagnostics.push(bad_name("parent", text, at));
        return None;
    }
    let value = text.to_owned();
    Some(DeclaredValue { value, at })
}

/// Returns true if a text can only be the name of one folder, and of one that discovery enters.
fn is_folder_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_SEGMENT
        && name != "node_modules"
        && !name.starts_with('.')
        && !name.contains(['/', '\\'])
        && !name.chars().any(is_control)
        && hidden_text::find(name).is_empty()
}

fn bad_name(key: &str, name: &str, at: Position) -> Diagnostic {
    let message = format!(
        "`{}` under `metadata.{key}` cannot be the name of a skill's folder and was left out",
        shown(name)
    );
    Diagnostic::new(Code::ChildName, message).at(at)
}

fn wrong_kind(key: &str, node: &YamlNode, wanted: &str) -> Diagnostic {
    let message = format!("`metadata.{key}` has {}, not {wanted}", node.kind());
    Diagnostic::new(Code::FieldType, message).at(node.position)
}

/// The beginning of a text that may be hostile, on one line.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(80).collect();
    one_line(&hidden_text::strip(&start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::parse;

    fn read_keys(metadata: &str) -> (TreeKeys, Vec<(&'static str, u32)>) {
        let text = format!("---\nname: a\ndescription: d\nmetadata:\n{metadata}---\n");
        let parsed = parse(&text);
        let found = parsed
            .diagnostics
            .iter()
            .map(|d| (d.code.as_str(), d.position.map_or(0, |at| at.line)));
        let keys = parsed.skill.details().tree.as_deref().cloned();
        (keys.unwrap_or_default(), found.collect())
    }

    fn names(keys: &TreeKeys) -> Vec<&str> {
        match keys.children.as_ref().map(|declared| &declared.value) {
            None => vec![],
            Some(DeclaredChildren::Every) => vec!["*"],
            Some(DeclaredChildren::Named(names)) => names.iter().map(String::as_str).collect(),
        }
    }

    #[test]
    fn children_are_names_in_any_of_the_usual_forms() {
        for (metadata, expected) in [
            ("  children: one two\n", vec!["one", "two"]),
            ("  children: one, two,three\n", vec!["one", "two", "three"]),
            (
                "  children: [one, 'two words', 3]\n",
                vec!["one", "two words", "3"],
            ),
            ("  children:\n    - one\n    - two\n", vec!["one", "two"]),
            ("  children: one one\n", vec!["one", "one"]),
            ("  children: '*'\n", vec!["*"]),
            ("  children: ['*']\n", vec!["*"]),
            ("  children: [one, '*']\n", vec!["*"]),
            ("  children: >\n    one\n    two\n", vec!["one", "two"]),
            ("  children:\n", vec![]),
            ("  children: []\n", vec![]),
            ("  children: ' , '\n", vec![]),
            ("  other: one\n", vec![]),
        ] {
            let (keys, found) = read_keys(metadata);
            assert_eq!(names(&keys), expected, "{metadata}");
            assert_eq!(found, [], "{metadata}");
        }
    }

    #[test]
    fn a_star_that_is_not_quoted_is_not_yaml_and_is_understood() {
        let (keys, found) = read_keys("  children: *\n");
        assert_eq!(names(&keys), ["*"]);
        assert_eq!(found, [("yaml-repaired", 5)]);
    }

    #[test]
    fn a_parent_is_one_name_or_id() {
        for (metadata, expected) in [
            ("  parent: one\n", Some("one")),
            ("  parent: group/one\n", Some("group/one")),
            ("  parent:\n", None),
            ("  parent: ''\n", None),
        ] {
            let (keys, found) = read_keys(metadata);
            let parent = keys.parent.map(|declared| declared.value);
            assert_eq!(parent.as_deref(), expected, "{metadata}");
            assert_eq!(found, [], "{metadata}");
        }
    }

    #[test]
    fn what_is_no_name_is_left_out_and_placed() {
        let long = "x".repeat(MAX_SEGMENT + 1);
        for bad in [
            "..",
            ".",
            ".git",
            "a/b",
            "/etc",
            "../x",
            "a\\b",
            "node_modules",
            &long,
        ] {
            let metadata = format!("  x: y\n  children:\n    - good\n    - {bad}\n");
            let (keys, found) = read_keys(&metadata);
            assert_eq!(names(&keys), ["good"], "{bad}");
            assert_eq!(found, [("child-name", 8)], "{bad}");
        }
        for (metadata, expected) in [
            ("  children: {a: b}\n", vec![("field-type", 5)]),
            ("  children: [[a], b]\n", vec![("field-type", 5)]),
            ("  parent: [a]\n", vec![("field-type", 5)]),
            ("  parent: ../a\n", vec![("child-name", 5)]),
            ("  parent: a//b\n", vec![("child-name", 5)]),
            ("  children: \"a\\u0007b\"\n", vec![("child-name", 5)]),
            ("  children: \"a\\u202eb\"\n", vec![("child-name", 5)]),
        ] {
            assert_eq!(read_keys(metadata).1, expected, "{metadata}");
        }
    }

    #[test]
    fn names_beyond_the_limit_are_counted() {
        let many = |count: usize| {
            let names: Vec<String> = (0..count).map(|n| format!("n{n}")).collect();
            read_keys(&format!("  children: {}\n", names.join(" ")))
        };
        let (keys, found) = many(MAX_CHILDREN);
        assert_eq!((names(&keys).len(), found), (MAX_CHILDREN, vec![]));
        let (keys, found) = many(MAX_CHILDREN + 1);
        assert_eq!(
            (names(&keys).len(), found),
            (MAX_CHILDREN, vec![("child-limit", 5)])
        );
    }
}
