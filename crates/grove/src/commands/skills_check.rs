//! `grove skills check`: what needs attention.

use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::state::State;
use grove_spec::{Code, Diagnostic, Severity};
use serde_json::json;

use super::{Looked, Outcome, counted, naming, need_attention};
use crate::args::FindingFilter;
use crate::command_error::{CommandError, ErrorKind};
use crate::json::{DiagnosticJson, EntryJson, SnapshotJson, count_states};
use crate::output::Output;

/// Findings of one kind that are all shown; of more there is an example.
const ALL_SHOWN: usize = 3;

pub(super) fn run(looked: &Looked, only: &FindingFilter, json: bool, out: &mut Output) -> Outcome {
    let wanted = Wanted::new(only)?;
    let snapshot = &looked.snapshot;
    let twins = looked.sources.skills.all_twins(snapshot);
    let of_snapshot: Vec<Diagnostic> = snapshot.diagnostics.iter().cloned().chain(twins).collect();
    if json {
        let findings = count_findings(snapshot) + of_snapshot.len() - snapshot.diagnostics.len();
        out.json(&json!({
            "schema": "grove.skills.check/1",
            "snapshot": SnapshotJson::new(snapshot),
            "states": count_states(snapshot.skills.iter()),
            "findings": findings,
            "skills": EntryJson::list(snapshot.entries()),
            "diagnostics": DiagnosticJson::list(&of_snapshot),
        }));
        return Ok(ErrorKind::Finding.exit_code_if(findings > 0));
    }
    let of_snapshot = of_snapshot.iter().map(|finding| (finding, None));
    let of_skills = snapshot.skills.iter();
    let of_skills =
        of_skills.flat_map(|skill| skill.all_diagnostics().map(move |it| (it, Some(skill))));
    let mut found: Vec<(&Diagnostic, Option<&Skill>)> = of_snapshot.chain(of_skills).collect();
    found.retain(|(finding, skill)| wanted.takes(snapshot, finding, *skill));
    let findings = found.len();
    if only.github {
        for (finding, skill) in found {
            let location = skill.map(|skill| snapshot.location(&skill.place));
            let finding = finding.clone();
            let finding = match location {
                Some(location) => finding.in_file(&location),
                None => finding,
            };
            out.annotation(&finding, &looked.library.environment().working);
        }
        return Ok(ErrorKind::Finding.exit_code_if(findings > 0));
    }
    print_by_kind(looked, found, wanted.is_everything(), out);
    let code = ErrorKind::Finding.exit_code_if(findings > 0);
    if !wanted.is_everything() {
        out.line(&counted(findings, "finding"));
        return Ok(code);
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
    Ok(code)
}

/// Which findings are wanted, as far as they were told.
struct Wanted<'a> {
    only: &'a FindingFilter,
    severity: Option<Severity>,
}

impl<'a> Wanted<'a> {
    fn new(only: &'a FindingFilter) -> Result<Self, CommandError> {
        let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let is_known = |code: &&String| codes.contains(&code.as_str());
        if let Some(unknown) = only.codes.iter().find(|code| !is_known(code)) {
            return Err(naming::unknown_word("code", unknown, &codes)
                .hint("see docs/reference/diagnostics.md"));
        }
        let severities = [Severity::Error, Severity::Warning, Severity::Info];
        let severity = match &only.severity {
            None => None,
            Some(word) => {
                let mut all = severities.into_iter();
                let words = severities.map(Severity::as_str);
                let found = all.find(|severity| severity.as_str() == word);
                Some(found.ok_or_else(|| {
                    naming::unknown_word("severity", word, &words)
                        .hint(format!("severities: {}", words.join(", ")))
                })?)
            }
        };
        Ok(Self { only, severity })
    }

    fn is_everything(&self) -> bool {
        let FindingFilter {
            codes, name, label, ..
        } = self.only;
        codes.is_empty() && name.is_none() && label.is_none() && self.severity.is_none()
    }

    fn takes(&self, snapshot: &Snapshot, finding: &Diagnostic, skill: Option<&Skill>) -> bool {
        let FindingFilter {
            codes, name, label, ..
        } = self.only;
        let weighs = match self.severity {
            Some(severity) => finding.severity == severity,
            // A kind that was asked for is wanted whatever it weighs.
            None => finding.needs_attention() || !codes.is_empty(),
        };
        let is_name = |name: &String| {
            skill.is_some_and(|skill| {
                [skill.name(), skill.id()].contains(&name.as_str())
                    || snapshot.address(skill) == *name
            })
        };
        let is_label = |label: &String| {
            let root = skill.and_then(|skill| snapshot.root_of(skill));
            root.is_some_and(|root| root.label == *label)
        };
        weighs
            && (codes.is_empty() || codes.iter().any(|code| code == finding.code.as_str()))
            && name.as_ref().is_none_or(is_name)
            && label.as_ref().is_none_or(is_label)
    }
}

/// Findings with those of one kind together, the most serious kinds first. Of many of a kind there is one example, the
/// number, and the way to see all.
fn print_by_kind(
    looked: &Looked,
    mut found: Vec<(&Diagnostic, Option<&Skill>)>,
    is_short: bool,
    out: &mut Output,
) {
    // Stable: within a kind they stay in the order of skills.
    found.sort_by_key(|(finding, _)| (finding.severity, finding.code.as_str()));
    let same = |a: &(&Diagnostic, _), b: &(&Diagnostic, _)| {
        (a.0.severity, a.0.code) == (b.0.severity, b.0.code)
    };
    for kind in found.chunk_by(same) {
        let n_shown = if is_short && kind.len() > ALL_SHOWN {
            1
        } else {
            kind.len()
        };
        for (finding, skill) in kind.iter().take(n_shown) {
            let Some(skill) = skill else {
                out.finding(finding, None);
                continue;
            };
            let location = looked.snapshot.location(&skill.place);
            let source = looked.sources.skills.read_text(skill);
            out.finding(&(*finding).clone().in_file(&location), source.as_deref());
        }
        if let Some((finding, _)) = kind.get(n_shown) {
            let (more, code) = (kind.len() - n_shown, finding.code.as_str());
            out.line(&format!(
                "{more} more of `{code}`; add `--code {code}` to see all {}",
                kind.len()
            ));
            out.line("");
        }
    }
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
