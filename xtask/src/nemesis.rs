//! `cargo xtask nemesis`: the tests that kill processes, at all points and often instead of at a few.

use std::time::Duration;

use crate::tools;
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

/// Some hundred points, each a run and its recovery.
const LIMIT: Duration = Duration::from_hours(3);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let what = arguments.next_word();
    let times: u32 = arguments.value("--runs")?.unwrap_or(20);
    let random: u32 = arguments.value("--random")?.unwrap_or_default();
    let is_release = !arguments.flag("--debug");
    arguments.finish()?;
    let (test, variable, value) = match what.as_deref() {
        Some("one") => (
            "run_sessions::nemesis::whoever_is_killed_nothing",
            "GROVE_NEMESIS_ALL",
            "1".to_owned(),
        ),
        Some("gates") => (
            "run_sessions::nemesis::whoever_is_killed_while_work",
            "GROVE_NEMESIS_ALL",
            "1".to_owned(),
        ),
        Some("graph") if random > 0 => (
            "run_sessions::nemesis::graphs::moments",
            "GROVE_NEMESIS_RANDOM",
            random.to_string(),
        ),
        Some("disturbances") => (
            "run_sessions::nemesis::graphs::disturbances run_sessions::nemesis::graphs::full_disk",
            "GROVE_NEMESIS_ALL",
            "1".to_owned(),
        ),
        Some("graph") => (
            "run_sessions::nemesis::graphs::whoever",
            "GROVE_NEMESIS_ALL",
            "1".to_owned(),
        ),
        Some("sessions") => (
            "run_sessions::nemesis::session_files",
            "GROVE_NEMESIS_ALL",
            "1".to_owned(),
        ),
        Some("shapes") => (
            "run_sessions::shapes",
            "GROVE_SHAPES_TIMES",
            times.to_string(),
        ),
        Some("engines") => (
            "run_sessions::engines::shapes",
            "GROVE_ENGINE_SHAPES_TIMES",
            times.to_string(),
        ),
        Some("supervisors") => (
            "run_sessions::supervisors",
            "GROVE_SUPERVISOR_KILLS",
            "225".to_owned(),
        ),
        Some("verify") => (
            "run_sessions::sandboxed",
            "GROVE_VERIFY_TIMES",
            times.to_string(),
        ),
        _ => {
            let all =
                "one, gates, graph, disturbances, sessions, shapes, engines, supervisors or verify";
            return Err(format!("which nemesis? {all} [--runs 20] [--random 1000]"));
        }
    };
    let mut cargo = workspace::cargo();
    cargo.args(["test", "--quiet", "--package", "grove", "--test", "it"]);
    if is_release {
        cargo.arg("--release");
    }
    cargo
        .arg("--")
        .args(test.split(' '))
        .arg("--nocapture")
        .envs(tools::environment())
        .env(variable, value)
        .env("GROVE_SUPERVISOR_ATTEMPTS", "20000");
    step::show("the nemesis", &mut cargo, LIMIT)
}
