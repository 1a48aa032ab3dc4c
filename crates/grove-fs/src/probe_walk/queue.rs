//! The work shared by the walking threads: a stack, so that few folders are open at a time.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::names::SortedNames;

pub(super) enum WalkJob {
    Open(GroupFolder),
    /// Probe some children of an open group.
    Probe {
        listed: Arc<ListedGroup>,
        children: Range<usize>,
    },
}

pub(super) struct ListedGroup {
    pub(super) folder: OwnedFd,
    pub(super) group: GroupFolder,
    pub(super) children: SortedNames,
}

/// A folder without a skill file of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupFolder {
    /// Its path below the root; empty for the root.
    pub(super) path: String,
    /// The number of groups above it.
    pub(super) depth: usize,
    pub(super) through_link: bool,
}

/// Opening and listing a folder costs about as much as this many probes.
const OPEN_COSTS: usize = 4;

impl WalkJob {
    fn cost(&self) -> usize {
        match self {
            Self::Open(_) => OPEN_COSTS,
            Self::Probe { children, .. } => children.len(),
        }
    }
}

/// A stack of jobs for the thread that walks and one that helps.
///
/// The walk goes level by level: the first thread learns when a level is done, the helper stays for
/// the next one until the queue is closed.
pub(super) struct WalkQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    jobs: Vec<WalkJob>,
    cost: usize,
    /// The threads that are inside a job and may push more.
    working: usize,
    waiting: usize,
    closed: bool,
}

/// The turn of the asking thread: its first, or one after a finished job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ThreadTurn {
    First,
    Finished,
}

/// The role of the asking thread: the walker is told when a level is done, the helper when the walk is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ThreadRole {
    Walker,
    Helper,
}

impl WalkQueue {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn start_level(&self, groups: Vec<GroupFolder>) {
        let mut state = self.lock();
        state.cost += groups.len() * OPEN_COSTS;
        state
            .jobs
            .extend(groups.into_iter().rev().map(WalkJob::Open));
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    pub(super) fn push(&self, job: WalkJob) {
        let mut state = self.lock();
        state.cost += job.cost();
        state.jobs.push(job);
        if state.waiting > 0 {
            self.changed.notify_one();
        }
    }

    /// The next job, or `None` when there will be none for this thread.
    pub(super) fn next(&self, turn: ThreadTurn, role: ThreadRole) -> Option<WalkJob> {
        let mut state = self.lock();
        if turn == ThreadTurn::Finished {
            state.working -= 1;
            if state.working == 0 && state.jobs.is_empty() && state.waiting > 0 {
                self.changed.notify_all();
            }
        }
        loop {
            if let Some(job) = state.jobs.pop() {
                state.cost -= job.cost();
                state.working += 1;
                return Some(job);
            }
            let done = match role {
                ThreadRole::Walker => state.working == 0,
                ThreadRole::Helper => state.closed,
            };
            if done {
                return None;
            }
            state.waiting += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// The work that is waiting, in probes.
    pub(super) fn cost_waiting(&self) -> usize {
        self.lock().cost
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
