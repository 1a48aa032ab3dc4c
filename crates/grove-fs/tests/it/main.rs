//! The walks and the watches over real folders.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on should say why"
)]

mod declared;
mod probe_walk;
mod watch;
