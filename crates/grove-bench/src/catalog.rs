//! `cargo xtask bench catalog`: planning and writing a catalog in memory, for a library in groups and for the
//! same one laid flat, with all index files.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use grove_catalog::catalog::{CatalogBudget, CatalogRequest, CatalogStyle, catalog};
use grove_catalog::snapshot::Snapshot;
use grove_skills::{DiscoveryView, Environment, Library};
use grove_testkit::library::GeneratedLibrary;

use crate::samples::Samples;
use crate::table::{self, number};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::workspace;

/// The most milliseconds that the design allows for 10,000 skills.
const OWED_MS: f64 = 10.0;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let n_runs: u32 = arguments.value("--runs")?.unwrap_or(31);
    arguments.finish()?;
    let mut rows = Vec::new();
    for n_skills in [100, 1_000, 10_000] {
        let folder = workspace::target().join(format!("bench/{n_skills}"));
        let library = GeneratedLibrary::create(folder, n_skills)?;
        let grouped = look(library.root())?;
        if grouped.skills.len() != n_skills {
            return Err(format!(
                "{} skills instead of {n_skills}",
                grouped.skills.len()
            ));
        }
        let flat = lay_flat(grouped.clone());
        for (shape, snapshot) in [("groups", &grouped), ("flat", &flat)] {
            rows.push(measure(shape, snapshot, n_runs)?);
        }
    }
    println!("30,000 characters and 150 entries; {OWED_MS} ms are owed for 10,000 skills");
    let head = [
        "skills",
        "shape",
        "runs",
        "min ms",
        "median ms",
        "entries",
        "chars",
        "index files",
    ];
    table::print(&head, &rows);
    Ok(())
}

/// A folder and everything in it, without limits.
pub(crate) fn look(root: &Path) -> Result<Snapshot, String> {
    let nowhere = Path::new(Environment::NOWHERE);
    let environment = Environment::for_home(nowhere.into(), nowhere.into());
    let request = grove_skills::DiscoveryRequest {
        view: DiscoveryView::Folders(vec![root.to_path_buf()]),
        all: true,
        ..grove_skills::DiscoveryRequest::default()
    };
    let mut library = Library::new(environment, request);
    let loaded = library.load();
    drop(library);
    std::sync::Arc::into_inner(loaded).ok_or_else(|| "the snapshot is still in use".to_owned())
}

/// The same skills side by side.
pub(crate) fn lay_flat(mut snapshot: Snapshot) -> Snapshot {
    for skill in &mut snapshot.skills {
        skill.place.id = skill.place.id.replace('/', "-").into();
    }
    snapshot
}

fn measure(shape: &str, snapshot: &Snapshot, n_runs: u32) -> Result<Vec<String>, String> {
    let usage = BTreeMap::new();
    let request = CatalogRequest {
        style: CatalogStyle::Xml,
        budget: CatalogBudget::chars(30_000, 150),
        home: None,
        index_dir: Path::new("/cache/grove/index"),
        pinned: &[],
        usage: &usage,
        expanded: &[],
        exclude: &[],
        task: None,
    };
    let mut samples = Samples::default();
    for _ in 0..n_runs {
        let start = Instant::now();
        let made = catalog(snapshot, &request);
        samples.add(start.elapsed());
        if made.chars() > 30_000 {
            return Err("the catalog is over its budget".to_owned());
        }
    }
    let made = catalog(snapshot, &request);
    Ok(vec![
        snapshot.skills.len().to_string(),
        shape.to_owned(),
        samples.len().to_string(),
        number(samples.minimum_ms()),
        number(samples.median_ms()),
        made.entries.len().to_string(),
        made.chars().to_string(),
        made.index.len().to_string(),
    ])
}
