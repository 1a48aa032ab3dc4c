//! Agents as `grove agents export` writes them, used by the real programs, offline and with a scripted model:
//! what the model is told has the text of the skills that the agent names.

use std::time::Duration;

use grove_testkit::agent_program::AgentProgram;
use grove_testkit::model_server::{ModelServer, Reply, Request, Script, ToolCall};
use grove_testkit::needs;
use grove_testkit::session::{Session, assert_text};
use serde_json::{Value, json};

/// A run takes some seconds; only a hanging program meets this.
const TURN: Duration = Duration::from_mins(5);

/// What the skill and the agent say; it is nowhere else.
const PROTOCOL: &str = "The protocol word is quince.";
const OWN: &str = "The reviewer's word is medlar.";

const AS_REVIEWER: [&str; 2] = ["--agent", "reviewer"];
const OPENCODE_FILE: &str = "home/.config/opencode/agents/reviewer.md";
const CLAUDE_FILE: &str = "home/.claude/agents/reviewer.md";
const WITHOUT_WRITING: &str = "disallowedTools: Write, Edit, Bash\n";

/// A home with a project that Git knows.
fn with_project() -> Session {
    let session = crate::session();
    session
        .file("project/.git/HEAD", "ref: refs/heads/main\n")
        .dir("project/.git/objects")
        .dir("project/.git/refs");
    session
}

/// A project with an agent that names a skill, exported for a program.
fn exported(program: AgentProgram, flags: &str) -> Session {
    let session = with_project();
    let lines = "tools: read, grep\nskills: protocol\n";
    session
        .definition("home/.grove/agents/reviewer.md", lines, OWN)
        .definition("home/.agents/skills/protocol", "", PROTOCOL);
    export(session, program, flags)
}

/// An agent of another host in the user's folder, exported for a program.
fn exported_from(path: &str, lines: &str, program: AgentProgram) -> Session {
    let session = with_project();
    session.definition(path, lines, OWN);
    export(session, program, "reviewer")
}

fn export(session: Session, program: AgentProgram, more: &str) -> Session {
    let host = program.host();
    session
        .grove(&format!("agents export --host {host} --yes {more}"))
        .ok();
    session
}

/// What the model was asked by a program that ran with these arguments: for the agent, and at all.
fn asked(
    program: AgentProgram,
    session: &Session,
    arguments: &[&str],
    script: Script,
) -> (Request, Vec<Request>) {
    let server = ModelServer::start(script).unwrap();
    let finished = program.run_with(
        &server,
        &session.path("home"),
        &session.path("project"),
        "Review the change.",
        arguments,
        TURN,
    );
    let finished = finished.unwrap_or_else(|why| panic!("{why}"));
    let requests = server.requests();
    let told = requests.iter().find(|request| says(request, OWN)).cloned();
    let told = told.unwrap_or_else(|| {
        let (host, count) = (program.host(), requests.len());
        let (stdout, stderr) = (finished.stdout_text(), finished.stderr_text());
        panic!("{host}: the agent was not used in {count} requests\n{stdout}\n{stderr}")
    });
    (told, requests)
}

fn says(request: &Request, words: &str) -> bool {
    request.json().to_string().contains(words)
}

/// The names of the tools that a model was given, sorted.
fn tools_of(request: &Request) -> Vec<String> {
    let asked = request.json();
    let tools = asked["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| {
        let name = tool["name"].as_str().or(tool["function"]["name"].as_str());
        name.map(str::to_owned)
    };
    let mut names: Vec<String> = tools.iter().filter_map(name).collect();
    names.sort_unstable();
    names
}

/// The skill's text comes before the agent's own, and each once.
fn assert_in_order(text: &Value) {
    let text = text.to_string();
    assert_text(&text, &[PROTOCOL, OWN], &[]);
    assert!(text.find(PROTOCOL) < text.find(OWN), "{text}");
    assert_eq!(text.matches(PROTOCOL).count(), 1, "{text}");
}

/// A model that hands the task to the agent once.
fn delegating() -> Script {
    Script::chosen_by(|_, request| {
        let tools = tools_of(request);
        let tool = ["Agent", "Task"]
            .into_iter()
            .find(|name| tools.iter().any(|it| it == name));
        match tool {
            Some(tool) if !says(request, "tool_result") && !says(request, OWN) => Reply::call(
                tool,
                json!({
                    "description": "Review",
                    "prompt": "Review the change.",
                    "subagent_type": "reviewer",
                }),
            ),
            _ => Reply::text("Done."),
        }
    })
}

#[test]
fn claude_code_preloads_the_skills_of_an_exported_agent_that_it_delegates_to() {
    needs![Claude];
    let session = exported(AgentProgram::Claude, "");
    let (child, _) = asked(AgentProgram::Claude, &session, &[], delegating());
    let messages = child.json()["messages"].to_string();
    assert!(messages.contains(PROTOCOL), "{messages}");
    // The tools are those of the agent, by the names that they have there.
    assert_eq!(tools_of(&child), ["Grep", "Read"]);
}

#[test]
fn claude_code_has_no_tools_that_an_agent_of_opencode_switches_off() {
    needs![Claude];
    let lines = "mode: subagent\ntools:\n  read: true\n  write: false\n  edit: false\n";
    let session = exported_from(OPENCODE_FILE, lines, AgentProgram::Claude);
    let (child, requests) = asked(AgentProgram::Claude, &session, &[], delegating());
    let tools = tools_of(&child);
    // Without the list it would have all of them.
    let others = requests.iter().filter(|request| !says(request, OWN));
    let usual: Vec<String> = others.flat_map(tools_of).collect();
    for (tool, expected) in [
        ("Read", true),
        ("Bash", true),
        ("Write", false),
        ("Edit", false),
        ("NotebookEdit", false),
    ] {
        let has = |tools: &[String]| tools.iter().any(|name| name == tool);
        assert_eq!(has(&tools), expected, "{tool}: {tools:?}");
        assert!(has(&usual), "{tool}: {usual:?}");
    }
}

#[test]
fn claude_code_and_grove_find_the_same_tools_between_blanks_and_commas() {
    needs![Claude];
    for written in [
        "Read Grep",
        "Read, Grep",
        "[Read Grep]",
        "Read Bash(git log, git diff) Write",
    ] {
        let session = with_project();
        session.definition(CLAUDE_FILE, &format!("tools: {written}\n"), OWN);
        let (child, _) = asked(AgentProgram::Claude, &session, &[], delegating());
        let shown = session.json("agents show reviewer");
        let tools = shown["fields"]["tools"].as_array().into_iter().flatten();
        let names = tools.filter_map(|tool| tool.as_str()?.split('(').next());
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        assert_eq!(tools_of(&child), names, "{written}: {shown}");
    }
}

#[test]
fn copilot_has_no_tools_that_an_agent_of_claude_code_must_not_have() {
    needs![Copilot];
    let session = exported_from(CLAUDE_FILE, WITHOUT_WRITING, AgentProgram::Copilot);
    let (told, _) = asked(
        AgentProgram::Copilot,
        &session,
        &AS_REVIEWER,
        Script::plain(),
    );
    let tools = tools_of(&told);
    assert!(tools.iter().any(|tool| tool == "view"), "{tools:?}");
    let writing = [
        "bash",
        "edit",
        "create",
        "str_replace_editor",
        "apply_patch",
    ];
    let has_one = tools.iter().any(|tool| writing.contains(&&**tool));
    assert!(!has_one, "{tools:?}");
}

#[test]
fn codex_uses_the_tables_of_a_role_that_was_exported_for_it() {
    needs![Codex];
    let file = "home/.codex/agents/reviewer.toml";
    for (table, expected) in [("[features]\nshell_tool = false\n", false), ("", true)] {
        let role = format!(
            "name = \"reviewer\"\ndescription = \"Reviews.\"\nnickname_candidates = [\"Lens\"]\n\
             developer_instructions = \"{OWN}\"\n{table}[[skills.config]]\npath = \"/x/SKILL.md\"\n\
             enabled = false\n"
        );
        let session = with_project();
        session.file(file, role);
        let session = export(session, AgentProgram::Codex, "reviewer");
        // The role that is used is the exported one alone.
        session.file(file, "");
        trust_project(&session);
        let (told, _) = asked(AgentProgram::Codex, &session, &[], spawning());
        let tools = tools_of(&told);
        let shells = ["shell", "shell_command", "exec_command"];
        let has_shell = tools.iter().any(|tool| shells.contains(&&**tool));
        assert_eq!(has_shell, expected, "{tools:?}");
    }
}

/// What is told of it in docs/hosts.md, and why an export warns: a role has the sandbox of its caller.
#[test]
fn codex_does_not_keep_to_the_sandbox_of_a_role() {
    needs![Codex];
    let session = exported_from(CLAUDE_FILE, WITHOUT_WRITING, AgentProgram::Codex);
    let role = session.read("project/.codex/agents/reviewer.toml");
    assert_text(&role, &["sandbox_mode = \"read-only\"\n"], &[]);
    trust_project(&session);
    let (told, _) = asked(AgentProgram::Codex, &session, &[], spawning());
    let input = told.json()["input"].to_string();
    assert_text(&input, &["`sandbox_mode` is `workspace-write`"], &[]);
}

/// Without a person to ask, Codex uses a project's roles only if its settings trust the project.
fn trust_project(session: &Session) {
    let project = session.path("project");
    let project = project.display();
    let trusted = format!("[projects.\"{project}\"]\ntrust_level = \"trusted\"\n");
    session.file("home/.codex/config.toml", trusted);
}

/// What is told of it in docs/hosts.md: whoever runs the agent itself needs its skills in its text.
#[test]
fn claude_code_preloads_nothing_for_an_agent_that_is_the_session_itself() {
    needs![Claude];
    let session = exported(AgentProgram::Claude, "");
    let (_, requests) = asked(
        AgentProgram::Claude,
        &session,
        &AS_REVIEWER,
        Script::plain(),
    );
    assert!(!requests.iter().any(|request| says(request, PROTOCOL)));

    let session = exported(AgentProgram::Claude, "--inline-skills");
    let (told, _) = asked(
        AgentProgram::Claude,
        &session,
        &AS_REVIEWER,
        Script::plain(),
    );
    assert_in_order(&told.json()["system"]);
}

#[test]
fn copilot_has_the_skills_of_an_exported_agent_in_its_first_request() {
    needs![Copilot];
    let session = exported(AgentProgram::Copilot, "");
    let (told, _) = asked(
        AgentProgram::Copilot,
        &session,
        &AS_REVIEWER,
        Script::plain(),
    );
    let messages = told.json()["messages"].as_array().cloned().unwrap();
    let system = messages.iter().find(|message| message["role"] == "system");
    assert_in_order(system.unwrap());
}

/// What is told of it in docs/hosts.md: Copilot CLI reads `skills` itself, which other editors do not.
#[test]
fn copilot_reads_the_skills_of_an_agent_that_was_written_for_it() {
    needs![Copilot];
    let session = exported(AgentProgram::Copilot, "");
    session.file(
        "project/.github/agents/reviewer.agent.md",
        format!("---\nname: reviewer\ndescription: Reviews.\nskills: [protocol]\n---\n{OWN}\n"),
    );
    let (told, _) = asked(
        AgentProgram::Copilot,
        &session,
        &AS_REVIEWER,
        Script::plain(),
    );
    assert_in_order(&told.json()["messages"]);
}

/// The outputs of the tools that Codex called.
fn outputs(request: &Request) -> Vec<String> {
    let items = request.json()["input"].as_array().cloned();
    let items = items.unwrap_or_default().into_iter();
    let outputs = items.filter(|item| item["type"] == "function_call_output");
    outputs
        .filter_map(|item| item["output"].as_str().map(str::to_owned))
        .collect()
}

/// A model of Codex that hands the task to the agent once, and waits for it.
fn spawning() -> Script {
    let call = |name: &str, arguments: Value| Reply::Message {
        text: None,
        calls: vec![ToolCall {
            name: name.to_owned(),
            namespace: Some("multi_agent_v1".to_owned()),
            arguments,
        }],
    };
    Script::chosen_by(move |_, request| {
        if says(request, OWN) {
            return Reply::text("Reviewed.");
        }
        match outputs(request).as_slice() {
            [] => call(
                "spawn_agent",
                json!({ "agent_type": "reviewer", "message": "Review the change." }),
            ),
            [spawned] => {
                let spawned: Value = serde_json::from_str(spawned).unwrap_or_default();
                let targets = [spawned["agent_id"].clone()];
                call("wait_agent", json!({ "targets": targets }))
            }
            _ => Reply::text("Done."),
        }
    })
}

#[test]
fn codex_has_the_skills_of_an_exported_role_in_what_it_tells_the_agent() {
    needs![Codex];
    let session = exported(AgentProgram::Codex, "");
    trust_project(&session);
    let (told, _) = asked(AgentProgram::Codex, &session, &[], spawning());
    assert_in_order(&told.json()["input"]);
}
