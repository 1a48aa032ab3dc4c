//! Listings of skills, agents and chains alike: one file with a name, its state and where it is.

use grove_catalog::definitions::{Defined, Definition};
use grove_catalog::entry::{Entries, Entry};
use grove_catalog::report;
use grove_skills::Environment;
use grove_spec::Diagnostic;
use grove_spec::package::EntryKind;
use grove_spec::text::one_line;
use serde::Serialize;

pub(super) use grove_engine::entries::{find, hint_for};

use super::{counted, path_text, tilde};
use crate::json::StateCounts;
use crate::output::{CommandOutput, page};
use crate::table::Table;

pub(super) type NumberColumn<'a, E> = (&'static str, &'a dyn Fn(&E) -> String);

/// Prints some of them as a table, and how many can be used.
pub(super) fn table<E: Entry>(
    entries: Entries<'_, E>,
    mut chosen: Vec<&E>,
    numbers: &[NumberColumn<'_, E>],
    environment: &Environment,
    out: &mut CommandOutput,
) {
    chosen.sort_by_cached_key(|one| {
        let id = one.ids(&[]).next().map(|(_, id)| id.into_owned());
        (one.name().to_owned(), one.root(), id)
    });
    let mut headings = vec!["NAME", "STATE", "ROOT"];
    headings.extend(numbers.iter().map(|(heading, _)| *heading));
    headings.push("DESCRIPTION");
    let mut table = Table::new(&headings).with_numbers(3..3 + numbers.len());
    for one in &chosen {
        let why = one.reasons().first();
        let why = why.map_or_else(String::new, |reason| format!("({}) ", reason.message));
        let about = format!("{why}{}", one.description().unwrap_or(""));
        let root = entries.root_of(one).map_or("", |root| root.label.as_str());
        let numbers: Vec<String> = numbers.iter().map(|(_, number)| number(one)).collect();
        let mut cells = vec![one.name(), one.state().in_words(), root];
        cells.extend(numbers.iter().map(String::as_str));
        cells.push(&about);
        table.row(&cells);
    }
    out.painted(&table.render(page(&environment.variables)));
    let usable = chosen.iter().filter(|one| one.state().is_offered()).count();
    let listed = counted(chosen.len(), E::KIND.noun());
    out.note(&format!("{listed} listed, {usable} usable"));
}

/// Prints what is known of one whatever it is: its names, its state and where it is.
pub(super) fn rows<E: Entry>(
    entries: Entries<'_, E>,
    one: &E,
    environment: &Environment,
    out: &mut CommandOutput,
) {
    row("name", &one_line(one.name()), out);
    if let (EntryKind::Skills, Some((_, id))) = (E::KIND, one.ids(&[]).next()) {
        row("id", &path_text(&id), out);
    }
    row("state", one.state().in_words(), out);
    for reason in one.reasons() {
        let why = format!("{}; {}", reason.message, reason.fix);
        row("", &one_line(&why), out);
    }
    if let Some(other) = one.stand_in().and_then(|at| entries.all.get(at)) {
        row("instead", &path_text(&entries.address(other)), out);
    }
    let description = one.description().unwrap_or("(none)");
    row("description", &one_line(description), out);
    row("location", &tilde(&entries.location(one), environment), out);
    for path in entries.further_locations(one) {
        row("also at", &tilde(&path, environment), out);
    }
}

/// Prints what is known of an agent or a chain besides its fields.
pub(super) fn definition_rows<P: Definition>(
    entries: Entries<'_, Defined<P>>,
    one: &Defined<P>,
    environment: &Environment,
    out: &mut CommandOutput,
) {
    rows(entries, one, environment, out);
    let content = one.content.as_ref();
    if let Some(rest) = content.and_then(|content| content.rest.as_ref()) {
        row("text in", &tilde(&rest.path, environment), out);
    }
    let root = entries.root_of(one);
    let label = root.map_or_else(String::new, |root| path_text(&root.label));
    row("root", &label, out);
    if let Some(content) = content {
        row("digest", &content.digest.to_string(), out);
    }
}

pub(super) fn row(name: &str, value: &str, out: &mut CommandOutput) {
    out.labelled(name, value);
}

/// Prints findings, each after a blank line, with the lines that they speak of.
pub(super) fn findings<'a>(
    all: impl IntoIterator<Item = &'a Diagnostic>,
    source: Option<&str>,
    out: &mut CommandOutput,
) {
    for finding in all {
        out.line("");
        out.text(&grove_spec::render::render(finding, source));
    }
}

#[derive(Serialize)]
pub(super) struct CountJson {
    pub(super) source: &'static str,
    pub(super) count: usize,
    pub(super) states: StateCounts,
}

pub(super) fn counts<E: Entry>(entries: Entries<'_, E>) -> Vec<CountJson> {
    let counts = report::count_sources(entries).into_iter();
    let all = counts.map(|(source, states)| CountJson {
        source: source.as_str(),
        count: states.values().sum(),
        states,
    });
    all.collect()
}
