//! `grove validate`: a file, a folder, a folder of skills, and what is not there.

use std::os::unix::fs::PermissionsExt as _;

use grove_testkit::process::Ending;

use super::session::{assert_session, run, small_home};

#[test]
fn one_skill_by_file_or_folder() {
    for path in [
        "../.agents/skills/pdf/SKILL.md",
        "../.agents/skills/pdf",
        "../.agents/skills/pdf/",
    ] {
        assert_session(&["validate", path], 0, "1 file valid\n", "");
    }
}

#[test]
fn several_at_once() {
    assert_session(
        &[
            "validate",
            "../.agents/skills/pdf",
            "../.agents/skills/shell/tmux",
        ],
        0,
        "2 files valid\n",
        "",
    );
}

#[test]
fn a_folder_of_skills() {
    assert_session(
        &["validate", "../.agents/skills"],
        1,
        "\
error[frontmatter-missing]: no frontmatter: the first line is not `---`
  --> [T]/home/.agents/skills/broken/SKILL.md:1:1
  |
1 | no frontmatter here
  | ^
  = help: start the file with a line `---`, then `name:` and `description:`, then a line `---`

warning[name-mismatch]: name `memo` differs from the folder's name `notes`
  --> [T]/home/.agents/skills/notes/SKILL.md:1:1
  |
1 | ---
  | ^
  = help: rename the folder or the skill so that both agree

2 of 5 files not valid
",
        "",
    );
}

#[test]
fn what_is_not_there_is_a_usage_error() {
    assert_session(
        &["validate", "nowhere"],
        2,
        "",
        "\
error: [T]/home/work/nowhere does not exist
hint: give a skill folder, a SKILL.md, or a folder of skills
",
    );
    assert_session(
        &["validate", ".."],
        2,
        "",
        "\
error: no skill in [T]/home
hint: give a skill folder, a SKILL.md, or a folder of skills
",
    );
}

#[test]
fn every_leniency_fails_a_strict_validation() {
    let home = small_home();
    for (name, frontmatter, valid) in [
        ("good", "name: good\ndescription: d", true),
        (
            "host-key",
            "name: host-key\ndescription: d\nuser-invocable: false",
            true,
        ),
        (
            "repaired",
            "name: repaired\ndescription: Use when: x",
            false,
        ),
        (
            "unknown-key",
            "name: unknown-key\ndescription: d\nversion: 1",
            false,
        ),
        ("no-description", "name: no-description", false),
        ("no-name", "description: d", false),
        ("Upper", "name: Upper\ndescription: d", false),
        ("other", "name: another\ndescription: d", false),
    ] {
        home.file(
            format!("home/work/{name}/SKILL.md"),
            format!("---\n{frontmatter}\n---\nBody\n"),
        );
        let session = run(&home, &["validate", name]);
        assert_eq!(
            session.ending,
            Ending::Exited(i32::from(!valid)),
            "{name}: {}",
            session.stdout
        );
    }
}

#[test]
fn what_cannot_be_read_is_told_apart() {
    let home = small_home();
    home.dir("home/work/v/folder/SKILL.md")
        .link("home/work/v/dangling.md", "nowhere")
        .link("home/work/v/gone", "nowhere")
        .file("home/work/v/large/SKILL.md", vec![b'x'; 256_001]);
    for (path, code) in [
        ("v/folder", "not-regular-file"),
        ("v/dangling.md", "broken-link"),
        ("v/large", "file-too-large"),
    ] {
        let session = run(&home, &["validate", path]);
        assert_eq!(session.ending, Ending::Exited(1), "{path}");
        let told = session.stdout;
        assert!(told.contains(&format!("[{code}]")), "{path}: {told}");
    }
    let told = run(&home, &["validate", "v"]).stdout;
    assert!(
        told.ends_with("\n2 of 2 files not valid, 2 other findings\n"),
        "{told}"
    );
}

/// Permissions do not bind root.
#[test]
fn a_folder_that_may_not_be_read_is_a_finding_about_it_alone() {
    let home = small_home();
    let folder = home.path("home/work/locked");
    home.dir("home/work/locked");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o000)).unwrap();
    let session = run(&home, &["validate", "locked"]);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    if session.ending == Ending::Exited(2) {
        return;
    }
    assert!(
        session.stdout.starts_with("error[unreadable]")
            && session.stdout.ends_with("\nno file checked, 1 finding\n"),
        "{}",
        session.stdout
    );
}
