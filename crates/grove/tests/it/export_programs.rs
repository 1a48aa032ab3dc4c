//! Agents as `grove agents export` writes them, used by the real programs, offline and with a scripted model:
//! what the model is told has the text of the skills that the agent names.

use std::fs;
use std::time::Duration;

use grove_testkit::agent_program::AgentProgram;
use grove_testkit::home::TestHome;
use grove_testkit::model_server::{ModelServer, Reply, Request, Script, ToolCall};
use serde_json::{Value, json};

/// A run takes some seconds; only a hanging program meets this.
const TURN: Duration = Duration::from_mins(5);

/// What the skill and the agent say; it is nowhere else.
const PROTOCOL: &str = "The protocol word is quince.";
const OWN: &str = "The reviewer's word is medlar.";

/// A home with a project that Git knows.
fn with_project() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.file("project/.git/HEAD", "ref: refs/heads/main\n")
        .dir("project/.git/objects")
        .dir("project/.git/refs");
    home
}

/// A project with an agent that names a skill, exported for a program.
fn exported(program: AgentProgram, arguments: &[&str]) -> TestHome {
    let home = with_project();
    home
        .file(
            "home/.grove/agents/reviewer.md",
            format!(
                "---\nname: reviewer\ndescription: Reviews changes.\ntools: read, grep\nskills: protocol\n---\n{OWN}\n"
            ),
        )
        .file(
            "home/.agents/skills/protocol/SKILL.md",
            format!("---\nname: protocol\ndescription: How reviews are made.\n---\n{PROTOCOL}\n"),
        );
    let mut all = vec!["agents", "export", "--host", program.host()];
    all.extend(arguments);
    let finished = home.run("project", &all);
    finished.require_success("grove agents export").unwrap();
    home
}

/// What the model was asked by a program that ran with these arguments.
fn asked(
    program: AgentProgram,
    home: &TestHome,
    arguments: &[&str],
    script: Script,
) -> Vec<Request> {
    let server = ModelServer::start(script).unwrap();
    let finished = program.run_with(
        &server,
        &home.path("home"),
        &home.path("project"),
        "Review the change.",
        arguments,
        TURN,
    );
    let finished = finished.unwrap_or_else(|why| panic!("{why}"));
    let requests = server.requests();
    assert!(
        requests.iter().any(|request| says(request, OWN)),
        "{}: the agent was not used in {} requests\n{}\n{}",
        program.host(),
        requests.len(),
        finished.stdout_text(),
        finished.stderr_text()
    );
    requests
}

fn says(request: &Request, words: &str) -> bool {
    request.json().to_string().contains(words)
}

/// A model that hands the task to the agent once.
fn delegating() -> Script {
    Script::chosen_by(|_, request| {
        let asked = request.json();
        let tools = asked["tools"].as_array().cloned().unwrap_or_default();
        let is_there = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        let has_result = says(request, "tool_result");
        let tool = ["Agent", "Task"].into_iter().find(|name| is_there(name));
        match tool {
            Some(tool) if !has_result && !says(request, OWN) => Reply::call(
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
    let home = exported(AgentProgram::Claude, &[]);
    let requests = asked(AgentProgram::Claude, &home, &[], delegating());
    let child = requests.iter().find(|request| says(request, OWN)).unwrap();
    let asked = child.json();
    assert!(
        asked["messages"].to_string().contains(PROTOCOL),
        "{}",
        asked["messages"]
    );
    // The tools are those of the agent, by the names that they have there.
    assert_eq!(tools_of(child), ["Grep", "Read"]);
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

/// An agent of another host in the user's folder, exported for a program.
fn exported_from(path: &str, text: &str, program: AgentProgram) -> TestHome {
    let home = with_project();
    home.file(path, text);
    let export = ["agents", "export", "--host", program.host(), "reviewer"];
    let finished = home.run("project", export);
    finished.require_success("grove agents export").unwrap();
    home
}

const OPENCODE_FILE: &str = "home/.config/opencode/agents/reviewer.md";
const CLAUDE_FILE: &str = "home/.claude/agents/reviewer.md";

#[test]
fn claude_code_has_no_tools_that_an_agent_of_opencode_switches_off() {
    let text = format!(
        "---\ndescription: Reviews.\nmode: subagent\ntools:\n  read: true\n  write: false\n  edit: false\n---\n{OWN}\n"
    );
    let home = exported_from(OPENCODE_FILE, &text, AgentProgram::Claude);
    let requests = asked(AgentProgram::Claude, &home, &[], delegating());
    let child = requests.iter().find(|request| says(request, OWN)).unwrap();
    let tools = tools_of(child);
    let has = |name: &str| tools.iter().any(|tool| tool == name);
    for (tool, expected) in [
        ("Read", true),
        ("Bash", true),
        ("Write", false),
        ("Edit", false),
        ("NotebookEdit", false),
    ] {
        assert_eq!(has(tool), expected, "{tool}: {tools:?}");
    }
    // Without the list it would have them.
    let others = requests.iter().filter(|request| !says(request, OWN));
    let usual: Vec<String> = others.flat_map(tools_of).collect();
    for tool in ["Write", "Edit", "NotebookEdit"] {
        assert!(usual.iter().any(|name| name == tool), "{tool}: {usual:?}");
    }
}

#[test]
fn claude_code_and_grove_find_the_same_tools_between_blanks_and_commas() {
    for written in [
        "Read Grep",
        "Read, Grep",
        "[Read Grep]",
        "Read Bash(git log, git diff) Write",
    ] {
        let home = with_project();
        let text = format!("---\nname: reviewer\ndescription: d\ntools: {written}\n---\n{OWN}\n");
        home.file(CLAUDE_FILE, text);
        let requests = asked(AgentProgram::Claude, &home, &[], delegating());
        let child = requests.iter().find(|request| says(request, OWN)).unwrap();
        let shown = home.run("project", ["agents", "show", "reviewer", "--json"]);
        let shown: Value = serde_json::from_str(&shown.stdout_text()).unwrap();
        let tools = shown["fields"]["tools"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let name = |tool: &Value| {
            tool.as_str()
                .and_then(|it| it.split('(').next().map(str::to_owned))
        };
        let mut tools: Vec<String> = tools.iter().filter_map(name).collect();
        tools.sort_unstable();
        assert_eq!(tools_of(child), tools, "{written}: {shown}");
    }
}

#[test]
fn copilot_has_no_tools_that_an_agent_of_claude_code_must_not_have() {
    let text = format!(
        "---\nname: reviewer\ndescription: Reviews.\ndisallowedTools: Write, Edit, Bash\n---\n{OWN}\n"
    );
    let home = exported_from(CLAUDE_FILE, &text, AgentProgram::Copilot);
    let with_agent = ["--agent", "reviewer"];
    let requests = asked(AgentProgram::Copilot, &home, &with_agent, Script::plain());
    let told = requests.iter().find(|request| says(request, OWN)).unwrap();
    let tools = tools_of(told);
    assert!(tools.iter().any(|tool| tool == "view"), "{tools:?}");
    for tool in [
        "bash",
        "edit",
        "create",
        "str_replace_editor",
        "apply_patch",
    ] {
        assert!(!tools.iter().any(|name| name == tool), "{tool}: {tools:?}");
    }
}

/// Whether a model of Codex can run commands.
fn has_shell(request: &Request) -> bool {
    let names = ["shell", "shell_command", "exec_command"];
    tools_of(request)
        .iter()
        .any(|tool| names.contains(&&**tool))
}

#[test]
fn codex_uses_the_tables_of_a_role_that_was_exported_for_it() {
    let file = "home/.codex/agents/reviewer.toml";
    for (table, expected) in [("[features]\nshell_tool = false\n", false), ("", true)] {
        let role = format!(
            "name = \"reviewer\"\ndescription = \"Reviews.\"\nnickname_candidates = [\"Lens\"]\n\
             developer_instructions = \"{OWN}\"\n{table}[[skills.config]]\npath = \"/x/SKILL.md\"\n\
             enabled = false\n"
        );
        let home = exported_from(file, &role, AgentProgram::Codex);
        // The role that is used is the exported one alone.
        home.file(file, "");
        trust_project(&home);
        let requests = asked(AgentProgram::Codex, &home, &[], spawning());
        let told = requests.iter().find(|request| says(request, OWN)).unwrap();
        assert_eq!(has_shell(told), expected, "{:?}", tools_of(told));
    }
}

/// What is told of it in docs/hosts.md, and why an export warns: a role has the sandbox of its caller.
#[test]
fn codex_does_not_keep_to_the_sandbox_of_a_role() {
    let text = format!(
        "---\nname: reviewer\ndescription: Reviews.\ndisallowedTools: Write, Edit, Bash\n---\n{OWN}\n"
    );
    let home = exported_from(CLAUDE_FILE, &text, AgentProgram::Codex);
    let role = home.path("project/.codex/agents/reviewer.toml");
    let role = fs::read_to_string(role).unwrap();
    assert!(role.contains("sandbox_mode = \"read-only\"\n"), "{role}");
    trust_project(&home);
    let requests = asked(AgentProgram::Codex, &home, &[], spawning());
    let told = requests.iter().find(|request| says(request, OWN)).unwrap();
    assert!(
        says(told, "`sandbox_mode` is `workspace-write`"),
        "{}",
        told.json()["input"]
    );
}

/// Without a person to ask, Codex uses a project's roles only if its settings trust the project.
fn trust_project(home: &TestHome) {
    let project = home.path("project");
    let project = project.display();
    home.file(
        "home/.codex/config.toml",
        format!("[projects.\"{project}\"]\ntrust_level = \"trusted\"\n"),
    );
}

/// What is told of it in docs/hosts.md: whoever runs the agent itself needs its skills in its text.
#[test]
fn claude_code_preloads_nothing_for_an_agent_that_is_the_session_itself() {
    let with_agent = ["--agent", "reviewer"];
    let home = exported(AgentProgram::Claude, &[]);
    let requests = asked(AgentProgram::Claude, &home, &with_agent, Script::plain());
    assert!(!requests.iter().any(|request| says(request, PROTOCOL)));

    let home = exported(AgentProgram::Claude, &["--inline-skills"]);
    let requests = asked(AgentProgram::Claude, &home, &with_agent, Script::plain());
    let told = requests.iter().find(|request| says(request, OWN)).unwrap();
    assert_in_order(&told.json()["system"].to_string());
}

#[test]
fn copilot_has_the_skills_of_an_exported_agent_in_its_first_request() {
    let home = exported(AgentProgram::Copilot, &[]);
    let requests = asked(
        AgentProgram::Copilot,
        &home,
        &["--agent", "reviewer"],
        Script::plain(),
    );
    let told = requests.iter().find(|request| says(request, OWN)).unwrap();
    let messages = told.json()["messages"].as_array().cloned().unwrap();
    let system = messages.iter().find(|message| message["role"] == "system");
    assert_in_order(&system.cloned().unwrap_or(Value::Null).to_string());
}

/// What is told of it in docs/hosts.md: Copilot CLI reads `skills` itself, which other editors do not.
#[test]
fn copilot_reads_the_skills_of_an_agent_that_was_written_for_it() {
    let home = exported(AgentProgram::Copilot, &[]);
    home.file(
        "project/.github/agents/reviewer.agent.md",
        format!("---\nname: reviewer\ndescription: Reviews.\nskills: [protocol]\n---\n{OWN}\n"),
    );
    let requests = asked(
        AgentProgram::Copilot,
        &home,
        &["--agent", "reviewer"],
        Script::plain(),
    );
    let told = requests.iter().find(|request| says(request, OWN)).unwrap();
    assert_in_order(&told.json()["messages"].to_string());
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
    let home = exported(AgentProgram::Codex, &[]);
    trust_project(&home);
    let requests = asked(AgentProgram::Codex, &home, &[], spawning());
    let told = requests.iter().find(|request| says(request, OWN)).unwrap();
    assert_in_order(&told.json()["input"].to_string());
}

/// The skill's text comes before the agent's own, and each once.
fn assert_in_order(text: &str) {
    let skill = text.find(PROTOCOL).unwrap_or_else(|| panic!("{text}"));
    let own = text.find(OWN).unwrap_or_else(|| panic!("{text}"));
    assert!(skill < own, "{text}");
    assert_eq!(text.matches(PROTOCOL).count(), 1, "{text}");
}
