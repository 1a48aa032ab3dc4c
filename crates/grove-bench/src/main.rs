//! `cargo xtask bench`: measurements as ratios to a floor and to a peer, taken in the same run.
//!
//! Machines are noisy, so nothing here compares with a number of another day.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "commands for people: results on stdout, progress on stderr"
)]

mod acceptance;
mod against_hosts;
mod agents;
mod catalog;
mod catalog_for_task;
mod children;
mod contender;
mod discovery;
mod floor;
mod graph;
mod instructions;
mod journal;
mod ours;
mod pi;
mod plain_bm25;
mod prompt;
mod reload;
mod report;
mod samples;
mod sandbox;
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

use std::path::PathBuf;
use std::process::ExitCode;

use grove_testkit::task::arguments::Arguments;

/// As in the program that is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Arguments::of_process()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// A path that `cargo xtask bench` gives in the environment.
fn given(variable: &str) -> Result<PathBuf, String> {
    let value = std::env::var_os(variable);
    let value = value.ok_or_else(|| format!("{variable} is not set; use `cargo xtask bench`"))?;
    Ok(value.into())
}

fn run(mut arguments: Arguments) -> Result<(), String> {
    let which = arguments.next_word();
    match which.as_deref() {
        Some("discovery") => discovery::run(arguments),
        Some("bench-child") => run_child(arguments),
        Some("catalog-budget") => spending::run(arguments),
        Some("catalog-against-hosts") => against_hosts::run(arguments),
        Some("start") => start::run(arguments),
        Some("agents") => agents::run(arguments),
        Some("catalog") => catalog::run(arguments),
        Some("catalog-for-task") => catalog_for_task::run(arguments),
        Some("catalog-hosts") => visible::run(arguments),
        Some("children") => children::run(arguments),
        Some("graph") => graph::run(arguments),
        Some("instructions") => instructions::run(arguments),
        Some("journal") => journal::run(arguments),
        Some("acceptance") => acceptance::run(arguments),
        Some("prompt") => prompt::run(arguments),
        Some("reload") => reload::run(arguments),
        Some("sandbox") => sandbox::run(arguments),
        Some("search") => search::run(arguments),
        Some("search-quality") => search_quality::run(arguments),
        Some("serve") => serve::run(arguments),
        Some("trust") => trust::run(arguments),
        Some("watch") => watch::run(arguments),
        _ => Err("which benchmark? discovery, start, agents, catalog, catalog-budget, catalog-for-task, catalog-hosts, children, graph, instructions, journal, prompt, reload, sandbox, search, search-quality, serve, trust or watch".to_owned()),
    }
}

/// Does one piece of work, once or often for a profiler, and exits: a process whose system calls can be
/// counted.
fn run_child(mut arguments: Arguments) -> Result<(), String> {
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
