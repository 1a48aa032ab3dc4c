//! The ids of the things of a run. They follow from the plan and from what happened, never from chance.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A node of a plan: its position, and the key of an item where one step becomes several (`2`, `2.0`, `2[src-a]`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(String);

/// The end of the id of a node that reviews another's work.
const REVIEW: &str = ".review";

impl NodeId {
    /// The step at a position, counted from one.
    pub fn step(position: usize) -> Self {
        Self(position.to_string())
    }

    /// Returns one of several nodes at a step, counted from zero.
    #[must_use]
    pub fn member(&self, at: usize) -> Self {
        Self(format!("{self}.{at}"))
    }

    /// Returns one of several nodes at a step that runs for each item of a list.
    #[must_use]
    pub fn item(&self, key: &str) -> Self {
        Self(format!("{self}[{key}]"))
    }

    /// Returns the step of an item's node, and true if the node reviews the item's work.
    pub(crate) fn of_item(&self) -> Option<(Self, bool)> {
        let (step, rest) = self.0.split_once('[')?;
        let (_, end) = rest.rsplit_once(']')?;
        Some((Self(step.to_owned()), !end.is_empty()))
    }

    /// Returns the node that reviews the work of this one.
    #[must_use]
    pub fn reviewer(&self) -> Self {
        Self(format!("{self}{REVIEW}"))
    }

    /// Returns the node whose work this one reviews, by its name alone.
    pub(crate) fn author(&self) -> Option<Self> {
        let author = self.0.strip_suffix(REVIEW)?;
        Some(Self(author.to_owned()))
    }

    /// The id for everything that belongs to the run as a whole.
    pub fn whole_run() -> Self {
        Self("run".to_owned())
    }

    /// The id as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for NodeId {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An attempt at a node, counted from one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// The node that is attempted.
    pub node: NodeId,
    /// The number of the attempt.
    pub n: u32,
}

impl Attempt {
    /// The attempt that stands for a node in the names of its effects and files.
    pub fn none_at(node: &NodeId) -> Self {
        let node = node.clone();
        Self { node, n: 0 }
    }

    /// Its place among the attempts at its node, counted from zero.
    pub(crate) fn place(&self) -> Option<usize> {
        usize::try_from(self.n).ok()?.checked_sub(1)
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.node, self.n)
    }
}

/// The name that a model gives to a call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

/// The kind of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKind {
    /// Drive a child until it ends.
    Start,
    /// Make a child end.
    Stop,
    /// Prove that nothing of a child is left running.
    Prove,
    /// Tell when a time has passed.
    Timer,
    /// Tell a child something while it works.
    Send,
    /// Make a working tree.
    Make,
    /// Store the work that was done in a working tree.
    Capture,
    /// Remove a working tree.
    Remove,
    /// Look at the files before a child begins.
    Look,
    /// Gather the evidence on whether work counts.
    Verify,
    /// Find the items of a list.
    Expand,
    /// Put together the outputs of the items of a list.
    Collect,
    /// Tell a command the result of the run.
    Deliver,
}

impl EffectKind {
    const ALL: [(Self, &'static str); 13] = [
        (Self::Start, "start"),
        (Self::Stop, "stop"),
        (Self::Prove, "prove"),
        (Self::Timer, "timer"),
        (Self::Send, "send"),
        (Self::Make, "make"),
        (Self::Capture, "capture"),
        (Self::Remove, "remove"),
        (Self::Look, "look"),
        (Self::Verify, "verify"),
        (Self::Expand, "expand"),
        (Self::Collect, "collect"),
        (Self::Deliver, "deliver"),
    ];

    /// Returns the word for the kind.
    pub fn word(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(kind, _)| *kind == self)
            .map_or("", |(_, word)| word)
    }
}

/// The id of an effect of a run. An effect that is issued again has the same id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId {
    /// The attempt to which it belongs.
    pub of: Attempt,
    /// The kind of the effect.
    pub kind: EffectKind,
    /// Its number among the effects of its kind, counted from zero.
    pub k: u32,
}

impl EffectId {
    /// Returns the id of an effect of an attempt.
    pub fn new(of: &Attempt, kind: EffectKind, k: u32) -> Self {
        let of = of.clone();
        Self { of, kind, k }
    }

    /// The timer of the whole run, which is set anew when the run goes on after a pause.
    pub fn run_timer(k: u32) -> Self {
        let of = Attempt::none_at(&NodeId::whole_run());
        Self::new(&of, EffectKind::Timer, k)
    }

    /// The delivery of the result, which is done again when the run went on and came to another result.
    pub fn delivery(k: u32) -> Self {
        let of = Attempt::none_at(&NodeId::whole_run());
        Self::new(&of, EffectKind::Deliver, k)
    }

    /// Returns true if it belongs to the run as a whole.
    pub fn is_of_whole_run(&self) -> bool {
        self.of.node == NodeId::whole_run()
    }
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}.{}", self.of, self.kind.word(), self.k)
    }
}

/// The error for a text that is not the id of an effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the id of an effect")]
pub struct NotAnEffect(String);

impl FromStr for EffectId {
    type Err = NotAnEffect;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = || {
            let (of, effect) = text.rsplit_once('/')?;
            let (node, n) = of.rsplit_once('/')?;
            let (word, k) = effect.rsplit_once('.')?;
            let (kind, _) = EffectKind::ALL.iter().find(|(_, known)| *known == word)?;
            let of = Attempt {
                node: NodeId::from(node),
                n: n.parse().ok()?,
            };
            Some(Self::new(&of, *kind, k.parse().ok()?))
        };
        parts().ok_or_else(|| NotAnEffect(text.to_owned()))
    }
}

impl Serialize for EffectId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EffectId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_read_as_it_is_written() {
        for (node, n, kind, k, written) in [
            ("1", 1, EffectKind::Start, 0, "1/1/start.0"),
            ("2.0", 3, EffectKind::Prove, 2, "2.0/3/prove.2"),
            ("2[src/a]", 1, EffectKind::Stop, 0, "2[src/a]/1/stop.0"),
        ] {
            let of = Attempt {
                node: NodeId::from(node),
                n,
            };
            let id = EffectId::new(&of, kind, k);
            assert_eq!(id.to_string(), written);
            assert_eq!(written.parse(), Ok(id));
        }
        for wrong in ["", "1/1", "1/1/start", "1/x/start.0", "1/1/leap.0"] {
            assert!(wrong.parse::<EffectId>().is_err(), "{wrong}");
        }
    }
}
