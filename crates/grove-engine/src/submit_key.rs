//! Keys by which a repeated request finds the run that it was given before.
//!
//! Keys are chosen freely, so a key counts only among those of its owner: the person, one client of the server, or one call
//! of a child. A key says nothing about the right to a run beyond that; the owner's token does.

use grove_plan::{Attempt, Parent};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A key together with its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SubmitKey(String);

/// The owner of a key that was chosen freely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyOwner<'a> {
    Person,
    /// A client of the server, by the name that it gives itself.
    Client(&'a str),
    /// A child that calls `grove`.
    Child(&'a Parent),
}

impl SubmitKey {
    /// Makes a key that its owner chose. Owners and keys may have any character and are never taken for one another.
    pub(crate) fn of(owner: KeyOwner<'_>, key: &str) -> Self {
        let parts = match owner {
            KeyOwner::Person => json!(["person", key]),
            KeyOwner::Client(name) => json!(["client", name, key]),
            KeyOwner::Child(child) => json!(["child", child.run, child.of.node, key]),
        };
        Self(parts.to_string())
    }

    /// Makes the key of a call by which a child asks other agents for something.
    pub(crate) fn of_call(run: &str, of: &Attempt, call: &str) -> Self {
        Self(format!("{run}/{of}/{call}"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use grove_plan::NodeId;

    use super::*;

    #[test]
    fn keys_of_different_owners_are_never_the_same() {
        let of = Attempt {
            node: NodeId::step(1),
            n: 1,
        };
        let child = Parent {
            run: "r".to_owned(),
            of: of.clone(),
        };
        let odd = [
            "",
            "x",
            "a/b",
            "\"",
            "\",\"",
            "r/1/1/x",
            "[\"person\",\"x\"]",
            "client",
        ];
        let mut keys = Vec::new();
        for key in odd {
            keys.push(SubmitKey::of(KeyOwner::Person, key));
            keys.push(SubmitKey::of(KeyOwner::Child(&child), key));
            keys.push(SubmitKey::of_call("r", &of, key));
            keys.extend(odd.map(|name| SubmitKey::of(KeyOwner::Client(name), key)));
        }
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(key), "{}", key.as_str());
        }
    }
}
