//! What an agent may do, after `grove agents export`: agents as people write them for one host, for every other.

use grove_testkit::session::{Session, assert_text, column, rows};

const OPENCODE: &str = "home/.config/opencode/agents/reviewer.md";
const CLAUDE: &str = "home/.claude/agents/reviewer.md";
const CODEX: &str = "home/.codex/agents/reviewer.toml";
const COPILOT: &str = "home/.copilot/agents/reviewer.agent.md";
const GEMINI: &str = "home/.gemini/agents/reviewer.md";

fn written(path: &str, lines: &str) -> Session {
    let session = crate::session().with_repository();
    let text = if path == CODEX {
        format!(
            "name = \"reviewer\"\ndescription = \"Reviews.\"\ndeveloper_instructions = \"Review.\"\n{lines}"
        )
    } else {
        format!("---\nname: reviewer\ndescription: Reviews.\n{lines}---\nReview.\n")
    };
    session.file(path, text);
    session
}

/// What an export for a host wrote and said.
struct Exported {
    text: String,
    /// Weight and line of each finding.
    findings: Vec<[String; 2]>,
    /// Whether a check of what was exported is satisfied.
    is_clean: bool,
}

fn export(session: &Session, host: &str) -> Exported {
    let exported = super::exported::export(session, host, "reviewer");
    let warnings = &exported.value["warnings"];
    let files = column(warnings, "file");
    assert!(files.iter().all(|file| !file.is_empty()), "{warnings}");
    let file = match host {
        "codex" => ".codex/agents/reviewer.toml".to_owned(),
        "copilot" => ".github/agents/reviewer.agent.md".to_owned(),
        host => format!(".{host}/agents/reviewer.md"),
    };
    Exported {
        text: session.read(format!("project/{file}")),
        findings: rows(warnings, ["severity", "line"]),
        is_clean: super::exported::export(session, host, "--check reviewer").code == 0,
    }
}

#[test]
fn an_agent_of_opencode_keeps_the_tools_that_are_on_and_loses_those_that_are_off() {
    let lines = "tools:\n  read: true\n  grep: true\n  write: false\n  edit: false\n";
    let session = written(OPENCODE, lines);
    let made = export(&session, "opencode");
    assert_text(&made.text, &[lines], &[]);
    assert!(made.is_clean);
    let made = export(&session, "claude");
    assert_text(&made.text, &["\ndisallowedTools: Edit, Write"], &[]);
    assert!(made.is_clean, "{:?}", made.findings);
    let made = export(&session, "gemini");
    assert_text(&made.text, &["  - read_file\n"], &["write_file", "replace"]);
    assert_eq!(made.findings, [["warning", "4"]]);
    assert!(!made.is_clean);
}

#[test]
fn a_check_fails_where_a_restriction_is_lost() {
    for (path, lines, host, severity) in [
        (CLAUDE, "hooks:\n  PreToolUse: [x]\n", "gemini", "warning"),
        (CLAUDE, "isolation: worktree\n", "pi", "warning"),
        (OPENCODE, "permission: {bash: ask}\n", "claude", "warning"),
        (
            CODEX,
            "sandbox_mode = \"workspace-write\"\n",
            "claude",
            "warning",
        ),
        (CLAUDE, "disallowedTools: Bash\n", "codex", "warning"),
        // What gave more than the host gives is no restriction.
        (CLAUDE, "permissionMode: acceptEdits\n", "gemini", "info"),
    ] {
        let made = export(&written(path, lines), host);
        assert_eq!(made.findings, [[severity, "4"]], "{lines} for {host}");
        assert_eq!(made.is_clean, severity == "info", "{lines} for {host}");
    }
}

#[test]
fn a_role_of_codex_keeps_its_tables() {
    let tables = "nickname_candidates = [\"Lens\"]\n[features]\nmulti_agent = false\n[mcp_servers.docs]\n\
        url = \"https://x\"\n[[skills.config]]\npath = \"/x/SKILL.md\"\nenabled = false\n";
    let session = written(CODEX, tables);
    let made = export(&session, "codex");
    let lines: Vec<&str> = made.text.lines().filter(|line| !line.is_empty()).collect();
    for line in tables.lines() {
        assert!(lines.contains(&line), "{line}: {}", made.text);
    }
    assert!(made.is_clean, "{:?}", made.findings);
    let shown = session.json("agents show reviewer");
    assert!(!shown["fields"]["unknown"]["skills"].is_null(), "{shown}");
    let codes = column(&shown["agent"]["diagnostics"], "code");
    assert_eq!(codes, ["agent-unmapped"; 4]);
}

#[test]
fn tools_of_vs_code_are_tools_and_no_servers() {
    let tools =
        "tools: ['search/codebase', 'edit/editFiles', 'execute/runInTerminal', 'vscode/memory']\n";
    let session = written(COPILOT, tools);
    let made = export(&session, "claude");
    assert_text(&made.text, &["\ntools: Grep, Edit, Bash\n"], &[]);
    assert_eq!(made.findings, [["warning", "4"]]);
    let made = export(&session, "copilot");
    assert_text(&made.text, &["- vscode/memory\n"], &[]);
    assert!(made.is_clean);
}

#[test]
fn limits_of_turns_go_from_host_to_host() {
    for (path, line) in [
        (CLAUDE, "maxTurns: 7\n"),
        (GEMINI, "max_turns: 7\n"),
        (OPENCODE, "steps: 7\n"),
    ] {
        let session = written(path, line);
        for (host, expected) in [
            ("claude", "\nmaxTurns: 7\n"),
            ("gemini", "\nmax_turns: 7\n"),
            ("opencode", "\nsteps: 7\n"),
            ("pi", "\nturnBudget:\n  maxTurns: 7\n"),
        ] {
            let made = export(&session, host);
            assert_text(&made.text, &[expected], &[]);
            let is_fine = made.is_clean && made.findings.is_empty();
            assert!(is_fine, "{line} for {host}");
        }
    }
}

#[test]
fn tools_set_in_settings_count_in_place_of_those_of_the_file() {
    let session = written(OPENCODE, "tools:\n  read: false\n  write: false\n");
    session.file(
        "home/.pi/agent/settings.json",
        r#"{ "subagents": { "agentOverrides": { "reviewer": { "tools": ["read", "bash"] } } } }"#,
    );
    let made = export(&session, "opencode");
    let tools = "tools:\n  \"*\": false\n  read: true\n  bash: true\n";
    assert_text(&made.text, &[tools], &[]);
    assert_eq!(made.text.matches("tools:").count(), 1, "{}", made.text);
    let made = export(&session, "claude");
    assert_text(&made.text, &["\ntools: Read, Bash\n"], &["disallowedTools"]);
}
