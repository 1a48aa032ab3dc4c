//! Claude Code and Codex, offline and with a scripted model, use `grove mcp` as `grove mcp install` entered it:
//! the model goes down a tree of three levels and reads a leaf.

use std::time::Duration;

use grove_testkit::agent_program::AgentProgram;
use grove_testkit::model_server::{ModelServer, Reply, Request, Script, ToolCall};
use grove_testkit::needs;
use grove_testkit::session::Session;
use serde_json::{Value, json};

/// A run takes some seconds; only a hanging program meets this.
const TURN: Duration = Duration::from_mins(5);

/// What the leaf says; it is nowhere else.
const LEAF: &str = "The pivot word is quince.";

fn home() -> Session {
    let home = crate::session();
    let skills = "home/.agents/skills/office";
    let skill = |name: &str, children: &str, body: &str| {
        format!("---\nname: {name}\ndescription: About {name}.\n{children}---\n{body}\n")
    };
    let with = |child: &str| format!("metadata:\n  children: {child}\n");
    home.dir("home/project")
        .file("home/project/.git/HEAD", "ref: refs/heads/main\n")
        .dir("home/project/.git/objects")
        .dir("home/project/.git/refs")
        .file(
            format!("{skills}/SKILL.md"),
            skill("office", &with("sheets"), "Choose."),
        )
        .file(
            format!("{skills}/skills/sheets/SKILL.md"),
            skill("sheets", &with("pivot"), "Choose."),
        )
        .file(
            format!("{skills}/skills/sheets/skills/pivot/SKILL.md"),
            skill("pivot", "", LEAF),
        );
    home
}

/// The steps of the model: the catalog, then one level after another.
fn steps() -> [(&'static str, Value); 4] {
    [
        ("skills", json!({})),
        ("skill", json!({ "name": "office" })),
        ("skill", json!({ "name": "sheets" })),
        ("skill", json!({ "name": "pivot" })),
    ]
}

/// A call as the program has its tools.
fn call(program: AgentProgram, tool: &str, arguments: Value) -> Reply {
    let (name, namespace) = match program {
        AgentProgram::Codex => (tool.to_owned(), Some("mcp__grove".to_owned())),
        _ => (format!("mcp__grove__{tool}"), None),
    };
    Reply::Message {
        text: None,
        calls: vec![ToolCall {
            name,
            namespace,
            arguments,
        }],
    }
}

/// The texts that tools gave, in the order of a request.
fn results(program: AgentProgram, request: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    if program == AgentProgram::Codex {
        let items = list(&request["input"]);
        let results = items
            .iter()
            .filter(|item| item["type"] == "function_call_output");
        return results.map(|item| item["output"].to_string()).collect();
    }
    let messages = list(&request["messages"]);
    let parts = messages
        .iter()
        .flat_map(|message| list(&message["content"]));
    let results = parts.filter(|part| part["type"] == "tool_result");
    results.map(|part| part["content"].to_string()).collect()
}

fn drill_down(program: AgentProgram) {
    let home = home();
    if program == AgentProgram::Claude {
        // In a run without a person, what is not permitted beforehand is refused.
        home.file(
            "home/.claude/settings.json",
            r#"{"permissions": {"allow": ["mcp__grove"]}}"#,
        );
    }
    let install = ["mcp", "install", "--host", program.host(), "--yes"];
    home.grove_in("home/project", install).ok();

    let replies = steps().map(|(tool, arguments)| call(program, tool, arguments));
    let server = ModelServer::start(Script::chosen_by(move |_, request| {
        // Programs ask for titles and the like in between; what was answered so far says where the model is.
        let done = results(program, &request.json()).len();
        let next = replies.get(done).cloned();
        next.unwrap_or_else(|| Reply::text("The pivot word is known."))
    }))
    .unwrap();
    let finished = program
        .run(
            &server,
            &home.path("home"),
            &home.path("home/project"),
            "What is the pivot word? Use your skills.",
            TURN,
        )
        .unwrap_or_else(|why| panic!("{why}"));

    let requests = server.requests();
    let told = requests
        .iter()
        .map(|request| results(program, &request.json()));
    let told = told.max_by_key(Vec::len).unwrap_or_default();
    let all = || {
        format!(
            "{told:#?}\n{}\n{}",
            finished.stdout_text(),
            finished.stderr_text()
        )
    };
    let n_steps = steps().len();
    assert_eq!(told.len(), n_steps, "every step has its result: {}", all());
    for (result, expected, absent) in [
        (&told[0], "office", LEAF),
        (&told[1], "sheets", LEAF),
        (&told[2], "pivot", LEAF),
        (&told[3], LEAF, "is not there"),
    ] {
        assert!(result.contains(expected), "{expected}: {}", all());
        assert!(!result.contains(absent), "{absent}: {}", all());
    }
    assert!(finished.success(), "{}", all());
}

/// The catalog has what the program does not list to its model, and not what it lists.
fn is_not_told_twice(program: AgentProgram, folder: &str) {
    let home = home();
    home.skill(format!("home/{folder}/mine"), "mine", "Found by the host")
        .skill("home/.gemini/skills/other", "other", "Found by nobody else")
        .file(
            "home/.claude/settings.json",
            r#"{"permissions": {"allow": ["mcp__grove"]}}"#,
        );
    let install = ["mcp", "install", "--host", program.host(), "--yes"];
    home.grove_in("home/project", install).ok();
    let server = ModelServer::start(Script::chosen_by(move |_, request| {
        match results(program, &request.json()).len() {
            0 => call(program, "skills", json!({})),
            _ => Reply::text("Known."),
        }
    }))
    .unwrap();
    let (at_home, working) = (home.path("home"), home.path("home/project"));
    let finished = program.run(&server, &at_home, &working, "Which skills?", TURN);
    finished.unwrap_or_else(|why| panic!("{why}"));
    let requests = server.requests();
    let requests: Vec<Value> = requests.iter().map(Request::json).collect();
    // The program has told its model of one of them by itself.
    let first = requests.iter().map(Value::to_string);
    let mut listed = first.filter(|text| text.contains("Found by the host"));
    assert!(listed.next().is_some(), "{}", program.host());
    let told = requests.iter().flat_map(|it| results(program, it)).next();
    let told = told.unwrap();
    assert!(told.contains("Found by nobody else"), "{told}");
    assert!(!told.contains("Found by the host"), "{told}");
    assert!(told.contains("itself lists"), "{told}");
}

#[test]
fn claude_code_is_not_told_twice_what_it_lists() {
    needs![Claude];
    is_not_told_twice(AgentProgram::Claude, ".claude/skills");
}

#[test]
fn codex_is_not_told_twice_what_it_lists() {
    needs![Codex];
    is_not_told_twice(AgentProgram::Codex, ".codex/skills");
}

#[test]
fn claude_code_goes_down_to_a_leaf() {
    needs![Claude];
    drill_down(AgentProgram::Claude);
}

#[test]
fn codex_goes_down_to_a_leaf() {
    needs![Codex];
    drill_down(AgentProgram::Codex);
}
