use grove_spec::Diagnostic;
use grove_spec::agent::formats::{self, restriction};
use proptest::prelude::*;

use super::super::{ExportJob, ExportSource, HostFile, agent};
use super::*;
use crate::hosts::AgentRules;

const HOSTS: [&str; 6] = ["claude", "codex", "copilot", "gemini", "opencode", "pi"];

/// A file of a format with these lines, exported for a host.
fn exported(lines: &str, format: AgentFormat, host: &str) -> (HostFile, Vec<Diagnostic>) {
    let text = match format {
        AgentFormat::Codex => {
            format!("name = 'a'\ndescription = 'd'\ndeveloper_instructions = 'x'\n{lines}\n")
        }
        _ => format!("---\nname: a\ndescription: d\n{lines}\n---\nx\n"),
    };
    let parsed = formats::read(text.as_bytes(), format).remove(0).parsed;
    assert!(parsed.is_valid(), "{text}: {:?}", parsed.diagnostics);
    let rules = AgentRules::by_name(host).unwrap();
    let job = ExportJob {
        title: "The host",
        rules: &rules,
        inline: false,
        budget: usize::MAX,
    };
    let source = ExportSource {
        name: "a",
        address: Some("a@user:x"),
        agent: &parsed.agent,
        format,
        is_packaged: false,
        places: &parsed.places,
        body: parsed.body(&text).unwrap(),
        skills: &[],
    };
    agent(&job, &source)
}

fn warnings(findings: &[Diagnostic]) -> usize {
    let warnings = findings.iter();
    warnings
        .filter(|finding| finding.severity == Severity::Warning)
        .count()
}

/// The lines of a file between its description and its text.
fn lines(file: &HostFile) -> String {
    let text = &file.text;
    let from = text.find("description").unwrap();
    let rest = &text[from..];
    let from = rest.find('\n').unwrap() + 1;
    let to = rest.find("---\n").or(rest.find("developer_instructions"));
    rest[from..to.unwrap()].trim_end().to_owned()
}

#[test]
fn what_an_agent_must_not_have_it_has_nowhere() {
    let claude = "disallowedTools: Write, Edit, Bash";
    let opencode = "tools:\n  read: true\n  grep: true\n  write: false\n  edit: false";
    let permission = "permission:\n  edit: deny\n  bash: deny";
    let codex = "sandbox_mode = \"read-only\"";
    let no_changes = "disallowedTools: Bash, Edit, Write, MultiEdit, NotebookEdit, PowerShell";
    let nothing_changes =
        "disallowedTools: Bash, Edit, Agent, Write, MultiEdit, NotebookEdit, PowerShell, Task";
    let no_edits = "disallowedTools: Edit, Write, MultiEdit, NotebookEdit";
    let all_off = "tools:\n  bash: false\n  edit: false\n  write: false\n  apply_patch: false\n  multiedit: false\n  patch: false";
    let gemini = "tools:\n  - glob\n  - grep_search\n  - list_directory\n  - read_file\n  - write_todos\n  - web_fetch\n  - google_web_search";
    let copilot = "tools:\n  - search\n  - read\n  - agent\n  - todo\n  - web";
    let read_only = "tools:\n  - search\n  - read\n  - todo\n  - web";
    let pi = "tools: read, grep, find, ls";
    for (written, format, host, expected, n_warnings) in [
        (claude, AgentFormat::Claude, "claude", claude, 0),
        (claude, AgentFormat::Claude, "opencode", all_off, 0),
        // `sandbox_mode` is written, and Codex may use the caller's in its place.
        (claude, AgentFormat::Claude, "codex", codex, 1),
        (claude, AgentFormat::Claude, "gemini", gemini, 1),
        (claude, AgentFormat::Claude, "copilot", copilot, 1),
        (claude, AgentFormat::Claude, "pi", pi, 1),
        (opencode, AgentFormat::Opencode, "opencode", opencode, 0),
        (opencode, AgentFormat::Opencode, "claude", no_edits, 0),
        // There it cannot change anything with commands either.
        (opencode, AgentFormat::Opencode, "codex", codex, 1),
        (permission, AgentFormat::Opencode, "opencode", permission, 0),
        (permission, AgentFormat::Opencode, "claude", no_changes, 0),
        (permission, AgentFormat::Opencode, "codex", codex, 1),
        (permission, AgentFormat::Opencode, "pi", pi, 1),
        (codex, AgentFormat::Codex, "codex", codex, 0),
        // A sandbox lets commands run that only read: without it there are none.
        (codex, AgentFormat::Codex, "claude", nothing_changes, 1),
        (codex, AgentFormat::Codex, "copilot", read_only, 2),
        (
            "permissionMode: plan",
            AgentFormat::Claude,
            "codex",
            codex,
            1,
        ),
        ("permissionMode: plan", AgentFormat::Claude, "pi", pi, 2),
        (
            "permission: {'*': deny, read: allow, grep: allow}",
            AgentFormat::Opencode,
            "claude",
            "tools: Read, Grep",
            0,
        ),
        (
            "tools: Read, Bash\ndisallowedTools: Bash(rm:*)",
            AgentFormat::Claude,
            "pi",
            "tools: read",
            1,
        ),
        (
            "tools: Read, Bash\ndisallowedTools: Bash(rm:*)",
            AgentFormat::Claude,
            "claude",
            "tools: Read, Bash\ndisallowedTools: Bash(rm:*)",
            0,
        ),
        ("disallowedTools: Bash", AgentFormat::Claude, "codex", "", 1),
        // In the words of one host, in another one's file or in a file of no host.
        (
            "permission: {bash: deny}",
            AgentFormat::Native,
            "claude",
            "disallowedTools: Bash, PowerShell",
            0,
        ),
        (
            "allowed-tools: Read, Grep",
            AgentFormat::Claude,
            "opencode",
            "tools:\n  \"*\": false\n  read: true\n  grep: true",
            0,
        ),
        (
            "tools: [read, bash]\nDeny_Tools: [bash]",
            AgentFormat::Native,
            "claude",
            "tools: Read",
            0,
        ),
        // One switch is for both tools.
        (
            "disallowedTools: Write",
            AgentFormat::Claude,
            "opencode",
            "tools:\n  write: false",
            1,
        ),
    ] {
        let (file, findings) = exported(written, format, host);
        assert_eq!(lines(&file), expected, "{written} for {host}");
        assert_eq!(
            warnings(&findings),
            n_warnings,
            "{written} for {host}: {findings:?}"
        );
    }
}

#[test]
fn a_restriction_that_cannot_be_said_is_a_warning_with_its_line() {
    for (written, format) in [
        ("hooks: {PreToolUse: [x]}", AgentFormat::Claude),
        ("isolation: worktree", AgentFormat::Claude),
        ("permission: {bash: ask}", AgentFormat::Opencode),
        ("sandbox_mode = 'workspace-write'", AgentFormat::Codex),
        ("sandbox: strict", AgentFormat::Native),
    ] {
        for host in HOSTS {
            let (_, findings) = exported(written, format, host);
            let is_own = AgentRules::by_name(host).unwrap().export.format == format;
            assert_eq!(
                warnings(&findings),
                usize::from(!is_own),
                "{written} for {host}"
            );
            for finding in &findings {
                assert_eq!(finding.position.map(|at| at.line), Some(4), "{finding:?}");
            }
        }
    }
}

#[test]
fn tools_of_an_editor_are_not_taken_for_servers() {
    let tools = "tools: ['search/codebase', 'edit/editFiles', 'execute/runInTerminal', 'read/readFile', 'web/fetch', \
        'shell', 'todo']";
    for (host, expected) in [
        (
            "claude",
            "tools: Grep, Edit, Bash, Read, WebFetch, TodoWrite",
        ),
        ("pi", "tools: grep, edit, bash, read, web_fetch, todo"),
        (
            "gemini",
            "tools:\n  - grep_search\n  - replace\n  - run_shell_command\n  - read_file\n  - web_fetch\n  - write_todos",
        ),
        (
            "opencode",
            "tools:\n  \"*\": false\n  grep: true\n  edit: true\n  bash: true\n  read: true\n  webfetch: true\n  todowrite: true",
        ),
    ] {
        let (file, findings) = exported(tools, AgentFormat::Copilot, host);
        assert_eq!(lines(&file), expected, "{host}");
        assert_eq!(warnings(&findings), 0, "{host}: {findings:?}");
    }
}

#[test]
fn an_agent_none_of_whose_tools_is_known_there_has_none_and_that_is_said() {
    for host in ["claude", "gemini", "opencode", "pi"] {
        let (file, findings) = exported("tools: ['vscode/memory']", AgentFormat::Copilot, host);
        let said = findings
            .iter()
            .filter(|it| it.message.contains("has no tools in"));
        assert_eq!(said.count(), 1, "{host}: {findings:?}");
        assert!(lines(&file).starts_with("tools:"), "{host}: {}", file.text);
    }
    // If Codex gets "changes nothing" although part of a restriction was not understood, there is a warning.
    let (_, findings) = exported("tools: ['vscode/memory']", AgentFormat::Copilot, "codex");
    assert!(
        findings[0].message.contains("`vscode/memory`"),
        "{findings:?}"
    );
    let (file, findings) = exported("tools: Read, Bash(git log:*)", AgentFormat::Claude, "codex");
    assert_eq!((lines(&file).as_str(), warnings(&findings)), ("", 1));
}

#[test]
fn a_finding_has_the_line_of_the_key_in_the_words_of_its_file() {
    for (written, format, host, line) in [
        ("color: red\ntools: LSP", AgentFormat::Claude, "pi", 5),
        (
            "tools: Read\neffort: max",
            AgentFormat::Claude,
            "copilot",
            5,
        ),
        ("maxTurns: 3\nmaxTokens: 4", AgentFormat::Native, "codex", 5),
        (
            "model_reasoning_effort = 'none'",
            AgentFormat::Codex,
            "claude",
            4,
        ),
    ] {
        let (_, findings) = exported(written, format, host);
        let first = findings.first().unwrap();
        assert_eq!(
            first.position.map(|at| at.line),
            Some(line),
            "{written}: {findings:?}"
        );
    }
}

/// Tools by Grove's names and by those of files that deny them.
const TOOLS: [(&str, &str, &str); 6] = [
    ("read", "Read", "read"),
    ("write", "Write", "write"),
    ("edit", "Edit", "edit"),
    ("bash", "Bash", "bash"),
    ("grep", "Grep", "grep"),
    ("web_fetch", "WebFetch", "webfetch"),
];

/// Returns true if an agent in a file of a host has a tool, by Grove's name for it.
fn has(file: &HostFile, format: AgentFormat, tool: &str) -> bool {
    let parsed = formats::read(file.text.as_bytes(), format).remove(0).parsed;
    assert!(parsed.is_valid(), "{}: {:?}", file.text, parsed.diagnostics);
    let vocabulary = ToolNames::of(format);
    let is_among = |names: &[String]| {
        let mut names = names.iter();
        names.any(|name| vocabulary.own(name).names.iter().any(|own| own == tool))
    };
    let denied = parsed.agent.unknown.iter().any(|entry| {
        match restriction::of(entry, format).map(|it| it.denied) {
            Some(DeniedTools::Tools(names)) => is_among(&names),
            Some(DeniedTools::Others(names)) => !is_among(&names),
            Some(DeniedTools::Changes) => CHANGING.contains(&tool),
            None => false,
        }
    });
    !denied && parsed.agent.tools.as_deref().is_none_or(is_among)
}

proptest! {
    /// No host grants a tool that a file denies, in whichever words; Codex has no list to deny it in, so it warns.
    #[test]
    fn powers_only_shrink(
        denied in prop::sample::subsequence(TOOLS.to_vec(), 1..TOOLS.len()),
        way in 0_usize..4,
        host in prop::sample::select(HOSTS.to_vec()),
    ) {
        let names: Vec<&str> = denied.iter().map(|(_, claude, opencode)| {
            if way == 0 { *claude } else { *opencode }
        }).collect();
        let each = |word: &str| -> String {
            let lines: Vec<String> =
                names.iter().map(|name| format!("\n  {name}: {word}")).collect();
            lines.concat()
        };
        let (format, lines) = match way {
            0 => (AgentFormat::Claude, format!("disallowedTools: {}", names.join(" "))),
            1 => (AgentFormat::Opencode, format!("tools:{}", each("false"))),
            2 => (AgentFormat::Opencode, format!("permission:{}", each("deny"))),
            _ => (AgentFormat::Opencode, format!("permission:{}", each("{'*': deny, 'x*': allow}"))),
        };
        let (file, findings) = exported(&lines, format, host);
        let to = AgentRules::by_name(host).unwrap().export.format;
        for (tool, _, _) in &denied {
            if has(&file, to, tool) {
                prop_assert_eq!(host, "codex", "{} in {}", tool, file.text);
                prop_assert!(warnings(&findings) > 0, "{} in {}", tool, file.text);
            }
        }
        // A tool that is not denied stays if the host can deny single tools.
        if matches!(host, "claude" | "opencode") {
            let is_editing = |tool: &str| tool == "write" || tool == "edit";
            let edits = denied.iter().any(|(tool, _, _)| is_editing(tool));
            for (tool, _, _) in TOOLS {
                let is_denied = denied.iter().any(|(other, _, _)| *other == tool)
                    || (edits && is_editing(tool) && (way > 0 || host == "opencode"));
                prop_assert_eq!(has(&file, to, tool), !is_denied, "{} in {}", tool, file.text);
            }
        }
    }
}
