//! The processes that this one has started and that run now: keepers and git. Whatever else becomes a child of this
//! process was left behind by a keeper that died, and is ended.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Their ids. It is locked while one is started, so that a look for strays knows every one of them.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ids of all of them.
pub(crate) fn ids() -> Vec<u32> {
    running().clone()
}

/// A process that is no stray as long as this is kept.
#[derive(Debug)]
pub(crate) struct OwnChild {
    id: Option<u32>,
}

impl OwnChild {
    /// Starts a process; `id` is its id, where it has one.
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
