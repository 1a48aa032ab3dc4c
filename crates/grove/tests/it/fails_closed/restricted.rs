//! Restrictions that nobody can read, on every surface: what is hidden from models stays hidden, and an agent that
//! cannot be held is not used.

use grove_testkit::session::{assert_text, rows};

use super::session;
use crate::exported::{HOSTS, export};

/// Values that no switch has, in YAML, and in files that have to be repaired.
const NO_SWITCH: [&str; 12] = [
    "tru",
    "[true]",
    "{a: true}",
    "[[true]]",
    "",
    "~",
    "yess",
    "\"\"",
    "2",
    "true: x",
    "[true",
    "'tru",
];

const STARTS: [&str; 2] = ["description: Does it.", "description: Use it: when asked"];

#[test]
fn a_skill_that_is_kept_for_people_by_a_slip_is_told_to_no_model() {
    let session = session();
    for (at, (value, start)) in NO_SWITCH
        .iter()
        .flat_map(|value| STARTS.map(|start| (value, start)))
        .enumerate()
    {
        let text = format!(
            "---\nname: slip-{at}\n{start}\ndisable-model-invocation: {value}\n---\nSLIP\n"
        );
        session.file(format!("home/.agents/skills/slip-{at}/SKILL.md"), text);
    }
    let anchored =
        "---\nname: slip-anchor\ndescription: d\n&x disable-model-invocation: true\n---\nSLIP\n";
    session.file("home/.agents/skills/slip-anchor/SKILL.md", anchored);
    session.skill("home/.agents/skills/open", "open", "Told to everybody.");
    session.definition("home/.grove/agents/all.md", "inheritSkills: true\n", "x");
    for words in [
        "catalog",
        "skills search slip",
        "skills search --json slip",
        "prompt all",
    ] {
        // A search that finds nothing says so with its exit code.
        let shown = session.grove(words).stdout;
        assert_text(&shown, &[], &["slip-", "SLIP"]);
    }
    assert_text(&session.done("catalog").stdout, &["open"], &[]);
    session.refused("skills activate slip-0");
    session.done("skills activate /slip-0").prints(["SLIP"]);
    let said = session.grove("skills check --json").stdout;
    let n_errors = said.matches("restriction-unreadable").count();
    assert!(n_errors >= NO_SWITCH.len() * 2, "{n_errors}: {said}");
}

#[test]
fn tools_in_the_form_of_another_host_left_an_agent_without_any_restriction() {
    let session = session();
    for (folder, name) in [
        (".claude", "c"),
        (".grove", "g"),
        (".gemini", "m"),
        (".github", "p"),
    ] {
        let lines = "tools: {read: true, bash: false}\n";
        session.definition(format!("home/{folder}/agents/{name}.md"), lines, "x");
    }
    let shown = session.json("agents list");
    let tools: Vec<[String; 2]> = rows(&shown["agents"], ["name", "state"]);
    assert!(tools.iter().all(|[_, state]| state == "ok"), "{tools:?}");
    for name in ["c", "g", "m"] {
        let shown = session.json(["agents", "show", name]);
        let shown = shown.to_string();
        assert!(shown.contains(r#""tools":["read"]"#), "{name}: {shown}");
    }
}

#[test]
fn an_agent_whose_restrictions_nobody_can_read_is_used_nowhere() {
    let session = session();
    let lines = [
        "tools: [[Bash]]",
        "tools: {read: maybe}",
        "tools: {\"*\": true}",
        "disallowedTools: [[Bash]]",
        "disallowedTools: {Bash: perhaps}",
        "maxTokens: many",
        "inheritSkills: maybe",
        "maxSubagentDepth: deep",
        "spawning: [false]",
        "toolBudget: some",
        "tools: [Read,\nmodel: x",
    ];
    for (at, line) in lines.iter().enumerate() {
        for (host, folder) in [("c", ".claude"), ("g", ".grove")] {
            let path = format!("home/{folder}/agents/{host}-loose-{at}.md");
            session.definition(path, &format!("{line}\n"), "LOOSE");
        }
    }
    // Read where it is understood.
    session.definition(
        "home/.claude/agents/held.md",
        "disallowedTools: {Bash: true}\n",
        "HELD",
    );
    let list = session.json("agents list");
    for [name, state] in rows(&list["agents"], ["name", "state"]) {
        let expected = if name.contains("loose") {
            "invalid"
        } else {
            "ok"
        };
        assert_eq!(state, expected, "{name}");
    }
    session.refused("prompt c-loose-0");
    for host in HOSTS {
        let exported = export(&session, host, "");
        let files: Vec<String> = exported.states().into_keys().collect();
        assert!(
            !files.iter().any(|path| path.contains("loose")),
            "{host}: {files:?}"
        );
    }
    let held = session.read("project/.opencode/agents/held.md");
    assert_text(&held, &["bash: false"], &[]);
}

#[test]
fn a_skill_with_a_slip_is_exported_as_it_was_read() {
    let session = session();
    let text = "---\nname: slip\ndescription: d\ndisable-model-invocation: tru\n---\nSLIP\n";
    session.file("home/.agents/skills/slip/SKILL.md", text);
    session.definition("home/.grove/agents/a.md", "skills: slip\n", "x");
    export(&session, "claude", "");
    let copy = session.read("project/.claude/skills/slip/SKILL.md");
    assert_text(
        &copy,
        &["disable-model-invocation: true", "SLIP"],
        &["tru\n---"],
    );
}
