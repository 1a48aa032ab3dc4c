//! `cargo xtask fuzz`: coverage-guided fuzzing with libFuzzer, on the stable toolchain.
//!
//! The instrumentation is asked for with code-generation flags that stable accepts. Sanitizers
//! would need another toolchain; our crates forbid unsafe code, so a panic, a hang or a flood of
//! memory is what there is to find.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use grove_testkit::process::{self, Ending, Finished};

use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

/// The instrumentation of cargo-fuzz, without its flags for the nightly toolchain.
const INSTRUMENTATION: [&str; 9] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    // A comparison with a fixed text is otherwise turned into plain loads after the
    // instrumentation, and libFuzzer never learns the text. As a call it is seen: with this flag
    // `---\nname: ` is found in a second, without it not in a minute.
    "-Cllvm-args=-max-loads-per-memcmp=0",
    // One unit per crate keeps the counters of a function together.
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
];

const BUILD_LIMIT: Duration = Duration::from_mins(30);

/// The time that libFuzzer may need after its time is up: for the last input and the report.
const GRACE: Duration = Duration::from_mins(3);

/// The code with which libFuzzer ends when an input took longer than it may.
const TOO_SLOW: i32 = 70;

/// Inputs longer than the largest frontmatter we accept only cost time.
const LONGEST_INPUT: &str = "-max_len=20000";
const SLOWEST_INPUT: &str = "-timeout=5";
const MEMORY: &str = "-rss_limit_mb=2048";

/// Inputs that are kept in the repository stay small.
const LONGEST_KEPT_INPUT: &str = "-max_len=2000";

/// The options beside the target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    seconds: u64,
    /// Add the inputs that reached new code to the stored corpus.
    keep: bool,
    /// Show libFuzzer's own output as it comes.
    verbose: bool,
    /// The seed of a run that is like the last one; none for a run that begins somewhere new.
    like_last: Option<LikeLast>,
}

/// A run that is like the last one. It is not quite the same: every process seeds its hash maps anew, and what
/// reaches new code depends on them.
#[derive(Debug, Clone, Copy)]
struct LikeLast {
    /// The seed with which the mutations start.
    seed: u32,
    /// The largest number of inputs that are tried, so that a faster machine looks no further than others.
    runs: Option<u64>,
}

impl Options {
    /// A run of at most this many inputs and this length that keeps nothing, knows nothing of earlier ones, and
    /// starts where the last one did: for continuous integration, which is to judge a change and not the day's luck.
    pub(crate) fn for_tests(runs: u64, seconds: u64) -> Self {
        Self {
            seconds,
            keep: false,
            verbose: false,
            like_last: Some(LikeLast {
                seed: 1,
                runs: Some(runs),
            }),
        }
    }
}

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let target = arguments.next_word().ok_or("which fuzz target?")?;
    let options = Options {
        seconds: arguments.value("--seconds")?.unwrap_or(60),
        keep: arguments.flag("--keep"),
        verbose: arguments.flag("--verbose"),
        like_last: arguments
            .value("--seed")?
            .map(|seed| LikeLast { seed, runs: None }),
    };
    let input: Option<PathBuf> = arguments.value("--reproduce")?;
    arguments.finish()?;
    match input {
        Some(input) => reproduce(&target, &input),
        None => fuzz(&target, &options),
    }
}

/// Fuzzes `target` and fails when an input was found that crashes, hangs or floods it.
pub(crate) fn fuzz(target: &str, options: &Options) -> Result<(), String> {
    let program = build(target)?;
    let folders = Folders::of(target, options)?;
    fuzz_with(target, &program, &folders, options)?;
    if options.keep {
        keep(&program, &folders)?;
    }
    Ok(())
}

/// The same with a program that is built. What an input takes by the clock says little on a machine that is busy
/// elsewhere, so a slow one counts when it is slow twice.
fn fuzz_with(
    target: &str,
    program: &Path,
    folders: &Folders,
    options: &Options,
) -> Result<(), String> {
    match fuzz_once(target, program, folders, options) {
        Err(Failure::SlowOnce(reason)) => {
            eprintln!("{reason}; the input is not slow when it is alone, so all is done again");
            fuzz_once(target, program, folders, options).map_err(Failure::into_reason)
        }
        other => other.map_err(Failure::into_reason),
    }
}

/// The reason why a run failed.
enum Failure {
    /// An input took too long, and did not when it was tried again.
    SlowOnce(String),
    Other(String),
}

impl Failure {
    fn into_reason(self) -> String {
        match self {
            Self::SlowOnce(reason) | Self::Other(reason) => reason,
        }
    }
}

fn fuzz_once(
    target: &str,
    program: &Path,
    folders: &Folders,
    options: &Options,
) -> Result<(), Failure> {
    let mut command = Command::new(program);
    command
        .arg(&folders.found)
        .arg(&folders.stored)
        .arg(format!("-max_total_time={}", options.seconds))
        .args([LONGEST_INPUT, SLOWEST_INPUT, MEMORY])
        .arg(format!("-artifact_prefix={}/", folders.artifacts.display()));
    if let Some(like) = options.like_last {
        command.arg(format!("-seed={}", like.seed));
        if let Some(runs) = like.runs {
            command.arg(format!("-runs={runs}"));
        }
    }
    if folders.dictionary.is_file() {
        command.arg(format!("-dict={}", folders.dictionary.display()));
    }
    let before = files(&folders.artifacts);
    let limit = Duration::from_secs(options.seconds) + GRACE;
    let (ending, outcome) = execute(&mut command, limit, options.verbose);
    let mut found = files(&folders.artifacts);
    found.retain(|artifact| !before.contains(artifact));
    let Err(reason) = outcome else {
        return Ok(());
    };
    let is_slow = |artifact: &PathBuf| reproduce_with(program, artifact).is_err();
    if ending == Some(Ending::Exited(TOO_SLOW)) && !found.is_empty() && !found.iter().any(is_slow) {
        return Err(Failure::SlowOnce(reason));
    }
    for artifact in found {
        let artifact = artifact.display();
        eprintln!("found {artifact}\n  cargo xtask fuzz {target} --reproduce {artifact}");
    }
    Err(Failure::Other(reason))
}

/// Runs `target` once on the content of `input`.
fn reproduce(target: &str, input: &Path) -> Result<(), String> {
    reproduce_with(&build(target)?, input)
}

fn reproduce_with(program: &Path, input: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.arg(input).args([SLOWEST_INPUT, MEMORY]);
    step::show("the fuzz target", &mut command, GRACE)
}

/// Runs it, and returns how it ended and whether that is well.
fn execute(
    command: &mut Command,
    limit: Duration,
    verbose: bool,
) -> (Option<Ending>, Result<(), String>) {
    let finished = if verbose {
        process::stream(command, limit)
    } else {
        process::capture(command, limit)
    };
    match finished {
        Ok(finished) => {
            print_milestones(&finished);
            let ending = finished.ending;
            (
                Some(ending),
                finished.require_success("libFuzzer").map(drop),
            )
        }
        Err(error) => (None, Err(format!("cannot start libFuzzer: {error}"))),
    }
}

/// libFuzzer reports in thousands of lines; where coverage began and ended, and what a panic
/// said, is enough.
fn print_milestones(finished: &Finished) {
    let output = finished.stderr_text();
    let mut follows_panic = false;
    for line in output.lines() {
        let panics = line.contains(" panicked at ");
        if panics || follows_panic || line.contains("INITED") || line.contains("DONE") {
            eprintln!("{line}");
        }
        follows_panic = panics;
    }
}

/// Adds to the stored corpus what reaches code that the stored inputs do not reach.
fn keep(program: &Path, folders: &Folders) -> Result<(), String> {
    let mut command = Command::new(program);
    command
        .args(["-merge=1", LONGEST_KEPT_INPUT])
        .arg(&folders.stored)
        .arg(&folders.found);
    step::quiet("libFuzzer -merge=1", &mut command, BUILD_LIMIT).map(drop)
}

/// Builds the instrumented program. Naming the target triple keeps the instrumentation out of
/// build scripts.
fn build(target: &str) -> Result<PathBuf, String> {
    let triple = host_triple()?;
    let target_dir = workspace::target().join("fuzz");
    let mut cargo = workspace::cargo();
    cargo
        .args([
            "build",
            "--quiet",
            "--release",
            "--manifest-path",
            "fuzz/Cargo.toml",
        ])
        .args(["--target", &triple, "--bin", target, "--features", target])
        .env("CARGO_TARGET_DIR", &target_dir)
        .env("CARGO_ENCODED_RUSTFLAGS", INSTRUMENTATION.join("\x1f"));
    step::show("the build of the fuzz target", &mut cargo, BUILD_LIMIT)?;
    Ok(target_dir.join(triple).join("release").join(target))
}

fn host_triple() -> Result<String, String> {
    let mut rustc = Command::new("rustc");
    rustc.arg("-vV").current_dir(workspace::root());
    let version = step::quiet("rustc -vV", &mut rustc, GRACE)?.stdout_text();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not say its host")?.to_owned())
}

/// The folders that inputs come from and go to.
#[derive(Debug)]
struct Folders {
    /// Inputs of earlier runs on this machine; libFuzzer writes new ones here.
    found: PathBuf,
    /// The corpus in the repository, only read.
    stored: PathBuf,
    /// Inputs that crashed, hung or flooded the target.
    artifacts: PathBuf,
    /// Words of the format, from which mutations are made.
    dictionary: PathBuf,
}

impl Folders {
    fn of(target: &str, options: &Options) -> Result<Self, String> {
        let fuzz = workspace::root().join("fuzz");
        let is_limited = options.like_last.is_some_and(|like| like.runs.is_some());
        let corpus = if is_limited {
            let corpus = workspace::target().join("fuzz-corpus-of-tests");
            // What an earlier run found would make this one another.
            let _ = fs::remove_dir_all(corpus.join(target));
            corpus
        } else {
            workspace::target().join("fuzz-corpus")
        };
        let folders = Self {
            found: corpus.join(target),
            stored: fuzz.join("corpus").join(target),
            artifacts: workspace::target().join("fuzz-artifacts"),
            dictionary: fuzz.join("dictionaries").join(format!("{target}.dict")),
        };
        for folder in [&folders.found, &folders.artifacts] {
            fs::create_dir_all(folder)
                .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        }
        Ok(folders)
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the outcome of a program that says once that an input was too slow, and says so again with code `again`
    /// when it gets the input alone; and the number of times that it was started to fuzz.
    fn outcome(again: i32) -> (Result<(), String>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["found", "stored", "artifacts"] {
            fs::create_dir(at(name)).unwrap();
        }
        let script = format!(
            "#!/bin/sh\ncd '{}'\n[ -f \"$1\" ] && exit {again}\necho >> started\n\
             [ -e artifacts/timeout-1 ] && exit 0\n: > artifacts/timeout-1\nexit {TOO_SLOW}\n",
            folder.path().display()
        );
        fs::write(at("script"), script).unwrap();
        // By another process: one that this process has written may still be open for writing in a third.
        let mut install = Command::new("install");
        install
            .args(["-m", "755"])
            .arg(at("script"))
            .arg(at("program"));
        step::quiet("install", &mut install, GRACE).unwrap();
        let folders = Folders {
            found: at("found"),
            stored: at("stored"),
            artifacts: at("artifacts"),
            dictionary: at("dictionary"),
        };
        let options = Options::for_tests(1, 1);
        let outcome = fuzz_with("it", &at("program"), &folders, &options);
        let started = fs::read_to_string(at("started")).unwrap();
        (outcome, started.lines().count())
    }

    #[test]
    fn an_input_that_is_slow_once_is_forgiven() {
        assert_eq!(outcome(0), (Ok(()), 2));
    }

    #[test]
    fn an_input_that_is_slow_again_is_a_failure() {
        let (outcome, started) = outcome(TOO_SLOW);
        assert!(outcome.unwrap_err().contains("code 70"));
        assert_eq!(started, 1);
    }
}
