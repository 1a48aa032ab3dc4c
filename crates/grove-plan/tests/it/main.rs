//! The laws of runs over generated plans and orders of events, and the cases people think of first.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say why"
)]

mod acceptance;
mod cases;
mod details;
mod history;
mod laws;
mod sessions;
mod views;
mod world;
