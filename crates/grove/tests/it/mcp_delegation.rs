//! Claude Code, offline and with a scripted model, delegates through `grove mcp`: a chain in the background, a question that
//! is answered, a result that is collected later, and a child that goes on. Host and server are killed in between, once right
//! after the run began, once while it works, and once with a result in hand that nobody has acknowledged yet.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use grove_testkit::agent_program::AgentProgram;
use grove_testkit::model_server::{Delivery, ModelServer, Reply, Request, Script, ScriptedReply};
use grove_testkit::needs;
use grove_testkit::process::Running;
use grove_testkit::session::{Session, USER_CONFIG};
use grove_testkit::shared;
use serde_json::{Value, json};

use crate::run_sessions::{end_all, within};

/// Each step takes some seconds; only a hanging one meets this.
const STEP: Duration = Duration::from_mins(2);
const TOOL: &str = "mcp__grove__subagent";
/// The tool with which newer versions find tools of servers.
const SEARCH: &str = "ToolSearch";

/// How many results of the tool there are when the host is killed, by its turn; nobody is killed in the last.
const KILLED_AFTER: [usize; 3] = [1, 3, 4];

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// The parts of a conversation.
fn parts(request: &Value) -> Vec<Value> {
    let messages = list(&request["messages"]);
    messages
        .iter()
        .flat_map(|it| list(&it["content"]))
        .collect()
}

/// The texts of the tool's results in a conversation, in order.
fn results(request: &Value) -> Vec<String> {
    let parts = parts(request);
    let calls = parts.iter().filter(|part| part["name"] == TOOL);
    let calls: Vec<&Value> = calls.map(|call| &call["id"]).collect();
    let is_ours = |part: &&Value| calls.contains(&&part["tool_use_id"]);
    let results = parts.iter().filter(|part| part["type"] == "tool_result");
    let text = |part: &Value| match &part["content"] {
        Value::String(text) => text.clone(),
        parts => list(parts)
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
    };
    // Newer versions say of a call in the middle of which they were killed that nobody knows what came of it.
    let is_known = |text: &String| !text.starts_with("[Tool call interrupted");
    let results = results.filter(is_ours).map(text);
    results.filter(is_known).collect()
}

/// The word after another one in the results of the tool: what a model would have read there.
fn word_after(results: &[String], mark: &str) -> String {
    let all = results.join("\n");
    let rest = all
        .rsplit_once(mark)
        .unwrap_or_else(|| panic!("no {mark} in {all}"))
        .1;
    let end = |c: char| !c.is_ascii_alphanumeric();
    rest.split(end).next().unwrap_or_default().to_owned()
}

/// Which turn of the host it is, counted from 1: each begins with a prompt that says so.
fn turn_of(request: &Value) -> usize {
    let text = request["messages"].to_string();
    (1..=4)
        .rev()
        .find(|turn| text.contains(&format!("This is turn {turn}.")))
        .unwrap_or(0)
}

fn has_tool(request: &Value, name: &str) -> bool {
    list(&request["tools"])
        .iter()
        .any(|tool| tool["name"] == name)
}

/// Whether the host's own model is asked, and not another one for a title.
fn is_host(request: &Value) -> bool {
    (has_tool(request, TOOL) || has_tool(request, SEARCH)) && turn_of(request) > 0
}

/// What the model of the host says.
fn host_reply(request: &Value) -> ScriptedReply {
    // Newer versions offer tools of servers only after they were searched for.
    let has_searched = parts(request).iter().any(|part| part["name"] == SEARCH);
    if !has_tool(request, TOOL) && !has_searched {
        return Reply::call(SEARCH, json!({ "query": format!("select:{TOOL}") })).into();
    }
    let results = results(request);
    let (done, turn) = (results.len(), turn_of(request));
    if KILLED_AFTER.get(turn - 1).is_some_and(|most| done >= *most) {
        return ScriptedReply {
            delivery: Delivery {
                hang_after_bytes: Some(0),
                ..Delivery::default()
            },
            ..Reply::text("never said").into()
        };
    }
    let of_run = |more: Value| {
        let mut call = json!({
            "run": word_after(&results[..1], "run: "),
            "token": word_after(&results[..1], "token: "),
        });
        for (key, value) in more.as_object().unwrap() {
            call[key] = value.clone();
        }
        Reply::call(TOOL, call)
    };
    let delivery = || word_after(&results, "delivery ");
    match done {
        0 => Reply::call(
            TOOL,
            json!({
                "chain": [
                    { "agent": "scout", "task": "Find the colour" },
                    { "agent": "worker", "task": "Paint it: {previous}" },
                ],
                "background": true,
                // A host that is killed may have forgotten its last call, and makes it again.
                "submitKey": "paint",
            }),
        ),
        2 => of_run(json!({ "action": "answer", "message": "Green.", "background": true })),
        5 | 8 => of_run(json!({ "action": "ack", "delivery": delivery() })),
        6 => {
            let child = format!("{}.2", word_after(&results[..1], "run: "));
            of_run(json!({ "action": "resume", "run": child, "message": "Once more.", "background": true }))
        }
        1 | 3 | 4 | 7 | 9 => of_run(json!({ "action": "wait" })),
        _ => Reply::text("All is painted."),
    }
    .into()
}

/// What the models of children say.
fn child_reply(request: &Value) -> Reply {
    let (system, said) = (
        request["system"].to_string(),
        request["messages"].to_string(),
    );
    match (system.contains("You scout."), said.contains("Once more.")) {
        (true, _) if said.contains("Green.") => Reply::text("The colour is green."),
        (true, _) => Reply::call(
            "contact_supervisor",
            json!({ "kind": "question", "message": "Which colour?" }),
        ),
        (false, false) => Reply::text("Painted it once."),
        (false, true) => Reply::text("Painted it twice."),
    }
}

fn scene() -> (ModelServer, Session) {
    let server = ModelServer::start(Script::chosen_by(|_, request: &Request| {
        let request = request.json();
        if is_host(&request) {
            return host_reply(&request);
        }
        let system = request["system"].to_string();
        if system.contains("You scout.") || system.contains("You work.") {
            return child_reply(&request).into();
        }
        // Titles and the like.
        Reply::text("Painting").into()
    }))
    .unwrap();
    let session = crate::session();
    session
        .dir("home/project")
        .file(
            "home/.claude/settings.json",
            r#"{"permissions": {"allow": ["mcp__grove"]}}"#,
        )
        .file(USER_CONFIG, "[runs]\nmodel = 'anthropic/m'\n");
    session.definition(
        "home/.grove/agents/scout.md",
        "tools: read, contact_supervisor\n",
        "You scout.",
    );
    session.definition("home/.grove/agents/worker.md", "tools: read\n", "You work.");
    let install = ["mcp", "install", "--host", "claude", "--yes"];
    session.grove_in("home/project", install).ok();
    (server, session)
}

/// A turn of the host, as a command.
fn host(server: &ModelServer, session: &Session, turn: usize) -> Command {
    let prompt = format!("This is turn {turn}. Have it painted.");
    // Killed early in its first turn, it has written no conversation down that could go on, and somebody begins another.
    let arguments = match conversation(session) {
        Some((id, _)) => ["--resume".to_owned(), id],
        None => [
            "--session-id".to_owned(),
            format!("6f1c2f0e-3f0b-4b55-9d3a-2f6f6a1d7c1{turn}"),
        ],
    };
    let (home, working) = (session.path("home"), session.path("home/project"));
    let arguments = arguments.each_ref().map(String::as_str);
    let command = AgentProgram::Claude.command_in(server, &home, &working, &prompt, &arguments);
    let mut command = command.unwrap_or_else(|why| panic!("{why}"));
    // The server that it starts has to find what the test looks at.
    let own = session.command("home/project");
    let folders = own
        .get_envs()
        .filter(|(name, _)| name.to_string_lossy().starts_with("XDG_"));
    command.envs(folders.filter_map(|(name, value)| Some((name, value?))));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// The processes that a process started and that it waits for.
fn children_of(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task");
    let threads = std::fs::read_dir(path).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    let pids = lists.iter().flat_map(|list| list.split_whitespace());
    pids.filter_map(|pid| pid.parse().ok()).collect()
}

fn kill(pid: u32) {
    let done = grove_testkit::process::kill()
        .args(["-9", &pid.to_string()])
        .status();
    done.unwrap();
}

/// The id and the messages of the conversation that the host can go on with. A file without any message is none: the host
/// says of its id both that there is no such conversation and that it is in use.
fn conversation(session: &Session) -> Option<(String, Vec<Value>)> {
    let files = shared::files_below(&session.path("home/.claude/projects")).unwrap_or_default();
    files.iter().find_map(|file| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines();
        let said = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let messages = said.map(|line| line["message"].clone());
        let messages: Vec<Value> = messages.filter(Value::is_object).collect();
        let id = file.file_stem()?.to_str()?.to_owned();
        (file.extension()? == "jsonl" && !messages.is_empty()).then_some((id, messages))
    })
}

/// How many results of tools the host has written into the file of its conversation.
fn written(session: &Session) -> usize {
    let messages = conversation(session).map(|(_, messages)| messages);
    results(&json!({ "messages": messages })).len()
}

/// Starts a turn, and kills the host and its `grove mcp` when the model has what it is killed after.
fn killed_turn(server: &ModelServer, session: &Session, turn: usize) {
    let running = Running::start(&mut host(server, session, turn), 10_000).unwrap();
    let has_it = |request: &Request| {
        let request = request.json();
        is_host(&request)
            && turn_of(&request) == turn
            && results(&request).len() >= KILLED_AFTER[turn - 1]
    };
    let reached = server.wait_for(STEP, has_it);
    let lines = || {
        let next = || running.line(Duration::from_millis(100));
        std::iter::from_fn(next).collect::<Vec<_>>().join("\n")
    };
    assert!(reached.is_some(), "turn {turn}: {}", lines());
    if turn > 1 {
        // In its first turn the host is killed before it could write down what it was told; here it remembers.
        let most = KILLED_AFTER[turn - 1];
        within(STEP, "the host writes nothing down", || {
            written(session) >= most
        });
    }
    let host = running.child.id();
    let is_server = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("\0mcp\0")
    };
    let servers: Vec<u32> = children_of(host).into_iter().filter(is_server).collect();
    assert_eq!(
        servers.len(),
        1,
        "turn {turn}: the host has one `grove mcp`"
    );
    kill(servers[0]);
    kill(host);
}

#[test]
fn claude_code_delegates_and_no_result_is_lost_or_taken_for_two() {
    needs![Claude];
    delegated(|_| ());
}

/// It writes messages a moment after what it noted before them; who is killed in between remembers nothing, and somebody
/// who begins another conversation gets the run that there is.
#[test]
fn claude_code_delegates_again_after_it_forgot_that_it_did() {
    needs![Claude];
    delegated(|session| {
        let files = shared::files_below(&session.path("home/.claude/projects")).unwrap_or_default();
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let is_noted = |line: &&str| !line.contains("\"message\"");
            let noted: Vec<&str> = text.lines().filter(is_noted).collect();
            std::fs::write(&file, noted.join("\n") + "\n").unwrap();
        }
    });
}

/// All turns, with what becomes of the host's files after the first.
fn delegated(after_first: impl Fn(&Session)) {
    let (server, session) = scene();
    for turn in 1..=KILLED_AFTER.len() {
        killed_turn(&server, &session, turn);
        if turn == 1 {
            after_first(&session);
        }
    }
    let mut last = Running::start(&mut host(&server, &session, 4), 10_000).unwrap();
    let ended = last.end(STEP).unwrap();
    let requests = server.requests();
    let told = requests.iter().map(Request::json).filter(is_host);
    let told = told.map(|request| results(&request)).max_by_key(Vec::len);
    let told = told.unwrap_or_default();
    assert_eq!(told.len(), 10, "{ended:?}\n{told:#?}");

    let ever = requests.iter().map(Request::json).filter(is_host);
    let mut ever = ever.flat_map(|request| results(&request));
    let question = ever.any(|text| text.contains("asking") && text.contains("Which colour?"));
    assert!(question, "somebody was told the question: {told:#?}");
    for (at, result) in [
        (3, "Painted it once."),
        (4, "Painted it once."),
        (7, "Painted it twice."),
    ] {
        assert!(told[at].contains(result), "{at}: {told:#?}");
    }
    let id_in = |at: usize| word_after(&told[at..=at], "delivery ");
    assert_eq!(
        id_in(3),
        id_in(4),
        "the same result has the same id: {told:#?}"
    );
    assert_ne!(id_in(4), id_in(7), "another one has another: {told:#?}");
    assert_eq!(id_in(7), id_in(9), "{told:#?}");
    assert!(
        told[9].contains("acknowledged this result before"),
        "{told:#?}"
    );

    let listed = session.json("runs list");
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(
        runs.len(),
        1,
        "one run, however often somebody was killed: {listed}"
    );
    assert_eq!(runs[0]["acknowledged"], true, "{listed}");
    let id = runs[0]["id"].as_str().unwrap();
    let log = session.grove(["runs", "logs", id, "--json"]).ok().stdout;
    let events = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let acknowledged = events.filter(|event| event.to_string().contains("acknowledge"));
    let ids: Vec<String> = acknowledged.map(|it| it["id"].to_string()).collect();
    assert_eq!(ids.len(), 2, "each result once: {log}");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 2, "{log}");
    end_all(&session);
}
