//! Skills and child agents for every host that speaks MCP.
//!
//! One [`Server`] holds a library and serves it over stdio or over HTTP on loopback: tools, the skills and
//! their files as resources, skills over MCP as standardised, and skills and agents as prompts. It decides nothing about skills:
//! each answer is a function of the snapshot that was made for it, and every connection is one
//! disclosure session in memory.
//!
//! [`host_config`] writes the server into the configuration of hosts, and takes it out again.

// The fuzz targets' checks name this crate from outside.
#[cfg(test)]
extern crate self as grove_server;

mod agents;
mod chains;
mod changes;
mod connection;
mod errors;
mod frontmatter;
#[cfg(test)]
mod fuzz_corpus_tests;
mod gate;
pub mod host_config;
mod host_facts;
mod http;
mod lines;
mod mime;
mod pages;
mod parameters;
mod pending_connections;
mod prompts;
mod resources;
mod served_library;
mod server;
mod skill_paths;
mod skills_extension;
mod subagents;
mod subscriptions;
mod token;
mod tools;
pub mod web;
mod wording;
mod work;

pub use http::HttpOptions;
pub use server::{ServeError, Server};
pub use token::Token;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
