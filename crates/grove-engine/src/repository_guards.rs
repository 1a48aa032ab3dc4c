//! The repositories in which children run unconfined commands: files that such a command writes there and that git would run
//! later are put back when the child ends, before Grove's next git and before the person's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use grove_exec::{Git, GuardedRepository};

/// The folders that tell which working tree of which repository it is.
type Key = (PathBuf, PathBuf);

/// Repositories as they were before the first of the children that are in them now.
#[derive(Debug, Default)]
pub(crate) struct RepositoryGuards {
    held: Mutex<HashMap<Key, Held>>,
}

#[derive(Debug)]
struct Held {
    guarded: GuardedRepository,
    children: usize,
}

impl RepositoryGuards {
    pub(crate) fn hold(&self, git: &Git, folder: &Path) -> Option<GuardedRepository> {
        let mut guarded = git.guard(folder)?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // Files that earlier children have written by now are not part of the state to go back to.
        for earlier in held.values() {
            guarded.take_over(&earlier.guarded);
        }
        let entry = held.entry(key(&guarded)).or_insert_with(|| Held {
            guarded,
            children: 0,
        });
        entry.children += 1;
        Some(entry.guarded.clone())
    }

    /// Puts back what git would run now and would not have run before. Returns a sentence about it; none if there was nothing.
    pub(crate) fn release(&self, git: &Git, guarded: &GuardedRepository) -> Option<String> {
        let said = put_back(git, guarded);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(guarded);
        if let Some(entry) = held.get_mut(&key) {
            entry.children = entry.children.saturating_sub(1);
            if entry.children == 0 {
                held.remove(&key);
            }
        }
        said
    }
}

/// Puts back what git would run now and would not have run before. Returns a sentence about it; none if there was nothing.
pub(crate) fn put_back(git: &Git, guarded: &GuardedRepository) -> Option<String> {
    match git.put_back(guarded) {
        Ok(files) if files.is_empty() => None,
        Ok(files) => {
            let names: Vec<String> = files.iter().map(|it| it.display().to_string()).collect();
            let names = names.join(", ");
            Some(format!(
                "git would have run what was written here; put back: {names}"
            ))
        }
        Err(error) => Some(format!("what git would run could not be put back: {error}")),
    }
}

fn key(guarded: &GuardedRepository) -> Key {
    let (common, own) = guarded.folders();
    (common.to_path_buf(), own.to_path_buf())
}
