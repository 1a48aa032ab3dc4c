//! Sets up a new working tree before a child begins: files that version control does not have are linked or copied, and a
//! program of the person's or of the project's does the rest.
//!
//! The program is told about the tree as one JSON object on its standard input and answers with one on its standard output,
//! in the form that pi-subagents has. It runs with the person's rights, which is why the text of a project's has to be
//! approved; what runs then is the text that was approved, not what is in the project by now.

use std::path::{Component, Path, PathBuf};

use grove_exec::{
    EndReason, ExecError, GitError, KeeperOrder, LinkOrCopy, ProgramExit, allowed_variables,
};
use grove_fs::{FsError, atomic, files};
use grove_plan::SetupHook;
use grove_spec::duration;
use serde::Deserialize;
use serde_json::json;

use crate::node_effect::NodeEffect;
use crate::program::complaint;
use crate::supervisor::blocking;
use crate::worktrees::ChildWorktree;

/// The time between asking the program to end and ending it.
const GRACE_MS: u64 = 200;
const MOST_ANSWER: u64 = 1 << 20;
const MOST_PATHS: usize = 1_000;

/// The set-up of one working tree.
pub(crate) struct SettingUp<'a> {
    pub(crate) at: &'a NodeEffect<'a>,
    pub(crate) tree: &'a ChildWorktree<'a>,
}

/// The reason why a working tree was not set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    #[error("{path} could not be added: {source}")]
    NotAdded { path: String, source: GitError },
    #[error("`{0}` is not a path inside a working tree")]
    NotInside(String),
    #[error("version control has `{0}`, which a set-up must not own")]
    Tracked(String),
    #[error("{0} leads out of the working tree")]
    LeadsOut(PathBuf),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Files(#[from] FsError),
    #[error("the set-up hook could not be asked: {0}")]
    NotAsked(FsError),
    #[error("the set-up hook could not be run: {0}")]
    NotRun(ExecError),
    #[error("the set-up hook could not be written: {0}")]
    NotWritten(FsError),
    #[error("the set-up hook differs from what was approved")]
    NotApproved,
    #[error("the set-up hook {0}")]
    Failed(String),
    #[error(
        "the set-up hook did not print one JSON object such as {{\"syntheticPaths\": []}}: {0}"
    )]
    NoAnswer(#[from] serde_json::Error),
    #[error("the set-up hook names more than {MOST_PATHS} paths")]
    TooManyPaths,
    #[error("the set-up hook names paths that it must not have: {0}")]
    WrongPath(Box<SetupError>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookAnswer {
    #[serde(default)]
    synthetic_paths: Vec<String>,
}

impl SettingUp<'_> {
    /// Sets the tree up, and returns the paths from its top that are not part of the child's work.
    pub(crate) async fn run(&self) -> Result<Vec<String>, SetupError> {
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
            Ok::<_, SetupError>(brought)
        })?;
        if let Some(hook) = &setup.hook {
            let temporary = self.at.temporary("setup");
            let answered = self.ask(hook, &temporary).await;
            let _ = files::remove_folder(&temporary);
            synthetic.extend(answered?);
        }
        synthetic.sort();
        synthetic.dedup();
        Ok(synthetic)
    }

    /// Links or copies something of the repository into the tree. A path that the repository does not have is left out.
    fn bring(&self, path: &str, how: LinkOrCopy) -> Result<Option<String>, SetupError> {
        let path = self.untracked(path)?;
        let from = self.tree.plan.repository.join(&path);
        let to = self.tree.folder.join(&path);
        if !files::is_there(&from) || files::is_there(&to) {
            return Ok(None);
        }
        if let Some(parent) = to.parent() {
            files::make_folder(parent)?;
        }
        self.require_inside(&to)?;
        match self.at.git.bring(&from, &to, how) {
            Ok(()) => Ok(Some(path)),
            Err(source) => Err(SetupError::NotAdded { path, source }),
        }
    }

    /// Returns a path from the top of the tree; an error if version control has something there.
    fn untracked(&self, path: &str) -> Result<String, SetupError> {
        let parts = Path::new(path).components();
        let parts = parts.filter(|part| *part != Component::CurDir);
        let is_name =
            |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
        let is_below = parts.clone().all(is_name);
        let plain: PathBuf = parts.collect();
        if !is_below || plain.as_os_str().is_empty() {
            return Err(SetupError::NotInside(path.to_owned()));
        }
        let plain = plain.to_string_lossy().into_owned();
        let tracked = self
            .at
            .git
            .tracked(&self.tree.folder, std::slice::from_ref(&plain));
        match tracked?.as_slice() {
            [] => Ok(plain),
            _ => Err(SetupError::Tracked(path.to_owned())),
        }
    }

    /// Refuses a path that a link of the repository leads out of the tree.
    fn require_inside(&self, path: &Path) -> Result<(), SetupError> {
        let real = files::without_links_above(path)?;
        let top = files::canonical(&self.tree.folder)?;
        if real.starts_with(&top) {
            return Ok(());
        }
        Err(SetupError::LeadsOut(path.to_path_buf()))
    }

    async fn ask(&self, hook: &SetupHook, temporary: &Path) -> Result<Vec<String>, SetupError> {
        let (input, complaints) = (
            temporary.join("hook-input.json"),
            temporary.join("hook-complaints.txt"),
        );
        let file = blocking(|| -> Result<PathBuf, SetupError> {
            files::make_closed_folder(temporary).map_err(SetupError::NotAsked)?;
            let told = self.told().to_string();
            let written = atomic::write_mode(&input, told.as_bytes(), 0o600);
            written.map_err(SetupError::NotAsked)?;
            self.approved_text(hook, temporary)
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
            environment: allowed_variables(self.at.environment),
            limit_ms: hook.timeout_ms,
            grace_ms: GRACE_MS,
            most_output: MOST_ANSWER,
            ..KeeperOrder::shell("", self.tree.folder.clone(), &self.at.mark())
        };
        let mut answer = Vec::new();
        let ended = self
            .at
            .keeper
            .run(&order, &self.at.stop, |bytes| {
                answer.extend_from_slice(bytes);
            })
            .await
            .map_err(SetupError::NotRun)?;
        let complaint = complaint(&complaints);
        let limit = || duration::in_words(hook.timeout_ms);
        let failed = match (ended.report.why, ended.report.exit) {
            (EndReason::TimedOut, _) => Some(format!("took longer than {}{complaint}", limit())),
            (_, ProgramExit::NotStarted(why)) => Some(format!("could not be started: {why}")),
            (_, ProgramExit::Signal(signal)) => {
                Some(format!("was ended by signal {signal}{complaint}"))
            }
            (_, ProgramExit::Code(0)) => None,
            (_, ProgramExit::Code(code)) => Some(format!("failed with code {code}{complaint}")),
        };
        if let Some(failed) = failed {
            return Err(SetupError::Failed(failed));
        }
        let answer: HookAnswer = serde_json::from_slice(&answer)?;
        if answer.synthetic_paths.len() > MOST_PATHS {
            return Err(SetupError::TooManyPaths);
        }
        blocking(|| {
            let paths = answer.synthetic_paths.iter();
            let paths = paths.map(|path| self.untracked(path));
            paths.collect::<Result<_, _>>()
        })
        .map_err(|error: SetupError| SetupError::WrongPath(Box::new(error)))
    }

    /// Returns the file to run: the person's own as it is, or a project's with the text that was approved.
    fn approved_text(&self, hook: &SetupHook, temporary: &Path) -> Result<PathBuf, SetupError> {
        let Some(digest) = &hook.approved else {
            return Ok(hook.file.clone());
        };
        let text = self
            .at
            .store
            .bytes(digest)
            .map_err(|_| SetupError::NotApproved)?;
        let name = hook.file.file_name().unwrap_or_default();
        let file = temporary.join("approved").join(name);
        let written = file.parent().map_or(Ok(()), files::make_folder);
        let written = written.and_then(|()| atomic::write_mode(&file, &text, 0o700));
        written.map_err(SetupError::NotWritten)?;
        Ok(file)
    }

    /// Returns the JSON object for the program.
    fn told(&self) -> serde_json::Value {
        let plan = &self.tree.plan;
        let agent = self.at.child().map(|child| &child.agent);
        json!({
            "version": 1,
            "repoRoot": plan.repository,
            "worktreePath": self.tree.folder,
            "agentCwd": self.tree.work_folder().components().collect::<PathBuf>(),
            // Git itself calls it so if no branch is checked out.
            "branch": "HEAD",
            "index": self.index(),
            "runId": self.at.run.id,
            "baseCommit": self.tree.base(),
            "agent": agent,
        })
    }

    /// Returns the place of the child among those that work side by side.
    fn index(&self) -> usize {
        let (run, node) = (self.at.run, self.at.node);
        let plan = &run.plan;
        let Some(group) = plan.group_of(node) else {
            return 0;
        };
        let list = run.state.nodes.get(&group);
        let position = if let Some(found) = list.and_then(|list| list.items.as_ref()) {
            let mut items = found.items.iter();
            items.position(|item| group.item(&item.key) == *node)
        } else {
            let nodes = plan.nodes.iter();
            let mut members = nodes.filter(|it| it.group.as_ref() == Some(&group));
            members.position(|it| it.id == *node)
        };
        position.unwrap_or_default()
    }
}
