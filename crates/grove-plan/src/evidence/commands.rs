//! The commands that a child says it ran, beside those that it was seen to run.

use super::{EvidenceRules, Facts, Finding, SeenCommand};
use crate::report::{CommandStatus, Report};

/// Commands that print or look and do not run the words after them.
const PRINTING: [&str; 10] = [
    "echo", "printf", "cat", "grep", "rg", "which", "type", "true", "false", ":",
];

/// Returns findings on commands that are said to have passed, but failed, were never run, or have no known end; and on
/// those whose end cannot be read from the report.
pub(super) fn commands_compared(
    report: &Report,
    facts: &Facts,
    rules: EvidenceRules,
) -> Vec<Finding> {
    let claimed = report.commands_run.iter().flatten();
    let findings = claimed.filter_map(|claim| match (claim.result, &facts.commands) {
        (CommandStatus::Unreadable, _) => Some(Finding::Missing(format!(
            "how `{}` ended cannot be read from the report: say passed, failed or not-run",
            claim.command
        ))),
        (CommandStatus::Passed, Some(seen)) => compared(&claim.command, seen, rules),
        _ => None,
    });
    findings.collect()
}

fn compared(claim: &str, seen: &[SeenCommand], rules: EvidenceRules) -> Option<Finding> {
    let said = format!("it says that `{claim}` passed");
    let wanted = match rules {
        EvidenceRules::First => vec![vec![squeezed(claim)]],
        EvidenceRules::Second => steps(line_of(claim)),
    };
    let last_runs: Option<Vec<&SeenCommand>> = wanted
        .iter()
        .map(|step| {
            let mut runs = seen.iter().rev();
            runs.find(|seen| match (rules, step.as_slice()) {
                (EvidenceRules::First, [claim]) => is_in_the_other(&squeezed(&seen.line), claim),
                _ => runs_step(&seen.line, step),
            })
        })
        .collect();
    let Some(last_runs) = last_runs.filter(|runs| !runs.is_empty()) else {
        return Some(Finding::Contradicted(format!("{said}; it never ran it")));
    };
    if last_runs.iter().any(|last| last.failed) {
        let text = format!("{said}; it failed when it last ran");
        return Some(Finding::Contradicted(text));
    }
    last_runs.iter().any(|last| last.end_unknown).then(|| {
        Finding::Missing(format!(
            "{said}; it went on by itself and its end was not seen: run it again and wait for it"
        ))
    })
}

/// Returns the line that a report gives for a command, without a prompt before it and a remark in parentheses after it.
fn line_of(claim: &str) -> &str {
    let claim = claim.trim().trim_matches('`').trim_start_matches("$ ");
    match claim.rfind(" (") {
        Some(at) if claim.ends_with(')') => claim.get(..at).unwrap_or(claim),
        _ => claim,
    }
}

/// A line with one blank between its words.
fn squeezed(line: &str) -> String {
    let words: Vec<&str> = line.trim().trim_matches('`').split_whitespace().collect();
    words.join(" ")
}

fn is_in_the_other(ran: &str, claim: &str) -> bool {
    ran.contains(claim) || claim.contains(ran)
}

/// Returns true if a line that ran has a step that was said, in a place where the step is run.
fn runs_step(line: &str, wanted: &[String]) -> bool {
    steps(line).iter().any(|step| {
        let is_printed = wanted.first() != step.first()
            && step
                .first()
                .is_some_and(|first| first.starts_with('#') || PRINTING.contains(&first.as_str()));
        !is_printed && step.windows(wanted.len()).any(|part| part == wanted)
    })
}

/// The words of each command of a line. What is in quotes is taken apart as well: both lines are taken apart alike.
fn steps(line: &str) -> Vec<Vec<String>> {
    let steps = line.split(['\n', ';', '|', '&', '(', ')']);
    let words = |step: &str| -> Vec<String> {
        let words = step.split_whitespace();
        let words = words.map(|word| word.trim_matches(['"', '\'', '`']).to_owned());
        words.filter(|word| !word.is_empty()).collect()
    };
    let steps = steps.map(words);
    steps
        .filter(|step: &Vec<String>| !step.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(line: &str, failed: bool, end_unknown: bool) -> SeenCommand {
        SeenCommand {
            line: line.to_owned(),
            failed,
            end_unknown,
        }
    }

    #[test]
    fn an_old_journal_is_judged_as_it_was() {
        for (claim, ran) in [
            ("cargo test", "echo cargo test"),
            ("cargo test --workspace", "cargo test"),
        ] {
            let ran = [seen(ran, false, false)];
            assert_eq!(compared(claim, &ran, EvidenceRules::First), None);
            assert!(compared(claim, &ran, EvidenceRules::Second).is_some());
        }
        let old: super::super::Seen = serde_json::from_str("{}").unwrap();
        assert_eq!(old.rules, EvidenceRules::First);
        assert_eq!(super::super::Seen::default().rules, EvidenceRules::Second);
    }

    #[test]
    fn a_command_counts_as_passed_when_it_was_run_and_its_last_end_was_seen_to_be_good() {
        let (fine, failed, unknown) = (None, Some(true), Some(false));
        for (claim, ran, expected) in [
            ("cargo test", "cargo test", fine),
            (
                "cargo  test",
                "cd x && RUST_LOG=1 timeout 60 cargo test 2>&1 | tail -3",
                fine,
            ),
            ("`cargo test`", "sh -c 'cargo test'", fine),
            ("$ cargo test", "(cd x; cargo test)", fine),
            ("cargo test (3 passed)", "cargo test", fine),
            ("cd x && cargo test", "cd x && cargo test", fine),
            ("echo done", "echo done", fine),
            ("cargo test", "", failed),
            ("cargo test", "echo cargo test", failed),
            ("cargo test", "# cargo test", failed),
            ("cargo test", "true cargo test", failed),
            ("cargo test", "cargo testing", failed),
            ("cargo test", "ls", failed),
            ("cargo test && cargo clippy", "cargo test", failed),
            ("cargo test --workspace", "cargo test", failed),
            ("", "cargo test", failed),
        ] {
            let is_contradiction =
                compared(claim, &[seen(ran, false, false)], EvidenceRules::Second);
            let is_contradiction = is_contradiction.map(|finding| finding.is_contradiction());
            assert_eq!(is_contradiction, expected, "{claim}: {ran}");
        }
        let once = |failed, unknown| vec![seen("make", failed, unknown)];
        for (ran, expected) in [
            (vec![], failed),
            (once(true, false), failed),
            (once(false, true), unknown),
            ([once(true, false), once(false, false)].concat(), fine),
            ([once(false, false), once(true, false)].concat(), failed),
            ([once(false, false), once(false, true)].concat(), unknown),
        ] {
            let found = compared("make", &ran, EvidenceRules::Second)
                .map(|finding| finding.is_contradiction());
            assert_eq!(found, expected, "{ran:?}");
        }
    }
}
