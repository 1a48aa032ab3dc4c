//! `grove` alone: where you are, what there is, what it costs, what to do next.

use grove_catalog::catalog::{self, Budget, Catalog, Request, Style};
use grove_catalog::report;
use grove_catalog::snapshot::Snapshot;
use grove_catalog::state::State;
use grove_spec::config::Limits;
use serde_json::json;

use super::{Looked, counted, need_attention, tilde};
use crate::json::{DiagnosticJson, SnapshotJson, count_sources};
use crate::output::Output;

pub(super) fn run(looked: &Looked, json: bool, out: &mut Output) -> u8 {
    let (snapshot, environment) = (&looked.snapshot, looked.library.environment());
    let limits = looked.world.settings.settings.limits.clone();
    let told = told(looked, &limits);
    let findings = super::skills_check::count_findings(snapshot);
    if json {
        out.json(&json!({
            "schema": "grove.overview/1",
            "snapshot": SnapshotJson::new(snapshot),
            "folder": environment.working.to_string_lossy(),
            "skills": count_sources(snapshot),
            "catalog": { "skills": told.report.lines.len(), "entries": told.entries.len(), "chars": told.chars(), "tokens": told.tokens(), "maxSkills": limits.prompt_skills.value, "maxChars": limits.prompt_chars.value },
            "findings": findings,
            "nextSteps": next_steps(snapshot, findings),
            "diagnostics": DiagnosticJson::list(&snapshot.diagnostics),
        }));
        return 0;
    }
    out.line(&format!(
        "Grove in {}",
        tilde(&environment.working, environment)
    ));
    out.line("");
    print_sources(snapshot, out);
    out.line("");
    out.line(&format!(
        "A model would be told of {}: {} characters, about {} tokens.",
        counted(told.report.lines.len(), "skill"),
        grouped(told.chars()),
        grouped(told.tokens())
    ));
    if !told.report.is_whole() {
        out.line(&format!(
            "They do not all fit into {} entries and {} characters: `grove catalog --explain` says what is shortened.",
            grouped_u64(limits.prompt_skills.value),
            grouped_u64(limits.prompt_chars.value)
        ));
    }
    out.line("");
    for step in next_steps(snapshot, findings) {
        out.line(&format!("  {step}"));
    }
    0
}

/// The catalog as it is without pins and usage, which do not change what it costs by much.
fn told(looked: &Looked, limits: &Limits) -> Catalog {
    let environment = looked.library.environment();
    let index_dir = grove_skills::catalog_files::index_dir(environment).unwrap_or_default();
    let request = Request {
        style: Style::Xml,
        budget: Budget::chars(limits.prompt_chars.count(), limits.prompt_skills.count()),
        home: environment.home.as_deref(),
        index_dir: &index_dir,
        pinned: &[],
        usage: &std::collections::BTreeMap::new(),
        expanded: &[],
        exclude: &[],
    };
    catalog::catalog(&looked.snapshot, &request)
}

/// Skills counted by source and state.
pub(super) fn print_sources(snapshot: &Snapshot, out: &mut Output) {
    let usable = snapshot
        .skills
        .iter()
        .filter(|skill| skill.state.is_listed())
        .count();
    out.line(&format!(
        "{} found, {usable} usable",
        counted(snapshot.skills.len(), "skill")
    ));
    for (source, states) in report::count_sources(snapshot.entries()) {
        let total: usize = states.values().sum();
        let words = State::ALL.into_iter().map(State::as_str);
        let shown: Vec<String> = words
            .filter_map(|state| Some(format!("{} {state}", states.get(state)?)))
            .collect();
        out.line(&format!(
            "  {:<8} {total:>6}  {}",
            source.as_str(),
            shown.join(", ")
        ));
    }
}

fn next_steps(snapshot: &Snapshot, findings: usize) -> Vec<String> {
    let has = |state: State| snapshot.skills.iter().any(|skill| skill.state == state);
    let mut steps = Vec::new();
    if snapshot.skills.is_empty() {
        steps.push("grove skills roots        where skills are looked for".to_owned());
    } else {
        steps.push("grove skills list         every skill with its state".to_owned());
        steps.push("grove catalog             what a model is told".to_owned());
    }
    if findings > 0 {
        steps.push(format!(
            "grove skills check        {}",
            need_attention(findings)
        ));
    }
    if has(State::Untrusted) {
        steps.push(
            "grove trust               use this project's skills, once you have looked at them"
                .to_owned(),
        );
    }
    if has(State::Changed) {
        steps.push("grove trust               accept what changed in this project, once you have looked at it".to_owned());
    }
    steps
}

pub(super) fn grouped(number: usize) -> String {
    grouped_u64(number as u64)
}

fn grouped_u64(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
