//! `cargo xtask bench acceptance`: scripted children, honest and not, judged here and by pi-subagents.

use std::time::Duration;

use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

/// Some seventy runs, and a build.
const LIMIT: Duration = Duration::from_mins(30);

pub(crate) fn run(arguments: Arguments) -> Result<(), String> {
    arguments.finish()?;
    let peer = crate::given("GROVE_BENCH_PI_ACCEPTANCE")?;
    let mut cargo = workspace::cargo();
    cargo
        .args(["test", "--quiet", "--package", "grove", "--test", "it"])
        .args(["run_sessions::gates", "--", "--nocapture"])
        .env("GROVE_GATES_PEER", peer);
    step::show("the children", &mut cargo, LIMIT)
}
