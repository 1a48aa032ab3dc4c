//! Grove as a library: the skills and agents of a folder, and the runs of child agents, behind one value.
//!
//! The engine turns a request into a run with everything resolved, submits it, and sees to it that a supervisor works on
//! it; it says who owns a run and what may be done with it. It prints nothing and draws nothing: a terminal, a page, an MCP
//! server and other programs are its callers.

mod attestation;
mod calling_child;
mod change_words;
pub mod child_record;
mod comments;
mod controlling;
mod engine;
pub mod engines;
pub mod entries;
mod error;
pub mod exported_run;
pub mod health;
mod journal;
mod ledger;
mod model_settings;
mod order;
mod patches;
mod plan_words;
mod pruning;
mod required_sandbox;
mod resolve;
mod run_summary;
mod sessions;
mod silence;
mod skill_values;
mod subagent;
mod supervising;
mod told;
mod told_apart;
mod trace;
pub mod transcript;
pub mod view;
mod watched_run;
pub mod words;

pub use attestation::{public_json, public_pem};
pub use calling_child::mark_of;
pub use change_words::ChangeWords;
pub use comments::LineComment;
pub use controlling::{StopOutcome, WishedChild};
pub use engine::Engine;
pub use error::{EngineError, ErrorKind};
pub use journal::{RunJournal, parts_of};
pub use ledger::{CheckedLedger, Ledger};
pub use model_settings::ModelSettings;
pub use order::RunOrder;
pub use patches::{AppliedChild, AppliedRun, ChildPatch, RunPatches, SubmodulePatch};
pub use plan_words::plan_lines;
pub use pruning::PrunedRuns;
pub use resolve::ResolvedRun;
pub use run_summary::{RunSummary, WaitingChild};
pub use subagent::{AwaitedRun, Called, HostFacts, SubagentAnswer, SubagentCall, Waited};
pub use supervising::{SUPERVISE, ServedHere, passed_on, supervise};
pub use told::ToldChild;
pub use watched_run::WatchedRun;

pub use grove_exec::{Git, now, runtime};
pub use grove_runs::new_run_id;

/// The crates below the engine, for tests of programs that look into the journal. Programs themselves use none of them.
#[doc(hidden)]
pub mod below {
    pub use {grove_exec, grove_model, grove_plan, grove_runs, grove_store};
}

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
