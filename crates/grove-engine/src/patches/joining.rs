//! The work of children whose working trees begin with one another's: one patch, from where the first of them began to
//! where the last ones lead.

use crate::identity::new_run_id;
use grove_exec::{Git, GitError, MergedPatches};
use grove_fs::files;
use grove_plan::{NodeId, Plan, WorktreePlan};
use grove_spec::Digest;

use super::ChildPatch;
use crate::error::EngineError;
use crate::journal::RunJournal;

/// Puts patches together that belong together. One that cannot be merged with those before it stands alone, and so does
/// what comes after it.
pub(crate) fn joined(
    journal: &RunJournal,
    git: &Git,
    plan: &Plan,
    patches: Vec<ChildPatch>,
) -> Result<Vec<ChildPatch>, EngineError> {
    let ids: Vec<NodeId> = patches.iter().map(|patch| patch.node.clone()).collect();
    let scratch = journal.places.folder().join("scratch").join(new_run_id());
    files::make_closed_folder(&scratch)?;
    let mut left = patches;
    let mut all = Vec::new();
    for together in plan.joined(&ids) {
        let (these, others) = left.into_iter().partition(|it| together.contains(&it.node));
        left = others;
        let first = together.first().and_then(|id| plan.child(id));
        match first.and_then(|child| child.place.worktree.as_ref()) {
            Some(tree) if together.len() > 1 => {
                let joining = Joining {
                    git,
                    tree,
                    scratch: &scratch,
                };
                all.extend(joining.join(these)?);
            }
            _ => all.extend(these),
        }
    }
    files::remove_folder(&scratch)?;
    Ok(all)
}

struct Joining<'a> {
    git: &'a Git,
    tree: &'a WorktreePlan,
    scratch: &'a std::path::Path,
}

impl Joining<'_> {
    fn join(&self, mut patches: Vec<ChildPatch>) -> Result<Vec<ChildPatch>, EngineError> {
        let mut rest = Vec::new();
        while patches.len() > 1 {
            match self.merged(&patches)? {
                Ok(MergedPatches::Tree(tree)) => {
                    if let Ok(Some(one)) = self.one(&patches, &tree) {
                        patches = vec![one];
                    }
                    break;
                }
                Ok(MergedPatches::Conflict { at, .. }) => {
                    let later = patches.split_off(at);
                    rest.splice(0..0, later);
                }
                // The repository may be gone: each is still a patch.
                Err(_) => break,
            }
        }
        patches.extend(rest);
        Ok(patches)
    }

    fn merged(
        &self,
        patches: &[ChildPatch],
    ) -> Result<Result<MergedPatches, GitError>, EngineError> {
        let bytes: Vec<Vec<u8>> = patches.iter().map(|patch| patch.bytes.clone()).collect();
        let WorktreePlan {
            repository, base, ..
        } = self.tree;
        files::remove_folder(self.scratch)?;
        files::make_closed_folder(self.scratch)?;
        Ok(self.git.merged(repository, base, &bytes, self.scratch))
    }

    /// One patch of several whose tree is known.
    fn one(&self, patches: &[ChildPatch], tree: &str) -> Result<Option<ChildPatch>, GitError> {
        let [earlier @ .., last] = patches else {
            return Ok(None);
        };
        let WorktreePlan {
            repository, base, ..
        } = self.tree;
        let bytes = self.git.patch(repository, base, tree)?;
        let mut view = last.view.clone();
        view.digest = Digest::of(&bytes);
        view.base = Some(base.clone());
        view.files = self.git.changed(repository, base, tree)?.len() as u64;
        let submodules = patches
            .iter()
            .flat_map(|patch| patch.submodules.iter().cloned());
        Ok(Some(ChildPatch {
            node: last.node.clone(),
            agent: last.agent.clone(),
            with: earlier.iter().map(|patch| patch.node.clone()).collect(),
            view,
            bytes,
            submodules: submodules.collect(),
        }))
    }
}
