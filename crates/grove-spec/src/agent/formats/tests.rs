use proptest::prelude::*;

use super::*;
use crate::diagnostic::Position;

fn one(text: &str, format: AgentFormat) -> ParsedAgent {
    let mut found = read(text.as_bytes(), format);
    assert_eq!(found.len(), 1, "{text}");
    found.remove(0).parsed
}

/// Code and line of every finding.
fn said(parsed: &ParsedAgent) -> Vec<(&'static str, u32)> {
    let line = |finding: &Diagnostic| finding.position.map_or(0, |at| at.line);
    let findings = parsed.diagnostics.iter();
    findings
        .map(|finding| (finding.code.as_str(), line(finding)))
        .collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn an_agent_of_claude_code() {
    let text = "---\nname: reviewer\ndescription: Reviews.\ntools: Read, Bash(git log, git diff), Grep\n\
        disallowedTools: Grep\nmodel: inherit\neffort: high\nbackground: true\npermissionMode: plan\n\
        skills: protocol, style\ncolor: red\nhooks:\n  Stop: []\n---\nReview.\n";
    let parsed = one(text, AgentFormat::Claude);
    let agent = &parsed.agent;
    assert_eq!(agent.name.as_deref(), Some("reviewer"));
    assert_eq!(
        agent.tools,
        Some(words(&["Read", "Bash(git log, git diff)"]))
    );
    assert_eq!(agent.model, None);
    assert_eq!(agent.thinking.as_deref(), Some("high"));
    assert_eq!(agent.background, Some(true));
    assert_eq!(agent.skills, words(&["protocol", "style"]));
    assert_eq!(
        said(&parsed),
        [
            ("agent-unmapped", 9),
            ("agent-unmapped", 11),
            ("agent-unmapped", 12)
        ]
    );
    // Two of the three keys restrict the agent.
    let severities = parsed.diagnostics.iter().map(|one| one.severity);
    assert_eq!(
        severities.collect::<Vec<_>>(),
        [Severity::Warning, Severity::Info, Severity::Warning]
    );
    let kept: Vec<&str> = agent.unknown.iter().map(|entry| &*entry.key).collect();
    assert_eq!(kept, ["permissionMode", "color", "hooks"]);
    assert_eq!(parsed.body(text), Some("Review.\n"));
}

#[test]
fn a_restriction_that_is_not_possible_here_is_a_warning() {
    for (format, text) in [
        (
            AgentFormat::Claude,
            "---\nname: a\ndescription: d\ndisallowedTools: Bash\n---\n",
        ),
        (
            AgentFormat::Opencode,
            "---\nname: a\ndescription: d\ntools: {write: false}\n---\n",
        ),
        (
            AgentFormat::Opencode,
            "---\nname: a\ndescription: d\npermission: {edit: deny}\n---\n",
        ),
        (
            AgentFormat::Codex,
            "name = 'a'\ndescription = 'd'\ndeveloper_instructions = 'x'\nsandbox_mode = 'read-only'\n",
        ),
    ] {
        let parsed = one(text, format);
        assert_eq!(said(&parsed), [("agent-unmapped", 4)], "{text}");
        assert_eq!(parsed.diagnostics[0].severity, Severity::Warning, "{text}");
        assert_eq!(parsed.agent.unknown.len(), 1, "{text}");
        assert_eq!(parsed.agent.tools, None, "{text}");
    }
}

#[test]
fn an_agent_of_copilot() {
    let text = "---\nname: Reviewer\ndescription: d\ntools: ['read', 'search', 'github/*']\n\
        model: [gpt-5, claude-sonnet-4.5]\nreasoning-effort: low\nskills: [protocol]\ntarget: vscode\n\
        mcp-servers: {}\nhandoffs: []\n---\n";
    let parsed = one(text, AgentFormat::Copilot);
    let agent = &parsed.agent;
    assert_eq!(agent.tools, Some(words(&["read", "search", "github/*"])));
    assert_eq!(agent.model.as_deref(), Some("gpt-5"));
    assert_eq!(agent.fallback_models, words(&["claude-sonnet-4.5"]));
    assert_eq!(agent.thinking.as_deref(), Some("low"));
    assert_eq!(agent.skills, words(&["protocol"]));
    assert_eq!(
        said(&parsed),
        [
            ("agent-unmapped", 8),
            ("agent-unmapped", 9),
            ("agent-unmapped", 10)
        ]
    );
    for (tools, expected) in [
        ("['*']", None),
        ("[]", Some(words(&[]))),
        ("read, edit", Some(words(&["read", "edit"]))),
    ] {
        let text = format!("---\nname: a\ndescription: d\ntools: {tools}\n---\n");
        assert_eq!(
            one(&text, AgentFormat::Copilot).agent.tools,
            expected,
            "{tools}"
        );
    }
}

#[test]
fn an_agent_of_gemini_cli() {
    let text = "---\nname: auditor\ndescription: d\nkind: local\ntools:\n  - read_file\nmodel: inherit\n\
        temperature: 0.2\nmax_turns: 10\ntimeout_mins: 5\n---\n";
    let parsed = one(text, AgentFormat::Gemini);
    assert_eq!(parsed.agent.tools, Some(words(&["read_file"])));
    assert_eq!(parsed.agent.model, None);
    assert_eq!(parsed.agent.max_execution_time_ms, Some(300_000));
    assert_eq!(turns(&parsed), Some(10));
    assert_eq!(said(&parsed), [("agent-unmapped", 8)]);
    let remote = "---\nname: a\ndescription: d\nkind: remote\n---\n";
    assert_eq!(
        said(&one(remote, AgentFormat::Gemini)),
        [("agent-elsewhere", 4)]
    );
    let wrong = "---\nname: a\ndescription: d\ntimeout_mins: soon\n---\n";
    let wrong = one(wrong, AgentFormat::Gemini);
    assert_eq!(said(&wrong), [("agent-contract", 4)]);
    assert_eq!(wrong.agent.max_execution_time_ms, Some(1));
}

/// The turns that an agent may take.
fn turns(parsed: &ParsedAgent) -> Option<u64> {
    let budget = parsed.agent.turn_budget.as_ref();
    budget.map(|budget| budget.max_turns)
}

#[test]
fn every_host_with_a_limit_of_turns_has_the_one_of_grove() {
    for (format, line, expected) in [
        (AgentFormat::Claude, "maxTurns: 7", Some(7)),
        (AgentFormat::Gemini, "max_turns: 50", Some(50)),
        (AgentFormat::Opencode, "steps: 3", Some(3)),
        (AgentFormat::Opencode, "maxSteps: 4", Some(4)),
        (AgentFormat::Opencode, "steps: 3\nmaxSteps: 4", Some(3)),
        (AgentFormat::Opencode, "steps:", None),
        (AgentFormat::Native, "turnBudget: {maxTurns: 5}", Some(5)),
        (AgentFormat::Native, "turnBudget: '5'", Some(5)),
    ] {
        let text = format!("---\nname: a\ndescription: d\n{line}\n---\n");
        assert_eq!(turns(&one(&text, format)), expected, "{text}");
    }
    for line in ["maxTurns: 0", "maxTurns: many", "maxTurns: [1]"] {
        let text = format!("---\nname: a\ndescription: d\n{line}\n---\n");
        let parsed = one(&text, AgentFormat::Claude);
        assert_eq!(turns(&parsed), Some(1), "{line}");
        assert_eq!(said(&parsed), [("agent-contract", 4)], "{line}");
    }
}

#[test]
fn tools_that_are_denied_are_taken_from_those_that_an_agent_of_claude_code_has() {
    for (tools, denied, expected, findings) in [
        ("Read Write Edit", "Write Edit", vec!["Read"], 0),
        ("Read, Bash(git log:*)", "Bash", vec!["Read"], 0),
        ("mcp__a__b, mcp__ab__c", "mcp__a", vec!["mcp__ab__c"], 0),
        // A list of tools cannot express that only some uses of a tool are denied.
        ("Read, Bash", "Bash(rm:*)", vec!["Read", "Bash"], 1),
    ] {
        let text = format!(
            "---\nname: a\ndescription: d\ntools: {tools}\ndisallowedTools: {denied}\n---\n"
        );
        let parsed = one(&text, AgentFormat::Claude);
        assert_eq!(parsed.agent.tools, Some(words(&expected)), "{text}");
        assert_eq!(parsed.diagnostics.len(), findings, "{text}");
        assert_eq!(parsed.agent.unknown.len(), findings, "{text}");
    }
    // In Grove's own format a blank is part of a name.
    let text = "---\nname: a\ndescription: d\ntools: Read Write, Edit\n---\n";
    let native = one(text, AgentFormat::Native);
    assert_eq!(native.agent.tools, Some(words(&["Read Write", "Edit"])));
}

#[test]
fn tables_of_codex_with_the_name_of_a_key_of_grove_are_kept() {
    let text = "name = 'a'\ndescription = 'd'\ndeveloper_instructions = 'x'\n[tools]\nview_image = true\n\
        [[skills.config]]\npath = '/x/SKILL.md'\nenabled = false\n";
    let parsed = one(text, AgentFormat::Codex);
    let kept: Vec<&str> = parsed
        .agent
        .unknown
        .iter()
        .map(|entry| &*entry.key)
        .collect();
    assert_eq!(kept, ["tools", "skills"]);
    assert_eq!(
        said(&parsed),
        [("agent-unmapped", 4), ("agent-unmapped", 6)]
    );
    assert_eq!(
        (parsed.agent.tools, parsed.agent.skills),
        (None, Vec::new())
    );
}

#[test]
fn an_agent_of_opencode() {
    let text = "---\ndescription: d\nmode: subagent\nmodel: anthropic/claude-sonnet-4\n\
        tools:\n  '*': false\n  read: true\n  write: false\ndisable: true\n---\nbody\n";
    let parsed = one(text, AgentFormat::Opencode);
    assert_eq!(parsed.agent.tools, Some(words(&["read"])));
    assert_eq!(
        parsed.agent.model.as_deref(),
        Some("anthropic/claude-sonnet-4")
    );
    assert!(parsed.agent.is_disabled);
    assert_eq!(said(&parsed), [("agent-unmapped", 3)]);
}

#[test]
fn the_agents_in_the_settings_of_opencode() {
    let text = "{\n  // providers\n  \"provider\": {\"x\": {\"apiKey\": \"secret\"}},\n  \"agent\": {\n    \
        \"reviewer\": {\n      \"description\": \"Reviews.\",\n      \"prompt\": \"Review.\\nWell.\",\n      \
        \"mode\": \"subagent\",\n    },\n    \"broken\": 1,\n    \"outside\": {\"description\": \"d\", \
        \"prompt\": \"{file:./x.txt}\"},\n  },\n}\n";
    let found = read(text.as_bytes(), AgentFormat::OpencodeJson);
    let names: Vec<&str> = found
        .iter()
        .filter_map(|one| one.member.as_deref())
        .collect();
    assert_eq!(names, ["reviewer", "broken", "outside"]);
    let reviewer = &found[0].parsed;
    assert_eq!(reviewer.agent.name.as_deref(), Some("reviewer"));
    assert_eq!(reviewer.agent.description.as_deref(), Some("Reviews."));
    assert_eq!(reviewer.body(text), Some("Review.\nWell."));
    assert_eq!(said(reviewer), [("agent-unmapped", 8)]);
    assert_eq!(said(&found[1].parsed), [("agent-syntax", 10)]);
    assert_eq!(said(&found[2].parsed), [("agent-elsewhere", 11)]);
    assert_eq!(read(b"{\"model\": \"x\"}", AgentFormat::OpencodeJson), []);
    for (text, line) in [("{\n\"agent\": [", 2), ("{\n\"agent\": []}", 2)] {
        assert_eq!(
            said(&one(text, AgentFormat::OpencodeJson)),
            [("agent-syntax", line)]
        );
    }
}

#[test]
fn a_role_of_codex() {
    let text = "name = \"explorer\"\ndescription = \"Finds.\"\nmodel = \"gpt-5\"\n\
        model_reasoning_effort = \"medium\"\ndeveloper_instructions = \"\"\"\nFind.\nNothing else.\n\"\"\"\n\
        nickname_candidates = [\"Ada\"]\n[mcp_servers.docs]\ncommand = \"x\"\n";
    let parsed = one(text, AgentFormat::Codex);
    assert_eq!(parsed.agent.name.as_deref(), Some("explorer"));
    assert_eq!(parsed.agent.model.as_deref(), Some("gpt-5"));
    assert_eq!(parsed.agent.thinking.as_deref(), Some("medium"));
    assert_eq!(parsed.body(text), Some("Find.\nNothing else.\n"));
    assert_eq!(
        said(&parsed),
        [("agent-unmapped", 9), ("agent-unmapped", 10)]
    );
    for (text, line) in [
        ("name = \"a\"\nbroken\n", 2),
        ("name = \"a\"\ndescription = \"d\"\n", 1),
    ] {
        assert_eq!(
            said(&one(text, AgentFormat::Codex)),
            [("agent-syntax", line)],
            "{text}"
        );
    }
    let wrong = one(
        "description = 'd'\ndeveloper_instructions = [1]\n",
        AgentFormat::Codex,
    );
    assert_eq!(said(&wrong), [("field-required-type", 2)]);
    assert!(!one(&"a = [".repeat(10_000), AgentFormat::Codex).is_valid());
    let many = format!(
        "developer_instructions = 'x'\nx = [{}]\n",
        "1,".repeat(100_000)
    );
    assert!(!one(&many, AgentFormat::Codex).is_valid());
}

#[test]
fn keys_of_grove_mean_the_same_in_every_markdown_format() {
    let text = "---\nname: a\ndescription: d\nskillInjection: light\nskills: x\ninheritSkills: true\n---\n";
    let native = one(text, AgentFormat::Native);
    for format in [
        AgentFormat::Claude,
        AgentFormat::Copilot,
        AgentFormat::Gemini,
        AgentFormat::Opencode,
    ] {
        assert_eq!(one(text, format), native, "{format:?}");
    }
}

#[test]
fn a_format_takes_files_by_their_names() {
    for (format, name, expected) in [
        (AgentFormat::Claude, "a.md", true),
        (AgentFormat::Copilot, "a.agent.md", true),
        (AgentFormat::Copilot, "a.toml", false),
        (AgentFormat::Codex, "a.toml", true),
        (AgentFormat::Codex, "a.md", false),
        (AgentFormat::Codex, ".toml", false),
        (AgentFormat::OpencodeJson, "opencode.json", true),
        (AgentFormat::OpencodeJson, "other.json", false),
    ] {
        assert_eq!(format.takes(name), expected, "{format:?} {name}");
    }
}

#[test]
fn bytes_that_are_no_text_are_placed_in_every_format() {
    for format in [
        AgentFormat::Native,
        AgentFormat::Codex,
        AgentFormat::OpencodeJson,
    ] {
        let found = read(b"---\nx\xff", format);
        assert_eq!(found[0].parsed.diagnostics[0].code, Code::NotUtf8);
        assert_eq!(
            found[0].parsed.diagnostics[0].position,
            Some(Position::new(2, 2))
        );
    }
}

proptest! {
    /// The line of a finding about a key is the line of the key, in any surroundings.
    #[test]
    fn an_unmapped_key_is_placed(before in 0_usize..20, after in 0_usize..5) {
        let text = format!(
            "---\nname: a\n{}color: red\n{}description: d\n---\n",
            "# note\n".repeat(before),
            "# note\n".repeat(after)
        );
        let parsed = one(&text, AgentFormat::Claude);
        let line = u32::try_from(3 + before).unwrap();
        prop_assert_eq!(said(&parsed), [("agent-unmapped", line)]);
    }

    #[test]
    fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for format in [AgentFormat::Claude, AgentFormat::Codex, AgentFormat::OpencodeJson, AgentFormat::Opencode] {
            let _ = read(&bytes, format);
        }
    }
}

#[test]
fn comments_and_last_commas_of_settings_are_read_over_and_texts_are_not() {
    for (inner, prompt) in [
        (r#""prompt": "a // b", /* "x": 1, */"#, "a // b"),
        (r#"/*/ , */ "prompt": "/* c */,]}" // end"#, "/* c */,]}"),
        (r#""prompt": "q\"//,", "list": [1, 2, /* 3 */ ]"#, "q\"//,"),
    ] {
        let text = format!("{{\n\"agent\": {{\"a\": {{ {inner}\n, }}, // é\n}},}}");
        let found = read(
            text.replace("\n,", "\n").as_bytes(),
            AgentFormat::OpencodeJson,
        );
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(
            found[0].parsed.inner_body.as_deref(),
            Some(prompt),
            "{text}"
        );
    }
    for wrong in ["{\"agent\": {} /* x", "{\"agent\": [1,,2]}"] {
        assert!(!one(wrong, AgentFormat::OpencodeJson).is_valid(), "{wrong}");
    }
}

#[test]
fn what_is_missing_in_settings_is_missing_where_the_agent_stands() {
    let text = "{\n  \"agent\": {\n    \"a\": {\"description\": \"d\", \"prompt\": \"p\"},\n    \"b\": {\n      \"prompt\": \"p\"\n    }\n  }\n}\n";
    let found = super::read(text.as_bytes(), AgentFormat::OpencodeJson);
    assert_eq!(said(&found[0].parsed), []);
    assert_eq!(said(&found[1].parsed), [("description-missing", 4)]);
}

/// The file of a role, under the path by which settings name it.
fn named(path: &str, content: Result<&str, &str>) -> NamedFiles {
    let content = content.map(|text| text.as_bytes().to_vec());
    let file = NamedFile {
        path: std::path::Path::new("/settings").join(path),
        content: content.map_err(str::to_owned),
    };
    NamedFiles::from([(path.to_owned(), file)])
}

#[test]
fn roles_that_codex_settings_declare_have_what_their_files_say_first() {
    let settings = "api_key = 'secret'\n[agents]\nmax_threads = 6\n[agents.lead]\ndescription = 'declared'\nconfig_file = 'roles/lead.toml'\nnickname_candidates = ['A']\n";
    assert_eq!(
        named_files(settings.as_bytes(), AgentFormat::CodexConfig),
        ["roles/lead.toml"]
    );
    assert_eq!(
        named_files(settings.as_bytes(), AgentFormat::Codex),
        [""; 0]
    );
    for (file, name, description) in [
        ("developer_instructions = 'Do'\n", "lead", "declared"),
        (
            "name = 'own'\ndescription = 'of the file'\ndeveloper_instructions = 'Do'\nmodel_reasoning_effort = 'high'\n",
            "own",
            "of the file",
        ),
    ] {
        let named = named("roles/lead.toml", Ok(file));
        let found = read_with(settings.as_bytes(), AgentFormat::CodexConfig, &named);
        let [found] = found.as_slice() else {
            panic!("one role: {found:?}");
        };
        assert_eq!(found.member.as_deref(), Some("lead"));
        let agent = &found.parsed.agent;
        assert_eq!(agent.name.as_deref(), Some(name));
        assert_eq!(agent.description.as_deref(), Some(description));
        assert_eq!(found.parsed.body("anything"), Some("Do"));
        let codes: Vec<&str> = found
            .parsed
            .diagnostics
            .iter()
            .map(|it| it.code.as_str())
            .collect();
        assert_eq!(codes, ["agent-unmapped"], "`nickname_candidates`");
        assert!(
            found.parsed.diagnostics[0].file.is_none(),
            "it is in the settings themselves"
        );
    }
}

#[test]
fn a_declared_role_without_a_file_that_can_be_read_is_no_agent() {
    let none = NamedFiles::new();
    let file = |content| named("r.toml", content);
    for (declared, named, code, in_file) in [
        ("description = 'd'", &none, "agent-syntax", false),
        ("config_file = 1", &none, "field-required-type", false),
        ("config_file = 'r.toml'", &none, "agent-elsewhere", false),
        (
            "config_file = 'r.toml'",
            &file(Err("no")),
            "agent-elsewhere",
            false,
        ),
        (
            "config_file = 'r.toml'",
            &file(Ok("= no TOML")),
            "agent-syntax",
            true,
        ),
        (
            "config_file = 'r.toml'",
            &file(Ok("name = 'x'")),
            "agent-syntax",
            true,
        ),
    ] {
        let settings = format!("[agents.lead]\n{declared}\n");
        let found = read_with(settings.as_bytes(), AgentFormat::CodexConfig, named);
        assert_eq!(found.len(), 1, "{declared}");
        assert!(!found[0].parsed.is_valid(), "{declared}");
        let finding = &found[0].parsed.diagnostics[0];
        assert_eq!(finding.code.as_str(), code, "{declared}");
        assert_eq!(finding.file.is_some(), in_file, "{declared}");
    }
    for nothing in [
        "",
        "[agents]\nmax_depth = 1\n",
        "agents = 3\n",
        "[other.agents.x]\n",
    ] {
        let found = read_with(nothing.as_bytes(), AgentFormat::CodexConfig, &none);
        assert_eq!(found, [], "{nothing}");
    }
    let broken = read_with(b"[agents", AgentFormat::CodexConfig, &none);
    assert!(!broken[0].parsed.is_valid());
}
