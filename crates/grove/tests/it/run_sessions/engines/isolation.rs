//! What a program is told, and what of a person's own and of the project's never reaches it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::{fs, thread};

use grove_engine::below::BOUNDARY;
use grove_testkit::needs;
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::super::{AGENT, run_of};
use super::table::server_of;
use super::{ENGINES, model_of, scene, words};

/// Stands in everything that a child was not told.
const OUTSIDE: &str = "OUTSIDE-MARK";

/// Instructions, hooks, servers, skills and extensions of the person's and of the project's.
fn surround(session: &Session) {
    for file in [
        "home/.claude/CLAUDE.md",
        "home/.codex/AGENTS.md",
        "home/.copilot/copilot-instructions.md",
        "home/.pi/agent/AGENTS.md",
        "home/.config/opencode/AGENTS.md",
        "home/.gemini/GEMINI.md",
        "project/GEMINI.md",
        "home/CLAUDE.md",
        "home/AGENTS.md",
        "project/CLAUDE.md",
        "project/AGENTS.md",
        "project/.github/copilot-instructions.md",
    ] {
        session.file(file, format!("{OUTSIDE} of {file}\n"));
    }
    let touch = |name: &str| format!("touch '{}'", session.path(format!("ran-{name}")).display());
    let hook = |event: &str, of: &str| {
        let command = touch(&format!("hook-{of}-{event}"));
        json!([{ "hooks": [{ "type": "command", "command": command }] }])
    };
    for of in ["home", "project"] {
        let events = ["SessionStart", "UserPromptSubmit", "Stop"];
        let hooks: serde_json::Map<String, Value> = events
            .into_iter()
            .map(|event| (event.to_owned(), hook(event, of)))
            .collect();
        session.file(
            format!("{of}/.claude/settings.json"),
            json!({ "hooks": hooks }).to_string(),
        );
    }
    let server = |name: &str| {
        let command = touch(&format!("server-{name}"));
        json!({ "mcpServers": { "outside": {
            "type": "stdio", "command": "/bin/sh", "args": ["-c", command], "tools": ["*"],
        } } })
    };
    session.file("home/.claude.json", server("claude").to_string());
    session.file("project/.mcp.json", server("project").to_string());
    session.file(
        "home/.copilot/mcp-config.json",
        server("copilot").to_string(),
    );
    for (file, name) in [
        ("home/.gemini/settings.json", "gemini"),
        ("project/.gemini/settings.json", "gemini-project"),
    ] {
        let command = touch(&format!("server-{name}"));
        let server = json!({ "command": "/bin/sh", "args": ["-c", command] });
        let settings = json!({ "mcpServers": { "outside": server } });
        session.file(file, settings.to_string());
    }
    for (file, name) in [
        ("home/.config/opencode/opencode.json", "opencode"),
        ("project/opencode.json", "opencode-project"),
    ] {
        let command = json!(["/bin/sh", "-c", touch(&format!("server-{name}"))]);
        let server = json!({ "type": "local", "command": command });
        session.file(file, json!({ "mcp": { "outside": server } }).to_string());
    }
    let command = touch("server-codex");
    let codex =
        format!("[mcp_servers.outside]\ncommand = \"/bin/sh\"\nargs = [\"-c\", {command:?}]\n");
    session.file("home/.codex/config.toml", codex);
    let skill = format!("---\nname: outside\ndescription: {OUTSIDE}\n---\n\n{OUTSIDE}\n");
    for folder in [
        "project/.claude/skills",
        "project/.github/skills",
        "home/.claude/skills",
        "home/.pi/agent/skills",
    ] {
        session.file(format!("{folder}/outside/SKILL.md"), &skill);
    }
    let extension = session.path("ran-extension-pi");
    let extension = format!("require('fs').writeFileSync({:?}, '')", extension.display());
    session.file("home/.pi/agent/extensions/outside.js", extension);
    let made = Command::new("git")
        .args(["init", "-q"])
        .current_dir(session.path("project"))
        .status();
    assert!(made.unwrap().success());
}

/// Everything at home but caches.
fn at_home(session: &Session) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = grove_testkit::shared::files_below(&session.path("home")).unwrap();
    let files = files
        .into_iter()
        .filter(|file| !file.starts_with(session.path("home/.cache")));
    files
        .map(|file| (file.clone(), fs::read(&file).unwrap_or_default()))
        .collect()
}

#[test]
fn a_program_hears_what_it_is_told_and_nothing_of_what_lies_around() {
    needs![Claude, Codex, Copilot, Pi, Node];
    thread::scope(|scope| {
        for (engine, ..) in ENGINES {
            scope.spawn(move || hears_only(engine));
        }
    });
}

pub(super) fn hears_only(engine: &str) {
    let server = server_of(&[json!({ "text": "Fine." })]);
    let session = scene(&server);
    surround(&session);
    session.definition("home/.grove/skills/style", "", "SKILL-PART");
    session.definition(
        AGENT,
        "tools: read\nskills: style\nsystemPromptMode: replace\n",
        "PROMPT-PART",
    );
    let before = at_home(&session);
    let model = model_of(engine);
    let outcome = session.grove(words(engine, &model, &["--json"])).ok();
    let run = run_of(&outcome.stdout);
    let body = server.requests()[0].json();
    // What is said before the conversation stands before it.
    let texts = [
        "system",
        "instructions",
        "systemInstruction",
        "messages",
        "input",
        "contents",
    ];
    let texts = texts.map(|key| body[key].to_string());
    let text = texts.concat();
    let mut at = 0;
    for part in ["SKILL-PART", "PROMPT-PART", BOUNDARY, "TASK-MARK"] {
        assert_eq!(text.matches(part).count(), 1, "{engine}: {part}");
        let place = text.find(part).unwrap();
        assert!(place >= at, "{engine}: {part} comes too early");
        at = place;
    }
    assert!(!text.contains(OUTSIDE), "{engine}: {text}");
    let ran = fs::read_dir(session.path("")).unwrap().flatten();
    let ran = ran.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let ran: Vec<String> = ran.filter(|name| name.starts_with("ran-")).collect();
    assert_eq!(ran, Vec::<String>::new(), "{engine}");
    assert_eq!(
        at_home(&session),
        before,
        "{engine}: something at home changed"
    );
    if engine == "gemini" {
        return;
    }
    // What it adds is known by its digest, and nothing that it was told is missing.
    let id = run["id"].as_str().unwrap();
    let shown = session.json(["runs", "show", id]);
    let added = &shown["nodes"][0]["attempts"][0]["added"];
    let digest = added["digest"].as_str().unwrap_or_default();
    assert_eq!(digest.len(), 64, "{engine}: {shown}");
    assert_eq!(added["notWhole"], Value::Null, "{engine}: {shown}");
    let path = format!("state/grove/logs/{}/1-1.jsonl", run["id"].as_str().unwrap());
    let log = session.read(path);
    assert!(
        log.contains("bytes with the digest sha256:") || log.contains("bytes with the digest "),
        "{engine}: {log}"
    );
    assert!(
        !log.contains("not whole, once and in order"),
        "{engine}: {log}"
    );
}
