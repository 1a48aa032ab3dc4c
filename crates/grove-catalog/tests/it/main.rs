//! The rules as tables, laws and counter-cases, one module for each.
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests read corpora, and one that cannot go on should say why"
)]

mod catalog;
mod disclosure;
mod fuzz_corpus;
mod host_listing;
mod library;
mod prompt;
mod resolve;
mod search;
mod tree;
