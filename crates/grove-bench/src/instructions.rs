//! `cargo xtask bench instructions`: the instructions of one run of what people wait for most, counted by valgrind.
//!
//! System calls do not show work that is done between them, and times say little on a machine that others use too. Counts of
//! instructions are the same to within a hundredth.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use grove_testkit::library::GeneratedLibrary;
use grove_testkit::need::Need;
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

use crate::start::{build_grove, grove_program, isolated, list_skills};
use crate::table;
use crate::work::Work;

/// The skills of the library whose discovery is counted.
const N_SKILLS: usize = 1_000;
/// The skills that the program lists.
const N_LISTED: usize = 100;
/// The runs that are counted beyond the first, which makes what is made once.
const RUNS: u64 = 5;
/// Valgrind makes a program some fifty times slower.
const LIMIT: Duration = Duration::from_mins(5);
const COUNTED: [&str; 5] = [
    "cold discovery, a skill",
    "verification, a skill",
    "from the cache on disk, a skill",
    "grove skills list --json, the first time",
    "grove skills list --json, from the cache",
];

pub(crate) fn run(arguments: Arguments) -> Result<(), String> {
    arguments.finish()?;
    build_grove()?;
    let rows = COUNTED.iter().zip(counts()?);
    let cells = rows.map(|(name, count)| vec![(*name).to_owned(), count.to_string()]);
    let cells: Vec<Vec<String>> = cells.collect();
    table::print(&["", "instructions"], &cells);
    Ok(())
}

/// The counts in the order of [`COUNTED`].
fn counts() -> Result<[u64; 5], String> {
    let folder = workspace::target().join("bench/instructions");
    let library = GeneratedLibrary::create(folder.join("library"), N_SKILLS)?;
    let each = |work| of_work(work, library.root()).map(|count| count / N_SKILLS as u64);
    let home = folder.join("home");
    fs::create_dir_all(home.join(".agents")).map_err(|error| error.to_string())?;
    GeneratedLibrary::create(home.join(".agents/skills"), N_LISTED)?;
    let grove = grove_program();
    let _ = fs::remove_dir_all(home.join(".cache"));
    let list = || of_process(&list_skills(&grove, &home));
    Ok([
        each(Work::Cold)?,
        each(Work::Verify)?,
        each(Work::Warm)?,
        list()?,
        list()?,
    ])
}

/// The instructions of one run of a piece of work that was done before in the same process.
fn of_work(work: Work, library: &Path) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let runs = |times: u64| {
        let mut command = Command::new(&program);
        command.args(["bench-child", work.name()]).arg(library);
        command.args(["--repeat", &times.to_string()]);
        of_process(&command)
    };
    Ok(runs(1 + RUNS)?.saturating_sub(runs(1)?) / RUNS)
}

/// The instructions of a whole process.
fn of_process(command: &Command) -> Result<u64, String> {
    let mut counted = isolated(&Need::Valgrind.find()?, &workspace::target());
    counted
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg("--cachegrind-out-file=/dev/null")
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        counted.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        counted.envs(value.map(|value| (name, value)));
    }
    let finished = step::quiet("valgrind", &mut counted, LIMIT)?;
    let said = finished.stderr_text();
    parse(&said).ok_or_else(|| format!("valgrind counted nothing: {said}"))
}

/// The count in `==7== I   refs:      29,393,604`.
fn parse(said: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains("refs:"))?;
    let number = line.rsplit(' ').next()?.replace(',', "");
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_what_valgrind_says() {
        let said = "==7== Cachegrind\n==7== \n==7== I   refs:      29,393,604\n";
        assert_eq!(parse(said), Some(29_393_604));
        assert_eq!(parse("==7== Cachegrind\n"), None);
    }
}
