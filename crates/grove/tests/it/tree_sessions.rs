//! Sessions about trees: what is shown of a branch and its children, what is said about declarations, and
//! that trust covers children as it covers any other skill.

use grove_testkit::home::TestHome;
use grove_testkit::process::Ending;
use serde_json::{Value, json};

/// A skill with a line under `metadata`, in a root below the temporary folder.
fn put(home: &TestHome, root: &str, id: &str, metadata: &str, description: &str) {
    let name = id.rsplit('/').next().unwrap();
    let text =
        format!("---\nname: {name}\ndescription: {description}\nmetadata:\n  {metadata}\n---\n");
    home.file(format!("{root}/{id}/SKILL.md"), text);
}

/// Three levels: a branch with three children, of which one is a branch with three.
fn tree(home: &TestHome, root: &str) {
    put(
        home,
        root,
        "office",
        "children: pdf mail sheets",
        "PDF, mail and sheets",
    );
    put(
        home,
        root,
        "office/skills/pdf",
        "children: '*'",
        "PDF files",
    );
    for child in ["join", "split", "sign"] {
        let id = format!("office/skills/pdf/skills/{child}");
        put(home, root, &id, "x: y", "Changes a PDF");
    }
    put(home, root, "office/skills/mail", "x: y", "Answers mail");
    put(home, root, "office/sheets", "x: y", "Adds up sheets");
    put(home, root, "office/undeclared", "x: y", "Is nobody's child");
}

fn new_home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    let bundled = home.path("home/bundled");
    home.dir("home/bundled");
    home.with_env("GROVE_BUNDLED_DIR", bundled)
}

fn run(home: &TestHome, arguments: &[&str], code: i32) -> String {
    let finished = home.run("project", arguments);
    let told = finished.stdout_text();
    assert_eq!(
        finished.ending,
        Ending::Exited(code),
        "{arguments:?}: {told}"
    );
    told
}

fn run_json(home: &TestHome, arguments: &[&str], code: i32) -> Value {
    serde_json::from_str(&run(home, arguments, code)).unwrap()
}

const USER: &str = "home/.agents/skills";

#[test]
fn a_branch_and_its_children_are_shown_with_each_other() {
    let home = new_home();
    tree(&home, USER);
    let shown = run(&home, &["skills", "show", "pdf"], 0);
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
    let office = run_json(&home, &["skills", "show", "office", "--json"], 0);
    let addresses = ["office/skills/pdf", "office/skills/mail", "office/sheets"]
        .map(|id| format!("{id}@user:.agents/skills"));
    assert_eq!(office["children"], json!(addresses));
    assert_eq!(office.get("parent"), None);
    let join = run_json(&home, &["skills", "show", "join", "--json"], 0);
    assert_eq!(
        join["parent"],
        json!("office/skills/pdf@user:.agents/skills")
    );
    assert_eq!(join.get("children"), None);

    assert!(run(&home, &["skills", "check"], 0).contains("nothing needs attention"));
    let unknown = home.run("project", ["skills", "show", "undeclared"]);
    assert_eq!(unknown.ending, Ending::Exited(1));
}

#[test]
fn what_is_wrong_with_a_tree_is_said_of_a_file_with_help() {
    let home = new_home();
    let root = "home/.agents/skills";
    put(
        &home,
        root,
        "a",
        "children: here here gone twin ../up",
        "Speaks of gardens",
    );
    put(&home, root, "a/here", "x: y", "Speaks of gardens");
    put(&home, root, "a/twin", "x: y", "Speaks of gardens");
    put(&home, root, "a/skills/twin", "x: y", "Speaks of gardens");
    put(&home, root, "b", "parent: nobody", "Speaks of gardens");
    put(&home, root, "c", "parent: c", "Speaks of gardens");
    put(&home, root, "d", "parent: [a]", "Speaks of gardens");
    put(&home, root, "e", "parent: vague", "Mends bicycles");
    put(&home, root, "vague", "x: y", "Various things");

    let check = run_json(&home, &["skills", "check", "--json"], 1);
    let of_skills = check["skills"].as_array().unwrap().iter();
    let of_skills = of_skills.flat_map(|skill| skill["diagnostics"].as_array().unwrap());
    let all = of_skills.chain(check["diagnostics"].as_array().unwrap());
    let folder = home.path(root);
    let mut said: Vec<(String, String, Option<u64>)> = all
        .map(|found| {
            assert!(!found["help"].as_str().unwrap().is_empty());
            let file = found["file"].as_str().unwrap();
            let file = file.strip_prefix(folder.to_str().unwrap()).unwrap();
            let code = found["code"].as_str().unwrap();
            (file.to_owned(), code.to_owned(), found["line"].as_u64())
        })
        .collect();
    said.sort();
    let expected = [
        ("/a/SKILL.md", "child-duplicate", None),
        ("/a/SKILL.md", "child-duplicate", Some(5)),
        ("/a/SKILL.md", "child-missing", Some(5)),
        ("/a/SKILL.md", "child-name", Some(5)),
        ("/b/SKILL.md", "parent-missing", Some(5)),
        ("/c/SKILL.md", "tree-cycle", Some(5)),
        ("/d/SKILL.md", "field-type", Some(5)),
        ("/vague/SKILL.md", "branch-small", None),
        ("/vague/SKILL.md", "branch-vague", None),
    ]
    .map(|(file, code, line)| (file.to_owned(), code.to_owned(), line));
    assert_eq!(said, expected);
    let told = run(&home, &["skills", "check"], 1);
    for (_, code, _) in &expected {
        assert!(told.contains(&format!("warning[{code}]")), "{code}\n{told}");
    }
}

#[test]
fn trust_covers_children_as_they_were_seen() {
    let home = new_home();
    let root = "project/.agents/skills";
    tree(&home, root);
    let states = |home: &TestHome| {
        let list = run_json(home, &["skills", "list", "--json"], 0);
        let skills = list["skills"].as_array().unwrap().iter();
        let state = |skill: &Value| {
            let text = |key: &str| skill[key].as_str().unwrap().to_owned();
            (text("id"), text("state"))
        };
        skills.map(state).collect::<Vec<_>>()
    };
    let not_ok = |home: &TestHome| {
        let mut all = states(home);
        all.retain(|(_, state)| state != "ok");
        all
    };
    assert_eq!(not_ok(&home).len(), 7);
    let granted = run_json(&home, &["trust", "--json"], 0);
    // Seven skills, and a file in a folder of theirs that nobody declared to be a skill.
    assert_eq!(granted["new"].as_array().map(Vec::len), Some(8));
    assert_eq!(not_ok(&home), []);

    let split = "office/skills/pdf/skills/split";
    put(&home, root, split, "x: y", "Changes a PDF, and more");
    put(
        &home,
        root,
        "office/skills/pdf/late",
        "x: y",
        "Came later, for PDF",
    );
    let changed = |id: &str| (id.to_owned(), "changed".to_owned());
    assert_eq!(
        not_ok(&home),
        [changed("office/skills/pdf/late"), changed(split)]
    );
    run(&home, &["trust"], 0);
    assert_eq!(not_ok(&home), []);
    assert_eq!(states(&home).len(), 8);
}

/// The second process has nothing but the cache file of the first.
#[test]
fn a_tree_from_the_cache_is_the_same_tree() {
    let home = new_home();
    tree(&home, USER);
    let show = || run_json(&home, &["skills", "show", "office", "--json"], 0);
    let first = show();
    std::thread::sleep(std::time::Duration::from_millis(45));
    for _ in 0..2 {
        assert_eq!(show(), first);
    }
    put(
        &home,
        USER,
        "office/skills/mail",
        "children: '*'",
        "Answers mail",
    );
    put(
        &home,
        USER,
        "office/skills/mail/reply",
        "x: y",
        "Replies to mail",
    );
    let mail = run_json(&home, &["skills", "show", "mail", "--json"], 0);
    let reply = "office/skills/mail/reply@user:.agents/skills";
    assert_eq!(mail["children"], json!([reply]));
}
