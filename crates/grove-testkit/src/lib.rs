#![doc = include_str!("../README.md")]

pub mod agent_program;
pub mod browser;
pub mod catalog_reader;
pub mod escapes;
pub mod fuzz_corpus;
pub mod hostile;
pub mod hostile_repositories;
pub mod library;
pub mod model_server;
pub mod need;
pub mod process;
pub mod process_shapes;
pub mod session;
pub mod shared;
pub mod task;

mod shown_text;
mod skill_text;

/// The names from before [`session::Session`], for modules that have them.
pub mod home {
    pub use crate::session::{Session as TestHome, place};
}
