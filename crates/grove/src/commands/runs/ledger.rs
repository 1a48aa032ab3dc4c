//! `grove runs ledger`: what was asked of the work, what was seen of it, and whether it counts, apart from prose.

use grove_plan::{Check, CheckResult, Contract, NodeView};
use serde_json::{Value, json};

use super::Runs;
use crate::command_error::CommandError;
use crate::commands::Outcome;
use crate::output::Output;

/// Prints the ledger of a run.
pub(super) fn show(
    runs: &Runs,
    given: &str,
    verify: bool,
    json: bool,
    out: &mut Output,
) -> Outcome {
    let loaded = runs.load(given)?;
    let view = runs.view(&loaded);
    let faults = if verify {
        faults(runs, &loaded.id, &view.nodes)?
    } else {
        Vec::new()
    };
    let contract = |node: &NodeView| {
        let child = loaded.plan.child(&node.id);
        child.and_then(|child| child.contract.clone())
    };
    if json {
        let nodes: Vec<Value> = view
            .nodes
            .iter()
            .map(|node| {
                let contract = contract(node);
                json!({
                    "node": node.id,
                    "agent": node.agent,
                    "state": node.state,
                    "contract": contract,
                    "contractDigest": contract.as_ref().map(Contract::digest),
                    "checks": node.checks,
                    "acceptance": node.acceptance,
                    "rejected": node.rejected,
                    "patch": node.patch.as_ref().map(|patch| patch.digest),
                })
            })
            .collect();
        out.json(&json!({
            "schema": "grove.ledger/1",
            "run": loaded.id,
            "head": loaded.head,
            "acceptance": view.acceptance,
            "nodes": nodes,
            "verified": verify.then_some(faults.is_empty()),
            "faults": faults,
        }));
        return Ok(u8::from(!faults.is_empty()));
    }
    out.line(&format!(
        "run {} {}, {}",
        loaded.id, view.state, view.acceptance
    ));
    for node in &view.nodes {
        let why = node.rejected.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        out.line(&format!(
            "  {} {} {}{why}",
            node.id, node.agent, node.acceptance
        ));
        for check in contract(node).iter().flat_map(|contract| &contract.verify) {
            let result = node.checks.iter().find(|result| result.id == check.id);
            out.line(&format!("    {}", check_line(check, result)));
        }
    }
    for fault in &faults {
        out.line(&format!("CHANGED: {fault}"));
    }
    if verify && faults.is_empty() {
        out.line("nothing was changed since it was recorded");
    }
    Ok(u8::from(!faults.is_empty()))
}

fn check_line(check: &Check, result: Option<&CheckResult>) -> String {
    match result {
        Some(result) => format!(
            "{} `{}` {} after {} ms, held: {}",
            check.id,
            check.line(),
            result.end,
            result.milliseconds,
            result.sandbox,
        ),
        None => format!("{} `{}` was not run", check.id, check.line()),
    }
}

/// What is not as it was recorded: the chain of events, and the texts that they name.
fn faults(runs: &Runs, run: &str, nodes: &[NodeView]) -> Result<Vec<String>, CommandError> {
    let mut faults: Vec<String> = runs
        .store
        .verify(run)?
        .iter()
        .map(ToString::to_string)
        .collect();
    for node in nodes {
        let checks = node.checks.iter().map(|check| check.output);
        let patch = node.patch.iter().map(|patch| patch.digest);
        for digest in checks.chain(patch).chain([node.told]) {
            let stored = runs.store.artifact(&digest)?;
            if stored.is_none_or(|bytes| grove_spec::Digest::of(&bytes) != digest) {
                faults.push(format!(
                    "the text {digest} of {} is not there as it was",
                    node.id
                ));
            }
        }
    }
    Ok(faults)
}
