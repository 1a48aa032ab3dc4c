//! Where in a root skills are found, and where they are not.

use grove_testkit::home::TestHome;
use serde_json::Value;

/// The ids of all skills in a root, and the codes of what was found about the root and them.
fn looked_at(home: &TestHome, root: &str) -> (Vec<String>, Vec<String>) {
    let root = home.path(root);
    let finished = home.run(
        "project",
        ["skills", "list", "--json", "--root", root.to_str().unwrap()],
    );
    let list: Value = serde_json::from_slice(&finished.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let skills = list["skills"].as_array().unwrap();
    let of_skills = skills
        .iter()
        .flat_map(|skill| skill["diagnostics"].as_array().unwrap());
    let findings = list["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .chain(of_skills);
    (
        skills.iter().map(|skill| text(&skill["id"])).collect(),
        findings.map(|finding| text(&finding["code"])).collect(),
    )
}

#[track_caller]
fn assert_found(files: &[&str], ids: &[&str], codes: &[&str]) {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("root");
    for file in files {
        let folder = file
            .trim_end_matches("/SKILL.md")
            .trim_end_matches("SKILL.md");
        let name = folder
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or("root");
        let name = name.trim_end_matches(".md");
        home.file(
            format!("root/{file}"),
            format!("---\nname: {name}\ndescription: d\n---\n"),
        );
    }
    assert_eq!(
        looked_at(&home, "root"),
        (owned(ids), owned(codes)),
        "{files:?}"
    );
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn every_layout_is_found() {
    assert_found(&[], &[], &[]);
    assert_found(&["pdf/SKILL.md"], &["pdf"], &[]);
    assert_found(
        &["shell/tmux/SKILL.md", "pdf/SKILL.md"],
        &["pdf", "shell/tmux"],
        &[],
    );
    assert_found(&["notes.md"], &["notes"], &[]);
    assert_found(&["SKILL.md"], &["root"], &[]);
}

#[test]
fn a_skill_is_the_anchor_of_what_lies_below() {
    assert_found(
        &["pdf/SKILL.md", "pdf/inner/SKILL.md", "pdf/a/b/SKILL.md"],
        &["pdf"],
        &[],
    );
    assert_found(&["SKILL.md", "pdf/SKILL.md", "notes.md"], &["root"], &[]);
}

#[test]
fn hidden_folders_and_node_modules_are_passed_over() {
    assert_found(
        &[
            "pdf/SKILL.md",
            ".git/x/SKILL.md",
            ".hidden.md",
            "node_modules/y/SKILL.md",
            "group/.cache/z/SKILL.md",
            "group/node_modules/SKILL.md",
        ],
        &["pdf"],
        &[],
    );
}

#[test]
fn files_count_at_the_top_alone() {
    assert_found(
        &["top.md", "group/inner.md", "pdf/SKILL.md", "pdf/notes.md"],
        &["pdf", "top"],
        &[],
    );
}

#[test]
fn a_file_without_frontmatter_is_no_skill_and_nothing_is_said_of_it() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.file("root/README.md", "# Read me\n")
        .file("root/empty.md", "");
    home.file("root/rule.md", "---\nA rule and no frontmatter\n");
    assert_eq!(looked_at(&home, "root"), (vec![], vec![]));
}

#[test]
fn a_skill_file_in_the_wrong_case_is_named() {
    assert_found(
        &["pdf/skill.md", "notes/Skill.md"],
        &[],
        &["file-name-case", "file-name-case"],
    );
}

#[test]
fn groups_go_six_levels_deep() {
    assert_found(&["a/b/c/d/e/f/skill/SKILL.md"], &["a/b/c/d/e/f/skill"], &[]);
    assert_found(&["a/b/c/d/e/f/g/skill/SKILL.md"], &[], &["depth-limit"]);
}

#[test]
fn a_name_with_spaces_and_letters_of_any_script_is_an_id() {
    assert_found(&["日本/スキル/SKILL.md"], &["日本/スキル"], &[]);
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.skill("root/my skill", "my skill", "d");
    assert_eq!(
        looked_at(&home, "root"),
        (owned(&["my skill"]), owned(&["name-invalid"]))
    );
}

#[test]
fn an_odd_file_is_a_finding_and_the_rest_is_found() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.skill("root/good", "good", "d")
        .dir("root/folder/SKILL.md");
    home.link("root/broken", "nowhere").link("root/loop", ".");
    let (ids, codes) = looked_at(&home, "root");
    assert!(ids.contains(&"good".to_owned()), "{ids:?}");
    for code in ["not-regular-file", "broken-link", "link-loop"] {
        assert!(codes.contains(&code.to_owned()), "{code} in {codes:?}");
    }
}

/// Each finding names a few of the others, so that the output grows with the skills, not with their
/// square.
#[test]
fn many_skills_of_one_name_do_not_multiply_the_output() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    for number in 0..1000 {
        home.skill(format!("root/s{number}"), "same", "d");
    }
    let root = home.path("root");
    let arguments = [
        "skills",
        "list",
        "--json",
        "--all",
        "--root",
        root.to_str().unwrap(),
    ];
    let bytes = home.run("project", arguments).stdout.len();
    assert!(bytes < 4_000_000, "{bytes} bytes for 1000 small skills");
}
