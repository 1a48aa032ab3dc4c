//! `OpenCode` and Gemini CLI by the Agent Client Protocol: the same table, cancel and resume, with the real programs.
//! `cargo xtask programs --acp` installs them and runs this.

use std::time::{Duration, Instant};

use grove_testkit::needs;
use grove_testkit::process_shapes::{script, sleepers};
use serde_json::{Value, json};

use super::super::{run_of, within};
use super::isolation::hears_only;
use super::table::{Case, cases, server_of, tools, try_all};
use super::{ACP_ENGINES, ENGINES, call, model_of, scene, words};

/// From the word to the end of the last process.
const ENDING: Duration = Duration::from_secs(6);
/// A program that listens and has not said so by then was ended otherwise.
const BEGINNING: Duration = Duration::from_mins(2);

/// What has to come of a case with one of these programs, where that is not what comes of it with the others.
fn of_acp(engine: &str, mut case: Case) -> Option<Case> {
    match case.name {
        "401" => case.requests = 1..=1,
        // It begins slowly.
        "hang" => case.request = json!({ "timeoutMs": 45_000 }),
        _ => {}
    }
    if engine == "opencode" {
        return Some(case);
    }
    // Gemini CLI has no meter: what it used is its own word, nobody counts its turns, and no limit holds before its end.
    if case.name.ends_with(" limit") || case.name == "no usage" {
        return None;
    }
    case.estimated = case.result != Value::Null;
    case.turns = case.turns.first().map(|_| "text").into_iter().collect();
    match case.name {
        // It has no such tool, says so to its model alone, and goes on.
        "refusal of a tool" => case.tools = Vec::new(),
        // It asks again for minutes and says nothing.
        "500 for ever" => case.requests = 10..=10,
        // It does not ask again, and what it had said by then is there.
        "cut stream" | "cut, then fine" => {
            (case.exit, case.state) = (1, "failed");
            case.cause = (json!("model"), json!("cutStream"));
            let said = case.name == "cut, then fine";
            case.result = if said { json!("Wor") } else { Value::Null };
            case.turns = said.then_some("text").into_iter().collect();
            (case.requests, case.usage, case.estimated) = (1..=1, (0, 0), said);
        }
        _ => {}
    }
    Some(case)
}

#[test]
#[ignore = "needs OpenCode and Gemini CLI: cargo xtask programs --acp"]
fn programs_by_the_protocol_come_to_the_same_verdicts() {
    for (engine, _, tool) in ACP_ENGINES {
        let cases = cases(engine, tool);
        let cases: Vec<Case> = cases
            .into_iter()
            .filter_map(|case| of_acp(engine, case))
            .collect();
        try_all(engine, &cases);
    }
}

#[test]
#[ignore = "needs OpenCode and Gemini CLI: cargo xtask programs --acp"]
fn programs_by_the_protocol_stop_when_they_are_asked_to() {
    for (number, (engine, _, tool)) in (0..).zip(ACP_ENGINES) {
        let log = stopped(engine, tool, number + 60);
        assert!(
            matches!(log[..], ["start", "end" | "failed"]),
            "{engine}: {log:?}"
        );
    }
}

#[test]
#[ignore = "needs OpenCode and Gemini CLI: cargo xtask programs --acp"]
fn programs_by_the_protocol_go_on_and_hear_nothing_else() {
    for (engine, ..) in ACP_ENGINES {
        goes_on(engine);
        hears_only(engine);
    }
}

#[test]
fn a_program_that_listens_is_stopped_in_its_own_words() {
    needs![Claude, Codex, Copilot, Pi, Node];
    for (number, (engine, _, tool)) in (0..).zip(ENGINES) {
        let log = stopped(engine, tool, number + 70);
        // One that was ended cannot tell any more what became of its tool, and who is slow on a busy machine is ended too;
        // a tool may be seen before its program has told of it.
        let is_right = log.len() <= 2 && log.first().is_none_or(|first| *first == "start");
        assert!(is_right, "{engine}: {log:?}");
    }
}

/// Stops a child whose tool sleeps, and gives what it told of its tools.
fn stopped(engine: &str, tool: &str, number: u32) -> Vec<&'static str> {
    let (line, seconds) = script("sleep @", number);
    let server = server_of(&[json!({ "calls": [call(engine, tool, &line)] })]);
    let session = scene(&server);
    let model = model_of(engine);
    let started = session.grove(words(engine, &model, &["--bg"])).ok();
    let id = started.stdout.trim().to_owned();
    within(BEGINNING, engine, || sleepers(&seconds) > 0);
    let began = Instant::now();
    session.grove(["runs", "stop", id.as_str()]).ok();
    within(ENDING, engine, || sleepers(&seconds) == 0);
    assert!(began.elapsed() < ENDING, "{engine}");
    session.grove(["runs", "wait", id.as_str()]).fails(130);
    let shown = session.json(["runs", "show", id.as_str()]);
    assert_eq!(shown["state"], "stopped", "{engine}: {shown}");
    tools(&session, &shown)
}

/// A conversation goes on in the program's own session, and is told once.
fn goes_on(engine: &str) {
    let server = server_of(&[json!({ "text": "First." }), json!({ "text": "Second." })]);
    let session = scene(&server);
    let model = model_of(engine);
    let outcome = session.grove(words(engine, &model, &["--json"])).ok();
    let run = run_of(&outcome.stdout);
    assert_eq!(run["result"], "First.", "{engine}");
    let id = run["id"].as_str().unwrap();
    let resumed = session.grove(["runs", "resume", id, "MORE-MARK"]).ok();
    assert_eq!(resumed.stdout, "Second.\n", "{engine}");
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "{engine}");
    let last: Value = requests[1].json();
    let last = last.to_string();
    for part in ["TASK-MARK", "First.", "MORE-MARK"] {
        assert_eq!(last.matches(part).count(), 1, "{engine}: {part} in {last}");
    }
}
