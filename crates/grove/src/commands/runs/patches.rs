//! `grove runs diff` and `grove runs apply`: what children did in working trees of their own.

mod joining;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use grove_exec::{AppliedPatch, Git, GitError};
use grove_fs::undo::{After, Recording, StagedEntries};
use grove_plan::{NodeId, NodeView, PatchView, SubmoduleWork};
use grove_runs::ControlError;
use grove_skills::Environment;
use grove_spec::text::one_line;
use serde_json::json;

use super::controlling::parts_of;
use super::{Runs, supervise};
use crate::command_error::CommandError;
use crate::commands::{Outcome, counted};
use crate::output::Output;

/// The words for a patch that was put in without a merge.
const UNSTAGED: &str = "not staged, since files have changes of yours";

/// A child's patch.
struct ChildPatch {
    node: NodeId,
    agent: String,
    /// The children before it whose work is in the patch, too.
    with: Vec<NodeId>,
    view: PatchView,
    bytes: Vec<u8>,
    /// What it did in submodules.
    submodules: Vec<(SubmoduleWork, Vec<u8>)>,
}

impl ChildPatch {
    /// The children whose work it is.
    fn title(&self) -> String {
        if self.with.is_empty() {
            return format!("{} {}", self.node, self.agent);
        }
        let nodes = self.with.iter().chain([&self.node]);
        nodes.map(NodeId::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// The patches of a run, or of one child of it.
fn patches(runs: &Runs, given: &str) -> Result<(String, Vec<ChildPatch>), CommandError> {
    let (run, named) = parts_of(given);
    let loaded = runs.load(run)?;
    let is_meant = |node: &&NodeView| named.as_ref().is_none_or(|named| node.id == *named);
    let view = runs.view(&loaded);
    let mut found = Vec::new();
    for node in view.nodes.iter().filter(is_meant) {
        let Some(patch) = &node.patch else { continue };
        let bytes = runs.store.artifact(&patch.digest)?;
        let mut submodules = Vec::new();
        for submodule in &patch.submodules {
            let bytes = runs.store.artifact(&submodule.patch)?;
            submodules.push((submodule.clone(), bytes.unwrap_or_default()));
        }
        found.push(ChildPatch {
            node: node.id.clone(),
            agent: node.agent.clone(),
            with: Vec::new(),
            view: patch.clone(),
            bytes: bytes.unwrap_or_default(),
            submodules,
        });
    }
    if found.is_empty() {
        let all: Vec<NodeId> = view.nodes.iter().map(|node| node.id.clone()).collect();
        let message = match named {
            Some(node) if !all.contains(&node) => {
                return Err(ControlError::NoSuchChild {
                    run: loaded.id,
                    node,
                    names: all,
                }
                .into());
            }
            Some(node) => format!("child {node} of run {} has no patch", loaded.id),
            None => format!("run {} has no patch", loaded.id),
        };
        let hint = "only children that ran with `--worktree` and have ended have one";
        return Err(CommandError::finding(message).hint(hint));
    }
    Ok((loaded.id, found))
}

/// `grove runs diff`.
pub(super) fn diff(runs: &Runs, given: &str, json: bool, out: &mut Output) -> Outcome {
    let (run, patches) = patches(runs, given)?;
    if json {
        let patches: Vec<_> = patches
            .iter()
            .map(|patch| {
                let submodules = patch.submodules.iter().map(|(work, bytes)| {
                    json!({
                        "path": work.path,
                        "digest": work.patch,
                        "base": work.base,
                        "files": work.files,
                        "patch": String::from_utf8_lossy(bytes),
                    })
                });
                json!({
                    "node": patch.node,
                    "agent": patch.agent,
                    "digest": patch.view.digest,
                    "base": patch.view.base,
                    "files": patch.view.files,
                    "patch": String::from_utf8_lossy(&patch.bytes),
                    "submodules": submodules.collect::<Vec<_>>(),
                })
            })
            .collect();
        out.json(&json!({ "schema": "grove.patches/1", "run": run, "patches": patches }));
        return Ok(0);
    }
    for patch in &patches {
        let files = counted(
            usize::try_from(patch.view.files).unwrap_or(usize::MAX),
            "file",
        );
        out.note(&format!("{} {}: {files}", patch.node, patch.agent));
        out.patch(&patch.bytes);
        for (work, bytes) in &patch.submodules {
            let files = usize::try_from(work.files).unwrap_or(usize::MAX);
            let (path, files) = (one_line(&work.path), counted(files, "file"));
            out.note(&format!("{} in the submodule {path}: {files}", patch.node));
            out.patch(bytes);
        }
    }
    Ok(0)
}

/// What was done in a submodule can only be put into one that is checked out.
fn require_submodules(git: &Git, top: &Path, patch: &ChildPatch) -> Result<(), CommandError> {
    for (work, _) in &patch.submodules {
        let folder = top.join(&work.path);
        let place = git.place(&folder).map_err(CommandError::internal)?;
        if !place.is_some_and(|place| place.below.as_os_str().is_empty()) {
            let (node, path) = (&patch.node, one_line(&work.path));
            let message =
                format!("{node} changed the submodule {path}, which is not checked out here");
            let hint = format!("`git submodule update --init {path}` checks it out");
            return Err(CommandError::finding(message).hint(hint));
        }
    }
    Ok(())
}

/// Puts one child's patches in; nothing when all of it is there already.
fn apply_one(git: &Git, top: &Path, patch: &ChildPatch) -> Result<Option<AppliedPatch>, GitError> {
    let is_there = git.has_patch(top, &patch.bytes, Path::new(""))
        && patch.submodules.iter().all(|(work, bytes)| {
            let below = Path::new(&work.path);
            git.has_patch(&top.join(below), bytes, below)
        });
    if is_there {
        return Ok(None);
    }
    let mut applied = git.apply(top, &patch.bytes, Path::new(""))?;
    for (work, bytes) in &patch.submodules {
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

/// What is kept of a repository before patches are applied to it, so that applying can be undone.
struct KeptForUndo {
    recording: Recording,
    staged: Vec<StagedEntries>,
}

impl KeptForUndo {
    fn new(environment: &Environment, run: &str) -> Self {
        Self {
            recording: Recording::new(Some(&environment.state), format!("runs apply {run}")),
            staged: Vec::new(),
        }
    }

    /// Keeps the files of the patches, in the repository and in its submodules, and what is staged for them.
    fn keep(&mut self, git: &Git, top: &Path, patches: &[ChildPatch]) -> Result<(), CommandError> {
        let mut all: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for patch in patches {
            let own = git.paths_of(top, &patch.bytes, Path::new(""));
            all.entry(top.to_path_buf())
                .or_default()
                .extend(own.map_err(CommandError::internal)?);
            for (work, bytes) in &patch.submodules {
                let (below, folder) = (Path::new(&work.path), top.join(&work.path));
                let inside = git.paths_of(&folder, bytes, below);
                all.entry(folder)
                    .or_default()
                    .extend(inside.map_err(CommandError::internal)?);
            }
        }
        let files = all
            .iter()
            .flat_map(|(folder, paths)| paths.iter().map(|path| folder.join(path)));
        let files: Vec<PathBuf> = files.collect();
        let changes = files.iter().map(|file| (file.as_path(), After::Unknown));
        self.recording.keep(&changes.collect::<Vec<_>>())?;
        for (repository, paths) in all {
            let paths: Vec<String> = paths.into_iter().collect();
            let before = git.staged_entries(&repository, &paths);
            self.staged.push(StagedEntries {
                before: before.map_err(CommandError::internal)?,
                repository,
                paths,
                after: String::new(),
            });
        }
        Ok(())
    }

    /// Completes the record once the patches are applied.
    fn settle(mut self, git: &Git) -> Result<(), CommandError> {
        for staged in &mut self.staged {
            let after = git.staged_entries(&staged.repository, &staged.paths);
            staged.after = after.map_err(CommandError::internal)?;
        }
        self.recording.settle(self.staged)?;
        Ok(())
    }
}

/// `grove runs apply`.
pub(super) fn apply(
    environment: &Environment,
    runs: &Runs,
    given: &str,
    json: bool,
    out: &mut Output,
) -> Outcome {
    let (run, patches) = patches(runs, given)?;
    let git = Git::new(supervise::passed_on(environment));
    let place = git
        .place(&environment.working)
        .map_err(CommandError::internal)?;
    let Some(place) = place else {
        let message = "this folder is not in a git repository with a commit";
        return Err(CommandError::usage(message)
            .hint("change to the repository that the patches belong to"));
    };
    let patches = match parts_of(given) {
        (_, None) => joining::joined(runs, &git, &runs.load(&run)?.plan, patches)?,
        (_, Some(_)) => patches,
    };
    let mut done = Vec::new();
    let mut has_conflicts = false;
    for patch in &patches {
        require_submodules(&git, &place.top, patch)?;
    }
    let unsettled = git.unmerged(&place.top).map_err(CommandError::internal)?;
    if let Some(file) = unsettled.first() {
        let message = format!("{file} has a conflict that is not resolved");
        let hint = format!(
            "resolve it and `git add` the file, or discard it with `git checkout HEAD -- {file}`"
        );
        return Err(CommandError::finding(message).hint(hint));
    }
    let mut kept = KeptForUndo::new(environment, &run);
    kept.keep(&git, &place.top, &patches)?;
    let mut failure = None;
    for patch in &patches {
        let applied = match apply_one(&git, &place.top, patch) {
            Ok(applied) => applied,
            Err(error) => {
                let message = format!("the patch of {} does not apply: {error}", patch.node);
                let hints = [
                    "if files that it changes have changes of yours, commit or stash them first"
                        .to_owned(),
                    format!("`grove runs diff {run}.{}` prints it", patch.node),
                ];
                failure = Some(CommandError::finding(message).hints(hints));
                break;
            }
        };
        let Some(AppliedPatch {
            conflicts,
            is_staged,
        }) = applied
        else {
            if !json {
                out.line(&format!("{}: already applied", patch.title()));
            }
            done.push(json!({
                "node": patch.node,
                "with": patch.with,
                "files": 0,
                "conflicts": [],
                "staged": false,
            }));
            continue;
        };
        has_conflicts |= !conflicts.is_empty();
        let files = counted(
            usize::try_from(patch.view.files).unwrap_or(usize::MAX),
            "file",
        );
        if !json {
            let staged = if is_staged { "staged" } else { UNSTAGED };
            out.line(&format!("{}: {files} changed and {staged}", patch.title()));
            for file in &conflicts {
                out.line(&format!("  conflict in {file}"));
            }
        }
        done.push(json!({
            "node": patch.node,
            "with": patch.with,
            "files": patch.view.files,
            "conflicts": conflicts,
            "staged": is_staged,
        }));
        if has_conflicts {
            // What comes next would be put on top of what nobody has settled yet.
            break;
        }
    }
    kept.settle(&git)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    if json {
        out.json(&json!({ "schema": "grove.applied/1", "run": run, "patches": done }));
    } else if has_conflicts {
        let left = match patches.len() - done.len() {
            0 => String::new(),
            1 => "; 1 patch is not applied yet".to_owned(),
            left => format!("; {left} patches are not applied yet"),
        };
        out.note(&format!("resolve the conflicts{left}"));
    } else if done.iter().any(|one| one["files"] != 0) {
        out.note("`grove undo` takes it back");
    }
    Ok(u8::from(has_conflicts))
}
