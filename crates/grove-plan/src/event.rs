//! The events of a run: each records one fact, with its data.

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
    /// The number of the event, counted from one without a gap.
    pub seq: u64,
    /// The time at which it was recorded.
    pub at: Times,
    /// The fact that it records.
    #[serde(flatten)]
    pub fact: Fact,
}

/// Clocks as data. Durations are counted on the boot clock; wall time is for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Wall time, in milliseconds since 1970.
    pub wall: u64,
    /// Boot time, in milliseconds since the machine started.
    pub boot: u64,
}

impl Times {
    /// Milliseconds since an earlier moment: on the boot clock, or on the wall clock after the machine was restarted.
    pub fn since(&self, earlier: Self) -> u64 {
        match self.boot.checked_sub(earlier.boot) {
            Some(passed) => passed,
            None => self.wall.saturating_sub(earlier.wall),
        }
    }
}

impl Fact {
    /// The child at work that reports it.
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

/// A fact about a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "camelCase")]
pub enum Fact {
    /// A caller asked for the run.
    Submitted {
        /// The hash of the owner's token.
        owner: Digest,
        /// The key of the submission: the same key again gives the same run.
        key: Option<String>,
        /// The child that asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
        /// The results of an earlier run of the same plan, which are not produced again.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        reused: BTreeMap<NodeId, Reused>,
    },
    /// A child asked for a run of its own, or one below it did.
    Delegated {
        /// The child that asked.
        of: Attempt,
        /// The id of the new run.
        run: String,
        /// The number of children that it has.
        children: u64,
    },
    /// A run that a child asked for, or one below it, has spent something.
    Used {
        /// The child that asked for it.
        of: Attempt,
        /// The tokens that it spent.
        usage: Usage,
        /// The cost of these tokens, in millionths, where it is known.
        cost: Option<u64>,
    },
    /// An executor took an effect.
    Leased {
        /// The effect that it took.
        effect: EffectId,
        /// The number of this holder of the effect, counted from one.
        epoch: u32,
        /// The process that took it.
        holder: Holder,
    },
    /// The text for a child was put together from the outputs of other nodes.
    Told {
        /// The child that is told it.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// The artifact with what it is told.
        told: Digest,
    },
    /// A child's answer file was looked at before the child began.
    Found {
        /// The child whose file it is.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// The file as it was found.
        file: FoundFile,
    },
    /// A conversation was too long for its model: it is told in short before one of its turns.
    Compacted {
        /// The child whose conversation it is.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// The number of turns of the session that are told in short from now on.
        turns: u64,
    },
    /// A child may need a person to look after it.
    Noticed {
        /// The child that may need it.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// The reason for the notice.
        why: Attention,
    },
    /// A model gave an answer.
    Turned {
        /// The child whose model answered.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// The answer with its cost.
        turn: Turn,
    },
    /// A request used tokens and brought no answer. It is recorded before the next one is made.
    Wasted {
        /// The child that made the request.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// The tokens that it used.
        usage: Usage,
    },
    /// A tool is about to run.
    Called {
        /// The child that calls it.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// The call that is about to run.
        call: Call,
    },
    /// A tool has run.
    Returned {
        /// The child that called it.
        of: Attempt,
        /// The epoch of its start.
        epoch: u32,
        /// The id of the call.
        call: CallId,
        /// The outcome of the call.
        outcome: CallOutcome,
    },
    /// An effect is done.
    Answered {
        /// The effect that is done.
        effect: EffectId,
        /// The epoch in which it was done.
        epoch: u32,
        /// The outcome of the effect.
        outcome: Outcome,
    },
    /// The holder of an effect no longer exists.
    Gone {
        /// The effect that it held.
        effect: EffectId,
        /// The epoch in which it held the effect.
        epoch: u32,
        /// The evidence that it is gone.
        why: String,
    },
    /// A person or program has a wish for the run.
    Wanted {
        /// The name of that person or program, such as a terminal or a server.
        by: String,
        /// The id of the wish: recording it twice is the same as recording it once.
        id: String,
        /// The wish that was recorded.
        wish: Wish,
    },
    /// A time has passed.
    Fired {
        /// The id of the timer.
        timer: EffectId,
    },
}

/// The result of a node in an earlier run of the same plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reused {
    /// The output of the node.
    pub output: Output,
    /// The work that it did in its working tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured: Option<CapturedWork>,
    /// The items that it ran for. The result of each is taken over, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Expanded>,
    /// The verdict on its work.
    #[serde(default)]
    pub accepted: Accepted,
}

/// The child that asked for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The run to which it belongs.
    pub run: String,
    /// The child that asked.
    pub of: Attempt,
}

/// The process that executes an effect, with enough data to tell whether it still exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// The id of the process.
    pub pid: u32,
    /// The time at which the process started, in ticks of the boot clock.
    pub start_time: u64,
    /// The boot of the machine in which it runs.
    pub boot_id: String,
    /// The PID namespace in which it runs.
    pub pid_namespace: u64,
}

/// A value that may be long: in the event itself, or an artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Body {
    /// The value in the event.
    Inline(Value),
    /// The digest of an artifact beside the journal.
    Artifact(Digest),
}

/// One answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Its blocks: text, thinking, calls.
    pub content: Body,
    /// The tokens that it used.
    pub usage: Usage,
    /// The reason why it ended, in the provider's word.
    pub stop: String,
    /// Text that a program's first request had beside what the child is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<AddedText>,
}

/// The text that a program adds of its own to what its child is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddedText {
    /// The digest of the texts of its first request without what the child is told.
    pub digest: Digest,
    /// The length of these texts.
    pub bytes: usize,
    /// The beginnings of the parts of the child's text that are not there whole, once and in order.
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
    /// The tool that is called.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: Body,
    /// Set if it can change something.
    pub writes: bool,
    /// Set if a program reported it after it had begun, so that it cannot be refused any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallOutcome {
    /// The content that the model is told.
    pub content: Body,
    /// Set if the call failed.
    pub is_error: bool,
    /// Set if what it began goes on, so that nothing is known of its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

/// The outcome of an effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum Outcome {
    /// The child has ended.
    Ended(Ending),
    /// The child was told to stop.
    Told,
    /// The child was told something, and heard it after everything that is recorded before this.
    Sent {
        /// The artifact with the words.
        message: Digest,
    },
    /// A search for processes of the child that are left has ended.
    Proved(Proof),
    /// A working tree was made.
    Made {
        /// The folder of the tree.
        folder: PathBuf,
        /// Paths from its top that its set-up put there: none of it is the child's work.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        synthetic: Vec<String>,
        /// The commit that it begins with, if that commit has the work of other nodes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<String>,
    },
    /// A working tree was not made: the work of other nodes that it was to begin with cannot be merged.
    Conflicting {
        /// The conflicting work and the files of the conflict.
        conflict: WorkConflict,
        /// The artifact with a description of the conflict, and all patches.
        answer: Digest,
    },
    /// The work in a working tree is stored.
    Captured(CapturedWork),
    /// The files were looked at before the child began.
    Looked(TreeBefore),
    /// The evidence on whether work counts was gathered, and its commands have ended.
    Checked(Box<Seen>),
    /// A working tree was removed.
    Removed,
    /// The items of a list were found.
    Expanded(Expanded),
    /// The outputs of all items are put together.
    Collected(Output),
    /// The command that waits for the end of the run was told its result.
    Delivered(Delivered),
    /// It could not be done: a working tree made, captured or removed, items found, outputs put together.
    Impossible {
        /// The reason for the failure.
        why: String,
    },
}

/// The outcome of telling a command the result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// The way in which the command ended.
    pub end: CheckEnd,
    /// The artifact with the text that it printed.
    pub output: Digest,
}

/// The items that a step runs for, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expanded {
    /// The artifact with the list.
    pub list: Digest,
    /// The items in the order of the list.
    pub items: Vec<Item>,
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The key that tells it from the others, as it stands in the id of its node.
    pub key: String,
    /// The name that is shown for its child while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The files as they were before a child began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeBefore {
    /// The version control tree of all of them; none where there is no version control.
    pub tree: Option<String>,
    /// The files that were staged.
    pub staged: Vec<String>,
}

/// A file as it was found, by which a later writing of the file can be noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FoundFile {
    /// There was no file.
    Absent,
    /// There was a file.
    There {
        /// The digest of its content; none of a file that could not be read.
        digest: Option<Digest>,
        /// The inode of the file.
        inode: u64,
        /// The time of its last change, in nanoseconds since 1970.
        ctime: i64,
    },
}

/// The work that was done in a working tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedWork {
    /// The artifact with the patch, which was shown to apply to the commit that the tree began with.
    pub patch: Digest,
    /// That commit, if it has the work of other nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The number of files that it changes.
    pub files: u64,
    /// The artifact with new files that version control ignores, as a tar archive.
    #[serde(default)]
    pub ignored: Option<Digest>,
    /// The work that was done in submodules that were checked out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<SubmoduleWork>,
    /// The reason why the tree has to stay: something in it is in neither artifact.
    #[serde(default)]
    pub left: Option<String>,
}

/// The work that was done in a submodule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmoduleWork {
    /// The path of the submodule from the top of the working tree.
    pub path: String,
    /// The commit of the submodule that the patch applies to.
    pub base: String,
    /// The artifact with the patch. Its names begin with the path.
    pub patch: Digest,
    /// The number of files that it changes.
    pub files: u64,
    /// The artifact with new files that version control ignores there, as a tar archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<Digest>,
}

/// The end of a child, and the output that it had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// The way in which it ended.
    pub finish: Finish,
    /// The output that it had given by then, whatever the end.
    pub output: Output,
    /// The tokens of requests that brought no answer.
    #[serde(default)]
    pub lost: Usage,
}

/// The way in which a child ended, as its executor saw it. Its meaning is decided here, not in the executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Finish {
    /// It ended by itself.
    Answered,
    /// It was made to end.
    Interrupted,
    /// It asked something and waits for the answer.
    Asked(Question),
    /// It could not go on.
    Failed(Cause),
}

/// A question that a child asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The call with which it asked.
    pub call: CallId,
    /// The text of the question.
    pub text: String,
}

/// The output of a child.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Output {
    /// The artifact with its last text.
    pub text: Option<Digest>,
    /// The artifact with the value that met the schema.
    pub structured: Option<Digest>,
    /// The file that the output was written to.
    pub path: Option<String>,
    /// The artifact with the text that the child itself wrote to that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<Digest>,
    /// The reason why the output is not in the file that it was to be written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsaved: Option<String>,
    /// The reason why its answer is not the data that was asked for, where it gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_data: Option<String>,
    /// The findings of the child, where it was to review another's work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewVerdict>,
}

/// The findings of a reviewer on another child's work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewVerdict {
    /// Findings that stand in the way.
    pub blockers: Vec<String>,
    /// The other findings of the reviewer.
    pub notes: Vec<String>,
}

/// The finding on whether anything of a child is left running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Proof {
    /// Two scans in a row found no process of it.
    Ended {
        /// The number of scans that it took.
        scans: u32,
    },
    /// A process of it may be left.
    NotProven {
        /// The reason why it is not proven.
        why: String,
    },
}

/// A wish of a person or program for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "camelCase")]
pub enum Wish {
    /// The run is to end; what it has is kept.
    Stop {
        /// Set if the children get no time to end by themselves.
        now: bool,
    },
    /// One child is to end; what it has is kept, and the others go on.
    StopChild {
        /// The child that is to end.
        node: NodeId,
        /// Set if it gets no time to end by itself.
        now: bool,
    },
    /// The stored work of a child is not to be applied with that of the others.
    Discard {
        /// The child whose work it is.
        node: NodeId,
    },
    /// No more is wanted: its owner has the result.
    Acknowledge,
    /// A child, or every child, is to stop in such a way that it can go on later.
    Pause {
        /// The child that is to pause; none for all of them.
        node: Option<NodeId>,
    },
    /// A child that waits or has ended is to go on in its session.
    Resume {
        /// The child that is to go on.
        node: NodeId,
        /// The artifact with what it is told, if anything.
        message: Option<Digest>,
    },
    /// A child is to hear something while it works.
    Steer {
        /// The child that is to hear it.
        node: NodeId,
        /// The artifact with the words.
        message: Digest,
    },
    /// A child that asked is to go on with this answer.
    Answer {
        /// The child that asked.
        node: NodeId,
        /// The artifact with the answer.
        answer: Digest,
    },
}

impl Wish {
    /// The child that it is for; none if it is for the whole run.
    pub fn node(&self) -> Option<&NodeId> {
        match self {
            Self::Stop { .. } | Self::Acknowledge => None,
            Self::Pause { node } => node.as_ref(),
            Self::StopChild { node, .. }
            | Self::Discard { node }
            | Self::Resume { node, .. }
            | Self::Steer { node, .. }
            | Self::Answer { node, .. } => Some(node),
        }
    }
}
