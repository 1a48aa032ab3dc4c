//! The pure core of delegation: what a run should do, what state it is in, and what to do next.
//!
//! ```text
//! request ─► plan ─► [ advance ] ─► commands ─► executors ─► facts ─► journal ─► advance …
//! ```
//!
//! The state of a run is the fold of its journal. No clock, no randomness, no I/O: times are data in events, and the
//! identity of every effect follows from the plan and from what happened before, so that a replay issues the same ones.

#![warn(missing_docs)]

mod advance;
mod attention;
mod beginnings;
mod budget;
mod command;
mod compose;
mod contract;
mod event;
mod evidence;
mod fan_out;
pub mod history;
mod ids;
mod layout;
mod live;
mod money;
mod nodes;
mod picture;
mod plan;
mod plan_nodes;
mod protection;
mod refused;
mod report;
mod request;
mod state;
pub mod subagent_tool;
mod usage;
mod verdict;
mod view;

pub use advance::{NotReusable, Step, advance, fold};
pub use attention::{Attention, AttentionLimits};
pub use beginnings::{EarlierWork, WorkConflict, begin_with_earlier_work};
pub use command::{Command, Doubt};
pub use compose::{ItemValue, Variables, compose};
pub use contract::{
    Accepted, AuthorFacts, Check, CheckEnd, CheckResult, Contract, ContractError, ReviewPlan,
    UnobservedCalls,
};
pub use event::{
    AddedText, Body, Call, CallOutcome, CapturedWork, Delivered, Ending, Event, Expanded, Fact,
    Finish, FoundFile, Holder, Item, Outcome, Output, Parent, Proof, Question, Reused,
    ReviewVerdict, SubmoduleWork, Times, TreeBefore, Turn, Wish,
};
pub use evidence::{EvidenceRules, Facts, Finding, Seen, SeenCommand, tests_not_found};
pub use fan_out::ItemsError;
pub use ids::{Attempt, CallId, EffectId, EffectKind, NodeId};
pub use layout::{Layout, LayoutRules, PlannedList, PlannedTask, lay_out};
pub use live::{LiveChild, LiveRun, LiveStep, Sign, Signs};
pub use money::{ModelFacts, Prices};
pub use nodes::Nodes;
pub use plan::{
    Child, FanOut, GroupRules, Inputs, Limits, MaxOutput, Node, OnComplete, Place, Plan, SetupHook,
    Tools, TreeLimits, Work, WorktreePlan, WorktreeSetup,
};
pub use plan_nodes::PlanNodes;
pub use protection::{KnownFiles, Protection};
pub use refused::{Damaged, Refused};
pub use report::{
    CommandReport, CommandStatus, CriterionReport, CriterionStatus, FoundReport, REPORT_TAG,
    Report, report_in, report_of, without_report,
};
pub use request::{AgentScope, Control, Request, parse_request};
pub use state::{
    AttemptState, CallState, Cause, Continued, Execution, LimitKind, ModelFailure, NestedUse,
    NodeState, OpenEffect, REJECTED, RunClock, RunState, Said, State, StopReason, WorktreeState,
};
pub use usage::Usage;
pub use view::{NodeView, PatchView, RunView, Texts, node_views, said_by};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
