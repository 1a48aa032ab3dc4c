//! Noticing that something changed, so that no caller has to look all the time.
//!
//! What is noticed is a hint and nothing more: events can be lost, come late or name a path that has moved on. A caller
//! that is woken looks again. Folders are watched, never files: an editor that saves by renaming leaves a watched file
//! behind, and its folder sees it all.
//!
//! [`ChangeWatcher`] is the seam for other systems: [`inotify`] asks the kernel, [`polling`] is what is left when there
//! is nothing to ask.

mod bell;
mod file_system;
pub mod inotify;
pub mod polling;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use bell::Bell;

pub trait ChangeWatcher: Debug + Send {
    /// Watches exactly these folders from now on.
    fn watch(&mut self, wanted: &WatchedFolders) -> WatchCoverage;

    /// Returns true if everything asked for last is still watched as it was then.
    fn is_whole(&self) -> bool;

    /// Waits until something happened, the bell rang, or the time is over.
    fn wait(&mut self, timeout: Duration) -> Vec<WatchEvent>;
}

/// The best way to notice changes here: the kernel's, or polling with the reason why.
pub fn best(bell: &Arc<Bell>, max_watches: usize) -> (Box<dyn ChangeWatcher>, Option<GapReason>) {
    match inotify::Inotify::new(Arc::clone(bell), max_watches) {
        Ok(kernel) => (Box::new(kernel), None),
        Err(errno) => (
            Box::new(polling::Polling::new(Arc::clone(bell))),
            Some(GapReason::NoWatcher(errno.to_string())),
        ),
    }
}

/// The entries of a folder that are of interest. That the folder itself goes or moves always is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderInterest {
    Everything,
    Names(Arc<BTreeSet<OsString>>),
}

impl FolderInterest {
    pub fn in_name(name: &OsStr) -> Self {
        Self::Names(Arc::new([name.to_os_string()].into()))
    }

    fn includes(&self, name: &OsStr) -> bool {
        match self {
            Self::Everything => true,
            Self::Names(names) => names.contains(name),
        }
    }

    fn join(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Everything, _) => {}
            (_, Self::Everything) => *self = Self::Everything,
            (Self::Names(mine), Self::Names(theirs)) => {
                if !theirs.is_subset(mine) {
                    Arc::make_mut(mine).extend(theirs.iter().cloned());
                }
            }
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchedFolders {
    folders: BTreeMap<PathBuf, FolderInterest>,
}

impl WatchedFolders {
    /// Adds a folder, or widens the interest in it.
    pub fn add(&mut self, folder: &Path, interest: &FolderInterest) {
        match self.folders.get_mut(folder) {
            Some(known) => known.join(interest),
            None => {
                self.folders.insert(folder.to_path_buf(), interest.clone());
            }
        }
    }

    /// Adds the folders that lead to a path, each with interest in the next step alone.
    ///
    /// So a path that is not there yet is seen to appear, one that is there to move away with any of the folders
    /// above it, and a link on the way to be laid elsewhere.
    pub fn add_way_to(&mut self, path: &Path) {
        let mut below = path;
        while let (Some(folder), Some(name)) = (below.parent(), below.file_name()) {
            if !folder.as_os_str().is_empty() {
                self.add(folder, &FolderInterest::in_name(name));
            }
            below = folder;
        }
    }

    pub fn len(&self) -> usize {
        self.folders.len()
    }

    pub fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchEvent {
    pub path: PathBuf,
    pub change: ChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    Appeared,
    Gone,
    Written,
    /// More happened than the kernel could note down; the path says nothing.
    Overflow,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchCoverage {
    /// Folders that were not watched before: what happened in them until now was not noticed.
    pub added: usize,
    /// Folders in which changes can go unnoticed, by reason.
    pub gaps: Vec<WatchGap>,
}

/// Folders in which changes can go unnoticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchGap {
    pub why: GapReason,
    pub folders: usize,
    pub first: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GapReason {
    NoWatcher(String),
    OutOfWatches,
    FileSystem(&'static str),
    Refused(String),
}

impl WatchCoverage {
    fn add_gap(&mut self, why: GapReason, folder: &Path) {
        match self.gaps.iter_mut().find(|gap| gap.why == why) {
            Some(gap) => gap.folders += 1,
            None => self.gaps.push(WatchGap {
                why,
                folders: 1,
                first: folder.to_path_buf(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interest_only_widens() {
        let names = |names: &[&str]| {
            FolderInterest::Names(Arc::new(names.iter().map(OsString::from).collect()))
        };
        for (a, b, both) in [
            (names(&["a"]), names(&["b"]), names(&["a", "b"])),
            (
                names(&["a"]),
                FolderInterest::Everything,
                FolderInterest::Everything,
            ),
            (
                FolderInterest::Everything,
                names(&["a"]),
                FolderInterest::Everything,
            ),
            (names(&["a", "b"]), names(&["b"]), names(&["a", "b"])),
        ] {
            let mut wanted = WatchedFolders::default();
            wanted.add(Path::new("/f"), &a);
            wanted.add(Path::new("/f"), &b);
            assert_eq!(wanted.folders[Path::new("/f")], both);
            assert_eq!(wanted.len(), 1);
        }
    }

    #[test]
    fn the_way_to_a_path_is_every_folder_above_it() {
        let mut wanted = WatchedFolders::default();
        wanted.add_way_to(Path::new("/a/b/c"));
        let expected = [("/", "a"), ("/a", "b"), ("/a/b", "c")];
        let expected: BTreeMap<PathBuf, FolderInterest> = expected
            .into_iter()
            .map(|(folder, name)| (folder.into(), FolderInterest::in_name(OsStr::new(name))))
            .collect();
        assert_eq!(wanted.folders, expected);
    }
}
