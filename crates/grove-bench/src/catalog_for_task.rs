//! `cargo xtask bench catalog-for-task`: whether the right skill for a task has an entry with a description in the catalog,
//! in the usual order and in the order of the task.
#![expect(clippy::cast_precision_loss, reason = "counts of tasks are small")]

use std::path::PathBuf;

use grove_catalog::Digest;
use grove_catalog::catalog::{
    Catalog, CatalogBudget, CatalogEntryKind, CatalogRequest, CatalogStyle, TaskOrder, catalog,
};
use grove_catalog::snapshot::Snapshot;
use grove_skills::search::Searcher;
use grove_testkit::shared;
use grove_testkit::task::arguments::Arguments;

use crate::search_quality::{Task, library_of, parse, require_expected, tasks_of};
use crate::spending::request;
use crate::table;

/// The budgets that are owed, in characters.
const BUDGETS: [usize; 3] = [6_000, 15_000, 30_000];
const ENTRIES: usize = 150;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let half: String = arguments.value("--half")?.unwrap_or("tune".to_owned());
    let folder: Option<PathBuf> = arguments.value("--skills")?;
    let beside: Option<PathBuf> = arguments.value("--beside")?;
    let file: Option<PathBuf> = arguments.value("--tasks")?;
    let table: Option<PathBuf> = arguments.value("--meaning")?;
    let shown: Option<usize> = arguments.value("--text")?;
    arguments.finish()?;
    let folders: Vec<PathBuf> = [folder.map_or_else(shared::real_corpus, Ok)?]
        .into_iter()
        .chain(beside)
        .collect();
    let mut tasks = parse(&tasks_of(file.as_deref())?)?;
    tasks.retain(|task| half == "all" || task.half == half);
    let mut library = library_of(&folders, table);
    let discovery = library.discover();
    let snapshot = &discovery.snapshot;
    require_expected(&tasks, snapshot)?;
    let mut searcher = Searcher::default();
    let orders: Vec<TaskOrder> = tasks
        .iter()
        .map(|task| searcher.order_for(&discovery, &task.text).0)
        .collect();
    if let Some(at) = shown {
        let budget = CatalogBudget::chars(BUDGETS[1], ENTRIES);
        let usual = catalog(snapshot, &request(CatalogStyle::Xml, budget));
        let ordered = made(snapshot, budget, orders.get(at));
        let task = tasks.get(at).map_or("", |task| &task.text);
        println!("{task}\n\n{}\n\n{}", usual.text, ordered.text);
        return Ok(());
    }
    println!(
        "{} skills, {} tasks ({half}); right skill an entry with a description, in percent, with 95 % intervals",
        snapshot.skills.len(),
        tasks.len()
    );
    let (mut rows, mut texts) = (Vec::new(), String::new());
    for size in BUDGETS {
        let budget = CatalogBudget::chars(size, ENTRIES);
        let usual = made(snapshot, budget, None);
        let all = std::iter::repeat_n(&usual, tasks.len());
        rows.push(row("usual order", size, &tasks, snapshot, all));
        let ordered: Vec<Catalog> = orders
            .iter()
            .map(|order| made(snapshot, budget, Some(order)))
            .collect();
        texts.extend(ordered.iter().map(|made| made.text.as_str()));
        rows.push(row(
            "order of the task",
            size,
            &tasks,
            snapshot,
            ordered.iter(),
        ));
    }
    table::print(
        &["", "characters", "percent", "from", "to", "entries"],
        &rows,
    );
    println!(
        "the digest of all catalogs: {}",
        Digest::of(texts.as_bytes())
    );
    Ok(())
}

fn made(snapshot: &Snapshot, budget: CatalogBudget, task: Option<&TaskOrder>) -> Catalog {
    let request = CatalogRequest {
        task,
        ..request(CatalogStyle::Xml, budget)
    };
    catalog(snapshot, &request)
}

fn row<'a>(
    order: &str,
    size: usize,
    tasks: &[Task],
    snapshot: &Snapshot,
    catalogs: impl Iterator<Item = &'a Catalog>,
) -> Vec<String> {
    let (mut hits, mut entries) = (0, 0);
    for (task, made) in tasks.iter().zip(catalogs) {
        hits += usize::from(has_right_skill(task, snapshot, made));
        entries += made.entries.len();
    }
    let (from, to) = interval(hits, tasks.len());
    vec![
        order.to_owned(),
        size.to_string(),
        format!("{:.1}", 100.0 * hits as f64 / tasks.len().max(1) as f64),
        format!("{from:.1}"),
        format!("{to:.1}"),
        format!("{:.1}", entries as f64 / tasks.len().max(1) as f64),
    ]
}

fn has_right_skill(task: &Task, snapshot: &Snapshot, made: &Catalog) -> bool {
    made.report.lines.iter().any(|line| {
        let name = snapshot.skills[line.skill].name();
        let entry = line.entry.and_then(|at| made.entries.get(at));
        let is_own = entry.is_some_and(|entry| {
            entry.kind == CatalogEntryKind::Skill
                && entry.description.is_some()
                && entry.name == name
        });
        is_own && task.expected.iter().any(|expected| expected == name)
    })
}

/// Returns the 95 % interval of a share in percent, by Wilson's formula.
pub(crate) fn interval(hits: usize, all: usize) -> (f64, f64) {
    let (n, z) = (all.max(1) as f64, 1.96);
    let share = hits as f64 / n;
    let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let spread = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let from = (middle - spread).max(0.0);
    (100.0 * from, 100.0 * (middle + spread))
}
