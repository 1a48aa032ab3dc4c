//! The child that this process belongs to. A `grove` that a child runs is that child: what it asks for is below it.

use grove_exec::MARK;
use grove_plan::{Attempt, NodeId, Parent};
use grove_runs::Above;
use grove_skills::Environment;

use super::Runs;
use crate::command_error::CommandError;

/// The child of a mark: the last of the path from the root.
pub(super) fn child_of(environment: &Environment) -> Option<Parent> {
    let mark = environment.variables.get(MARK)?.to_str()?;
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

/// The child that asks, when this process belongs to one.
pub(super) fn above(environment: &Environment, runs: &Runs) -> Result<Option<Above>, CommandError> {
    if !environment.variables.contains_key(MARK) {
        return Ok(None);
    }
    let unknown = || {
        CommandError::finding("this process belongs to a child of a run that is not known here")
            .hint("the child has to use its tool `subagent`")
    };
    let parent = child_of(environment).ok_or_else(unknown)?;
    let loaded = runs.load(&parent.run).map_err(|_| unknown())?;
    let tree = loaded.state.nodes.get(&parent.of.node);
    let tree = tree.and_then(|node| node.worktree.as_ref()?.folder.clone());
    let child = loaded.plan.child(&parent.of.node).ok_or_else(unknown)?;
    let folder = tree.unwrap_or_else(|| child.place.folder.clone());
    Above::of(&loaded, parent, folder)
        .map(Some)
        .ok_or_else(unknown)
}
