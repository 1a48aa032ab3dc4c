//! Tests of the meaning of agent files, and that an edit changes nothing else.

use proptest::prelude::*;

use super::edit::{self, EditRefusal, FieldValue};
use super::*;
use crate::acceptance::{Acceptance, AcceptanceLevel};
use crate::budgets::{ToolBudget, TurnBudget};
use crate::engine::EngineName;

fn read(text: &str) -> AgentFile {
    let parsed = parse(text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    parsed.agent
}

fn codes(text: &str) -> Vec<&'static str> {
    let parsed = parse(text);
    parsed
        .diagnostics
        .iter()
        .map(|finding| finding.code.as_str())
        .collect()
}

/// A file with one more key beside a name and a description.
fn with(line: &str) -> String {
    format!("---\nname: x\ndescription: d\n{line}\n---\nBody\n")
}

#[test]
fn a_quoted_colon_is_text_and_blank_lines_around_the_body_are_layout() {
    let text = "---\nname: x\ndescription: \"a: b\"\n---\n\nBody\n";
    let parsed = parse(text);
    assert_eq!(parsed.agent.description.as_deref(), Some("a: b"));
    assert_eq!(prompt_text(&text[parsed.body_offset..]), "Body\n");
}

#[test]
fn line_ends_comments_and_a_byte_order_mark_are_as_yaml_has_them() {
    let text = "\u{feff}---\r\nname: x\r\ndescription: y # c\r\nlist:\r\n  - a\r\n---\r\n\r\nOne\r\nTwo\r\n";
    let parsed = parse(text);
    assert_eq!(parsed.agent.description.as_deref(), Some("y"));
    assert_eq!(parsed.agent.unknown.len(), 1);
    assert_eq!(prompt_text(&text[parsed.body_offset..]), "One\nTwo\n");
}

#[test]
fn a_block_that_does_not_end_makes_no_agent() {
    assert_eq!(codes("---\nname: x\nBody"), ["frontmatter-unclosed"]);
    assert_eq!(codes("# Only text\n"), ["frontmatter-missing"]);
}

#[test]
fn the_whole_of_a_pi_file() {
    let text = "---\nname: Alpha\npackage: Code Analysis\ndescription: d\n\
        tools: read, mcp:github/search, bash, mcp:chrome ,, ./ext/t.ts\nextensions:\nmodel:\nthinking: off\n\
        skills: s1, s2\nskill: only\noutput: false\ndefaultReads: a.md, ,b.md\nmaxSubagentDepth:\n\
        completionGuard: no\ninheritSkills: TRUE\nsystemPromptMode: weird\ncustom-x: hello\n---\nBody\n";
    let parsed = parse(text);
    let agent = &parsed.agent;
    assert_eq!(
        naming::runtime_name(agent, "alpha.md"),
        "code-analysis.Alpha"
    );
    assert_eq!(
        agent.plain_tools(),
        Some(vec!["read", "bash", "./ext/t.ts"])
    );
    assert_eq!(agent.mcp_tools(), ["github/search", "chrome"]);
    assert_eq!(agent.extensions.as_deref(), Some(&[][..]));
    assert_eq!(agent.skills, ["only"]);
    assert_eq!(agent.output, Some(OutputFile::None));
    assert_eq!(agent.default_reads, ["a.md", "b.md"]);
    // A key without a value sets nothing: it does not forbid nesting.
    assert_eq!(agent.max_subagent_depth, None);
    assert_eq!(agent.model, None);
    assert_eq!(agent.completion_guard, Some(false));
    assert!(agent.inherit_skills);
    assert_eq!(agent.system_prompt_mode, PromptMode::Replace);
    assert_eq!(agent.unknown.len(), 1);
    let said: Vec<&str> = parsed
        .diagnostics
        .iter()
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(
        said,
        [
            "`systemPromptMode` is neither `replace` nor `append`",
            "`skill` and `skills` name different skills; `skill` is used",
        ]
    );
}

#[test]
fn lists_are_commas_brackets_or_lines() {
    for spelling in [
        "skills: a, b",
        "skills: [a, b]",
        "skills:\n  - a\n  - b",
        "skills:\n- a\n- b",
        "skill: a,b",
        "skills: \"a, b, a\"",
        "skills: |\n  a\n  b",
    ] {
        assert_eq!(read(&with(spelling)).skills, ["a", "b"], "{spelling}");
    }
    assert_eq!(
        read(&with("tools: Bash(git add, git mv), Read")).tools,
        Some(vec!["Bash(git add, git mv)".to_owned(), "Read".to_owned()])
    );
    assert_eq!(read(&with("tools: []")).tools, Some(Vec::new()));
    assert_eq!(read(&with("tools:")).tools, None);
    assert_eq!(read(&with("model: a")).extensions, None);
    assert_eq!(read(&with("skills: false")).skills, Vec::<String>::new());
}

#[test]
fn injection_is_full_unless_it_is_light() {
    assert_eq!(
        read(&with("model: a")).skill_injection,
        SkillInjection::Full
    );
    assert_eq!(
        read(&with("skillInjection: full")).skill_injection,
        SkillInjection::Full
    );
    assert_eq!(
        read(&with("skillInjection: light")).skill_injection,
        SkillInjection::Light
    );
    for other in ["lazy", "Light", "[light]", "1"] {
        let text = with(&format!("skillInjection: {other}"));
        assert_eq!(codes(&text), ["field-type"], "{other}");
        assert_eq!(parse(&text).agent.skill_injection, SkillInjection::Full);
    }
}

#[test]
fn every_other_key_is_read() {
    let agent = read(&with(
        "fallbackModels: [m1, m2]\nthinking: high\nsystemPromptMode: append\ninheritProjectContext: true\n\
         skillPath: ./s\ndefaultContext: fork\noutput: out.md\noutputMode: file-only\ndefaultProgress: true\n\
         interactive: true\nmaxSubagentDepth: 0\nmaxExecutionTimeMs: 5\ntimeoutMs: 6\nmaxTokens: 7\n\
         turnBudget: {maxTurns: 3}\ntoolBudget: 9\nacceptance: checked\nacceptanceRole: reviewer\nasync: true\n\
         aliases: a, b\nengine: acp:my agent\nfallbackAfterWrites: yes\ntoolTimeoutMs: 8",
    ));
    let expected = AgentFile {
        name: Some("x".into()),
        description: Some("d".into()),
        fallback_models: vec!["m1".into(), "m2".into()],
        thinking: Some("high".into()),
        system_prompt_mode: PromptMode::Append,
        inherit_project_context: true,
        skill_path: vec!["./s".into()],
        default_context: Some(ContextMode::Fork),
        output: Some(OutputFile::File("out.md".into())),
        output_mode: Some(OutputMode::FileOnly),
        default_progress: true,
        interactive: true,
        max_subagent_depth: Some(0),
        max_execution_time_ms: Some(5),
        timeout_ms: Some(6),
        max_tokens: Some(7),
        turn_budget: Some(TurnBudget {
            max_turns: 3,
            grace_turns: None,
        }),
        tool_budget: Some(ToolBudget {
            hard: Some(9),
            ..ToolBudget::default()
        }),
        acceptance: Some(Acceptance::Level(AcceptanceLevel::Checked)),
        acceptance_role: Some("reviewer".into()),
        background: Some(true),
        aliases: vec!["a".into(), "b".into()],
        engine: Some(EngineName::Acp("my agent".into())),
        fallback_after_writes: true,
        tool_timeout_ms: Some(8),
        ..AgentFile::default()
    };
    assert_eq!(agent, expected);
}

#[test]
fn what_is_wrong_is_said_and_the_rest_is_read() {
    for (line, expected) in [
        ("maxTokens: 0", "agent-contract"),
        ("timeoutMs: soon", "agent-contract"),
        ("maxSubagentDepth: -1", "agent-contract"),
        ("skills: {a: b}", "field-type"),
        ("skills: [a, {b: c}]", "field-type"),
        ("inheritSkills: perhaps", "agent-contract"),
        ("defaultProgress: perhaps", "field-type"),
        ("tools: [[bash]]", "agent-contract"),
        ("Tools: read", "agent-contract"),
        ("max_tokens: 5", "agent-contract"),
        ("defaultContext: new", "field-type"),
        ("model: [a]", "field-type"),
        ("acceptance: sometimes", "agent-contract"),
        ("acceptance: {level: none}", "agent-contract"),
        ("turnBudget: many", "agent-contract"),
        ("toolBudget: {soft: 3, hard: 2}", "agent-contract"),
        ("engine: emacs", "agent-contract"),
        ("engine: 'acp:'", "agent-contract"),
        ("package: '  '", "agent-package"),
        ("package: [a]", "field-required-type"),
        ("model: \"a\\e[0m\"", "control-characters"),
    ] {
        let text = with(line);
        assert_eq!(codes(&text).first(), Some(&expected), "{line}");
        assert_eq!(parse(&text).agent.description.as_deref(), Some("d"));
    }
    assert_eq!(codes("---\nname: x\n---\n"), ["description-missing"]);
    for (name, expected) in [
        ("a%b", "name-invalid"),
        ("a/b", "agent-name"),
        ("..", "agent-name"),
        ("--help", "agent-name"),
        ("\"a\\ntouch x\"", "agent-name"),
        ("\"a\\e[2J\"", "agent-name"),
    ] {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        assert_eq!(codes(&text), [expected], "{name}");
    }
}

#[test]
fn a_body_is_given_without_blank_edges_and_control_characters() {
    for (body, expected) in [
        ("", ""),
        ("\n\n", ""),
        ("a", "a\n"),
        ("\n  \n    indented\n\n", "    indented\n"),
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("a\u{1b}[0m\n", "a[0m\n"),
    ] {
        assert_eq!(prompt_text(body), expected, "{body:?}");
    }
}

#[test]
fn an_edit_keeps_the_manner_in_which_the_field_was_written() {
    for (before, value, after) in [
        ("model: a", FieldValue::text("b"), "model: b"),
        ("model:   a", FieldValue::text("b"), "model:   b"),
        (
            "model: a # cheap",
            FieldValue::text("b"),
            "model: b # cheap",
        ),
        ("model: 'a'", FieldValue::text("it's"), "model: 'it''s'"),
        (
            "model: \"a\"  # c",
            FieldValue::text("b"),
            "model: \"b\"  # c",
        ),
        ("model:", FieldValue::text("b"), "model: b"),
        ("model: a", FieldValue::text("x: y"), "model: \"x: y\""),
        ("model: a", FieldValue::text("false"), "model: false"),
        ("model: a, b", FieldValue::list(["c", "d"]), "model: c, d"),
        ("model: [a, b]", FieldValue::list(["c"]), "model: [c]"),
        (
            "model:\n    - a\n    - b",
            FieldValue::list(["c", "d", "e f"]),
            "model:\n    - c\n    - d\n    - e f",
        ),
        ("model: >\n  a\n  b", FieldValue::text("c"), "model: c"),
        ("model: a", FieldValue::list(["b, c"]), "model: [\"b, c\"]"),
        ("model: a", FieldValue::list::<String>([]), "model: []"),
    ] {
        let changed = edit::set(&with(before), "model", &value);
        assert_eq!(changed, Ok(with(after)), "{before}");
    }
}

#[test]
fn no_skills_are_none_whatever_is_hidden_in_the_word() {
    for none in ["false", "\"f\\x07alse\"", "[false]", "'false'"] {
        let parsed = parse(&format!("---\nname: a\nskills: {none}\n---\n"));
        assert_eq!(parsed.agent.skills, [""; 0], "{none}");
    }
}

#[test]
fn an_edit_takes_all_lines_of_a_value_that_is_no_yaml() {
    let examples = "description: Use it. Examples:\n\n<example>\nContext: a\nuser: \"x\"\n</example>\n\n<example>\nContext: b\n</example>";
    let quoted = "description: \"Use it.\n\n<example>\nContext: a\n</example>\"";
    for before in [
        examples,
        quoted,
        " description: one blank too many",
        "description:none",
        "description\u{ff1a}wide",
        "description:\u{a0}odd",
        "description:\ttab",
    ] {
        for line_end in LINE_ENDS {
            let lines = |description: &str| {
                let text = format!("---\nname: a\n{description}\n\n# which\nmodel: m\n---\nB\n");
                text.replace('\n', line_end)
            };
            let gap = if before.contains('\t') { '\t' } else { ' ' };
            let changed = edit::set(&lines(before), "description", &FieldValue::text("new"));
            let changed = changed.map(|text| text.replace(['"', '\''], ""));
            assert_eq!(
                changed,
                Ok(lines(&format!("description:{gap}new"))),
                "{before}"
            );
            let other = edit::set(&lines(before), "model", &FieldValue::text("n"));
            assert_eq!(
                other,
                Ok(lines(before).replace("model: m", "model: n")),
                "{before}"
            );
        }
    }
    let list = "tools: [\n  'Read',\n  'Edit'\n]";
    let changed = edit::set(&with(list), "tools", &FieldValue::list(["Read"]));
    assert_eq!(changed, Ok(with("tools: [Read]")));
}

#[test]
fn the_items_of_a_list_that_stay_keep_their_comments() {
    let list = "tools: # what it may use\n  # always\n  - 'read' # files\n\n  # careful:\n  # it runs things\n  - bash # shell\n  - grep\n  # no more";
    for (items, after) in [
        (
            vec!["read", "bash", "grep", "new"],
            list.replace("  # no more", "  - new\n  # no more"),
        ),
        (
            vec!["bash", "grep"],
            list.replace("  # always\n  - 'read' # files\n", ""),
        ),
        (
            vec!["read", "other", "grep"],
            list.replace(
                "\n  # careful:\n  # it runs things\n  - bash # shell\n",
                "  - other\n",
            ),
        ),
        (
            vec!["grep", "read"],
            "tools: # what it may use\n  - grep\n  # always\n  - 'read' # files\n  # no more"
                .to_owned(),
        ),
        (
            vec!["x"],
            "tools: # what it may use\n  - x\n  # no more".to_owned(),
        ),
    ] {
        for line_end in LINE_ENDS {
            let lines = |text: &str| with(text).replace('\n', line_end);
            let changed = edit::set(&lines(list), "tools", &FieldValue::list(items.clone()));
            assert_eq!(changed, Ok(lines(&after)), "{items:?}");
        }
    }
    // Lines that only look like items and comments are the text of one item.
    let odd = "tools:\n  - |-\n    # a\n    - b\n  - c";
    let text = "# a\n- b";
    let changed = edit::set(&with(odd), "tools", &FieldValue::list([text, "d"]));
    assert_eq!(changed, Ok(with(&odd.replace("- c", "- d"))));
}

#[test]
fn what_cannot_be_changed_alone_is_not_changed() {
    let value = FieldValue::text("v");
    for (text, refusal) in [
        ("# Text\n", EditRefusal::NoFrontmatter),
        ("---\na: 1\na: 2\n---\n", EditRefusal::Unreadable),
        ("---\n{a: b}\n---\n", EditRefusal::Entangled),
    ] {
        assert_eq!(edit::set(text, "a", &value), Err(refusal), "{text}");
    }
    assert_eq!(
        edit::set(&with("a: b"), "a b", &value),
        Err(EditRefusal::Key)
    );
    assert_eq!(
        edit::set("---\n---\nBody", "a", &value),
        Ok("---\na: v\n---\nBody".to_owned())
    );
}

/// The lines of a key, in any of the ways in which people write them.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "name: x\n",
        "description: \"a: b\" # why\n",
        "tools:\n  - Read\n  # not this\n  - Grep\n",
        "skills: [a, 'b c']\n",
        "aliases:\n- one\n- two\n",
        "output: >-\n  long\n\n  text\n",
        "acceptance:\n  level: checked # yes\n  list: [1,\n    2]\n",
        "x-unknown: {a: b}\n",
        "\"quoted\": 'it''s'\n",
        "empty:\n",
        "thinking: use when: a colon\n",
    ])
}

fn between() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", "\n", "# a comment\n", "\n# about: the next\n"])
}

/// The pieces of a file: no key twice, comments and blank lines between.
fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec((piece(), between()), 1..8).prop_map(|all| {
        let mut kept: Vec<&'static str> = Vec::new();
        for (piece, between) in all {
            if !kept.contains(&piece) {
                kept.extend([piece, between]);
            }
        }
        kept
    })
}

fn value() -> impl Strategy<Value = FieldValue> {
    let word = prop_oneof![
        "[a-z]{1,8}",
        "[ -~]{0,20}",
        "\\PC{0,12}",
        Just("a\nb".to_owned())
    ];
    prop_oneof![
        word.clone().prop_map(FieldValue::Text),
        prop::collection::vec(word, 0..4).prop_map(FieldValue::List),
    ]
}

const LINE_ENDS: [&str; 3] = ["\n", "\r\n", "\r"];

fn file(front: &str, line_end: &str) -> String {
    format!("---\n{front}---\n\nmodel: not this\n---\nBody\n").replace('\n', line_end)
}

proptest! {
    #[test]
    fn a_field_is_changed_and_no_other_byte(
        before in pieces(), old in piece(), after in pieces(), value in value(), end in 0..3_usize,
    ) {
        let key = old.split(':').next().unwrap_or_default().trim_matches('"');
        let before: String = before.into_iter().filter(|piece| *piece != old).collect();
        // A key may be in both halves; then the file is invalid.
        let after: String = after
            .into_iter()
            .filter(|piece| *piece != old && (piece.trim().is_empty() || !before.contains(piece)))
            .collect();
        let line_end = LINE_ENDS[end];
        let text = file(&format!("{before}{old}{after}"), line_end);
        // A value that is not YAML is read up to the next key, so the lines after it cannot always be moved.
        let repaired = text.contains("use when: a colon");
        if let Ok(changed) = edit::set(&text, key, &value) {
            let head = format!("---\n{before}").replace('\n', line_end);
            let tail = format!("{after}---\n\nmodel: not this\n---\nBody\n").replace('\n', line_end);
            prop_assert!(changed.starts_with(&head), "{changed}");
            prop_assert!(changed.ends_with(&tail), "{changed}");
            // Setting the value again changes nothing.
            prop_assert_eq!(edit::set(&changed, key, &value), Ok(changed.clone()));
        } else {
            // Only values that no line can express, or that are not YAML by themselves, may be refused.
            let fine = matches!(&value, FieldValue::Text(text) if text.chars().all(|c| c.is_ascii_lowercase()));
            prop_assert!(!fine || repaired, "{text}");
        }
        let gone = edit::remove(&text, key);
        let whole = file(&format!("{before}{after}"), line_end);
        prop_assert!(gone == Ok(whole) || (repaired && gone == Err(EditRefusal::Entangled)), "{gone:?}");
    }

    #[test]
    fn a_field_that_is_added_and_removed_leaves_no_trace(
        front in pieces(), value in value(), end in 0..3_usize,
    ) {
        let text = file(&front.concat(), LINE_ENDS[end]);
        if let Ok(changed) = edit::set(&text, "added", &value) {
            prop_assert_ne!(&changed, &text);
            prop_assert_eq!(edit::remove(&changed, "added"), Ok(text));
        }
    }

    #[test]
    fn a_text_in_quotes_says_the_same_and_nothing_else_changes(
        front in pieces(), said in "[a-z]{1,6}(: | #|, |\\[|\"|'|\\{|[a-z ]|\\\\){1,8}[a-z]", end in 0..3_usize,
    ) {
        let text = file(&format!("{}description: {said}\n", front.concat()), LINE_ENDS[end]);
        if let Some(changed) = edit::requoted(&text) {
            let (before, after) = (parse(&text), parse(&changed));
            let is_repaired = |it: &Diagnostic| it.code == crate::Code::YamlRepaired;
            prop_assert!(!after.diagnostics.iter().any(is_repaired), "{changed}");
            prop_assert_eq!(&before.agent.description, &after.agent.description);
            prop_assert_eq!(&text[before.body_offset..], &changed[after.body_offset..]);
            prop_assert_eq!(edit::requoted(&changed), None);
        }
    }

    #[test]
    fn nothing_makes_reading_or_editing_panic(text in "(---\n)?(\\PC{0,8}(: |\n|- |#|\"|')){0,12}(\n---\n)?\\PC{0,8}") {
        let parsed = parse(&text);
        prop_assert!(parsed.body_offset <= text.len());
        let _ = edit::set(&text, "a", &FieldValue::text("b"));
        let _ = edit::remove(&text, "a");
        let _ = edit::requoted(&text);
    }
}

#[test]
fn a_hidden_character_does_not_hide_how_a_name_begins() {
    for name in ["\u{e0041}--help", "\u{200b}.hidden", "\u{e0041}- x"] {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        assert_eq!(parse(&text).agent.name, None, "{name:?}");
        assert!(codes(&text).contains(&"agent-name"), "{name:?}");
    }
}

#[test]
fn a_byte_order_mark_in_a_value_is_removed_wherever_it_stands() {
    for tools in [
        "\"\\ufeffRead\", Grep",
        "Read, \"\\ufeffGrep\"",
        "Read, \"\\0\\ufeffGrep\"",
    ] {
        let text = format!("---\nname: x\ndescription: d\ntools: [{tools}]\n---\n");
        let agent = parse(&text).agent;
        assert_eq!(
            agent.tools.as_deref(),
            Some(&["Read".into(), "Grep".into()][..]),
            "{text}"
        );
    }
}

#[test]
fn a_text_that_is_not_yaml_is_put_in_quotes() {
    let loose = "---\nname: x\ndescription: Use when: y\n---\nBody\n";
    let quoted = "---\nname: x\ndescription: \"Use when: y\"\n---\nBody\n";
    assert_eq!(edit::requoted(loose).as_deref(), Some(quoted));
    assert_eq!(edit::requoted(quoted), None);
}
