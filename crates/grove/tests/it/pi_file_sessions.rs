//! Files as pi's agents and skills have them, whole sessions each: what they say here, clause by clause.

use grove_testkit::session::{Session, column, rows};
use serde_json::json;

const X: &str = "home/.pi/agent/agents/x.md";
const ALPHA_FILE: &str = "project/.pi/agents/alpha.md";

fn session() -> Session {
    crate::session().with_repository()
}

fn told(session: &Session, name: &str) -> String {
    session.done(["prompt", name]).stdout
}

/// The names of all agents that are listed, in whatever state.
fn listed(session: &Session) -> Vec<String> {
    column(&session.json("agents list")["agents"], "name")
}

#[test]
fn what_yaml_and_editors_write_is_no_part_of_a_value_or_of_the_body() {
    let windows =
        "---\r\nname: x\r\ndescription: y # c\r\nlist:\r\n  - a\r\n---\r\n\r\nOne\r\nTwo\r\n\r\n";
    let quoted = "---\nname: x\ndescription: \"a: b\"\n---\n\nBody\n";
    let marked = "\u{feff}---\nname: x\ndescription: d\n---\n\nBody\n";
    for (text, description, unknown, body) in [
        // A quoted colon belongs to the description, and blank lines do not belong to the body.
        (quoted, "a: b", json!(null), "Body\n"),
        // Line ends of Windows, a comment and a list in lines are as YAML has them.
        (windows, "y", json!({"list": ["a"]}), "One\nTwo\n"),
        // A byte order mark hides nothing.
        (marked, "d", json!(null), "Body\n"),
    ] {
        let session = session();
        session.file("home/.pi/agent/agents/other.md", text);
        let shown = session.json("agents show x");
        let agent = &shown["agent"];
        assert_eq!(agent["name"], "x");
        assert_eq!(agent["description"], description);
        assert_eq!(agent["state"], "ok");
        assert_eq!(shown["fields"]["unknown"], unknown);
        let is_plain = unknown.is_null();
        assert!(!is_plain || agent["diagnostics"] == json!([]), "{agent}");
        assert_eq!(told(&session, "x"), body);
    }
}

#[test]
fn a_file_whose_frontmatter_does_not_end_is_no_agent_and_is_named() {
    let session = session();
    session.file(X, "---\nname: x\nBody");
    assert!(!listed(&session).contains(&"x".to_owned()));
    assert_eq!(session.grove("prompt x").fails(1).stdout, "");
    let said = session.done("agents list").stderr;
    assert!(
        said.contains("frontmatter-unclosed") && said.contains("x.md:1"),
        "{said}"
    );
}

const ALPHA: &str = "---\nname: Alpha\npackage: Code Analysis\ndescription: d\ntools: read, mcp:github/search, bash, mcp:chrome ,, ./ext/t.ts\nextensions:\nmodel:\nthinking: off\nskills: s1, s2\nskill: only\noutput: false\ndefaultReads: a.md, ,b.md\ndefaultProgress: yes\nmaxSubagentDepth:\ncompletionGuard: no\ninheritSkills: TRUE\nsystemPromptMode: weird\ncustom-x: hello\n---\n\nBody\n";

#[test]
fn every_field_of_a_projects_pi_file_is_read() {
    let session = session();
    session.file(ALPHA_FILE, ALPHA).trust();
    let value = session.json("agents show code-analysis.Alpha");
    assert_eq!(value["agent"]["name"], "code-analysis.Alpha");
    // Switches are YAML's, and a key without a value says nothing; docs/differences.md has both.
    assert_eq!(
        value["fields"],
        json!({
            "package": "code-analysis",
            "tools": ["read", "mcp:github/search", "bash", "mcp:chrome", "./ext/t.ts"],
            "extensions": [],
            "thinking": "off",
            "skills": ["only"],
            "skillInjection": "full",
            "output": false,
            "defaultReads": ["a.md", "b.md"],
            "defaultProgress": true,
            "completionGuard": false,
            "inheritSkills": true,
            "systemPromptMode": "replace",
            "unknown": {"custom-x": "hello"},
        })
    );
}

#[test]
fn a_change_of_a_pi_file_changes_the_lines_of_its_field_and_puts_none_in_another_order() {
    let session = session();
    session.file(ALPHA_FILE, ALPHA).trust();
    let (mut expected, few) = (ALPHA.to_owned(), "read, mcp:chrome");
    let tools = "tools: read, mcp:github/search, bash, mcp:chrome ,, ./ext/t.ts\n";
    for (flag, value, before, after) in [
        ("--description", "e", "description: d\n", "description: e\n"),
        ("--skills", "s3", "skill: only\n", "skill: s3\n"),
        ("--tools", few, tools, "tools: read, mcp:chrome\n"),
    ] {
        session.done(["agents", "edit", "code-analysis.Alpha", flag, value]);
        expected = expected.replace(before, after);
        if flag == "--skills" {
            // Of the two keys for the same field the stronger one is left.
            expected = expected.replace("skills: s1, s2\n", "");
        }
        assert_eq!(session.read(ALPHA_FILE), expected, "{flag}");
    }
}

#[test]
fn an_agent_is_the_projects_before_the_users_an_extra_one_a_packages_and_the_builtin_one() {
    let session = session();
    let extra = session.path("extra");
    let session = session.with_env("PI_SUBAGENT_EXTRA_AGENT_DIRS", extra);
    let package = "home/.pi/agent/npm/node_modules/p";
    let manifest = json!({"name": "p", "pi-subagents": {"agents": ["agents"]}}).to_string();
    session.file(format!("{package}/package.json"), manifest);
    let places = [
        "project/.agents/scout.md",
        "project/.pi/agents/scout.md",
        "home/.agents/scout.md",
        "home/.pi/agent/agents/scout.md",
        "extra/scout.md",
        "home/.pi/agent/npm/node_modules/p/agents/scout.md",
    ];
    for place in places {
        session.definition(place, "", &format!("From {place}."));
    }
    session.trust();
    for place in places {
        assert_eq!(told(&session, "scout"), format!("From {place}.\n"));
        session.remove(place);
    }
    let shown = session.json("agents show scout");
    assert_eq!(shown["agent"]["source"], "bundled");
}

#[test]
fn a_skill_among_the_shared_folders_is_a_skill_and_no_agent() {
    let session = session();
    let before = listed(&session);
    for whose in ["project", "home"] {
        session.skill(format!("{whose}/.agents/skills/foo"), "foo", "Does foo.");
    }
    session.trust();
    assert_eq!(listed(&session), before);
    let _ = session.grove("prompt foo").fails(1);
    session.done("skills show foo");
}

#[test]
fn of_a_root_flat_files_folders_and_groups_are_skills_and_hidden_or_misspelt_ones_are_not() {
    let session = session();
    for file in [
        "flat.md",
        "a/SKILL.md",
        "g/n/SKILL.md",
        ".h/SKILL.md",
        "l/skill.md",
    ] {
        session.file(
            format!("home/.pi/agent/skills/{file}"),
            "---\ndescription: d\n---\n\nBody\n",
        );
    }
    let list = session.json("skills list");
    let mut of_pi = rows(&list["skills"], ["root", "name"]);
    of_pi.retain(|[root, _]| root == "user:.pi/agent/skills");
    of_pi.sort();
    let names: Vec<&str> = of_pi.iter().map(|[_, name]| name.as_str()).collect();
    assert_eq!(names, ["a", "flat", "n"]);
    let check = session.grove("skills check").stdout;
    assert!(check.contains("file-name-case"), "{check}");
}

#[test]
fn an_agent_starts_without_a_skill_that_is_not_there_whatever_its_name() {
    let session = session();
    for name in ["nope", "pi-subagents"] {
        session.definition(X, &format!("skills: {name}\n"), "Body");
        let printed = session.done("prompt x");
        assert_eq!(printed.stdout, "Body\n");
        let said = printed.stderr;
        assert!(
            said.contains("preload-unknown") && said.contains(&format!("`{name}`")),
            "{said}"
        );
        let warnings = &session.json("prompt x")["warnings"];
        assert_eq!(warnings.as_array().map(Vec::len), Some(1));
    }
    // It is a name like any other: with a skill of that name the agent has it.
    session.skill("home/.agents/skills/pi-subagents", "pi-subagents", "d");
    assert!(told(&session, "x").contains("# pi-subagents"));
}

#[test]
fn a_skill_is_the_nearest_ones_and_the_next_is_chosen_when_it_is_gone() {
    let session = session();
    let extra = session.path("extra");
    let session = session.with_env("GROVE_SKILL_DIRS", extra);
    let package = "home/.pi/agent/npm/node_modules/p";
    let manifest = json!({"name": "p", "pi": {"skills": ["skills"]}}).to_string();
    session.file(format!("{package}/package.json"), manifest);
    let places = [
        "project/.grove/skills/x",
        "project/.agents/skills/x",
        "project/.pi/skills/x",
        "home/.grove/skills/x",
        "home/.agents/skills/x",
        "home/.pi/agent/skills/x",
        "data/grove/skills/x",
        "extra/x",
        "home/.pi/agent/npm/node_modules/p/skills/x",
    ];
    for place in places {
        session.skill(place, "x", &format!("From {place}."));
    }
    session.trust_with("--follow");
    for place in places {
        let shown = session.json("skills show x");
        assert_eq!(shown["skill"]["description"], format!("From {place}."));
        session.remove(place);
    }
    let _ = session.grove("skills show x").fails(1);
}
