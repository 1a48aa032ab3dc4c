//! Access to the file system: walking, bounded reading beneath a root, cache files, atomic
//! writes, trust grants, finding programs, and watching for changes.
//!
//! This is the one crate that may call `std::fs`. It knows nothing about skills: it finds files of a
//! given name, reports obstacles, and hands bytes to a visitor.

mod abandoned;
pub mod append;
pub mod approvals;
pub mod atomic;
mod beneath;
pub mod cache_file;
pub mod document_walk;
pub mod error;
pub mod file_names;
pub mod file_place;
pub mod files;
pub mod folder_entries;
pub mod held_folder;
pub mod listing;
pub mod lock;
pub mod move_watch;
pub mod probe_walk;
pub mod programs;
pub mod stamp;
pub mod trust_store;
pub mod undo;
pub mod watch;

pub use error::FsError;
pub use stamp::{FileId, Stamp};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
