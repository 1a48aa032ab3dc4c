use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::agent::formats::read;
use crate::diagnostic::Severity;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The restriction in the lines of a file.
fn restriction(lines: &str, format: Format) -> Option<Restriction> {
    let text = match format {
        Format::Codex => format!("name = 'a'\ndeveloper_instructions = 'x'\n{lines}\n"),
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
            Format::Claude,
            Denied::Tools(words(&["Write", "Edit", "Bash"])),
            true,
        ),
        (
            "disallowedTools: [Write, 'Bash(rm:*)']",
            Format::Claude,
            Denied::Tools(words(&["Write", "Bash"])),
            false,
        ),
        // Words that no host has, but whose meaning is plain.
        (
            "deny-tools: bash, write",
            Format::Native,
            Denied::Tools(words(&["bash", "write"])),
            true,
        ),
        (
            "permissionMode: plan",
            Format::Claude,
            Denied::Changes,
            true,
        ),
        (
            "sandbox_mode = 'read-only'",
            Format::Codex,
            Denied::Changes,
            true,
        ),
        (
            "tools: {read: true, grep: true, write: false, edit: false}",
            Format::Opencode,
            Denied::Tools(words(&["write", "edit"])),
            true,
        ),
        // One switch counts for all editing tools.
        (
            "tools: {write: false}",
            Format::Opencode,
            Denied::Tools(words(&["write", "edit"])),
            true,
        ),
        (
            "tools: {write: false, edit: true}",
            Format::Opencode,
            Denied::Tools(words(&["write"])),
            true,
        ),
        (
            "tools: {write: false, '*': true, bash: false}",
            Format::Opencode,
            Denied::Tools(words(&["bash"])),
            true,
        ),
        (
            "permission: {edit: deny, bash: deny}",
            Format::Opencode,
            Denied::Tools(words(&["edit", "bash", "write"])),
            true,
        ),
        (
            "permission: {edit: ask, bash: {'*': allow, 'rm *': deny}}",
            Format::Opencode,
            Denied::Tools(words(&["bash"])),
            false,
        ),
        (
            "permission: {'*': deny, read: allow, edit: allow}",
            Format::Opencode,
            Denied::Others(words(&["read", "edit", "write"])),
            true,
        ),
        // The last switch that matches counts.
        (
            "permission: {read: allow, '*': deny}",
            Format::Opencode,
            Denied::Others(Vec::new()),
            true,
        ),
        (
            "permission: deny",
            Format::Opencode,
            Denied::Others(Vec::new()),
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
        ("hooks: {PreToolUse: [x]}", Format::Claude, true),
        ("hooks: {}", Format::Claude, false),
        ("isolation: worktree", Format::Claude, true),
        ("permissionMode: dontAsk", Format::Claude, true),
        ("permissionMode: bypassPermissions", Format::Claude, false),
        ("permissionMode: acceptEdits", Format::Claude, false),
        ("mcpServers: {a: {}}", Format::Claude, false),
        ("disallowedTools: []", Format::Claude, false),
        ("color: red", Format::Claude, false),
        ("agents: []", Format::Copilot, true),
        ("agents: ['*']", Format::Copilot, false),
        ("target: vscode", Format::Copilot, false),
        ("tools: {read: true}", Format::Opencode, false),
        ("permission: {edit: ask}", Format::Opencode, true),
        ("permission: allow", Format::Opencode, false),
        ("mode: subagent", Format::Opencode, false),
        ("sandbox_mode = 'workspace-write'", Format::Codex, true),
        ("sandbox_mode = 'danger-full-access'", Format::Codex, false),
        ("approval_policy = 'never'", Format::Codex, false),
        ("approval_policy = 'untrusted'", Format::Codex, true),
        ("[features]\nmulti_agent = false", Format::Codex, true),
        ("[features]\nmulti_agent = true", Format::Codex, false),
        ("[tools]\nweb_search = false", Format::Codex, true),
        ("[mcp_servers.docs]\nurl = 'x'", Format::Codex, false),
        ("permission: {bash: deny}", Format::Native, true),
        ("own-key: x", Format::Native, false),
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
        let agent = read(text.as_bytes(), Format::Opencode).remove(0).parsed.agent;
        let has = |name: &str| match (&agent.tools, agent.unknown.first()) {
            (Some(tools), _) => tools.iter().any(|tool| tool == name),
            (None, Some(entry)) => match of(entry, Format::Opencode).map(|it| it.denied) {
                Some(Denied::Tools(denied)) => !denied.iter().any(|tool| tool == name),
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
            let agent = read(text.as_bytes(), Format::Claude).remove(0).parsed.agent;
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
