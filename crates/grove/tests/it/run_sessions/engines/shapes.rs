//! Processes that a program's tools start, in the shapes in which processes leave their parents: none stays.

use std::thread;
use std::time::{Duration, Instant};

use grove_testkit::needs;
use grove_testkit::process_shapes::{SHAPES, script, sleepers};
use serde_json::json;

use super::super::{holder_of, within};
use super::table::server_of;
use super::{ENGINES, call, scene, words};

/// From the word to the end of the last process.
const ENDING: Duration = Duration::from_secs(6);
/// From a supervisor's death to the end of the last process.
const RECOVERY: Duration = Duration::from_secs(2);
/// How often all shapes are shown; `cargo xtask nemesis engines` sets it.
const TIMES: &str = "GROVE_ENGINE_SHAPES_TIMES";

#[test]
fn nothing_of_a_program_stays_whatever_its_tools_start() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let times = std::env::var(TIMES)
        .ok()
        .and_then(|times| times.parse().ok());
    let few = |name: &str| matches!(name, "sleep" | "setsid");
    for round in 0..times.unwrap_or(1) {
        // Programs wait more than they work, so all four are tried at once.
        thread::scope(|scope| {
            for (number, (engine, _, tool)) in (0..).zip(ENGINES) {
                scope.spawn(move || {
                    let shapes = (0..)
                        .zip(SHAPES)
                        .filter(|(_, (name, _))| times.is_some() || few(name));
                    for (at, (name, shape)) in shapes {
                        let base = 10_000 + round * 1_000 + number * 100 + at * 2;
                        ends(engine, tool, (name, shape), base, false);
                        // Once is enough for the other way to end, but for all shapes where all are shown.
                        if times.is_some() || name == "setsid" {
                            ends(engine, tool, (name, shape), base + 1, true);
                        }
                    }
                });
            }
        });
    }
    if let Some(times) = times {
        println!(
            "{times} of {times}: {} shapes, {} programs, stopped and killed",
            SHAPES.len(),
            ENGINES.len()
        );
    }
}

/// Starts a child whose tool has a shape, and ends it: by a word, or by killing its supervisor.
fn ends(engine: &str, tool: &str, (name, shape): (&str, &str), number: u32, by_death: bool) {
    let what = format!(
        "{engine}: {name}, {}",
        if by_death { "killed" } else { "stopped" }
    );
    let (line, seconds) = script(shape, number);
    let server = server_of(&[json!({ "calls": [call(engine, tool, &line)] })]);
    let session = scene(&server);
    let model = format!("for-{engine}/claude-sonnet-4-5");
    let started = session.grove(words(engine, &model, &["--bg"])).ok();
    let id = started.stdout.trim().to_owned();
    within(Duration::from_secs(30), &what, || sleepers(&seconds) > 0);
    let began = Instant::now();
    if by_death {
        let supervisor = holder_of(&session, &id);
        let killed = grove_testkit::process::kill()
            .args(["-9", &supervisor])
            .status();
        assert!(killed.unwrap().success(), "{what}");
        session.grove(["runs", "wait", id.as_str()]).fails(1);
        let recovered = Instant::now();
        within(RECOVERY, &what, || sleepers(&seconds) == 0);
        assert!(recovered.elapsed() < RECOVERY, "{what}");
    } else {
        session.grove(["runs", "stop", id.as_str()]).ok();
        within(ENDING, &what, || sleepers(&seconds) == 0);
        assert!(began.elapsed() < ENDING, "{what}");
        session.grove(["runs", "wait", id.as_str()]).fails(130);
    }
    let shown = session.json(["runs", "show", id.as_str()]);
    assert_eq!(
        shown["nodes"][0]["notProvenEnded"],
        json!(null),
        "{what}: {shown}"
    );
}
