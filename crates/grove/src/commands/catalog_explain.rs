//! `grove catalog --explain`: where the budget goes, as a picture and a table.

use grove_catalog::catalog::{
    Catalog, CatalogBudget, CatalogEntry, CatalogEntryKind, PlacedBy, Treatment,
};
use grove_catalog::root::RootSource;

use super::{DiscoveredLibrary, counted};
use crate::output::{CommandOutput, page};
use crate::table::Table;
use grove_spec::text::grouped;

const BAR: usize = 40;

pub(super) fn print(discovered: &DiscoveredLibrary, catalog: &Catalog, out: &mut CommandOutput) {
    let report = &catalog.report;
    let shown = |size: usize| grouped(report.budget.shown(size).0);
    let unit = report.budget.shown(0).1;
    out.line(&format!(
        "{} of {} {unit}, {} of {} entries, about {} tokens",
        shown(report.used),
        shown(report.budget.size),
        catalog.entries.len(),
        report.budget.entries,
        grouped(catalog.tokens())
    ));
    out.line("");
    for (name, cost) in parts(catalog) {
        out.line(&bar(&name, cost, report.budget));
    }
    let free = report.budget.size.saturating_sub(report.used);
    out.line(&bar("free", free, report.budget));
    out.line("");
    print_entries(discovered, catalog, out);
    out.line("");
    for treatment in Treatment::ALL {
        let count = report.count(treatment);
        if count > 0 {
            out.line(&format!(
                "{:>7} {:<10} {}",
                grouped(count),
                treatment.as_str(),
                treatment.why()
            ));
        }
    }
    for (why, count) in &report.not_offered {
        out.line(&format!("{:>7} {why:<10} not offered", grouped(*count)));
    }
    if !report.advice.is_empty() {
        out.line("");
        out.line("What you can do:");
        for advice in &report.advice {
            out.line(&format!("  - {advice}"));
        }
    }
}

/// Returns the cost of each source, and of the parts that belong to no source.
fn parts(catalog: &Catalog) -> Vec<(String, usize)> {
    let of = |source: RootSource| {
        let entries = catalog.entries.iter();
        entries
            .filter(|entry| entry.source == Some(source))
            .map(|entry| entry.cost)
            .sum::<usize>()
    };
    let rest = catalog
        .entries
        .iter()
        .filter(|entry| entry.kind == CatalogEntryKind::Rest)
        .map(|entry| entry.cost)
        .sum();
    let mut parts = vec![("instructions".to_owned(), catalog.report.frame)];
    parts.extend(
        RootSource::ALL
            .into_iter()
            .map(|source| (source.as_str().to_owned(), of(source))),
    );
    parts.push(("the rest".to_owned(), rest));
    parts.retain(|(_, cost)| *cost > 0);
    parts
}

fn bar(name: &str, cost: usize, budget: CatalogBudget) -> String {
    let share = |of: usize| {
        let part = cost.saturating_mul(of);
        part.checked_div(budget.size).unwrap_or(0)
    };
    let filled = if cost > 0 { share(BAR).max(1) } else { 0 };
    let text = format!(
        "{name:<13}{:>9} {:>4} %  {}",
        grouped(budget.shown(cost).0),
        share(100),
        "█".repeat(filled)
    );
    text.trim_end().to_owned()
}

fn print_entries(discovered: &DiscoveredLibrary, catalog: &Catalog, out: &mut CommandOutput) {
    let page = page(&discovered.library.environment().variables);
    let mut table = Table::new(&["COST", "ENTRY", "WHAT", "DESCRIPTION"]);
    let of_task = |entry: &CatalogEntry| matches!(entry.placed_by, PlacedBy::Task(_));
    let has_task = catalog.entries.iter().any(of_task);
    for (at, entry) in catalog.entries.iter().enumerate() {
        let line = catalog
            .report
            .lines
            .iter()
            .find(|line| line.entry == Some(at));
        let what = match entry.kind {
            CatalogEntryKind::Skill => line.map_or("", |line| line.treatment.as_str()).to_owned(),
            CatalogEntryKind::Branch | CatalogEntryKind::Group | CatalogEntryKind::Rest => {
                format!(
                    "{} of {}",
                    entry.kind.as_str(),
                    counted(entry.skills, "skill")
                )
            }
        };
        let what = match entry.placed_by.in_words().filter(|_| has_task) {
            Some(cause) => format!("{what}, {cause}"),
            None => what,
        };
        let description = entry.description.as_deref().unwrap_or_default();
        let cost = page.number(catalog.report.budget.shown(entry.cost).0);
        table.row(&[&cost, &entry.name, &what, description]);
    }
    out.painted(&table.render(page));
}
