//! `cargo xtask bench acceptance`: scripted children, honest and not, judged here and by pi-subagents; children that lie,
//! with every engine; and commands that forge their own verdict. One false acceptance fails it.

use std::time::Duration;

use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

/// Some two hundred runs, and a build.
const LIMIT: Duration = Duration::from_mins(45);

pub(crate) fn run(arguments: Arguments) -> Result<(), String> {
    arguments.finish()?;
    let peer = crate::given("GROVE_BENCH_PI_ACCEPTANCE")?;
    let mut cargo = workspace::cargo();
    cargo
        .args(["test", "--quiet", "--package", "grove", "--test", "it"])
        .args(["--", "--nocapture"])
        .args(["run_sessions::gates", "run_sessions::lying_children"])
        .arg("run_sessions::forged_verdicts")
        .env("GROVE_GATES_PEER", peer);
    step::show("the children", &mut cargo, LIMIT)
}
