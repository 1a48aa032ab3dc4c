//! `cargo xtask bench search`: how long a search takes over 10,000 skills with bodies, in a process that has
//! searched before and in one that has not; and whether every skill is found by its id and by its name.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use grove_skills::search::{SearchAudience, SearchQuery, Searcher};
use grove_skills::{DiscoveryRequest, DiscoveryView, Environment, Library};
use grove_testkit::library::GeneratedLibrary;
use grove_testkit::process::{self, Ending};

use crate::samples::Samples;
use crate::table::{self, number};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

const BUILD_LIMIT: Duration = Duration::from_hours(1);
const RUN_LIMIT: Duration = Duration::from_mins(1);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let n_skills: usize = arguments.value("--size")?.unwrap_or(10_000);
    let n_runs: u32 = arguments.value("--runs")?.unwrap_or(31);
    let folder: Option<PathBuf> = arguments.value("--skills")?;
    arguments.finish()?;
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--release", "--package", "grove"]);
    step::show("cargo build", &mut build, BUILD_LIMIT)?;
    let grove = workspace::target().join("release/grove");
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
    let mut rows = Vec::new();
    let mut add = |name: &str, samples: &Samples, owed: &str| {
        rows.push(vec![
            name.to_owned(),
            samples.len().to_string(),
            number(samples.minimum_ms()),
            number(samples.median_ms()),
            owed.to_owned(),
        ]);
    };
    let task = "check the migrations of a regulated schema before a release with two people";
    let first = time(&mut search(&grove, &home, &root, task))?;
    let mut once = Samples::default();
    once.add(first);
    add("grove skills search, no cache, no index", &once, "");
    let (mut cold, mut list, mut nothing) = Default::default();
    for _ in 0..n_runs {
        add_time(&mut cold, &mut search(&grove, &home, &root, task))?;
        add_time(&mut list, &mut look_only(&grove, &home, &root))?;
        add_time(&mut nothing, &mut isolated(Path::new("/bin/true"), &home))?;
    }
    add("grove skills search, cold process", &cold, "30");
    add("grove skills roots, cold process", &list, "");
    add("/bin/true", &nothing, "");

    let mut library = library(&root, &home);
    let look = library.discover();
    let mut searcher = Searcher::default();
    let mut query = |text: &str| {
        let query = SearchQuery {
            text,
            limit: 10,
            audience: SearchAudience::Model,
        };
        let begin = Instant::now();
        let found = searcher.search_in(&mut library, &look, &query);
        (begin.elapsed(), found)
    };
    query(task);
    for (name, text) in [
        ("warm: a task of eight words", task),
        ("warm: one word that is everywhere", "review"),
        ("warm: three keywords", "terraform rollback pilot"),
        ("warm: an unknown word", "zzyzxology"),
    ] {
        let mut samples = Samples::default();
        query(text);
        for _ in 0..n_runs * 4 {
            samples.add(query(text).0);
        }
        add(name, &samples, "1");
    }
    println!("{} skills with bodies", look.snapshot.skills.len());
    table::print(&["", "runs", "min ms", "median ms", "owed ms"], &rows);
    if let Ok(metadata) = std::fs::read_dir(home.join(".cache/grove/search")) {
        let sizes = metadata.flatten().filter_map(|entry| entry.metadata().ok());
        let bytes: u64 = sizes.map(|metadata| metadata.len()).sum();
        println!("the index has {bytes} bytes");
    }
    let (mut by_id, mut by_name) = (0, 0);
    for (at, skill) in look.snapshot.skills.iter().enumerate() {
        let first = query(skill.id()).1.hits;
        by_id += usize::from(first.first().is_some_and(|hit| hit.skill == at));
        let ten = query(skill.name()).1.hits;
        by_name += usize::from(ten.iter().any(|hit| hit.skill == at));
    }
    let all = look.snapshot.skills.len();
    println!(
        "first for their own id: {by_id} of {all}; in the first ten for their own name: {by_name} of {all}"
    );
    if by_id == all && by_name == all {
        Ok(())
    } else {
        Err("some skills are not found by their own id or name".to_owned())
    }
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

fn library(root: &Path, home: &Path) -> Library {
    let environment = Environment {
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
