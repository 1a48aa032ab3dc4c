//! Files as pi's agents and skills have them, whole sessions each: what they say here, clause by clause.

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished};
use serde_json::{Value, json};

const AGENTS: &str = "home/.pi/agent/agents";

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("project/.git");
    home
}

fn json_of(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout_text()).unwrap_or_else(|error| {
        panic!(
            "{error}: {}{}",
            finished.stdout_text(),
            finished.stderr_text()
        )
    })
}

fn done(home: &TestHome, words: &[&str]) -> Finished {
    let finished = home.run("project", words);
    finished
        .require_success(&format!("{words:?}"))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn shown(home: &TestHome, name: &str) -> Value {
    json_of(&done(home, &["agents", "show", name, "--json"]))
}

fn told(home: &TestHome, name: &str) -> String {
    done(home, &["prompt", name]).stdout_text()
}

/// The names of all agents that are listed, in whatever state.
fn listed(home: &TestHome) -> Vec<String> {
    let list = json_of(&done(home, &["agents", "list", "--json"]));
    let agents = list["agents"].as_array().unwrap().iter();
    agents
        .map(|agent| agent["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_quoted_colon_belongs_to_the_description_and_the_body_is_told_without_blank_lines() {
    let home = home();
    home.file(
        format!("{AGENTS}/other.md"),
        "---\nname: x\ndescription: \"a: b\"\n---\n\nBody\n",
    );
    let agent = &shown(&home, "x")["agent"];
    assert_eq!(
        (&agent["name"], &agent["description"]),
        (&json!("x"), &json!("a: b"))
    );
    assert_eq!(agent["diagnostics"], json!([]));
    assert_eq!(told(&home, "x"), "Body\n");
}

#[test]
fn line_ends_of_windows_a_comment_and_a_list_in_lines_are_as_yaml_has_them() {
    let home = home();
    home.file(
        format!("{AGENTS}/x.md"),
        "---\r\nname: x\r\ndescription: y # c\r\nlist:\r\n  - a\r\n---\r\n\r\nOne\r\nTwo\r\n\r\n",
    );
    let value = shown(&home, "x");
    assert_eq!(value["agent"]["description"], "y");
    assert_eq!(value["fields"]["unknown"], json!({"list": ["a"]}));
    assert_eq!(told(&home, "x"), "One\nTwo\n");
}

#[test]
fn a_file_whose_frontmatter_does_not_end_is_no_agent_and_is_named() {
    let home = home();
    home.file(format!("{AGENTS}/x.md"), "---\nname: x\nBody");
    assert!(!listed(&home).contains(&"x".to_owned()));
    let refused = home.run("project", ["prompt", "x"]);
    assert!(matches!(refused.ending, Ending::Exited(1)));
    assert_eq!(refused.stdout_text(), "");
    let said = done(&home, &["agents", "list"]).stderr_text();
    assert!(
        said.contains("frontmatter-unclosed") && said.contains("x.md:1"),
        "{said}"
    );
}

#[test]
fn a_byte_order_mark_hides_nothing() {
    let home = home();
    home.file(
        format!("{AGENTS}/x.md"),
        "\u{feff}---\nname: x\ndescription: d\n---\n\nBody\n",
    );
    let agent = &shown(&home, "x")["agent"];
    assert_eq!(
        (&agent["description"], &agent["state"]),
        (&json!("d"), &json!("ok"))
    );
    assert_eq!(told(&home, "x"), "Body\n");
}

const ALPHA: &str = "---\nname: Alpha\npackage: Code Analysis\ndescription: d\ntools: read, mcp:github/search, bash, mcp:chrome ,, ./ext/t.ts\nextensions:\nmodel:\nthinking: off\nskills: s1, s2\nskill: only\noutput: false\ndefaultReads: a.md, ,b.md\ndefaultProgress: yes\nmaxSubagentDepth:\ncompletionGuard: no\ninheritSkills: TRUE\nsystemPromptMode: weird\ncustom-x: hello\n---\n\nBody\n";

#[test]
fn every_field_of_a_projects_pi_file_is_read() {
    let home = home();
    home.file("project/.pi/agents/alpha.md", ALPHA);
    done(&home, &["trust", "--yes"]);
    let value = shown(&home, "code-analysis.Alpha");
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
fn a_change_of_a_pi_file_puts_no_line_in_another_order() {
    let home = home();
    home.file("project/.pi/agents/alpha.md", ALPHA);
    done(&home, &["trust", "--yes"]);
    done(
        &home,
        &[
            "agents",
            "edit",
            "code-analysis.Alpha",
            "--description",
            "e",
        ],
    );
    let written = std::fs::read_to_string(home.path("project/.pi/agents/alpha.md")).unwrap();
    assert_eq!(
        written,
        ALPHA.replace("description: d\n", "description: e\n")
    );
}

#[test]
fn an_agent_is_the_projects_before_the_users_an_extra_one_a_packages_and_the_builtin_one() {
    let home = home();
    let extra = home.path("extra");
    let home = home.with_env("PI_SUBAGENT_EXTRA_AGENT_DIRS", extra);
    let package = "home/.pi/agent/npm/node_modules/p";
    home.file(
        format!("{package}/package.json"),
        json!({"name": "p", "pi-subagents": {"agents": ["agents"]}}).to_string(),
    );
    let places = [
        "project/.agents/scout.md".to_owned(),
        "project/.pi/agents/scout.md".to_owned(),
        "home/.agents/scout.md".to_owned(),
        "home/.pi/agent/agents/scout.md".to_owned(),
        "extra/scout.md".to_owned(),
        format!("{package}/agents/scout.md"),
    ];
    for place in &places {
        let text = format!("---\nname: scout\ndescription: d\n---\n\nFrom {place}.\n");
        home.file(place, text);
    }
    done(&home, &["trust", "--yes"]);
    for place in &places {
        assert_eq!(told(&home, "scout"), format!("From {place}.\n"));
        std::fs::remove_file(home.path(place)).unwrap();
    }
    assert_eq!(shown(&home, "scout")["agent"]["source"], "bundled");
}

#[test]
fn a_skill_among_the_shared_folders_is_a_skill_and_no_agent() {
    let home = home();
    let before = listed(&home);
    for whose in ["project", "home"] {
        home.skill(format!("{whose}/.agents/skills/foo"), "foo", "Does foo.");
    }
    done(&home, &["trust", "--yes"]);
    assert_eq!(listed(&home), before);
    let refused = home.run("project", ["prompt", "foo"]);
    assert!(matches!(refused.ending, Ending::Exited(1)));
    done(&home, &["skills", "show", "foo"]);
}

#[test]
fn of_a_root_flat_files_folders_and_groups_are_skills_and_hidden_or_misspelt_ones_are_not() {
    let home = home();
    for file in [
        "flat.md",
        "a/SKILL.md",
        "g/n/SKILL.md",
        ".h/SKILL.md",
        "l/skill.md",
    ] {
        home.file(
            format!("home/.pi/agent/skills/{file}"),
            "---\ndescription: d\n---\n\nBody\n",
        );
    }
    let list = json_of(&done(&home, &["skills", "list", "--json"]));
    let of_pi = list["skills"].as_array().unwrap().iter();
    let of_pi = of_pi.filter(|skill| skill["root"] == "user:.pi/agent/skills");
    let mut names: Vec<&str> = of_pi.map(|skill| skill["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "flat", "n"]);
    let check = home.run("project", ["skills", "check"]).stdout_text();
    assert!(check.contains("file-name-case"), "{check}");
}

#[test]
fn an_agent_starts_without_a_skill_that_is_not_there_whatever_its_name() {
    let home = home();
    for name in ["nope", "pi-subagents"] {
        home.file(
            format!("{AGENTS}/x.md"),
            format!("---\nname: x\ndescription: d\nskills: {name}\n---\n\nBody\n"),
        );
        let printed = done(&home, &["prompt", "x"]);
        assert_eq!(printed.stdout_text(), "Body\n");
        let said = printed.stderr_text();
        assert!(
            said.contains("preload-unknown") && said.contains(&format!("`{name}`")),
            "{said}"
        );
        let value = json_of(&done(&home, &["prompt", "x", "--json"]));
        assert_eq!(value["warnings"].as_array().map(Vec::len), Some(1));
    }
    // It is a name like any other: with a skill of that name the agent has it.
    home.skill("home/.agents/skills/pi-subagents", "pi-subagents", "d");
    assert!(told(&home, "x").contains("# pi-subagents"));
}
