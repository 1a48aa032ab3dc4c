//! The project's own commands: tests with everything they compare with, benchmarks, fuzzing and
//! generated references. Run as `cargo xtask <command>`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "commands for people: results on stdout, progress on stderr"
)]

mod bench;
mod fuzz;
mod look;
mod meaning;
mod nemesis;
mod programs;
mod reference;
mod test;
mod tested;
mod tools;
mod verdict;
mod words;

use std::process::ExitCode;

use grove_testkit::task::arguments::Arguments;

const USAGE: &str = "\
cargo xtask <command>

  test                          format, lints, references, build and tests; says how many tests were left out and why
      [--against-hosts]         installs what the tests compare with into target/test-tools, and runs the tests that were
                                left out by the last `test` of the same files, or else everything; and a short fuzz run
  closed                        what must never fail open, tried at full length: kills, swapped links, stale stamps
  laws [--scenes 100000]        the laws of catalogs over so many libraries, tasks and budgets
  record                        the recordings anew (workflows, `grove try`, the guide), after an agent, a chain or
                                anything else that children are told was changed
  bench discovery               discovery against its floors and against pi's loader
      [--sizes 100,1000,10000,100000] [--runs 31] [--json]
  bench start [--runs 20]       a cold `grove skills list --json`, beside /bin/true
  bench prompt [--runs 5]       a thousand prompts from one snapshot, beside a bare read of the same files
  bench catalog-hosts           what is left of generated libraries in what hosts tell their models
      [--sizes 52,200,1000,10000]
  bench search                  searches of 10,000 skills, cold and warm; every id and name is found
      [--size 10000] [--runs 31] [--skills DIR] [--meaning TABLE] [--in-process]
  bench search-quality          hits at 1, 5 and 10 for tasks in plain words, beside plain BM25
      [--failures] [--skills DIR --tasks FILE] [--meaning TABLE [--least-at-5 PERCENT]]
  bench catalog-for-task        the right skill for a task an entry with a description, in 6,000 to 30,000 characters
      [--half tune] [--meaning TABLE] [--skills DIR] [--beside DIR] [--tasks FILE] [--text N]
  bench children                1,000 children in one supervisor, beside pi, Codex and Claude Code
      [--count 1000] [--peers 4]
  bench graph [--runs N]        1 to 1,000 children of one list side by side, beside the model server alone
  bench journal                 a durable event beside a bare fdatasync; a list of 10,000 runs
      [--events 1000] [--runs 10000]
  bench watch                   what watching 1,000 children costs, and when a second terminal shows an event
      [--count 1000] [--events 200] [--seconds 15] [--marks 100] [--program FILE]
  bench sandbox [--peer FILE]   what honest work takes without the sandbox, in it and as a check; `--as UID` as another user
  bench acceptance              children that are honest and children that are not, beside pi-subagents
  nemesis one                   kill -9 of everybody at every point of one run, on the release build
  nemesis gates                 the same for a run whose work is asked for what is missing, verified and reviewed
  nemesis graph [--random N]    the same for a chain with a list, working trees and runs below runs; or at N moments
  nemesis sessions              the same for whoever writes a session, which then goes on and is forked
  nemesis shapes [--runs 20]    seven shapes of processes, two children each, one of them stopped
  nemesis engines [--runs 20]   the same seven shapes in the tools of four agent programs, stopped and killed
  nemesis supervisors           225 kills of three that compete for 20,000 children
  nemesis verify [--runs 20]    nine ways in which a command hangs, each over half a second after its limit
  programs --acp                OpenCode and Gemini CLI as children: the table of cases, cancel, resume; installs them
  programs --newest             the newest version of each agent program that the registry has, against the same
                                table; says what differs, and is made to be scheduled
  look [--output DIR]           the pages in headless Chromium, light and dark, 400 and 1,400 px wide
  meaning make [--python FILE]  the table of meanings from its sources, in target/meaning; needs PyTorch
  meaning gate [--table FILE]   whether searches with a table find what they should
  meaning same [--table FILE]   whether a build for this processor has the same results as one for every processor
  fuzz TARGET [--seconds 60]    coverage-guided fuzzing of a target in fuzz/fuzz_targets
      [--keep] [--verbose] [--reproduce FILE]
  words [--list NAME]           counts that say whether names and comments can be read, each with its bound; the places
                                behind one of them: types, questions, short, people, lines
  reference [--check]           writes the generated references, or says which are stale";

fn main() -> ExitCode {
    match run(Arguments::of_process()) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: Arguments) -> Result<ExitCode, String> {
    match arguments.next_word().as_deref() {
        // The only one whose failure is part of its output.
        Some("test") => return test::run(arguments),
        Some("closed") => test::closed(arguments)?,
        Some("record") => test::record(arguments)?,
        Some("bench") => bench::run(arguments)?,
        Some("fuzz") => fuzz::run(arguments)?,
        Some("laws") => test::laws(arguments)?,
        Some("look") => look::run(arguments)?,
        Some("meaning") => meaning::run(arguments)?,
        Some("nemesis") => nemesis::run(arguments)?,
        Some("programs") => programs::run(arguments)?,
        Some("reference") => reference::run(arguments)?,
        Some("words") => words::run(arguments)?,
        Some("help" | "--help" | "-h") | None => println!("{USAGE}"),
        Some(unknown) => return Err(format!("unknown command {unknown}\n\n{USAGE}")),
    }
    Ok(ExitCode::SUCCESS)
}
