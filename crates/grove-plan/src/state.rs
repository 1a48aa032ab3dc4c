//! The state that a run has come to: the fold of its journal.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use grove_spec::{Digest, duration};
use serde::{Deserialize, Serialize};

use crate::attention::Attention;
use crate::beginnings::{EarlierWork, WorkConflict};
use crate::command::Command;
use crate::contract::Accepted;
use crate::event::{
    AddedText, CapturedWork, Delivered, Ending, Expanded, FoundFile, Holder, Output, Proof,
    Question, ReviewVerdict, Times, TreeBefore,
};
use crate::evidence::Seen;
use crate::ids::{Attempt, CallId, EffectId, NodeId};
use crate::nodes::Nodes;
use crate::usage::Usage;

/// Everything that is known about a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// The last event that was taken in.
    pub seq: u64,
    /// The time at which the run was submitted.
    pub submitted: Option<Times>,
    /// The hash of the owner's token.
    pub owner: Option<Digest>,
    /// The time at which its last node ended.
    pub ended: Option<Times>,
    /// The nodes that have begun or were decided about.
    pub nodes: Nodes,
    /// Effects that are to be done or under way.
    pub open: BTreeMap<EffectId, OpenEffect>,
    /// The tokens that all attempts together have spent, runs that they asked for included.
    pub spent: Usage,
    /// The number of children, those of runs below included.
    pub children: u64,
    /// The time for which it has been at work.
    pub clock: RunClock,
    /// The reason why nothing new begins any more.
    pub stop: Option<StopReason>,
    /// Wishes that were recorded, so that none counts twice.
    pub wishes: BTreeSet<String>,
    /// Set if the owner has the result.
    pub acknowledged: bool,
    /// The number of times that the waiting command was to be told the result.
    pub deliveries: u32,
    /// The outcome of the last of these times.
    pub delivered: Option<Delivered>,
}

/// The time for which a run has been at work. Time in which it was paused or waited for an answer does not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunClock {
    /// Milliseconds of work before it last went on.
    pub before: u64,
    /// The time at which it last went on; none while it waits.
    pub since: Option<Times>,
    /// The number of times that its timer was set.
    pub armed: u32,
}

/// An effect that is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenEffect {
    /// The command that carries it out.
    pub command: Command,
    /// The number of holders that it has had.
    pub epoch: u32,
    /// The process that executes it now.
    pub holder: Option<Holder>,
}

/// Everything that is known about a node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeState {
    /// The state of the node itself.
    pub execution: Execution,
    /// Its attempts; the last one counts.
    pub attempts: Vec<AttemptState>,
    /// Its working tree, where it has one.
    pub worktree: Option<WorktreeState>,
    /// The verdict on its work.
    pub accepted: Accepted,
    /// The observations of its work.
    pub seen: Option<Seen>,
    /// The findings of its reviewer.
    pub review: Option<ReviewVerdict>,
    /// Set if it reviews another node's work, and is no part of what was asked for.
    pub is_review: bool,
    /// Set while a reviewer looks at its work.
    pub is_reviewed: bool,
    /// The number of times that it was asked for what was missing.
    pub finalizations: u32,
    /// The attempt whose text is the answer, when later ones only brought what was missing.
    pub answer: Option<u32>,
    /// The items that it runs for, once they are known.
    pub items: Option<Expanded>,
    /// The combined output of all items.
    pub collected: Option<Output>,
    /// The files as they were before it began.
    pub before: Option<TreeBefore>,
    /// The number of its effects that belong to no attempt.
    pub effects: u32,
    /// The attempt that begins once its working tree is there.
    pub next: Option<NextTry>,
    /// The state that it takes once its work is stored.
    pub verdict: Option<Execution>,
}

/// Everything that is known about a working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeState {
    /// The folder of the tree; none while the tree does not exist.
    pub folder: Option<PathBuf>,
    /// The work that was done in it.
    pub captured: Option<CapturedWork>,
    /// The reason why it was left where it is.
    pub kept: Option<String>,
    /// Paths that its set-up put there.
    pub synthetic: Vec<String>,
    /// The work of other nodes that it begins with. It stays the same once the node has work of its own.
    pub begins: Vec<EarlierWork>,
    /// The commit that it begins with, if that commit has the work of other nodes.
    pub base: Option<String>,
    /// Set if the work is not to be applied with that of the others.
    pub is_discarded: bool,
}

/// An attempt that is to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextTry {
    /// The index of the child's model.
    pub model: usize,
    /// The earlier attempt whose session it goes on in.
    pub continues: Option<Continued>,
}

impl NodeState {
    /// Returns true if it is done and its work counts, as far as that was asked.
    pub fn is_done(&self) -> bool {
        self.execution == Execution::Complete && !self.accepted.is_rejected()
    }

    /// Returns true if it was stopped alone, by a wish for it and not for the whole run.
    pub(crate) fn is_stopped_alone(&self) -> bool {
        matches!(
            self.execution,
            Execution::Stopped(StopReason::WantedOfChild { .. })
        )
    }

    /// The attempt whose text is the node's.
    pub fn answering(&self) -> Option<&AttemptState> {
        let answer = self
            .answer
            .and_then(|n| usize::try_from(n).ok()?.checked_sub(1));
        answer.map_or(self.attempts.last(), |at| self.attempts.get(at))
    }

    /// The output of the node: of its child, or of all its items together.
    pub fn output(&self) -> Option<&Output> {
        let said = self.answering().and_then(AttemptState::output);
        said.or(self.collected.as_ref())
    }

    /// The attempt under way, or the last one.
    pub fn last(&self) -> Option<&AttemptState> {
        self.attempts.last()
    }
}

/// The word that people read for work that was done and does not count.
pub const REJECTED: &str = "rejected";

/// Everything that is known about an attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttemptState {
    /// The index of the child's model.
    pub model: usize,
    /// The earlier attempt whose session it goes on in.
    pub continues: Option<Continued>,
    /// The artifact with what it is told, where that was put together from the outputs of other nodes.
    pub told: Option<Digest>,
    /// Its answer file as it was before it began, where that was looked at.
    pub found: Option<FoundFile>,
    /// The time at which an executor took it.
    pub started: Option<Times>,
    /// The time at which it ended.
    pub ended: Option<Times>,
    /// The number of answers of the model.
    pub turns: u32,
    /// The reason why a person may have to look after it, until it has done something again.
    pub attention: Option<Attention>,
    /// Text that a program added of its own to what the child is told.
    pub added: Option<AddedText>,
    /// The number of turns of its session that are told in short.
    pub compacted: u64,
    /// The tokens that it has spent.
    pub usage: Usage,
    /// Runs that it asked for, and those below them.
    pub delegated: Vec<String>,
    /// The tokens and money that these runs have spent.
    pub nested: NestedUse,
    /// The calls of tools.
    pub calls: BTreeMap<CallId, CallState>,
    /// Set if a call that can change something was made.
    pub wrote: bool,
    /// The reason why it was told to stop.
    pub stopping: Option<StopReason>,
    /// The number of times that it was told to stop.
    pub stops: u32,
    /// The number of times that something was sent to it.
    pub sends: u32,
    /// Messages that were sent too late for it to hear.
    pub unheard: Vec<Digest>,
    /// The number of searches for processes that are left of it.
    pub proofs: u32,
    /// Set if its holder is gone and the remains of it are not ended yet.
    pub recovering: bool,
    /// The number of times that it went on after its holder was gone.
    pub recoveries: u32,
    /// The way in which it ended.
    pub ending: Option<Ending>,
    /// The finding on whether something of it is left running.
    pub proof: Option<Proof>,
    /// The state of the attempt.
    pub execution: Execution,
}

impl AttemptState {
    /// The tokens that count, those of the runs below it included: the one number that people see of an attempt.
    pub fn tokens(&self) -> u64 {
        let below = self.nested.usage.counted();
        self.usage.counted().saturating_add(below)
    }

    /// The output that it had given when it ended.
    pub fn output(&self) -> Option<&Output> {
        self.ending.as_ref().map(|ending| &ending.output)
    }
}

/// The tokens and money that runs have spent that a child asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NestedUse {
    /// The tokens that they used.
    pub usage: Usage,
    /// Their cost in money, in millionths.
    pub cost: u64,
    /// Set if some of it has no known price.
    pub is_cost_unknown: bool,
}

/// A session that goes on: the messages of an earlier attempt, and what is said now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continued {
    /// The number of the earlier attempt of the same child, counted from one.
    pub n: u32,
    /// The words with which it goes on.
    pub said: Said,
}

/// The words that a child is told when it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Said {
    /// No new words are said.
    Nothing,
    /// The artifact with a message.
    Message(Digest),
    /// The artifact with the answer to its question.
    Answer(Digest),
    /// Descriptions of what its work does not have yet.
    Findings(Vec<String>),
    /// The reason why its answer is not the data that was asked for.
    Data(String),
}

/// The progress of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallState {
    /// The call may have run.
    Open,
    /// The call has run.
    Returned,
}

/// The state of a run, a node or an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "cause", rename_all = "camelCase")]
pub enum Execution {
    /// It waits for other nodes.
    #[default]
    Pending,
    /// It waits for an executor to take it.
    Queued,
    /// It is under way.
    Running,
    /// It was made to end in such a way that it can go on.
    Paused(StopReason),
    /// It waits for an answer.
    Asking(Question),
    /// Its work is done.
    Complete,
    /// It could not be done.
    Failed(Cause),
    /// It was not begun, because something before it was not done.
    Skipped,
    /// It was made to end.
    Stopped(StopReason),
    /// It is not known how it ended.
    Lost(String),
}

impl Execution {
    /// Returns true if nothing can change it any more.
    pub fn is_terminal(&self) -> bool {
        !matches!(self, Self::Pending | Self::Queued | Self::Running) && !self.is_waiting()
    }

    /// Returns true if it goes on only on a wish from outside: it is paused or asks something.
    pub fn is_waiting(&self) -> bool {
        matches!(self, Self::Paused(_) | Self::Asking(_))
    }

    /// Returns the word for the state.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Paused(_) => "paused",
            Self::Asking(_) => "asking",
            Self::Complete => "complete",
            Self::Failed(_) => "failed",
            Self::Skipped => "skipped",
            Self::Stopped(_) => "stopped",
            Self::Lost(_) => "lost",
        }
    }

    /// The word that people read: work that does not count is not called complete. Data has both apart.
    pub fn shown(&self, is_rejected: bool) -> &'static str {
        match self {
            Self::Complete if is_rejected => REJECTED,
            _ => self.word(),
        }
    }

    /// Returns the reason for the state, for people.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Failed(cause) => Some(cause.to_string()),
            Self::Stopped(why) | Self::Paused(why) => Some(why.to_string()),
            Self::Asking(question) => Some(question.text.clone()),
            Self::Lost(why) => Some(why.clone()),
            _ => None,
        }
    }
}

/// The state of the run as a whole.
pub type RunState = Execution;

/// The reason why something could not be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Cause {
    /// The provider refused or could not be reached.
    #[error("model error ({failure}): {message}")]
    Model {
        /// The way in which it failed.
        failure: ModelFailure,
        /// The words of the provider.
        message: String,
    },
    /// The child ended without an answer.
    #[error("the child ended without an answer{}", after_colon(.why))]
    NoAnswer {
        /// The last words of its program about that, where it said something.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// The child gave no output that meets the schema.
    #[error("the output does not meet the schema: {message}")]
    Schema {
        /// The fault in the output.
        message: String,
    },
    /// It would have spent more than it may.
    #[error("limit of {limit} {name} reached ({observed})", name = .what.words())]
    Limit {
        /// The thing that is limited.
        what: LimitKind,
        /// The amount that is allowed.
        limit: u64,
        /// The amount that was reached.
        observed: u64,
    },
    /// It took longer than it may.
    #[error("timed out after {}", duration::in_words(*.limit_ms))]
    TimedOut {
        /// The time that it may take.
        limit_ms: u64,
    },
    /// The isolation from the rest of the machine did not hold or could not be set up.
    #[error("isolation failed: {message}")]
    Isolation {
        /// The fault that occurred.
        message: String,
    },
    /// The work of other nodes that it was to begin with cannot be merged.
    #[error("{0}")]
    Conflict(WorkConflict),
    /// Something that it needs is not there.
    #[error("{message}")]
    Input {
        /// The thing that is missing.
        message: String,
    },
}

impl Cause {
    /// The cause that something a child needs is not there, for this reason.
    pub fn input(reason: impl std::fmt::Display) -> Self {
        let message = reason.to_string();
        Self::Input { message }
    }
}

/// Writes a reason as the end of a sentence; an empty reason is not written.
fn after_colon(why: &str) -> String {
    match why {
        "" => String::new(),
        why => format!(": {why}"),
    }
}

/// The thing that a limit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LimitKind {
    /// The number of tokens.
    Tokens,
    /// The number of answers of the model.
    Turns,
    /// The number of calls of tools.
    ToolCalls,
    /// The cost in money, in millionths.
    Cost,
}

impl LimitKind {
    const fn words(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Turns => "turns",
            Self::ToolCalls => "tool calls",
            Self::Cost => "millionths of money",
        }
    }
}

/// The way in which a provider failed. It is decided from the status and the typed error, never from prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ModelFailure {
    /// The key is missing or refused.
    Auth,
    /// The budget at the provider is used up.
    Quota,
    /// Too many requests, also after retries.
    Rate,
    /// The provider is overloaded, also after retries.
    Overload,
    /// The request is longer than the model can read.
    ContextTooLong,
    /// The provider refused the request as invalid.
    BadRequest,
    /// The provider has no model of this name.
    NoSuchModel,
    /// The provider could not be reached.
    Network,
    /// The answer ended in the middle.
    CutStream,
    /// The provider said nothing for too long.
    Idle,
}

impl ModelFailure {
    /// Returns the word for the failure.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::Rate => "rate",
            Self::Overload => "overload",
            Self::ContextTooLong => "context too long",
            Self::BadRequest => "bad request",
            Self::NoSuchModel => "no such model",
            Self::Network => "network",
            Self::CutStream => "cut stream",
            Self::Idle => "idle",
        }
    }

    /// Returns true if another model may do what this one could not.
    pub const fn is_the_providers(self) -> bool {
        matches!(
            self,
            Self::Auth
                | Self::Quota
                | Self::Rate
                | Self::Overload
                | Self::NoSuchModel
                | Self::Network
        )
    }
}

impl std::fmt::Display for ModelFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

/// The reason why a child was told to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "camelCase")]
pub enum StopReason {
    /// A person or program wanted it to end.
    #[error("by {by}")]
    Wanted {
        /// The name of that person or program.
        by: String,
    },
    /// A person or program wanted this child to end, and no other.
    #[error("by {by}")]
    WantedOfChild {
        /// The name of that person or program.
        by: String,
    },
    /// A person or program wanted it to stop and go on later.
    #[error("by {by}")]
    Paused {
        /// The name of that person or program.
        by: String,
    },
    /// The child reached a limit.
    #[error("{cause}")]
    Limit {
        /// The limit that it reached.
        cause: Cause,
    },
}

impl State {
    /// Returns the state of an attempt.
    pub fn attempt(&self, of: &Attempt) -> Option<&AttemptState> {
        self.nodes.get(&of.node)?.attempts.get(of.place()?)
    }

    /// The state of the run as a whole: under way while a node is, otherwise that of the worst of its nodes.
    pub fn run(&self) -> RunState {
        let executions = || self.nodes.values().map(|node| &node.execution);
        let first = |wanted: fn(&Execution) -> bool| executions().find(|it| wanted(it)).cloned();
        if self.submitted.is_none() {
            return Execution::Pending;
        }
        if executions().any(|it| !it.is_terminal()) {
            // A node under review waits for its reviewer, and a list for its items.
            let at_work = self.nodes.values().any(|node| {
                let works = matches!(node.execution, Execution::Running | Execution::Queued);
                works && !node.is_reviewed && node.items.is_none()
            });
            // A node that waits for a person keeps the others waiting, once no node is at work.
            let waiting = first(|it| matches!(it, Execution::Asking(_)))
                .or_else(|| first(|it| matches!(it, Execution::Paused(_))));
            if let Some(waiting) = waiting.filter(|_| !at_work) {
                return waiting;
            }
            let is_taken =
                executions().any(|it| !matches!(it, Execution::Pending | Execution::Queued));
            return if is_taken {
                Execution::Running
            } else {
                Execution::Queued
            };
        }
        // How a reviewer fared shows in the verdict on the work that it reviewed.
        let asked_for = || {
            let nodes = self.nodes.values().filter(|node| !node.is_review);
            nodes.map(|node| &node.execution)
        };
        worst_of(asked_for).unwrap_or(Execution::Complete)
    }
}

impl State {
    /// The word that people read for the run as a whole.
    pub fn shown(&self) -> &'static str {
        let run = self.run();
        // A complete run has a reason only where some of its work does not count.
        let is_rejected = run == Execution::Complete && self.reason(&run).is_some();
        run.shown(is_rejected)
    }

    /// Returns the reason for the state of the run: the cause that kept it from being done, or the nodes whose work does not
    /// count. The caller passes the state of the run, since every event asks and it is known already.
    pub fn reason(&self, run: &RunState) -> Option<String> {
        if *run != Execution::Complete {
            return run.reason();
        }
        let is_rejected = |node: &NodeState| {
            node.accepted.is_rejected() && !node.is_review && node.items.is_none()
        };
        let rejected = self.nodes.iter().filter(|(_, node)| is_rejected(node));
        let rejected: Vec<&NodeId> = rejected.map(|(id, _)| id).collect();
        match rejected.as_slice() {
            [] => None,
            [one] => Some(format!("the work of child {one} was not accepted")),
            several => Some(format!(
                "the work of {} children was not accepted",
                several.len()
            )),
        }
    }
}

/// The state that says what became of all: stopped if one was stopped, else failed if one failed, else lost if one is lost.
pub(crate) fn worst_of<'a, I>(all: impl Fn() -> I) -> Option<Execution>
where
    I: Iterator<Item = &'a Execution>,
{
    let first = |wanted: fn(&Execution) -> bool| all().find(|it| wanted(it)).cloned();
    first(|it| matches!(it, Execution::Stopped(_)))
        .or_else(|| first(|it| matches!(it, Execution::Failed(_))))
        .or_else(|| first(|it| matches!(it, Execution::Lost(_))))
}
