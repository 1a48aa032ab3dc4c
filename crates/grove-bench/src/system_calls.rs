//! The number of system calls of a piece of work, counted by `strace` in a process of its own.
//!
//! Counts do not depend on the load of the machine, so they are what a regression is seen by.
//! Every process also starts, prepares and ends; a second process that does only that is counted
//! too and taken off.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use grove_testkit::need::Need;

use crate::pi;
use crate::work::Work;
use grove_testkit::task::{step, workspace};

/// Traced calls are some ten times slower.
const TRACE_LIMIT: Duration = Duration::from_mins(5);

/// Calls by name; a name is absent when the work made none.
pub(crate) type Counts = BTreeMap<String, i64>;

/// Counts one run of `work`.
pub(crate) fn of_work(work: Work, library: &Path) -> Result<Counts, String> {
    of_child(work.name(), library)
}

/// Counts one run of the work of this name.
pub(crate) fn of_child(name: &str, library: &Path) -> Result<Counts, String> {
    let program = std::env::current_exe().map_err(|error| format!("who are we: {error}"))?;
    let child = |flags: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["bench-child", name]).arg(library).args(flags);
        command
    };
    let whole = trace(&child(&[]))?;
    let rest = trace(&child(&["--prepare-only"]))?;
    Ok(difference(whole, &rest))
}

/// Counts one run of pi's loader. Node's own threads make the result vary by some dozens.
pub(crate) fn of_pi(library: &Path) -> Result<Counts, String> {
    let runs = |n_runs: &str| -> Result<Command, String> {
        let mut command = pi::command(library)?;
        command.arg(n_runs);
        Ok(command)
    };
    let whole = trace(&runs("1")?)?;
    let rest = trace(&runs("0")?)?;
    Ok(difference(whole, &rest))
}

fn trace(command: &Command) -> Result<Counts, String> {
    let strace = Need::Strace.find()?;
    let summary = workspace::target().join("bench/strace.txt");
    let mut traced = Command::new(strace);
    traced.args(["-f", "-c", "-o"]).arg(&summary).arg("--");
    traced.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        traced.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            traced.env(name, value);
        }
    }
    step::quiet("strace", &mut traced, TRACE_LIMIT)?;
    let text = fs::read_to_string(&summary)
        .map_err(|error| format!("cannot read {}: {error}", summary.display()))?;
    Ok(parse(&text))
}

/// Lines are: % time, seconds, µs per call, calls, errors when there were any, name.
fn parse(summary: &str) -> Counts {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let name = *cells.last()?;
        let n_calls = cells.get(3)?.parse().ok()?;
        (name != "total").then(|| (name.to_owned(), n_calls))
    };
    summary.lines().filter_map(row).collect()
}

fn difference(mut whole: Counts, rest: &Counts) -> Counts {
    for (name, n_calls) in rest {
        *whole.entry(name.clone()).or_default() -= n_calls;
    }
    whole.retain(|_, n_calls| *n_calls != 0);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 61.11    0.000011           0      1111       110 openat
 38.89    0.000007           0       222           getdents64
------ ----------- ----------- --------- --------- ----------------
100.00    0.000018           0      1333       110 total
";

    #[test]
    fn calls_are_read_with_and_without_errors() {
        let counts = parse(SUMMARY);
        let expected = [("getdents64".to_owned(), 222), ("openat".to_owned(), 1111)];
        assert_eq!(counts, expected.into());
    }

    #[test]
    fn what_every_process_does_is_taken_off() {
        let rest = [("openat".to_owned(), 11), ("getdents64".to_owned(), 222)].into();
        let counts = difference(parse(SUMMARY), &rest);
        assert_eq!(counts, [("openat".to_owned(), 1100)].into());
    }
}
