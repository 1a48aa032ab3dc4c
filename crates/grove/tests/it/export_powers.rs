//! What an agent may do, after `grove agents export`: agents as people write them for one host, for every other.

use std::fs;

use grove_testkit::home::TestHome;
use grove_testkit::process::Ending;
use serde_json::Value;

const OPENCODE: &str = "home/.config/opencode/agents/reviewer.md";
const CLAUDE: &str = "home/.claude/agents/reviewer.md";
const CODEX: &str = "home/.codex/agents/reviewer.toml";
const COPILOT: &str = "home/.copilot/agents/reviewer.agent.md";
const GEMINI: &str = "home/.gemini/agents/reviewer.md";

fn written(path: &str, lines: &str) -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("project/.git");
    let text = if path == CODEX {
        format!(
            "name = \"reviewer\"\ndescription = \"Reviews.\"\ndeveloper_instructions = \"Review.\"\n{lines}"
        )
    } else {
        format!("---\nname: reviewer\ndescription: Reviews.\n{lines}---\nReview.\n")
    };
    home.file(path, text);
    home
}

/// What an export for a host wrote and said.
struct Exported {
    text: String,
    /// The lines of findings by their weights.
    findings: Vec<(String, Option<u64>)>,
    /// Whether a check of what was exported is satisfied.
    is_clean: bool,
}

fn export(home: &TestHome, host: &str, file: &str) -> Exported {
    let arguments = ["agents", "export", "--host", host, "--json", "reviewer"];
    let finished = home.run("project", arguments);
    let value: Value = serde_json::from_str(&finished.stdout_text())
        .unwrap_or_else(|error| panic!("{error}: {}", finished.stderr_text()));
    let findings = value["warnings"].as_array().unwrap().iter();
    let findings = findings.map(|finding| {
        assert!(finding["file"].is_string(), "{finding}");
        let severity = finding["severity"].as_str().unwrap().to_owned();
        (severity, finding["line"].as_u64())
    });
    let check = ["agents", "export", "--host", host, "--check", "reviewer"];
    Exported {
        text: fs::read_to_string(home.path(format!("project/{file}"))).unwrap(),
        findings: findings.collect(),
        is_clean: home.run("project", check).ending == Ending::Exited(0),
    }
}

fn said(severity: &str, line: u64) -> (String, Option<u64>) {
    (severity.to_owned(), Some(line))
}

#[test]
fn an_agent_of_opencode_keeps_the_tools_that_are_on_and_loses_those_that_are_off() {
    let lines = "tools:\n  read: true\n  grep: true\n  write: false\n  edit: false\n";
    let home = written(OPENCODE, lines);
    let made = export(&home, "opencode", ".opencode/agents/reviewer.md");
    assert!(made.text.contains(lines), "{}", made.text);
    assert!(made.is_clean);
    let made = export(&home, "claude", ".claude/agents/reviewer.md");
    assert!(
        made.text.contains("\ndisallowedTools: Edit, Write"),
        "{}",
        made.text
    );
    assert!(made.is_clean, "{:?}", made.findings);
    let made = export(&home, "gemini", ".gemini/agents/reviewer.md");
    assert!(made.text.contains("  - read_file\n"), "{}", made.text);
    for tool in ["write_file", "replace"] {
        assert!(!made.text.contains(tool), "{}", made.text);
    }
    assert_eq!(made.findings, [said("warning", 4)]);
    assert!(!made.is_clean);
}

#[test]
fn a_check_fails_where_a_restriction_is_lost() {
    for (path, lines, host, file) in [
        (
            CLAUDE,
            "hooks:\n  PreToolUse: [x]\n",
            "gemini",
            ".gemini/agents/reviewer.md",
        ),
        (
            CLAUDE,
            "isolation: worktree\n",
            "pi",
            ".pi/agents/reviewer.md",
        ),
        (
            OPENCODE,
            "permission: {bash: ask}\n",
            "claude",
            ".claude/agents/reviewer.md",
        ),
        (
            CODEX,
            "sandbox_mode = \"workspace-write\"\n",
            "claude",
            ".claude/agents/reviewer.md",
        ),
        (
            CLAUDE,
            "disallowedTools: Bash\n",
            "codex",
            ".codex/agents/reviewer.toml",
        ),
    ] {
        let made = export(&written(path, lines), host, file);
        assert_eq!(made.findings, [said("warning", 4)], "{lines} for {host}");
        assert!(!made.is_clean, "{lines} for {host}");
    }
    // What gave more than the host gives is no restriction.
    let bold = written(CLAUDE, "permissionMode: acceptEdits\n");
    let made = export(&bold, "gemini", ".gemini/agents/reviewer.md");
    assert_eq!(made.findings, [said("info", 4)]);
    assert!(made.is_clean);
}

#[test]
fn a_role_of_codex_keeps_its_tables() {
    let tables = "nickname_candidates = [\"Lens\"]\n[features]\nmulti_agent = false\n[mcp_servers.docs]\n\
        url = \"https://x\"\n[[skills.config]]\npath = \"/x/SKILL.md\"\nenabled = false\n";
    let home = written(CODEX, tables);
    let made = export(&home, "codex", ".codex/agents/reviewer.toml");
    let lines: Vec<&str> = made.text.lines().filter(|line| !line.is_empty()).collect();
    for line in tables.lines() {
        assert!(lines.contains(&line), "{line}: {}", made.text);
    }
    assert!(made.is_clean, "{:?}", made.findings);
    let shown = home.run("project", ["agents", "show", "reviewer", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout_text()).unwrap();
    let unknown = shown["fields"]["unknown"].as_object().unwrap();
    assert!(unknown.contains_key("skills"), "{unknown:?}");
    let codes = shown["agent"]["diagnostics"].as_array().unwrap().iter();
    let codes: Vec<&str> = codes.filter_map(|it| it["code"].as_str()).collect();
    assert_eq!(codes, ["agent-unmapped"; 4]);
}

#[test]
fn tools_of_vs_code_are_tools_and_no_servers() {
    let tools =
        "tools: ['search/codebase', 'edit/editFiles', 'execute/runInTerminal', 'vscode/memory']\n";
    let home = written(COPILOT, tools);
    let made = export(&home, "claude", ".claude/agents/reviewer.md");
    assert!(
        made.text.contains("\ntools: Grep, Edit, Bash\n"),
        "{}",
        made.text
    );
    assert_eq!(made.findings, [said("warning", 4)]);
    let made = export(&home, "copilot", ".github/agents/reviewer.agent.md");
    assert!(made.text.contains("- vscode/memory\n"), "{}", made.text);
    assert!(made.is_clean);
}

#[test]
fn limits_of_turns_go_from_host_to_host() {
    for (path, line) in [
        (CLAUDE, "maxTurns: 7\n"),
        (GEMINI, "max_turns: 7\n"),
        (OPENCODE, "steps: 7\n"),
    ] {
        let home = written(path, line);
        for (host, file, expected) in [
            ("claude", ".claude/agents/reviewer.md", "\nmaxTurns: 7\n"),
            ("gemini", ".gemini/agents/reviewer.md", "\nmax_turns: 7\n"),
            ("opencode", ".opencode/agents/reviewer.md", "\nsteps: 7\n"),
            (
                "pi",
                ".pi/agents/reviewer.md",
                "\nturnBudget:\n  maxTurns: 7\n",
            ),
        ] {
            let made = export(&home, host, file);
            assert!(
                made.text.contains(expected),
                "{line} for {host}: {}",
                made.text
            );
            assert!(
                made.is_clean && made.findings.is_empty(),
                "{line} for {host}"
            );
        }
    }
}

#[test]
fn tools_set_in_settings_count_in_place_of_those_of_the_file() {
    let home = written(OPENCODE, "tools:\n  read: false\n  write: false\n");
    home.file(
        "home/.pi/agent/settings.json",
        r#"{ "subagents": { "agentOverrides": { "reviewer": { "tools": ["read", "bash"] } } } }"#,
    );
    let made = export(&home, "opencode", ".opencode/agents/reviewer.md");
    assert!(
        made.text
            .contains("tools:\n  \"*\": false\n  read: true\n  bash: true\n"),
        "{}",
        made.text
    );
    assert_eq!(made.text.matches("tools:").count(), 1, "{}", made.text);
    let made = export(&home, "claude", ".claude/agents/reviewer.md");
    assert!(made.text.contains("\ntools: Read, Bash\n"), "{}", made.text);
    assert!(!made.text.contains("disallowedTools"), "{}", made.text);
}
