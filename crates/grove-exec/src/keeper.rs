//! One small process per tree of processes, which ends the tree and reports how it ended.
//!
//! The order comes as the first line on its standard input; every later line ends the tree, and so does the end of the
//! input, which is the death of the process that started it. Its standard output is the output of the tree and nothing
//! else; its report is the one line on its standard error. Only the keeper holds the other ends of these, so a reader
//! always comes to their end, whatever the tree does with its own output.
//!
//! A report counts if the keeper ended by itself after it and the report has the secret word that came with the order. No
//! process of the tree can open the keeper's descriptors or memory, because the keeper hides them; a process that is bound
//! by a sandbox cannot signal it either, because the keeper is not bound with it.

mod client;
mod confined;
mod process;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use client::{ExecError, Keeper, ProcessEnd, StopTokens};
pub use process::keep;

use crate::processes::SeenProcess;
use crate::sandbox::{EnforcedRestriction, Sandbox};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperOrder {
    pub command: Vec<String>,
    pub folder: PathBuf,
    /// Its whole environment; the mark is added.
    pub environment: Vec<(String, String)>,
    /// The path to the attempt from the root of its tree.
    pub mark: String,
    pub limit_ms: u64,
    /// The time between asking a tree to end and ending it, in milliseconds.
    pub grace_ms: u64,
    /// The most bytes of output that are passed on; the rest is read and dropped.
    pub most_output: u64,
    /// The sandbox of the tree; it is not restricted if there is none.
    pub sandbox: Option<Sandbox>,
    /// The most files that each process may have open; as many as the keeper if there is none.
    pub open_files: Option<u64>,
}

impl KeeperOrder {
    /// Returns the order for a shell line with the usual limits and an empty environment.
    pub fn shell(line: &str, folder: PathBuf, mark: &str) -> Self {
        Self {
            command: ["/bin/sh", "-c", line].map(str::to_owned).to_vec(),
            folder,
            environment: Vec::new(),
            mark: mark.to_owned(),
            limit_ms: 600_000,
            grace_ms: 2_000,
            most_output: 64 << 20,
            sandbox: None,
            open_files: None,
        }
    }

    fn limit(&self) -> Duration {
        Duration::from_millis(self.limit_ms)
    }

    fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProgramExit {
    Code(i32),
    Signal(i32),
    NotStarted(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EndReason {
    Done,
    TimedOut,
    Told,
    /// The process that started the keeper is gone.
    Abandoned,
    /// It had more processes, or more memory, than a tree may have.
    UsedTooMuch,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperReport {
    pub exit: ProgramExit,
    pub why: EndReason,
    /// The number of scans for processes that are left.
    pub scans: u32,
    /// The number of processes that had to be ended.
    pub ended: u32,
    /// The process ids of those that could not be ended.
    pub left: Vec<u32>,
    pub held: Vec<EnforcedRestriction>,
}

#[derive(Serialize, Deserialize)]
struct SealedOrder {
    /// The word that the report must repeat.
    word: String,
    order: KeeperOrder,
}

/// A report with the secret word of its order.
#[derive(Serialize, Deserialize)]
struct SealedReport {
    word: String,
    report: KeeperReport,
}

fn ids(seen: &[SeenProcess]) -> Vec<u32> {
    seen.iter().map(|seen| seen.pid).collect()
}
