//! The rules: the identity of a skill, the winner among several, and its state with the reasons.
//!
//! Each rule is one function that every surface calls. Everything is pure: facts about the machine and
//! the user's settings arrive as values, and the same input produces the same bytes.

#![warn(missing_docs)]

pub mod address;
pub mod agent_catalog;
pub mod agents;
pub mod catalog;
pub mod chains;
pub mod content;
pub mod context;
pub mod definitions;
pub mod disclosure;
pub mod eligibility;
pub mod entry;
pub mod entry_caps;
pub mod export;
pub mod folder_content;
mod held_tools;
pub mod host_listing;
mod host_refusal;
pub mod hosts;
pub mod identity;
pub mod ignore_rules;
pub mod models;
pub mod overrides;
pub mod prompt;
pub mod rank;
pub mod report;
pub mod resolve;
pub mod root;
pub mod search;
pub mod snapshot;
pub mod stand_in;
pub mod state;
pub mod target;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod trust;

pub use grove_spec::digest::{self, Digest};
pub use root::{Root, RootSource};
pub use snapshot::{Skill, Snapshot};
pub use state::{EntryState, StateReason};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
