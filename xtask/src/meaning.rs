//! `cargo xtask meaning`: makes the table of meanings from its sources, and measures whether it is good enough to be kept.
//!
//! Training is not the same byte for byte from run to run, so what is kept in the repository is the table, named by its
//! digest. `xtask/meaning/README.md` says what it is made of and with which settings.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

/// Collecting takes a minute. Training takes three minutes on an accelerator and hours without one.
const LIMIT: Duration = Duration::from_hours(12);

/// The least percentage of right skills among the first five results, for the tasks that may be tuned on.
const LEAST_AT_5: &str = "93";

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let python: String = arguments.value("--python")?.unwrap_or("python3".to_owned());
    let what = arguments.next_word();
    let file: Option<PathBuf> = arguments.value("--table")?;
    arguments.finish()?;
    match what.as_deref() {
        Some("make") => make(&python),
        Some("gate") => gate(file),
        Some("same") => same(file),
        _ => Err("what? make, gate or same".to_owned()),
    }
}

fn make(python: &str) -> Result<(), String> {
    let recipe = workspace::root().join("xtask/meaning");
    let work = workspace::target().join("meaning");
    std::fs::create_dir_all(&work).map_err(|error| error.to_string())?;
    let script = |name: &str| {
        let mut command = Command::new(python);
        command.arg(recipe.join(name)).current_dir(&work);
        command
    };
    let mut collect = script("collect.py");
    collect
        .arg(recipe.join("sources.json"))
        .args([".", "texts.jsonl"]);
    step::show("the texts", &mut collect, LIMIT)?;
    step::show("the teacher", script("teacher.py").args([".", "."]), LIMIT)?;
    step::show("the training", script("train.py").args([".", "."]), LIMIT)?;
    let mut pack = script("pack.py");
    pack.args(["vocab.txt", "pooled-a.npz", "late-a.npz"]);
    pack.arg(recipe.join("settings.json")).arg("meaning.table");
    step::show("the table", &mut pack, LIMIT)?;
    gate(Some(work.join("meaning.table")))
}

/// Fails if searches with the table find less than is owed.
fn gate(file: Option<PathBuf>) -> Result<(), String> {
    let mut bench = bench("search-quality", file)?;
    bench.args(["--least-at-5", LEAST_AT_5]);
    step::show("the gate", &mut bench, LIMIT)
}

/// Fails if a build with all instructions of this processor makes other catalogs than one with those of every processor.
fn same(file: Option<PathBuf>) -> Result<(), String> {
    let mut portable = bench("catalog-for-task", file.clone())?;
    let portable = step::quiet(
        "the portable build",
        portable.args(["--half", "all"]),
        LIMIT,
    )?;
    let mut native = bench("catalog-for-task", file)?;
    native
        .args(["--half", "all"])
        .env("RUSTFLAGS", "-C target-cpu=native")
        .env("CARGO_TARGET_DIR", workspace::target().join("native"));
    let native = step::quiet("the native build", &mut native, LIMIT)?;
    println!("{}", portable.stdout_text());
    if portable.stdout == native.stdout {
        Ok(())
    } else {
        Err(format!("the native build says:\n{}", native.stdout_text()))
    }
}

/// A benchmark with a table, that of the repository unless another is named.
fn bench(name: &str, table: Option<PathBuf>) -> Result<Command, String> {
    let data = workspace::root().join("crates/grove-meaning/data");
    let kept = || {
        let files = std::fs::read_dir(&data).ok()?;
        let mut files = files.filter_map(|file| Some(file.ok()?.path()));
        files.find(|file| file.extension().is_some_and(|ending| ending == "table"))
    };
    let table = table.or_else(kept).ok_or("there is no table")?;
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--quiet", "--release", "--package", "grove-bench"]);
    cargo.args(["--", name, "--meaning"]).arg(table);
    Ok(cargo)
}
