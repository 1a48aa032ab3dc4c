//! Real trees of processes: each ends when it should, and only it.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on should say why"
)]

mod escapes;
mod git;
mod lesser_kernels;
mod merging;
mod programs;
mod trees;
mod waiting;
mod writing;
