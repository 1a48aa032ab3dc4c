//! The engine in its own process: runs against a scripted model, worked on by a supervisor on a thread. Nothing here starts a
//! process of Grove's, because the test program is not Grove.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test that cannot go on should say why"
)]

mod envelopes;
mod fan_outs;
mod journal_of_373f1d4;
mod scene;
mod subagents;
