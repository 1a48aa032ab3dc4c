//! `grove runs diff` and `grove runs apply`: what children did in working trees of their own.

use grove_exec::Git;
use grove_plan::{NodeId, NodeView, PatchView};
use grove_skills::Environment;
use serde_json::json;

use super::controlling::parts_of;
use super::{Runs, supervise};
use crate::command_error::CommandError;
use crate::commands::{Outcome, counted};
use crate::output::Output;

/// A child's patch.
struct ChildPatch {
    node: NodeId,
    agent: String,
    view: PatchView,
    bytes: Vec<u8>,
}

/// The patches of a run, or of one child of it.
fn patches(runs: &Runs, given: &str) -> Result<(String, Vec<ChildPatch>), CommandError> {
    let (run, named) = parts_of(given);
    let loaded = runs.load(run)?;
    let is_meant = |node: &&NodeView| named.as_ref().is_none_or(|named| node.id == *named);
    let view = runs.view(&loaded);
    let mut found = Vec::new();
    for node in view.nodes.iter().filter(is_meant) {
        let Some(patch) = &node.patch else { continue };
        let bytes = runs.store.artifact(&patch.digest)?;
        found.push(ChildPatch {
            node: node.id.clone(),
            agent: node.agent.clone(),
            view: patch.clone(),
            bytes: bytes.unwrap_or_default(),
        });
    }
    if found.is_empty() {
        let message = format!("run {} has no patch", loaded.id);
        let hint = "children have one that ran with `--worktree` and have ended";
        return Err(CommandError::finding(message).hint(hint));
    }
    Ok((loaded.id, found))
}

/// `grove runs diff`.
pub(super) fn diff(runs: &Runs, given: &str, json: bool, out: &mut Output) -> Outcome {
    let (run, patches) = patches(runs, given)?;
    if json {
        let patches: Vec<_> = patches
            .iter()
            .map(|patch| {
                json!({
                    "node": patch.node,
                    "agent": patch.agent,
                    "digest": patch.view.digest,
                    "base": patch.view.base,
                    "files": patch.view.files,
                    "patch": String::from_utf8_lossy(&patch.bytes),
                })
            })
            .collect();
        out.json(&json!({ "schema": "grove.patches/1", "run": run, "patches": patches }));
        return Ok(0);
    }
    for patch in &patches {
        let files = counted(
            usize::try_from(patch.view.files).unwrap_or(usize::MAX),
            "file",
        );
        out.note(&format!("{} {}: {files}", patch.node, patch.agent));
        out.exact(&patch.bytes);
    }
    Ok(0)
}

/// `grove runs apply`.
pub(super) fn apply(
    environment: &Environment,
    runs: &Runs,
    given: &str,
    json: bool,
    out: &mut Output,
) -> Outcome {
    let (run, patches) = patches(runs, given)?;
    let git = Git::new(supervise::passed_on(environment));
    let place = git
        .place(&environment.working)
        .map_err(CommandError::internal)?;
    let Some(place) = place else {
        let message = "this folder is in no git repository with a commit";
        return Err(CommandError::usage(message).hint("go to where the patches belong"));
    };
    let mut done = Vec::new();
    let mut has_conflicts = false;
    for patch in &patches {
        let applied = git.apply(&place.top, &patch.bytes);
        let conflicts = match applied {
            Ok(conflicts) => conflicts,
            Err(error) => {
                let message = format!("the patch of {} does not apply: {error}", patch.node);
                let hint = format!("`grove runs diff {run}.{}` prints it", patch.node);
                return Err(CommandError::finding(message).hint(hint));
            }
        };
        has_conflicts |= !conflicts.is_empty();
        let files = counted(
            usize::try_from(patch.view.files).unwrap_or(usize::MAX),
            "file",
        );
        if !json {
            out.line(&format!("{} {}: {files} changed", patch.node, patch.agent));
            for file in &conflicts {
                out.line(&format!("  conflict in {file}"));
            }
        }
        done.push(json!({ "node": patch.node, "files": patch.view.files, "conflicts": conflicts }));
        if has_conflicts {
            // What comes next would be put on top of what nobody has settled yet.
            break;
        }
    }
    if json {
        out.json(&json!({ "schema": "grove.applied/1", "run": run, "patches": done }));
    } else if has_conflicts {
        let left = patches.len() - done.len();
        out.note(&format!(
            "settle the conflicts; {} not applied yet",
            counted(left, "patch")
        ));
    }
    Ok(u8::from(has_conflicts))
}
