//! `grove catalog`: exactly what a model is told.

use std::collections::BTreeMap;

use grove_catalog::catalog::{
    self, BudgetUnit, Catalog, CatalogBudget, CatalogStyle, PlacedBy, TaskOrder, Treatment,
};
use grove_catalog::snapshot::Snapshot;
use grove_skills::Environment;
use grove_skills::disclosure::{CatalogOptions, ConversationCatalog, CountTokens, Disclosure};
use grove_skills::search::Searcher;
use grove_spec::Diagnostic;
use grove_spec::config::ConfiguredLimits;
use serde_json::{Value, json};

use super::skills_activate::explain;
use super::{
    DiscoveredLibrary, Outcome, absolute, catalog_explain, catalog_host, counted, discover,
    discover_in_session, naming, unread,
};
use crate::args::{CatalogArgs, StyleArg};
use crate::command_error::CommandError;
use crate::json::{DiagnosticJson, SnapshotJson};
use crate::output::CommandOutput;
use crate::tokens;

pub(super) fn run(
    environment: Environment,
    arguments: &CatalogArgs,
    discovered: &mut Option<DiscoveredLibrary>,
    out: &mut CommandOutput,
) -> Outcome {
    if let Some(host) = &arguments.discovery.host {
        let discovered = discovered.insert(discover(environment, &arguments.discovery)?);
        return catalog_host::run(discovered, host, arguments, out);
    }
    let session = arguments.session.as_deref();
    let (seen, session) = discover_in_session(environment, &arguments.discovery, session)?;
    let discovered = discovered.insert(seen);
    let budget = budget(arguments, &discovered.world.settings.settings.limits)?;
    let (task, findings) = order_for(discovered, arguments.task.as_deref());
    out.diagnostics(&findings);
    if task.as_ref().is_some_and(|task| !task.fits) {
        out.note("no skill fits the task well");
    }
    let asked = CatalogOptions {
        style: style(arguments.style),
        budget,
        index_dir: arguments
            .index_dir
            .as_deref()
            .map(|folder| absolute(folder, discovered.library.environment())),
        exact: exact(budget),
        exclude: Vec::new(),
        task,
    };
    let told = Disclosure::new(&discovered.discovery, session.as_deref())
        .catalog(&asked)
        .map_err(|error| explain(error, "catalog", "", &arguments.discovery))?;
    out.diagnostics(&told.diagnostics);
    let text = match &arguments.since {
        None => told.catalog.text.clone(),
        Some(digest) => told
            .since(digest, &asked, &discovered.discovery)
            .unwrap_or_else(|| {
                out.note(ConversationCatalog::NOT_ON_RECORD);
                told.catalog.text.clone()
            }),
    };
    if arguments.discovery.json {
        out.json(&to_json(&discovered.snapshot, &told.catalog, &text));
    } else if arguments.explain {
        catalog_explain::print(discovered, &told.catalog, out);
    } else {
        out.text(&text);
        note(discovered, &text, &told.catalog, out);
    }
    Ok(0)
}

fn style(style: StyleArg) -> CatalogStyle {
    match style {
        StyleArg::Xml => CatalogStyle::Xml,
        StyleArg::Markdown => CatalogStyle::Markdown,
        StyleArg::Json => CatalogStyle::Json,
        StyleArg::Names => CatalogStyle::Names,
    }
}

fn budget(
    arguments: &CatalogArgs,
    limits: &ConfiguredLimits,
) -> Result<CatalogBudget, CommandError> {
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
        return Ok(CatalogBudget::tokens(
            window.saturating_mul(thousandths) / 100_000,
            entries,
        ));
    }
    Ok(match (arguments.tokens, arguments.budget) {
        (true, tokens) => CatalogBudget::tokens(tokens.unwrap_or(chars / 4), entries),
        (false, size) => CatalogBudget::chars(size.unwrap_or(chars), entries),
    })
}

/// Returns the order of skills for a task, and the findings made on the way.
pub(super) fn order_for(
    discovered: &DiscoveredLibrary,
    task: Option<&str>,
) -> (Option<TaskOrder>, Vec<Diagnostic>) {
    let mut searcher = Searcher::default();
    let ordered = task.map(|task| searcher.order_for(&discovered.discovery, task));
    ordered.map_or_else(Default::default, |(order, findings)| {
        (Some(order), findings)
    })
}

fn exact(budget: CatalogBudget) -> Option<(usize, CountTokens)> {
    let tokens = budget.size / catalog::budget::BYTES_PER_TOKEN;
    let counts = tokens::EXACT && budget.unit == BudgetUnit::Bytes;
    counts.then_some((tokens, tokens::count as CountTokens))
}

/// Notes the cost of the text, what happened to skills that are not shown as they are, and which are not in it.
fn note(discovered: &DiscoveredLibrary, text: &str, catalog: &Catalog, out: &mut CommandOutput) {
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
        let command = naming::command_with_flags("grove skills check", &discovered.request);
        out.note(&format!(
            "grove: not offered: {}; `{command}` says why",
            list(&report.not_offered)
        ));
    }
    if catalog.entries.is_empty() {
        let findings = discovered.snapshot.diagnostics.iter();
        out.diagnostics(findings.filter(|finding| finding.needs_attention()));
    } else {
        unread::say_roots(&discovered.snapshot, discovered.library.environment(), out);
    }
}

fn to_json(snapshot: &Snapshot, catalog: &Catalog, text: &str) -> Value {
    let report = &catalog.report;
    let shown = |size: usize| report.budget.shown(size).0;
    let entry = |entry: &catalog::CatalogEntry| {
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
    let skill = |line: &catalog::SkillReport| {
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
