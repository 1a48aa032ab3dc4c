//! What things of a run are called. Ids follow from the plan and from what happened, never from chance.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A node of a plan: its position, and the key of an item where one step becomes several (`2`, `2.0`, `2[src-a]`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(String);

/// How the id of whoever looks at another's work ends.
const REVIEW: &str = ".review";

impl NodeId {
    /// The step at a position, counted from one.
    pub fn step(position: usize) -> Self {
        Self(position.to_string())
    }

    /// One of several at a step, counted from zero.
    #[must_use]
    pub fn member(&self, at: usize) -> Self {
        Self(format!("{self}.{at}"))
    }

    /// One of several at a step that runs for each item of a list.
    #[must_use]
    pub fn item(&self, key: &str) -> Self {
        Self(format!("{self}[{key}]"))
    }

    /// The step of an item, and whether this is whoever looks at its work.
    pub(crate) fn of_item(&self) -> Option<(Self, bool)> {
        let (step, rest) = self.0.split_once('[')?;
        let (_, end) = rest.rsplit_once(']')?;
        Some((Self(step.to_owned()), !end.is_empty()))
    }

    /// Whoever looks at the work of this one.
    #[must_use]
    pub fn reviewer(&self) -> Self {
        Self(format!("{self}{REVIEW}"))
    }

    /// Whose work this one looks at, by its name alone.
    pub(crate) fn author(&self) -> Option<Self> {
        let author = self.0.strip_suffix(REVIEW)?;
        Some(Self(author.to_owned()))
    }

    /// What belongs to the run as a whole.
    pub fn whole_run() -> Self {
        Self("run".to_owned())
    }

    /// As it is written.
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

/// One try at a node, counted from one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// The node.
    pub node: NodeId,
    /// Which try.
    pub n: u32,
}

impl Attempt {
    /// Its place among the tries at its node, counted from zero.
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

/// What kind of effect.
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
    /// Store what was done in a working tree.
    Capture,
    /// Remove a working tree.
    Remove,
    /// Look at the files before a child begins.
    Look,
    /// Gather what shows whether work counts.
    Verify,
    /// Find the items of a list.
    Expand,
    /// Put together what was said about the items of a list.
    Collect,
    /// Tell somebody what the run came to.
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

    /// The word for it.
    pub fn word(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(kind, _)| *kind == self)
            .map_or("", |(_, word)| word)
    }
}

/// One effect of a run. Issued again, it has the same id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId {
    /// Whose it is.
    pub of: Attempt,
    /// What is done.
    pub kind: EffectKind,
    /// Which one of its kind, counted from zero.
    pub k: u32,
}

impl EffectId {
    /// An effect of an attempt.
    pub fn new(of: &Attempt, kind: EffectKind, k: u32) -> Self {
        let of = of.clone();
        Self { of, kind, k }
    }

    /// The clock of the whole run, which is set anew when the run goes on after a pause.
    pub fn run_timer(k: u32) -> Self {
        let node = NodeId::whole_run();
        Self::new(&Attempt { node, n: 0 }, EffectKind::Timer, k)
    }

    /// Telling what the run came to, which is done again when it went on and came to something else.
    pub fn delivery(k: u32) -> Self {
        let node = NodeId::whole_run();
        Self::new(&Attempt { node, n: 0 }, EffectKind::Deliver, k)
    }

    /// Whether it belongs to the run as a whole.
    pub fn is_of_whole_run(&self) -> bool {
        self.of.node == NodeId::whole_run()
    }
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}.{}", self.of, self.kind.word(), self.k)
    }
}

/// A text is not the id of an effect.
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
