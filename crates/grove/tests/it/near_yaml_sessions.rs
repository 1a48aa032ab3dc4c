//! Frontmatter that is nearly YAML, as people write it: what the program makes of it, says of it and changes in it.

use grove_testkit::session::{Session, column, rows};
use serde_json::{Value, json};

const CLAUDE: &str = "home/.claude/agents";
const PI: &str = "home/.pi/agent/agents";

const EXAMPLES: &str = "description: Use this agent when X. Examples:

<example>
Context: a
user: \"x\"
</example>

<example>
Context: b
user: \"y\"
</example>
";

fn session() -> Session {
    crate::session().without_bundled().with_repository()
}

/// Everything that is shown of an agent or skill, with what is in every list of them beside its fields.
fn shown(session: &Session, kind: &str, name: &str) -> Value {
    let all = session.json([kind, "show", name]);
    let mut about = all[kind.trim_end_matches('s')].clone();
    about["shown"] = all;
    about
}

/// Code, severity and line of each finding.
fn findings(shown: &Value) -> Vec<[String; 3]> {
    rows(&shown["diagnostics"], ["code", "severity", "line"])
}

/// The value of a key, wherever it stands in what was shown.
fn value<'a>(shown: &'a Value, key: &str) -> Option<&'a Value> {
    match shown {
        Value::Object(map) => map
            .get(key)
            .or_else(|| map.values().find_map(|inner| value(inner, key))),
        Value::Array(items) => items.iter().find_map(|inner| value(inner, key)),
        _ => None,
    }
}

#[test]
fn a_list_in_brackets_over_several_lines_is_a_list_for_agents_and_skills() {
    let session = session();
    let head = "---\nname: me\ndescription: Does.\n";
    for (tools, line) in [
        ("tools: [\n  'Read',\n  'Edit'\n]\n", "7"),
        ("tools: ['Read', 'Edit'],\n", "4"),
        ("tools:\n\t- Read\n\t- Edit\n", "5"),
    ] {
        session.file(format!("{CLAUDE}/me.md"), format!("{head}{tools}---\nB\n"));
        let agent = shown(&session, "agents", "me");
        assert_eq!(value(&agent, "tools"), Some(&json!(["Read", "Edit"])));
        assert_eq!(findings(&agent), [["yaml-repaired", "warning", line]]);
    }
    let skill = format!("{head}allowed-tools: [\n  Read,\n  \"Bash(git:*)\"\n]\n---\nB\n");
    session.file("home/.claude/skills/me/SKILL.md", skill);
    let skill = shown(&session, "skills", "me");
    let tools = json!(["Read", "Bash(git:*)"]);
    assert_eq!(value(&skill, "allowedTools"), Some(&tools));
    // Deep in a value the rest of it stays what it is.
    let servers =
        "mcp-servers:\n  docs:\n    command: npx\n    args: [\n      '-y',\n      'x'\n    ]\n";
    session.file(
        "home/.copilot/agents/deep.agent.md",
        format!("{}{servers}---\nB\n", head.replace("me", "deep")),
    );
    let agent = shown(&session, "agents", "deep");
    let args = json!({"command": "npx", "args": ["-y", "x"]});
    assert_eq!(value(&agent, "docs"), Some(&args));
}

#[test]
fn a_description_with_examples_that_are_not_indented_is_whole_and_edited_whole() {
    let session = session();
    let file = format!("{CLAUDE}/me.md");
    let text = format!("---\nname: me\n{EXAMPLES}model: haiku\ntools: [\"Read\"]\n---\nBody\n");
    session.file(&file, &text);
    let agent = shown(&session, "agents", "me");
    assert_eq!(agent["state"], "ok");
    let words = |text: &str| -> Vec<String> { text.split_whitespace().map(String::from).collect() };
    let expected = words(EXAMPLES.strip_prefix("description: ").unwrap());
    assert_eq!(words(agent["description"].as_str().unwrap()), expected);
    assert_eq!(value(&agent, "model"), Some(&json!("haiku")));
    assert_eq!(value(&agent, "Context"), None);
    assert_eq!(findings(&agent), [["yaml-repaired", "warning", "5"]]);
    session.done("agents edit me --description Short.");
    assert_eq!(
        session.read(&file),
        text.replace(EXAMPLES, "description: Short.\n")
    );
}

#[test]
fn a_known_key_is_read_in_spite_of_its_blanks() {
    let session = session();
    let odd = "name:\u{a0}odd\ndescription\u{ff1a}It does.\ntools: Read\n";
    let cases = [
        ("one", "name: one\n description: It does.\ntools: Read\n", 1),
        ("none", "name:none\ndescription:It does.\ntools:Read\n", 3),
        (
            "tab",
            "name:\ttab\ndescription:\tIt does.\ntools: Read\n",
            0,
        ),
        ("odd", odd, 2),
    ];
    for (name, keys, repairs) in cases {
        session.file(format!("{PI}/{name}.md"), format!("---\n{keys}---\nB\n"));
        let agent = shown(&session, "agents", name);
        assert_eq!(agent["description"], "It does.", "{name}");
        assert_eq!(value(&agent, "tools"), Some(&json!(["Read"])), "{name}");
        assert_eq!(findings(&agent).len(), repairs, "{name}");
    }
    let said = shown(&session, "agents", "odd").to_string();
    for sign in ["no-break space (U+00A0)", "full-width colon (U+FF1A)"] {
        assert!(said.contains(sign), "{said}");
    }
}

#[test]
fn keys_that_restrict_or_are_misspelt_are_named_where_they_stand() {
    let keys = "name: typo\ndesciption: x\ntool: read\ndisallowedTools: write\ndeny-tools: bash\nspawning: false\nowner: me\n";
    for folder in [PI, "home/.grove/agents"] {
        let session = session();
        session.file(format!("{folder}/typo.md"), format!("---\n{keys}---\nB\n"));
        let agent = shown(&session, "agents", "typo");
        assert_eq!(
            findings(&agent),
            [
                ["description-missing", "warning", "1"],
                ["agent-unknown-field", "info", "3"],
                ["agent-unknown-field", "warning", "4"],
                ["agent-unmapped", "warning", "5"],
                ["agent-unmapped", "warning", "6"],
                ["agent-unmapped", "warning", "7"],
            ]
        );
        let helps = column(&agent["diagnostics"], "help");
        assert_eq!(
            helps[1..3],
            ["did you mean `description`?", "did you mean `tools`?"]
        );
    }
}

#[test]
fn what_an_agent_lacks_is_said_in_its_own_words_and_place() {
    let session = session();
    session.file(format!("{PI}/bare.md"), "---\ndescription: d\n---\nB\n");
    let bare = shown(&session, "agents", "bare");
    let said = &bare["diagnostics"][0];
    assert_eq!(said["code"], "name-missing");
    assert_eq!(said["help"], "add `name: bare`");
    let settings = "{\n  \"agent\": {\n    \"here\": {\n      \"prompt\": \"p\"\n    }\n  }\n}\n";
    session.file("home/.config/opencode/opencode.json", settings);
    let here = shown(&session, "agents", "here");
    assert_eq!(findings(&here), [["description-missing", "warning", "3"]]);
}
