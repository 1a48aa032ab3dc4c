//! `cargo xtask bench catalog-budget`: what a catalog does with its budget, over the real collections and generated
//! libraries. Prints Markdown; not a measurement of time, so it runs as it was built.
//!
//! A cell: percent of the budget that is used / skills as entries + named inside a group's entry / closed groups / mean
//! length of descriptions.

use std::collections::BTreeMap;
use std::path::Path;

use grove_catalog::catalog::{
    Catalog, CatalogBudget, CatalogEntryKind, CatalogRequest, CatalogStyle, Treatment, catalog,
};
use grove_catalog::snapshot::Snapshot;
use grove_testkit::library::GeneratedLibrary;
use grove_testkit::shared::real_corpus;

use crate::catalog::{lay_flat, look};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::workspace;

const BUDGETS: [usize; 8] = [2_000, 4_000, 8_000, 9_000, 12_000, 30_000, 60_000, 100_000];

const ENTRIES: usize = 150;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let sizes = arguments.value::<usize>("--generated")?;
    let text_at: Option<usize> = arguments.value("--text")?;
    let only: Option<String> = arguments.value("--only")?;
    arguments.finish()?;
    let mut libraries = real_collections()?;
    for size in sizes.map_or(vec![50, 500, 5_000], |size| vec![size]) {
        let folder = workspace::target().join(format!("bench/{size}"));
        let library = GeneratedLibrary::create(folder, size)?;
        let grouped = look(library.root())?;
        libraries.push((format!("generated flat {size}"), lay_flat(grouped.clone())));
        libraries.push((format!("generated grouped {size}"), grouped));
    }
    libraries.retain(|(name, _)| only.as_ref().is_none_or(|only| name.contains(only)));
    if let Some(size) = text_at {
        for (name, snapshot) in &libraries {
            let request = request(CatalogStyle::Xml, CatalogBudget::chars(size, ENTRIES));
            println!("=== {name} at {size}\n{}", catalog(snapshot, &request).text);
        }
        return Ok(());
    }
    let head: Vec<String> = BUDGETS.iter().map(ToString::to_string).collect();
    println!("| skills | {} |", head.join(" | "));
    println!("| --- |{}", " --- |".repeat(BUDGETS.len()));
    for (name, snapshot) in &libraries {
        let cells: Vec<String> = BUDGETS
            .iter()
            .map(|size| request(CatalogStyle::Xml, CatalogBudget::chars(*size, ENTRIES)))
            .map(|request| cell(&catalog(snapshot, &request)))
            .collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
    Ok(())
}

/// Each collection with its name and number of skills.
pub(crate) fn real_collections() -> Result<Vec<(String, Snapshot)>, String> {
    let corpus = real_corpus()?;
    let folders = std::fs::read_dir(&corpus).map_err(|error| error.to_string())?;
    let mut folders: Vec<_> = folders
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    folders.sort();
    let named = folders.iter().map(|folder| {
        let snapshot = look(folder)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Ok((format!("{name} {}", snapshot.skills.len()), snapshot))
    });
    named.collect()
}

/// A request of a catalog for a person who has used nothing yet.
pub(crate) fn request(style: CatalogStyle, budget: CatalogBudget) -> CatalogRequest<'static> {
    static UNUSED: BTreeMap<String, u32> = BTreeMap::new();
    CatalogRequest {
        style,
        budget,
        home: None,
        index_dir: Path::new("/home/me/.cache/grove/index"),
        pinned: &[],
        usage: &UNUSED,
        expanded: &[],
        exclude: &[],
        task: None,
    }
}

fn cell(made: &Catalog) -> String {
    let is_skill =
        |kind: CatalogEntryKind| matches!(kind, CatalogEntryKind::Skill | CatalogEntryKind::Branch);
    let skills = made.entries.iter().filter(|entry| is_skill(entry.kind));
    let lengths: Vec<usize> = skills
        .map(|entry| {
            entry
                .description
                .as_deref()
                .unwrap_or_default()
                .chars()
                .count()
        })
        .collect();
    let closed = made.entries.len() - lengths.len();
    let mean = lengths
        .iter()
        .sum::<usize>()
        .checked_div(lengths.len())
        .unwrap_or(0);
    let note = if made.report.is_whole() {
        " (whole)"
    } else if made.entries.len() >= ENTRIES {
        " (cap)"
    } else {
        ""
    };
    format!(
        "{} / {}+{} / {closed} / {mean}{note}",
        made.report.used * 100 / made.report.budget.size,
        lengths.len(),
        made.report.count(Treatment::Named),
    )
}
