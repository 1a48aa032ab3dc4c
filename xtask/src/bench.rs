//! `cargo xtask bench`: measurements as ratios to a floor and to a peer, taken in the same run.
//!
//! Machines are noisy, so nothing here compares with a number of another day.

mod acceptance;
mod against_hosts;
mod agents;
mod catalog;
mod children;
mod contender;
mod discovery;
mod floor;
mod graph;
mod journal;
mod ours;
mod pi;
mod plain_bm25;
mod prompt;
mod reload;
mod report;
mod samples;
mod search;
mod search_quality;
mod serve;
mod spending;
mod start;
mod system_calls;
mod table;
mod trust;
mod visible;
mod watch;
mod work;

use std::time::Duration;

use crate::arguments::Arguments;
use crate::{step, tools, workspace};

/// A whole table of 100,000 skills takes some minutes.
const BENCH_LIMIT: Duration = Duration::from_hours(2);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let which = arguments.next_word();
    if which.as_deref() == Some("catalog-budget") {
        return spending::run(arguments);
    }
    if which.as_deref() == Some("catalog-against-hosts") {
        return against_hosts::run(arguments);
    }
    // To try a benchmark out, not to measure: `--debug` takes the program as it is built for the tests.
    if cfg!(debug_assertions) && !arguments.flag("--debug") {
        return run_optimised();
    }
    match which.as_deref() {
        Some("discovery") => discovery::run(arguments),
        Some("start") => start::run(arguments),
        Some("agents") => agents::run(arguments),
        Some("catalog") => catalog::run(arguments),
        Some("catalog-hosts") => visible::run(arguments),
        Some("children") => children::run(arguments),
        Some("graph") => graph::run(arguments),
        Some("journal") => journal::run(arguments),
        Some("acceptance") => acceptance::run(arguments),
        Some("prompt") => prompt::run(arguments),
        Some("reload") => reload::run(arguments),
        Some("search") => search::run(arguments),
        Some("search-quality") => search_quality::run(arguments),
        Some("serve") => serve::run(arguments),
        Some("trust") => trust::run(arguments),
        Some("watch") => watch::run(arguments),
        _ => Err("which benchmark? discovery, start, agents, catalog, catalog-budget, catalog-hosts, children, graph, journal, prompt, reload, search, search-quality, serve, trust or watch".to_owned()),
    }
}

/// Does one piece of work, once or often for a profiler, and exits: a process whose system calls can be
/// counted.
pub(crate) fn run_child(mut arguments: Arguments) -> Result<(), String> {
    let usage = "bench-child WORK DIR [--prepare-only | --repeat N]";
    let name = arguments.next_word().ok_or(usage)?;
    let root = arguments.next_word().ok_or(usage)?;
    let only_prepare = arguments.flag("--prepare-only");
    let times: u32 = arguments.value("--repeat")?.unwrap_or(1);
    arguments.finish()?;
    if name == prompt::CHILD {
        return prompt::child(root.as_ref(), only_prepare);
    }
    let work = work::Work::named(&name).ok_or_else(|| format!("unknown work {name}"))?;
    let mut prepared = work.prepare(root.as_ref())?;
    if !only_prepare {
        for _ in 0..times {
            prepared()?;
        }
    }
    Ok(())
}

/// `cargo xtask` builds without optimisation, which would measure the wrong program.
fn run_optimised() -> Result<(), String> {
    let mut cargo = workspace::cargo();
    cargo
        .args(["run", "--quiet", "--release", "--package", "xtask", "--"])
        .args(std::env::args().skip(1))
        .envs(tools::environment());
    step::show("the optimised benchmark", &mut cargo, BENCH_LIMIT)
}
