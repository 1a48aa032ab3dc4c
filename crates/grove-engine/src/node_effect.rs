//! What the executors of effects on a node have in common.

use std::path::PathBuf;

use grove_exec::{Git, Keeper, StopTokens};
use grove_plan::{Attempt, Child, NodeId, NodeState};
use grove_store::{LoadedRun, Store};

use crate::places::RunPlaces;
use crate::supervisor::mark;
use crate::worktrees::ChildWorktree;

/// An effect on a node: the run as it is now, and the means to carry the effect out.
pub(crate) struct NodeEffect<'a> {
    pub(crate) store: &'a Store,
    pub(crate) places: &'a RunPlaces,
    pub(crate) keeper: &'a Keeper,
    pub(crate) environment: &'a [(String, String)],
    pub(crate) git: Git,
    pub(crate) run: &'a LoadedRun,
    pub(crate) node: &'a NodeId,
    pub(crate) stop: StopTokens,
}

impl NodeEffect<'_> {
    pub(crate) fn child(&self) -> Option<&Child> {
        self.run.plan.child(self.node)
    }

    pub(crate) fn state(&self) -> Option<&NodeState> {
        self.run.state.nodes.get(self.node)
    }

    /// The path to the node from the root of its tree, for the processes of the effect.
    pub(crate) fn mark(&self) -> String {
        mark(self.store, &self.run.id, &Attempt::none_at(self.node))
    }

    /// A folder of the node's own for one purpose.
    pub(crate) fn temporary(&self, purpose: &str) -> PathBuf {
        let folder = self.places.of_run(&self.run.id).join(purpose);
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        let name = self.node.as_str().chars();
        folder.join(
            name.map(|c| if allowed(c) { c } else { '_' })
                .collect::<String>(),
        )
    }

    /// The working tree of the child, if it has one of its own.
    pub(crate) fn worktree(&self) -> Option<ChildWorktree<'_>> {
        ChildWorktree::of(self, self.node)
    }

    /// The folder that the child works in. A reviewer works in the folder of the work that it reviews.
    pub(crate) fn work_folder(&self) -> PathBuf {
        let reviews = self.run.plan.reviews(self.node);
        let tree = ChildWorktree::of(self, reviews.as_ref().unwrap_or(self.node));
        let of_plan = || self.child().map(|child| child.place.folder.clone());
        tree.map(|tree| tree.work_folder())
            .or_else(of_plan)
            .unwrap_or_default()
    }
}
