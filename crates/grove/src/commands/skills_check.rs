//! `grove skills check`: what needs attention.

use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::state::State;
use grove_spec::Diagnostic;
use serde_json::json;

use super::{Looked, counted, need_attention};
use crate::command_error::ErrorKind;
use crate::json::{DiagnosticJson, EntryJson, SnapshotJson, count_states};
use crate::output::Output;

pub(super) fn run(looked: &Looked, json: bool, out: &mut Output) -> u8 {
    let snapshot = &looked.snapshot;
    let twins = looked.sources.skills.all_twins(snapshot);
    let findings = count_findings(snapshot) + twins.len();
    let of_snapshot: Vec<Diagnostic> = snapshot.diagnostics.iter().cloned().chain(twins).collect();
    let code = ErrorKind::Finding.exit_code_if(findings > 0);
    if json {
        out.json(&json!({
            "schema": "grove.skills.check/1",
            "snapshot": SnapshotJson::new(snapshot),
            "states": count_states(snapshot.skills.iter()),
            "findings": findings,
            "skills": EntryJson::list(snapshot.entries()),
            "diagnostics": DiagnosticJson::list(&of_snapshot),
        }));
        return code;
    }
    for finding in of_snapshot
        .iter()
        .filter(|finding| finding.needs_attention())
    {
        out.finding(finding, None);
    }
    for skill in &snapshot.skills {
        print_findings(looked, skill, out);
    }
    let unused = print_unusable(snapshot, out);
    let states: Vec<String> = count_states(snapshot.skills.iter())
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    out.line(&format!(
        "{}: {}",
        counted(snapshot.skills.len(), "skill"),
        if states.is_empty() {
            "nothing found".to_owned()
        } else {
            states.join(", ")
        }
    ));
    out.line(&match (findings, unused) {
        (0, 0) => "nothing needs attention".to_owned(),
        (0, 1) => "no findings; 1 skill is not used for the reason above".to_owned(),
        (0, _) => format!("no findings; {unused} skills are not used for the reasons above"),
        _ => need_attention(findings),
    });
    code
}

/// How many findings of a snapshot need attention; the exit code of `check` is made of it.
pub(super) fn count_findings(snapshot: &Snapshot) -> usize {
    let of_skills = snapshot.skills.iter().flat_map(Skill::all_diagnostics);
    snapshot
        .diagnostics
        .iter()
        .chain(of_skills)
        .filter(|finding| finding.needs_attention())
        .count()
}

fn print_findings(looked: &Looked, skill: &Skill, out: &mut Output) {
    let snapshot = &looked.snapshot;
    let mut source = None;
    let all = skill.all_diagnostics();
    for finding in all.filter(|finding| finding.needs_attention()) {
        let location = snapshot.location(&skill.place);
        let source = source.get_or_insert_with(|| looked.sources.skills.read_text(skill));
        out.finding(&finding.clone().in_file(&location), source.as_deref());
    }
}

/// Skills that somebody may be missing, with what would make them usable, and how many they are.
fn print_unusable(snapshot: &Snapshot, out: &mut Output) -> usize {
    let mut count = 0;
    for skill in snapshot.skills.iter().filter(|skill| {
        matches!(
            skill.state,
            State::Ineligible | State::Untrusted | State::Changed
        )
    }) {
        for reason in &skill.reasons {
            out.line(&format!(
                "{} {}: {}; {}",
                skill.state.as_str(),
                snapshot.address(skill),
                reason.message,
                reason.fix
            ));
        }
        count += usize::from(!skill.reasons.is_empty());
    }
    if count > 0 {
        out.line("");
    }
    count
}
