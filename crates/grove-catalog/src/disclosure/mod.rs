//! The state of one conversation with the catalog: what was expanded, what is active, and the texts that
//! an activation gives.
//!
//! Everything is pure. The host of a session reads the files, knows the clock and writes the state. This module decides
//! which node was asked for, if the caller may have it, how the session changes and what a model reads. Nothing in a
//! body is run.

mod activation;
mod arguments;
mod boundary;
mod listing;
mod node;
mod session;
mod target;

pub use activation::{
    ActivationInput, MAX_BRANCH_BODY, MAX_RESOURCES, NotPrepared, PreparedSkill, SessionFull,
    SkillResources, prepare,
};
pub(crate) use activation::{body_for_prompt, folder_of};
pub use arguments::{BodyTooLong, MAX_FILLED, PlaceholderValues, fill};
pub use boundary::{block, boundary, marked};
pub use listing::{
    ChildList, ListedChild, MAX_CHILDREN, already_open, expansion_text, list_children,
};
pub use node::{DisclosureNode, SkillGroup};
pub use session::{
    ActivateOutcome, ActiveSkill, CollapseOutcome, DisclosureSession, ExpandOutcome, FrozenInputs,
    MAX_KEPT, SessionFault,
};
pub use target::{DisclosureRefusal, DisclosureTarget, SkillCaller, resolve};
