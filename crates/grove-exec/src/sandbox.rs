//! What a process and everything below it is kept from, held by the kernel.
//!
//! The keeper puts it on itself before it starts the program: there is no way back, no moment before it, and no unsafe
//! code between fork and exec. What the kernel could hold is said in the report; nothing is claimed that was not put on.
//!
//! Not used: namespaces. A user namespace makes git refuse repositories and is switched off on many systems, and what a
//! process namespace would add is held by the rules on signals and on looking into processes.

mod file_rules;
mod readable;
mod system_calls;
mod variables;

use std::path::PathBuf;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use serde::{Deserialize, Serialize};

pub use file_rules::write_rules_work;
pub use variables::allowed_variables;

/// No file of a command grows beyond this.
const MOST_FILE: u64 = 8 << 30;

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
    /// What of that it may not read.
    pub hidden: Vec<PathBuf>,
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
}

impl std::fmt::Display for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Network => "network",
            Self::Signals => "signals",
            Self::SystemCalls => "system calls",
        })
    }
}

/// Binds this process and all that it starts. There is no way back.
pub(crate) fn restrict_this_process(sandbox: &Sandbox) -> Result<Vec<Held>, String> {
    let Some(seclusion) = &sandbox.seclusion else {
        return file_rules::restrict(sandbox);
    };
    limit_resources();
    give_up_powers();
    // A kernel without these rules still refuses system calls, and the report says what it held.
    let mut held = file_rules::restrict(sandbox).unwrap_or_default();
    if system_calls::refuse(seclusion.network).is_ok() {
        held.push(Held::SystemCalls);
        if !seclusion.network {
            held.push(Held::Network);
        }
    }
    held.sort();
    Ok(held)
}

/// No core files, which would hold what the memory held, and no file that fills the disk.
fn limit_resources() {
    for (what, most) in [(Resource::Core, 0), (Resource::Fsize, MOST_FILE)] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        // A lower limit is there already where this is refused.
        let _ = setrlimit(what, limit);
    }
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
