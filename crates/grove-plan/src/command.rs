//! What is to be done next. A command is durable before anybody executes it.

use grove_spec::Digest;
use serde::{Deserialize, Serialize};

use crate::beginnings::EarlierWork;
use crate::ids::{Attempt, EffectId, EffectKind, NodeId};
use crate::state::{Continued, StopReason};

/// Something that an executor has to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "camelCase")]
pub enum Command {
    /// Drive a child until it ends, from its journal on where it has one.
    Start {
        /// Which try.
        of: Attempt,
        /// What it is told.
        told: Digest,
        /// With which model.
        model: String,
        /// The earlier try whose session it goes on in.
        #[serde(default)]
        continues: Option<Continued>,
    },
    /// Tell a child something, at the next moment at which it can hear.
    Send {
        /// Which try.
        of: Attempt,
        /// The artifact with the words.
        message: Digest,
    },
    /// Make a child end.
    Stop {
        /// Which try.
        of: Attempt,
        /// Why.
        why: StopReason,
        /// Whether there is nothing to wait for.
        now: bool,
    },
    /// Prove that nothing of a child is left running.
    Prove {
        /// Which try.
        of: Attempt,
    },
    /// Make a working tree for a child; what is left of an earlier one at its place goes first.
    MakeWorktree {
        /// Whose.
        node: NodeId,
        /// What it had come to before, which is put in.
        patch: Option<Digest>,
        /// The work of others that it begins with, in the order in which it is put in.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        begins: Vec<EarlierWork>,
    },
    /// Store what a child did in its working tree.
    Capture {
        /// Whose.
        node: NodeId,
    },
    /// Remove a working tree whose work is stored.
    RemoveWorktree {
        /// Whose.
        node: NodeId,
        /// The stored work.
        patch: Digest,
    },
    /// Look at the files before a child begins.
    Look {
        /// Whose.
        node: NodeId,
    },
    /// Gather what shows whether a child's work counts, and run its commands.
    Verify {
        /// Whose.
        node: NodeId,
    },
    /// Find the items that a step runs for.
    Expand {
        /// Which step.
        node: NodeId,
    },
    /// Put together what was said about all items of a step.
    Collect {
        /// Which step.
        node: NodeId,
    },
    /// Tell the command that waits for it what the run came to.
    Deliver,
    /// Say when a time has passed on the boot clock.
    Arm {
        /// How long.
        milliseconds: u64,
    },
}

/// What happens to an effect when its holder is gone and nobody knows whether it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It is done again: doing it twice is doing it once.
    Repeat,
    /// What is left of it is ended first; then it goes on from the journal.
    Probe,
}

impl EffectId {
    /// What happens to it when its holder is gone.
    pub fn on_doubt(&self) -> Doubt {
        match self.kind {
            EffectKind::Start => Doubt::Probe,
            _ => Doubt::Repeat,
        }
    }
}
