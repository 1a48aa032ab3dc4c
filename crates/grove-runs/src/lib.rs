//! The embeddable runtime of child agents: requests become runs, and a supervisor executes what their plans command.
//!
//! One path: a request is submitted to the journal, a supervisor takes the effects that follow, and everything that
//! happens is a fact in the journal. No code starts, stops or feeds a child except an executor answering a command that
//! is already durable. Whoever embeds this says how skills are activated and which providers there are; nothing here
//! looks for skills or agents.

mod attempt_log;
mod identity;
mod models;
mod native;
mod places;
mod recovery;
mod submission;
mod supervisor;
mod told;
mod tools;

pub use attempt_log::LogLine;
pub use identity::{new_owner_token, new_run_id};
pub use models::{ModelSource, Models, Recording};
pub use places::RunPlaces;
pub use submission::{ChildRequest, SubmitError, SubmittedRun, submit, surroundings_of};
pub use supervisor::{SkillsOf, Supervisor, SupervisorError, SupervisorOptions, wake};
pub use told::{BOUNDARY, Told};
pub use tools::{TOOLS, ToolRow};

/// Activates skills for children.
pub trait Skills: Send + Sync {
    /// The text of a skill, or why there is none, for a model.
    fn activate(&self, name: &str) -> Result<String, String>;
}

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
