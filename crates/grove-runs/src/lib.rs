//! The embeddable runtime for child agents: requests become runs, and a supervisor executes their plans.
//!
//! There is one path: a request is submitted to the journal, a supervisor takes the effects that follow, and everything that
//! happens is a fact in the journal. No code starts, stops or feeds a child except an executor answering a command that
//! is already durable. The embedding program says how skills are activated and which providers there are; nothing here
//! looks for skills or agents.

#![warn(missing_docs)]

mod attempt_log;
mod attention;
mod beginning;
mod bounds;
mod control;
mod data_check;
mod delegation;
mod delivery;
mod evidence;
mod identity;
mod item_list;
mod ledger_key;
mod mcp;
mod model_choice;
mod models;
mod native;
mod places;
mod powers;
mod program;
mod recovery;
mod repository_guards;
mod run_report;
mod schema_bounds;
mod session_file;
mod submission;
mod submit_key;
mod supervisor;
mod told;
mod tools;
mod verify;
mod waking;
mod worktree_setup;
mod worktrees;

pub use attempt_log::{AttemptTail, LogLine};
pub use bounds::is_own;
pub use control::{ChildWish, ControlError, wish_for_child};
pub use data_check::{DATA_CHECK, check_data};
pub use delegation::{Above, Delegation, stop_run};
pub use identity::{new_owner_token, new_run_id};
pub use ledger_key::JournalError;
pub use mcp::McpServer;
pub use model_choice::{
    ChosenModels, NoModel, WantedModels, choose, choose_for_program, choose_recorded,
};
pub use models::{ModelSource, Models, NamedModel, NotSpoken, Recording, named_model};
pub use native::about;
pub use native::{ForkError, history};
pub use places::RunPlaces;
pub use powers::{Power, Powers};
pub use program::{OWN_MODEL, try_program};
pub use run_report::RunReport;
pub use session_file::write_session;
pub use submission::{
    ChildRequest, ListRequest, PlannedRun, RunRequest, SubmitError, SubmittedRun, can_write,
    make_reviewer, plan_of, submit, submit_again, surroundings_of,
};
pub use submit_key::{KeyOwner, SubmitKey};
pub use supervisor::{SkillsOf, Supervisor, SupervisorError, SupervisorOptions};
pub use told::{BOUNDARY, Boundary, Told, ToldPart};
pub use tools::{TOOLS, ToolRow};
pub use waking::{Woken, wake};

use grove_model::Secret;

/// Activates skills for children.
pub trait Skills: Send + Sync {
    /// Returns a skill for a model, or the reason why there is none.
    fn activate(&self, name: &str) -> Result<GivenSkill, String>;

    /// Returns the variables that a skill which the child has from the beginning sets for its commands.
    fn environment(&self, address: &str) -> Vec<(String, Secret)>;
}

/// A skill that a child was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenSkill {
    /// The text for the model.
    pub text: String,
    /// The folder that the child may read from now on; none for a group.
    pub folder: Option<std::path::PathBuf>,
    /// The variables that the child's commands have from now on.
    pub environment: Vec<(String, Secret)>,
}

/// Makes the README's example a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
