//! `cargo xtask bench`: starts a benchmark, built with optimisation, with what it compares with.

use std::path::PathBuf;
use std::time::Duration;

use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

use crate::tools;

/// A whole table of 100,000 skills takes some minutes.
const LIMIT: Duration = Duration::from_hours(2);

/// Benchmarks whose peer is pi.
const WITH_PI: [&str; 2] = ["discovery", "acceptance"];

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    // To try a benchmark out, not to measure: `--debug` takes the program as it is built for the tests.
    let is_debug = arguments.flag("--debug");
    let words = arguments.rest();
    let mut given: Vec<(&str, PathBuf)> = tools::environment();
    if words
        .first()
        .is_some_and(|name| WITH_PI.contains(&name.as_str()))
    {
        // Without pi the rest is still worth measuring; its row says what is missing.
        if let Err(reason) = tools::install_node().and_then(|()| tools::install_pi()) {
            eprintln!("{reason}");
        }
        given.extend(tools::environment());
        given.extend(tools::pi_package().map(|path| ("GROVE_BENCH_PI", path)));
    }
    if words.first().is_some_and(|name| name == "acceptance") {
        let peer = tools::pi_subagents_acceptance()?;
        given.push(("GROVE_BENCH_PI_ACCEPTANCE", peer));
    }
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--quiet", "--package", "grove-bench"]);
    if !is_debug {
        cargo.arg("--release");
    }
    cargo.arg("--").args(words).envs(given);
    step::show("the benchmark", &mut cargo, LIMIT)
}
