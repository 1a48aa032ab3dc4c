//! The values of runs that views show: plans, states, events, and the projections of a run.

pub use crate::controlling::ChildWish;
pub use crate::models::Recording;
pub use crate::native::about;
pub use crate::places::RunPlaces;
pub use crate::submission::SubmittedRun;
pub use crate::told::Told;
pub use crate::waking::Woken;
pub use grove_plan::history;
pub use grove_plan::{
    Accepted, Attempt, AttemptState, Body, CallId, CallOutcome, Cause, Check, CheckEnd,
    CheckResult, Child, Contract, Ending, Event, Execution, Fact, FanOut, Finish, FoundFile,
    GroupRules, LiveChild, LiveRun, LiveStep, ModelFacts, Node, NodeId, NodeState, NodeView,
    Output, Plan, Prices, Question, REJECTED, RunView, Seen, Sign, State, StopReason, Times, Usage,
    Wish, Work, WorktreePlan, subagent_tool,
};
pub use grove_store::{LoadedRun, RunFilter, RunRow};
