//! What restricts fails closed: every key that keeps a skill or an agent from something, with every value that it
//! cannot have, in every format and also where the frontmatter has to be repaired.

use serde_json::{Value as Json, json};

use crate::agent::fields::FieldRow;
use crate::agent::formats::{self, Format};
use crate::agent::{self, Agent};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::skill::{self, Parsed};

/// What a value can be read as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// One text, which may be a list of names as well.
    Text,
    /// A list of texts.
    Texts,
    /// Names that are switched on and off.
    Switches,
    /// Nothing that a key takes.
    Nothing,
}
use Shape::{Nothing, Switches, Text, Texts};

/// No switch, no number and no budget can be read from any of these; JSON, which is YAML too.
const MALFORMED: [(&str, Shape); 42] = [
    (r#""tru""#, Text),
    (r#""treu""#, Text),
    (r#""flase""#, Text),
    (r#""yes please""#, Text),
    (r#""true false""#, Text),
    (r#""[true]""#, Text),
    (r#""{}""#, Text),
    (r#""-1""#, Text),
    (r#""1.5""#, Text),
    (r#""1e3""#, Text),
    (r#""0x10""#, Text),
    (r#""1_000""#, Text),
    (r#""many""#, Text),
    (r#""nothing""#, Text),
    (r#""null""#, Text),
    (r#""99999999999999999999999""#, Text),
    (r#""\u0074ruе""#, Text),
    (r#""ｔｒｕｅ""#, Text),
    (r#""""#, Text),
    (r#"" ""#, Text),
    (r#"["a"]"#, Texts),
    (r#"["true"]"#, Texts),
    (r#"["1"]"#, Texts),
    (r"[]", Texts),
    (r#"["a", "b"]"#, Texts),
    (r#"{"a": true}"#, Switches),
    (r#"{"a": false}"#, Switches),
    (r#"{"a": true, "b": false}"#, Switches),
    (r#"{"*": true}"#, Nothing),
    (r#"{"a": "b"}"#, Nothing),
    (r#"{"a": true, "b": "maybe"}"#, Nothing),
    (r#"{"a": {"b": true}}"#, Nothing),
    (r#"{"a": [true]}"#, Nothing),
    (r"[[]]", Nothing),
    (r#"[["a"]]"#, Nothing),
    (r#"["a", ["b"]]"#, Nothing),
    (r#"[{"a": true}]"#, Nothing),
    (r#"["a", {"b": true}]"#, Nothing),
    (r"[[[[]]]]", Nothing),
    (r#"{"a": null}"#, Nothing),
    (r"[null]", Nothing),
    (r#"["*", ["a"]]"#, Nothing),
];

/// The keys of agents that restrict, with what each counts as when it cannot be read.
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

/// The start of a file that is YAML, and of one that has to be repaired.
const STARTS: [&str; 2] = [
    "name: a\ndescription: d\n",
    "name: a\ndescription: Use it: when asked\n",
];

const MARKDOWN: [Format; 5] = [
    Format::Native,
    Format::Claude,
    Format::Copilot,
    Format::Gemini,
    Format::Opencode,
];

fn agent_with(key: &str, value: &str, start: &str, format: Format) -> agent::Parsed {
    let text = match format {
        Format::OpencodeJson => {
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
    let all = MARKDOWN.into_iter().chain([Format::OpencodeJson]);
    for ((key, strictest), format) in all.flat_map(|format| {
        strictest_of_agents()
            .into_iter()
            .map(move |row| (row, format))
    }) {
        let is_list = matches!(key, "tools" | "extensions");
        // There it is a mapping of switches, and is judged by the table of the host's own keys.
        let is_theirs = key == "tools" && matches!(format, Format::Opencode | Format::OpencodeJson);
        for (value, shape) in MALFORMED {
            // A contract may have keys of other programs.
            let is_contract_with_others = key == "acceptance" && value.starts_with('{');
            let is_readable = is_list && shape != Nothing;
            if is_readable || is_contract_with_others || (is_theirs && value.starts_with('{')) {
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
            Format::Native,
            Format::Claude,
            Format::Copilot,
            Format::Gemini,
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

/// Keys of hosts that take something from an agent, with the formats in which they do.
const OF_HOSTS: [(&str, Format); 14] = [
    ("disallowedTools", Format::Claude),
    ("disallowedTools", Format::Native),
    ("deny-tools", Format::Gemini),
    ("excludeTools", Format::Copilot),
    ("blockedTools", Format::Opencode),
    ("tools", Format::Opencode),
    ("permission", Format::Opencode),
    ("tools", Format::OpencodeJson),
    ("permission", Format::OpencodeJson),
    ("permissionMode", Format::Claude),
    ("spawning", Format::Native),
    ("readonly", Format::Copilot),
    ("network", Format::Gemini),
    ("agents", Format::Copilot),
];

#[test]
fn what_a_host_restricts_and_nobody_can_read_leaves_the_agent_without_tools_and_invalid() {
    for (key, format) in OF_HOSTS {
        for (value, shape) in MALFORMED {
            if shape != Nothing
                || (key == "permission" && value == r#"{"*": true}"#)
                || key == "tools" && value == r#"{"*": true}"#
            {
                continue;
            }
            // Rules of a permission may have patterns.
            if matches!(key, "tools" | "permission") && value == r#"{"a": {"b": true}}"# {
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
    // Counter-cases: each is read.
    for (key, value, format) in [
        ("disallowedTools", r#"{"Bash": true}"#, Format::Claude),
        ("disallowedTools", r#"["Bash"]"#, Format::Native),
        (
            "permission",
            r#"{"bash": {"git *": "allow"}}"#,
            Format::Opencode,
        ),
        ("permissionMode", "plan", Format::Claude),
        ("spawning", "off", Format::Native),
        ("readonly", "no", Format::Copilot),
        ("agents", r#"["*"]"#, Format::Copilot),
    ] {
        let parsed = agent_with(key, value, STARTS[0], format);
        assert!(parsed.is_valid(), "{key}: {:?}", parsed.diagnostics);
        assert_eq!(parsed.agent.tools, None, "{key}");
    }
}

fn skill_with(lines: &str, start: &str) -> Parsed {
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

/// Ways of writing a key that another reader would read, or a person would, which a repair could lose in a text.
const WRITTEN: [&str; 9] = [
    "KEY: VALUE",
    "&x KEY: VALUE",
    "  KEY: VALUE",
    "\tKEY: VALUE",
    "? KEY\n: VALUE",
    "\"KEY\" : VALUE",
    "!x KEY: VALUE",
    "KEY : VALUE",
    "{KEY: VALUE",
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
        let line = written.replace("KEY", "tools").replace("VALUE", "read");
        let text = format!("---\nname: a\n{start}{line}\n---\n");
        let parsed = formats::read(text.as_bytes(), Format::Claude)
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
    // Before a value it may be the beginning of a sentence.
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
    ] {
        assert!(!skill_with(line, STARTS[0]).skill.model_invocable, "{line}");
    }
    assert!(
        skill_with("disable-model-invocations: true", STARTS[0])
            .skill
            .model_invocable
    );
    let both = "disable-model-invocation: true\nDisable-Model-Invocation: false";
    assert!(!skill_with(both, STARTS[0]).skill.model_invocable);
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
        let parsed = formats::read(text.as_bytes(), Format::Opencode)
            .remove(0)
            .parsed;
        assert_eq!(parsed.agent.is_disabled, is_off, "{value}");
    }
    assert!(!Agent::default().is_disabled);
}
