//! The journal over a real file, with other processes and with death in the middle.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on should say why; a process under test speaks on stdout"
)]

mod damage;
mod journal;
mod processes;
mod scene;
