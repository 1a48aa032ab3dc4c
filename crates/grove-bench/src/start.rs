//! `cargo xtask bench start`: what a person waits for who types `grove skills list --json` or
//! `grove catalog` with a hundred skills, from the start of the process to its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use grove_testkit::library::GeneratedLibrary;
use grove_testkit::process;
use serde_json::Value;

use crate::samples::Samples;
use crate::table::{self, number};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

const N_SKILLS: usize = 100;
const BUILD_LIMIT: Duration = Duration::from_hours(1);
pub(crate) const RUN_LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let n_runs: u32 = arguments.value("--runs")?.unwrap_or(20);
    arguments.finish()?;
    build_grove()?;
    let home = workspace::target().join("bench/start-home");
    let skills = home.join(".agents/skills");
    fs::create_dir_all(home.join(".agents"))
        .map_err(|error| format!("cannot make {}: {error}", home.display()))?;
    let library = GeneratedLibrary::create(skills, N_SKILLS)?;
    let grove = grove_program();
    require_all_skills(&grove, &home, &library)?;

    let mut list = Samples::default();
    let (mut catalog, mut nothing) = (Samples::default(), Samples::default());
    for _ in 0..n_runs {
        list.add(time(&mut list_skills(&grove, &home))?);
        catalog.add(time(isolated(&grove, &home).arg("catalog"))?);
        nothing.add(time(&mut isolated(Path::new("/bin/true"), &home))?);
    }
    let of_what = format!("{N_SKILLS} skills");
    let measured = [
        ("grove skills list --json", &list),
        ("grove catalog", &catalog),
        ("/bin/true", &nothing),
    ];
    print(&of_what, &measured);
    Ok(())
}

/// Builds the program that is measured.
pub(crate) fn build_grove() -> Result<(), String> {
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--package", "grove"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    step::show("cargo build", &mut build, BUILD_LIMIT)
}

/// The program that is measured.
pub(crate) fn grove_program() -> PathBuf {
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    workspace::target().join(profile).join("grove")
}

/// Prints how long whole processes took.
pub(crate) fn print(of_what: &str, measured: &[(&str, &Samples)]) {
    println!("{of_what}, cold process, warm page cache");
    let row = |(name, samples): &(&str, &Samples)| {
        vec![
            (*name).to_owned(),
            samples.len().to_string(),
            number(samples.minimum_ms()),
            number(samples.median_ms()),
        ]
    };
    let rows: Vec<Vec<String>> = measured.iter().map(row).collect();
    table::print(&["", "runs", "min ms", "median ms"], &rows);
}

/// Fails if a skill is not listed, since a program that lists nothing would be fast.
fn require_all_skills(grove: &Path, home: &Path, library: &GeneratedLibrary) -> Result<(), String> {
    let output = step::quiet("grove", &mut list_skills(grove, home), RUN_LIMIT)?;
    let text = output.stdout_text();
    serde_json::from_str::<Value>(&text)
        .map_err(|error| format!("grove skills list --json gave no JSON: {error}"))?;
    let names = (0..library.n_skills()).map(|index| library.skill_name(index));
    match names.into_iter().find(|name| !text.contains(name)) {
        None => Ok(()),
        Some(name) => Err(format!("grove skills list --json does not know {name}")),
    }
}

/// Measures how long a process takes from its start to its end.
pub(crate) fn time(command: &mut Command) -> Result<Duration, String> {
    process::capture(command, RUN_LIMIT)
        .map_err(|error| format!("cannot start: {error}"))?
        .require_success("the measured command")
        .map(|finished| finished.elapsed)
}

pub(crate) fn list_skills(grove: &Path, home: &Path) -> Command {
    let mut command = isolated(grove, home);
    command.args(["skills", "list", "--json"]);
    command
}

/// A program in a home of its own, with nothing else in its environment.
pub(crate) fn isolated(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(home)
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin");
    command
}
