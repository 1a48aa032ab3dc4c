//! The work shared by the walking threads: a stack, so that few folders are open at a time.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// One piece of work.
pub(super) enum Job {
    /// Open a group and list it.
    Open(Group),
    /// Probe children of an open group.
    Probe {
        folder: Arc<OwnedFd>,
        group: Arc<Group>,
        children: Vec<Child>,
    },
}

/// A folder without a skill file of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    /// Its path below the root; empty for the root.
    pub(super) path: String,
    /// How many groups lie above it.
    pub(super) depth: usize,
    /// Whether a link leads to it.
    pub(super) through_link: bool,
}

/// A name in a folder that may be a skill folder or a group.
pub(super) struct Child {
    pub(super) name: CString,
    pub(super) is_link: bool,
}

/// Opening and listing a folder costs about as much as this many probes.
const OPEN_COSTS: usize = 4;

impl Job {
    fn cost(&self) -> usize {
        match self {
            Self::Open(_) => OPEN_COSTS,
            Self::Probe { children, .. } => children.len(),
        }
    }
}

/// A stack of jobs that ends when it is empty and nobody is working.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    cost: usize,
    /// How many threads are inside a job and may push more.
    working: usize,
    /// How many threads wait for a job.
    waiting: usize,
}

/// Whether the asking thread has just finished a job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    First,
    Finished,
}

impl Queue {
    /// A queue that gives the groups in their order.
    pub(super) fn new(groups: Vec<Group>) -> Self {
        let jobs: Vec<Job> = groups.into_iter().rev().map(Job::Open).collect();
        let cost = jobs.len() * OPEN_COSTS;
        Self {
            state: Mutex::new(State {
                jobs,
                cost,
                ..State::default()
            }),
            changed: Condvar::new(),
        }
    }

    pub(super) fn push(&self, job: Job) {
        let mut state = self.lock();
        state.cost += job.cost();
        state.jobs.push(job);
        if state.waiting > 0 {
            self.changed.notify_one();
        }
    }

    /// The next job; `None` when all work is done.
    pub(super) fn next(&self, turn: Turn) -> Option<Job> {
        let mut state = self.lock();
        if turn == Turn::Finished {
            state.working -= 1;
        }
        loop {
            if let Some(job) = state.jobs.pop() {
                state.cost -= job.cost();
                state.working += 1;
                return Some(job);
            }
            if state.working == 0 {
                self.changed.notify_all();
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

    /// How much work is waiting, in probes.
    pub(super) fn cost_waiting(&self) -> usize {
        self.lock().cost
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
