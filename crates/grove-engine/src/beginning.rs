//! The commit that a working tree begins with: that of its plan, with the patches of others on top of it. The same patches
//! give the same commit, so that a tree that is made again begins where it began.

use grove_exec::MergedPatches;
use grove_plan::{EarlierWork, WorkConflict};

use crate::worktrees::{ChildWorktree, TreeError};

/// The beginning of a working tree.
pub(crate) enum Begins {
    At(String),
    /// No commit: the patches that it was to begin with cannot be merged. The text has all patches that disagree.
    Conflict(WorkConflict, Vec<u8>),
}

impl ChildWorktree<'_> {
    /// Puts the patches of others together.
    pub(crate) fn begin(&self, works: &[EarlierWork]) -> Result<Begins, TreeError> {
        let base = &self.plan.base;
        if works.is_empty() {
            return Ok(Begins::At(base.clone()));
        }
        let mut patches = Vec::with_capacity(works.len());
        for work in works {
            let stored = self.at.store.bytes(&work.patch);
            let missing = |_| TreeError::Missing(format!("the patch of {}", work.node));
            patches.push(stored.map_err(missing)?);
        }
        let repository = &self.plan.repository;
        let scratch = self.at.temporary("scratch").join("begin");
        // A git that was killed may have left files here.
        let _ = grove_fs::files::remove_folder(&scratch);
        grove_fs::files::make_closed_folder(&scratch)?;
        let merged = self.at.git.merged(repository, base, &patches, &scratch);
        let _ = grove_fs::files::remove_folder(&scratch);
        match merged? {
            MergedPatches::Tree(tree) => {
                let names: Vec<&str> = works.iter().map(|work| work.node.as_str()).collect();
                let message = format!("work of {}", names.join(", "));
                let commit = self.at.git.commit_on(repository, base, &tree, &message);
                Ok(Begins::At(commit?))
            }
            MergedPatches::Conflict { at, with, files } => {
                let of = self.in_conflict(works, at, &with);
                let nodes = of
                    .iter()
                    .filter_map(|at| Some(works.get(*at)?.node.clone()))
                    .collect();
                let conflict = WorkConflict { nodes, files };
                let answer = self.answer(&conflict, works, &patches, &of);
                Ok(Begins::Conflict(conflict, answer))
            }
        }
    }

    /// Returns the places of the patches that disagree: the one that does not fit, and those before it that changed the same
    /// files, without those that its own tree began with.
    fn in_conflict(&self, works: &[EarlierWork], at: usize, with: &[usize]) -> Vec<usize> {
        let node_at = |at: usize| works.get(at).map(|work| &work.node);
        let child = node_at(at).and_then(|node| self.at.run.plan.child(node));
        let tree = child.and_then(|child| child.place.worktree.as_ref());
        let began_with = tree.map_or_else(Vec::new, |tree| {
            let works = self.at.run.state.earlier_work(&tree.begins);
            works.into_iter().map(|work| work.node).collect()
        });
        let is_other = |place: &&usize| node_at(**place).is_some_and(|it| !began_with.contains(it));
        let others: Vec<usize> = with.iter().filter(is_other).copied().collect();
        let others = if others.is_empty() { with } else { &others };
        others.iter().copied().chain([at]).collect()
    }

    fn answer(
        &self,
        conflict: &WorkConflict,
        works: &[EarlierWork],
        patches: &[Vec<u8>],
        of: &[usize],
    ) -> Vec<u8> {
        let mut text = format!("Step {} was not started: {conflict}.\n", self.at.node).into_bytes();
        for at in of {
            let (Some(work), Some(patch)) = (works.get(*at), patches.get(*at)) else {
                continue;
            };
            let child = self.at.run.plan.child(&work.node);
            let agent = child.map_or("", |child| child.agent.as_str());
            text.extend(format!("\n=== {} {agent} ===\n", work.node).into_bytes());
            text.extend(patch);
        }
        text
    }
}
