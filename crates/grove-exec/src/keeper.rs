//! One small process per tree of processes, which ends it and says what it saw.
//!
//! The order comes as the first line on its standard input; every later line ends the tree, and so does the end of the
//! input, which is the death of whoever started it. Its standard output is the output of the tree and nothing else; its
//! report is the one line on its standard error. Only the keeper holds the other ends, so whoever reads them always
//! comes to an end, whatever the tree does with its own.
//!
//! A report counts if the keeper ended by itself after it and the report has the word that came with the order. No process
//! of the tree can open the keeper's descriptors or memory, because the keeper hides them; one that is bound by a
//! sandbox cannot signal it either, because the keeper is not bound with it.

mod client;
mod confined;
mod process;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use client::{ExecError, Keeper, ProcessEnd, StopTokens};
pub use process::keep;

use crate::processes::Seen;
use crate::sandbox::{Held, Sandbox};

/// What a keeper is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// Its whole environment; the mark is added.
    pub environment: Vec<(String, String)>,
    /// The path to the attempt from the root of its tree.
    pub mark: String,
    /// How long it may take, in milliseconds.
    pub limit_ms: u64,
    /// Between asking a tree to end and ending it, in milliseconds.
    pub grace_ms: u64,
    /// How many bytes of output are passed on; the rest is read and dropped.
    pub most_output: u64,
    /// What it is kept from; nothing when nothing is said.
    pub sandbox: Option<Sandbox>,
    /// How many files each process may have open; as many as the keeper when nothing is said.
    pub open_files: Option<u64>,
}

impl Order {
    /// A shell line with the usual limits and an empty environment.
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

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It never ran.
    NotStarted(String),
}

/// Why a tree ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Why {
    /// Its program was done.
    Done,
    /// Time was up.
    TimedOut,
    /// Somebody said so.
    Told,
    /// Whoever started it is gone.
    Abandoned,
    /// It had more processes, or more memory, than a tree may have.
    UsedTooMuch,
}

/// What a keeper saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// How the program ended.
    pub exit: Exit,
    /// Why the tree ended.
    pub why: Why,
    /// How often it was looked whether somebody is left.
    pub scans: u32,
    /// How many had to be ended.
    pub ended: u32,
    /// Process ids of those that could not be.
    pub left: Vec<u32>,
    /// What the kernel held of its sandbox.
    pub held: Vec<Held>,
}

/// An order on its way to a keeper.
#[derive(Serialize, Deserialize)]
struct SealedOrder {
    /// The word that the report has to have.
    word: String,
    order: Order,
}

/// A report on its way back.
#[derive(Serialize, Deserialize)]
struct SealedReport {
    /// The word that came with the order.
    word: String,
    report: Report,
}

fn ids(seen: &[Seen]) -> Vec<u32> {
    seen.iter().map(|seen| seen.pid).collect()
}
