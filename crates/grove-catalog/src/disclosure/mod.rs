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
    Cause, MAX_BRANCH_BODY, MAX_RESOURCES, Material, Prepared, Resources, Unprepared, prepare,
};
pub(crate) use activation::{body_for_prompt, folder_of};
pub use arguments::{MAX_FILLED, PlaceholderValues, TooLong, fill};
pub use boundary::{block, boundary, marked};
pub use listing::{Child, Listed, MAX_CHILDREN, already_open, expansion_text, list_children};
pub use node::{Group, Node};
pub use session::{
    Activating, Active, Collapsing, Expansion, Frozen, MAX_KEPT, Session, SessionFault,
};
pub use target::{Caller, Refusal, Target, resolve};
