//! The actions of one conversation on the catalog, as a value that is written, copied and resumed.
//!
//! A copy of a session is a fork. After a compaction [`DisclosureSession::active`] lists the texts to give again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::node::DisclosureNode;
use crate::snapshot::Snapshot;

/// The most nodes that are expanded, and the most skills that are active.
pub const MAX_KEPT: usize = 1_000;

/// The version of the format. A file of a later one may mean what this program does not know.
const VERSION: u64 = 1;

/// The state of one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DisclosureSession {
    version: u64,
    /// Keys of expanded nodes, the most recent last: a catalog that is too long closes the oldest first.
    expanded: Vec<String>,
    /// The texts that a model has, the most recent last: none is given twice, except after a compaction.
    active: Vec<ActiveSkill>,
    /// Inputs that stay as they were when the session began, so that its catalog stays the same text.
    pub frozen: FrozenInputs,
    /// The digest of the catalog that was shown last: later ones are shown as a difference to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
}

/// The inputs of a catalog that are taken once, when a session begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FrozenInputs {
    /// The names that come first.
    pub pinned: Vec<String>,
    /// The number of uses of each skill, by address.
    pub usage: BTreeMap<String, u32>,
    /// Names that may be shown; none means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
}

/// A skill that a model was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ActiveSkill {
    /// The address of the skill.
    pub address: String,
    /// The digest of the text that was given, as hexadecimal.
    pub digest: String,
    /// The arguments it was called with.
    pub arguments: Vec<String>,
    /// Set if a person called it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
}

/// The effect of an expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpandOutcome {
    /// Its children are in its place now.
    Expanded,
    /// Its children were in its place already.
    Already,
    /// It has no children.
    Leaf,
    /// Too many nodes are expanded.
    Full,
}

/// The effect of a collapse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollapseOutcome {
    /// It stands in its children's place again.
    Collapsed,
    /// It was not expanded.
    WasNot,
}

/// The effect of an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivateOutcome {
    /// It was not active, or not with these arguments.
    New,
    /// It was active and its text has changed since.
    Changed,
    /// It is active with the same text and arguments.
    Already,
    /// Too many skills are active.
    Full,
}

/// The reason why a text is not a usable session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionFault {
    /// Another version wrote it.
    #[error("it has version {0}, and this program knows version {VERSION}")]
    Version(u64),
    /// It is not in the form that was written.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

impl SessionFault {
    /// Returns advice on what to do about it.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Version(_) => {
                "use the program that wrote it, or give another file to start a new session"
            }
            Self::Damaged(_) => "restore the file from a copy, or remove it to start a new session",
        }
    }
}

impl DisclosureSession {
    /// Returns a session in which nothing has happened yet.
    pub fn new(frozen: FrozenInputs) -> Self {
        Self {
            version: VERSION,
            expanded: Vec::new(),
            active: Vec::new(),
            frozen,
            catalog: None,
        }
    }

    /// Reads what [`Self::print`] wrote. A damaged session is never replaced by a new one.
    pub fn parse(text: &str) -> Result<Self, SessionFault> {
        #[derive(Deserialize)]
        struct SessionVersion {
            version: u64,
        }
        let damaged = |error: serde_json::Error| SessionFault::Damaged(error.to_string());
        let SessionVersion { version } = serde_json::from_str(text).map_err(damaged)?;
        if version != VERSION {
            return Err(SessionFault::Version(version));
        }
        let session: Self = serde_json::from_str(text).map_err(damaged)?;
        for (what, count) in [
            ("expanded nodes", session.expanded.len()),
            ("active skills", session.active.len()),
        ] {
            if count > MAX_KEPT {
                let fault = format!("{count} {what}, more than {MAX_KEPT}");
                return Err(SessionFault::Damaged(fault));
            }
        }
        Ok(session)
    }

    /// Returns the session as text.
    pub fn print(&self) -> Result<String, SessionFault> {
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .map_err(|error| SessionFault::Damaged(error.to_string()))
    }

    /// Returns the keys of expanded nodes, the most recent last.
    pub fn expanded(&self) -> &[String] {
        &self.expanded
    }

    /// Returns the texts that a model has, the most recent last; a host gives them again after a compaction.
    pub fn active(&self) -> &[ActiveSkill] {
        &self.active
    }

    /// Puts a node's children in its place.
    pub fn expand(&mut self, snapshot: &Snapshot, node: &DisclosureNode) -> ExpandOutcome {
        if node.children(snapshot).is_empty() {
            return ExpandOutcome::Leaf;
        }
        let key = node.key(snapshot);
        if self.expanded.contains(&key) {
            return ExpandOutcome::Already;
        }
        if self.expanded.len() >= MAX_KEPT {
            return ExpandOutcome::Full;
        }
        self.expanded.push(key);
        ExpandOutcome::Expanded
    }

    /// Puts a node, by its key, back in its children's place. Expanded nodes among those children stay so, for when it
    /// is expanded again.
    pub fn collapse(&mut self, key: &str) -> CollapseOutcome {
        match self.expanded.iter().position(|known| known == key) {
            Some(at) => {
                self.expanded.remove(at);
                CollapseOutcome::Collapsed
            }
            None => CollapseOutcome::WasNot,
        }
    }

    /// Records that a model is given a text.
    pub fn activate(&mut self, given: ActiveSkill) -> ActivateOutcome {
        let known = self.active.iter().position(|known| {
            (&known.address, &known.arguments, known.by_person)
                == (&given.address, &given.arguments, given.by_person)
        });
        let was = match known {
            Some(at) if self.active.get(at) == Some(&given) => return ActivateOutcome::Already,
            Some(at) => {
                self.active.remove(at);
                ActivateOutcome::Changed
            }
            None if self.active.len() >= MAX_KEPT => return ActivateOutcome::Full,
            None => ActivateOutcome::New,
        };
        self.active.push(given);
        was
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn active(address: &str, digest: &str, arguments: &[&str]) -> ActiveSkill {
        ActiveSkill {
            address: address.to_owned(),
            digest: digest.to_owned(),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            by_person: false,
        }
    }

    #[test]
    fn the_same_text_is_given_once() {
        let mut session = DisclosureSession::new(FrozenInputs::default());
        for (given, expected) in [
            (active("a@r", "1", &[]), ActivateOutcome::New),
            (active("a@r", "1", &[]), ActivateOutcome::Already),
            (active("a@r", "2", &[]), ActivateOutcome::Changed),
            (active("a@r", "2", &["x"]), ActivateOutcome::New),
            (active("a@r", "2", &[]), ActivateOutcome::Already),
            (active("b@r", "2", &[]), ActivateOutcome::New),
        ] {
            assert_eq!(session.activate(given.clone()), expected, "{given:?}");
        }
        let addresses = session
            .active()
            .iter()
            .map(|active| active.address.as_str());
        assert_eq!(addresses.collect::<Vec<_>>(), ["a@r", "a@r", "b@r"]);
    }

    #[test]
    fn a_session_is_bounded() {
        let mut session = DisclosureSession::new(FrozenInputs::default());
        for n in 0..MAX_KEPT {
            assert_eq!(
                session.activate(active(&n.to_string(), "d", &[])),
                ActivateOutcome::New
            );
        }
        assert_eq!(
            session.activate(active("more", "d", &[])),
            ActivateOutcome::Full
        );
        assert_eq!(
            session.activate(active("7", "other", &[])),
            ActivateOutcome::Changed
        );
        assert_eq!(session.active().len(), MAX_KEPT);
    }

    #[test]
    fn a_fault_is_an_error_and_says_which() {
        let good = DisclosureSession::new(FrozenInputs::default())
            .print()
            .unwrap();
        let many = vec!["\"k\""; MAX_KEPT + 1].join(",");
        for (text, version) in [
            (String::new(), None),
            ("null".to_owned(), None),
            ("{}".to_owned(), None),
            (good[..good.len() / 2].to_owned(), None),
            (good.replace("\"expanded\"", "\"other\""), None),
            (
                good.replace("\"expanded\": []", &format!("\"expanded\": [{many}]")),
                None,
            ),
            (good.replace("\"version\": 1", "\"version\": 2"), Some(2)),
            ("{\"version\": 9, \"anything\": true}".to_owned(), Some(9)),
            ("[".repeat(100_000), None),
        ] {
            let fault = DisclosureSession::parse(&text).unwrap_err();
            let found = match fault {
                SessionFault::Version(version) => Some(version),
                SessionFault::Damaged(_) => None,
            };
            assert_eq!(found, version, "{text:.60}");
        }
    }

    proptest! {
        #[test]
        fn a_session_comes_back_as_it_was_written(
            expanded in prop::collection::vec(".{0,12}", 0..6),
            given in prop::collection::vec((".{0,9}", "[0-9a-f]{4}", prop::collection::vec(".{0,9}", 0..3), any::<bool>()), 0..6),
            pinned in prop::collection::vec(".{0,9}", 0..4),
            usage in prop::collection::btree_map(".{0,9}", any::<u32>(), 0..4),
            names in prop::option::of(prop::collection::vec(".{0,9}", 0..4)),
            catalog in prop::option::of("[0-9a-f]{8}"),
        ) {
            let mut session = DisclosureSession::new(FrozenInputs { pinned, usage, names });
            session.expanded = expanded;
            session.catalog = catalog;
            for (address, digest, arguments, by_person) in given {
                session.activate(ActiveSkill { address, digest, arguments, by_person });
            }
            let text = session.print().unwrap();
            prop_assert_eq!(DisclosureSession::parse(&text), Ok(session));
        }
    }
}
