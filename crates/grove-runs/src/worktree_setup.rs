//! Sets up a new working tree before a child begins: files that version control does not have are linked or copied, and a
//! program of the person's or of the project's does the rest.
//!
//! The program is told about the tree as one JSON object on its standard input and answers with one on its standard output,
//! in the form that pi-subagents has. It runs with the person's rights, which is why the text of a project's has to be
//! approved; what runs then is the text that was approved, not what is in the project by now.

use std::path::{Component, Path, PathBuf};

use grove_exec::{
    EndReason, Keeper, KeeperOrder, LinkOrCopy, ProgramExit, StopTokens, allowed_variables,
};
use grove_fs::{atomic, files};
use grove_plan::{NodeId, SetupHook};
use grove_spec::duration;
use grove_store::{LoadedRun, Store};
use serde::Deserialize;
use serde_json::json;

use crate::program::complaint;
use crate::supervisor::blocking;
use crate::worktrees::ChildWorktree;

/// The time between asking the program to end and ending it.
const GRACE_MS: u64 = 200;
/// The most bytes of its answer.
const MOST_ANSWER: u64 = 1 << 20;
/// The most paths that it may name as its own.
const MOST_PATHS: usize = 1_000;

/// The parts that the set-up of one working tree needs.
pub(crate) struct SettingUp<'a> {
    pub(crate) tree: &'a ChildWorktree,
    pub(crate) run: &'a LoadedRun,
    pub(crate) node: &'a NodeId,
    pub(crate) store: &'a Store,
    pub(crate) keeper: &'a Keeper,
    pub(crate) environment: &'a [(String, String)],
    /// The path to the node from the root of its tree.
    pub(crate) mark: String,
    /// A folder for temporary files.
    pub(crate) temporary: PathBuf,
    pub(crate) stop: &'a StopTokens,
}

/// The answer of the program.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookAnswer {
    #[serde(default)]
    synthetic_paths: Vec<String>,
}

impl SettingUp<'_> {
    /// Sets the tree up, and returns the paths from its top that are not part of the child's work.
    pub(crate) async fn run(&self) -> Result<Vec<String>, String> {
        let setup = &self.tree.plan.setup;
        let mut synthetic = blocking(|| {
            let mut brought = Vec::new();
            for (paths, how) in [
                (&setup.link, LinkOrCopy::Link),
                (&setup.copy, LinkOrCopy::Copy),
            ] {
                for path in paths {
                    brought.extend(self.bring(path, how)?);
                }
            }
            Ok::<_, String>(brought)
        })?;
        if let Some(hook) = &setup.hook {
            let answered = self.ask(hook).await;
            let _ = files::remove_folder(&self.temporary);
            let paths = answered.map_err(|why| format!("the set-up hook {why}"))?;
            synthetic.extend(paths);
        }
        synthetic.sort();
        synthetic.dedup();
        Ok(synthetic)
    }

    /// Links or copies something of the repository into the tree. A path that the repository does not have is left out.
    fn bring(&self, path: &str, how: LinkOrCopy) -> Result<Option<String>, String> {
        let path = self.untracked(path)?;
        let from = self.tree.plan.repository.join(&path);
        let to = self.tree.folder.join(&path);
        if !files::is_there(&from) || files::is_there(&to) {
            return Ok(None);
        }
        if let Some(parent) = to.parent() {
            files::make_folder(parent).map_err(|error| error.to_string())?;
        }
        self.require_inside(&to)?;
        let brought = self.tree.git.bring(&from, &to, how);
        brought.map_err(|error| format!("{path} could not be added: {error}"))?;
        Ok(Some(path))
    }

    /// Returns a path from the top of the tree; an error if version control has something there.
    fn untracked(&self, path: &str) -> Result<String, String> {
        let parts = Path::new(path).components();
        let parts = parts.filter(|part| *part != Component::CurDir);
        let is_name =
            |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
        let is_below = parts.clone().all(is_name);
        let plain: PathBuf = parts.collect();
        if !is_below || plain.as_os_str().is_empty() {
            return Err(format!("`{path}` is not a path inside a working tree"));
        }
        let plain = plain.to_string_lossy().into_owned();
        let tracked = self
            .tree
            .git
            .tracked(&self.tree.folder, std::slice::from_ref(&plain));
        match tracked.map_err(|error| error.to_string())?.as_slice() {
            [] => Ok(plain),
            _ => Err(format!(
                "version control has `{path}`, which a set-up must not own"
            )),
        }
    }

    /// Refuses a path that a link of the repository leads out of the tree.
    fn require_inside(&self, path: &Path) -> Result<(), String> {
        let real = files::without_links_above(path).map_err(|error| error.to_string())?;
        let top = files::canonical(&self.tree.folder).map_err(|error| error.to_string())?;
        if real.starts_with(&top) {
            return Ok(());
        }
        Err(format!("{} leads out of the working tree", path.display()))
    }

    async fn ask(&self, hook: &SetupHook) -> Result<Vec<String>, String> {
        let said = |error: grove_fs::FsError| format!("could not be asked: {error}");
        let (input, complaints) = (
            self.temporary.join("hook-input.json"),
            self.temporary.join("hook-complaints.txt"),
        );
        let file = blocking(|| -> Result<PathBuf, String> {
            files::make_closed_folder(&self.temporary).map_err(said)?;
            atomic::write_mode(&input, self.told().to_string().as_bytes(), 0o600).map_err(said)?;
            self.approved_text(hook)
        })?;
        let line = "complaints=$1; shift; exec \"$@\" < \"$0\" 2> \"$complaints\"";
        let words = [
            Path::new("/bin/sh"),
            Path::new("-c"),
            Path::new(line),
            &input,
            &complaints,
            &file,
        ];
        let words = words.map(|word| word.to_string_lossy().into_owned());
        let order = KeeperOrder {
            command: words.to_vec(),
            environment: allowed_variables(self.environment),
            limit_ms: hook.timeout_ms,
            grace_ms: GRACE_MS,
            most_output: MOST_ANSWER,
            ..KeeperOrder::shell("", self.tree.folder.clone(), &self.mark)
        };
        let mut answer = Vec::new();
        let ended = self
            .keeper
            .run(&order, self.stop, |bytes| answer.extend_from_slice(bytes))
            .await
            .map_err(|error| format!("could not be run: {error}"))?;
        let complaint = complaint(&complaints);
        match (ended.report.why, ended.report.exit) {
            (EndReason::TimedOut, _) => {
                let limit = duration::in_words(hook.timeout_ms);
                return Err(format!("took longer than {limit}{complaint}"));
            }
            (_, ProgramExit::NotStarted(why)) => {
                return Err(format!("could not be started: {why}"));
            }
            (_, ProgramExit::Signal(signal)) => {
                return Err(format!("was ended by signal {signal}{complaint}"));
            }
            (_, ProgramExit::Code(0)) => {}
            (_, ProgramExit::Code(code)) => {
                return Err(format!("failed with code {code}{complaint}"));
            }
        }
        let answer: HookAnswer = serde_json::from_slice(&answer).map_err(|error| {
            format!("did not print one JSON object such as {{\"syntheticPaths\": []}}: {error}")
        })?;
        if answer.synthetic_paths.len() > MOST_PATHS {
            return Err(format!("names more than {MOST_PATHS} paths"));
        }
        blocking(|| {
            let paths = answer.synthetic_paths.iter();
            let paths = paths.map(|path| self.untracked(path));
            paths.collect::<Result<_, _>>()
        })
        .map_err(|why: String| format!("names paths that it must not have: {why}"))
    }

    /// Returns the file to run: the person's own as it is, or a project's with the text that was approved.
    fn approved_text(&self, hook: &SetupHook) -> Result<PathBuf, String> {
        let Some(digest) = &hook.approved else {
            return Ok(hook.file.clone());
        };
        let text = self.store.artifact(digest).ok().flatten();
        let text = text.ok_or("differs from what was approved")?;
        let name = hook.file.file_name().unwrap_or_default();
        let file = self.temporary.join("approved").join(name);
        let written = file.parent().map_or(Ok(()), files::make_folder);
        let written = written.and_then(|()| atomic::write_mode(&file, &text, 0o700));
        written.map_err(|error| format!("could not be written: {error}"))?;
        Ok(file)
    }

    /// Returns the JSON object for the program.
    fn told(&self) -> serde_json::Value {
        let plan = &self.tree.plan;
        let agent = self.run.plan.child(self.node).map(|child| &child.agent);
        json!({
            "version": 1,
            "repoRoot": plan.repository,
            "worktreePath": self.tree.folder,
            "agentCwd": self.tree.work_folder().components().collect::<PathBuf>(),
            // Git itself calls it so if no branch is checked out.
            "branch": "HEAD",
            "index": self.index(),
            "runId": self.run.id,
            "baseCommit": self.tree.base(),
            "agent": agent,
        })
    }

    /// Returns the place of the child among those that work side by side.
    fn index(&self) -> usize {
        let plan = &self.run.plan;
        let Some(group) = plan.group_of(self.node) else {
            return 0;
        };
        let list = self.run.state.nodes.get(&group);
        let position = if let Some(found) = list.and_then(|list| list.items.as_ref()) {
            let mut items = found.items.iter();
            items.position(|item| group.item(&item.key) == *self.node)
        } else {
            let nodes = plan.nodes.iter();
            let mut members = nodes.filter(|it| it.group.as_ref() == Some(&group));
            members.position(|it| it.id == *self.node)
        };
        position.unwrap_or_default()
    }
}
