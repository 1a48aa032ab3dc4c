//! The journal over a real file, with other processes and with death in the middle.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say why"
)]

mod budgets;
mod damage;
mod journal;
mod processes;
mod scene;
mod signatures;
