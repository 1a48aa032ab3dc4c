//! Words of a model's server that are no more than words: names of calls, numbers of tokens, and paths that a program asks for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use grove_testkit::model_server::{ModelServer, Script, ScriptedReply};
use grove_testkit::needs;
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::{PATH, Session, USER_CONFIG};
use serde_json::{Value, json};

use super::{AGENT, KEY, holder_of, run_of, until};

const APIS: [&str; 3] = ["anthropic", "openai-responses", "openai-chat"];

fn reply(value: Value) -> ScriptedReply {
    serde_json::from_value(value).unwrap()
}

/// An answer with commands, all of whose names are these.
fn commands(lines: &[&str], names: &[&str]) -> ScriptedReply {
    let calls = lines
        .iter()
        .map(|line| json!({ "name": "bash", "arguments": { "command": line } }));
    reply(json!({ "calls": calls.collect::<Vec<_>>(), "callNames": names }))
}

/// A home with an agent whose model has this interface.
fn scene(server: &ModelServer, api: &str) -> Session {
    let session = crate::session().with_env("MARKED_API_KEY", KEY);
    let version = if api == "anthropic" { "" } else { "/v1" };
    let config = format!(
        "[providers.it]\napi = '{api}'\nbase_url = '{}{version}'\nkey = {{ env = 'MARKED_API_KEY' }}\n",
        server.url()
    );
    session.file(USER_CONFIG, config);
    session.definition(
        AGENT,
        "tools: read, write, bash\nmodel: it/m\n",
        "You work.",
    );
    session.dir("project");
    session
}

/// The names of calls in a request, and the names with texts of results, in their order.
fn calls_in(body: &Value) -> (Vec<String>, Vec<(String, String)>) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    let items = body["messages"].as_array().or(body["input"].as_array());
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    for item in items.into_iter().flatten() {
        for call in item["tool_calls"].as_array().into_iter().flatten() {
            calls.push(text(&call["id"]));
        }
        if item["role"] == "tool" {
            results.push((text(&item["tool_call_id"]), text(&item["content"])));
        }
        match item["type"].as_str() {
            Some("function_call") => calls.push(text(&item["call_id"])),
            Some("function_call_output") => {
                results.push((text(&item["call_id"]), text(&item["output"])));
            }
            _ => {}
        }
        for block in item["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("tool_use") => calls.push(text(&block["id"])),
                Some("tool_result") => {
                    results.push((text(&block["tool_use_id"]), block["content"].to_string()));
                }
                _ => {}
            }
        }
    }
    (calls, results)
}

#[test]
fn one_name_for_every_call_loses_no_call_and_no_run() {
    for api in APIS {
        let replies = [
            commands(
                &["echo one | tee -a made", "echo two | tee -a made"],
                &["same"],
            ),
            commands(&["echo three | tee -a made"], &["same"]),
            commands(
                &["echo four | tee -a made", "echo five | tee -a made"],
                &["turn-1-call-1", "bridge-0"],
            ),
            reply(json!({ "text": "Done." })),
        ];
        let server = ModelServer::start(Script::replies(replies)).unwrap();
        let session = scene(&server, api);
        let outcome = session.grove(["run", "worker", "Work", "--json"]).ok();
        assert_eq!(run_of(&outcome.stdout)["result"], "Done.", "{api}");
        let made = session.read("project/made");
        assert_eq!(made, "one\ntwo\nthree\nfour\nfive\n", "{api}");
        let lines = outcome.stdout.lines();
        let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let called = lines.filter(|line| line["fact"] == "called");
        let called: Vec<String> = called.map(|it| it["call"]["id"].to_string()).collect();
        let expected = [
            "turn-1-call-1",
            "turn-1-call-2",
            "turn-2-call-1",
            "turn-3-call-1",
            "turn-3-call-2",
        ];
        assert_eq!(called, expected.map(|id| format!("\"{id}\"")), "{api}");
        // The names are sent back as they came, each with its own result.
        let (calls, results) = calls_in(&server.requests()[3].json());
        assert_eq!(
            calls,
            ["same", "same", "same", "turn-1-call-1", "bridge-0"],
            "{api}"
        );
        let answered: Vec<&String> = results.iter().map(|(name, _)| name).collect();
        assert_eq!(answered, calls.iter().collect::<Vec<_>>(), "{api}");
        for ((_, text), word) in results.iter().zip(["one", "two", "three", "four", "five"]) {
            assert!(text.contains(word), "{api}: {text}");
        }
    }
}

#[test]
fn after_a_kill_calls_with_one_name_are_told_apart() {
    let replies = [
        commands(
            &[
                "echo first | tee -a begun",
                "echo second >> begun; sleep 3073.5",
            ],
            &["same"],
        ),
        reply(json!({ "text": "I looked again." })),
    ];
    let server = ModelServer::start(Script::replies(replies)).unwrap();
    let session = scene(&server, "openai-chat");
    let id = session.grove(["run", "worker", "Work", "--bg"]).ok();
    let id = id.stdout.trim().to_owned();
    until(|| sleepers("3073.5") > 0);
    let supervisor = holder_of(&session, &id);
    let mut kill = grove_testkit::process::kill();
    assert!(kill.args(["-9", &supervisor]).status().unwrap().success());
    until(|| sleepers("3073.5") == 0);
    let outcome = session.grove(["runs", "wait", id.as_str()]).ok();
    assert_eq!(outcome.stdout, "I looked again.\n");
    assert_eq!(session.read("project/begun"), "first\nsecond\n");
    let (_, results) = calls_in(&server.requests().last().unwrap().json());
    assert!(results[0].1.contains("first"), "{results:?}");
    assert!(results[1].1.contains("outcome unknown"), "{results:?}");
}

#[test]
fn a_budget_ends_a_run_whose_provider_says_no_number() {
    let shapes = [json!(-7), json!("12"), json!(0.25), json!(1e30), json!(0)];
    for (at, said) in shapes.into_iter().enumerate() {
        let api = APIS[at % APIS.len()];
        let names = match api {
            "openai-chat" => ["prompt_tokens", "completion_tokens"],
            _ => ["input_tokens", "output_tokens"],
        };
        let usage = json!({ names[0]: said, names[1]: said });
        let again = commands(&["true"], &["same"]);
        let again = ScriptedReply {
            said_usage: Some(usage),
            ..again
        };
        let server = ModelServer::start(Script::chosen_by(move |_, _| again.clone())).unwrap();
        let session = scene(&server, api);
        let words = ["run", "worker", "Work", "--json", "--max-tokens", "100"];
        let run = run_of(&session.grove(words).fails(6).stdout);
        assert_eq!(run["cause"]["what"], "tokens", "{api} {said}: {run}");
        assert_eq!(server.requests().len(), 1, "{api} {said}");
        assert_eq!(run["usage"]["estimated"], true, "{api} {said}");
    }
}

/// A program that speaks as Claude Code does, asks for paths as it likes, and gives one name to both of its calls.
const PROGRAM: &str = r#"#!/usr/bin/env python3
import http.client, json, os, sys
if "--version" in sys.argv:
    print("2.1.197 (Claude Code)")
    sys.exit(0)
def say(value):
    print(json.dumps(value), flush=True)
def block(role, value):
    say({"type": role, "parent_tool_use_id": None, "message": {"content": [value]}})
say({"type": "system", "subtype": "init", "session_id": "s1", "model": "m"})
sys.stdin.readline()
host = os.environ["ANTHROPIC_BASE_URL"].split("//")[1]
body = json.dumps({"model": "m", "stream": True, "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]})
said = []
for line in open("paths"):
    method, path = line.split()
    connection = http.client.HTTPConnection(host)
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
    connection.request(method, path, body if method == "POST" else None, headers)
    answer = connection.getresponse()
    answer.read()
    said.append(str(answer.status))
for command in ["echo one", "echo two"]:
    block("assistant", {"type": "tool_use", "id": "same", "name": "Bash", "input": {"command": command}})
for word in ["one", "two"]:
    block("user", {"type": "tool_result", "tool_use_id": "same", "content": word, "is_error": False})
say({"type": "result", "subtype": "success", "is_error": False, "result": " ".join(said), "usage": {}})
"#;

fn program(server: &ModelServer) -> Session {
    let session = scene(server, "anthropic");
    let path = format!("{}:{PATH}", session.path("bin").display());
    let session = session.with_env("PATH", path);
    session.file("bin/claude", PROGRAM);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(session.path("bin/claude"), mode).unwrap();
    session
}

#[test]
fn a_program_gets_what_is_counted_from_its_provider_and_nothing_beside_it() {
    needs![Python];
    let server = ModelServer::start(Script::plain()).unwrap();
    let session = program(&server);
    let paths = [
        ("POST /v1/messages", "200"),
        ("POST /v1/messages?beta=true", "200"),
        ("POST /v1/messages/count_tokens", "200"),
        ("GET /v1/models?limit=5", "200"),
        ("POST /v1/messages/", "404"),
        ("POST /v1//messages", "404"),
        ("POST /v1/%6dessages", "404"),
        ("POST /v1/x/../messages", "404"),
        ("POST /V1/messages", "404"),
        ("POST /v1/messages?x=y", "404"),
        ("POST /v1/messages/batches", "404"),
        ("POST /v1/complete", "404"),
        ("POST /v1/chat/completions", "404"),
        ("GET /v1/organizations/me", "404"),
        ("DELETE /v1/models", "404"),
    ];
    let list = paths.map(|(line, _)| line).join("\n");
    session.file("project/paths", list);
    let words = ["run", "worker", "Ask", "--engine", "claude", "--json"];
    let outcome = session.grove(words).ok();
    let run = run_of(&outcome.stdout);
    assert_eq!(
        run["result"],
        paths.map(|(_, status)| status).join(" "),
        "{run}"
    );
    assert_eq!(server.requests().len(), 4);
    assert_eq!(run["usage"]["input"], 32, "both answers are counted");
    // Both calls of one name are there, each with its result.
    let lines = outcome.stdout.lines();
    let facts: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |fact: &str, field: &str| -> Vec<Value> {
        let found = facts.iter().filter(|line| line["fact"] == fact);
        let called = found.map(|line| match field {
            "id" => line["call"]["id"].clone(),
            _ => line["call"].clone(),
        });
        called.collect()
    };
    assert_eq!(of("called", "id"), ["call-1", "call-2"]);
    assert_eq!(of("returned", ""), ["call-1", "call-2"]);
}

#[test]
fn a_program_whose_budget_is_spent_gets_nothing_more_by_any_path() {
    needs![Python];
    let server = ModelServer::start(Script::plain()).unwrap();
    let session = program(&server);
    let paths = [
        "POST /v1/messages",
        "POST /v1/messages",
        "POST /v1/messages/",
        "POST /v1/complete",
        "POST /v1/messages/count_tokens",
        "GET /v1/models",
        "GET /v1/organizations/me",
    ];
    session.file("project/paths", paths.join("\n"));
    let words = [
        "run",
        "worker",
        "Ask",
        "--engine",
        "claude",
        "--json",
        "--max-tokens",
        "20",
    ];
    let run = run_of(&session.grove(words).fails(6).stdout);
    assert_eq!(run["cause"]["what"], "tokens", "{run}");
    let asked = server.requests();
    let asked: Vec<&str> = asked.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(asked, ["/v1/messages"]);
}
