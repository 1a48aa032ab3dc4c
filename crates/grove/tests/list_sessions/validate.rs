//! `grove validate`: a file, a folder, a folder of skills, and what is not there.

use grove_testkit::process::Ending;

use crate::session::{assert_session, run, small_home};

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
