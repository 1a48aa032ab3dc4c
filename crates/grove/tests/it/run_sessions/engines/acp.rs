//! A program that nobody here has heard of, by the Agent Client Protocol: nothing but its command is needed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use grove_testkit::needs;
use grove_testkit::process_shapes::sleepers;
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::super::{AGENT, run_of, until};

/// The whole of it: it answers by what it is asked to do.
const PROGRAM: &str = r#"#!/usr/bin/env python3
import json, subprocess, sys, urllib.request
def send(value):
    print(json.dumps({"jsonrpc": "2.0", **value}), flush=True)
def update(what, **more):
    send({"method": "session/update", "params": {"sessionId": "s1", "update": {"sessionUpdate": what, **more}}})
def say(text):
    update("agent_message_chunk", content={"type": "text", "text": text})
def call(server, name, arguments):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {header["name"]: header["value"] for header in server["headers"]}
    headers["Content-Type"] = "application/json"
    request = urllib.request.Request(server["url"], json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))["result"]["content"][0]["text"]
state = {}
def ask(kind):
    update("tool_call", toolCallId="t1", title=kind, kind=kind, rawInput={"what": kind})
    options = [{"optionId": "a", "name": "Always", "kind": "allow_always"},
               {"optionId": "y", "name": "Yes", "kind": "allow_once"},
               {"optionId": "n", "name": "No", "kind": "reject_once"}]
    send({"id": "p1", "method": "session/request_permission",
          "params": {"sessionId": "s1", "toolCall": {"toolCallId": "t1", "kind": kind}, "options": options}})
def end(reason="end_turn"):
    send({"id": state["prompt"], "result": {"stopReason": reason}})
def prompt(text):
    if "HANG" in text:
        state["tool"] = subprocess.Popen(["sleep", "3041.5"], start_new_session=True)
    elif "FAIL" in text:
        send({"id": state["prompt"], "error": {"code": -32603, "message": "no model"}})
    elif "DATA" in text:
        say("First " + call(state["servers"][0], "structured_output", {"n": 7}) + ".")
        end()
    elif "NOTHING" in text:
        end()
    elif "RUN" in text or "EDIT" in text:
        say("I ask.")
        ask("execute" if "RUN" in text else "edit")
    else:
        say("Told: " + text)
        end()
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "initialize":
        send({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": True}}}})
    elif method == "session/new":
        state["servers"] = params["mcpServers"]
        send({"id": message["id"], "result": {"sessionId": "s1"}})
    elif method == "session/prompt":
        state["prompt"] = message["id"]
        prompt("|".join(block["text"] for block in params["prompt"]))
    elif method == "session/cancel":
        state["tool"].kill()
        open("cancelled.txt", "w").write("yes")
        end("cancelled")
    elif "result" in message:
        chosen = message["result"]["outcome"].get("optionId")
        update("tool_call_update", toolCallId="t1", status="completed" if chosen == "y" else "failed")
        say("Chosen: " + str(chosen))
        end()
"#;

fn scene() -> Session {
    let session = crate::session();
    let path = format!(
        "{}:{}",
        session.path("bin").display(),
        grove_testkit::session::PATH
    );
    let session = session.with_env("PATH", path);
    session.dir("project").file("bin/fake-agent", PROGRAM);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(session.path("bin/fake-agent"), mode).unwrap();
    session.definition(AGENT, "tools: read, bash\n", "You work.");
    session
}

fn ask(session: &Session, task: &str, more: &Value, code: i32) -> Value {
    let mut request = json!({ "agent": "worker", "task": task, "engine": "acp:fake-agent --acp" });
    request
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    session.file("request.json", request.to_string());
    let file = session.path("request.json");
    let outcome = session.grove(["run", "--request", file.to_str().unwrap(), "--json"]);
    run_of(&outcome.fails(code).stdout)
}

#[test]
fn a_program_needs_nothing_but_its_command() {
    needs![Python];
    let session = scene();
    let run = ask(&session, "Look.", &json!({}), 0);
    let text = run["result"].as_str().unwrap();
    assert!(
        text.starts_with("Told: You work.\n\nYou are a child agent"),
        "{text}"
    );
    assert!(text.ends_with("|Look."), "{text}");
    assert_eq!(run["nodes"][0]["engine"], "acp:fake-agent --acp");
    // What it may do is what its agent lists, once.
    for (task, result) in [("RUN it", "Chosen: y"), ("EDIT it", "Chosen: n")] {
        assert_eq!(
            ask(&session, task, &json!({}), 0)["result"],
            result,
            "{task}"
        );
    }
    let schema = json!({ "outputSchema": { "type": "object", "required": ["n"] } });
    let run = ask(&session, "DATA please", &schema, 0);
    assert_eq!(run["nodes"][0]["output"]["structured"], json!({ "n": 7 }));
    // The verdict is ours.
    for (task, more, kind) in [
        ("FAIL", json!({}), "model"),
        ("NOTHING", json!({}), "noAnswer"),
        ("Words alone", schema, "schema"),
    ] {
        let run = ask(&session, task, &more, 1);
        assert_eq!(run["cause"]["kind"], kind, "{task}: {run}");
    }
}

#[test]
fn it_is_asked_to_stop_in_its_own_words_first() {
    needs![Python];
    let session = scene();
    let words = [
        "run",
        "worker",
        "HANG",
        "--engine",
        "acp:fake-agent",
        "--bg",
    ];
    let id = session.grove(words).ok().stdout.trim().to_owned();
    until(|| sleepers("3041.5") > 0);
    session.grove(["runs", "stop", id.as_str()]).ok();
    session.grove(["runs", "wait", id.as_str()]).fails(130);
    until(|| sleepers("3041.5") == 0);
    assert_eq!(session.read("project/cancelled.txt"), "yes");
}

#[test]
fn a_command_that_somebody_else_wrote_is_not_run() {
    needs![Python];
    let session = scene();
    session.definition(
        "project/.grove/agents/theirs.md",
        "tools: read\nengine: acp:fake-agent\n",
        "x",
    );
    session.grove(["trust", "--yes"]);
    let outcome = session.grove(["run", "theirs", "Look."]).fails(2);
    outcome.says(["is a command that you did not write"]);
    session
        .grove(["run", "theirs", "Look.", "--engine", "acp:fake-agent"])
        .ok();
    session.definition(AGENT, "tools: read\nengine: acp:fake-agent\n", "You work.");
    session.grove(["run", "worker", "Look."]).ok();
    let outcome = session
        .grove(["run", "worker", "Look.", "--engine", "acp:no-such-thing"])
        .fails(1);
    outcome.says(["there is no program `no-such-thing`"]);
}
