//! The embeddable engine for skills, agents and chains: from an environment to a snapshot.
//!
//! ```no_run
//! use grove_skills::{Environment, Library, DiscoveryRequest};
//!
//! let environment = Environment::for_home("/home/me".into(), "/home/me/project".into());
//! let mut library = Library::new(environment, DiscoveryRequest::default());
//! let discovery = library.discover();
//! for skill in &discovery.snapshot.skills {
//!     let _ = (skill.id(), skill.state.as_str());
//! }
//! ```
//!
//! The library never reads the process environment: the embedding program says where home is, what is on
//! the path and which variables are set.

#![warn(missing_docs)]

mod agent_overrides;
pub mod agents;
mod bundled;
mod cache;
pub mod catalog_files;
pub mod chains;
mod definition_files;
pub mod disclosure;
mod environment;
pub mod environment_variables;
pub mod exporting;
pub mod host_lists;
pub mod host_views;
mod instructions;
mod last_good;
mod library;
pub mod live;
mod loading;
pub mod machine_hosts;
pub mod managing;
mod named_files;
pub mod packages;
mod planning;
mod project;
pub mod prompt;
mod request;
mod resources;
pub mod run_rules;
mod scope;
pub mod search;
pub mod session_file;
mod settings;
mod skill_inputs;
mod skill_path;
mod sources;
mod troubles;
pub mod trusting;
pub mod usage;
mod world;

pub use environment::Environment;
pub use library::{Discovery, Library, Rediscover, StaleRead};
pub use planning::PlannedRoot;
pub use project::Project;
pub use request::{DiscoveryParts, DiscoveryRequest, DiscoveryView};
pub use resources::ReadRefusal;
pub use scope::OwnerScope;
pub use settings::LoadedSettings;
pub use sources::Sources;
pub use world::World;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
