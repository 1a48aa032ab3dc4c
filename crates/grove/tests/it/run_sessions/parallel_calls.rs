//! Several calls in one answer: those that only look run side by side, those that change something one after the other.

use grove_testkit::model_server::{Reply, ScriptedReply};
use serde_json::{Value, json};

use super::{AGENT, run, run_of, scene};

/// An answer with several calls.
fn calls(all: &[(&str, Value)]) -> ScriptedReply {
    let calls = all
        .iter()
        .map(|(name, arguments)| json!({ "name": name, "arguments": arguments }));
    let reply = json!({ "calls": calls.collect::<Vec<_>>() });
    serde_json::from_value(reply).unwrap()
}

/// What was recorded of calls, in its order: `+` for one that begins, `-` for one that has ended.
fn order(stdout: &str) -> String {
    let lines = stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let marks = lines.filter_map(|line| match line["fact"].as_str()? {
        "called" => Some('+'),
        "returned" => Some('-'),
        _ => None,
    });
    marks.collect()
}

#[test]
fn calls_that_only_look_run_side_by_side_and_others_in_their_order() {
    let read = |path: &str| ("read", json!({ "path": path }));
    let grep = ("grep", json!({ "pattern": "x" }));
    let write = |text: &str| ("write", json!({ "path": "a", "content": text }));
    for (wanted, expected) in [
        (vec![read("a"), read("b"), grep.clone()], "+++---"),
        (vec![write("1"), write("2")], "+-+-"),
        (
            vec![read("a"), write("1"), read("a"), read("b")],
            "+-+-++--",
        ),
        (
            vec![read("a"), ("bash", json!({ "command": "true" }))],
            "+-+-",
        ),
    ] {
        let replies = [calls(&wanted), Reply::text("Done.").into()];
        let script = grove_testkit::model_server::Script::replies(replies);
        let server = grove_testkit::model_server::ModelServer::start(script).unwrap();
        let session = scene(&server);
        session.definition(AGENT, "tools: read, grep, write, bash\n", "You work.");
        session
            .file("project/a", "first")
            .file("project/b", "second x");
        let outcome = session.grove(run("Look", &["--json"])).ok();
        assert_eq!(order(&outcome.stdout), expected, "{wanted:?}");
        // Results are told in the order of the calls, each to its own.
        let body = server.requests()[1].json();
        let results = body["messages"][2]["content"].as_array().unwrap().clone();
        let called = body["messages"][1]["content"].as_array().unwrap().clone();
        let ids: Vec<&Value> = called.iter().map(|it| &it["id"]).collect();
        let answered: Vec<&Value> = results.iter().map(|it| &it["tool_use_id"]).collect();
        assert_eq!(ids, answered, "{wanted:?}");
        if expected == "+-+-++--" {
            let told: Vec<String> = results.iter().map(ToString::to_string).collect();
            assert!(
                told[0].contains("first") && told[2].contains('1'),
                "{told:?}"
            );
            assert!(!told[2].contains("first"), "{told:?}");
        }
    }
}

#[test]
fn a_limit_on_calls_holds_for_those_side_by_side() {
    let read = || ("read", json!({ "path": "a" }));
    let replies = [
        calls(&[read(), read(), read(), read()]),
        Reply::text("In sum.").into(),
    ];
    let script = grove_testkit::model_server::Script::replies(replies);
    let server = grove_testkit::model_server::ModelServer::start(script).unwrap();
    let session = scene(&server);
    session.definition(AGENT, "tools: read\ntoolBudget: {hard: 3}\n", "You work.");
    session.file("project/a", "first");
    let outcome = session.grove(run("Look", &["--json"])).fails(6);
    assert_eq!(order(&outcome.stdout), "+++---");
    let run = run_of(&outcome.stdout);
    assert_eq!(
        (&run["result"], &run["cause"]["what"]),
        (&json!("In sum."), &json!("toolCalls"))
    );
}
