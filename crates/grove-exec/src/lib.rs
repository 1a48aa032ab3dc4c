//! Child processes and their trees: keepers, scans of `/proc`, sandboxes, and the liveness of processes.
//!
//! The tests cover Linux. Everything that touches the kernel is behind [`Keeper`], [`find_marked`], [`end_marked`]
//! and [`ProcessIdentity`], which are the places to port to other systems.

mod bounded_output;
mod clock;
mod git;
mod keeper;
mod own_children;
mod process_identity;
mod processes;
mod program_input;
mod programs;
mod sandbox;
mod threads;

pub use bounded_output::{BoundedOutput, OutputBounds};
pub use clock::now;
pub use git::{
    AppliedPatch, CapturedSubmodule, CapturedTree, Git, GitError, GuardedRepository, LinkOrCopy,
    MergedPatches, RepositoryPlace, SubmoduleFiles,
};
pub use keeper::{
    EndReason, ExecError, Keeper, KeeperOrder, KeeperReport, ProcessEnd, ProgramExit, StopTokens,
    keep,
};
pub use process_identity::{Liveness, ProcessIdentity};
pub use processes::{
    EndedTree, KEEPER, MARK, SeenProcess, end_marked, end_strays, find_marked, hide_this_process,
    is_marked, kept_mark, marked_processes,
};
pub use program_input::ProgramInput;
pub use programs::{
    CallEffect, PROGRAMS, Program, ProgramBridge, ProgramCapabilities, ProgramEvent, ProgramLaunch,
    ProgramProvider, ProgramReader, ProgramState, ProgramTask, ProgramVerdict, verdict,
};
pub use sandbox::{EnforcedRestriction, Sandbox, Seclusion, allowed_variables, write_rules_work};
pub use threads::runtime;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
