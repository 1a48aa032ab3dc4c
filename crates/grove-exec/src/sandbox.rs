//! What a process and everything below it is kept from, held by the kernel.
//!
//! A step between the keeper and the program puts it on itself and becomes the program: there is no way back, no moment
//! before it, and no unsafe code between fork and exec. What the kernel could hold is said in the report; nothing is
//! claimed that was not put on.
//!
//! Not used: process namespaces. What one would add is held by the rules on signals and on looking into processes.

mod file_rules;
mod readable;
mod system_calls;
mod variables;
mod view;

use std::path::PathBuf;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use serde::{Deserialize, Serialize};

pub use file_rules::write_rules_work;
pub use variables::allowed_variables;
pub(crate) use view::ViewError;

use crate::processes::read_proc;

/// No file of a command grows beyond this.
const MOST_FILE: u64 = 8 << 30;
/// A tree has no more processes and threads.
pub(crate) const MOST_TASKS: u64 = 4_096;
/// Programs of a tree end before others when the machine has no memory left.
const FIRST_WITHOUT_MEMORY: &str = "800";

/// What of root's powers is left: those over the files of a container that belong to somebody else, and becoming less.
const KEPT_POWERS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// What a tree is kept from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// The folders that it may write to, with everything below them. Devices that swallow or make bytes are always
    /// open.
    pub writes: Vec<PathBuf>,
    /// What it is kept from beside writing. With it, what the kernel cannot hold is missing from the report; without
    /// it, a tree that the kernel cannot keep from writing is not started.
    pub seclusion: Option<Seclusion>,
}

/// What a tree is kept from beside writing: files that are not its business, other processes, the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seclusion {
    /// What it may read and run, with everything below.
    pub reads: Vec<PathBuf>,
    /// What of that it may not read, and what it may not write wherever it lies.
    pub hidden: Vec<PathBuf>,
    /// What it may read and not write, wherever it lies: files by which a person's other programs find what they run.
    pub guarded: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
}

impl Sandbox {
    /// A tree that may write to these folders alone, and is free otherwise.
    pub fn writing_to(folders: Vec<PathBuf>) -> Self {
        Self {
            writes: folders,
            seclusion: None,
        }
    }
}

/// Something that the kernel holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Held {
    /// Writing is held to some folders.
    Writes,
    /// Reading is held to some folders.
    Reads,
    /// There is no network, and no other way to talk to processes outside.
    Network,
    /// Signals reach the own tree alone.
    Signals,
    /// System calls that lead round the rest are refused.
    SystemCalls,
    /// Modes, owners, times and attributes of files are held like writing.
    Attributes,
}

impl Held {
    /// Everything that a secluded tree is kept from where the kernel has it all.
    pub const ALL: [Self; 6] = [
        Self::Writes,
        Self::Reads,
        Self::Network,
        Self::Signals,
        Self::SystemCalls,
        Self::Attributes,
    ];
}

impl std::fmt::Display for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Network => "network",
            Self::Signals => "signals",
            Self::SystemCalls => "system calls",
            Self::Attributes => "attributes",
        })
    }
}

/// Why a process cannot be bound.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RestrictError {
    /// It has no view of the file system of its own; another process has to do without one.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The kernel has no rules on writing, and without them nothing may be started.
    #[error("no write rules: {0}")]
    Rules(Box<dyn std::error::Error>),
}

/// Binds this process and all that it starts, with a view of the file system of its own or without. There is no way back.
pub(crate) fn restrict_this_process(
    sandbox: &Sandbox,
    with_view: bool,
) -> Result<Vec<Held>, RestrictError> {
    let Some(seclusion) = &sandbox.seclusion else {
        return file_rules::restrict(sandbox)
            .map(|rules| rules.held)
            .map_err(RestrictError::Rules);
    };
    limit_resources();
    let mut held = Vec::new();
    if with_view {
        let real = |paths: &[PathBuf]| paths.iter().map(|path| readable::place_of(path)).collect();
        let guarded: Vec<PathBuf> = real(&[&*seclusion.hidden, &*seclusion.guarded].concat());
        view::restrict(&real(&sandbox.writes), &guarded)?;
        held.push(Held::Attributes);
    }
    give_up_powers();
    // A kernel without these rules still refuses system calls, and the report says what it held.
    let rules = file_rules::restrict(sandbox).unwrap_or_default();
    let refused = system_calls::Refused {
        network: seclusion.network,
        holds_sockets: rules.holds_sockets,
        holds_signals: rules.held.contains(&Held::Signals),
        keeper: std::os::unix::process::parent_id(),
    };
    held.extend(rules.held);
    if system_calls::refuse(&refused).is_ok() {
        held.push(Held::SystemCalls);
        if !seclusion.network {
            held.push(Held::Network);
        }
    }
    held.sort();
    Ok(held)
}

/// No core files, which would hold what the memory held, no file that fills the disk, and no more processes than a large
/// build has. Processes are counted for each person, so those that are there already come on top; root is not counted,
/// and the keeper looks after it.
fn limit_resources() {
    for (what, most) in [
        (Resource::Core, 0),
        (Resource::Fsize, MOST_FILE),
        (Resource::Nproc, tasks_of_the_machine() + MOST_TASKS),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        // A lower limit is there already where this is refused.
        let _ = setrlimit(what, limit);
    }
    let adjusting = openat(
        CWD,
        "/proc/self/oom_score_adj",
        OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    // Where it cannot be said, the kernel chooses by size alone.
    let _ = adjusting.and_then(|file| rustix::io::write(file, FIRST_WITHOUT_MEMORY.as_bytes()));
}

/// The number of tasks of all people.
fn tasks_of_the_machine() -> u64 {
    let load = read_proc("/proc/loadavg").unwrap_or_default();
    let load = String::from_utf8_lossy(&load).into_owned();
    let tasks = load.split('/').nth(1);
    let tasks = tasks.and_then(|rest| rest.split(' ').next()?.parse().ok());
    tasks.unwrap_or(MOST_TASKS)
}

/// Whoever is root loses what reaches beyond files: devices, kernel memory, networks, other processes. Programs that it
/// starts cannot get it back, because new privileges are off.
fn give_up_powers() {
    let Ok(now) = rustix::thread::capabilities(None) else {
        return;
    };
    let sets = CapabilitySets {
        effective: now.effective & KEPT_POWERS,
        permitted: now.permitted & KEPT_POWERS,
        inheritable: CapabilitySet::empty(),
    };
    // Giving up is never refused.
    let _ = set_capabilities(None, sets);
}
