//! Runs the commands that show whether a child's work counts.

use std::path::{Path, PathBuf};

use grove_exec::{
    EndReason, EnforcedRestriction, Git, GuardedRepository, Keeper, KeeperOrder, ProgramExit,
    Sandbox, Seclusion, StopTokens, allowed_variables, now,
};
use grove_plan::{Check, CheckEnd, CheckResult, Contract, protected_files};
use grove_spec::Digest;

use crate::evidence::Trees;
use crate::repository_guards::put_back;
use crate::supervisor::blocking;

/// The time for one command, if the contract gives none.
const USUAL_TIME_MS: u64 = 10 * 60 * 1_000;
/// The time between asking a command to end and ending it.
const GRACE_MS: u64 = 200;
/// The variables for temporary files, and their places below the folder; Go does nothing without a cache that it may
/// write to.
const TEMPORARY: [(&str, &str); 2] = [("TMPDIR", ""), ("GOCACHE", "go-build")];

/// The parts that the commands of a contract need.
pub(crate) struct Verifying<'a> {
    pub(crate) keeper: &'a Keeper,
    pub(crate) environment: &'a [(String, String)],
    /// The path to the node from the root of its tree.
    pub(crate) mark: String,
    pub(crate) folder: PathBuf,
    /// A folder for temporary files, which has no files of others.
    pub(crate) temporary: PathBuf,
    /// Grove's own folder, which no command reads.
    pub(crate) state: &'a Path,
    pub(crate) git: &'a Git,
    /// The files before the child and now, if version control knows them.
    pub(crate) trees: Option<&'a Trees>,
    /// Set if version control knew the files before the child.
    pub(crate) was_seen: bool,
    pub(crate) stop: &'a StopTokens,
}

impl Verifying<'_> {
    /// Runs all commands in turn, and returns what each printed; none if they are not wanted any more.
    pub(crate) async fn run(
        &self,
        contract: &Contract,
        changed: Option<&[String]>,
    ) -> Option<(Vec<CheckResult>, Vec<Vec<u8>>)> {
        let (mut results, mut texts) = (Vec::new(), Vec::new());
        let tree = blocking(|| self.with_pinned_files(contract, changed.unwrap_or_default()));
        let scene = CheckScene {
            seclusion: self.seclusion().await,
            guarded: match &tree {
                Ok(None) => blocking(|| self.git.guard(&self.folder)),
                _ => None,
            },
            pinned: tree.as_ref().ok().and_then(Option::as_ref),
        };
        let mut files_now = self.trees.map(|trees| trees.now.clone());
        for check in &contract.verify {
            let (mut result, printed) = match &tree {
                Ok(_) => self.check(check, &scene).await,
                Err(why) => {
                    let end = CheckEnd::NotStarted(why.clone());
                    (result(check, end, 0, b"", &[]), Vec::new())
                }
            };
            if self.stop.is_stopped() {
                break;
            }
            // Changes in a tree of its own go away with that tree.
            if matches!(tree, Ok(None)) {
                result.changed = blocking(|| self.changed_since(&mut files_now));
            }
            results.push(result);
            texts.push(printed);
        }
        if let Ok(Some(tree)) = &tree {
            blocking(|| {
                let _ = self.git.remove(&self.folder, &tree.top);
                let _ = grove_fs::files::remove_folder(&tree.top);
            });
        }
        let _ = grove_fs::files::remove_folder(&self.temporary);
        (!self.stop.is_stopped()).then_some((results, texts))
    }

    /// Makes another working tree with the child's files, in which those that it must not decide about are as they were; none
    /// if it changed none of them.
    fn with_pinned_files(
        &self,
        contract: &Contract,
        changed: &[String],
    ) -> Result<Option<PinnedTree>, String> {
        let temporary = grove_fs::files::make_closed_folder(&self.temporary);
        temporary.map_err(|error| error.to_string())?;
        if contract.verify.is_empty() {
            return Ok(None);
        }
        let Some(trees) = self.trees else {
            return if self.was_seen {
                Err("the files cannot be compared with those before the child".to_owned())
            } else {
                Ok(None)
            };
        };
        let said = |error: grove_exec::GitError| format!("pinned files: {error}");
        let place = self.git.place(&self.folder).map_err(said)?;
        let Some(place) = place else {
            return Ok(None);
        };
        let before = self.git.files_of(&self.folder, &trees.before);
        let before = before.map_err(said)?;
        let touched = protected_files(contract, &place.below, changed, &before);
        if touched.is_empty() {
            return Ok(None);
        }
        let commit = self.git.with_files_of(
            &self.folder,
            &trees.now,
            &trees.before,
            &touched,
            &self.temporary,
        );
        let top = self.temporary.join("tree");
        let made = commit.and_then(|commit| self.git.make(&place.top, &commit, &top, None));
        let made = made.and_then(|()| self.git.bring_ignored(&place.top, &top));
        made.map_err(said)?;
        Ok(Some(PinnedTree {
            folder: top.join(&place.below),
            instead_of: place.top,
            top,
            files: touched,
        }))
    }

    /// Returns the files that changed since the last call.
    fn changed_since(&self, files: &mut Option<String>) -> Vec<String> {
        let (Some(trees), Some(before)) = (self.trees, files.as_ref()) else {
            return Vec::new();
        };
        let now = self.git.tree(&self.folder, &self.temporary, &trees.apart);
        let Some(now) = now.ok().flatten() else {
            return Vec::new();
        };
        let changed = self.git.changed(&self.folder, before, &now);
        *files = Some(now);
        changed.unwrap_or_default()
    }

    /// Returns what commands are kept from: they read the repository of the work and no other work of this person.
    async fn seclusion(&self) -> Seclusion {
        let git = Git::new(self.environment.to_vec());
        let folder = self.folder.clone();
        let folders = tokio::task::spawn_blocking(move || git.folders(&folder));
        let mut folders = folders.await.unwrap_or_default();
        folders.extend([self.folder.clone(), self.temporary.clone()]);
        Seclusion::about(&folders, &[self.state.to_path_buf()], self.environment)
    }

    async fn check(&self, check: &Check, scene: &CheckScene<'_>) -> (CheckResult, Vec<u8>) {
        let pinned = scene.pinned;
        let top = pinned.map_or(&self.folder, |tree| &tree.folder);
        let folder = match &check.cwd {
            Some(below) => top.join(below),
            None => top.clone(),
        };
        let mut environment = allowed_variables(self.environment);
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
            ..KeeperOrder::shell("", folder.clone(), &self.mark)
        };
        let began = now().boot;
        let is_below = folder.starts_with(top) && !has_parents(check.cwd.as_deref());
        let ended = if is_below {
            self.keeper.run(&order, self.stop, |_| {}).await
        } else {
            let why = "its folder is outside the work folder".to_owned();
            return (
                result(check, CheckEnd::NotStarted(why), 0, b"", &[]),
                Vec::new(),
            );
        };
        let took = now().boot.saturating_sub(began);
        let guarded = scene.guarded.as_ref();
        let restored = guarded.and_then(|guarded| blocking(|| put_back(self.git, guarded)));
        let (end, printed, held) = match ended {
            Ok(ended) => {
                let end = match (ended.report.why, ended.report.exit) {
                    (_, ProgramExit::NotStarted(why)) => CheckEnd::NotStarted(why),
                    (EndReason::TimedOut, _) => CheckEnd::TimedOut,
                    (_, ProgramExit::Code(code)) => CheckEnd::Code(code),
                    (_, ProgramExit::Signal(signal)) => CheckEnd::Signal(signal),
                };
                let note = pinned.map_or_else(String::new, |tree| {
                    format!("[as before the child: {}]\n", tree.files.join(", "))
                });
                let restored = restored.map_or_else(String::new, |said| format!("\n[{said}]\n"));
                let text = ended.output.text();
                let printed = format!("{note}{text}{restored}").into_bytes();
                (end, printed, ended.report.held)
            }
            Err(error) => {
                let end = CheckEnd::NotStarted(error.to_string());
                (end, Vec::new(), Vec::new())
            }
        };
        (result(check, end, took, &printed, &held), printed)
    }
}

/// Returns the variables for a folder of temporary files.
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
        sandbox: if held.is_empty() {
            "none".to_owned()
        } else {
            held.join(", ")
        },
    }
}

/// The trees and limits that commands run with.
struct CheckScene<'a> {
    /// The files and the network that they are kept from.
    seclusion: Seclusion,
    /// A tree of their own, if the child changed files that they rely on.
    pinned: Option<&'a PinnedTree>,
    /// The repository of the work, if they run in it.
    guarded: Option<GuardedRepository>,
}

/// A working tree in which some files are as they were before the child.
struct PinnedTree {
    top: PathBuf,
    /// The folder in it that the commands run in.
    folder: PathBuf,
    /// The top of the tree whose files it has.
    instead_of: PathBuf,
    /// The files that are as they were before.
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
