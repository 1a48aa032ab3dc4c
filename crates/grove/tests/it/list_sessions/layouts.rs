//! Where in a root skills are found, and where they are not.

use grove_testkit::session::{Session, column};

use crate::session;

/// The ids of all skills in a root, and the codes of what was found about the root and them.
fn looked_at(session: &Session) -> (Vec<String>, Vec<String>) {
    let list = session.json("skills list --root ../root");
    let mut codes = column(&list["diagnostics"], "code");
    for skill in list["skills"].as_array().unwrap() {
        codes.extend(column(&skill["diagnostics"], "code"));
    }
    (column(&list["skills"], "id"), codes)
}

/// Makes these files, each a skill with the name of its folder, and compares ids and codes.
#[track_caller]
fn assert_found(files: &[&str], ids: &[&str], codes: &[&str]) {
    let session = session();
    session.dir("root");
    for file in files {
        let folder = file.trim_end_matches("SKILL.md").trim_end_matches('/');
        let name = folder.rsplit('/').next().filter(|name| !name.is_empty());
        let name = name.unwrap_or("root").trim_end_matches(".md");
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        session.file(format!("root/{file}"), text);
    }
    let found = looked_at(&session);
    assert_eq!((found.0, found.1), (owned(ids), owned(codes)), "{files:?}");
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn every_layout_is_found() {
    assert_found(&[], &[], &[]);
    assert_found(&["pdf/SKILL.md"], &["pdf"], &[]);
    let grouped = ["shell/tmux/SKILL.md", "pdf/SKILL.md"];
    assert_found(&grouped, &["pdf", "shell/tmux"], &[]);
    assert_found(&["notes.md"], &["notes"], &[]);
    assert_found(&["SKILL.md"], &["root"], &[]);
}

#[test]
fn a_skill_is_the_anchor_of_what_lies_below() {
    let below = ["pdf/SKILL.md", "pdf/inner/SKILL.md", "pdf/a/b/SKILL.md"];
    assert_found(&below, &["pdf"], &[]);
    assert_found(&["SKILL.md", "pdf/SKILL.md", "notes.md"], &["root"], &[]);
}

#[test]
fn hidden_folders_and_node_modules_are_passed_over() {
    let files = [
        "pdf/SKILL.md",
        ".git/x/SKILL.md",
        ".hidden.md",
        "node_modules/y/SKILL.md",
        "group/.cache/z/SKILL.md",
        "group/node_modules/SKILL.md",
    ];
    assert_found(&files, &["pdf"], &[]);
}

#[test]
fn files_count_at_the_top_alone() {
    let files = ["top.md", "group/inner.md", "pdf/SKILL.md", "pdf/notes.md"];
    assert_found(&files, &["pdf", "top"], &[]);
}

#[test]
fn a_file_without_frontmatter_is_no_skill_and_nothing_is_said_of_it() {
    let session = session();
    session
        .file("root/README.md", "# Read me\n")
        .file("root/empty.md", "")
        .file("root/rule.md", "---\nA rule and no frontmatter\n");
    assert_eq!(looked_at(&session), (vec![], vec![]));
}

#[test]
fn a_skill_file_in_the_wrong_case_is_named() {
    let files = ["pdf/skill.md", "notes/Skill.md"];
    assert_found(&files, &[], &["file-name-case"; 2]);
}

#[test]
fn a_name_with_spaces_and_letters_of_any_script_is_an_id() {
    assert_found(&["日本/スキル/SKILL.md"], &["日本/スキル"], &[]);
    assert_found(&["my skill/SKILL.md"], &["my skill"], &["name-invalid"]);
}

#[test]
fn an_odd_file_is_a_finding_and_the_rest_is_found() {
    let session = session();
    session
        .skill("root/good", "good", "d")
        .dir("root/folder/SKILL.md")
        .link("root/broken", "nowhere")
        .link("root/loop", ".");
    let (ids, codes) = looked_at(&session);
    assert!(ids.contains(&"good".to_owned()), "{ids:?}");
    for code in ["not-regular-file", "broken-link", "link-loop"] {
        assert!(codes.contains(&code.to_owned()), "{code} in {codes:?}");
    }
}

/// Each finding names a few of the others, so that the output grows with the skills, not with their
/// square.
#[test]
fn many_skills_of_one_name_do_not_multiply_the_output() {
    let session = session();
    for number in 0..1000 {
        session.skill(format!("root/s{number}"), "same", "d");
    }
    let listed = session.grove("skills list --json --all --root ../root");
    let bytes = listed.stdout.len();
    assert!(bytes < 4_000_000, "{bytes} bytes for 1000 small skills");
}
