//! What decides which files count, and as what, is trusted as it was seen too.

use std::fs;

use grove_testkit::home::TestHome;
use serde_json::{Value, json};

use super::session::{assert_states, json, new_home, run};

const REVIEWER: &str = "---\nname: reviewer\ndescription: d\n---\n\nBuy something.\n";

fn manifest(home: &TestHome, kind: &str) {
    let text = json!({ "name": "p", "grove": { kind: ["docs/reviewer.md"] } });
    home.file("project/package.json", text.to_string());
}

/// The state of the project's agent `reviewer`, if it has one.
fn reviewer(home: &TestHome) -> Option<Value> {
    let list = json(home, "project", &["agents", "list", "--json"]);
    let agents = list["agents"].as_array().unwrap().iter();
    let mut agents = agents.filter(|agent| agent["source"] == "package");
    agents.next().map(|agent| agent["state"].clone())
}

#[test]
fn what_was_trusted_as_a_skill_is_not_trusted_as_an_agent() {
    let home = new_home();
    home.dir("project/.git");
    home.file("project/docs/reviewer.md", REVIEWER);
    manifest(&home, "skills");
    run(&home, "project", &["trust", "--yes"]);
    let skills = json(&home, "project", &["skills", "list", "--json"]);
    let own = skills["skills"].as_array().unwrap().iter();
    let mut own = own.filter(|skill| skill["source"] == "package");
    assert_eq!(own.next().unwrap()["state"], "ok");

    manifest(&home, "agents");
    assert_eq!(reviewer(&home), Some(json!("changed")));
    let told = json(&home, "project", &["prompt", "reviewer", "--json"]);
    assert!(!told["prompt"].as_str().unwrap().contains("Buy something"));

    let granted = json(&home, "project", &["trust", "--yes", "--json"]);
    assert_eq!(granted["changed"], json!(["docs/reviewer.md"]));
    assert_eq!(reviewer(&home), Some(json!("ok")));
}

fn settings(home: &TestHome, folders: &[&str]) {
    let text = json!({ "skills": folders });
    home.file("project/.pi/settings.json", text.to_string());
}

/// A trusted project whose settings name two folders with a skill `deploy` each.
fn two_folders() -> TestHome {
    let home = new_home();
    home.dir("project/.git");
    home.skill("project/a/deploy", "deploy", "from a");
    home.skill("project/b/deploy", "deploy", "from b");
    settings(&home, &["../a", "../b"]);
    run(&home, "project", &["trust", "--yes"]);
    home
}

#[track_caller]
fn assert_said(home: &TestHome) {
    let check = home.run("project", ["skills", "check", "--json"]);
    let check: Value = serde_json::from_slice(&check.stdout).unwrap();
    let findings = check["diagnostics"].as_array().unwrap().iter();
    let said: Vec<&Value> = findings
        .filter(|finding| finding["code"] == "settings-changed")
        .collect();
    assert_eq!(said.len(), 1, "{check}");
    let file = said[0]["file"].as_str().unwrap();
    assert!(file.ends_with("project/.pi/settings.json"), "{file}");
    assert!(said[0]["help"].as_str().unwrap().contains("grove trust"));
    for command in [&["skills", "check"][..], &["doctor"]] {
        let told = home.run("project", command).stdout_text();
        assert!(!told.contains("nothing needs attention"), "{told}");
        assert!(told.contains(".pi/settings.json"), "{command:?}\n{told}");
    }
}

#[test]
fn settings_that_changed_since_trust_give_no_folder_more_weight() {
    let home = two_folders();
    assert_states(
        &home,
        "project",
        &[
            ("deploy@project:a", "ok", &[]),
            ("deploy@project:b", "shadowed", &["shadowed"]),
        ],
    );
    settings(&home, &["../b", "../a"]);
    assert_states(
        &home,
        "project",
        &[
            ("deploy@project:b", "changed", &["changed"]),
            ("deploy@project:a", "changed", &["changed"]),
        ],
    );
    assert_said(&home);

    run(&home, "project", &["trust", "--yes"]);
    assert_states(
        &home,
        "project",
        &[
            ("deploy@project:b", "ok", &[]),
            ("deploy@project:a", "shadowed", &["shadowed"]),
        ],
    );
}

#[test]
fn settings_that_name_nothing_any_more_are_said() {
    let home = two_folders();
    settings(&home, &[]);
    assert_states(&home, "project", &[]);
    assert_said(&home);
    fs::remove_file(home.path("project/.pi/settings.json")).unwrap();
    assert_said(&home);
}

#[test]
fn settings_are_followed_where_changes_are() {
    let home = two_folders();
    run(&home, "project", &["trust", "--yes", "--follow"]);
    settings(&home, &["../b"]);
    assert_states(&home, "project", &[("deploy@project:b", "ok", &[])]);
    let told = run(&home, "project", &["skills", "check"]).stdout_text();
    assert!(told.contains("nothing needs attention"), "{told}");
}
