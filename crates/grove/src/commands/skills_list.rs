//! `grove skills list`.

use grove_catalog::State;
use grove_catalog::snapshot::Skill;
use serde_json::json;

use super::{Looked, counted, entry_listing, unread};
use crate::command_error::CommandError;
use crate::json::{DiagnosticJson, EntryJson, SnapshotJson};
use crate::output::Output;

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
    let skills: Vec<&Skill> = snapshot.skills.iter().filter(wanted).collect();
    if json {
        let skills = skills.iter();
        let skills = skills.map(|skill| EntryJson::new(snapshot.entries(), skill));
        out.json(&json!({
            "schema": "grove.skills.list/1",
            "snapshot": SnapshotJson::new(snapshot),
            "skills": skills.collect::<Vec<_>>(),
            "diagnostics": DiagnosticJson::list(&snapshot.diagnostics),
        }));
        return 0;
    }
    if skills.is_empty() {
        if snapshot.skills.is_empty() {
            out.note("no skills found");
        } else {
            let states = states.iter().map(|word| word.to_ascii_lowercase());
            let states: Vec<String> = states.collect();
            out.note(&format!("no skill is {}", states.join(" or ")));
        }
        let findings = snapshot.diagnostics.iter();
        out.diagnostics(findings.filter(|finding| finding.needs_attention()));
        if snapshot.skills.is_empty() {
            out.note("hint: `grove skills roots` shows where Grove looks");
        }
        return 0;
    }
    let environment = looked.library.environment();
    entry_listing::table(snapshot.entries(), skills, environment, out);
    unread::say(snapshot, out);
    let findings = super::skills_check::count_findings(snapshot);
    if findings > 0 {
        let findings = counted(findings, "finding");
        out.note(&format!("{findings}: run `grove skills check`"));
    }
    0
}
