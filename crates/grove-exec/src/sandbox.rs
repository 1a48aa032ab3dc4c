//! Restrictions on a process and everything below it, enforced by the kernel.
//!
//! A step between the keeper and the program restricts itself and becomes the program: there is no way back, no moment
//! before it, and no unsafe code between fork and exec. The report lists what the kernel enforced, and claims nothing that
//! was not put in force.
//!
//! Not used: process namespaces. What one would add is enforced by the rules on signals and on looking into processes.

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

/// The size beyond which no file of a command grows.
const MOST_FILE: u64 = 8 << 30;
pub(crate) const MOST_TASKS: u64 = 4_096;
/// The score with which programs of a tree end before others when the machine has no memory left.
const FIRST_WITHOUT_MEMORY: &str = "800";

/// The powers of root that are left: those over files of other users in a container, and changing to another user.
const KEPT_POWERS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// The folders to which it may write, with everything below them: paths without links, so that a link that another
    /// process has put in the place of a folder opens nothing. Devices that swallow or make bytes are always open.
    pub writes: Vec<PathBuf>,
    /// The restrictions beside writing. With them, those that the kernel cannot enforce are missing from the report; without
    /// them, a tree whose writes the kernel cannot restrict is not started.
    pub seclusion: Option<Seclusion>,
}

/// The restrictions on a tree beside writing: on files that are not its business, other processes, the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seclusion {
    /// The folders that its task is about: paths without links, which it may read and run with everything below.
    pub work: Vec<PathBuf>,
    /// The other paths that it may read and run, with everything below.
    pub reads: Vec<PathBuf>,
    /// The paths that it may not read, even below those above, and may not write, wherever they lie.
    pub hidden: Vec<PathBuf>,
    /// The paths that it may read and not write, wherever they lie: files by which a person's other programs find what they run.
    pub guarded: Vec<PathBuf>,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EnforcedRestriction {
    Writes,
    Reads,
    /// There is no network, and no other way to talk to processes outside.
    Network,
    /// Signals reach the tree's own processes alone.
    Signals,
    /// System calls that lead round the other restrictions are refused.
    SystemCalls,
    /// Modes, owners, times and attributes of files are limited like writing.
    Attributes,
}

impl EnforcedRestriction {
    /// The restrictions on a secluded tree where the kernel knows all of them.
    pub const ALL: [Self; 6] = [
        Self::Writes,
        Self::Reads,
        Self::Network,
        Self::Signals,
        Self::SystemCalls,
        Self::Attributes,
    ];
}

impl std::fmt::Display for EnforcedRestriction {
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

#[derive(Debug, thiserror::Error)]
pub(crate) enum RestrictError {
    #[error(transparent)]
    View(#[from] ViewError),
    #[error("no write rules: {0}")]
    Rules(Box<dyn std::error::Error>),
}

/// Restricts this process and all that it starts, with or without its own view of the file system. There is no way back.
pub(crate) fn restrict_this_process(
    sandbox: &Sandbox,
    with_view: bool,
) -> Result<Vec<EnforcedRestriction>, RestrictError> {
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
        view::restrict(&sandbox.writes, &guarded)?;
        held.push(EnforcedRestriction::Attributes);
    }
    give_up_powers();
    // A kernel without these rules still refuses system calls, and the report says what it enforced.
    let rules = file_rules::restrict(sandbox).unwrap_or_default();
    let refused = system_calls::CallRestrictions {
        network: seclusion.network,
        shares_with_nobody: with_view,
        holds_sockets: rules.holds_sockets,
        holds_signals: rules.held.contains(&EnforcedRestriction::Signals),
        keeper: std::os::unix::process::parent_id(),
    };
    held.extend(rules.held);
    if system_calls::refuse(&refused).is_ok() {
        held.push(EnforcedRestriction::SystemCalls);
        if !seclusion.network {
            held.push(EnforcedRestriction::Network);
        }
    }
    held.sort();
    Ok(held)
}

/// Limits the process: no core files, which would hold the memory's content, no file that fills the disk, and no more
/// processes than a large build has. The kernel counts processes per person, so those that run already are added; it does
/// not count those of root, which the keeper counts instead.
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
        // Where this is refused, a lower limit is there already.
        let _ = setrlimit(what, limit);
    }
    let adjusting = openat(
        CWD,
        "/proc/self/oom_score_adj",
        OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    // Where this fails, the kernel chooses the program to end by size alone.
    let _ = adjusting.and_then(|file| rustix::io::write(file, FIRST_WITHOUT_MEMORY.as_bytes()));
}

fn tasks_of_the_machine() -> u64 {
    let load = read_proc("/proc/loadavg").unwrap_or_default();
    let load = String::from_utf8_lossy(&load).into_owned();
    let tasks = load.split('/').nth(1);
    let tasks = tasks.and_then(|rest| rest.split(' ').next()?.parse().ok());
    tasks.unwrap_or(MOST_TASKS)
}

/// Takes from root the powers that reach beyond files: devices, kernel memory, networks, other processes. Programs that
/// it starts cannot get them back, because new privileges are off.
fn give_up_powers() {
    let Ok(now) = rustix::thread::capabilities(None) else {
        return;
    };
    let sets = CapabilitySets {
        effective: now.effective & KEPT_POWERS,
        permitted: now.permitted & KEPT_POWERS,
        inheritable: CapabilitySet::empty(),
    };
    // The kernel never refuses to take powers away.
    let _ = set_capabilities(None, sets);
}
