//! The commands that are to be executed next. A command is durable before a process executes it.

use grove_spec::Digest;
use serde::{Deserialize, Serialize};

use crate::beginnings::EarlierWork;
use crate::ids::{Attempt, EffectId, EffectKind, NodeId};
use crate::state::{Continued, StopReason};

/// A piece of work for an executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "camelCase")]
pub enum Command {
    /// Drive a child until it ends, from its journal on where it has one.
    Start {
        /// The attempt that is driven.
        of: Attempt,
        /// The artifact with what the child is told.
        told: Digest,
        /// The model that answers it.
        model: String,
        /// The earlier attempt whose session it goes on in.
        #[serde(default)]
        continues: Option<Continued>,
    },
    /// Tell a child something, at the next moment at which it can hear.
    Send {
        /// The attempt that is told.
        of: Attempt,
        /// The artifact with the words.
        message: Digest,
    },
    /// Make a child end.
    Stop {
        /// The attempt that is to end.
        of: Attempt,
        /// The reason for ending it.
        why: StopReason,
        /// Set if the child gets no time to end by itself.
        now: bool,
    },
    /// Prove that nothing of a child is left running.
    Prove {
        /// The attempt of which nothing may be left.
        of: Attempt,
    },
    /// Make a working tree for a child; what is left of an earlier one at its place goes first.
    MakeWorktree {
        /// The node of the child.
        node: NodeId,
        /// The work that the node had done before, which is put in.
        patch: Option<Digest>,
        /// The work of other nodes that it begins with, in the order in which it is put in.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        begins: Vec<EarlierWork>,
    },
    /// Store what a child did in its working tree.
    Capture {
        /// The node of the child.
        node: NodeId,
    },
    /// Remove a working tree whose work is stored.
    RemoveWorktree {
        /// The node of the child.
        node: NodeId,
        /// The artifact with the stored work.
        patch: Digest,
    },
    /// Look at the files before a child begins.
    Look {
        /// The node of the child.
        node: NodeId,
    },
    /// Gather the evidence on whether a child's work counts, and run its commands.
    Verify {
        /// The node of the child.
        node: NodeId,
    },
    /// Find the items that a step runs for.
    Expand {
        /// The node of the step.
        node: NodeId,
    },
    /// Put together the outputs of all items of a step.
    Collect {
        /// The node of the step.
        node: NodeId,
    },
    /// Tell the command that waits for the end of the run about its result.
    Deliver,
    /// Report when a time has passed on the boot clock.
    Arm {
        /// The length of that time.
        milliseconds: u64,
    },
}

/// The treatment of an effect whose holder is gone, when it is not known whether it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It is done again: doing it twice is the same as doing it once.
    Repeat,
    /// Its remains are ended first; then it goes on from the journal.
    Probe,
}

impl EffectId {
    /// Returns the treatment of the effect when its holder is gone.
    pub fn on_doubt(&self) -> Doubt {
        match self.kind {
            EffectKind::Start => Doubt::Probe,
            _ => Doubt::Repeat,
        }
    }
}
