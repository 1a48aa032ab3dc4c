//! The processes that this one has started and that run now: keepers and git. Any other child of this process was left
//! behind by a keeper that died, and is ended.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The ids of these processes. It is locked while one is started, so that a search for strays knows all of them.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn ids() -> Vec<u32> {
    running().clone()
}

/// A process that does not count as a stray while this value lives.
#[derive(Debug)]
pub(crate) struct OwnChild {
    id: Option<u32>,
}

impl OwnChild {
    /// Starts a process; `id` returns its id, if it has one.
    pub(crate) fn start<C>(
        spawn: impl FnOnce() -> io::Result<C>,
        id: impl FnOnce(&C) -> Option<u32>,
    ) -> io::Result<(C, Self)> {
        let mut all = running();
        let child = spawn()?;
        let id = id(&child);
        all.extend(id);
        Ok((child, Self { id }))
    }
}

impl Drop for OwnChild {
    fn drop(&mut self) {
        running().retain(|id| Some(*id) != self.id);
    }
}
