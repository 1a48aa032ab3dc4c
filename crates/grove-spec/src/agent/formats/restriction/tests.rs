use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::agent::formats::read;
use crate::diagnostic::Severity;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The restriction in the lines of a file.
fn restriction(lines: &str, format: AgentFormat) -> Option<Restriction> {
    let text = match format {
        AgentFormat::Codex => format!("name = 'a'\ndeveloper_instructions = 'x'\n{lines}\n"),
        _ => format!("---\nname: a\ndescription: d\n{lines}\n---\n"),
    };
    let parsed = read(text.as_bytes(), format).remove(0).parsed;
    assert!(parsed.is_valid(), "{text}: {:?}", parsed.diagnostics);
    let [entry] = parsed.agent.unknown.as_slice() else {
        panic!("one key: {:?}", parsed.agent.unknown);
    };
    let found = of(entry, format);
    // The reader of a restriction gets a warning, and the reader of another key does not.
    let warned = parsed.diagnostics.iter().any(|finding| {
        finding.severity == Severity::Warning && finding.position == Some(entry.position)
    });
    assert_eq!(warned, found.is_some(), "{text}");
    found
}

#[test]
fn tools_that_an_agent_must_not_have() {
    for (lines, format, denied, is_whole) in [
        (
            "disallowedTools: Write, Edit Bash",
            AgentFormat::Claude,
            DeniedTools::Tools(words(&["Write", "Edit", "Bash"])),
            true,
        ),
        (
            "disallowedTools: [Write, 'Bash(rm:*)']",
            AgentFormat::Claude,
            DeniedTools::Tools(words(&["Write", "Bash"])),
            false,
        ),
        // Words that no host has, but whose meaning is plain.
        (
            "deny-tools: bash, write",
            AgentFormat::Native,
            DeniedTools::Tools(words(&["bash", "write"])),
            true,
        ),
        (
            "permissionMode: plan",
            AgentFormat::Claude,
            DeniedTools::Changes,
            true,
        ),
        (
            "sandbox_mode = 'read-only'",
            AgentFormat::Codex,
            DeniedTools::Changes,
            true,
        ),
        (
            "tools: {read: true, grep: true, write: false, edit: false}",
            AgentFormat::Opencode,
            DeniedTools::Tools(words(&["write", "edit"])),
            true,
        ),
        // One switch counts for all editing tools.
        (
            "tools: {write: false}",
            AgentFormat::Opencode,
            DeniedTools::Tools(words(&["write", "edit"])),
            true,
        ),
        (
            "tools: {write: false, edit: true}",
            AgentFormat::Opencode,
            DeniedTools::Tools(words(&["write"])),
            true,
        ),
        (
            "tools: {write: false, '*': true, bash: false}",
            AgentFormat::Opencode,
            DeniedTools::Tools(words(&["bash"])),
            true,
        ),
        (
            "permission: {edit: deny, bash: deny}",
            AgentFormat::Opencode,
            DeniedTools::Tools(words(&["edit", "bash", "write"])),
            true,
        ),
        (
            "permission: {edit: ask, bash: {'*': allow, 'rm *': deny}}",
            AgentFormat::Opencode,
            DeniedTools::Tools(words(&["bash"])),
            false,
        ),
        (
            "permission: {'*': deny, read: allow, edit: allow}",
            AgentFormat::Opencode,
            DeniedTools::Others(words(&["read", "edit", "write"])),
            true,
        ),
        // The last switch that matches counts.
        (
            "permission: {read: allow, '*': deny}",
            AgentFormat::Opencode,
            DeniedTools::Others(Vec::new()),
            true,
        ),
        (
            "permission: deny",
            AgentFormat::Opencode,
            DeniedTools::Others(Vec::new()),
            true,
        ),
    ] {
        assert_eq!(
            restriction(lines, format),
            Some(Restriction {
                denied,
                is_whole,
                is_readable: true,
            }),
            "{lines}"
        );
    }
}

#[test]
fn other_restrictions_are_known_as_such_and_what_gives_more_is_none() {
    for (lines, format, is_one) in [
        ("hooks: {PreToolUse: [x]}", AgentFormat::Claude, true),
        ("hooks: {}", AgentFormat::Claude, false),
        ("isolation: worktree", AgentFormat::Claude, true),
        ("permissionMode: dontAsk", AgentFormat::Claude, true),
        (
            "permissionMode: bypassPermissions",
            AgentFormat::Claude,
            false,
        ),
        ("permissionMode: acceptEdits", AgentFormat::Claude, false),
        ("mcpServers: {a: {}}", AgentFormat::Claude, false),
        ("disallowedTools: []", AgentFormat::Claude, false),
        ("color: red", AgentFormat::Claude, false),
        ("agents: []", AgentFormat::Copilot, true),
        ("agents: ['*']", AgentFormat::Copilot, false),
        ("target: vscode", AgentFormat::Copilot, false),
        ("tools: {read: true}", AgentFormat::Opencode, false),
        ("permission: {edit: ask}", AgentFormat::Opencode, true),
        ("permission: allow", AgentFormat::Opencode, false),
        ("mode: subagent", AgentFormat::Opencode, false),
        ("sandbox_mode = 'workspace-write'", AgentFormat::Codex, true),
        (
            "sandbox_mode = 'danger-full-access'",
            AgentFormat::Codex,
            false,
        ),
        ("approval_policy = 'never'", AgentFormat::Codex, false),
        ("approval_policy = 'untrusted'", AgentFormat::Codex, true),
        ("[features]\nmulti_agent = false", AgentFormat::Codex, true),
        ("[features]\nmulti_agent = true", AgentFormat::Codex, false),
        ("[tools]\nweb_search = false", AgentFormat::Codex, true),
        ("[mcp_servers.docs]\nurl = 'x'", AgentFormat::Codex, false),
        ("permission: {bash: deny}", AgentFormat::Native, true),
        ("own-key: x", AgentFormat::Native, false),
    ] {
        assert_eq!(restriction(lines, format).is_some(), is_one, "{lines}");
    }
}

proptest! {
    /// A tool that is switched off last is denied, after any other switches, named or by `*`.
    #[test]
    fn a_switch_that_is_off_is_never_lost(
        names in prop::collection::btree_set("[a-z]{1,6}", 1..8),
        states in prop::collection::vec(any::<bool>(), 8),
        rest in prop::option::of(any::<bool>()),
    ) {
        let mut lines = String::from("tools:\n");
        if let Some(rest) = rest {
            writeln!(lines, "  '*': {rest}").unwrap();
        }
        let switches: Vec<(&String, &bool)> = names.iter().zip(&states).collect();
        for (name, is_on) in &switches {
            writeln!(lines, "  x{name}: {is_on}").unwrap();
        }
        let text = format!("---\nname: a\ndescription: d\n{lines}---\n");
        let agent = read(text.as_bytes(), AgentFormat::Opencode).remove(0).parsed.agent;
        let has = |name: &str| match (&agent.tools, agent.unknown.first()) {
            (Some(tools), _) => tools.iter().any(|tool| tool == name),
            (None, Some(entry)) => match of(entry, AgentFormat::Opencode).map(|it| it.denied) {
                Some(DeniedTools::Tools(denied)) => !denied.iter().any(|tool| tool == name),
                Some(other) => panic!("{other:?}"),
                None => true,
            },
            (None, None) => true,
        };
        for (name, is_on) in switches {
            prop_assert_eq!(has(&format!("x{name}")), *is_on, "{}", text);
        }
        prop_assert_eq!(has("unnamed"), rest != Some(false), "{}", text);
    }

    /// Tools of Claude Code are the same with any separator between them.
    #[test]
    fn blanks_are_between_tools_of_claude_code_as_commas_are(
        tools in prop::collection::vec(
            prop::sample::select(vec!["Read", "Write", "Bash(git log, git diff:*)", "mcp__a__b"]),
            1..6,
        ),
        between in prop::collection::vec(prop::sample::select(vec![" ", ", ", ",", "  "]), 6),
    ) {
        let mut line = String::new();
        for (tool, between) in tools.iter().zip(&between) {
            line.push_str(tool);
            line.push_str(between);
        }
        for written in [format!("\"{line}\""), format!("[\"{line}\"]")] {
            let text = format!("---\nname: a\ndescription: d\ntools: {written}\n---\n");
            let agent = read(text.as_bytes(), AgentFormat::Claude).remove(0).parsed.agent;
            prop_assert_eq!(agent.tools, Some(words(&tools)), "{}", text);
        }
    }
}

#[test]
fn a_name_that_denies_a_server_or_its_tool_means_the_entry() {
    for (denied, entry, expected) in [
        ("mcp__it__try", "mcp:it/try", true),
        ("mcp__it__try", "mcp:it", true),
        ("mcp__it__try", "mcp:it/other", false),
        ("mcp__it", "mcp:it/other", true),
        ("mcp__it__*", "mcp:it/other", true),
        ("mcp:it", "mcp:it/try", true),
        ("mcp:my-server/a.b", "mcp:my-server/a.b", true),
        ("mcp__my_server__a_b", "mcp:my-server/a.b", true),
        ("mcp__it", "mcp:other", false),
        ("bash", "mcp:it", false),
        ("mcp__it", "bash", false),
    ] {
        assert_eq!(
            denies_server_tool(denied, entry),
            expected,
            "{denied} {entry}"
        );
    }
}
