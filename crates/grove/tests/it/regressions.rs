//! One test for each fault that was found by using the program, named for what went wrong.

use grove_testkit::process::{Finished, HANGING, capture};
use grove_testkit::session::{Session, USER_CONFIG, column, rows};
use serde_json::Value;

use crate::session;

/// A run in an environment without HOME and without the XDG folders.
fn run_without_home(session: &Session, words: &str) -> Finished {
    let mut command = session.command("project");
    command
        .args(words.split(' '))
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    capture(&mut command, HANGING).unwrap()
}

#[test]
fn a_skill_that_two_paths_lead_to_is_addressed_by_either() {
    let session = session();
    session
        .skill("home/.agents/skills/m", "m", "d")
        .link("home/.claude/skills/m", "../../.agents/skills/m");
    for address in ["m", "m@user:.agents/skills", "m@user:.claude/skills"] {
        let shown = session.json(["skills", "show", address]);
        assert_eq!(shown["skill"]["name"], "m");
    }
}

#[test]
fn the_shadowed_flat_file_is_named_by_its_own_address() {
    let session = session();
    let flat = "---\nname: w\ndescription: the flat one\n---\n";
    session
        .skill("home/.agents/skills/w", "w", "stronger")
        .skill("home/.claude/skills/w", "other", "of the same name")
        .file("home/.claude/skills/w.md", flat);
    let listed = session.json("skills list --state shadowed");
    let shadowed = rows(&listed["skills"], ["address", "reasons/0/fix"]);
    let address = "w.md@user:.claude/skills";
    assert_eq!(shadowed[0][0], address);
    assert!(shadowed[0][1].contains(&format!("`{address}`")), "{listed}");
}

#[test]
fn a_long_note_beside_skills_is_not_an_invalid_skill() {
    let session = session();
    session
        .skill("home/.agents/skills/s", "s", "d")
        .file("home/.agents/skills/README.md", "# Notes\n".repeat(40_000));
    let states = column(&session.json("skills list")["skills"], "state");
    assert!(states.iter().all(|state| state == "ok"), "{states:?}");
    session.done("skills check");
}

#[test]
fn moving_a_skill_into_a_folder_is_another_snapshot() {
    let session = session();
    let text = "---\nname: x\ndescription: d\n---\n";
    let digest = || session.json("skills list")["snapshot"]["digest"].clone();
    session.file("home/.agents/skills/x.md", text);
    let flat = digest();
    session
        .remove("home/.agents/skills/x.md")
        .file("home/.agents/skills/x/SKILL.md", text);
    assert_ne!(digest(), flat);
}

#[test]
fn a_bundled_skill_that_was_changed_is_written_again() {
    let session = session();
    let bundled = || {
        let all = session.json("skills list");
        let mut all = rows(&all["skills"], ["source", "state", "location"]);
        all.retain(|[source, ..]| source == "bundled");
        all
    };
    let [_, state, file] = bundled().swap_remove(0);
    assert_eq!(state, "ok");
    session.file(file, "");
    assert_eq!(bundled()[0][1], "ok");
}

#[test]
fn a_folder_that_the_configuration_names_and_that_is_not_there_is_missed() {
    let session = session();
    session.file(USER_CONFIG, "extra_dirs = ['/nowhere/at/all']\n");
    let said = session.json("skills list")["diagnostics"].to_string();
    assert!(said.contains("/nowhere/at/all"), "{said}");
    assert_ne!(session.grove("skills check").code, 0);
}

#[test]
fn untrust_takes_back_what_makes_this_place_trusted() {
    let session = session().with_repository();
    session
        .dir("project/sub")
        .skill("project/.agents/skills/s", "s", "d");
    let state = || session.json("skills show s")["skill"]["state"].clone();
    session.trust();
    assert_eq!(state(), "ok");
    let part = session.refused("untrust sub");
    part.says(["is trusted as a part of"]);
    assert_eq!(session.grove_in("project/sub", "untrust").code, 0);
    assert_eq!(state(), "untrusted");
}

#[test]
fn without_a_home_nothing_is_written_anywhere() {
    let session = session().with_repository();
    session.skill("project/.agents/skills/s", "s", "d");
    let list = run_without_home(&session, "skills list --json");
    assert!(list.success(), "{}", list.stderr_text());
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(column(&list["skills"], "name"), ["s"]);
    let trust = run_without_home(&session, "trust");
    let said = trust.stderr_text();
    assert!(
        !trust.success() && said.contains("HOME is not set"),
        "{said}"
    );
}

#[test]
fn without_a_usable_home_it_is_said_what_is_the_matter() {
    let session = session();
    for words in [
        "runs list",
        "runs show x",
        "run worker task",
        "prompt --run x",
    ] {
        let runs = run_without_home(&session, words);
        let said = runs.stderr_text();
        let expected = "error: HOME is not set, so there is nowhere to keep runs\nhint: set HOME or XDG_STATE_HOME";
        assert!(said.starts_with(expected), "{words}: {said}");
    }
    let relative = session
        .with_env("HOME", "rel")
        .without_env("XDG_STATE_HOME");
    for words in [
        "agents create a --description d",
        "skills create a --description d",
        "trust",
        "runs list",
    ] {
        let said = relative.refused(words);
        said.says([
            "HOME is `rel`, which is not an absolute path",
            "hint: set HOME",
        ]);
    }
}

#[test]
fn a_skill_beyond_the_limit_is_not_called_unknown() {
    let session = session();
    session
        .file(USER_CONFIG, "[limits]\ncandidates_per_root = 1\n")
        .skill("home/.agents/skills/a", "a", "d")
        .skill("home/.agents/skills/b", "b", "d");
    session.refused("skills show b").says(["--all"]);
    session.done("skills show b --all");
}
