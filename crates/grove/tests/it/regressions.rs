//! One test for each fault that was found by using the program, named for what went wrong.

use grove_testkit::home::TestHome;
use grove_testkit::process::{Finished, HANGING};
use serde_json::Value;

fn home() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_grove"))
}

fn json(finished: &Finished) -> Value {
    serde_json::from_slice(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", finished.stderr_text()))
}

/// A run in an environment without HOME and without the XDG folders.
fn run_without_home(home: &TestHome, arguments: &[&str]) -> Finished {
    let mut command = home.command("project");
    command
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    grove_testkit::process::capture(&mut command, HANGING).unwrap()
}

fn skills(home: &TestHome, flags: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["skills", "list", "--json"];
    arguments.extend(flags);
    json(&home.run("project", arguments))["skills"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

#[test]
fn a_skill_that_two_paths_lead_to_is_addressed_by_either() {
    let home = home();
    home.skill("home/.agents/skills/m", "m", "d")
        .dir("home/.claude/skills")
        .link("home/.claude/skills/m", "../../.agents/skills/m");
    for address in ["m", "m@user:.agents/skills", "m@user:.claude/skills"] {
        let shown = home.run("project", ["skills", "show", address, "--json"]);
        assert!(shown.success(), "{address}: {}", shown.stderr_text());
        assert_eq!(json(&shown)["skill"]["name"], "m");
    }
}

#[test]
fn the_shadowed_flat_file_is_named_by_its_own_address() {
    let home = home();
    home.skill("home/.agents/skills/w", "w", "stronger")
        .skill(
            "home/.claude/skills/w",
            "other",
            "a folder of the same name",
        )
        .file(
            "home/.claude/skills/w.md",
            "---\nname: w\ndescription: the flat one\n---\n",
        );
    let all = skills(&home, &[]);
    let shadowed = all
        .iter()
        .find(|skill| skill["state"] == "shadowed")
        .expect("the weaker one");
    assert_eq!(shadowed["address"], "w.md@user:.claude/skills");
    assert!(
        shadowed["reasons"][0]["fix"]
            .as_str()
            .is_some_and(|fix| fix.contains("`w.md@user:.claude/skills`")),
        "{shadowed}"
    );
}

#[test]
fn a_long_note_beside_skills_is_not_an_invalid_skill() {
    let home = home();
    home.skill("home/.agents/skills/s", "s", "d")
        .file("home/.agents/skills/README.md", "# Notes\n".repeat(40_000));
    assert!(
        skills(&home, &[])
            .iter()
            .all(|skill| skill["state"] == "ok")
    );
    assert!(home.run("project", ["skills", "check"]).success());
}

#[test]
fn moving_a_skill_into_a_folder_is_another_snapshot() {
    let home = home();
    let text = "---\nname: x\ndescription: d\n---\n";
    let digest =
        || json(&home.run("project", ["skills", "list", "--json"]))["snapshot"]["digest"].clone();
    home.file("home/.agents/skills/x.md", text);
    let flat = digest();
    std::fs::remove_file(home.path("home/.agents/skills/x.md")).unwrap();
    home.file("home/.agents/skills/x/SKILL.md", text);
    assert_ne!(digest(), flat);
}

#[test]
fn a_bundled_skill_that_was_changed_is_written_again() {
    let home = home();
    let location = |all: Vec<Value>| {
        all.iter()
            .find(|skill| skill["source"] == "bundled")
            .and_then(|skill| skill["location"].as_str().map(str::to_owned))
            .expect("a bundled skill")
    };
    let file = location(skills(&home, &[]));
    std::fs::write(file, "").unwrap();
    let again = skills(&home, &[]);
    assert!(
        again
            .iter()
            .any(|skill| skill["source"] == "bundled" && skill["state"] == "ok"),
        "{again:?}"
    );
}

#[test]
fn a_folder_that_the_configuration_names_and_that_is_not_there_is_missed() {
    let home = home();
    home.file(
        "config/grove/config.toml",
        "extra_dirs = ['/nowhere/at/all']\n",
    );
    let list = json(&home.run("project", ["skills", "list", "--json"]));
    assert!(
        list["diagnostics"].to_string().contains("/nowhere/at/all"),
        "{list}"
    );
    assert!(!home.run("project", ["skills", "check"]).success());
}

#[test]
fn untrust_takes_back_what_makes_this_place_trusted() {
    let home = home();
    home.dir("project/.git")
        .dir("project/sub")
        .skill("project/.agents/skills/s", "s", "d");
    let state = || {
        skills(&home, &[])
            .iter()
            .find(|skill| skill["name"] == "s")
            .map(|skill| skill["state"].clone())
    };
    assert!(home.run("project", ["trust", "--yes"]).success());
    assert_eq!(state(), Some("ok".into()));
    let part = home.run("project", ["untrust", "sub"]);
    assert!(
        !part.success() && part.stderr_text().contains("is trusted as a part of"),
        "{}",
        part.stderr_text()
    );
    assert!(home.run("project/sub", ["untrust"]).success());
    assert_eq!(state(), Some("untrusted".into()));
}

#[test]
fn without_a_home_nothing_is_written_anywhere() {
    let home = home();
    home.dir("project/.git")
        .skill("project/.agents/skills/s", "s", "d");
    let list = run_without_home(&home, &["skills", "list", "--json"]);
    assert!(list.success(), "{}", list.stderr_text());
    assert_eq!(json(&list)["skills"].as_array().map(Vec::len), Some(1));
    let trust = run_without_home(&home, &["trust", "--yes"]);
    assert!(
        !trust.success() && trust.stderr_text().contains("HOME is not set"),
        "{}",
        trust.stderr_text()
    );
}

#[test]
fn relative_folders_from_variables_become_absolute() {
    let home = home().with_env("GROVE_SKILL_DIRS", "../more");
    home.skill("more/s", "s", "d");
    let all = skills(&home, &[]);
    let location = all
        .iter()
        .find(|skill| skill["name"] == "s")
        .and_then(|skill| skill["location"].as_str())
        .expect("found");
    assert!(location.starts_with('/'), "{location}");
}

#[test]
fn a_skill_beyond_the_limit_is_not_called_unknown() {
    let home = home();
    home.file(
        "config/grove/config.toml",
        "[limits]\ncandidates_per_root = 1\n",
    )
    .skill("home/.agents/skills/a", "a", "d")
    .skill("home/.agents/skills/b", "b", "d");
    let shown = home.run("project", ["skills", "show", "b"]);
    assert!(
        !shown.success() && shown.stderr_text().contains("--all"),
        "{}",
        shown.stderr_text()
    );
    assert!(
        home.run("project", ["skills", "show", "b", "--all"])
            .success()
    );
}
