//! `grove runs ledger`: what was asked of the work, what was seen of it and the verdict, apart from prose.

use grove_engine::view::{CheckResult, REJECTED};
use grove_engine::words::{PROTECTED, check_facts, check_line};
use grove_engine::{CheckedLedger, Ledger, RunJournal, public_json, public_pem};
use grove_spec::text::one_line;
use serde_json::json;

use crate::args::LedgerArgs;
use crate::commands::Outcome;
use crate::output::CommandOutput;

/// The number of lines of a failed command that are printed, and the characters of each.
const MOST_PRINTED: usize = 8;
const MOST_OF_LINE: usize = 300;

pub(super) fn show(runs: &RunJournal, arguments: &LedgerArgs, out: &mut CommandOutput) -> Outcome {
    let Some(given) = &arguments.run else {
        let key = runs.ledger_key()?;
        if arguments.json {
            out.json(&public_json(key));
        } else {
            out.line(&public_pem(key));
        }
        return Ok(0);
    };
    if arguments.attest {
        out.json(&runs.attestation(given)?);
        return Ok(0);
    }
    let checked = if arguments.verify {
        runs.checked_ledger(given)?
    } else {
        let ledger = runs.ledger(given)?;
        CheckedLedger {
            run: ledger.view.id.clone(),
            ledger: Some(ledger),
            faults: Vec::new(),
        }
    };
    let (faults, code) = (&checked.faults, u8::from(!checked.faults.is_empty()));
    if arguments.json {
        let unreadable = || json!({ "schema": "grove.ledger/1", "run": checked.run });
        let mut ledger = checked
            .ledger
            .as_ref()
            .map_or_else(unreadable, Ledger::to_json);
        ledger["verified"] = json!(arguments.verify.then_some(faults.is_empty()));
        ledger["faults"] = json!(faults);
        out.json(&ledger);
        return Ok(code);
    }
    if let Some(ledger) = &checked.ledger {
        print(runs, ledger, out);
    }
    for fault in faults {
        out.line(&format!("CHANGED: {fault}"));
    }
    if let Some(ledger) = checked
        .ledger
        .as_ref()
        .filter(|_| arguments.verify && code == 0)
    {
        out.line(if ledger.is_over() {
            "nothing has changed since it was recorded and signed"
        } else {
            "nothing has changed since it was recorded; it will be signed when the run ends"
        });
    }
    Ok(code)
}

fn print(runs: &RunJournal, ledger: &Ledger, out: &mut CommandOutput) {
    let view = &ledger.view;
    let accepted = |word: &str| match word {
        "none" => "nothing was required".to_owned(),
        word => word.to_owned(),
    };
    let is_mixed = view
        .nodes
        .iter()
        .any(|node| node.acceptance != view.acceptance);
    let word = match view.acceptance {
        REJECTED => String::new(),
        // What each child's work counts as is in its own line.
        "none" if is_mixed => String::new(),
        word => format!(", {}", accepted(word)),
    };
    out.line(&format!("run {} {}{word}", view.id, view.shown()));
    for node in &view.nodes {
        let why = node.rejected.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {}", one_line(why)));
        let word = match &node.reviews {
            Some(author) => format!("reviewed {author}: {}", node.state),
            None => accepted(node.acceptance),
        };
        out.line(&format!("  {} {} {word}{why}", node.id, node.agent));
        let contract = ledger.contract(node);
        let not_observed = contract.as_ref().and_then(|it| it.not_observed.as_ref());
        if let Some(engine) = not_observed {
            out.line(&format!(
                "    not observed: {engine} does not tell what it runs"
            ));
        }
        for check in contract.iter().flat_map(|contract| &contract.verify) {
            let result = node.checks.iter().find(|result| result.id == check.id);
            out.line(&format!("    {}", check_line(check, result)));
            for line in result.map_or_else(Vec::new, check_facts) {
                out.line(&format!("      {line}"));
            }
            let failed = result.filter(|result| !check.is_met_by(&result.end));
            for line in failed.map_or_else(Vec::new, |result| printed_lines(runs, result)) {
                out.line(&format!("      | {line}"));
            }
            if failed.is_some_and(|result| !result.as_before.is_empty()) {
                out.line(&format!("      {PROTECTED}"));
            }
        }
        for (what, line) in node.remarks() {
            out.line(&format!("    {what}: {}", one_line(line)));
        }
    }
}

/// The first lines of what a command printed.
fn printed_lines(runs: &RunJournal, result: &CheckResult) -> Vec<String> {
    let text = runs.text(&result.output).unwrap_or_default();
    let lines = text.lines().take(MOST_PRINTED).map(|line| {
        let line: String = line.chars().take(MOST_OF_LINE).collect();
        one_line(&line)
    });
    lines.collect()
}
