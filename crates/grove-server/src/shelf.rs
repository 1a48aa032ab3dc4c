//! The library that all connections share.
//!
//! Every request looks before it answers, which costs one walk of stats, so an answer is never older than the
//! request. Looking and changing sessions is done by one at a time; reading files is done by many.

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use grove_catalog::Digest;
use grove_catalog::snapshot::Snapshot;
use grove_skills::Library;
use tokio::sync::watch;

use crate::skill_paths::SkillPaths;

/// A library, the snapshot that was seen last, and who wants to know when that changes.
#[derive(Debug)]
pub(crate) struct Shelf {
    library: RwLock<Library>,
    /// The digest of what was seen last; connections wait on it to say that their lists changed.
    seen: watch::Sender<Digest>,
    /// Paths are a function of the snapshot, and most requests see the same one.
    paths: Mutex<Option<(Digest, Arc<SkillPaths>)>>,
}

impl Shelf {
    /// A shelf whose library has looked once.
    pub(crate) fn new(mut library: Library) -> Self {
        let digest = library.load().digest;
        Self {
            library: RwLock::new(library),
            seen: watch::Sender::new(digest),
            paths: Mutex::new(None),
        }
    }

    /// Looks; whoever waits for changes is told.
    pub(crate) fn look(&self) -> Arc<Snapshot> {
        self.changing(|_, snapshot| Arc::clone(snapshot))
    }

    /// Looks, and does something that needs the library for itself.
    pub(crate) fn changing<T>(&self, act: impl FnOnce(&mut Library, &Arc<Snapshot>) -> T) -> T {
        let mut library = self.library.write().unwrap_or_else(PoisonError::into_inner);
        let snapshot = library.load();
        self.seen.send_if_modified(|seen| {
            let differs = *seen != snapshot.digest;
            *seen = snapshot.digest;
            differs
        });
        act(&mut library, &snapshot)
    }

    /// The library, for reading files of a snapshot of its.
    pub(crate) fn reading(&self) -> RwLockReadGuard<'_, Library> {
        self.library.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where each skill of a snapshot is served.
    pub(crate) fn paths(&self, snapshot: &Snapshot) -> Arc<SkillPaths> {
        let mut known = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        match known.as_ref() {
            Some((digest, paths)) if *digest == snapshot.digest => Arc::clone(paths),
            _ => {
                let paths = Arc::new(SkillPaths::of(snapshot));
                *known = Some((snapshot.digest, Arc::clone(&paths)));
                paths
            }
        }
    }

    /// Says when the digest of what is seen changes.
    pub(crate) fn changes(&self) -> watch::Receiver<Digest> {
        self.seen.subscribe()
    }

    /// Writes what was learnt for the next start. What cannot be written is learnt again.
    pub(crate) fn save_cache(&self) {
        let mut library = self.library.write().unwrap_or_else(PoisonError::into_inner);
        let _ = library.save_cache();
    }
}
