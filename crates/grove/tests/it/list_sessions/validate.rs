//! `grove validate`: a file, a folder, a folder of skills, and what is not there.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;

use super::small;

#[test]
fn one_skill_by_file_or_folder_and_several_at_once() {
    let session = small();
    for (paths, valid) in [
        ("pdf/SKILL.md", "1 file valid\n"),
        ("pdf", "1 file valid\n"),
        ("pdf/", "1 file valid\n"),
        ("pdf shell/tmux", "2 files valid\n"),
    ] {
        let mut words = "validate".to_owned();
        words.extend(
            paths
                .split(' ')
                .map(|path| format!(" ../.agents/skills/{path}")),
        );
        let validated = session.done(&words);
        assert_eq!((&*validated.stdout, &*validated.stderr), (valid, ""));
    }
}

#[test]
fn a_folder_of_skills() {
    assert_snapshot!(small().grove("validate ../.agents/skills"), @"
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
    [exit code 1]
    ");
}

#[test]
fn what_is_not_there_is_a_usage_error() {
    assert_snapshot!(small().transcript(["validate nowhere", "validate .."]), @"
    $ grove validate nowhere
    [stderr]
    error: [T]/home/work/nowhere does not exist
    hint: give a skill folder, a SKILL.md, or a folder of skills
    [exit code 2]
    $ grove validate ..
    [stderr]
    error: no skill in [T]/home
    hint: give a skill folder, a SKILL.md, or a folder of skills
    [exit code 2]
    ");
}

#[test]
fn every_leniency_fails_a_strict_validation() {
    let session = small();
    for (name, frontmatter, code) in [
        ("good", "name: good\ndescription: d", 0),
        ("key", "name: key\ndescription: d\nuser-invocable: false", 0),
        ("repaired", "name: repaired\ndescription: Use when: x", 1),
        ("unknown", "name: unknown\ndescription: d\nversion: 1", 1),
        ("no-description", "name: no-description", 1),
        ("no-name", "description: d", 1),
        ("Upper", "name: Upper\ndescription: d", 1),
        ("other", "name: another\ndescription: d", 1),
    ] {
        let text = format!("---\n{frontmatter}\n---\nBody\n");
        session.file(format!("home/work/{name}/SKILL.md"), text);
        session.grove(["validate", name]).fails(code);
    }
}

#[test]
fn what_cannot_be_read_is_told_apart() {
    let session = small();
    session
        .dir("home/work/v/folder/SKILL.md")
        .link("home/work/v/dangling.md", "nowhere")
        .link("home/work/v/gone", "nowhere")
        .file("home/work/v/large/SKILL.md", vec![b'x'; 256_001]);
    for (path, code) in [
        ("v/folder", "[not-regular-file]"),
        ("v/dangling.md", "[broken-link]"),
        ("v/large", "[file-too-large]"),
    ] {
        session.grove(["validate", path]).fails(1).prints([code]);
    }
    let told = session.grove("validate v").stdout;
    let summary = "\n2 of 2 files not valid, 2 other findings\n";
    assert!(told.ends_with(summary), "{told}");
}

/// Permissions do not bind root.
#[test]
fn a_folder_that_may_not_be_read_is_a_finding_about_it_alone() {
    let session = small();
    session.dir("home/work/locked");
    let folder = session.path("home/work/locked");
    set_permissions(&folder, Permissions::from_mode(0o000)).unwrap();
    let validated = session.grove("validate locked");
    set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    if validated.code == 2 {
        return;
    }
    let told = &validated.stdout;
    assert!(told.starts_with("error[unreadable]"), "{told}");
    assert!(told.ends_with("\nno file checked, 1 finding\n"), "{told}");
}
