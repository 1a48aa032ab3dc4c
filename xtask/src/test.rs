//! `cargo xtask test`: everything that has to hold, in one command with one verdict.
//!
//! A step that fails does not stop the others; the verdict counts steps.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use grove_testkit::need::{self, LeftOut};

use crate::tested::Run;
use crate::verdict::Verdict;
use crate::{fuzz, reference, tested, tools, words};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

/// A cold build on two cores takes minutes; only a hanging step meets this.
const CARGO_LIMIT: Duration = Duration::from_hours(1);

/// Long enough to see every seed and some thousand mutations of each.
const FUZZ_SECONDS: u64 = 20;

/// The targets that are fuzzed, with the number of inputs that two cores try in about that time.
const FUZZED: [(&str, &str, u64); 7] = [
    ("frontmatter", "fuzz frontmatter", 120_000),
    ("agent", "fuzz agent", 130_000),
    ("chain", "fuzz chain", 120_000),
    ("manifest", "fuzz manifest", 1_500_000),
    ("index", "fuzz index", 90_000),
    ("mcp", "fuzz mcp", 30_000),
    ("model_stream", "fuzz model_stream", 200_000),
];

/// The tests of the default build.
const DEFAULT: &str = "--workspace --exclude grove-reference";

/// The tests of features that are off by default.
const OPTIONAL: &str =
    "--package grove --features exact-tokens,reference --test it -- counted reference_oracle";

/// Property tests begin with this, so that a verdict is about a change and not about the day's luck; `cargo test`
/// alone begins somewhere new each time.
const PROPERTY_SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

/// `cargo xtask test`: what holds with nothing but cargo, git and a shell, and with `--against-hosts` the rest.
pub(crate) fn run(mut arguments: Arguments) -> Result<ExitCode, String> {
    let against_hosts = arguments.flag("--against-hosts");
    arguments.finish()?;
    let mut verdict = Verdict::default();
    let run = if against_hosts {
        run_against_hosts(&mut verdict)?;
        Run::AgainstHosts
    } else {
        let account = tested::new_account(Run::Alone)?;
        run_all(&mut verdict, Run::Alone, &account);
        if verdict.has_passed() {
            tested::remember()?;
        }
        Run::Alone
    };
    println!("\n{}", verdict.text(&tested::left_out(run)?));
    Ok(verdict.exit_code())
}

/// Installs what tests compare with. What `cargo xtask test` has found to hold for the same files is not tried again.
fn run_against_hosts(verdict: &mut Verdict) -> Result<(), String> {
    install(verdict);
    let account = tested::new_account(Run::AgainstHosts)?;
    if tested::is_remembered() {
        let before = tested::left_out(Run::Alone)?;
        if !before.is_empty() {
            verdict.step("cargo test of the rest", || {
                cargo_test(&one_by_one(&before), Run::AgainstHosts, &account)
            });
        }
    } else {
        run_all(verdict, Run::AgainstHosts, &account);
    }
    verdict.step("optional features", || {
        cargo_test(&split(OPTIONAL), Run::AgainstHosts, &account)
    });
    verdict.step("grove-reference", || {
        cargo("test --package grove-reference")
    });
    for (target, step, runs) in FUZZED {
        verdict.step(step, || {
            fuzz::fuzz(target, &fuzz::Options::for_tests(runs, FUZZ_SECONDS))
        });
    }
    Ok(())
}

fn install(verdict: &mut Verdict) {
    verdict.step("install system packages", tools::install_system_packages);
    verdict.step("install skills-ref", tools::install_oracle);
    verdict.step("install mcp", tools::install_mcp);
    verdict.step("install pyyaml", tools::install_yaml);
    verdict.step("install securesystemslib", tools::install_signatures);
    verdict.step("install node", tools::install_node);
    verdict.step("install mcp for node", tools::install_mcp_sdk);
    verdict.step("install mcp conformance", tools::install_mcp_conformance);
    verdict.step("install pi", tools::install_pi);
    verdict.step("install the browser's tools", tools::install_browser_tools);
    verdict.step("install claude", || tools::CLAUDE.install());
    verdict.step("install codex", || tools::CODEX.install());
    verdict.step("install copilot", || tools::COPILOT.install());
}

fn run_all(verdict: &mut Verdict, run: Run, account: &Path) {
    verdict.step("cargo fmt", || cargo("fmt --all --check"));
    verdict.step("words", words::check);
    verdict.step("cargo clippy", || {
        cargo("clippy --workspace --all-targets --all-features -- -D warnings")
    });
    verdict.step("cargo run --release", || cargo("run --release -- try"));
    verdict.step("references are current", reference::check);
    verdict.step("cargo test", || cargo_test(&split(DEFAULT), run, account));
}

fn split(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// The arguments of `cargo test` that run exactly these tests.
fn one_by_one(tests: &[LeftOut]) -> Vec<String> {
    // Fewer packages would be built with fewer features, and so once more.
    let all = "--workspace --exclude grove-reference --lib --bins --tests -- --exact".split(' ');
    let names: BTreeSet<&str> = tests.iter().map(|test| test.test.as_str()).collect();
    all.chain(names).map(str::to_owned).collect()
}

/// Runs tests; against hosts, one that needs a program which is not there fails.
fn cargo_test(arguments: &[String], run: Run, account: &Path) -> Result<(), String> {
    let mut cargo = seeded_cargo();
    cargo
        .args(["test", "--no-fail-fast"])
        .args(arguments)
        .env(need::ACCOUNT, account)
        .env_remove(need::STRICT);
    if run == Run::AgainstHosts {
        cargo.env(need::STRICT, "1");
    }
    step::show("cargo test", &mut cargo, CARGO_LIMIT)
}

/// `cargo xtask closed`: the tests of failing closed, with as many tries as were promised instead of a few.
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

/// `cargo xtask laws`: the laws of catalogs over many more libraries, tasks and budgets than in a test run.
pub(crate) fn laws(mut arguments: Arguments) -> Result<(), String> {
    let scenes: u32 = arguments.value("--scenes")?.unwrap_or(100_000);
    arguments.finish()?;
    let mut cargo = workspace::cargo();
    cargo
        .args("test --package grove-catalog --test it any_library_at_any_budget".split(' '))
        .env("GROVE_LAW_SCENES", scenes.to_string());
    step::show("the laws of catalogs", &mut cargo, CARGO_LIMIT)
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
    let mut cargo = seeded_cargo();
    cargo.args(arguments.split(' '));
    step::show(&format!("cargo {arguments}"), &mut cargo, CARGO_LIMIT)
}

/// cargo with the variables through which tests find what they need.
fn seeded_cargo() -> Command {
    let mut cargo = workspace::cargo();
    cargo.envs(tools::environment());
    let (seed, value) = PROPERTY_SEED;
    if env::var_os(seed).is_none() {
        cargo.env(seed, value);
    }
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_run_again_by_their_names() {
        let left_out = |package: &str, test: &str| LeftOut {
            package: package.to_owned(),
            test: test.to_owned(),
            missing: Vec::new(),
        };
        let tests = [
            left_out("grove", "a::b"),
            left_out("grove", "c"),
            left_out("grove-exec", "a::b"),
        ];
        assert_eq!(
            one_by_one(&tests).join(" "),
            "--workspace --exclude grove-reference --lib --bins --tests -- --exact a::b c"
        );
    }
}
