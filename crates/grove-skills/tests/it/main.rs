//! The library over real folders.
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on should say why"
)]

mod agents;
mod disclosure;
mod library;
mod live;
mod live_storms;
mod managing_names;
mod search;
mod trees;
