//! Tests that restrictions fail closed: every key that restricts a skill or an agent, with every value that it cannot
//! have, in every format, and also where the frontmatter has to be repaired.

use serde_json::{Value as Json, json};

use crate::agent::fields::FieldRow;
use crate::agent::formats::{self, AgentFormat};
use crate::agent::{self, AgentFile};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Severity};
use crate::malformed_values::ValueShape::Nothing;
use crate::malformed_values::{MALFORMED, STARTS, in_toml};
use crate::skill::{self, ParsedSkill};

/// The keys of agents that restrict, each with the value that counts when it cannot be read.
fn strictest_of_agents() -> Vec<(&'static str, Option<Json>)> {
    vec![
        ("tools", Some(json!([]))),
        ("inheritProjectContext", None),
        ("inheritSkills", None),
        ("extensions", Some(json!([]))),
        ("maxSubagentDepth", Some(json!(0))),
        ("maxExecutionTimeMs", Some(json!(1))),
        ("timeoutMs", Some(json!(1))),
        ("toolTimeoutMs", Some(json!(1))),
        ("maxTokens", Some(json!(1))),
        ("turnBudget", None),
        ("toolBudget", None),
        ("acceptance", None),
    ]
}

const MARKDOWN: [AgentFormat; 5] = [
    AgentFormat::Native,
    AgentFormat::Claude,
    AgentFormat::Copilot,
    AgentFormat::Gemini,
    AgentFormat::Opencode,
];

fn agent_with(key: &str, value: &str, start: &str, format: AgentFormat) -> agent::ParsedAgent {
    let text = match format {
        AgentFormat::Codex => {
            let value = in_toml(value).unwrap_or_default();
            format!("name = 'a'\ndeveloper_instructions = 'x'\n{key} = {value}\n")
        }
        AgentFormat::OpencodeJson => {
            format!(r#"{{"agent": {{"a": {{"description": "d", "{key}": {value}}}}}}}"#)
        }
        _ => format!("---\n{start}{key}: {value}\n---\n"),
    };
    formats::read(text.as_bytes(), format).remove(0).parsed
}

fn is_contract(finding: &Diagnostic) -> bool {
    finding.code == Code::AgentContract
        && finding.position.is_some()
        && !finding.help_text().is_empty()
}

#[test]
fn the_table_of_what_restricts_an_agent_is_this() {
    let restricting = FieldRow::in_files().filter(|row| row.restricts);
    let restricting: Vec<&str> = restricting.map(|row| row.key).collect();
    let expected: Vec<&str> = strictest_of_agents().iter().map(|row| row.0).collect();
    assert_eq!(restricting, expected);
    assert!(FieldRow::in_files().all(|row| !row.restricts || !row.strictest.is_empty()));
}

#[test]
fn what_restricts_an_agent_and_cannot_be_read_means_the_strictest_and_an_error() {
    let all = MARKDOWN
        .into_iter()
        .chain([AgentFormat::OpencodeJson, AgentFormat::Codex]);
    for ((key, strictest), format) in all.flat_map(|format| {
        strictest_of_agents()
            .into_iter()
            .map(move |row| (row, format))
    }) {
        let is_list = matches!(key, "tools" | "extensions");
        // In these formats `tools` is a mapping of switches, which the table of the host's own keys judges.
        let is_theirs =
            key == "tools" && matches!(format, AgentFormat::Opencode | AgentFormat::OpencodeJson);
        for (value, shape) in MALFORMED {
            // A contract may have keys of other programs.
            let is_contract_with_others = key == "acceptance" && value.starts_with('{');
            let is_readable = is_list && shape != Nothing;
            let is_unwritten = format == AgentFormat::Codex
                && (in_toml(value).is_none() || (key == "tools" && value.starts_with('{')));
            if is_readable
                || is_unwritten
                || is_contract_with_others
                || (is_theirs && value.starts_with('{'))
            {
                continue;
            }
            for start in STARTS {
                let parsed = agent_with(key, value, start, format);
                let case = format!("{format:?} {key}: {value} after {start:?}");
                assert!(!parsed.is_valid(), "{case}: {:?}", parsed.agent);
                assert!(
                    parsed.diagnostics.iter().any(is_contract),
                    "{case}: {:?}",
                    parsed.diagnostics
                );
                let row = FieldRow::of_file(key).unwrap();
                assert_eq!(row.written(&parsed.agent), strictest, "{case}");
            }
        }
    }
}

#[test]
fn a_list_of_tools_in_any_form_is_read_where_it_is_understood() {
    for (value, expected) in [
        (r#"{"read": true, "bash": false}"#, vec!["read"]),
        (r#"{"bash": false}"#, vec![]),
        (r#"{"*": false, "read": true}"#, vec!["read"]),
        (r#"["read", "bash"]"#, vec!["read", "bash"]),
        ("read, bash", vec!["read", "bash"]),
        ("[]", vec![]),
        ("{}", vec![]),
    ] {
        for format in [
            AgentFormat::Native,
            AgentFormat::Claude,
            AgentFormat::Copilot,
            AgentFormat::Gemini,
        ] {
            for start in STARTS {
                let parsed = agent_with("tools", value, start, format);
                assert!(
                    parsed.is_valid(),
                    "{format:?} {value}: {:?}",
                    parsed.diagnostics
                );
                let expected = expected.iter().map(|name| (*name).to_owned()).collect();
                assert_eq!(parsed.agent.tools, Some(expected), "{format:?} {value}");
            }
        }
    }
}

/// Keys of hosts that restrict an agent, each with the format in which it does.
const OF_HOSTS: [(&str, AgentFormat); 24] = [
    ("disallowedTools", AgentFormat::Claude),
    ("disallowedTools", AgentFormat::Native),
    ("deny-tools", AgentFormat::Gemini),
    ("excludeTools", AgentFormat::Copilot),
    ("blockedTools", AgentFormat::Opencode),
    ("tools", AgentFormat::Opencode),
    ("permission", AgentFormat::Opencode),
    ("tools", AgentFormat::OpencodeJson),
    ("permission", AgentFormat::OpencodeJson),
    ("permissionMode", AgentFormat::Claude),
    ("spawning", AgentFormat::Native),
    ("readonly", AgentFormat::Copilot),
    ("network", AgentFormat::Gemini),
    ("agents", AgentFormat::Copilot),
    ("allowed-tools", AgentFormat::Claude),
    ("allowedTools", AgentFormat::Native),
    ("Disallowed_Tools", AgentFormat::Native),
    ("permission", AgentFormat::Native),
    ("permissions", AgentFormat::Claude),
    ("disallowedTools", AgentFormat::Codex),
    ("sandbox_mode", AgentFormat::Codex),
    ("approval_policy", AgentFormat::Codex),
    ("web_search", AgentFormat::Codex),
    ("permissionMode", AgentFormat::Codex),
];

#[test]
fn what_a_host_restricts_and_nobody_can_read_leaves_the_agent_without_tools_and_invalid() {
    for (key, format) in OF_HOSTS {
        for (value, shape) in MALFORMED {
            if shape != Nothing || (format == AgentFormat::Codex && in_toml(value).is_none()) {
                continue;
            }
            // A mapping of these keys may have patterns, and may switch everything on.
            let is_rule = matches!(value, r#"{"*": true}"# | r#"{"a": {"b": true}}"#);
            if is_rule && matches!(key, "tools" | "permission" | "permissions") {
                continue;
            }
            for start in STARTS {
                let parsed = agent_with(key, value, start, format);
                let case = format!("{format:?} {key}: {value} after {start:?}");
                assert!(!parsed.is_valid(), "{case}: {:?}", parsed.diagnostics);
                assert!(parsed.diagnostics.iter().any(is_contract), "{case}");
                assert_eq!(parsed.agent.tools, Some(Vec::new()), "{case}");
            }
        }
    }
    // The counter-cases: each of these values can be read.
    for (key, value, format) in [
        ("disallowedTools", r#"{"Bash": true}"#, AgentFormat::Claude),
        ("disallowedTools", r#"["Bash"]"#, AgentFormat::Native),
        (
            "permission",
            r#"{"bash": {"git *": "allow"}}"#,
            AgentFormat::Opencode,
        ),
        ("permissionMode", "plan", AgentFormat::Claude),
        ("spawning", "off", AgentFormat::Native),
        ("readonly", "no", AgentFormat::Copilot),
        ("agents", r#"["*"]"#, AgentFormat::Copilot),
    ] {
        let parsed = agent_with(key, value, STARTS[0], format);
        assert!(parsed.is_valid(), "{key}: {:?}", parsed.diagnostics);
        assert_eq!(parsed.agent.tools, None, "{key}");
    }
}

fn skill_with(lines: &str, start: &str) -> ParsedSkill {
    skill::parse(&format!("---\n{start}{lines}\n---\nBody\n"))
}

#[test]
fn what_restricts_a_skill_and_cannot_be_read_means_the_strictest_and_an_error() {
    for (value, shape) in MALFORMED {
        for start in STARTS {
            for key in [
                "disable-model-invocation",
                "user-invocable",
                "allowed-tools",
            ] {
                let parsed = skill_with(&format!("{key}: {value}"), start);
                let case = format!("{key}: {value} after {start:?}");
                if key == "allowed-tools" && shape != Nothing {
                    assert!(!parsed.has_errors(), "{case}: {:?}", parsed.diagnostics);
                    continue;
                }
                assert!(
                    parsed.is_valid(),
                    "the rest of it is used: {case}: {:?}",
                    parsed.diagnostics
                );
                let error = parsed
                    .diagnostics
                    .iter()
                    .find(|it| it.code == Code::RestrictionUnreadable);
                let line = error.and_then(|error| error.position).map(|at| at.line);
                assert_eq!(line, Some(4), "{case}");
                let skill = &parsed.skill;
                let strict = match key {
                    "disable-model-invocation" => !skill.model_invocable,
                    "user-invocable" => !skill.user_invocable,
                    _ => skill.details().allowed_tools.is_empty(),
                };
                assert!(strict, "{case}");
            }
        }
    }
}

/// Ways of writing a key that another reader or a person would still read as the key, and that a repair could lose in a text.
const WRITTEN: [&str; 18] = [
    "KEY: VALUE",
    "&x KEY: VALUE",
    "  KEY: VALUE",
    "\tKEY: VALUE",
    "? KEY\n: VALUE",
    "\"KEY\" : VALUE",
    "!x KEY: VALUE",
    "KEY : VALUE",
    "{KEY: VALUE",
    "**KEY**: VALUE",
    "> KEY: VALUE",
    "`KEY`: VALUE",
    "KEY = VALUE",
    "*x KEY: VALUE",
    "\u{feff}KEY: VALUE",
    "KEY\u{200b}: VALUE",
    "and so on\u{85}KEY: VALUE",
    "and so on\u{2028}KEY: VALUE",
];

#[test]
fn a_restricting_key_is_never_lost_in_a_repaired_text() {
    let starts = [
        "description: Use it: when asked\n",
        "description: Use it: when asked\nand in other cases\n",
        "description: \"Use it\nwhen asked\n",
        "description: [Use it\nwhen: asked\n",
        "description: 'a' b: c\n",
        "description: | x\n",
    ];
    for (start, written) in starts
        .iter()
        .flat_map(|start| WRITTEN.map(|written| (start, written)))
    {
        let line = written
            .replace("KEY", "disable-model-invocation")
            .replace("VALUE", "true");
        let parsed = skill::parse(&format!("---\nname: a\n{start}{line}\n---\n"));
        let is_offered = parsed.is_valid() && parsed.skill.model_invocable;
        assert!(!is_offered, "{start:?} {line:?}: {parsed:?}");
        let with = |key: &str, value: &str| {
            let line = written.replace("KEY", key).replace("VALUE", value);
            skill::parse(&format!("---\nname: a\n{start}{line}\n---\n"))
        };
        let parsed = with("user-invocable", "false");
        let is_theirs = parsed.is_valid() && parsed.skill.user_invocable;
        assert!(!is_theirs, "{start:?} {written:?}: {parsed:?}");
        let parsed = with("allowed-tools", "read");
        let is_said = parsed.has_errors() || parsed.skill.details().allowed_tools == ["read"];
        assert!(is_said, "{start:?} {written:?}: {parsed:?}");
        let parsed = with("metadata", "{grove: {requires: {bins: [nowhere]}}}");
        let is_held = !parsed.is_valid() || parsed.skill.requirements.is_some();
        assert!(is_held, "{start:?} {written:?}: {parsed:?}");
        let line = written.replace("KEY", "tools").replace("VALUE", "read");
        let text = format!("---\nname: a\n{start}{line}\n---\n");
        let parsed = formats::read(text.as_bytes(), AgentFormat::Claude)
            .remove(0)
            .parsed;
        let read = Some(vec!["read".to_owned()]);
        assert!(
            !parsed.is_valid() || parsed.agent.tools == read,
            "{text:?}: {parsed:?}"
        );
    }
}

#[test]
fn an_anchored_key_put_a_skill_into_the_catalog() {
    let parsed = skill_with("&x disable-model-invocation: true", STARTS[0]);
    assert_eq!(parsed.diagnostics[0].code, Code::YamlAnchor);
    assert!(!parsed.is_valid());
    // An anchor before a value may be the beginning of a sentence.
    assert!(skill_with("license: &c is no anchor", STARTS[0]).is_valid());
}

#[test]
fn a_repaired_description_swallowed_the_lines_after_it() {
    let parsed = skill::parse(
        "---\nname: a\ndescription: Use: this\nin every case\n  disable-model-invocation: true\n---\n",
    );
    assert!(
        parsed.is_valid() && !parsed.skill.model_invocable,
        "{parsed:?}"
    );
    // A word in a sentence is no key.
    let parsed = skill::parse(
        "---\nname: a\ndescription: Use: this\nfor disable-model-invocation: and more\n---\n",
    );
    assert!(
        parsed.skill.model_invocable && !parsed.has_errors(),
        "{parsed:?}"
    );
}

#[test]
fn a_key_written_otherwise_was_no_key() {
    for line in [
        "disable_model_invocation: true",
        "Disable-Model-Invocation: true",
        "disableModelInvocation: true",
        "Disable Model Invocation: true",
        "disable.model.invocation: true",
        "disable\u{2011}model\u{2011}invocation: true",
        "\u{200b}disable-model-invocation: true",
        "disable-model-invocation\u{200b}: true",
        "metadata: {disable-model-invocation: true}",
        "metadata: {disable-model-invocation: tru}",
    ] {
        assert!(!skill_with(line, STARTS[0]).skill.model_invocable, "{line}");
    }
    // A word that is only similar to a key is reported.
    for (line, is_said) in [
        ("disable-model-invocations: true", true),
        ("disable-modeI-invocation: true", true),
        ("disabled: true", false),
        ("metadata: {disable-model-invocation: false}", false),
    ] {
        let parsed = skill_with(line, STARTS[0]);
        assert!(parsed.skill.model_invocable, "{line}");
        let mut codes = parsed.diagnostics.iter().map(|finding| finding.code);
        let said = codes.any(|code| code == Code::RestrictionUnreadable);
        assert_eq!(said, is_said, "{line}: {:?}", parsed.diagnostics);
    }
    let both = "disable-model-invocation: true\nDisable-Model-Invocation: false";
    assert!(!skill_with(both, STARTS[0]).skill.model_invocable);
}

#[test]
fn the_table_of_what_restricts_an_agent_in_the_words_of_others_is_this() {
    for line in [
        "disallowedTools: bash",
        "denyTools: bash",
        "deniedTools: bash",
        "excludeTools: bash",
        "excludedTools: bash",
        "blockedTools: bash",
        "disabledTools: bash",
        "allowedTools: read",
        "permission: deny",
        "permissions: deny",
        "permissionMode: plan",
        "sandbox: strict",
        "sandbox_mode: strict",
        "spawning: false",
        "readonly: true",
        "network: false",
    ] {
        let key = line.split(':').next().unwrap();
        for format in MARKDOWN {
            for start in STARTS {
                let text = format!("---\n{start}{line}\n---\n");
                let parsed = formats::read(text.as_bytes(), format).remove(0).parsed;
                let entry = parsed.agent.unknown.iter().find(|entry| entry.key == key);
                let found = entry.and_then(|entry| formats::restriction::of(entry, format));
                assert!(found.is_some(), "{format:?} {line}: {parsed:?}");
            }
            // It is not lost in a text either.
            let text = format!("---\nname: a\ndescription: Use: it\nand so on\n **{line}\n---\n");
            let parsed = formats::read(text.as_bytes(), format).remove(0).parsed;
            assert!(!parsed.is_valid(), "{format:?} {line}: {parsed:?}");
        }
    }
}

#[test]
fn a_key_of_an_agent_written_otherwise_held_nobody() {
    for format in MARKDOWN {
        for line in [
            "Tools: read",
            "TOOLS: read",
            "\u{200b}tools: read",
            "tools\u{200b}: read",
            "maxtokens: 5",
            "max-subagent-depth: 0",
            "Inherit Skills: false",
        ] {
            let text = format!("---\n{}{line}\n---\n", STARTS[0]);
            let parsed = formats::read(text.as_bytes(), format).remove(0).parsed;
            assert!(!parsed.is_valid(), "{format:?} {line}: {parsed:?}");
        }
        // A correctly written key counts.
        let text = format!("---\n{}tools: read\nTools: bash\n---\n", STARTS[0]);
        let parsed = formats::read(text.as_bytes(), format).remove(0).parsed;
        assert_eq!(parsed.agent.tools, Some(vec!["read".to_owned()]));
    }
}

#[test]
fn a_limit_in_the_words_of_one_host_was_none_in_the_file_of_another() {
    for format in MARKDOWN {
        let read = |lines: &str| {
            let text = format!("---\n{}{lines}\n---\n", STARTS[0]);
            formats::read(text.as_bytes(), format).remove(0).parsed
        };
        for key in ["maxTurns", "max_turns", "maxSteps"] {
            let turns = |parsed: &agent::ParsedAgent| {
                parsed.agent.turn_budget.as_ref().map(|it| it.max_turns)
            };
            assert_eq!(
                turns(&read(&format!("{key}: 5"))),
                Some(5),
                "{format:?} {key}"
            );
            assert!(
                !read(&format!("{key}: many")).is_valid(),
                "{format:?} {key}"
            );
            let both = format!("{key}: 5\nturnBudget: 3");
            assert_eq!(turns(&read(&both)), Some(3), "{format:?} {key}");
        }
        let minutes = read("timeout_mins: 2").agent.max_execution_time_ms;
        assert_eq!(minutes, Some(120_000), "{format:?}");
        assert!(!read("timeout_mins: soon").is_valid(), "{format:?}");
    }
}

#[test]
fn a_list_of_denied_tools_in_an_odd_form_denied_nothing() {
    use crate::agent::formats::restriction::{DeniedTools, of};
    let bash = || DeniedTools::Tools(vec!["bash".to_owned()]);
    for (line, expected) in [
        ("disallowedTools: {bash: false}", Some(bash())),
        ("disallowedTools: {bash: true}", Some(bash())),
        ("disallowed tools: bash", Some(bash())),
        ("Deny_Tools: [bash, '']", Some(bash())),
        (
            "disallowedTools: '*'",
            Some(DeniedTools::Others(Vec::new())),
        ),
        ("permission-mode: plan", Some(DeniedTools::Changes)),
        ("disallowedTools: []", None),
        ("disallowedTools:", None),
    ] {
        for format in MARKDOWN {
            let text = format!("---\n{}{line}\n---\n", STARTS[0]);
            let parsed = formats::read(text.as_bytes(), format).remove(0).parsed;
            let found = of(&parsed.agent.unknown[0], format);
            assert_eq!(
                found.map(|found| found.denied),
                expected,
                "{format:?} {line}"
            );
        }
    }
    // A word that is only similar to a key is reported.
    let parsed = agent_with("disallowedTool", "bash", STARTS[0], AgentFormat::Claude);
    let warned = |finding: &Diagnostic| finding.severity == Severity::Warning;
    assert!(parsed.diagnostics.iter().any(warned), "{parsed:?}");
}

#[test]
fn an_agent_that_its_file_switches_off_was_used() {
    for (line, is_off) in [
        ("disabled: true", true),
        ("disable: tru", true),
        ("disabled: false", false),
    ] {
        let text = format!("---\n{}{line}\n---\n", STARTS[0]);
        let parsed = agent::parse(&text);
        assert_eq!(parsed.agent.is_disabled, is_off, "{line}");
    }
}

#[test]
fn empty_metadata_of_grove_hid_the_requirements_after_it() {
    for lines in [
        "metadata:\n  grove:\n  openclaw: {requires: {bins: [nowhere]}}",
        "metadata: {grove: ~, clawdbot: {requires: {bins: [nowhere]}}}",
        "metadata: {OpenClaw: {requires: {bins: [nowhere]}}}",
    ] {
        let needed = skill_with(lines, STARTS[0]).skill.requirements;
        assert_eq!(
            needed.map(|needed| needed.bins),
            Some(vec!["nowhere".to_owned()]),
            "{lines}"
        );
    }
}

#[test]
fn a_requirement_in_other_letters_was_ignored_without_a_word() {
    for word in [
        "Bins", "bin", "any_bins", "AnyBins", "Env", "envs", "configs",
    ] {
        let parsed = skill_with(
            &format!("metadata: {{grove: {{requires: {{{word}: [x]}}}}}}"),
            STARTS[0],
        );
        let unreadable = parsed
            .skill
            .requirements
            .as_ref()
            .and_then(|it| it.unreadable.as_deref());
        assert!(
            unreadable.is_some_and(|why| why.contains(word)),
            "{word}: {parsed:?}"
        );
        assert!(parsed.has_errors(), "{word}");
    }
    for word in ["node", "python", "packages"] {
        let parsed = skill_with(
            &format!("metadata: {{grove: {{requires: {{{word}: [x]}}}}}}"),
            STARTS[0],
        );
        assert!(!parsed.has_errors(), "{word}: {parsed:?}");
    }
    for metadata in [
        "[{grove: {requires: {bins: [x]}}}]",
        "'grove: requires'",
        "\"{grove\"",
    ] {
        let parsed = skill_with(&format!("metadata: {metadata}"), STARTS[0]);
        let needed = parsed.skill.requirements;
        assert!(
            needed.is_some_and(|it| it.unreadable.is_some()),
            "{metadata}"
        );
    }
}

#[test]
fn an_agent_of_opencode_that_is_switched_off_by_a_slip_stays_off() {
    for (value, is_off) in [
        ("true", true),
        ("tru", true),
        ("[true]", true),
        ("false", false),
        ("no", false),
        ("", false),
    ] {
        let text = format!("---\nname: a\ndescription: d\ndisable: {value}\n---\n");
        let parsed = formats::read(text.as_bytes(), AgentFormat::Opencode)
            .remove(0)
            .parsed;
        assert_eq!(parsed.agent.is_disabled, is_off, "{value}");
    }
    assert!(!AgentFile::default().is_disabled);
}
