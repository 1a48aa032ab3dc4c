//! Two children in one supervisor for each shape in which processes leave their parents: stopping one ends exactly its
//! own processes, and the other goes on.

use std::time::{Duration, Instant};

use grove_testkit::model_server::{ModelServer, Script};
use grove_testkit::process_shapes::{SHAPES, script, sleepers};

use super::{bash, run, scene, within};

/// From the word to the end of the last process.
const ENDING: Duration = Duration::from_secs(6);
/// How often it is shown; `cargo xtask nemesis shapes` sets it.
const TIMES: &str = "GROVE_SHAPES_TIMES";

/// A child whose command has one of the shapes.
struct ShapedChild {
    name: &'static str,
    run: String,
    seconds: String,
}

impl ShapedChild {
    fn is_there(&self) -> bool {
        sleepers(&self.seconds) > 0
    }
}

#[test]
fn stopping_one_child_ends_exactly_its_own_processes() {
    let times = std::env::var(TIMES)
        .ok()
        .and_then(|times| times.parse().ok());
    let times: u32 = times.unwrap_or(1);
    for round in 0..times {
        one_round(round);
    }
    println!("{times} of {times}: {} shapes", SHAPES.len());
}

fn one_round(round: u32) {
    let server = ModelServer::start(Script::chosen_by(|_, request| {
        let body = request.json();
        let task = body["messages"][0]["content"][0]["text"].as_str();
        bash(task.unwrap_or_default())
    }))
    .unwrap();
    let session = scene(&server);
    session.definition(super::AGENT, "tools: bash, write\n", "You run commands.");
    let begin = |name, shape: &str, number| {
        let (line, seconds) = script(shape, number);
        let begun = session.grove(run(&line, &["--bg"])).ok();
        let run = begun.stdout.trim().to_owned();
        ShapedChild { name, run, seconds }
    };
    let base = 100 + round * 40;
    let pairs: Vec<(ShapedChild, ShapedChild)> = (base..)
        .step_by(2)
        .zip(SHAPES)
        .map(|(number, (name, shape))| {
            let one = begin(name, shape, number);
            (one, begin(name, shape, number + 1))
        })
        .collect();
    let all_there = || {
        pairs
            .iter()
            .all(|(one, other)| one.is_there() && other.is_there())
    };
    within(Duration::from_mins(1), "they do not begin", all_there);
    let supervisors: Vec<_> = pairs
        .iter()
        .flat_map(|(one, other)| [one, other])
        .map(|child| super::holder_of(&session, &child.run))
        .collect();
    assert!(
        supervisors.windows(2).all(|two| two[0] == two[1]),
        "one supervisor"
    );
    for (one, other) in &pairs {
        let began = Instant::now();
        session.grove(["runs", "stop", &one.run]).ok();
        within(ENDING, one.name, || !one.is_there());
        assert!(began.elapsed() < ENDING, "{}", one.name);
        assert!(other.is_there(), "{}: the other one goes on", other.name);
        let waited = session.grove(["runs", "wait", &one.run]).fails(130);
        assert!(waited.stderr.contains("stopped"), "{}", waited.stderr);
    }
    for (_, other) in &pairs {
        session.grove(["runs", "stop", &other.run, "--now"]).ok();
    }
    for (_, other) in &pairs {
        within(ENDING, other.name, || !other.is_there());
    }
}
