//! `grove` alone: where you are, what each host on this machine shows of it, what needs attention, what to do next.

use grove_catalog::report;
use grove_catalog::snapshot::Snapshot;
use grove_catalog::state::EntryState;
use grove_skills::Environment;
use grove_spec::text::grouped;
use serde_json::{Value, json};

use super::{DiscoveredLibrary, counted, naming, tilde, unread};
use crate::json::{DiagnosticJson, SnapshotJson, count_sources};
use crate::output::{CommandOutput, columns};
use crate::table::Table;
use grove_skills::host_views::{self, HostView};

pub(super) fn run(discovered: &DiscoveredLibrary, json: bool, out: &mut CommandOutput) -> u8 {
    let (snapshot, environment) = (&discovered.snapshot, discovered.library.environment());
    let views = host_views::all(discovered, None, crate::tokens::count);
    let attention = attention(snapshot, &views);
    if json {
        let limits = &discovered.world.settings.settings.limits;
        out.json(&json!({
            "schema": "grove.overview/2",
            "snapshot": SnapshotJson::new(snapshot),
            "folder": environment.working.to_string_lossy(),
            "skills": count_sources(snapshot),
            "hosts": views.iter().map(|view| to_json(view, environment)).collect::<Vec<_>>(),
            "maxSkills": limits.prompt_skills.value,
            "maxChars": limits.prompt_chars.value,
            "notRead": unread::count(snapshot),
            "findings": grove_skills::host_views::count_findings(snapshot),
            "attention": attention.iter().map(|one| json!({ "message": one.message, "command": one.command })).collect::<Vec<_>>(),
            "nextSteps": next_steps(snapshot),
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
    unread::say(snapshot, environment, out);
    out.line("");
    // It stands among sentences, so it has its headings in a pipe too; programs read the JSON.
    out.painted(&table(&views).render(columns(&environment.variables)));
    for sentence in host_views::not_followed(&views, environment) {
        out.line(&sentence);
    }
    if !attention.is_empty() {
        out.line("");
        out.line("Needs attention:");
        for one in &attention {
            out.line(&format!("  {}: `{}`", one.message, one.command));
        }
    }
    out.line("");
    for step in next_steps(snapshot) {
        out.line(&format!("  {step}"));
    }
    0
}

fn to_json(view: &HostView, environment: &Environment) -> Value {
    let mut row = json!(view.counts());
    if let Some(row) = row.as_object_mut() {
        row.insert("name".to_owned(), json!(view.name));
        row.insert("title".to_owned(), json!(view.title));
        let paths = view.not_followed(environment);
        if !paths.is_empty() {
            row.insert("notFollowed".to_owned(), json!(paths));
        }
    }
    row
}

fn table(views: &[HostView]) -> Table {
    let mut table = Table::new(&[
        "SHOWN BY",
        "SKILLS",
        "WHOLE",
        "CUT",
        "NAME ONLY",
        "NOT SHOWN",
        "TOKENS",
        "AGENTS",
        "PROBLEMS",
    ])
    .with_numbers(1..9);
    for view in views {
        let row = view.counts();
        let agents = row.agents.map_or_else(|| "?".to_owned(), grouped);
        let numbers = [
            row.skills,
            row.whole,
            row.shortened,
            row.name_only,
            row.not_shown,
            row.tokens,
        ];
        let mut cells = vec![view.title.clone()];
        cells.extend(numbers.map(grouped));
        cells.extend([agents, grouped(row.problems)]);
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        table.row(&cells);
    }
    table
}

/// Something to look at, and the command that shows or mends it.
struct AttentionItem {
    message: String,
    command: String,
}

/// Returns what needs attention, most serious first: what is not used at all, what is wrong, what a host does not show.
fn attention(snapshot: &Snapshot, views: &[HostView]) -> Vec<AttentionItem> {
    let mut all = Vec::new();
    let mut add = |message: String, command: String| all.push(AttentionItem { message, command });
    let count = |state: EntryState| {
        snapshot
            .skills
            .iter()
            .filter(|it| it.state == state)
            .count()
    };
    for (state, what) in [
        (
            EntryState::Changed,
            "changed since this project was trusted",
        ),
        (EntryState::Untrusted, "in a project that is not trusted"),
    ] {
        if let n @ 1.. = count(state) {
            add(format!("{} {what}", is_or_are(n)), "grove trust".to_owned());
        }
    }
    for view in views {
        if let n @ 1.. = view.counts().problems {
            let message = format!("{}: {}", view.title, counted(n, "problem"));
            add(message, command_in_view("grove skills check", view));
        }
    }
    for view in views {
        // Nothing in Grove's own catalog is out of reach: closed entries lead to it.
        let row = view.counts();
        let (left_out, named) = (row.not_shown, row.name_only);
        if view.host.is_some() && left_out > 0 {
            let message = format!("{} leaves out {}", view.title, counted(left_out, "skill"));
            add(message, command_in_view("grove catalog", view));
        }
        if view.host.is_some() && named > 0 {
            let message = format!(
                "{} shows {} by name alone",
                view.title,
                counted(named, "skill")
            );
            add(message, command_in_view("grove catalog", view));
        }
    }
    all
}

fn command_in_view(command: &str, view: &HostView) -> String {
    naming::command_with_flags(command, &view.discovery.request)
}

fn is_or_are(count: usize) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(count, "skill"))
}

/// Skills counted by source and state.
pub(super) fn print_sources(snapshot: &Snapshot, out: &mut CommandOutput) {
    let usable = snapshot
        .skills
        .iter()
        .filter(|skill| skill.state.is_offered())
        .count();
    out.line(&format!(
        "{} found, {usable} usable",
        counted(snapshot.skills.len(), "skill")
    ));
    for (source, states) in report::count_sources(snapshot.entries()) {
        let total: usize = states.values().sum();
        let shown: Vec<String> = EntryState::ALL
            .into_iter()
            .filter_map(|state| {
                let count = states.get(state.as_str())?;
                Some(format!("{count} {}", state.in_words()))
            })
            .collect();
        out.line(&format!(
            "  {:<8} {total:>6}  {}",
            source.as_str(),
            shown.join(", ")
        ));
    }
}

fn next_steps(snapshot: &Snapshot) -> Vec<&'static str> {
    if snapshot.skills.is_empty() {
        vec!["grove skills roots        where Grove looks for skills"]
    } else {
        vec![
            "grove skills list         every skill with its state",
            "grove catalog             what a model is told",
            "grove why NAME            why a skill is shown or missing, host by host",
            "grove init                what is set up to run agents, and what to do next",
        ]
    }
}
