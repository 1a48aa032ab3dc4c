//! Working trees of children, and the effects on them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use grove_exec::{CapturedSubmodule, GitError};
use grove_fs::FsError;
use grove_plan::{
    CapturedWork, EarlierWork, NodeId, Outcome, SubmoduleWork, WorktreePlan, WorktreeState,
};
use grove_spec::Digest;

use crate::beginning::Begins;
use crate::error::with_causes;
use crate::node_effect::NodeEffect;
use crate::supervisor::DoneEffect;

/// The number of times that a failed step is tried again, and the time between two tries.
const TRIES: u32 = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(150);

/// The reason why something could not be done with a working tree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    #[error("{0} is missing")]
    Missing(String),
    #[error("a link leads from {0} elsewhere")]
    Elsewhere(PathBuf),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Files(#[from] FsError),
}

/// A child's working tree.
pub(crate) struct ChildWorktree<'a> {
    pub(crate) at: &'a NodeEffect<'a>,
    pub(crate) plan: WorktreePlan,
    pub(crate) folder: PathBuf,
    /// The state of the tree by the journal.
    known: WorktreeState,
}

impl<'a> ChildWorktree<'a> {
    pub(crate) fn of(at: &'a NodeEffect<'a>, node: &NodeId) -> Option<Self> {
        let known = at.run.state.nodes.get(node);
        Some(Self {
            at,
            plan: at.run.plan.child(node)?.place.worktree.clone()?,
            folder: at.places.worktree(&at.run.id, node),
            known: known.and_then(|it| it.worktree.clone()).unwrap_or_default(),
        })
    }

    /// Makes the tree, with the patches of others and its own earlier one, and returns the texts that the outcome names.
    pub(crate) fn make(&self, patch: Option<&Digest>, begins: &[EarlierWork]) -> DoneEffect {
        match again(|| self.begin(begins)) {
            Ok(Begins::At(base)) => self.make_at(patch, &base).into(),
            Ok(Begins::Conflict(conflict, answer)) => {
                let outcome = Outcome::Conflicting {
                    conflict,
                    answer: Digest::of(&answer),
                };
                DoneEffect::with(outcome, vec![answer])
            }
            Err(error) => {
                let why = with_causes(&error);
                let why = format!("the work that it begins with cannot be put together: {why}");
                self.give_up(&why).into()
            }
        }
    }

    fn make_at(&self, patch: Option<&Digest>, base: &str) -> Outcome {
        let stored = |digest: &Digest| self.at.store.artifact(digest).ok().flatten();
        let patch = patch.map(stored);
        let ignored = self.known.captured.as_ref().and_then(|it| it.ignored);
        let ignored = ignored.as_ref().map(stored);
        let make = || -> Result<(), TreeError> {
            let patch = match &patch {
                Some(None) => return Err(TreeError::Missing("its patch".to_owned())),
                Some(Some(patch)) => Some(patch.as_slice()),
                None => None,
            };
            let repository = &self.plan.repository;
            if let Some(parent) = self.folder.parent() {
                grove_fs::files::make_folder(parent)?;
                self.require_own_place(parent)?;
            }
            self.at.git.remove(repository, &self.folder)?;
            // Files that a killed git left are in none of git's lists, so git does not remove them.
            let _ = grove_fs::files::remove_folder(&self.folder);
            self.at.git.make(repository, base, &self.folder, patch)?;
            match &ignored {
                Some(None) => return Err(TreeError::Missing("its ignored files".to_owned())),
                Some(Some(archive)) => self.at.git.unpack(&self.folder, archive)?,
                None => {}
            }
            Ok(())
        };
        match again(make) {
            Ok(()) => Outcome::Made {
                folder: self.folder.clone(),
                synthetic: Vec::new(),
                base: (base != self.plan.base).then(|| base.to_owned()),
            },
            Err(error) => {
                let why = with_causes(&error);
                self.give_up(&format!("no working tree could be made: {why}"))
            }
        }
    }

    /// Refuses a folder to which a link in Grove's own folder leads: files are made and removed there.
    fn require_own_place(&self, folder: &Path) -> Result<(), TreeError> {
        let real = grove_fs::files::canonical;
        let state = self.at.places.folder();
        let below = folder.strip_prefix(state).unwrap_or(folder);
        if real(folder)? == real(state)?.join(below) {
            return Ok(());
        }
        Err(TreeError::Elsewhere(folder.to_path_buf()))
    }

    /// Removes what there is of a tree that no child has worked in.
    pub(crate) fn give_up(&self, why: &str) -> Outcome {
        let _ = self.at.git.remove(&self.plan.repository, &self.folder);
        let _ = grove_fs::files::remove_folder(&self.folder);
        self.leave_no_empty_folder();
        let why = why.to_owned();
        Outcome::Impossible { why }
    }

    /// Captures the changes in it, and returns the texts that the outcome names.
    pub(crate) fn capture(&self) -> DoneEffect {
        let scratch = self.at.temporary("scratch");
        if let Err(error) = grove_fs::files::make_closed_folder(&scratch) {
            return DoneEffect::impossible(with_causes(&error));
        }
        let apart = &self.known.synthetic;
        let captured = self
            .at
            .git
            .capture(&self.folder, self.base(), &scratch, apart);
        let _ = grove_fs::files::remove_folder(&scratch);
        let captured = match captured {
            Ok(captured) => captured,
            Err(error) => {
                let why = format!("what was done in it could not be stored: {error}");
                return DoneEffect::impossible(why);
            }
        };
        let work = CapturedWork {
            patch: Digest::of(&captured.patch),
            base: self.known.base.clone(),
            files: captured.files,
            ignored: captured.ignored.as_deref().map(Digest::of),
            left: captured.left,
            submodules: captured.submodules.iter().map(submodule_work).collect(),
        };
        let mut texts: Vec<Vec<u8>> = std::iter::once(captured.patch)
            .chain(captured.ignored)
            .collect();
        for submodule in captured.submodules {
            texts.push(submodule.patch);
            texts.extend(submodule.ignored);
        }
        DoneEffect::with(Outcome::Captured(work), texts)
    }

    /// Removes the tree, if its patches are stored.
    pub(crate) fn remove(&self, patch: &Digest) -> Outcome {
        let captured = self.known.captured.iter();
        let submodules = captured.flat_map(|captured| &captured.submodules);
        let mut patches = std::iter::once(patch).chain(submodules.map(|it| &it.patch));
        let store = self.at.store;
        let is_stored = |patch| store.artifact(patch).is_ok_and(|stored| stored.is_some());
        if !patches.all(is_stored) {
            let why = "its patch is not stored".to_owned();
            return Outcome::Impossible { why };
        }
        let removed = self.at.git.remove(&self.plan.repository, &self.folder);
        if let Err(error) = removed {
            let why = error.to_string();
            return Outcome::Impossible { why };
        }
        match grove_fs::files::remove_folder(&self.folder) {
            Err(error) if grove_fs::files::is_there(&self.folder) => Outcome::Impossible {
                why: error.to_string(),
            },
            _ => {
                self.leave_no_empty_folder();
                Outcome::Removed
            }
        }
    }

    /// Removes the run's folder together with its last working tree.
    fn leave_no_empty_folder(&self) {
        if let Some(parent) = self.folder.parent() {
            let _ = grove_fs::files::remove_empty_folder(parent);
        }
    }

    /// Returns the commit that it begins with.
    pub(crate) fn base(&self) -> &str {
        self.known.base.as_ref().unwrap_or(&self.plan.base)
    }

    /// Sets the commit that it begins with, which is not recorded yet.
    pub(crate) fn begun_with(mut self, base: Option<&String>) -> Self {
        self.known.base = base.cloned();
        self
    }

    pub(crate) fn work_folder(&self) -> PathBuf {
        joined(&self.folder, &self.plan.subfolder)
    }
}

/// Repeats a step while it fails: a git that a dead supervisor had started may still be at work on the same list.
fn again<T>(work: impl Fn() -> Result<T, TreeError>) -> Result<T, TreeError> {
    let mut done = work();
    for _ in 0..TRIES {
        if done.is_ok() {
            break;
        }
        std::thread::sleep(BETWEEN_TRIES);
        done = work();
    }
    done
}

fn submodule_work(captured: &CapturedSubmodule) -> SubmoduleWork {
    SubmoduleWork {
        path: captured.path.clone(),
        base: captured.base.clone(),
        patch: Digest::of(&captured.patch),
        files: captured.files,
        ignored: captured.ignored.as_deref().map(Digest::of),
    }
}

/// Returns the state of a child's working tree in its run.
fn joined(folder: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() {
        folder.to_path_buf()
    } else {
        folder.join(below)
    }
}
