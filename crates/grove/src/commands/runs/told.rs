//! What a child was told, as it was stored before it started: `grove prompt --run`, and where its parts come from.

use grove_catalog::prompt::Prompt;
use grove_plan::{NodeId, NodeView};
use grove_runs::{Told, ToldPart};
use grove_skills::Environment;
use serde_json::json;

use super::Runs;
use super::controlling::parts_of;
use crate::command_error::CommandError;
use crate::commands::Outcome;
use crate::output::Output;

/// Prints what a child was told; `given` is `RUN` or `RUN.NODE`.
pub(crate) fn print_told(
    environment: &Environment,
    given: &str,
    json: bool,
    out: &mut Output,
) -> Outcome {
    let (run, node) = parts_of(given);
    let runs = Runs::open(environment)?;
    let loaded = runs.load(run)?;
    let last = loaded.plan.nodes.last().map(|node| node.id.clone());
    let node = node.or(last).unwrap_or_else(|| NodeId::step(1));
    let Some(child) = loaded.plan.child(&node) else {
        let names: Vec<&str> = loaded.plan.nodes.iter().map(|it| it.id.as_str()).collect();
        let message = format!("run {} has no child `{node}`", loaded.id);
        return Err(CommandError::finding(message).hint(format!("it has {}", names.join(", "))));
    };
    let of_node = |view: &NodeView| (view.id == node).then_some(view.told);
    let told = runs.view(&loaded).nodes.iter().find_map(of_node);
    let digest = told.unwrap_or(child.told);
    let bytes = runs.store.artifact(&digest)?;
    let told: Option<Told> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let told = told.ok_or_else(|| CommandError::internal("what it was told is not on record"))?;
    if json {
        out.json(&json!({
            "schema": "grove.told/1",
            "run": loaded.id,
            "node": node,
            "agent": child.agent,
            "digest": digest,
            "system": told.system,
            "message": told.message,
            "parts": told.parts,
        }));
    } else {
        out.child_text(&format!("{}\n\n{}", told.system, told.message));
    }
    Ok(0)
}

/// Where the parts of a prompt come from.
pub(super) fn prompt_parts(prompt: &Prompt) -> Vec<ToldPart> {
    let mut end = 0;
    let mut parts = Vec::new();
    for block in &prompt.blocks {
        let bytes = block.text.len();
        // Between two there are ends of lines.
        let rest = prompt.text.get(end..).unwrap_or_default();
        let between = rest.find(&block.text).unwrap_or_default();
        let at = end + between;
        end = at + bytes;
        let source = block.source.as_ref();
        parts.push(ToldPart {
            kind: block.kind.as_str().to_owned(),
            name: block.name.clone(),
            source: source.map(|path| path.to_string_lossy().into_owned()),
            digest: block.digest,
            at,
            bytes,
        });
    }
    parts
}
