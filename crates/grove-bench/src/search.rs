//! `cargo xtask bench search`: how long a search takes over 10,000 skills with bodies, in a process that has
//! searched before and in one that has not, and a catalog for a task; and whether every skill is found by its id and by its name.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use grove_catalog::catalog::{CatalogBudget, CatalogRequest, CatalogStyle, catalog};
use grove_skills::search::{SearchAudience, SearchQuery, SearchResult, Searcher};
use grove_skills::{Discovery, DiscoveryRequest, DiscoveryView, Environment, Library};
use grove_testkit::library::GeneratedLibrary;
use grove_testkit::process::{self, Ending};

use crate::samples::Samples;
use crate::search_quality::meanings;
use crate::spending::request;
use crate::table::{self, number};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

const BUILD_LIMIT: Duration = Duration::from_hours(1);
const RUN_LIMIT: Duration = Duration::from_mins(1);
const TASK: &str = "check the migrations of a regulated schema before a release with two people";
/// The folder of kept indexes, below the home.
const INDEX: &str = ".cache/grove/search";
/// The number of times that an index is made.
const INDEXES: usize = 5;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let n_skills: usize = arguments.value("--size")?.unwrap_or(10_000);
    let n_runs: u32 = arguments.value("--runs")?.unwrap_or(31);
    let folder: Option<PathBuf> = arguments.value("--skills")?;
    let table: Option<PathBuf> = arguments.value("--meaning")?;
    // The usual program has no table.
    let in_process = arguments.flag("--in-process") || table.is_some();
    arguments.finish()?;
    let root = if let Some(folder) = folder {
        folder
    } else {
        let root = workspace::target().join(format!("bench/{n_skills}"));
        GeneratedLibrary::create(root, n_skills)?.root().to_owned()
    };
    let home = workspace::target().join("bench/search-home");
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home)
        .map_err(|error| format!("cannot make {}: {error}", home.display()))?;
    eprintln!("measuring");
    let mut rows = Rows::default();
    if !in_process {
        add_processes(&mut rows, &home, &root, n_runs)?;
    }
    let mut library = library(&root, &home, table);
    let mut searches = Searches {
        discovery: library.discover(),
        library,
        searcher: Searcher::default(),
    };
    searches.add_index(&mut rows, &home)?;
    searches.add_queries(&mut rows, n_runs * 4);
    searches.add_catalogs(&mut rows, n_runs);
    println!(
        "{} skills with bodies",
        searches.discovery.snapshot.skills.len()
    );
    table::print(&["", "runs", "min ms", "median ms", "owed ms"], &rows.0);
    println!("the index has {} bytes", index_bytes(&home)?);
    searches.require_found()
}

/// Rows of a table of times.
#[derive(Default)]
struct Rows(Vec<Vec<String>>);

impl Rows {
    fn add(&mut self, name: &str, samples: &Samples, owed: &str) {
        self.0.push(vec![
            name.to_owned(),
            samples.len().to_string(),
            number(samples.minimum_ms()),
            number(samples.median_ms()),
            owed.to_owned(),
        ]);
    }
}

/// Adds the times of whole processes.
fn add_processes(rows: &mut Rows, home: &Path, root: &Path, n_runs: u32) -> Result<(), String> {
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--release", "--package", "grove"]);
    step::show("cargo build", &mut build, BUILD_LIMIT)?;
    let grove = workspace::target().join("release/grove");
    let first = time(&mut search(&grove, home, root, TASK))?;
    let mut once = Samples::default();
    once.add(first);
    rows.add("grove skills search, no cache, no index", &once, "");
    let (mut cold, mut list, mut nothing) = Default::default();
    for _ in 0..n_runs {
        add_time(&mut cold, &mut search(&grove, home, root, TASK))?;
        add_time(&mut list, &mut look_only(&grove, home, root))?;
        add_time(&mut nothing, &mut isolated(Path::new("/bin/true"), home))?;
    }
    rows.add("grove skills search, cold process", &cold, "30");
    rows.add("grove skills roots, cold process", &list, "");
    rows.add("/bin/true", &nothing, "");
    Ok(())
}

/// A library that is searched in this process.
struct Searches {
    discovery: Discovery,
    library: Library,
    searcher: Searcher,
}

impl Searches {
    fn query(&mut self, text: &str) -> (Duration, SearchResult) {
        let query = SearchQuery {
            text,
            limit: 10,
            audience: SearchAudience::Model,
        };
        let begin = Instant::now();
        let found = self
            .searcher
            .search_in(&mut self.library, &self.discovery, &query);
        (begin.elapsed(), found)
    }

    /// Adds the time of the first search, which makes the index and keeps it.
    fn add_index(&mut self, rows: &mut Rows, home: &Path) -> Result<(), String> {
        let mut samples = Samples::default();
        for _ in 0..INDEXES {
            let _ = std::fs::remove_dir_all(home.join(INDEX));
            self.searcher = Searcher::default();
            samples.add(self.query(TASK).0);
        }
        rows.add("the first search: index made and kept", &samples, "1200");
        index_bytes(home).map(|_| ())
    }

    fn add_queries(&mut self, rows: &mut Rows, n_runs: u32) {
        for (name, text) in [
            ("warm: a task of eight words", TASK),
            ("warm: one word that is everywhere", "review"),
            ("warm: three keywords", "terraform rollback pilot"),
            ("warm: an unknown word", "zzyzxology"),
        ] {
            let mut samples = Samples::default();
            self.query(text);
            for _ in 0..n_runs {
                samples.add(self.query(text).0);
            }
            rows.add(name, &samples, "1");
        }
    }

    fn add_catalogs(&mut self, rows: &mut Rows, n_runs: u32) {
        let usual = request(CatalogStyle::Xml, CatalogBudget::chars(30_000, 150));
        let (mut of_task, mut without) = (Samples::default(), Samples::default());
        for _ in 0..n_runs {
            let begin = Instant::now();
            let (order, _) = self.searcher.order_for(&self.discovery, TASK);
            let request = CatalogRequest {
                task: Some(&order),
                ..usual.clone()
            };
            std::hint::black_box(catalog(&self.discovery.snapshot, &request));
            of_task.add(begin.elapsed());
            let begin = Instant::now();
            std::hint::black_box(catalog(&self.discovery.snapshot, &usual));
            without.add(begin.elapsed());
        }
        rows.add("warm: a catalog for the task", &of_task, "12");
        rows.add("a catalog without a task", &without, "");
    }

    /// Fails if a skill is not found by its own id or name.
    fn require_found(&mut self) -> Result<(), String> {
        let snapshot = Arc::clone(&self.discovery.snapshot);
        let (mut by_id, mut by_name) = (0, 0);
        for (at, skill) in snapshot.skills.iter().enumerate() {
            let first = self.query(skill.id()).1.hits;
            by_id += usize::from(first.first().is_some_and(|hit| hit.skill == at));
            let ten = self.query(skill.name()).1.hits;
            by_name += usize::from(ten.iter().any(|hit| hit.skill == at));
        }
        let all = snapshot.skills.len();
        println!(
            "first for their own id: {by_id} of {all}; in the first ten for their own name: {by_name} of {all}"
        );
        if by_id == all && by_name == all {
            Ok(())
        } else {
            Err("some skills are not found by their own id or name".to_owned())
        }
    }
}

fn index_bytes(home: &Path) -> Result<u64, String> {
    let files = std::fs::read_dir(home.join(INDEX));
    let files = files.map_err(|error| format!("the index was not kept: {error}"))?;
    let sizes = files.flatten().filter_map(|entry| entry.metadata().ok());
    Ok(sizes.map(|metadata| metadata.len()).sum())
}

fn add_time(samples: &mut Samples, command: &mut Command) -> Result<(), String> {
    samples.add(time(command)?);
    Ok(())
}

fn time(command: &mut Command) -> Result<Duration, String> {
    let finished = process::capture(command, RUN_LIMIT);
    let finished = finished.map_err(|error| format!("cannot start: {error}"))?;
    // That nothing fits well is an answer, with a code of its own.
    if finished.ending == Ending::Exited(1) {
        return Ok(finished.elapsed);
    }
    let finished = finished.require_success("the measured command")?;
    Ok(finished.elapsed)
}

fn search(grove: &Path, home: &Path, root: &Path, task: &str) -> Command {
    let mut command = isolated(grove, home);
    command.args(["skills", "search", task, "--json", "--all", "--root"]);
    command.arg(root);
    command
}

/// The command that only looks at the library, to measure that alone.
fn look_only(grove: &Path, home: &Path, root: &Path) -> Command {
    let mut command = isolated(grove, home);
    command.args(["skills", "roots", "--json", "--all", "--root"]);
    command.arg(root);
    command
}

fn isolated(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(home)
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin");
    command
}

fn library(root: &Path, home: &Path, table: Option<PathBuf>) -> Library {
    let environment = Environment {
        meanings: meanings(table),
        cache: Some(home.join(".cache/grove")),
        ..Environment::for_home(home.to_owned(), home.to_owned())
    };
    let request = DiscoveryRequest {
        view: DiscoveryView::Folders(vec![root.to_path_buf()]),
        all: true,
        ..DiscoveryRequest::default()
    };
    Library::new(environment, request)
}
