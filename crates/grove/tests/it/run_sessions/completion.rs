//! Who is told that a run is over, and how often; and what the same request twice is.

use std::os::unix::fs::PermissionsExt as _;

use grove_testkit::model_server::Reply;
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::graphs::scene;
use super::{bash, end_all, run_of, until};

/// A program that is told when a run is over.
fn told_by(session: &Session, script: &str, more: &str) {
    session.file("home/bin/told", format!("#!/bin/sh\n{script}\n"));
    let file = session.path("home/bin/told");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = json!([file, "an argument"]);
    session.file(
        USER_CONFIG,
        format!("[runs]\nmodel = 'anthropic/m'\non_complete = {command}\n{more}\n"),
    );
}

/// What was told, one run a line.
fn told(session: &Session) -> Vec<Value> {
    if !session.has("home/told.jsonl") {
        return Vec::new();
    }
    let text = session.read("home/told.jsonl");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

/// The run once its command has been told.
fn delivered(session: &Session, id: &str) -> Value {
    until(|| session.json(["runs", "show", id])["onComplete"].is_object());
    session.json(["runs", "show", id])
}

const WRITE: &str = "cat >> ~/told.jsonl; echo >> ~/told.jsonl; echo heard $1";

#[test]
fn whoever_waits_for_an_end_is_told_once_with_the_run() {
    let (_server, session) = scene(|task, turns| match (task, turns) {
        ("lead", 0) => Reply::call("subagent", json!({ "agent": "judge", "task": "below" })),
        ("fail", _) => Reply::error(400, "no"),
        (task, _) => Reply::text(format!("Did {task}.")),
    });
    session.definition(
        "home/.grove/agents/boss.md",
        "tools: read, subagent\n",
        "Lead.",
    );
    told_by(&session, WRITE, "");
    for (at, (agent, task, code, state)) in [
        ("worker", "one", 0, "complete"),
        ("worker", "fail", 1, "failed"),
        ("boss", "lead", 0, "complete"),
    ]
    .into_iter()
    .enumerate()
    {
        let outcome = session.grove(["run", agent, task, "--json"]).fails(code);
        let id = run_of(&outcome.stdout)["id"].as_str().unwrap().to_owned();
        let shown = delivered(&session, &id);
        assert_eq!(shown["onComplete"]["end"], json!({ "code": 0 }), "{task}");
        let all = told(&session);
        assert_eq!(
            all.len(),
            at + 1,
            "a run below is told of by nobody: {task}"
        );
        let last = &all[at];
        assert_eq!(
            (&last["id"], &last["state"], &last["schema"]),
            (&json!(id), &json!(state), &json!("grove.run/1"))
        );
        assert_eq!(last["delivery"], format!("{id}/run/0/deliver.0"));
    }
    // One that goes on ends again.
    let id = told(&session)[0]["id"].as_str().unwrap().to_owned();
    session.grove(["runs", "resume", &id, "More"]).ok();
    until(|| told(&session).len() == 4);
    assert_eq!(
        told(&session)[3]["delivery"],
        format!("{id}/run/0/deliver.1")
    );
    session
        .grove(["runs", "show", &id])
        .ok()
        .prints(["on_complete ended with code 0"]);
}

#[test]
fn a_command_that_fails_or_hangs_changes_nothing_about_the_run() {
    for (script, more, end) in [
        ("exit 3", "", json!({ "code": 3 })),
        (
            "sleep 3093.5",
            "on_complete_timeout_ms = 300",
            json!("timedOut"),
        ),
    ] {
        let (_server, session) = scene(|_, _| Reply::text("Done."));
        told_by(&session, script, more);
        let outcome = session.grove(["run", "worker", "x", "--json"]).ok();
        let id = run_of(&outcome.stdout)["id"].as_str().unwrap().to_owned();
        let shown = delivered(&session, &id);
        assert_eq!(
            (&shown["onComplete"]["end"], &shown["state"]),
            (&end, &json!("complete"))
        );
        assert_eq!(sleepers("3093.5"), 0);
    }
    let (_server, session) = scene(|_, _| Reply::text("Done."));
    session.file(
        "project/.grove/config.toml",
        "[runs]\non_complete = ['touch', 'pwned']\n",
    );
    session.trust().ok();
    session.grove(["run", "worker", "x"]).ok();
    assert!(!session.has("project/pwned"), "a project tells nobody");
}

#[test]
fn after_everything_was_killed_whoever_waits_is_told_under_the_same_name() {
    let (_server, session) = scene(|_, _| Reply::text("Done."));
    let script = format!("{WRITE}; [ -e ~/again ] || {{ touch ~/again; sleep 3094.5; }}");
    told_by(&session, &script, "");
    let outcome = session.grove(["run", "worker", "x", "--json"]).ok();
    let id = run_of(&outcome.stdout)["id"].as_str().unwrap().to_owned();
    until(|| sleepers("3094.5") > 0);
    end_all(&session);
    let shown = delivered(&session, &id);
    assert_eq!(shown["onComplete"]["end"], json!({ "code": 0 }));
    let names: Vec<Value> = told(&session)
        .iter()
        .map(|it| it["delivery"].clone())
        .collect();
    let name = format!("{id}/run/0/deliver.0");
    assert_eq!(names, [json!(name), json!(name)]);
    assert_eq!(sleepers("3094.5"), 0);
}

#[test]
fn the_same_key_twice_is_one_run() {
    let (server, session) = scene(|_, _| Reply::text("Done."));
    let request = json!({ "agent": "worker", "task": "x", "submitKey": "nightly-1" });
    session.file("project/request.json", request.to_string());
    let submit = || {
        let outcome = session.grove("run --request request.json --json").ok();
        run_of(&outcome.stdout)["id"].clone()
    };
    assert_eq!(submit(), submit());
    assert_eq!(server.requests().len(), 1);
    assert_eq!(
        session.json("runs list")["runs"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn the_names_of_pi_subagents_are_settings_here() {
    let (_server, session) = scene(|_, _| Reply::text("Done."));
    session.file(
        USER_CONFIG,
        "[runs]\nmodel = 'anthropic/m'\nforceTopLevelAsync = true\n[runs.parallel]\nmaxTasks = 2\nconcurrency = 1\n[runs.chain.dynamicFanout]\nmaxItems = 3\n",
    );
    let shown = session.json("config");
    for (key, value) in [
        ("runs.forceTopLevelAsync", json!(true)),
        ("runs.maxTasks", json!(2)),
        ("runs.concurrency", json!(1)),
        ("runs.chain.dynamicFanout.maxItems", json!(3)),
    ] {
        assert_eq!(shown["settings"][key]["value"], value, "{key}");
    }
    // Nobody waits, but what a child asks for is waited for.
    let id = session.grove(["run", "worker", "x"]).ok().stdout;
    session.grove(["runs", "wait", id.trim()]).ok();
    let words = ["run", "worker", "a", ",", "worker", "b", ",", "worker", "c"];
    session.grove(words).fails(2).says(["2"]);
    let grove = env!("CARGO_BIN_EXE_grove");
    let ask = format!("{grove} run judge look");
    let (server, session) = scene(move |task, turns| match (task, turns) {
        ("lead", 0) => bash(&ask),
        _ => Reply::text("Looked."),
    });
    session.file(
        USER_CONFIG,
        "[runs]\nmodel = 'anthropic/m'\nforceTopLevelAsync = true\nsandbox = 'off'\n",
    );
    let id = session.grove(["run", "worker", "lead"]).ok().stdout;
    session.grove(["runs", "wait", id.trim()]).ok();
    let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(last.contains("Looked."), "{last}");
}

#[test]
fn a_result_that_nobody_took_waits_a_month() {
    let (_server, session) = scene(|_, _| Reply::text("Done."));
    let id = session.grove(["run", "worker", "x", "--bg"]).ok().stdout;
    until(|| session.json("runs list")["runs"][0]["state"] == "complete");
    let pruned = |days: u64| {
        let before = format!("UPDATE runs SET ended_at = ended_at - {days} * 86400000;");
        let file = session.path("state/grove/runs.db");
        let journal = rusqlite::Connection::open(file).unwrap();
        journal.execute_batch(&before).unwrap();
        session.json("runs prune --days 1")["runs"].clone()
    };
    assert_eq!(pruned(29), 0, "{id}");
    assert_eq!(pruned(2), 1, "{id}");
}
