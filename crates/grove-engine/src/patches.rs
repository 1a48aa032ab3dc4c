//! The patches of children that worked in trees of their own: read, put together, applied.

mod joining;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::controlling::no_such_child;
use grove_exec::{AppliedPatch, Git, GitError};
use grove_fs::undo::{PathAfter, StagedEntries, UndoRecording};
use grove_plan::{NodeId, NodeView, PatchView, SubmoduleWork};
use grove_skills::Environment;
use grove_spec::text::one_line;

use crate::error::EngineError;
use crate::journal::{RunJournal, parts_of};
use crate::supervising::passed_on;

/// The patch of one child.
#[derive(Debug, Clone)]
pub struct ChildPatch {
    /// The child's place in the plan.
    pub node: NodeId,
    /// The name of its agent.
    pub agent: String,
    /// The children before it whose work is in the patch, too.
    pub with: Vec<NodeId>,
    /// The patch as views show it.
    pub view: PatchView,
    /// The bytes of the patch.
    pub bytes: Vec<u8>,
    /// Its patches in submodules.
    pub submodules: Vec<SubmodulePatch>,
}

/// A child's patch in a submodule.
#[derive(Debug, Clone)]
pub struct SubmodulePatch {
    /// The submodule and the commit from which the patch leads.
    pub work: SubmoduleWork,
    /// The bytes of the patch.
    pub bytes: Vec<u8>,
}

/// The patches of a run, or of one child of it.
#[derive(Debug, Clone)]
pub struct RunPatches {
    /// The id of the run.
    pub run: String,
    /// A patch for each child that has one.
    pub patches: Vec<ChildPatch>,
}

/// The outcome of applying the patches of a run.
#[derive(Debug)]
pub struct AppliedRun {
    /// The id of the run.
    pub run: String,
    /// The patches that were applied, in their order.
    pub patches: Vec<AppliedChild>,
    /// The number of patches that were left for later because of a conflict.
    pub left: usize,
    /// The reason why a patch does not apply, with what to do.
    pub failure: Option<EngineError>,
}

impl AppliedRun {
    /// Returns true if a file has a conflict now.
    pub fn has_conflicts(&self) -> bool {
        self.patches.iter().any(|patch| !patch.conflicts.is_empty())
    }
}

/// A patch that was applied.
#[derive(Debug)]
pub struct AppliedChild {
    /// The child's place in the plan.
    pub node: NodeId,
    /// The children before it whose work is in the patch, too.
    pub with: Vec<NodeId>,
    /// The children in words.
    pub title: String,
    /// The number of files that changed; none if all of it was there already.
    pub files: u64,
    /// Files with a conflict.
    pub conflicts: Vec<String>,
    /// True if the changes were staged.
    pub is_staged: bool,
    /// True if all of it was there already.
    pub was_there: bool,
}

impl ChildPatch {
    /// The children whose work it is, in words.
    fn title(&self) -> String {
        if self.with.is_empty() {
            return format!("{} {}", self.node, self.agent);
        }
        let nodes = self.with.iter().chain([&self.node]);
        let nodes: Vec<&str> = nodes.map(NodeId::as_str).collect();
        format!("children {}", nodes.join(", "))
    }

    /// The patch as applied; none of it was done if all of it was there already.
    fn applied(&self, done: Option<AppliedPatch>) -> AppliedChild {
        let was_there = done.is_none();
        let done = done.unwrap_or_default();
        AppliedChild {
            node: self.node.clone(),
            with: self.with.clone(),
            title: self.title(),
            files: if was_there { 0 } else { self.view.files },
            conflicts: done.conflicts,
            is_staged: done.is_staged,
            was_there,
        }
    }
}

impl RunJournal {
    /// Returns the patches of a run, or of one child of it as `RUN.NODE`.
    pub fn patches(&self, given: &str) -> Result<RunPatches, EngineError> {
        let (run, named) = parts_of(given);
        let loaded = self.load(run)?;
        let is_meant = |node: &&NodeView| named.as_ref().is_none_or(|named| node.id == *named);
        let view = self.view(&loaded);
        let mut patches = Vec::new();
        for node in view.nodes.iter().filter(is_meant) {
            let Some(patch) = &node.patch else { continue };
            let bytes = self.store.artifact(&patch.digest)?;
            let mut submodules = Vec::new();
            for submodule in &patch.submodules {
                let bytes = self.store.artifact(&submodule.patch)?;
                submodules.push(SubmodulePatch {
                    work: submodule.clone(),
                    bytes: bytes.unwrap_or_default(),
                });
            }
            patches.push(ChildPatch {
                node: node.id.clone(),
                agent: node.agent.clone(),
                with: Vec::new(),
                view: patch.clone(),
                bytes: bytes.unwrap_or_default(),
                submodules,
            });
        }
        let run = loaded.id;
        if patches.is_empty() {
            let all: Vec<NodeId> = view.nodes.iter().map(|node| node.id.clone()).collect();
            let message = match named {
                Some(node) if !all.contains(&node) => {
                    return Err(no_such_child(&run, &node, all.iter()));
                }
                Some(node) => format!("child {node} of run {run} has no patch"),
                None => format!("run {run} has no patch"),
            };
            let hint = "only children that ran with `--worktree` and have ended have one";
            return Err(EngineError::finding(message).hint(hint));
        }
        Ok(RunPatches { run, patches })
    }

    /// Applies the patches of a run, or of one child of it, to the repository of a folder.
    pub fn apply(&self, environment: &Environment, given: &str) -> Result<AppliedRun, EngineError> {
        let RunPatches { run, patches } = self.patches(given)?;
        let git = Git::new(passed_on(environment));
        let place = git
            .place(&environment.working)
            .map_err(EngineError::internal)?;
        let Some(place) = place else {
            let message = "this folder is not in a git repository with a commit";
            return Err(EngineError::usage(message)
                .hint("change to the repository that the patches belong to"));
        };
        let patches = match parts_of(given) {
            (_, None) => joining::joined(self, &git, &self.load(&run)?.plan, patches)?,
            (_, Some(_)) => patches,
        };
        for patch in &patches {
            require_submodules(&git, &place.top, patch)?;
        }
        require_settled(&git, &place.top)?;
        let mut kept = KeptForUndo::new(environment, &run);
        kept.keep(&git, &place.top, &patches)?;
        let mut applied = AppliedRun {
            run,
            patches: Vec::new(),
            left: 0,
            failure: None,
        };
        for patch in &patches {
            match apply_one(&git, &place.top, patch) {
                Ok(done) => applied.patches.push(patch.applied(done)),
                Err(error) => {
                    applied.failure = Some(does_not_apply(&applied.run, patch, &error));
                    break;
                }
            }
            if applied.has_conflicts() {
                // The next one would be put on top of a conflict.
                break;
            }
        }
        applied.left = patches.len() - applied.patches.len();
        kept.settle(&git)?;
        Ok(applied)
    }
}

fn does_not_apply(run: &str, patch: &ChildPatch, error: &GitError) -> EngineError {
    let message = format!("the patch of {} does not apply: {error}", patch.node);
    EngineError::finding(message).hints([
        "if files that it changes have changes of yours, commit or stash them first".to_owned(),
        format!("`grove runs diff {run}.{}` prints it", patch.node),
    ])
}

/// Refuses a repository with a conflict: what comes would be put on top of it.
fn require_settled(git: &Git, top: &Path) -> Result<(), EngineError> {
    let unsettled = git.unmerged(top).map_err(EngineError::internal)?;
    let Some(file) = unsettled.first() else {
        return Ok(());
    };
    let message = format!("{file} has a conflict that is not resolved");
    let hint = format!(
        "resolve it and `git add` the file, or discard it with `git checkout HEAD -- {file}`"
    );
    Err(EngineError::finding(message).hint(hint))
}

/// Fails unless each submodule that the patch changes is checked out, since changes can be put into no other.
fn require_submodules(git: &Git, top: &Path, patch: &ChildPatch) -> Result<(), EngineError> {
    for SubmodulePatch { work, .. } in &patch.submodules {
        let folder = top.join(&work.path);
        let place = git.place(&folder).map_err(EngineError::internal)?;
        if !place.is_some_and(|place| place.below.as_os_str().is_empty()) {
            let (node, path) = (&patch.node, one_line(&work.path));
            let message =
                format!("{node} changed the submodule {path}, which is not checked out here");
            let hint = format!("`git submodule update --init {path}` checks it out");
            return Err(EngineError::finding(message).hint(hint));
        }
    }
    Ok(())
}

/// Puts one child's patches in; nothing when all of it is there already.
fn apply_one(git: &Git, top: &Path, patch: &ChildPatch) -> Result<Option<AppliedPatch>, GitError> {
    let is_there = git.has_patch(top, &patch.bytes, Path::new(""))
        && patch
            .submodules
            .iter()
            .all(|SubmodulePatch { work, bytes }| {
                let below = Path::new(&work.path);
                git.has_patch(&top.join(below), bytes, below)
            });
    if is_there {
        return Ok(None);
    }
    let mut applied = git.apply(top, &patch.bytes, Path::new(""))?;
    for SubmodulePatch { work, bytes } in &patch.submodules {
        let below = Path::new(&work.path);
        let inside = git.apply(&top.join(below), bytes, below)?;
        let conflicts = inside.conflicts.iter();
        applied
            .conflicts
            .extend(conflicts.map(|file| format!("{}/{file}", work.path)));
        applied.is_staged &= inside.is_staged;
    }
    Ok(Some(applied))
}

/// The state of a repository before patches are applied to it, so that applying can be undone.
struct KeptForUndo {
    recording: UndoRecording,
    staged: Vec<StagedEntries>,
}

impl KeptForUndo {
    fn new(environment: &Environment, run: &str) -> Self {
        Self {
            recording: UndoRecording::new(Some(&environment.state), format!("runs apply {run}")),
            staged: Vec::new(),
        }
    }

    /// Keeps the files of the patches, in the repository and in its submodules, and what is staged for them.
    fn keep(&mut self, git: &Git, top: &Path, patches: &[ChildPatch]) -> Result<(), EngineError> {
        let mut all: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for patch in patches {
            let own = git.paths_of(top, &patch.bytes, Path::new(""));
            all.entry(top.to_path_buf())
                .or_default()
                .extend(own.map_err(EngineError::internal)?);
            for SubmodulePatch { work, bytes } in &patch.submodules {
                let (below, folder) = (Path::new(&work.path), top.join(&work.path));
                let inside = git.paths_of(&folder, bytes, below);
                all.entry(folder)
                    .or_default()
                    .extend(inside.map_err(EngineError::internal)?);
            }
        }
        let files = all
            .iter()
            .flat_map(|(folder, paths)| paths.iter().map(|path| folder.join(path)));
        let files: Vec<PathBuf> = files.collect();
        let changes = files
            .iter()
            .map(|file| (file.as_path(), PathAfter::Unknown));
        self.recording.keep(&changes.collect::<Vec<_>>())?;
        for (repository, paths) in all {
            let paths: Vec<String> = paths.into_iter().collect();
            let before = git.staged_entries(&repository, &paths);
            self.staged.push(StagedEntries {
                before: before.map_err(EngineError::internal)?,
                repository,
                paths,
                after: String::new(),
            });
        }
        Ok(())
    }

    /// Completes the record once the patches are applied.
    fn settle(mut self, git: &Git) -> Result<(), EngineError> {
        for staged in &mut self.staged {
            let after = git.staged_entries(&staged.repository, &staged.paths);
            staged.after = after.map_err(EngineError::internal)?;
        }
        self.recording.settle(self.staged)?;
        Ok(())
    }
}
