//! Sessions about trees: what is shown of a branch and its children, what is said about declarations, and
//! that trust covers children as it covers any other skill.

use grove_testkit::session::{Session, column, let_files_settle, rows};
use serde_json::json;

const USER: &str = "home/.agents/skills";

/// A skill with a line under `metadata`, in a root below the temporary folder.
fn put(session: &Session, root: &str, id: &str, metadata: &str, description: &str) {
    let name = id.rsplit('/').next().unwrap();
    let text =
        format!("---\nname: {name}\ndescription: {description}\nmetadata:\n  {metadata}\n---\n");
    session.file(format!("{root}/{id}/SKILL.md"), text);
}

/// Three levels: a branch with three children, of which one is a branch with three.
fn with_tree(root: &str) -> Session {
    let session = crate::session().without_bundled();
    let pdf = "office/skills/pdf";
    for (id, metadata, description) in [
        (
            "office",
            "children: pdf mail sheets",
            "PDF, mail and sheets",
        ),
        (pdf, "children: '*'", "PDF files"),
        (&format!("{pdf}/skills/join"), "x: y", "Changes a PDF"),
        (&format!("{pdf}/skills/split"), "x: y", "Changes a PDF"),
        (&format!("{pdf}/skills/sign"), "x: y", "Changes a PDF"),
        ("office/skills/mail", "x: y", "Answers mail"),
        ("office/sheets", "x: y", "Adds up sheets"),
        ("office/undeclared", "x: y", "Is nobody's child"),
    ] {
        put(&session, root, id, metadata, description);
    }
    session
}

#[test]
fn a_branch_and_its_children_are_shown_with_each_other() {
    let session = with_tree(USER);
    let shown = session.done("skills show pdf").stdout;
    let rows: Vec<&str> = shown
        .lines()
        .filter(|row| row.starts_with("parent") || row.starts_with("children"))
        .collect();
    assert_eq!(
        rows,
        [
            "parent       office@user:.agents/skills",
            "children     office/skills/pdf/skills/join@user:.agents/skills",
            "children     office/skills/pdf/skills/sign@user:.agents/skills",
            "children     office/skills/pdf/skills/split@user:.agents/skills",
        ]
    );
    let office = session.json("skills show office");
    let addresses = ["office/skills/pdf", "office/skills/mail", "office/sheets"]
        .map(|id| format!("{id}@user:.agents/skills"));
    assert_eq!(office["children"], json!(addresses));
    assert_eq!(office.get("parent"), None);
    let join = session.json("skills show join");
    assert_eq!(join["parent"], "office/skills/pdf@user:.agents/skills");
    assert_eq!(join.get("children"), None);

    let check = session.done("skills check").stdout;
    assert!(check.contains("nothing needs attention"), "{check}");
    assert_eq!(session.grove("skills show undeclared").code, 1);
}

#[test]
fn what_is_wrong_with_a_tree_is_said_of_a_file_with_help() {
    let session = crate::session().without_bundled();
    for (id, metadata, description) in [
        (
            "a",
            "children: here here gone twin ../up",
            "Speaks of gardens",
        ),
        ("a/here", "x: y", "Speaks of gardens"),
        ("a/twin", "x: y", "Speaks of gardens"),
        ("a/skills/twin", "x: y", "Speaks of gardens"),
        ("b", "parent: nobody", "Speaks of gardens"),
        ("c", "parent: c", "Speaks of gardens"),
        ("d", "parent: [a]", "Speaks of gardens"),
        ("e", "parent: vague", "Mends bicycles"),
        ("vague", "x: y", "Various things"),
    ] {
        put(&session, USER, id, metadata, description);
    }
    let check = session.grove("skills check --json").fails(1).json();
    let skills = check["skills"].as_array().unwrap().iter();
    let lists = skills.map(|skill| &skill["diagnostics"]);
    let lists = lists.chain([&check["diagnostics"]]);
    let folder = session.path(USER).display().to_string();
    let mut said: Vec<[String; 3]> = lists
        .flat_map(|list| rows(list, ["file", "code", "line", "help"]))
        .map(|[file, code, line, help]| {
            assert!(!help.is_empty(), "{code}");
            [file.replace(&folder, ""), code, line]
        })
        .collect();
    said.sort();
    let expected = [
        ["/a/SKILL.md", "child-duplicate", ""],
        ["/a/SKILL.md", "child-duplicate", "5"],
        ["/a/SKILL.md", "child-missing", "5"],
        ["/a/SKILL.md", "child-name", "5"],
        ["/b/SKILL.md", "parent-missing", "5"],
        ["/c/SKILL.md", "tree-cycle", "5"],
        ["/d/SKILL.md", "field-type", "5"],
        ["/vague/SKILL.md", "branch-small", ""],
        ["/vague/SKILL.md", "branch-vague", ""],
    ];
    assert_eq!(said, expected);
    let told = session.grove("skills check").fails(1).stdout;
    for [_, code, _] in expected {
        assert!(told.contains(&format!("warning[{code}]")), "{code}\n{told}");
    }
}

#[test]
fn trust_covers_children_as_they_were_seen() {
    let root = "project/.agents/skills";
    let session = with_tree(root);
    let not_ok = || {
        let list = session.json("skills list");
        let mut all = rows(&list["skills"], ["id", "state"]);
        all.retain(|[_, state]| state != "ok");
        all
    };
    assert_eq!(not_ok().len(), 7);
    let granted = session.trust_with("--json").json();
    // Seven skills, and a file in a folder of theirs that nobody declared to be a skill.
    assert_eq!(granted["new"].as_array().map(Vec::len), Some(8));
    assert_eq!(not_ok(), [[""; 2]; 0]);

    let (split, late) = ("office/skills/pdf/skills/split", "office/skills/pdf/late");
    put(&session, root, split, "x: y", "Changes a PDF, and more");
    put(&session, root, late, "x: y", "Came later, for PDF");
    assert_eq!(not_ok(), [[late, "changed"], [split, "changed"]]);
    session.trust();
    assert_eq!(not_ok(), [[""; 2]; 0]);
    let all = column(&session.json("skills list")["skills"], "id");
    assert_eq!(all.len(), 8);
}

/// The second process has nothing but the cache file of the first.
#[test]
fn a_tree_from_the_cache_is_the_same_tree() {
    let session = with_tree(USER);
    let show = || session.json("skills show office");
    let first = show();
    let_files_settle();
    for _ in 0..2 {
        assert_eq!(show(), first);
    }
    let (mail, reply) = ("office/skills/mail", "office/skills/mail/reply");
    put(&session, USER, mail, "children: '*'", "Answers mail");
    put(&session, USER, reply, "x: y", "Replies to mail");
    let mail = session.json("skills show mail");
    let expected = json!([format!("{reply}@user:.agents/skills")]);
    assert_eq!(mail["children"], expected);
}
