//! The formats Grove reads and writes: `SKILL.md`, agent and chain files, package manifests and `config.toml`.
//!
//! Everything here is pure: text in, values and diagnostics out. Bad input is data. A parser never
//! panics and never returns an error that hides the rest of the file. Nothing in this crate knows
//! a path on disk, a clock or an environment; the caller, who read the bytes, attaches the file name.

#![warn(missing_docs)]

// The fuzz targets' checks name this crate from outside.
#[cfg(test)]
extern crate self as grove_spec;

pub mod acceptance;
pub mod agent;
pub mod budgets;
pub mod chain;
pub mod codes;
pub mod config;
pub mod diagnostic;
pub mod digest;
pub mod duration;
pub mod engine;
pub mod fence;
mod field_reader;
mod frontmatter;
#[cfg(test)]
mod fuzz_corpus_tests;
pub mod generated;
pub mod hidden_text;
pub mod json;
#[cfg(test)]
mod malformed_values;
pub mod money;
pub mod package;
pub mod quoted_frontmatter;
pub mod render;
pub mod skill;
#[cfg(test)]
mod strictest_tests;
pub mod text;
pub mod variables;
pub mod wildcard;
mod words;
pub mod yaml;

pub use codes::Code;
pub use diagnostic::{Diagnostic, Position, Severity};
pub use digest::Digest;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
