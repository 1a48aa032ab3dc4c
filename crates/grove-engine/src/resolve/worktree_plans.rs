//! The commits from which the working trees of children begin, and their preparation before a child begins.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::identity::new_run_id;
use crate::places::RunPlaces;
use grove_exec::{Git, RepositoryPlace};
use grove_fs::files;
use grove_plan::{SetupHook, WorktreePlan, WorktreeSetup};
use grove_skills::Environment;
use grove_spec::Digest;
use grove_spec::config::HookSetting;
use grove_spec::text::{first_names, one_line};

use super::approving::Strange;
use super::children::ChildResolver;
use crate::error::EngineError;
use crate::supervising::passed_on;

/// Bytes of a program that has to be approved.
const MAX_HOOK: u64 = 4 << 20;

/// The commits from which working trees begin, by folder, so that all of a run begin alike.
#[derive(Default)]
pub(crate) struct Worktrees {
    /// True if they begin with the files as they are now.
    include_changes: bool,
    known: RefCell<BTreeMap<(PathBuf, Option<String>), PlannedWorktree>>,
    /// The commits, by repository and by the name that the request gave.
    bases: RefCell<BTreeMap<(PathBuf, Option<String>), String>>,
}

/// A working tree that is to be made.
#[derive(Clone)]
pub(crate) struct PlannedWorktree {
    pub(crate) plan: WorktreePlan,
    /// The text of the program that sets it up, where a person had to approve it.
    pub(crate) hook_text: Option<Vec<u8>>,
}

impl Worktrees {
    pub(crate) fn new(include_changes: bool) -> Self {
        Self {
            include_changes,
            ..Self::default()
        }
    }

    /// Plans the working tree for a child that works in a folder, from HEAD or from a commit that the request names.
    pub(crate) fn plan(
        &self,
        resolver: &ChildResolver<'_>,
        folder: &Path,
        base_ref: Option<&str>,
    ) -> Result<PlannedWorktree, EngineError> {
        let key = (folder.to_path_buf(), base_ref.map(str::to_owned));
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        let environment = resolver.environment;
        let git = Git::new(passed_on(environment));
        let place = git.place(folder).map_err(EngineError::finding)?;
        let Some(place) = place else {
            let message = format!(
                "{} is not in a git repository with a commit",
                folder.display()
            );
            return Err(
                EngineError::usage(message).hint("leave `--worktree` out, or commit something")
            );
        };
        let settings = &resolver.look.world.settings.settings;
        let found = match &settings.run_worktree_hook.value {
            Some(hook) => Some(find_hook(resolver, hook, &place.top)?),
            None => None,
        };
        let timeout_ms = settings.run_worktree_hook_timeout_ms.value;
        let hook = found.as_ref().map(|found| SetupHook {
            file: found.file.clone(),
            approved: found.text.as_deref().map(Digest::of),
            timeout_ms,
        });
        let plan = WorktreePlan {
            base: self.base(environment, &git, &place, base_ref)?,
            begins: Vec::new(),
            repository: place.top,
            subfolder: place.below,
            setup: WorktreeSetup {
                link: settings.run_worktree_link.value.clone(),
                copy: settings.run_worktree_copy.value.clone(),
                hook,
            },
        };
        let planned = PlannedWorktree {
            plan,
            hook_text: found.and_then(|found| found.text),
        };
        let mut known = self.known.borrow_mut();
        known.insert(key, planned.clone());
        Ok(planned)
    }

    /// The commit that trees begin with: the same for all that begin alike, whatever is committed meanwhile.
    fn base(
        &self,
        environment: &Environment,
        git: &Git,
        place: &RepositoryPlace,
        base_ref: Option<&str>,
    ) -> Result<String, EngineError> {
        let key = (place.top.clone(), base_ref.map(str::to_owned));
        if let Some(known) = self.bases.borrow().get(&key) {
            return Ok(known.clone());
        }
        let base = match base_ref {
            Some(named) => self.named(git, &place.top, named)?,
            None => self.head(environment, git, &place.top, &place.head)?,
        };
        self.bases.borrow_mut().insert(key, base.clone());
        Ok(base)
    }

    fn named(&self, git: &Git, top: &Path, named: &str) -> Result<String, EngineError> {
        if self.include_changes {
            let message = "a working tree begins from `baseRef` or with the changes that are not committed, not both";
            return Err(EngineError::usage(message)
                .hint("leave `--include-changes` or `baseRef` (`--base-ref`) out"));
        }
        git.commit_named(top, named).map_err(|_| {
            let shown = one_line(named);
            let message = format!("`baseRef`: {} has no commit `{shown}`", top.display());
            EngineError::usage(message).hint("name a branch, a tag or a commit of the repository")
        })
    }

    fn head(
        &self,
        environment: &Environment,
        git: &Git,
        top: &Path,
        head: &str,
    ) -> Result<String, EngineError> {
        let changed = git.changes(top).map_err(EngineError::finding)?;
        if changed.is_empty() {
            return Ok(head.to_owned());
        }
        if !self.include_changes {
            let message = format!(
                "the repository has changes that are not committed: {}",
                first_names(&changed)
            );
            return Err(EngineError::finding(message).hints([
                "commit them".to_owned(),
                "or start from the files as they are now: --include-changes".to_owned(),
            ]));
        }
        let scratch = RunPlaces::in_state(&environment.state);
        let scratch = scratch.folder().join("scratch").join(new_run_id());
        files::make_closed_folder(&scratch)?;
        let base = git.snapshot(top, &scratch).map_err(EngineError::finding);
        files::remove_folder(&scratch)?;
        base
    }
}

/// A program that sets working trees up.
struct FoundHook {
    file: PathBuf,
    /// Its text, where a person had to approve it.
    text: Option<Vec<u8>>,
}

/// Finds the program that settings name. One that a project named, or that is in the repository, may have been written by
/// any person with access to it.
fn find_hook(
    resolver: &ChildResolver<'_>,
    hook: &HookSetting,
    top: &Path,
) -> Result<FoundHook, EngineError> {
    let shown = one_line(&hook.file);
    let file = match (hook.file.strip_prefix("~/"), &resolver.environment.home) {
        (Some(below), Some(home)) => home.join(below),
        _ => top.join(&hook.file),
    };
    if !grove_fs::programs::is_program(&file) {
        let message = format!(
            "the set-up hook {shown} is not a program: {}",
            file.display()
        );
        let hint = "correct `runs.worktreeSetupHook`, or make the file executable";
        return Err(EngineError::usage(message).hint(hint));
    }
    let real = files::canonical(&file)?;
    let is_strange = hook.is_of_project || real.starts_with(files::canonical(top)?);
    if !is_strange {
        return Ok(FoundHook { file, text: None });
    }
    let text = files::read_bounded(&real, MAX_HOOK)?;
    let message = format!("the set-up hook {shown} has not been approved in its present form");
    let digest = Digest::of(&text).to_string();
    let strange = Strange::program(&real, &text);
    resolver.approving.require(&digest, &message, strange)?;
    Ok(FoundHook {
        file: real,
        text: Some(text),
    })
}
