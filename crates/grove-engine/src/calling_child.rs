//! The child that asks for a run, and the bounds of what it asks for: its children get no more than it has itself.
//!
//! Every request of a child comes here, whichever way it was asked for: by its tool, over MCP, over the bridge of an agent
//! program, by `grove` in a shell, which is that child; for an agent, tasks, steps, groups or a saved chain.

use std::path::{Path, PathBuf};

use grove_exec::{MARK, kept_mark};
use grove_plan::{Attempt, CallId, NodeId, Parent, Tools, TreeLimits};
use grove_skills::Environment;
use grove_spec::agent::model_scope::ModelScope;
use grove_store::{LoadedRun, Store, StoreError};

use crate::envelope::RunEnvelope;
use crate::error::EngineError;
use crate::journal::RunJournal;
use crate::powers::Powers;

/// A child that asks for a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallingChild {
    /// Its run, its node and its attempt.
    pub(crate) parent: Parent,
    /// The folder that it works in.
    pub(crate) folder: PathBuf,
    pub(crate) engine: String,
    /// Its model, as `provider/id`; none if a program chooses it.
    pub(crate) model: Option<String>,
    pub(crate) tools: Tools,
    /// The limits of its run, and the depth of that run.
    pub(crate) tree: TreeLimits,
    /// The scopes that its own model had to be in.
    pub(crate) model_scopes: Vec<ModelScope>,
    pub(crate) surroundings: String,
    /// The call of its tool by which it asks; none where it asks in another way.
    pub(crate) call: Option<CallId>,
}

impl CallingChild {
    /// Returns a child of a run as one that asks; none if the plan has no such child.
    pub(crate) fn of(
        run: &LoadedRun,
        envelope: &RunEnvelope,
        parent: Parent,
        folder: PathBuf,
    ) -> Option<Self> {
        let child = run.plan.child(&parent.of.node)?;
        let node = run.state.nodes.get(&parent.of.node);
        let at = node
            .and_then(|node| node.last())
            .map_or(0, |last| last.model);
        let model = child.models.get(at).filter(|name| name.contains('/'));
        Some(Self {
            folder,
            engine: child.engine.clone(),
            model: model.cloned(),
            tools: child.tools.clone(),
            tree: TreeLimits {
                max_depth: run.plan.tree.deepest(&child.limits),
                ..run.plan.tree.clone()
            },
            model_scopes: envelope.model_scopes.clone(),
            surroundings: envelope.surroundings.clone(),
            call: None,
            parent,
        })
    }

    /// The child that this process belongs to; none for a process of a person or of a host.
    pub(crate) fn of_process(journal: &RunJournal) -> Result<Option<Self>, EngineError> {
        if !journal.is_child() {
            return Ok(None);
        }
        let unknown = || {
            EngineError::finding("this process belongs to a child of a run that is not known here")
                .hint("the child has to use its tool `subagent`")
        };
        let parent = parent_of_process(&journal.environment).ok_or_else(unknown)?;
        let loaded = journal.load(&parent.run).map_err(|_| unknown())?;
        let tree = loaded.state.nodes.get(&parent.of.node);
        let tree = tree.and_then(|node| node.worktree.as_ref()?.folder.clone());
        let child = loaded.plan.child(&parent.of.node).ok_or_else(unknown)?;
        let folder = tree.unwrap_or_else(|| child.place.folder.clone());
        let envelope = RunEnvelope::read(&loaded.envelope)?;
        let found = Self::of(&loaded, &envelope, parent, folder);
        found.map(Some).ok_or_else(unknown)
    }

    /// Returns the most that the children of its runs may do.
    pub(crate) fn powers(&self) -> Powers {
        Powers::of(&self.tools, &self.folder)
    }

    /// Refuses a folder outside the one in which it works.
    pub(crate) fn require_folder(&self, folder: &Path) -> Result<(), EngineError> {
        if self.powers().cover_folder(folder) {
            return Ok(());
        }
        let message = format!(
            "{} is outside {}, where the child that asks works",
            folder.display(),
            self.folder.display()
        );
        Err(EngineError::usage(message).hint("name a folder below it, or leave `cwd` out"))
    }

    /// Returns the limits of a run that asks for these itself. Its usage counts for the run above as well, which knows how
    /// much is left.
    pub(crate) fn tree_below(&self, asked: &TreeLimits) -> TreeLimits {
        let above = &self.tree;
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        TreeLimits {
            timeout_ms: least(asked.timeout_ms, above.timeout_ms),
            max_tokens: least(asked.max_tokens, above.max_tokens),
            max_cost: least(asked.max_cost, above.max_cost),
            depth: above.depth.saturating_add(1),
            max_depth: least(asked.max_depth, above.max_depth),
            max_children: least(asked.max_children, above.max_children),
        }
    }

    /// Returns the scopes of models for its runs: its own, and those of the folder in which they work.
    pub(crate) fn scopes_below(&self, of_folder: Vec<ModelScope>) -> Vec<ModelScope> {
        let mut all: Vec<ModelScope> = Vec::new();
        for scope in self.model_scopes.iter().cloned().chain(of_folder) {
            if !all.contains(&scope) {
                all.push(scope);
            }
        }
        all
    }
}

/// The mark of the child that this process belongs to. Its keeper's word counts before the variable, which a child can
/// unset or change.
pub fn mark_of(environment: &Environment) -> Option<String> {
    let of_variable = || {
        let value = environment.variables.get(MARK)?;
        Some(value.to_string_lossy().into_owned())
    };
    kept_mark().or_else(of_variable)
}

/// The child of this process's mark: the last of the path from the root.
fn parent_of_process(environment: &Environment) -> Option<Parent> {
    let mark = mark_of(environment)?;
    let mut parts = mark.rsplit('/');
    let (n, node, run) = (parts.next()?, parts.next()?, parts.next()?);
    Some(Parent {
        run: run.to_owned(),
        of: Attempt {
            node: NodeId::from(node),
            n: n.parse().ok()?,
        },
    })
}

/// Returns true if a run is one that a child asked for, or one below such a run.
pub(crate) fn is_own(store: &Store, child: &Parent, run: &str) -> Result<bool, StoreError> {
    let mut at = run.to_owned();
    while let Some(parent) = store.parent(&at)? {
        if parent.run == child.run && parent.of.node == child.of.node {
            return Ok(true);
        }
        at = parent.run;
    }
    Ok(false)
}

/// Refuses the process of a child what it may do with its own runs alone: those that it asked for, and those below them.
pub(crate) fn require_own(journal: &RunJournal, run: &str) -> Result<(), EngineError> {
    if !journal.is_child() {
        return Ok(());
    }
    match parent_of_process(&journal.environment) {
        Some(child) if is_own(&journal.store, &child, run)? => Ok(()),
        _ => Err(not_own(run)),
    }
}

/// The refusal of a run that another child, a host or a person asked for.
pub(crate) fn not_own(run: &str) -> EngineError {
    let message = format!("run {run} is not one that this child asked for");
    EngineError::usage(message).hint("ask the one who gave you the task")
}
