//! Whole sessions of `grove agents create | edit | rename | delete | enable | disable | reset`, and of overrides.

mod chains;
mod overrides;

use std::os::unix::fs::PermissionsExt as _;

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished};
use serde_json::Value;

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("project/.git");
    home
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout_text()).unwrap_or_else(|error| {
        panic!(
            "{error}: {}{}",
            finished.stdout_text(),
            finished.stderr_text()
        )
    })
}

fn code(finished: &Finished) -> i32 {
    match finished.ending {
        Ending::Exited(code) => code,
        ref other => panic!("{other:?}"),
    }
}

/// Runs a command that must succeed.
fn done(home: &TestHome, words: &[&str]) -> Finished {
    let finished = home.run("project", words);
    assert_eq!(code(&finished), 0, "{words:?}: {}", finished.stderr_text());
    finished
}

/// Runs a command that must be refused, and gives what it says.
fn refused(home: &TestHome, words: &[&str]) -> String {
    let finished = home.run("project", words);
    assert_ne!(code(&finished), 0, "{words:?}: {}", finished.stdout_text());
    assert_eq!(finished.stdout_text(), "", "{words:?}");
    finished.stderr_text()
}

fn read(home: &TestHome, path: &str) -> String {
    std::fs::read_to_string(home.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn shown(home: &TestHome, name: &str) -> Value {
    json(&done(home, &["agents", "show", name, "--json"]))
}

fn states(home: &TestHome, name: &str) -> Vec<(String, String)> {
    let list = json(&done(home, &["agents", "list", "--json"]));
    let agents = list["agents"].as_array().unwrap().iter();
    let named = agents.filter(|agent| agent["name"] == name);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    named
        .map(|agent| (text(&agent["root"]), text(&agent["state"])))
        .collect()
}

const AGENT: &str = "---\nname: x\ndescription: Does x.\n---\n\nI am x.\n";

#[test]
fn a_new_agent_has_a_name_that_files_can_have_and_is_made_once() {
    let home = home();
    let words = [
        "agents",
        "create",
        " My Agent! ",
        "--description",
        "Does: things",
        "--model",
        "nope/what",
        "--skills",
        "relase-notes",
        "--body",
        "You do things.",
    ];
    home.skill("home/.agents/skills/release-notes", "release-notes", "d");
    let made = done(&home, &words);
    assert_eq!(made.stdout_text(), "created ~/.grove/agents/my-agent.md\n");
    let said = made.stderr_text();
    assert!(
        said.contains("model-unknown") && said.contains("`nope/what`"),
        "{said}"
    );
    assert!(
        said.contains("preload-unknown") && said.contains("near: `release-notes`"),
        "{said}"
    );
    assert_eq!(
        read(&home, "home/.grove/agents/my-agent.md"),
        "---\nname: my-agent\ndescription: \"Does: things\"\nmodel: nope/what\nskills: relase-notes\n---\n\nYou do things.\n"
    );
    assert_eq!(
        done(&home, &["prompt", "my-agent"]).stdout_text(),
        "You do things.\n"
    );

    for name in ["my-agent", "My Agent"] {
        let said = refused(&home, &["agents", "create", name, "--description", "d"]);
        assert!(said.contains("already exists"), "{said}");
    }
    assert!(refused(&home, &["agents", "create", " !! ", "--description", "d"]).contains("name"));
    assert!(refused(&home, &["agents", "create", "other"]).contains("description"));
    let said = refused(
        &home,
        &[
            "agents",
            "create",
            "other",
            "--description",
            "d",
            "--max-tokens",
            "many",
        ],
    );
    assert_eq!(said, "error: `maxTokens` is not a whole number from 1\n");
    assert!(
        !home.path("home/.grove/agents/other.md").exists(),
        "nothing is written"
    );
}

#[test]
fn a_file_that_is_no_agent_is_not_written_over() {
    let home = home();
    home.file("home/.grove/agents/x.md", "a note\n");
    let said = refused(&home, &["agents", "create", "x", "--description", "d"]);
    assert!(said.contains("x.md already exists"), "{said}");
    home.link("home/.grove/agents/y.md", "nowhere.md");
    refused(&home, &["agents", "create", "y", "--description", "d"]);
    assert_eq!(read(&home, "home/.grove/agents/x.md"), "a note\n");
    assert!(!home.path("home/.grove/agents/nowhere.md").exists());
}

#[test]
fn agents_from_elsewhere_are_not_changed_and_the_way_to_override_is_said() {
    let home = home();
    home.file("extra/x.md", AGENT);
    let extra = home.path("extra");
    let home = home.with_env("GROVE_AGENT_DIRS", extra);
    for name in ["reviewer", "x"] {
        for words in [
            vec!["agents", "edit", name, "--model", "opus"],
            vec!["agents", "rename", name, "other"],
            vec!["agents", "delete", name],
        ] {
            let said = refused(&home, &words);
            assert!(
                said.contains("cannot be changed")
                    && said.contains(&format!("grove agents edit {name} --override"))
                    && said.contains(&format!("grove agents disable {name}"))
                    && said.contains(&format!("grove agents create {name}")),
                "{said}"
            );
        }
    }
    assert_eq!(read(&home, "extra/x.md"), AGENT);
    // Both ways work.
    done(
        &home,
        &[
            "agents",
            "edit",
            "reviewer",
            "--override",
            "--model",
            "opus",
            "--tools",
            "read,ls",
        ],
    );
    let fields = shown(&home, "reviewer");
    assert_eq!(fields["fields"]["model"], "opus");
    assert_eq!(fields["fields"]["tools"], serde_json::json!(["read", "ls"]));
    let made = done(
        &home,
        &["agents", "create", "reviewer", "--description", "Mine."],
    );
    assert!(
        made.stderr_text()
            .contains("takes the place of reviewer@bundled:agents")
    );
}

#[test]
fn a_name_in_both_scopes_needs_the_scope() {
    let home = home();
    home.file("home/.claude/agents/x.md", AGENT)
        .file("project/.pi/agents/x.md", AGENT);
    for words in [
        vec!["agents", "delete", "x"],
        vec!["agents", "edit", "x", "--model", "opus"],
        vec!["agents", "rename", "x", "y"],
    ] {
        let said = refused(&home, &words);
        assert!(
            said.contains("both scopes") && said.contains("--scope user"),
            "{said}"
        );
    }
    done(
        &home,
        &[
            "agents", "edit", "x", "--model", "opus", "--scope", "project",
        ],
    );
    assert_eq!(read(&home, "home/.claude/agents/x.md"), AGENT);
    done(&home, &["agents", "delete", "x", "--scope", "project"]);
    assert!(!home.path("project/.pi/agents/x.md").exists());
    let said = refused(&home, &["agents", "delete", "x", "--scope", "project"]);
    assert!(said.contains("not in this scope"), "{said}");
    done(&home, &["agents", "delete", "x"]);
    assert!(refused(&home, &["agents", "delete", "x"]).contains("no agent is called"));
}

#[test]
fn an_edit_changes_the_lines_of_its_field_and_keeps_the_mode() {
    let home = home();
    let text = "---\r\n# mine\r\nname: 'x'\r\ndescription: d # why\r\ntools:\r\n  - read\r\n  - bash\r\nskillInjection: full\r\ncustom-x: {a: 1}\r\n---\r\n\r\nI am x.\r\n";
    home.file("home/.claude/agents/x.md", text);
    let file = home.path("home/.claude/agents/x.md");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    done(&home, &["agents", "edit", "x", "--tools", "read, grep, ls"]);
    let expected = text.replace("  - bash\r\n", "  - grep\r\n  - ls\r\n");
    assert_eq!(read(&home, "home/.claude/agents/x.md"), expected);
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o640
    );
    let same = done(
        &home,
        &[
            "agents",
            "edit",
            "x",
            "--skill-injection",
            "full",
            "--set",
            "description=d",
        ],
    );
    assert!(
        same.stdout_text().starts_with("unchanged "),
        "{}",
        same.stdout_text()
    );
    assert_eq!(read(&home, "home/.claude/agents/x.md"), expected);
    done(
        &home,
        &[
            "agents", "edit", "x", "--unset", "tools", "--body", "I am y.",
        ],
    );
    let expected = text
        .replace("tools:\r\n  - read\r\n  - bash\r\n", "")
        .replace("I am x.", "I am y.");
    assert_eq!(read(&home, "home/.claude/agents/x.md"), expected);
    let left: Vec<_> = std::fs::read_dir(file.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing else is left beside it");
}

#[test]
fn what_a_pi_file_says_is_read_and_written_back_but_for_what_is_asked() {
    let home = home();
    let text = "---\nname: Alpha\npackage: Code Analysis\ndescription: d\ntools: read, mcp:github/search, bash, mcp:chrome ,, ./ext/t.ts\nextensions:\nmodel:\nthinking: off\nskills: s1, s2\nskill: only\noutput: false\ndefaultReads: a.md, ,b.md\ndefaultProgress: yes\nmaxSubagentDepth:\ncompletionGuard: no\ninheritSkills: TRUE\nsystemPromptMode: weird\ncustom-x: hello\n---\n\nBody\n";
    home.file("project/.pi/agents/alpha.md", text);
    done(&home, &["trust", "--yes"]);
    let value = shown(&home, "code-analysis.Alpha");
    let fields = &value["fields"];
    for (key, expected) in [
        ("extensions", serde_json::json!([])),
        ("skills", serde_json::json!(["only"])),
        ("output", serde_json::json!(false)),
        ("defaultReads", serde_json::json!(["a.md", "b.md"])),
        ("systemPromptMode", serde_json::json!("replace")),
    ] {
        assert_eq!(fields[key], expected, "{key}: {fields}");
    }
    done(
        &home,
        &["agents", "edit", "code-analysis.Alpha", "--skills", "s3"],
    );
    let expected = text
        .replace("skill: only\n", "skill: s3\n")
        .replace("skills: s1, s2\n", "");
    assert_eq!(read(&home, "project/.pi/agents/alpha.md"), expected);
    // `tools` as asked; no order and no other field is made anew.
    done(
        &home,
        &[
            "agents",
            "edit",
            "code-analysis.Alpha",
            "--tools",
            "read, mcp:chrome",
        ],
    );
    let expected = expected.replace(
        "tools: read, mcp:github/search, bash, mcp:chrome ,, ./ext/t.ts\n",
        "tools: read, mcp:chrome\n",
    );
    assert_eq!(read(&home, "project/.pi/agents/alpha.md"), expected);
}

#[test]
fn edits_at_the_same_time_lose_nothing() {
    let home = home();
    home.file("home/.grove/agents/x.md", AGENT);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let home = &home;
            scope.spawn(move || {
                let field = format!("own-{number}={number}");
                done(home, &["agents", "edit", "x", "--set", &field]);
            });
        }
    });
    let text = read(&home, "home/.grove/agents/x.md");
    for number in 0..8 {
        assert!(
            text.contains(&format!("own-{number}: {number}\n")),
            "{text}"
        );
    }
    assert!(text.ends_with("---\n\nI am x.\n"));
}

#[test]
fn renaming_moves_the_file_and_says_what_still_has_the_old_name() {
    let home = home();
    home.file("home/.claude/agents/deep/x.md", AGENT)
        .file(
            "home/.claude/agents/taken.md",
            AGENT.replace("name: x", "name: taken"),
        )
        .file(
            "config/grove/config.toml",
            "[agents.overrides.x]\nmodel = 'opus'\n",
        );
    let file = home.path("home/.claude/agents/deep/x.md");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(refused(&home, &["agents", "rename", "x", "Taken"]).contains("already exists"));
    let renamed = json(&done(
        &home,
        &[
            "agents",
            "rename",
            "x",
            "Other One",
            "--package",
            "My Pkg",
            "--json",
        ],
    ));
    let new = home.path("home/.claude/agents/deep/my-pkg.other-one.md");
    assert_eq!(renamed["name"], "my-pkg.other-one");
    assert_eq!(renamed["file"], new.to_str().unwrap());
    assert_eq!(renamed["previousFile"], file.to_str().unwrap());
    assert_eq!(renamed["warnings"][0]["code"], "override-unknown");
    assert_eq!(renamed["warnings"][0]["line"], 1);
    assert!(!file.exists());
    assert_eq!(
        std::fs::read_to_string(&new).unwrap(),
        AGENT.replace(
            "name: x\ndescription: Does x.\n",
            "name: other-one\ndescription: Does x.\npackage: my-pkg\n"
        )
    );
    assert_eq!(
        std::fs::metadata(&new).unwrap().permissions().mode() & 0o777,
        0o600
    );
    home.file("home/.claude/agents/deep/y.md", "in the way\n");
    refused(
        &home,
        &["agents", "rename", "my-pkg.other-one", "y", "--package", ""],
    );
    done(&home, &["agents", "rename", "taken", "z"]);
    assert_eq!(read(&home, "home/.claude/agents/deep/y.md"), "in the way\n");
}

#[test]
fn only_plain_files_are_deleted_and_what_stands_in_is_said() {
    let home = home();
    home.file("elsewhere/x.md", AGENT)
        .link("home/.grove/agents/x.md", home.path("elsewhere/x.md"));
    let said = refused(&home, &["agents", "delete", "x"]);
    assert!(said.contains("is a link"), "{said}");
    done(&home, &["agents", "edit", "x", "--model", "opus"]);
    assert!(
        read(&home, "elsewhere/x.md").contains("model: opus\n"),
        "the link stays"
    );
    assert!(home.path("home/.grove/agents/x.md").is_symlink());

    done(
        &home,
        &["agents", "create", "reviewer", "--description", "Mine."],
    );
    let deleted = done(&home, &["agents", "delete", "reviewer"]);
    assert_eq!(
        deleted.stdout_text(),
        "deleted ~/.grove/agents/reviewer.md\n"
    );
    assert!(
        deleted
            .stderr_text()
            .contains("reviewer@bundled:agents is used")
    );
    assert_eq!(
        states(&home, "reviewer"),
        [("bundled:agents".to_owned(), "ok".to_owned())]
    );
}

#[test]
fn a_projects_agent_that_leads_out_of_it_is_not_edited() {
    let home = home();
    home.file("secret.md", AGENT)
        .link("project/.pi/agents/x.md", home.path("secret.md"));
    refused(&home, &["agents", "edit", "x", "--model", "opus"]);
    refused(&home, &["agents", "delete", "x"]);
    assert_eq!(read(&home, "secret.md"), AGENT);
}
