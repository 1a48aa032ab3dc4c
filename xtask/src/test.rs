//! `cargo xtask test`: everything that has to hold, in one command with one verdict.
//!
//! A step that fails does not stop the others; the verdict counts steps.

use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::{fuzz, reference, step, tools, workspace};

/// A cold build on two cores takes minutes; only a hanging step meets this.
const CARGO_LIMIT: Duration = Duration::from_hours(1);

/// Long enough to see every seed and some thousand mutations of each.
const FUZZ_SECONDS: u64 = 20;

/// What is fuzzed, with the number of inputs that two cores try in about that time.
const FUZZED: [(&str, &str, u64); 7] = [
    ("frontmatter", "fuzz frontmatter", 120_000),
    ("agent", "fuzz agent", 130_000),
    ("chain", "fuzz chain", 120_000),
    ("manifest", "fuzz manifest", 1_500_000),
    ("index", "fuzz index", 90_000),
    ("mcp", "fuzz mcp", 30_000),
    ("model_stream", "fuzz model_stream", 200_000),
];

/// Property tests begin with this, so that a verdict is about a change and not about the day's luck; `cargo test`
/// alone begins somewhere new each time.
const PROPERTY_SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

pub(crate) fn run(mut arguments: Arguments) -> Result<ExitCode, String> {
    let skip_install = arguments.flag("--skip-install");
    arguments.finish()?;

    let mut verdict = Verdict::default();
    if !skip_install {
        verdict.step("install skills-ref", tools::install_oracle);
        verdict.step("install mcp", tools::install_mcp);
        verdict.step("install pyyaml", tools::install_yaml);
        verdict.step("install securesystemslib", tools::install_signatures);
        verdict.step("install node", tools::install_node);
        verdict.step("install mcp for node", tools::install_mcp_sdk);
        verdict.step("install mcp conformance", tools::install_mcp_conformance);
        verdict.step("install pi", tools::install_pi);
        verdict.step("install claude", || tools::CLAUDE.install());
        verdict.step("install codex", || tools::CODEX.install());
        verdict.step("install copilot", || tools::COPILOT.install());
        verdict.step("install strace and tmux", tools::install_system_packages);
    }
    verdict.step("cargo fmt", || cargo("fmt --all --check"));
    verdict.step("cargo clippy", || {
        cargo("clippy --workspace --all-targets --all-features -- -D warnings")
    });
    verdict.step("cargo run --release", || cargo("run --release -- try"));
    verdict.step("references are current", reference::check);
    verdict.step("cargo test", || cargo("test --workspace --no-fail-fast"));
    verdict.step("exact tokens", || {
        cargo("test --package grove --features exact-tokens --test it counted")
    });
    for (target, step, runs) in FUZZED {
        verdict.step(step, || {
            fuzz::fuzz(target, &fuzz::Options::for_tests(runs, FUZZ_SECONDS))
        });
    }
    verdict.print();
    Ok(verdict.exit_code())
}

/// `cargo xtask closed`: what the tests of failing closed try a little of, as much as was promised.
pub(crate) fn closed(arguments: Arguments) -> Result<(), String> {
    arguments.finish()?;
    let mut cargo = workspace::cargo();
    cargo
        .args("test --package grove --test it fails_closed -- --nocapture".split(' '))
        .envs(tools::environment())
        .env("GROVE_TEST_GRANTS", "10000")
        .env("GROVE_TEST_PROMPTS", "all")
        .env("GROVE_TEST_KILLS", "210")
        .env("GROVE_TEST_KILL_STEP", "1")
        .env("GROVE_TEST_SWAP_MS", "10000")
        .env("GROVE_TEST_PAIRS", "1000");
    step::show("cargo test fails_closed", &mut cargo, CARGO_LIMIT)
}

/// The tests that make a recording anew when they are told to: workflows, `grove try`, the guide.
const RECORDED: [&str; 3] = [
    "workflow_sessions::every_workflow",
    "try_sessions::it_is_tried",
    "documents::the_guide_prints",
];

/// `cargo xtask record`: the recordings anew, from what the tests let a model say, after what children are told was changed.
pub(crate) fn record(arguments: Arguments) -> Result<(), String> {
    arguments.finish()?;
    let mut cargo = workspace::cargo();
    cargo
        .args("test --package grove --test it --".split(' '))
        .args(RECORDED)
        .envs(tools::environment())
        .env("GROVE_RECORD", "1");
    step::show("cargo test with GROVE_RECORD", &mut cargo, CARGO_LIMIT)
}

fn cargo(arguments: &str) -> Result<(), String> {
    let mut cargo = workspace::cargo();
    cargo.args(arguments.split(' ')).envs(tools::environment());
    let (seed, value) = PROPERTY_SEED;
    if env::var_os(seed).is_none() {
        cargo.env(seed, value);
    }
    step::show(&format!("cargo {arguments}"), &mut cargo, CARGO_LIMIT)
}

/// The steps so far and how each went.
#[derive(Debug, Default)]
struct Verdict {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: &'static str,
    result: Result<(), String>,
    elapsed: Duration,
}

impl Verdict {
    fn step(&mut self, name: &'static str, run: impl FnOnce() -> Result<(), String>) {
        eprintln!("==> {name}");
        let start = Instant::now();
        let result = run();
        if let Err(reason) = &result {
            eprintln!("==> {name} failed: {reason}");
        }
        self.steps.push(Step {
            name,
            result,
            elapsed: start.elapsed(),
        });
    }

    /// One line per step and the count as the last line.
    fn print(&self) {
        println!();
        for step in &self.steps {
            let seconds = step.elapsed.as_secs_f64();
            match &step.result {
                Ok(()) => println!("ok      {:<24}{seconds:>8.1} s", step.name),
                Err(reason) => {
                    let first_line = reason.lines().next().unwrap_or_default();
                    println!("FAILED  {:<24}{seconds:>8.1} s  {first_line}", step.name);
                }
            }
        }
        let n_failed = self.n_failed();
        println!("{} passed, {n_failed} failed", self.steps.len() - n_failed);
    }

    fn exit_code(&self) -> ExitCode {
        match self.n_failed() {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }

    fn n_failed(&self) -> usize {
        self.steps
            .iter()
            .filter(|step| step.result.is_err())
            .count()
    }
}
