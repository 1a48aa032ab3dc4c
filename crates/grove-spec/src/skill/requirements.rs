//! The conditions for using a skill, from `metadata.grove`, `metadata.openclaw` or `metadata.clawdbot`, written as
//! YAML, JSON or JSON5.
//!
//! Requirements that cannot be read make a skill unusable; otherwise a typing error would remove a condition.

use serde::{Deserialize, Serialize};

use super::fields::{bare, split_commas};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::text::{edits, one_line};
use crate::yaml::{MAX_DEPTH, Scalar, YamlEntry, YamlNode, YamlValue};

/// The keys of `metadata` that may hold requirements; the first one present counts.
pub const NAMESPACES: [&str; 3] = ["grove", "openclaw", "clawdbot"];

/// Returns true if a text that is not a mapping may have been meant to hold requirements.
pub(super) fn may_be_in(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains('{') || NAMESPACES.iter().any(|name| text.contains(name))
}

/// Conditions on the machine and the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirements {
    /// Operating systems that it works on, in lower case with `darwin` for macOS; empty means all.
    pub os: Vec<String>,
    /// Programs that must all be on the path.
    pub bins: Vec<String>,
    /// Programs of which one must be on the path.
    pub any_bins: Vec<String>,
    /// Environment variables that must all be set.
    pub env: Vec<String>,
    /// Configuration paths that must all be set and not false.
    pub config: Vec<String>,
    /// Set to skip programs, environment and configuration, but never the operating system.
    pub always: bool,
    /// The variable that a configured API key is for.
    pub primary_env: Option<String>,
    /// The key of its entry in the configuration; the name by default.
    pub skill_key: Option<String>,
    /// The ways to install missing programs, as written; the library never runs them.
    pub install: Vec<YamlNode>,
    /// The reason why the requirements could not be read.
    pub unreadable: Option<String>,
}

pub(super) fn read(
    metadata: &[YamlEntry],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Requirements> {
    // A namespace without a value sets nothing, and does not hide a later one.
    let said = metadata.iter().filter(|entry| !entry.value.is_null());
    let (namespace, entry) = NAMESPACES.iter().find_map(|name| {
        let mut said = said.clone();
        let entry = said.find(|entry| entry.key.eq_ignore_ascii_case(name));
        entry.map(|entry| (*name, entry))
    })?;
    let parsed;
    let node = match &entry.value.value {
        YamlValue::Text(scalar) => match json_to_node(&scalar.text, entry.value.position) {
            Some(node) => {
                parsed = node;
                &parsed
            }
            None => &entry.value,
        },
        _ => &entry.value,
    };
    let mut reader = RequirementsReader {
        namespace,
        unreadable: None,
    };
    let requirements = reader.requirements(node);
    if let Some(reason) = &requirements.unreadable {
        diagnostics.push(
            Diagnostic::new(Code::RequirementsUnreadable, reason.clone()).at(entry.value.position),
        );
    }
    Some(requirements)
}

struct RequirementsReader {
    namespace: &'static str,
    unreadable: Option<String>,
}

impl RequirementsReader {
    fn requirements(&mut self, node: &YamlNode) -> Requirements {
        if node.as_map().is_none() {
            let reason = format!(
                "`metadata.{}` is {}, not a mapping",
                self.namespace,
                node.kind()
            );
            return Requirements {
                unreadable: Some(reason),
                ..Requirements::default()
            };
        }
        let requires = node.get("requires");
        if requires.is_some_and(|node| node.as_map().is_none() && !node.is_null()) {
            self.fail("requires", "a mapping");
        }
        self.known_words("", &["os", "requires"], node);
        if let Some(requires) = requires {
            let words = ["bins", "anyBins", "env", "config"];
            self.known_words("requires.", &words, requires);
        }
        let nested = |key| requires.and_then(|node| node.get(key));
        let mut requirements = Requirements {
            os: self
                .list("os", node.get("os"))
                .iter()
                .map(|name| os_name(name))
                .collect(),
            bins: self.list("requires.bins", nested("bins")),
            any_bins: self.list("requires.anyBins", nested("anyBins")),
            env: self.list("requires.env", nested("env")),
            config: self.list("requires.config", nested("config")),
            always: node.get("always").is_some_and(is_true),
            primary_env: self.text("primaryEnv", node.get("primaryEnv")),
            skill_key: self.text("skillKey", node.get("skillKey")),
            install: match node.get("install").map(|node| &node.value) {
                Some(YamlValue::List(items)) => items.clone(),
                _ => Vec::new(),
            },
            unreadable: None,
        };
        requirements.unreadable = self.unreadable.take();
        requirements
    }

    /// Refuses a key that is nearly one of these: it was meant as a condition, which would not be checked.
    fn known_words(&mut self, path: &str, words: &[&'static str], node: &YamlNode) {
        for entry in node.as_map().unwrap_or_default() {
            let written = bare(&entry.key);
            let is_near = |word: &&&str| edits(&written, &bare(word), word.len() / 3).is_some();
            let meant = words.iter().find(is_near);
            if let Some(meant) = meant.filter(|meant| **meant != entry.key) {
                let key = format!("{path}{}", one_line(&entry.key));
                self.fail(&key, &format!("known; did you mean `{meant}`?"));
            }
        }
    }

    fn list(&mut self, key: &str, node: Option<&YamlNode>) -> Vec<String> {
        match node.map(|node| &node.value) {
            None => Vec::new(),
            Some(YamlValue::Text(scalar)) if scalar.is_null() => Vec::new(),
            Some(YamlValue::Text(scalar)) => split_commas(&scalar.text),
            Some(YamlValue::List(items)) => {
                let texts: Vec<String> = items
                    .iter()
                    .filter_map(|item| item.as_text().map(|text| text.trim().to_owned()))
                    .collect();
                if texts.len() != items.len() {
                    self.fail(key, "a list of names");
                }
                texts
            }
            Some(YamlValue::Map(_)) => {
                self.fail(key, "a list of names");
                Vec::new()
            }
        }
    }

    fn text(&mut self, key: &str, node: Option<&YamlNode>) -> Option<String> {
        let node = node.filter(|node| !node.is_null())?;
        let text = node.as_text().map(|text| text.trim().to_owned());
        if text.is_none() {
            self.fail(key, "text");
        }
        text
    }

    fn fail(&mut self, key: &str, wanted: &str) {
        self.unreadable
            .get_or_insert_with(|| format!("`metadata.{}.{key}` is not {wanted}", self.namespace));
    }
}

fn is_true(node: &YamlNode) -> bool {
    matches!(&node.value, YamlValue::Text(Scalar { text, plain: true }) if text == "true")
}

/// Returns one spelling for each operating system.
pub fn os_name(name: &str) -> String {
    match name.trim().to_ascii_lowercase().as_str() {
        "macos" | "mac" | "osx" | "darwin" => "darwin".to_owned(),
        "windows" | "win" | "win32" => "windows".to_owned(),
        other => other.to_owned(),
    }
}

/// Reads JSON or JSON5 text as a node, bounded in depth before it is parsed.
pub(super) fn json_to_node(text: &str, position: Position) -> Option<YamlNode> {
    if bracket_depth(text) > MAX_DEPTH {
        return None;
    }
    let value: serde_json::Value = json5::from_str(text).ok()?;
    Some(node_of(value, position))
}

/// The deepest nesting of brackets, those in strings included: an upper bound for any reader.
fn bracket_depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for b in text.bytes() {
        match b {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn node_of(value: serde_json::Value, position: Position) -> YamlNode {
    use serde_json::Value as Json;
    match value {
        Json::Null => YamlNode::plain("null", position),
        Json::Bool(flag) => YamlNode::plain(if flag { "true" } else { "false" }, position),
        Json::Number(number) => YamlNode::plain(number.to_string(), position),
        Json::String(text) => YamlNode::text(text, position),
        Json::Array(items) => YamlNode::new(
            YamlValue::List(
                items
                    .into_iter()
                    .map(|item| node_of(item, position))
                    .collect(),
            ),
            position,
        ),
        Json::Object(map) => {
            let entries = map.into_iter().map(|(key, value)| YamlEntry {
                key: key.into(),
                position,
                value: node_of(value, position),
            });
            YamlNode::new(YamlValue::Map(entries.collect()), position)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::skill::parse;

    fn requirements(frontmatter: &str) -> Option<super::Requirements> {
        let text = format!("---\nname: a\ndescription: d\n{frontmatter}---\n");
        parse(&text).skill.requirements.map(|boxed| *boxed)
    }

    #[test]
    fn every_spelling_means_the_same() {
        let spellings = [
            "metadata:\n  openclaw:\n    os: [macOS, linux]\n    requires:\n      bins: [git, gh]\n      anyBins: rg, grep\n      env: TOKEN\n    primaryEnv: TOKEN\n",
            "metadata: {\"openclaw\": {\"os\": [\"macos\", \"linux\"], \"requires\": {\"bins\": [\"git\", \"gh\"], \"anyBins\": [\"rg\", \"grep\"], \"env\": [\"TOKEN\"]}, \"primaryEnv\": \"TOKEN\"}}\n",
            "metadata: '{openclaw: {os: [\"darwin\", \"linux\",], requires: {bins: [\"git\", \"gh\"], anyBins: [\"rg\", \"grep\"], env: [\"TOKEN\"]}, primaryEnv: \"TOKEN\"}, /* c */ }'\n",
            "metadata:\n  clawdbot: \"{os: 'mac,linux', requires: {bins: 'git, gh', anyBins: ['rg', 'grep'], env: ['TOKEN']}, primaryEnv: 'TOKEN'}\"\n",
            "metadata:\n  {\n    \"grove\":\n      {\n        \"os\": [\"darwin\", \"linux\"],\n        \"requires\": { \"bins\": [\"git\", \"gh\"], \"anyBins\": [\"rg\", \"grep\"], \"env\": [\"TOKEN\"] },\n        \"primaryEnv\": \"TOKEN\",\n      },\n  }\n",
        ];
        for spelling in spellings {
            let read = requirements(spelling).unwrap_or_default();
            assert_eq!(read.unreadable, None, "{spelling}");
            assert_eq!(read.os, ["darwin", "linux"], "{spelling}");
            assert_eq!(read.bins, ["git", "gh"], "{spelling}");
            assert_eq!(read.any_bins, ["rg", "grep"], "{spelling}");
            assert_eq!(read.env, ["TOKEN"], "{spelling}");
            assert_eq!(read.primary_env.as_deref(), Some("TOKEN"), "{spelling}");
        }
    }

    #[test]
    fn unreadable_is_said_and_never_means_none() {
        for text in [
            "metadata: {openclaw: [a]}\n",
            "metadata: {openclaw: {requires: {bins: {a: b}}}}\n",
            "metadata: {openclaw: {requires: {env: [[a]]}}}\n",
            "metadata: {openclaw: {requires: text}}\n",
            "metadata:\n  openclaw: \"{requires: {bins: [\"\n",
            "metadata: '{\"openclaw\": {'\n",
        ] {
            assert!(
                requirements(text).is_some_and(|r| r.unreadable.is_some()),
                "{text}"
            );
        }
        for text in [
            "metadata: {}\n",
            "metadata: {other: {requires: 1}}\n",
            "metadata: hello\n",
            "",
        ] {
            assert_eq!(requirements(text), None, "{text}");
        }
    }

    #[test]
    fn always_is_a_real_boolean() {
        assert!(requirements("metadata: {grove: {always: true}}\n").is_some_and(|r| r.always));
        assert!(!requirements("metadata: {grove: {always: \"true\"}}\n").is_some_and(|r| r.always));
        assert!(!requirements("metadata: {grove: {always: yes}}\n").is_some_and(|r| r.always));
    }
}
