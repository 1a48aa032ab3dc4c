//! `grove catalog`: exactly what a model is told.

use std::collections::BTreeMap;

use grove_catalog::catalog::{self, Budget, Catalog, PlacedBy, Style, TaskOrder, Treatment, Unit};
use grove_catalog::snapshot::Snapshot;
use grove_skills::Environment;
use grove_skills::disclosure::{CatalogOptions, ConversationCatalog, CountTokens, Disclosure};
use grove_skills::search::Searcher;
use grove_spec::config::Limits;
use serde_json::{Value, json};

use super::skills_activate::explain;
use super::{
    Looked, Outcome, absolute, catalog_explain, catalog_host, counted, look, look_in_session,
    naming, unread,
};
use crate::args::{CatalogArgs, StyleArg};
use crate::command_error::CommandError;
use crate::json::{DiagnosticJson, SnapshotJson};
use crate::output::Output;
use crate::tokens;

pub(super) fn run(
    environment: Environment,
    arguments: &CatalogArgs,
    looked: &mut Option<Looked>,
    out: &mut Output,
) -> Outcome {
    if let Some(host) = &arguments.look.host {
        let looked = looked.insert(look(environment, &arguments.look)?);
        return catalog_host::run(looked, host, arguments, out);
    }
    let session = arguments.session.as_deref();
    let (seen, session) = look_in_session(environment, &arguments.look, session)?;
    let looked = looked.insert(seen);
    let budget = budget(arguments, &looked.world.settings.settings.limits)?;
    let asked = CatalogOptions {
        style: style(arguments.style),
        budget,
        index_dir: arguments
            .index_dir
            .as_deref()
            .map(|folder| absolute(folder, looked.library.environment())),
        exact: exact(budget),
        exclude: Vec::new(),
        task: order_for(looked, arguments.task.as_deref()),
    };
    let told = Disclosure::new(&looked.look, session.as_deref())
        .catalog(&asked)
        .map_err(|error| explain(error, "catalog", "", &arguments.look))?;
    out.diagnostics(&told.diagnostics);
    let text = match &arguments.since {
        None => told.catalog.text.clone(),
        Some(digest) => told.since(digest, &asked, &looked.look).unwrap_or_else(|| {
            out.note(ConversationCatalog::NOT_ON_RECORD);
            told.catalog.text.clone()
        }),
    };
    if arguments.look.json {
        out.json(&to_json(&looked.snapshot, &told.catalog, &text));
    } else if arguments.explain {
        catalog_explain::print(looked, &told.catalog, out);
    } else {
        out.text(&text);
        note(looked, &text, &told.catalog, out);
    }
    Ok(0)
}

fn style(style: StyleArg) -> Style {
    match style {
        StyleArg::Xml => Style::Xml,
        StyleArg::Markdown => Style::Markdown,
        StyleArg::Json => Style::Json,
        StyleArg::Names => Style::Names,
    }
}

fn budget(arguments: &CatalogArgs, limits: &Limits) -> Result<Budget, CommandError> {
    let entries = arguments.max_skills;
    let entries = entries.unwrap_or(limits.prompt_skills.count());
    let chars = limits.prompt_chars.count();
    if let Some(window) = arguments.window {
        if !(arguments.share > 0.0 && arguments.share <= 100.0) {
            return Err(CommandError::usage(
                "`--share` must be a percentage above 0 and at most 100",
            ));
        }
        // Thousandths of a percent are exact enough, and integers give the same number everywhere.
        #[expect(clippy::cast_sign_loss, reason = "it was checked to be positive")]
        let thousandths = (arguments.share * 1_000.0).round() as usize;
        return Ok(Budget::tokens(
            window.saturating_mul(thousandths) / 100_000,
            entries,
        ));
    }
    Ok(match (arguments.tokens, arguments.budget) {
        (true, tokens) => Budget::tokens(tokens.unwrap_or(chars / 4), entries),
        (false, size) => Budget::chars(size.unwrap_or(chars), entries),
    })
}

/// Returns the order of skills for a task.
pub(super) fn order_for(looked: &Looked, task: Option<&str>) -> Option<TaskOrder> {
    let mut searcher = Searcher::default();
    task.map(|task| searcher.order_for(&looked.look, task))
}

/// A budget in tokens is counted exactly where that can be done.
fn exact(budget: Budget) -> Option<(usize, CountTokens)> {
    let tokens = budget.size / catalog::budget::BYTES_PER_TOKEN;
    let counts = tokens::EXACT && budget.unit == Unit::Bytes;
    counts.then_some((tokens, tokens::count as CountTokens))
}

/// Notes the cost of the text, what happened to skills that are not shown as they are, and which are not in it.
fn note(looked: &Looked, text: &str, catalog: &Catalog, out: &mut Output) {
    let report = &catalog.report;
    if !text.is_empty() {
        out.note(&super::cost_note(text));
    }
    let list = |parts: &[(&str, usize)]| {
        let shown: Vec<String> = parts.iter().map(|(why, n)| format!("{n} {why}")).collect();
        shown.join(", ")
    };
    if !report.is_whole() {
        let treated = Treatment::ALL.map(|treatment| (treatment.as_str(), report.count(treatment)));
        let treated: Vec<(&str, usize)> = treated.into_iter().filter(|(_, n)| *n > 0).collect();
        out.note(&format!(
            "grove: {}: {}; `grove catalog --explain` says why",
            counted(report.lines.len(), "skill"),
            list(&treated)
        ));
    }
    if !report.not_offered.is_empty() {
        let command = naming::looking_alike("grove skills check", &looked.request);
        out.note(&format!(
            "grove: not offered: {}; `{command}` says why",
            list(&report.not_offered)
        ));
    }
    if catalog.entries.is_empty() {
        let findings = looked.snapshot.diagnostics.iter();
        out.diagnostics(findings.filter(|finding| finding.needs_attention()));
    } else {
        unread::say_roots(&looked.snapshot, looked.library.environment(), out);
    }
}

fn to_json(snapshot: &Snapshot, catalog: &Catalog, text: &str) -> Value {
    let report = &catalog.report;
    let shown = |size: usize| report.budget.shown(size).0;
    let entry = |entry: &catalog::Entry| {
        json!({
            "kind": entry.kind.as_str(),
            "key": entry.key,
            "name": entry.name,
            "description": entry.description,
            "location": entry.location,
            "skills": entry.skills,
            "placedBy": entry.placed_by.as_str(),
            "rank": match entry.placed_by {
                PlacedBy::Task(rank) => Some(rank),
                PlacedBy::Pin | PlacedBy::Use | PlacedBy::Near | PlacedBy::Usual => None,
            },
            "cost": shown(entry.cost),
        })
    };
    let skill = |line: &catalog::Line| {
        let skill = snapshot.skills.get(line.skill)?;
        Some(json!({
            "address": snapshot.address(skill),
            "name": skill.name(),
            "treatment": line.treatment.as_str(),
            "why": line.treatment.why(),
            "entry": line.entry,
        }))
    };
    let counts = Treatment::ALL.map(|treatment| (treatment.as_str(), report.count(treatment)));
    let not_offered: BTreeMap<_, _> = report.not_offered.iter().copied().collect();
    let (chars, tokens) = super::cost(text);
    json!({
        "schema": "grove.catalog/1",
        "snapshot": SnapshotJson::new(snapshot),
        "digest": catalog.digest.to_string(),
        "text": text,
        "chars": chars,
        "tokens": tokens,
        "entries": catalog.entries.iter().map(entry).collect::<Vec<_>>(),
        "report": {
            "budget": shown(report.budget.size),
            "unit": report.budget.shown(0).1,
            "maxEntries": report.budget.entries,
            "used": shown(report.used),
            "frame": shown(report.frame),
            "needed": shown(report.needed),
            "neededEntries": report.needed_entries,
            "counts": BTreeMap::from(counts),
            "notOffered": not_offered,
            "skills": report.lines.iter().filter_map(skill).collect::<Vec<_>>(),
            "advice": report.advice,
        },
        "diagnostics": DiagnosticJson::list(&snapshot.diagnostics),
    })
}
