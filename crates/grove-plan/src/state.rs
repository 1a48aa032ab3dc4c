//! What a run has come to: the fold of its journal.

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
    /// When the run was submitted.
    pub submitted: Option<Times>,
    /// The hash of the owner's token.
    pub owner: Option<Digest>,
    /// When its last node ended.
    pub ended: Option<Times>,
    /// The nodes that have begun or were decided about.
    pub nodes: Nodes,
    /// Effects that are to be done or under way.
    pub open: BTreeMap<EffectId, OpenEffect>,
    /// What all attempts together have spent, runs that they asked for included.
    pub spent: Usage,
    /// How many children there are, those of runs below included.
    pub children: u64,
    /// How long it has been at work.
    pub clock: RunClock,
    /// Why nothing new begins any more.
    pub stop: Option<StopReason>,
    /// Wishes that were recorded, so that none counts twice.
    pub wishes: BTreeSet<String>,
    /// Whether the owner has the result.
    pub acknowledged: bool,
    /// How often somebody was to be told what it came to.
    pub deliveries: u32,
    /// What came of the last time.
    pub delivered: Option<Delivered>,
}

/// How long a run has been at work. Time in which it was paused or waited for an answer does not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunClock {
    /// Milliseconds before it last went on.
    pub before: u64,
    /// When it last went on; none while it waits.
    pub since: Option<Times>,
    /// How often its timer was set.
    pub armed: u32,
}

/// An effect that is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenEffect {
    /// What is to be done.
    pub command: Command,
    /// How many holders it has had.
    pub epoch: u32,
    /// Who does it now.
    pub holder: Option<Holder>,
}

/// What is known about a node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeState {
    /// How far it is.
    pub execution: Execution,
    /// Its attempts; the last one counts.
    pub attempts: Vec<AttemptState>,
    /// Its working tree, where it has one.
    pub worktree: Option<WorktreeState>,
    /// Whether its work counts.
    pub accepted: Accepted,
    /// What was seen of its work.
    pub seen: Option<Seen>,
    /// What a reviewer found.
    pub review: Option<ReviewVerdict>,
    /// Whether it looks at another's work, and is no part of what was asked for.
    pub is_review: bool,
    /// Whether a reviewer is looking at its work.
    pub is_reviewed: bool,
    /// How often it was asked for what was missing.
    pub finalizations: u32,
    /// The try whose words are the answer, when later ones only brought what was missing.
    pub answer: Option<u32>,
    /// The items that it runs for, once they are known.
    pub items: Option<Expanded>,
    /// What was said about all of them.
    pub collected: Option<Output>,
    /// The files before it began.
    pub before: Option<TreeBefore>,
    /// How many effects it has had that belong to no try.
    pub effects: u32,
    /// The try that begins once its working tree is there.
    pub next: Option<NextTry>,
    /// What became of it, while its work is being stored.
    pub verdict: Option<Execution>,
}

/// What is known about a working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeState {
    /// Where it is; none while it is not there.
    pub folder: Option<PathBuf>,
    /// What was done in it.
    pub captured: Option<CapturedWork>,
    /// Why it was left where it is.
    pub kept: Option<String>,
    /// What its set-up put there.
    pub synthetic: Vec<String>,
    /// The work of others that it begins with. It stays the same once there is work of its own.
    pub begins: Vec<EarlierWork>,
    /// The commit that it begins with, where that has the work of others.
    pub base: Option<String>,
}

/// A try that is to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextTry {
    /// Which of the child's models.
    pub model: usize,
    /// The earlier try whose session it goes on in.
    pub continues: Option<Continued>,
}

impl NodeState {
    /// Whether it is done and its work counts, as far as that was asked.
    pub fn is_done(&self) -> bool {
        self.execution == Execution::Complete && !self.accepted.is_rejected()
    }

    /// The attempt whose words are the node's.
    pub fn answering(&self) -> Option<&AttemptState> {
        let answer = self
            .answer
            .and_then(|n| usize::try_from(n).ok()?.checked_sub(1));
        answer.map_or(self.attempts.last(), |at| self.attempts.get(at))
    }

    /// What it said: its child, or those of all its items together.
    pub fn output(&self) -> Option<&Output> {
        let said = self.answering().and_then(AttemptState::output);
        said.or(self.collected.as_ref())
    }

    /// The attempt under way, or the last one.
    pub fn last(&self) -> Option<&AttemptState> {
        self.attempts.last()
    }
}

/// The word of people for work that was done and does not count.
pub const REJECTED: &str = "rejected";

/// What is known about an attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttemptState {
    /// Which of the child's models.
    pub model: usize,
    /// The earlier try whose session it goes on in.
    pub continues: Option<Continued>,
    /// What it is told, where that was put together from what others said.
    pub told: Option<Digest>,
    /// What was in its answer file before it began, where that was looked at.
    pub found: Option<FoundFile>,
    /// When somebody took it.
    pub started: Option<Times>,
    /// When it ended.
    pub ended: Option<Times>,
    /// Answers of the model.
    pub turns: u32,
    /// Why somebody may have to look after it, until it has done something again.
    pub attention: Option<Attention>,
    /// What a program added of its own to what the child is told.
    pub added: Option<AddedText>,
    /// Turns of its session that are told in short.
    pub compacted: u64,
    /// What they cost.
    pub usage: Usage,
    /// Runs that it asked for, and those below them.
    pub delegated: Vec<String>,
    /// What they cost.
    pub nested: NestedUse,
    /// Calls of tools.
    pub calls: BTreeMap<CallId, CallState>,
    /// Whether a call that can change something was made.
    pub wrote: bool,
    /// Why it was told to stop.
    pub stopping: Option<StopReason>,
    /// How often it was told.
    pub stops: u32,
    /// How often something was sent to it.
    pub sends: u32,
    /// What was sent too late for it to hear.
    pub unheard: Vec<Digest>,
    /// How often it was looked whether something is left of it.
    pub proofs: u32,
    /// Its holder is gone, and what is left of it is not ended yet.
    pub recovering: bool,
    /// How often it went on after its holder was gone.
    pub recoveries: u32,
    /// How it ended.
    pub ending: Option<Ending>,
    /// Whether something of it is left.
    pub proof: Option<Proof>,
    /// What became of it.
    pub execution: Execution,
}

impl AttemptState {
    /// The tokens that count, those of the runs below it included: the one number that people see of a try.
    pub fn tokens(&self) -> u64 {
        let below = self.nested.usage.counted();
        self.usage.counted().saturating_add(below)
    }

    /// What it had said.
    pub fn output(&self) -> Option<&Output> {
        self.ending.as_ref().map(|ending| &ending.output)
    }
}

/// What runs have spent that a child asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NestedUse {
    /// Tokens.
    pub usage: Usage,
    /// Money, in millionths.
    pub cost: u64,
    /// Whether some of it has no known price.
    pub is_cost_unknown: bool,
}

/// A session that goes on: the messages of an earlier try, and what is said now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continued {
    /// Which try of the same child, counted from one.
    pub n: u32,
    /// What is said.
    pub said: Said,
}

/// What a child is told when it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Said {
    /// Nothing new.
    Nothing,
    /// The artifact with a message.
    Message(Digest),
    /// The artifact with the answer to its question.
    Answer(Digest),
    /// What its work does not have yet.
    Findings(Vec<String>),
    /// Why its words are not the data that was asked for.
    Data(String),
}

/// What is known about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallState {
    /// It may have run.
    Open,
    /// It has run.
    Returned,
}

/// How far something is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "cause", rename_all = "camelCase")]
pub enum Execution {
    /// It waits for others.
    #[default]
    Pending,
    /// It waits for somebody to take it.
    Queued,
    /// It is under way.
    Running,
    /// It was made to end in such a way that it can go on.
    Paused(StopReason),
    /// It waits for an answer.
    Asking(Question),
    /// It is done.
    Complete,
    /// It could not be done.
    Failed(Cause),
    /// It was not begun, because something before it was not done.
    Skipped,
    /// It was made to end.
    Stopped(StopReason),
    /// Nobody knows how it ended.
    Lost(String),
}

impl Execution {
    /// Whether nothing can change it any more.
    pub fn is_terminal(&self) -> bool {
        !matches!(self, Self::Pending | Self::Queued | Self::Running) && !self.is_waiting()
    }

    /// Whether it goes on only when somebody wants it to.
    pub fn is_waiting(&self) -> bool {
        matches!(self, Self::Paused(_) | Self::Asking(_))
    }

    /// The word for it.
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

    /// Why it is so, for people.
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

/// The run as a whole.
pub type RunState = Execution;

/// Why something could not be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Cause {
    /// The provider refused or could not be reached.
    #[error("model error ({failure}): {message}")]
    Model {
        /// In which way.
        failure: ModelFailure,
        /// What the provider said.
        message: String,
    },
    /// The child ended without a word.
    #[error("the child ended without an answer{}", after_colon(.why))]
    NoAnswer {
        /// The last that its program said of that, where it said something.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// The child gave no output that meets the schema.
    #[error("the output does not meet the schema: {message}")]
    Schema {
        /// What is wrong with it.
        message: String,
    },
    /// It would have spent more than it may.
    #[error("limit of {limit} {name} reached ({observed})", name = .what.words())]
    Limit {
        /// Of what.
        what: LimitKind,
        /// How much it may.
        limit: u64,
        /// How much it had.
        observed: u64,
    },
    /// It took longer than it may.
    #[error("timed out after {}", duration::in_words(*.limit_ms))]
    TimedOut {
        /// How long it may take.
        limit_ms: u64,
    },
    /// What kept it from the rest of the machine did not hold or could not be set up.
    #[error("isolation failed: {message}")]
    Isolation {
        /// What happened.
        message: String,
    },
    /// The work of others that it was to begin with cannot be merged.
    #[error("{0}")]
    Conflict(WorkConflict),
    /// Something that it needs is not there.
    #[error("{message}")]
    Input {
        /// What.
        message: String,
    },
}

/// A reason as the end of a sentence; nothing where there is none.
fn after_colon(why: &str) -> String {
    match why {
        "" => String::new(),
        why => format!(": {why}"),
    }
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LimitKind {
    /// Tokens.
    Tokens,
    /// Answers of the model.
    Turns,
    /// Calls of tools.
    ToolCalls,
    /// Money, in millionths.
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

/// In which way a provider failed. Decided from the status and the typed error, never from prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ModelFailure {
    /// The key is missing or refused.
    Auth,
    /// Nothing is left to spend.
    Quota,
    /// Too many requests, also after retries.
    Rate,
    /// The provider is overloaded, also after retries.
    Overload,
    /// What was sent is longer than the model can read.
    ContextTooLong,
    /// What was sent was refused.
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
    /// The word for it.
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

    /// Whether another model may do what this one could not.
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

/// Why a child was told to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "camelCase")]
pub enum StopReason {
    /// Somebody wanted it.
    #[error("by {by}")]
    Wanted {
        /// Who.
        by: String,
    },
    /// Somebody wanted it to go on later.
    #[error("by {by}")]
    Paused {
        /// Who.
        by: String,
    },
    /// It came to a limit.
    #[error("{cause}")]
    Limit {
        /// Which.
        cause: Cause,
    },
}

impl State {
    /// What is known of an attempt.
    pub fn attempt(&self, of: &Attempt) -> Option<&AttemptState> {
        self.nodes.get(&of.node)?.attempts.get(of.place()?)
    }

    /// The run as a whole: under way while a node is, otherwise what the worst of its nodes came to.
    pub fn run(&self) -> RunState {
        let executions = || self.nodes.values().map(|node| &node.execution);
        let first = |wanted: fn(&Execution) -> bool| executions().find(|it| wanted(it)).cloned();
        if self.submitted.is_none() {
            return Execution::Pending;
        }
        if executions().any(|it| !it.is_terminal()) {
            // Whoever is looked at waits for whoever looks, and a list for its items.
            let at_work = self.nodes.values().any(|node| {
                let works = matches!(node.execution, Execution::Running | Execution::Queued);
                works && !node.is_reviewed && node.items.is_none()
            });
            // What waits for somebody keeps the others waiting, once nobody is at work.
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
        // How somebody fared who looked at another's work is in whether that counts.
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
        // Of a run that is complete there is a reason where some of its work does not count.
        let is_rejected = run == Execution::Complete && self.reason(&run).is_some();
        run.shown(is_rejected)
    }

    /// Why the run is as it is: what kept it from being done, or whose work does not count. Whoever asks knows how it is
    /// already, and every event asks.
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

/// The one that says what became of all: that they were stopped, else that one failed, else that one is lost.
pub(crate) fn worst_of<'a, I>(all: impl Fn() -> I) -> Option<Execution>
where
    I: Iterator<Item = &'a Execution>,
{
    let first = |wanted: fn(&Execution) -> bool| all().find(|it| wanted(it)).cloned();
    first(|it| matches!(it, Execution::Stopped(_)))
        .or_else(|| first(|it| matches!(it, Execution::Failed(_))))
        .or_else(|| first(|it| matches!(it, Execution::Lost(_))))
}
