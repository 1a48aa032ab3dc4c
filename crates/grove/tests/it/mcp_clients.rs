//! Every action of `subagent`, its progress, cancellation and notifications, asked for by the official SDKs for Python and
//! TypeScript, and what the protocol's own conformance suite says of the server.

mod answers;
mod owners;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use grove_testkit::model_server::{ModelServer, Reply, Script};
use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::process::{self, Running};
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use crate::mcp_sdk::http_server::HttpServer;
use crate::run_sessions::end_all;

/// Each takes some seconds; only a hanging one meets this.
const LIMIT: Duration = Duration::from_mins(5);
/// Where the clients are, and what they go through.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp_clients");

/// What the models of children say, by their task.
fn reply(request: &Value) -> Reply {
    let task = request["messages"][0]["content"][0]["text"]
        .as_str()
        .unwrap_or_default();
    let said = request["messages"].to_string();
    let turns = request["messages"].as_array().map_or(0, Vec::len) / 2;
    match task {
        _ if said.contains("and more") => Reply::text("Did more."),
        "ask" if said.contains("Green.") => Reply::text("Answered."),
        "ask" => Reply::call(
            "contact_supervisor",
            json!({ "kind": "question", "message": "Which colour?" }),
        ),
        "slow" if said.contains("enough") => Reply::text("Did slow after all."),
        "slow" => Reply::call("bash", json!({ "command": "sleep 3077.5" })),
        "change" if turns == 0 => Reply::call(
            "write",
            json!({ "path": "painted.txt", "content": "green\n" }),
        ),
        task => Reply::text(format!("Did {task}.")),
    }
}

/// A home with agents, and a repository to work in.
fn scene() -> (ModelServer, Session) {
    let script = Script::chosen_by(|_, request| reply(&request.json()));
    let server = ModelServer::start(script).unwrap();
    let session = crate::session()
        .without_bundled()
        .with_env("ANTHROPIC_BASE_URL", server.url())
        .with_env("ANTHROPIC_API_KEY", "sk-marker-0123456789abcdef");
    session.dir("home/work").file("home/work/a.txt", "a\n");
    session.file(USER_CONFIG, "[runs]\nmodel = 'anthropic/m'\n");
    let agents = "home/.grove/agents";
    session.definition(
        format!("{agents}/worker.md"),
        "tools: read, write, bash\n",
        "You work.",
    );
    session.definition(
        format!("{agents}/asker.md"),
        "tools: read, contact_supervisor\n",
        "You ask.",
    );
    for words in ["init -q -b main", "add -A", "commit -q -m first"] {
        let done = Command::new("git")
            .args(["-c", "user.name=x", "-c", "user.email=x@localhost"])
            .args(words.split(' '))
            .current_dir(session.path("home/work"))
            .env("HOME", session.path("home"))
            .output()
            .unwrap();
        assert!(done.status.success(), "git {words}: {done:?}");
    }
    (server, session)
}

/// Runs a client in the home's environment; its last line says that all steps were taken.
fn ask(session: &Session, program: &PathBuf, arguments: &[&str]) {
    let own = session.command("home/work");
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    command.current_dir(session.path("home/work"));
    command.envs(
        own.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let finished = process::capture(&mut command, LIMIT).unwrap();
    let said = finished.stdout_text();
    assert!(
        finished.success() && said.ends_with("done\n"),
        "{arguments:?}\n{said}\n{}",
        finished.stderr_text()
    );
}

/// What the steps leave behind.
fn check_and_end(session: &Session) {
    assert_eq!(
        session.read("home/work/painted.txt"),
        "green\n",
        "what was applied is there"
    );
    end_all(session);
}

fn with_python(transport: &str, mode: &str) {
    let (_server, session) = scene();
    let (client, steps) = (
        format!("{FOLDER}/client.py"),
        format!("{FOLDER}/steps.json"),
    );
    let python = Need::McpPython.path();
    let begin = [client.as_str(), transport, mode, steps.as_str()];
    if transport == "stdio" {
        ask(
            &session,
            &python,
            &[&begin[..], &[env!("CARGO_BIN_EXE_grove")]].concat(),
        );
    } else {
        let server = HttpServer::start(&session, &["--http"]);
        ask(
            &session,
            &python,
            &[&begin[..], &[&server.url, &server.token]].concat(),
        );
    }
    check_and_end(&session);
}

fn with_typescript(transport: &str) {
    let (_server, session) = scene();
    let (client, steps) = (
        format!("{FOLDER}/client.mjs"),
        format!("{FOLDER}/steps.json"),
    );
    let (node, sdk) = (Need::Node.path(), Need::McpSdk.path());
    let begin = [
        client.as_str(),
        sdk.to_str().unwrap(),
        transport,
        steps.as_str(),
    ];
    if transport == "stdio" {
        ask(
            &session,
            &node,
            &[&begin[..], &[env!("CARGO_BIN_EXE_grove")]].concat(),
        );
    } else {
        let server = HttpServer::start(&session, &["--http"]);
        ask(
            &session,
            &node,
            &[&begin[..], &[&server.url, &server.token]].concat(),
        );
    }
    check_and_end(&session);
}

#[test]
fn python_has_every_action_over_stdio() {
    needs![McpPython];
    with_python("stdio", "legacy");
}

#[test]
fn python_has_every_action_over_http_in_the_newest_protocol() {
    needs![McpPython];
    with_python("http", "auto");
}

#[test]
fn typescript_has_every_action_over_stdio() {
    needs![Node, McpSdk];
    with_typescript("stdio");
}

#[test]
fn typescript_has_every_action_over_http() {
    needs![Node, McpSdk];
    with_typescript("http");
}

/// Every host puts the tool into every request: 1,500 tokens are the most, counted where the tables are there and else by a
/// measure that is above every count that was seen.
#[test]
fn the_tool_is_counted_below_its_budget() {
    use grove_engine::below::grove_plan::subagent_tool::{Caller, SUBAGENT, description, schema};
    let caller = Caller::Host;
    let tool = json!({
        "name": SUBAGENT,
        "description": description(caller),
        "input_schema": schema(caller),
    });
    let text = tool.to_string();
    #[cfg(feature = "exact-tokens")]
    let tokens = grove_tokens::count(&text);
    #[cfg(not(feature = "exact-tokens"))]
    let tokens = text.len().div_ceil(3);
    assert!(tokens <= 1_500, "{tokens} tokens");
    println!("the tool `subagent` has {tokens} tokens");
}

/// Scenarios of the suite that ask nothing of the server but the protocol.
const CONFORMING: [&str; 9] = [
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "resources-subscribe",
    "resources-unsubscribe",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
];

/// Scenarios that need what only the suite's own server has.
const NOT_APPLICABLE: [(&str, &[&str]); 3] = [
    (
        "its tools",
        &[
            "tools-call-simple-text",
            "tools-call-image",
            "tools-call-audio",
            "tools-call-embedded-resource",
            "tools-call-mixed-content",
            "tools-call-with-logging",
            "tools-call-error",
            "tools-call-with-progress",
            "tools-call-sampling",
            "tools-call-elicitation",
            "json-schema-2020-12",
            "elicitation-sep1034-defaults",
            "elicitation-sep1330-enums",
            "server-sse-polling",
        ],
    ),
    (
        "its resources and prompts",
        &[
            "resources-read-text",
            "resources-read-binary",
            "resources-templates-read",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
            "prompts-get-with-image",
        ],
    ),
    (
        "capabilities that are not offered: completions and logging",
        &["completion-complete", "logging-set-level"],
    ),
];

#[test]
fn the_conformance_suite_finds_nothing_wrong() {
    needs![Node, McpConformance];
    let (_server, session) = scene();
    session.skill("home/.agents/skills/greet", "greet", "Greets.");
    let http = HttpServer::start(&session, &["--http"]);
    let (node, suite) = (Need::Node.path(), Need::McpConformance.path());
    let mut before = Command::new(&node);
    before
        .args([&format!("{FOLDER}/with_token.mjs"), &http.url, &http.token])
        .stdout(Stdio::piped());
    let before = Running::start(&mut before, 10).unwrap();
    let url = before
        .line(Duration::from_secs(30))
        .expect("the address of the proxy");

    let run = |arguments: &[&str]| {
        let mut command = Command::new(&node);
        command
            .arg(&suite)
            .args(arguments)
            .current_dir(session.path("tmp"));
        process::capture(&mut command, LIMIT).unwrap()
    };
    // Another version of the suite has other scenarios, and somebody has to say of each whether it applies.
    let listed = run(&["list", "--server"]).stdout_text();
    let names = listed
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    let mut names: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    let others = NOT_APPLICABLE
        .iter()
        .flat_map(|(_, names)| names.iter().copied());
    let mut known: Vec<&str> = CONFORMING.into_iter().chain(others).collect();
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known, "{listed}");

    for scenario in CONFORMING {
        let finished = run(&["server", "--url", &url, "--scenario", scenario]);
        let said = finished.stdout_text();
        assert!(
            finished.success() && !said.contains("0 passed"),
            "{scenario}: {said}\n{}",
            finished.stderr_text()
        );
    }
    end_all(&session);
}
