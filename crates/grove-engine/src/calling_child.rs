//! The child that this process belongs to. A `grove` that a child runs is that child: what it asks for is below it.

use grove_exec::{MARK, kept_mark};
use grove_plan::{Attempt, NodeId, Parent};
use crate::bounds::is_own;
use crate::delegation::Above;
use grove_skills::Environment;

use crate::error::EngineError;
use crate::journal::RunJournal;

/// The mark of the child that this process belongs to. Its keeper's word counts before the variable, which a child can
/// unset or change.
pub fn mark_of(environment: &Environment) -> Option<String> {
    let of_variable = || {
        let value = environment.variables.get(MARK)?;
        Some(value.to_string_lossy().into_owned())
    };
    kept_mark().or_else(of_variable)
}

/// The child of a mark: the last of the path from the root.
fn child_of(environment: &Environment) -> Option<Parent> {
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

/// Refuses the process of a child what it may do with its own runs alone: those that it asked for, and those below them.
pub(crate) fn require_own(journal: &RunJournal, run: &str) -> Result<(), EngineError> {
    if !journal.is_child() {
        return Ok(());
    }
    if let Some(own) = child_of(&journal.environment)
        && is_own(&journal.store, &own, run)?
    {
        return Ok(());
    }
    let message = format!("run {run} is not one that this child asked for");
    Err(EngineError::usage(message).hint("ask the one who gave you the task"))
}

/// The child that asks, when this process belongs to one.
pub(crate) fn above(journal: &RunJournal) -> Result<Option<Above>, EngineError> {
    if !journal.is_child() {
        return Ok(None);
    }
    let unknown = || {
        EngineError::finding("this process belongs to a child of a run that is not known here")
            .hint("the child has to use its tool `subagent`")
    };
    let parent = child_of(&journal.environment).ok_or_else(unknown)?;
    let loaded = journal.load(&parent.run).map_err(|_| unknown())?;
    let tree = loaded.state.nodes.get(&parent.of.node);
    let tree = tree.and_then(|node| node.worktree.as_ref()?.folder.clone());
    let child = loaded.plan.child(&parent.of.node).ok_or_else(unknown)?;
    let folder = tree.unwrap_or_else(|| child.place.folder.clone());
    Above::of(&loaded, parent, folder)
        .map(Some)
        .ok_or_else(unknown)
}
