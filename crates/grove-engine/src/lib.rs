//! Grove as a library: the skills and agents of a folder, and the runs of child agents, behind one value.
//!
//! The engine turns a request into a run with everything resolved, submits it, and sees to it that a supervisor works on
//! it; it says who owns a run and what may be done with it. It prints nothing and draws nothing: a terminal, a page, an MCP
//! server and other programs are its callers.

#![warn(missing_docs)]

mod attempt_log;
mod attention;
mod attestation;
mod beginning;
mod calling_child;
mod change_words;
mod child_end;
pub mod child_record;
mod comments;
mod controlling;
mod data_check;
mod delivery;
mod driving;
mod engine;
pub mod engines;
pub mod entries;
mod envelope;
mod error;
mod evidence;
pub mod exported_run;
mod folder_skills;
pub mod health;
mod identity;
mod inbox;
mod item_list;
mod journal;
mod ledger;
mod ledger_key;
mod mcp;
mod model_choice;
mod model_settings;
mod models;
mod native;
mod node_effect;
mod order;
mod patches;
mod places;
mod plan_words;
mod powers;
mod program;
mod pruning;
mod recovery;
mod repository_guards;
mod required_sandbox;
mod resolve;
mod run_summary;
mod schema_bounds;
mod session_file;
mod silence;
mod skill_values;
mod subagent;
mod submission;
mod submit_key;
mod supervising;
mod supervisor;
mod told;
mod told_apart;
mod told_child;
mod tools;
mod trace;
pub mod transcript;
mod verify;
pub mod view;
mod waking;
mod watched_run;
pub mod words;
mod worktree_setup;
mod worktrees;

pub use attestation::{public_json, public_pem};
pub use calling_child::mark_of;
pub use change_words::ChangeWords;
pub use comments::LineComment;
pub use controlling::{StopOutcome, WishedChild};
pub use engine::Engine;
pub use envelope::{EnvelopeError, RunEnvelope};
pub use error::{EngineError, ErrorKind};
pub use identity::new_run_id;
pub use journal::{RunJournal, parts_of};
pub use ledger::{CheckedLedger, Ledger};
pub use model_settings::ModelSettings;
pub use order::RunOrder;
pub use patches::{AppliedChild, AppliedRun, ChildPatch, RunPatches, SubmodulePatch};
pub use plan_words::plan_lines;
pub use pruning::PrunedRuns;
pub use resolve::ResolvedRun;
pub use run_summary::{RunSummary, WaitingChild};
pub use subagent::{
    AwaitedRun, Called, HostFacts, RunReport, SubagentAnswer, SubagentCall, Waited,
};
pub use supervising::{SUPERVISE, ServedHere, passed_on, supervise};
pub use told_child::ToldChild;
pub use watched_run::WatchedRun;

pub use grove_exec::{Git, now, runtime};

/// The crates below the engine, for tests of programs that look into the journal. Programs themselves use none of them.
#[doc(hidden)]
pub mod below {
    pub use crate::submission::submit;
    pub use crate::told::BOUNDARY;
    pub use crate::waking::wake;
    pub use {grove_exec, grove_model, grove_plan, grove_store};
}

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
