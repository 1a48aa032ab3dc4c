//! `grove runs diff` and `grove runs apply`: the patches of children that worked in trees of their own.

use grove_engine::words::{after_applying, applied_lines};
use grove_engine::{RunJournal, RunPatches, SubmodulePatch};
use grove_skills::Environment;
use grove_spec::text::one_line;
use serde_json::json;

use crate::commands::{Outcome, counted};
use crate::output::CommandOutput;

pub(super) fn diff(runs: &RunJournal, given: &str, json: bool, out: &mut CommandOutput) -> Outcome {
    let RunPatches { run, patches } = runs.patches(given)?;
    if json {
        let patches: Vec<_> = patches
            .iter()
            .map(|patch| {
                let submodules = patch
                    .submodules
                    .iter()
                    .map(|SubmodulePatch { work, bytes }| {
                        json!({
                            "path": work.path,
                            "digest": work.patch,
                            "base": work.base,
                            "files": work.files,
                            "patch": String::from_utf8_lossy(bytes),
                        })
                    });
                json!({
                    "node": patch.node,
                    "agent": patch.agent,
                    "digest": patch.view.digest,
                    "base": patch.view.base,
                    "files": patch.view.files,
                    "patch": String::from_utf8_lossy(&patch.bytes),
                    "submodules": submodules.collect::<Vec<_>>(),
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
        out.patch(&patch.bytes);
        for SubmodulePatch { work, bytes } in &patch.submodules {
            let files = usize::try_from(work.files).unwrap_or(usize::MAX);
            let (path, files) = (one_line(&work.path), counted(files, "file"));
            out.note(&format!("{} in the submodule {path}: {files}", patch.node));
            out.patch(bytes);
        }
    }
    Ok(0)
}

pub(super) fn apply(
    environment: &Environment,
    runs: &RunJournal,
    given: &str,
    json: bool,
    out: &mut CommandOutput,
) -> Outcome {
    let applied = runs.apply(environment, given)?;
    if !json {
        for line in applied_lines(&applied) {
            out.line(&line);
        }
    }
    let (after, has_conflicts) = (after_applying(&applied), applied.has_conflicts());
    if let Some(failure) = applied.failure {
        return Err(failure);
    }
    if json {
        let patches = applied.patches.iter().map(|patch| {
            json!({
                "node": patch.node,
                "with": patch.with,
                "files": patch.files,
                "conflicts": patch.conflicts,
                "staged": patch.is_staged,
            })
        });
        let patches: Vec<_> = patches.collect();
        out.json(&json!({ "schema": "grove.applied/1", "run": applied.run, "patches": patches }));
    } else if let Some(after) = after {
        out.note(&after);
    }
    Ok(u8::from(has_conflicts))
}
