//! Schemas and expressions of others: what is too much is refused by its bound or fails one child, and everybody else goes on.

use grove_testkit::model_server::{ModelServer, Reply, Script};
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::{AGENT, run_of, scene};

const BOSS: &str = "home/.grove/agents/boss.md";

/// So many levels, each of two references to the next one.
fn doubled(levels: usize, keyword: &str) -> Value {
    let level = |at: usize| {
        let next = json!({ "$ref": format!("#/$defs/l{}", at + 1) });
        (format!("l{at}"), json!({ keyword: [next, next] }))
    };
    let mut all: serde_json::Map<_, _> = (0..levels).map(level).collect();
    all.insert(format!("l{levels}"), json!({ "type": "object" }));
    json!({ "$defs": all, "$ref": "#/$defs/l0" })
}

/// A schema that keeps every bound, and a value of a few bytes with which it takes for ever.
fn endless() -> (Value, Value) {
    let next = json!({ "$ref": "#/$defs/a" });
    let schema = json!({
        "$defs": { "a": { "properties": { "x": { "allOf": [next, next] } } } },
        "type": "object", "$ref": "#/$defs/a",
    });
    let value = (0..50).fold(json!(1), |inner, _| json!({ "x": inner }));
    (schema, value)
}

fn asked(session: &Session, request: &Value, code: i32) -> grove_testkit::session::Outcome {
    session.file("project/request.json", request.to_string());
    session
        .grove("run --request request.json --json")
        .fails(code)
}

#[test]
fn a_schema_beyond_a_bound_is_refused_wherever_it_comes_from() {
    let bad = doubled(48, "allOf");
    let given = bad.clone();
    let server = ModelServer::start(Script::chosen_by(move |_, request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        if body.contains("lead") && !body.contains("tool_use_id") {
            let nested = json!({ "agent": "worker", "task": "dig", "outputSchema": given });
            return Reply::call("subagent", nested);
        }
        Reply::text("Done.")
    }))
    .unwrap();
    let session = scene(&server);
    session.definition(AGENT, "tools: read\nmodel: anthropic/m\n", "You work.");
    session.definition(
        BOSS,
        "tools: read, subagent\nmodel: anthropic/m\n",
        "You lead.",
    );
    session.dir("project");
    let bound = "more than 65536 parts";
    for (schema, said) in [
        (bad.clone(), bound),
        (doubled(20, "oneOf"), bound),
        (json!({ "$ref": "#" }), "refers to itself"),
        (json!({ "pattern": "a".repeat(2000) }), "1024 bytes"),
    ] {
        let request = json!({ "agent": "worker", "task": "dig", "outputSchema": schema });
        asked(&session, &request, 2).says([said]);
    }
    let chain = json!({ "name": "bad", "description": "Bad.",
        "chain": [{ "agent": "worker", "task": "dig", "outputSchema": bad }] });
    session.file("home/.grove/chains/bad.chain.json", chain.to_string());
    session
        .grove(["run", "--chain", "bad", "go"])
        .fails(2)
        .says([bound]);
    assert_eq!(server.requests().len(), 0);
    // A child is told, and goes on.
    let run = run_of(&session.grove(["run", "boss", "lead", "--json"]).ok().stdout);
    assert_eq!(run["result"], "Done.");
    let told = server.requests()[1].json()["messages"][2].to_string();
    assert!(told.contains(bound), "{told}");
}

#[test]
fn data_that_takes_for_ever_fails_its_child_and_everybody_else_goes_on() {
    let (schema, value) = endless();
    let server = ModelServer::start(Script::chosen_by(move |_, request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        if body.contains("structured_output") {
            Reply::call("structured_output", value.clone())
        } else {
            Reply::text("Done.")
        }
    }))
    .unwrap();
    let session = scene(&server);
    session.definition(AGENT, "tools: read\nmodel: anthropic/m\n", "You work.");
    let request = json!({ "agent": "worker", "task": "dig", "outputSchema": schema });
    session.file("project/request.json", request.to_string());
    let begin = || {
        let begun = session.grove("run --request request.json --bg").ok();
        begun.stdout.trim().to_owned()
    };
    let hostile = [begin(), begin(), begin()];
    server
        .wait_for(std::time::Duration::from_secs(30), |_| true)
        .unwrap();
    session.grove(["run", "worker", "Look"]).ok();
    session.grove(["runs", "stop", hostile[0].as_str()]).ok();
    let outcome = session.grove(["runs", "wait", hostile[0].as_str(), "--json"]);
    assert!(["stopped", "failed"].contains(&run_of(&outcome.stdout)["state"].as_str().unwrap()));
    let outcome = session
        .grove(["runs", "wait", hostile[1].as_str(), "--json"])
        .fails(1);
    let run = run_of(&outcome.stdout);
    assert_eq!(run["cause"]["kind"], "schema", "{run}");
    let message = run["cause"].to_string();
    assert!(
        message.contains("more than 2 seconds of computing"),
        "{message}"
    );
}

#[test]
fn expressions_that_go_back_and_forth_are_bounded() {
    let line = "a".repeat(40) + "!";
    for pattern in ["^(a+)+$", "^(?=(a+)+b)x", "^(a|a)*(?!b)c$", "^(a*)*\\1b$"] {
        let value = json!({ "word": line });
        let server = ModelServer::start(Script::chosen_by(move |_, _| {
            Reply::call("structured_output", value.clone())
        }))
        .unwrap();
        let session = scene(&server);
        session.definition(AGENT, "tools: read\nmodel: anthropic/m\n", "You work.");
        session.dir("project");
        let schema = json!({ "properties": { "word": { "type": "string", "pattern": pattern } } });
        let request = json!({ "agent": "worker", "task": "dig", "outputSchema": schema });
        let run = run_of(&asked(&session, &request, 1).stdout);
        assert_eq!(run["cause"]["kind"], "schema", "{pattern}: {run}");
    }
}
