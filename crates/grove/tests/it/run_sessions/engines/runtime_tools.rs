//! The runtime's own tools inside agent programs, and conversations that go on.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;

use grove_testkit::needs;
use serde_json::{Value, json};

use super::super::{AGENT, run_of};
use super::table::{runtime_call, server_of};
use super::{ENGINES, call, scene, words};

/// The engines that have the runtime's own tools.
fn with_tools() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = ENGINES.into_iter().filter(|(engine, ..)| *engine != "pi");
    all.map(|(engine, _, tool)| (engine, tool))
}

/// What the journal says was called and returned.
fn calls(stdout: &str) -> Vec<(String, String)> {
    let lines = stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut calls: Vec<(String, String)> = Vec::new();
    for line in lines {
        if line["fact"] == "called" {
            calls.push((
                line["call"]["tool"].as_str().unwrap().to_owned(),
                String::new(),
            ));
        } else if line["fact"] == "returned" {
            let text = line["outcome"]["content"]["inline"].as_str().unwrap();
            text.clone_into(&mut calls.last_mut().unwrap().1);
        }
    }
    calls
}

#[test]
fn skills_progress_questions_and_answers_go_through_the_bridge() {
    needs![Claude, Codex, Copilot, Pi, Node];
    thread::scope(|scope| {
        for (engine, _) in with_tools() {
            scope.spawn(move || ask_and_go_on(engine));
        }
    });
}

fn ask_and_go_on(engine: &str) {
    let call = |tool: &str, arguments: Value| {
        let call = runtime_call(engine, tool, &arguments).unwrap();
        json!({ "text": "I go on.", "calls": [call] })
    };
    let server = server_of(&[
        call("skill", json!({ "name": "painting" })),
        call("skill", json!({ "name": "no-such-skill" })),
        call(
            "contact_supervisor",
            json!({ "kind": "progress", "message": "half" }),
        ),
        call(
            "contact_supervisor",
            json!({ "kind": "question", "message": "Red or blue?" }),
        ),
        json!({ "text": "Painted." }),
    ]);
    let session = scene(&server);
    session.definition(AGENT, "tools: read, contact_supervisor\n", "You work.");
    session.definition("home/.grove/skills/painting", "", "SKILL-BODY-MARK");
    let model = format!("for-{engine}/claude-sonnet-4-5");
    let outcome = session.grove(words(engine, &model, &["--json"])).fails(7);
    let run = run_of(&outcome.stdout);
    assert_eq!(run["state"], "asking", "{engine}: {run}");
    assert_eq!(run["cause"]["text"], "Red or blue?", "{engine}");
    let calls = calls(&outcome.stdout);
    let expected = [
        ("skill", "SKILL-BODY-MARK"),
        ("skill", "it is not available"),
        ("contact_supervisor", "noted"),
        ("contact_supervisor", ""),
    ];
    assert_eq!(calls.len(), expected.len(), "{engine}: {calls:?}");
    for ((tool, text), (name, part)) in calls.iter().zip(expected) {
        assert_eq!(tool, name, "{engine}");
        assert!(text.contains(part), "{engine}: {text}");
    }
    // The model heard what the skill says, and was not asked after the question.
    let requests = server.requests();
    let asked: Vec<String> = requests
        .iter()
        .map(|request| request.json().to_string())
        .collect();
    assert_eq!(asked.len(), 4, "{engine}");
    assert!(asked[1].contains("SKILL-BODY-MARK"), "{engine}");
    let id = run["id"].as_str().unwrap();
    let answered = session.grove(["runs", "answer", id, "BLUE-MARK"]).ok();
    assert_eq!(answered.stdout, "Painted.\n", "{engine}");
    // It went on in its own conversation: what it did before is there once, and then the answer.
    let last = server.requests().last().unwrap().json().to_string();
    for part in ["TASK-MARK", "SKILL-BODY-MARK", "Red or blue?", "BLUE-MARK"] {
        assert_eq!(last.matches(part).count(), 1, "{engine}: {part} in {last}");
    }
    let shown = session.json(["runs", "show", id]);
    assert_eq!(shown["state"], "complete", "{engine}: {shown}");
}

#[test]
fn a_conversation_of_a_program_without_the_tools_goes_on_too() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let server = server_of(&[json!({ "text": "First." }), json!({ "text": "Second." })]);
    let session = scene(&server);
    let outcome = session
        .grove(words("pi", "for-pi/claude-sonnet-4-5", &["--json"]))
        .ok();
    let id = run_of(&outcome.stdout)["id"].as_str().unwrap().to_owned();
    let resumed = session.grove(["runs", "resume", &id, "MORE-MARK"]).ok();
    assert_eq!(resumed.stdout, "Second.\n");
    let last = server.requests().last().unwrap().json().to_string();
    for part in ["TASK-MARK", "First.", "MORE-MARK"] {
        assert_eq!(last.matches(part).count(), 1, "{part} in {last}");
    }
    let child = format!("{id}.1");
    let steered = session.grove(["runs", "steer", &child, "x"]).fails(2);
    steered.says(["pi cannot receive messages while it works"]);
}

/// Asks a bridge for its tools, and gives the status.
fn status(url: &str, token: &str, more: &str) -> Option<String> {
    let address = url.strip_prefix("http://")?.strip_suffix("/mcp")?;
    let mut stream = TcpStream::connect(address).ok()?;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let host = if more.contains("Host:") {
        String::new()
    } else {
        format!("Host: {address}\r\n")
    };
    let request = format!(
        "POST /mcp HTTP/1.1\r\n{host}{more}Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\
Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?;
    Some(status.to_owned())
}

#[test]
fn a_stolen_token_of_an_ended_attempt_is_refused() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let server = server_of(&[
        json!({ "calls": [call("claude", "Bash", "until [ -e ../go ]; do sleep 0.05; done")] }),
        json!({ "text": "Done." }),
    ]);
    let session = scene(&server);
    let model = "for-claude/claude-sonnet-4-5";
    let begin = || {
        let started = session.grove(words("claude", model, &["--bg"])).ok();
        started.stdout.trim().to_owned()
    };
    let servers_of = |id: &str| {
        let path = session.path(format!("state/grove/programs/{id}/1-1/servers.json"));
        super::super::until(|| path.exists());
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        let servers: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let grove = servers["mcpServers"]["grove"].clone();
        let token = grove["headers"]["Authorization"].as_str().unwrap();
        let token = token.strip_prefix("Bearer ").unwrap().to_owned();
        (grove["url"].as_str().unwrap().to_owned(), token)
    };
    let first = begin();
    let (url, token) = servers_of(&first);
    assert_eq!(status(&url, &token, "").as_deref(), Some("200"));
    for (more, expected) in [
        ("Origin: http://evil.example\r\n", "403"),
        ("Host: evil.example\r\n", "403"),
    ] {
        assert_eq!(
            status(&url, &token, more).as_deref(),
            Some(expected),
            "{more}"
        );
    }
    session.file("go", "");
    session.grove(["runs", "wait", first.as_str()]).ok();
    assert_eq!(status(&url, &token, ""), None, "nobody listens any more");
    std::fs::remove_file(session.path("go")).unwrap();
    let server = server_of(&[
        json!({ "calls": [call("claude", "Bash", "until [ -e ../go ]; do sleep 0.05; done")] }),
        json!({ "text": "Done." }),
    ]);
    let config = session.read(grove_testkit::session::USER_CONFIG);
    let old = config
        .lines()
        .find_map(|line| line.strip_prefix("base_url = \""))
        .unwrap();
    let old = old.trim_end_matches('"').to_owned();
    session.file(
        grove_testkit::session::USER_CONFIG,
        config.replace(&old, &server.url()),
    );
    let second = begin();
    let (other, _) = servers_of(&second);
    assert_eq!(status(&other, &token, "").as_deref(), Some("401"));
    session.file("go", "");
    session.grove(["runs", "wait", second.as_str()]).ok();
}
