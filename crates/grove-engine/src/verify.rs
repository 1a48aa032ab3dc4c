//! Runs the commands that show whether a child's work counts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use grove_exec::{
    EndReason, EnforcedRestriction, GitError, GuardedRepository, KeeperOrder, KeeperReport,
    ProgramExit, Sandbox, Seclusion, allowed_variables, now,
};
use grove_fs::FsError;
use grove_fs::move_watch::MoveWatch;
use grove_fs::stamp::{self, Stamp};
use grove_plan::{Check, CheckEnd, CheckResult, Contract, Protection};
use grove_spec::Digest;

use crate::error::with_causes;
use crate::evidence::Trees;
use crate::node_effect::NodeEffect;
use crate::repository_guards::put_back;
use crate::supervisor::blocking;

/// The time for one command, if the contract gives none.
const USUAL_TIME_MS: u64 = 10 * 60 * 1_000;
/// The files that say what version control ignores.
const IGNORING: &str = ".gitignore";
/// The time between asking a command to end and ending it.
const GRACE_MS: u64 = 200;
/// The variables for temporary files, and their places below the folder; Go does nothing without a cache that it may
/// write to.
const TEMPORARY: [(&str, &str); 2] = [("TMPDIR", ""), ("GOCACHE", "go-build")];

/// The commands of a contract while they are run.
pub(crate) struct Verifying<'a> {
    pub(crate) at: &'a NodeEffect<'a>,
    pub(crate) folder: PathBuf,
    /// A folder for temporary files, which has no files of others.
    temporary: PathBuf,
    /// The files before the child and now, if version control knows them.
    pub(crate) trees: Option<&'a Trees>,
}

impl<'a> Verifying<'a> {
    pub(crate) fn of(at: &'a NodeEffect<'a>, trees: Option<&'a Trees>) -> Self {
        Self {
            at,
            folder: at.work_folder(),
            temporary: at.temporary("verify"),
            trees,
        }
    }

    /// Runs all commands in turn; none if they are not wanted any more.
    pub(crate) async fn run(
        &self,
        contract: &Contract,
        changed: Option<&[String]>,
    ) -> Option<CheckedWork> {
        let mut checked = CheckedWork::default();
        let prepared = blocking(|| self.prepare(contract, changed.unwrap_or_default()));
        let (prepared, refused) = match prepared {
            Ok(prepared) => (prepared, None),
            Err(error) => (Prepared::default(), Some(with_causes(&error))),
        };
        let is_in_work = refused.is_none() && prepared.pinned.is_none();
        let scene = CheckScene {
            seclusion: self.seclusion().await,
            guarded: is_in_work
                .then(|| blocking(|| self.at.git.guard(&self.folder)))
                .flatten(),
            pinned: prepared.pinned.as_ref(),
        };
        let mut files_now = self.trees.map(|trees| trees.now.clone());
        for check in &contract.verify {
            let (mut result, printed) = match &refused {
                None => self.check(check, &scene).await,
                Some(why) => {
                    let end = CheckEnd::NotStarted(why.clone());
                    (result(check, end, 0, b"", &[]), Vec::new())
                }
            };
            if self.at.stop.is_stopped() {
                break;
            }
            let changed = prepared.changed_file();
            if let Some(file) = changed.filter(|_| check.is_met_by(&result.end)) {
                let why = format!("{file}, by which it decides, was changed while it ran");
                result.end = CheckEnd::Disregarded(why);
            }
            // Changes in a tree of its own go away with that tree.
            if is_in_work {
                result.changed = blocking(|| self.changed_since(&mut files_now));
            }
            checked.results.push(result);
            checked.printed.push(printed);
        }
        if let Some(tree) = &prepared.pinned {
            blocking(|| {
                let _ = self.at.git.remove(&self.folder, &tree.top);
                let _ = grove_fs::files::remove_folder(&tree.top);
            });
        }
        let _ = grove_fs::files::remove_folder(&self.temporary);
        (!self.at.stop.is_stopped()).then_some(checked)
    }

    /// Finds the files that the commands rely on. If the child changed some that it must not decide about, another working
    /// tree is made with its files, in which those are as they were.
    fn prepare(&self, contract: &Contract, changed: &[String]) -> Result<Prepared, PrepareError> {
        grove_fs::files::make_closed_folder(&self.temporary)?;
        if contract.verify.is_empty() {
            return Ok(Prepared::default());
        }
        let Some(trees) = self.trees else {
            return if self.at.was_seen() {
                Err(PrepareError::NotCompared)
            } else {
                Ok(Prepared::default())
            };
        };
        let (git, folder, scratch) = (&self.at.git, &self.folder, &self.temporary);
        let Some(place) = git.place(folder)? else {
            return Ok(Prepared::default());
        };
        git.require_comparable(folder, &trees.before, &trees.now)?;
        let mut before = git.files_of(folder, &trees.before)?;
        let inner = git.submodule_files(&place.top, &trees.before, scratch)?;
        before.names.extend(inner.names);
        let protection = Protection::new(contract, &place.below, &before);
        if let Some(file) = protection.protected(&inner.changed).first() {
            return Err(PrepareError::Submodule(file.clone()));
        }
        let mut touched = protection.protected(changed);
        // What version control ignores now and did not ignore before may be what a check relies on.
        if changed.iter().any(|file| file.ends_with(IGNORING)) {
            touched.extend(protection.protected(&git.ignored(&place.top)?));
        }
        let decisive = protection.decisive();
        if touched.is_empty() {
            return Ok(Prepared::in_tree(&place.top, &decisive, None)?);
        }
        let top = scratch.join("tree");
        let commit = git.with_files_of(folder, &trees.now, &trees.before, &touched, scratch)?;
        git.make(&place.top, &commit, &top, None)?;
        git.require_checked_out(&top, &commit, scratch)?;
        git.bring_ignored(&place.top, &top, &touched)?;
        let pinned = PinnedTree {
            folder: top.join(&place.below),
            instead_of: place.top,
            top: top.clone(),
            files: touched,
        };
        Ok(Prepared::in_tree(&top, &decisive, Some(pinned))?)
    }

    /// Returns the files that changed since the last call.
    fn changed_since(&self, files: &mut Option<String>) -> Vec<String> {
        let (Some(trees), Some(before)) = (self.trees, files.as_ref()) else {
            return Vec::new();
        };
        let now = self
            .at
            .git
            .tree(&self.folder, &self.temporary, &trees.apart);
        let Some(now) = now.ok().flatten() else {
            return Vec::new();
        };
        let changed = self.at.git.changed(&self.folder, before, &now);
        *files = Some(now);
        changed.unwrap_or_default()
    }

    /// Returns what commands are kept from: they read the repository of the work and no other work of this person.
    async fn seclusion(&self) -> Seclusion {
        let (git, folder) = (self.at.git.clone(), self.folder.clone());
        let folders = tokio::task::spawn_blocking(move || git.folders(&folder));
        let mut folders = folders.await.unwrap_or_default();
        folders.extend([self.folder.clone(), self.temporary.clone()]);
        let state = self.at.places.folder().to_path_buf();
        Seclusion::about(&folders, &[state], self.at.environment)
    }

    async fn check(&self, check: &Check, scene: &CheckScene<'_>) -> (CheckResult, Vec<u8>) {
        let pinned = scene.pinned;
        let top = pinned.map_or(&self.folder, |tree| &tree.folder);
        let folder = match &check.cwd {
            Some(below) => top.join(below),
            None => top.clone(),
        };
        let mut environment = allowed_variables(self.at.environment);
        environment.extend(temporary_variables(&self.temporary));
        environment.extend(check.env.clone());
        let sandbox = Sandbox {
            writes: vec![top.clone(), self.temporary.clone()],
            seclusion: Some(Seclusion {
                network: check.network,
                ..scene.seclusion.clone()
            }),
        };
        let order = KeeperOrder {
            command: pinned.map_or_else(
                || check.command.clone(),
                |tree| tree.redirected(&check.command),
            ),
            environment,
            limit_ms: check.timeout_ms.unwrap_or(USUAL_TIME_MS),
            grace_ms: GRACE_MS,
            sandbox: Some(sandbox),
            ..KeeperOrder::shell("", folder.clone(), &self.at.mark())
        };
        let began = now().boot;
        let is_below = folder.starts_with(top) && !has_parents(check.cwd.as_deref());
        let ended = if is_below {
            self.at.keeper.run(&order, &self.at.stop, |_| {}).await
        } else {
            let why = "its folder is outside the work folder".to_owned();
            return (
                result(check, CheckEnd::NotStarted(why), 0, b"", &[]),
                Vec::new(),
            );
        };
        let took = now().boot.saturating_sub(began);
        let guarded = scene.guarded.as_ref();
        let restored = guarded.and_then(|guarded| blocking(|| put_back(&self.at.git, guarded)));
        let (end, printed, held) = match ended {
            Ok(ended) => {
                let held = ended.report.held.clone();
                let end = end_of(ended.report);
                let restored = restored.map_or_else(String::new, |said| format!("\n[{said}]\n"));
                let text = ended.output.text();
                let printed = format!("{text}{restored}").into_bytes();
                (end, printed, held)
            }
            Err(error) => {
                let end = CheckEnd::NotStarted(error.to_string());
                (end, Vec::new(), Vec::new())
            }
        };
        let mut result = result(check, end, took, &printed, &held);
        result.as_before = pinned.map_or_else(Vec::new, |tree| tree.files.clone());
        (result, printed)
    }
}

/// The results of commands.
#[derive(Default)]
pub(crate) struct CheckedWork {
    pub(crate) results: Vec<CheckResult>,
    pub(crate) printed: Vec<Vec<u8>>,
}

/// The reason why commands cannot decide about the work of a child.
#[derive(Debug, thiserror::Error)]
enum PrepareError {
    #[error("the files cannot be compared with those before the child")]
    NotCompared,
    #[error(
        "{0} is not as in the commit of its submodule: commit it there, or say with `protect` what is protected"
    )]
    Submodule(String),
    #[error("pinned files: {0}")]
    Git(#[from] GitError),
    #[error(transparent)]
    Files(#[from] FsError),
}

/// Returns the end of a command as verdicts have it.
pub(crate) fn end_of(report: KeeperReport) -> CheckEnd {
    match (report.why, report.exit) {
        (_, ProgramExit::NotStarted(why)) => CheckEnd::NotStarted(why),
        (EndReason::TimedOut, _) => CheckEnd::TimedOut,
        (_, ProgramExit::Code(code)) => CheckEnd::Code(code),
        (_, ProgramExit::Signal(signal)) => CheckEnd::Signal(signal),
    }
}

pub(crate) fn temporary_variables(folder: &Path) -> Vec<(String, String)> {
    let place = |below: &str| folder.join(below).to_string_lossy().into_owned();
    let variables = TEMPORARY.iter();
    variables
        .map(|(name, below)| ((*name).to_owned(), place(below)))
        .collect()
}

fn result(
    check: &Check,
    end: CheckEnd,
    milliseconds: u64,
    printed: &[u8],
    held: &[EnforcedRestriction],
) -> CheckResult {
    let held: Vec<String> = held.iter().map(ToString::to_string).collect();
    CheckResult {
        id: check.id.clone(),
        end,
        milliseconds,
        output: Digest::of(printed),
        changed: Vec::new(),
        as_before: Vec::new(),
        sandbox: if held.is_empty() {
            "none".to_owned()
        } else {
            held.join(", ")
        },
    }
}

/// The results of getting ready for the commands.
#[derive(Default)]
struct Prepared {
    /// A tree of their own, if the child changed files that they rely on.
    pinned: Option<PinnedTree>,
    /// The files by which they decide, as they were before the first of them ran.
    decisive: Vec<(String, Option<Stamp>)>,
    /// The folders of these files. Another folder could take the place of one for a while, and no file would have changed.
    folders: Option<MoveWatch>,
    /// The top of the tree that has them.
    top: PathBuf,
}

impl Prepared {
    /// Takes the stamps of files in a tree.
    fn in_tree(
        top: &Path,
        decisive: &[String],
        pinned: Option<PinnedTree>,
    ) -> Result<Self, FsError> {
        let folders: BTreeSet<&Path> = decisive
            .iter()
            .flat_map(|file| Path::new(file).ancestors().skip(1))
            .collect();
        let folders = folders.into_iter().map(|folder| top.join(folder));
        let folders = MoveWatch::begin(folders)?;
        let stamped = decisive.iter().map(|file| {
            let stamp = stamp::of_path(&top.join(file)).ok();
            (file.clone(), stamp)
        });
        Ok(Self {
            decisive: stamped.collect(),
            folders: Some(folders),
            top: top.to_path_buf(),
            pinned,
        })
    }

    /// Returns the first of the files that was written since. A program could put the old content back, but not the time of
    /// the change.
    fn changed_file(&self) -> Option<String> {
        if let Some(folder) = self.folders.as_ref().and_then(MoveWatch::moved) {
            let below = folder.strip_prefix(&self.top).unwrap_or(folder);
            return Some(format!("{}/", below.display()));
        }
        let now = |file: &str| stamp::of_path(&self.top.join(file)).ok();
        let mut files = self.decisive.iter();
        let changed = files.find(|(file, before)| now(file) != *before);
        changed.map(|(file, _)| file.clone())
    }
}

/// The trees and limits that commands run with.
struct CheckScene<'a> {
    /// The files and the network that they are kept from.
    seclusion: Seclusion,
    /// A tree of their own, if the child changed files that they rely on.
    pinned: Option<&'a PinnedTree>,
    guarded: Option<GuardedRepository>,
}

/// A working tree in which some files are as they were before the child.
struct PinnedTree {
    top: PathBuf,
    folder: PathBuf,
    /// The top of the tree whose files it has.
    instead_of: PathBuf,
    files: Vec<String>,
}

impl PinnedTree {
    /// Returns a command in which whole paths of the other tree lead to this one.
    fn redirected(&self, command: &[String]) -> Vec<String> {
        let (other, this) = (
            self.instead_of.to_string_lossy(),
            self.top.to_string_lossy(),
        );
        let words = command.iter();
        words.map(|word| word.replace(&*other, &this)).collect()
    }
}

fn has_parents(path: Option<&str>) -> bool {
    let path = Path::new(path.unwrap_or_default());
    let mut parts = path.components();
    parts.any(|part| matches!(part, std::path::Component::ParentDir))
}
