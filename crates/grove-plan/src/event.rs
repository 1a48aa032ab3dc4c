//! One fact about a run, and what facts say.

use std::collections::BTreeMap;
use std::path::PathBuf;

use grove_spec::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attention::Attention;
use crate::beginnings::WorkConflict;
use crate::contract::{Accepted, CheckEnd};
use crate::evidence::Seen;
use crate::ids::{Attempt, CallId, EffectId, NodeId};
use crate::state::Cause;
use crate::usage::Usage;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counted from one without a gap.
    pub seq: u64,
    /// When it was recorded.
    pub at: Times,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
}

/// Clocks as data. Durations are counted on the boot clock; wall time is for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Milliseconds since 1970.
    pub wall: u64,
    /// Milliseconds since the machine started.
    pub boot: u64,
}

impl Times {
    /// Milliseconds since an earlier moment: on the boot clock, or on the wall's after the machine was started anew.
    pub fn since(&self, earlier: Self) -> u64 {
        match self.boot.checked_sub(earlier.boot) {
            Some(passed) => passed,
            None => self.wall.saturating_sub(earlier.wall),
        }
    }
}

impl Fact {
    /// The child at work that tells it.
    pub fn told_by(&self) -> Option<&Attempt> {
        match self {
            Self::Told { of, .. }
            | Self::Found { of, .. }
            | Self::Compacted { of, .. }
            | Self::Noticed { of, .. }
            | Self::Turned { of, .. }
            | Self::Wasted { of, .. }
            | Self::Called { of, .. }
            | Self::Returned { of, .. } => Some(of),
            Self::Submitted { .. }
            | Self::Leased { .. }
            | Self::Answered { .. }
            | Self::Gone { .. }
            | Self::Wanted { .. }
            | Self::Fired { .. }
            | Self::Delegated { .. }
            | Self::Used { .. } => None,
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "camelCase")]
pub enum Fact {
    /// Somebody asked for the run.
    Submitted {
        /// The hash of the owner's token.
        owner: Digest,
        /// Submitting the same key again gives the same run.
        key: Option<String>,
        /// The child that asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
        /// What an earlier run of the same plan came to, which is not done again.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        reused: BTreeMap<NodeId, Reused>,
    },
    /// A child asked for a run of its own, or one below it did.
    Delegated {
        /// Which child.
        of: Attempt,
        /// The run.
        run: String,
        /// How many children it has.
        children: u64,
    },
    /// A run that a child asked for, or one below it, has spent something.
    Used {
        /// Which child.
        of: Attempt,
        /// What.
        usage: Usage,
        /// What that cost, in millionths, where it is known.
        cost: Option<u64>,
    },
    /// An executor took an effect.
    Leased {
        /// Which.
        effect: EffectId,
        /// The how-manieth holder this is, counted from one.
        epoch: u32,
        /// Who.
        holder: Holder,
    },
    /// What a child is told was put together from what others said.
    Told {
        /// Which child.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// The artifact with what it is told.
        told: Digest,
    },
    /// What was in a child's answer file before it began.
    Found {
        /// Which child.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// The file.
        file: FoundFile,
    },
    /// A conversation was too long for its model: it is told in short before one of its turns.
    Compacted {
        /// Whose conversation.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// How many turns of the session are told in short from now on.
        turns: u64,
    },
    /// A child may need somebody to look after it.
    Noticed {
        /// Which child.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// Why.
        why: Attention,
    },
    /// A model answered.
    Turned {
        /// Whose model.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// What it said and what that cost.
        turn: Turn,
    },
    /// A request took something and came to nothing. It is recorded before the next one is made.
    Wasted {
        /// Whose request.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// What it took.
        usage: Usage,
    },
    /// A tool is about to run.
    Called {
        /// Whose call.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// What is called.
        call: Call,
    },
    /// A tool has run.
    Returned {
        /// Whose call.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// Which call.
        call: CallId,
        /// What came of it.
        outcome: CallOutcome,
    },
    /// An effect is done.
    Answered {
        /// Which.
        effect: EffectId,
        /// The epoch in which it was done.
        epoch: u32,
        /// What came of it.
        outcome: Outcome,
    },
    /// The holder of an effect is no more.
    Gone {
        /// Which effect.
        effect: EffectId,
        /// Its epoch.
        epoch: u32,
        /// How that is known.
        why: String,
    },
    /// Somebody wants something.
    Wanted {
        /// Who, as people call it: a terminal, a server.
        by: String,
        /// Recording the same wish twice is recording it once.
        id: String,
        /// What.
        wish: Wish,
    },
    /// A time has passed.
    Fired {
        /// The timer.
        timer: EffectId,
    },
}

/// What a node came to in an earlier run of the same plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reused {
    /// What it said.
    pub output: Output,
    /// What it did in its working tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured: Option<CapturedWork>,
    /// The items that it ran for. What came of each is taken over, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Expanded>,
    /// Whether its work counts.
    #[serde(default)]
    pub accepted: Accepted,
}

/// The child that asked for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Its own run.
    pub run: String,
    /// The child.
    pub of: Attempt,
}

/// Who executes an effect: enough to tell whether it is still there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// When that process started, in ticks of the boot clock.
    pub start_time: u64,
    /// Which boot.
    pub boot_id: String,
    /// Which PID namespace.
    pub pid_namespace: u64,
}

/// Something that may be long: in the event itself, or an artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Body {
    /// In the event.
    Inline(Value),
    /// Beside the journal, by digest.
    Artifact(Digest),
}

/// One answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Its blocks: text, thinking, calls.
    pub content: Body,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended, in the provider's word.
    pub stop: String,
    /// What was asked beside what the child is told: of a program's first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<AddedText>,
}

/// What a program adds of its own to what its child is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddedText {
    /// The digest of the texts of its first request without what the child is told.
    pub digest: Digest,
    /// How long they are.
    pub bytes: usize,
    /// How the parts begin that are not there whole, once and in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_whole: Vec<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Its name in the journal, which no model and no program chooses.
    pub id: CallId,
    /// The name that the model or the program gave it. Nothing is found by it: it may come again, or be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// The tool.
    pub tool: String,
    /// What it is given.
    pub arguments: Body,
    /// Whether it can change something.
    pub writes: bool,
    /// Whether a program told of it when it had begun, so that it cannot be refused any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallOutcome {
    /// What the model is told.
    pub content: Body,
    /// Whether the call failed.
    pub is_error: bool,
    /// Whether what it began goes on, so that nothing is known of its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

/// What came of an effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum Outcome {
    /// The child ended.
    Ended(Ending),
    /// The child was told to stop.
    Told,
    /// The child was told something, and heard it after whatever is recorded before this.
    Sent {
        /// The artifact with the words.
        message: Digest,
    },
    /// Whether anything of it is left.
    Proved(Proof),
    /// A working tree was made.
    Made {
        /// Where.
        folder: PathBuf,
        /// What its set-up put there, by path from its top: none of it is the child's work.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        synthetic: Vec<String>,
        /// The commit that it begins with, where that has the work of others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<String>,
    },
    /// A working tree was not made: the work of others that it was to begin with cannot be merged.
    Conflicting {
        /// Which work, and in which files.
        conflict: WorkConflict,
        /// The artifact with what is said about it, and all patches.
        answer: Digest,
    },
    /// What was done in a working tree is stored.
    Captured(CapturedWork),
    /// The files were looked at before the child began.
    Looked(TreeBefore),
    /// What shows whether work counts was gathered, and its commands have ended.
    Checked(Box<Seen>),
    /// A working tree is no more.
    Removed,
    /// The items of a list were found.
    Expanded(Expanded),
    /// What was said about all items is put together.
    Collected(Output),
    /// The command that waits for it was told what the run came to.
    Delivered(Delivered),
    /// It could not be done: a working tree made, captured or removed, items found, outputs put together.
    Impossible {
        /// Why.
        why: String,
    },
}

/// What came of telling a command what a run came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// How it ended.
    pub end: CheckEnd,
    /// The artifact with what it printed.
    pub output: Digest,
}

/// The items that a step runs for, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expanded {
    /// The artifact with the list.
    pub list: Digest,
    /// The items.
    pub items: Vec<Item>,
}

/// One item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// What tells it from the others, as it stands in the id of its node.
    pub key: String,
    /// What its child is called while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The files before a child began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeBefore {
    /// The tree of all of them in version control; none where there is none.
    pub tree: Option<String>,
    /// Those that were staged.
    pub staged: Vec<String>,
}

/// A file as it was found, so that it is known whether it was written since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FoundFile {
    /// There was none.
    Absent,
    /// There was one.
    There {
        /// The digest of its content; none of a file that could not be read.
        digest: Option<Digest>,
        /// Its inode.
        inode: u64,
        /// When it was last changed, in nanoseconds since 1970.
        ctime: i64,
    },
}

/// What was done in a working tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedWork {
    /// The artifact with the patch, which was shown to apply to the commit that the tree began with.
    pub patch: Digest,
    /// That commit, where it has the work of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// How many files it changes.
    pub files: u64,
    /// The artifact with new files that version control ignores, as a tar archive.
    #[serde(default)]
    pub ignored: Option<Digest>,
    /// What was done in submodules that were checked out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<SubmoduleWork>,
    /// Why the tree has to stay: something in it is in neither.
    #[serde(default)]
    pub left: Option<String>,
}

/// What was done in a submodule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmoduleWork {
    /// Where it is, from the top of the working tree.
    pub path: String,
    /// The commit of the submodule that the patch applies to.
    pub base: String,
    /// The artifact with the patch. Its names begin with the path.
    pub patch: Digest,
    /// How many files it changes.
    pub files: u64,
    /// The artifact with new files that version control ignores there, as a tar archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<Digest>,
}

/// How a child ended, and what it had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// How.
    pub finish: Finish,
    /// What it had said by then, whatever the end.
    pub output: Output,
    /// What requests took that came to no answer.
    #[serde(default)]
    pub lost: Usage,
}

/// How a child ended, as its executor saw it. What that means is decided here, not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Finish {
    /// By itself.
    Answered,
    /// It was made to end.
    Interrupted,
    /// It asked something and waits for the answer.
    Asked(Question),
    /// It could not go on.
    Failed(Cause),
}

/// What a child asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The call with which it asked.
    pub call: CallId,
    /// What it wants to know.
    pub text: String,
}

/// What a child said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Output {
    /// The artifact with its last text.
    pub text: Option<Digest>,
    /// The artifact with the value that met the schema.
    pub structured: Option<Digest>,
    /// The file that it was written to.
    pub path: Option<String>,
    /// The artifact with what the child itself wrote to that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<Digest>,
    /// Why it is not in the file that it was to be written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsaved: Option<String>,
    /// Why its words are not the data that was asked for, where it gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_data: Option<String>,
    /// What it found, where it was to look at another's work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewVerdict>,
}

/// What somebody found who looked at another's work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewVerdict {
    /// What stands in the way.
    pub blockers: Vec<String>,
    /// What else was found.
    pub notes: Vec<String>,
}

/// Whether anything of a child is left running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Proof {
    /// Two scans in a row found nobody.
    Ended {
        /// How many scans it took.
        scans: u32,
    },
    /// Somebody may be left.
    NotProven {
        /// Why.
        why: String,
    },
}

/// What somebody wants of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "camelCase")]
pub enum Wish {
    /// That it ends; what it has is kept.
    Stop {
        /// Whether there is nothing to wait for.
        now: bool,
    },
    /// Nothing more: its owner has the result.
    Acknowledge,
    /// That a child, or everybody, stops in such a way that it can go on later.
    Pause {
        /// Which; everybody when nobody is named.
        node: Option<NodeId>,
    },
    /// That a child that waits or has ended goes on in its session.
    Resume {
        /// Which.
        node: NodeId,
        /// The artifact with what it is told, if anything.
        message: Option<Digest>,
    },
    /// That a child hears something while it works.
    Steer {
        /// Which.
        node: NodeId,
        /// The artifact with the words.
        message: Digest,
    },
    /// That a child that asked goes on with this answer.
    Answer {
        /// Which.
        node: NodeId,
        /// The artifact with the answer.
        answer: Digest,
    },
}
