//! The journal of runs and its leases, in one SQLite file that several processes share.
//!
//! An event is recorded in one transaction with everything that follows from it: the row that listings show, the pending
//! effects, and the long texts it refers to. [`grove_plan::advance`] decides in that transaction whether the event may be
//! recorded, so that two processes cannot both be right.
//!
//! Not here: the execution of effects, clocks, and the meaning of a run to a person.

mod error;
mod journal;
mod reading;
mod schema;
mod signing;
mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use grove_plan::{Fact, NodeId, Parent, Plan, Reused, Times};
use rusqlite::{Connection, OpenFlags};

pub use error::StoreError;
pub use journal::{JournalFault, chain_hash};
pub use reading::{LoadedRun, OutboxRow, RunFilter, RunRow};
pub use signing::SigningKey;
pub use writer::{Appended, PrunedCounts, Submitted};

use reading::LongRuns;
use writer::WriterJob;

/// The longest wait for another program to finish its transaction.
const BUSY: Duration = Duration::from_secs(20);
/// The most jobs that may wait for the writer; further callers wait until there is room.
const QUEUE: usize = 4_096;

#[derive(Debug, Clone)]
pub struct Submission {
    pub id: String,
    pub plan: Plan,
    /// Everything about the run that its plan does not have, as JSON.
    pub envelope: String,
    /// The name of the providers, keys and servers that its supervisor has to have.
    pub surroundings: String,
    /// A title of one line for people.
    pub title: String,
    /// The folder from which it was requested.
    pub folder: String,
    /// The hash of the owner's token.
    pub owner: grove_spec::Digest,
    /// A key with which a second submission leads to the same run.
    pub key: Option<String>,
    pub parent: Option<Parent>,
    /// An earlier run of the same plan, whose texts this run shares, and the results of its nodes.
    pub again: Option<(String, BTreeMap<NodeId, Reused>)>,
    /// Texts that the plan names by digest.
    pub artifacts: Vec<Vec<u8>>,
    pub at: Times,
}

#[derive(Debug, Clone)]
pub struct NewEvent {
    pub fact: Fact,
    pub artifacts: Vec<Vec<u8>>,
    pub at: Times,
}

/// The file, opened once by a process.
///
/// Closing a second descriptor of a file drops the locks of the first, so a process has one of these.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    jobs: Option<SyncSender<WriterJob>>,
    writer: Option<JoinHandle<()>>,
    reader: Mutex<Connection>,
    /// Long journals in memory, so that each look reads only their new events. Locked while the reader is held.
    long_runs: Mutex<LongRuns>,
    /// The key for the ends of runs; without it nothing is signed, and signatures are not checked.
    key: Option<SigningKey>,
}

impl Store {
    /// Opens the file, creating or migrating it to the newest version. Its folder must exist.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, None)
    }

    /// Opens the file like [`Self::open`], and signs the end of every run with a key.
    pub fn open_signing(path: &Path, key: SigningKey) -> Result<Self, StoreError> {
        Self::open_with(path, Some(key))
    }

    fn open_with(path: &Path, key: Option<SigningKey>) -> Result<Self, StoreError> {
        let mut connection = connect(path)?;
        schema::migrate(&mut connection)?;
        let reader = connect(path)?;
        reader.pragma_update(None, "query_only", true)?;
        let (jobs, waiting) = sync_channel(QUEUE);
        let writers_key = key.clone();
        let writer = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer::run(connection, writers_key, &waiting))
            .map_err(StoreError::Thread)?;
        Ok(Self {
            path: path.to_path_buf(),
            jobs: Some(jobs),
            writer: Some(writer),
            reader: Mutex::new(reader),
            long_runs: Mutex::default(),
            key,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn key(&self) -> Option<&SigningKey> {
        self.key.as_ref()
    }

    fn reader(&self) -> MutexGuard<'_, Connection> {
        // A reader that panicked left nothing half done.
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, job: WriterJob) -> Result<(), StoreError> {
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job).map_err(|_| StoreError::Closed)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // The writer writes the jobs that are queued, and ends when no sender is left.
        self.jobs = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Runs SQLite's own check of the file and returns the faults that it finds; none if the file is whole.
pub fn check_file(path: &Path) -> Result<Vec<String>, StoreError> {
    let connection = connect(path)?;
    let mut statement = connection.prepare("PRAGMA quick_check")?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    let said: Result<Vec<String>, _> = rows.collect();
    Ok(said?.into_iter().filter(|line| line != "ok").collect())
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
