//! `grove skills list`.

use grove_catalog::State;
use grove_catalog::snapshot::Skill;
use grove_spec::Severity;
use serde::Serialize;

use super::{Looked, counted};
use crate::command_error::CommandError;
use crate::json::{DiagnosticJson, EntryJson, SnapshotJson};
use crate::output::{Output, columns};
use crate::table::Table;

#[derive(Serialize)]
struct ListJson<'a> {
    schema: &'static str,
    snapshot: SnapshotJson,
    skills: Vec<EntryJson<'a>>,
    diagnostics: Vec<DiagnosticJson<'a>>,
}

/// Refuses words that are no states.
pub(super) fn require_known(states: &[String]) -> Result<(), CommandError> {
    let known = |word: &str| State::ALL.iter().any(|state| is(*state, word));
    let Some(unknown) = states.iter().find(|word| !known(word)) else {
        return Ok(());
    };
    let all: Vec<&str> = State::ALL.iter().map(|state| state.as_str()).collect();
    Err(CommandError::usage(format!("unknown state `{unknown}`"))
        .hint(format!("states: {}", all.join(", "))))
}

/// Whether a word names a state, in any case.
fn is(state: State, word: &str) -> bool {
    state.as_str().eq_ignore_ascii_case(word)
}

pub(super) fn run(looked: &Looked, json: bool, states: &[String], out: &mut Output) -> u8 {
    let snapshot = &looked.snapshot;
    let wanted =
        |skill: &&Skill| states.is_empty() || states.iter().any(|word| is(skill.state, word));
    if json {
        let skills = snapshot
            .skills
            .iter()
            .filter(wanted)
            .map(|skill| EntryJson::new(snapshot.entries(), skill))
            .collect();
        out.json(&ListJson {
            schema: "grove.skills.list/1",
            snapshot: SnapshotJson::new(snapshot),
            skills,
            diagnostics: DiagnosticJson::list(&snapshot.diagnostics),
        });
        return 0;
    }
    let mut skills: Vec<&Skill> = snapshot.skills.iter().filter(wanted).collect();
    if skills.is_empty() {
        if snapshot.skills.is_empty() {
            out.note("no skills found");
        } else {
            let states: Vec<String> = states
                .iter()
                .map(|word| word.to_ascii_lowercase())
                .collect();
            out.note(&format!("no skill is {}", states.join(" or ")));
        }
        let warnings = snapshot
            .diagnostics
            .iter()
            .filter(|finding| finding.severity != Severity::Info);
        warnings.for_each(|finding| out.diagnostic(finding));
        if snapshot.skills.is_empty() {
            out.note("hint: `grove skills roots` shows where Grove looks");
        }
        return 0;
    }
    skills.sort_by(|a, b| {
        a.name()
            .cmp(b.name())
            .then(a.place.root.cmp(&b.place.root))
            .then(a.id().cmp(b.id()))
    });
    let mut table = Table::new(&["NAME", "STATE", "ROOT", "DESCRIPTION"]);
    for skill in &skills {
        let why = skill
            .reasons
            .first()
            .map(|reason| format!("({}) ", reason.message))
            .unwrap_or_default();
        let about = format!("{why}{}", skill.description().unwrap_or(""));
        let root = snapshot
            .root_of(skill)
            .map_or("", |root| root.label.as_str());
        table.row(&[skill.name(), skill.state.as_str(), root, &about]);
    }
    out.text(&table.render(columns(&looked.library.environment().variables)));
    let usable = skills
        .iter()
        .filter(|skill| skill.state.is_listed())
        .count();
    out.note(&format!(
        "{} listed, {usable} usable",
        counted(skills.len(), "skill")
    ));
    let findings = super::skills_check::count_findings(snapshot);
    if findings > 0 {
        out.note(&format!(
            "{}: run `grove skills check`",
            counted(findings, "finding")
        ));
    }
    0
}
