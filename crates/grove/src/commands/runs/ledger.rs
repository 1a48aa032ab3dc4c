//! `grove runs ledger`: what was asked of the work, what was seen of it, and whether it counts, apart from prose.

use grove_plan::{Check, CheckResult, Contract, NodeView, REJECTED, RunView};
use grove_spec::duration;
use grove_spec::text::{first_names, one_line};
use grove_store::{LoadedRun, SigningKey, StoreError};
use serde_json::{Value, json};

use super::{Runs, attestation};
use crate::args::LedgerArguments;
use crate::command_error::CommandError;
use crate::commands::Outcome;
use crate::output::Output;

/// How many lines of a failed command are printed, and how much of each.
const MOST_PRINTED: usize = 8;
const MOST_OF_LINE: usize = 300;

/// Prints the ledger of a run, or the key with which ledgers are signed.
pub(super) fn show(runs: &Runs, arguments: &LedgerArguments, out: &mut Output) -> Outcome {
    let Some(given) = &arguments.run else {
        let key = signing_key(runs)?;
        if arguments.json {
            out.json(&attestation::public_json(key));
        } else {
            out.line(&attestation::public_pem(key));
        }
        return Ok(0);
    };
    let id = runs.find(given)?;
    let loaded = match runs.store.load(&id) {
        Err(error) if arguments.verify => {
            return unreadable(runs, &id, &error, arguments.json, out);
        }
        loaded => loaded?,
    };
    let view = runs.view(&loaded);
    if arguments.attest {
        return attest(runs, &loaded, &view, out);
    }
    let faults = if arguments.verify {
        faults(runs, &loaded.id, &view.nodes)?
    } else {
        Vec::new()
    };
    if arguments.json {
        let mut ledger = ledger(&loaded, &view);
        ledger["verified"] = json!(arguments.verify.then_some(faults.is_empty()));
        ledger["faults"] = json!(faults);
        out.json(&ledger);
        return Ok(u8::from(!faults.is_empty()));
    }
    let accepted = |word: &str| match word {
        "none" => "nothing was required".to_owned(),
        word => word.to_owned(),
    };
    let word = match view.acceptance {
        REJECTED => String::new(),
        word => format!(", {}", accepted(word)),
    };
    out.line(&format!("run {} {}{word}", loaded.id, view.shown()));
    for node in &view.nodes {
        let why = node.rejected.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        let word = match &node.reviews {
            Some(author) => format!("reviewed {author}: {}", node.state),
            None => accepted(node.acceptance),
        };
        out.line(&format!("  {} {} {word}{why}", node.id, node.agent));
        let contract = contract(&loaded, node);
        let not_observed = contract.as_ref().and_then(|it| it.not_observed.as_ref());
        if let Some(engine) = not_observed {
            out.line(&format!(
                "    not observed: {engine} does not tell what it runs"
            ));
        }
        for check in contract.iter().flat_map(|contract| &contract.verify) {
            let result = node.checks.iter().find(|result| result.id == check.id);
            out.line(&format!("    {}", check_line(check, result)));
            let failed = result.filter(|result| !check.is_met_by(&result.end));
            for line in failed.map_or_else(Vec::new, |result| printed_lines(runs, result)) {
                out.line(&format!("      | {line}"));
            }
        }
        for (what, line) in node.remarks() {
            out.line(&format!("    {what}: {}", one_line(line)));
        }
    }
    for fault in &faults {
        out.line(&format!("CHANGED: {fault}"));
    }
    if arguments.verify && faults.is_empty() {
        out.line(if loaded.state.ended.is_some() {
            "nothing has changed since it was recorded and signed"
        } else {
            "nothing has changed since it was recorded; it will be signed when the run ends"
        });
    }
    Ok(u8::from(!faults.is_empty()))
}

/// A journal that was changed may say what cannot be: then it is said where it was changed.
fn unreadable(runs: &Runs, id: &str, error: &StoreError, json: bool, out: &mut Output) -> Outcome {
    let fault = runs.store.verify(id)?;
    let fault = fault.map_or_else(|| error.to_string(), |fault| fault.to_string());
    if json {
        out.json(&json!({
            "schema": "grove.ledger/1",
            "run": id,
            "verified": false,
            "faults": [fault],
        }));
    } else {
        out.line(&format!("CHANGED: {fault}"));
    }
    Ok(1)
}

/// Everything that was recorded, as data.
pub(super) fn ledger(loaded: &LoadedRun, view: &RunView) -> Value {
    let nodes: Vec<Value> = view
        .nodes
        .iter()
        .map(|node| {
            let contract = contract(loaded, node);
            json!({
                "node": node.id,
                "agent": node.agent,
                "state": node.state,
                "contract": contract,
                "contractDigest": contract.as_ref().map(Contract::digest),
                "checks": node.checks,
                "seen": node.seen,
                "review": node.review,
                "acceptance": node.acceptance,
                "rejected": node.rejected,
                "missing": node.missing,
                "patch": node.patch.as_ref().map(|patch| patch.digest),
            })
        })
        .collect();
    json!({
        "schema": "grove.ledger/1",
        "run": loaded.id,
        "head": loaded.head,
        "acceptance": view.acceptance,
        "nodes": nodes,
    })
}

fn contract(loaded: &LoadedRun, node: &NodeView) -> Option<Contract> {
    let child = loaded.plan.child(&node.id);
    child.and_then(|child| child.contract.clone())
}

/// Prints what a run came to for programs elsewhere. What was changed is not attested.
fn attest(runs: &Runs, loaded: &LoadedRun, view: &RunView, out: &mut Output) -> Outcome {
    if loaded.state.ended.is_none() {
        let message = format!("run {} is not over: there is nothing to attest", loaded.id);
        return Err(CommandError::finding(message).hint("`grove runs wait` waits for it"));
    }
    let faults = faults(runs, &loaded.id, &view.nodes)?;
    if !faults.is_empty() {
        let message = format!("run {} differs from what was recorded", loaded.id);
        return Err(CommandError::finding(message).hints(faults));
    }
    let key = signing_key(runs)?;
    let ledger = ledger(loaded, view);
    out.json(&attestation::envelope(
        runs,
        key,
        loaded,
        &view.nodes,
        &ledger,
    )?);
    Ok(0)
}

fn signing_key(runs: &Runs) -> Result<&SigningKey, CommandError> {
    let key = runs.store.key();
    key.ok_or_else(|| CommandError::finding("there is no key that signs ledgers"))
}

fn check_line(check: &Check, result: Option<&CheckResult>) -> String {
    match result {
        Some(result) => format!(
            "{} `{}` {} after {}, held: {}{}",
            check.id,
            check.line(),
            result.end,
            duration::in_words(result.milliseconds),
            result.sandbox,
            changed_by(result),
        ),
        None => format!("{} `{}` was not run", check.id, check.line()),
    }
}

/// The first lines of what a command printed, which begin with the files that it saw as they were before the child.
fn printed_lines(runs: &Runs, result: &CheckResult) -> Vec<String> {
    let stored = runs.store.artifact(&result.output).ok().flatten();
    let text = String::from_utf8_lossy(&stored.unwrap_or_default()).into_owned();
    let lines = text.lines().take(MOST_PRINTED).map(|line| {
        let line: String = line.chars().take(MOST_OF_LINE).collect();
        one_line(&line)
    });
    lines.collect()
}

/// What a command did to the work that it was to judge.
pub(super) fn changed_by(result: &CheckResult) -> String {
    match result.changed.as_slice() {
        [] => String::new(),
        files => format!(", changed the work: {}", one_line(&first_names(files))),
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
                    "the text {digest} of {} is missing or was changed",
                    node.id
                ));
            }
        }
    }
    Ok(faults)
}
