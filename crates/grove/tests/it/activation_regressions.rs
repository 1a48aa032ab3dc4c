//! One test for each fault that was found in activating, expanding and sessions, named for what went wrong.

use std::path::Path;

use grove_testkit::session::{Session, column};
use serde_json::json;

const SKILLS: &str = "home/.agents/skills";
const BRANCH: &str = "metadata:\n  children: \"*\"\n";

fn session() -> Session {
    crate::session().without_bundled().working_in("home/work")
}

fn put(session: &Session, id: &str, lines: &str, body: &str) {
    session.definition(format!("{SKILLS}/{id}"), lines, body);
}

/// Three small skills in this folder.
fn put_three(session: &Session, folder: &str) {
    for name in ["a", "b", "c"] {
        put(session, &format!("{folder}/{folder}-{name}"), "", "x");
    }
}

#[test]
fn one_childs_description_took_a_whole_activation() {
    let session = session();
    put(&session, "docs", BRANCH, "Keep it short.");
    let huge = "Long words again. ".repeat(8_333);
    session.skill(format!("{SKILLS}/docs/a"), "a", &huge);
    for n in 0..198 {
        put(&session, &format!("docs/s{n:03}"), "", "S.");
    }
    let value = session.json("skills activate docs --all");
    let chars = value["chars"].as_u64().unwrap();
    assert!(chars < 33_000, "{chars}");
    let children = value["children"].as_array().unwrap();
    let text = value["text"].as_str().unwrap();
    assert_eq!(children.len(), text.matches("</name><description>").count());
    let more = usize::try_from(value["moreChildren"].as_u64().unwrap()).unwrap();
    assert_eq!(children.len() + more, 199);
    let first = children[0]["description"].as_str().unwrap();
    assert!(
        first.chars().count() <= 300 && text.contains(first),
        "{first}"
    );
    // What is not listed is named, and had by that name.
    let last = text.lines().last().unwrap();
    let named: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
    assert_eq!(named.len(), more, "{last}");
    session
        .grove(["skills", "activate", named[0], "--all"])
        .ok();
}

#[test]
fn a_small_skill_multiplied_its_arguments_without_a_bound() {
    let session = session();
    put(&session, "echo", "", &"$ARGUMENTS\n".repeat(22_000));
    let long = "x".repeat(20_000);
    let refused = session.grove(["skills", "activate", "/echo", &long]);
    insta::assert_snapshot!(refused, @r"
        [stderr]
        error: `echo` would have more than 1000000 characters with its arguments filled in
        hint: give shorter arguments, or put them in a file and give its path
        hint: read [T]/home/.agents/skills/echo/SKILL.md itself
        [exit code 1]
    ");
    session.grove("skills activate /echo short").ok();
}

/// A group of the catalog: enough skills in its folder, and enough beside it.
fn put_group(session: &Session, folder: &str) {
    for name in ["a", "b", "c", "d", "e"] {
        put(session, &format!("{folder}/{folder}-{name}"), "", "x");
    }
    for number in 0..8 {
        put(session, &format!("others/other-{number}"), "", "x");
    }
}

#[test]
fn expanding_a_group_of_two_was_stored_without_effect() {
    let session = session();
    put_group(&session, "g");
    for id in ["g/sub/a", "g/sub/b"] {
        put(&session, id, "", "x");
    }
    let said = ["no skill is called `g/sub`", "`g/sub/a`", "`g/sub/b`"];
    session.grove("skills expand g/sub").fails(1).says(said);
    let outer = session.json("skills expand g --session talk.json");
    let names = column(&outer["children"], "name");
    let expected = ["a", "b", "g-a", "g-b", "g-c", "g-d", "g-e"];
    assert_eq!(names, expected, "no entry is a folder");
    assert_eq!(outer["expanded"], json!(["g/@user:.agents/skills"]));
}

#[test]
fn a_record_of_use_of_a_later_version_was_overwritten() {
    let session = session();
    put(&session, "pdf", "", "x");
    for later in [
        "{\"version\":2,\"skills\":{}}",
        "{\"skills\":[[\"a\",1]],\"more\":true,\"version\":17}",
    ] {
        session.file("state/grove/usage.json", later);
        for command in [
            "skills activate pdf",
            "skills activate pdf --session talk.json",
        ] {
            session.grove(command).ok().says(["info[usage-newer]"]);
            assert_eq!(session.read("state/grove/usage.json"), later);
        }
        session.remove("home/work/talk.json");
    }
}

#[test]
fn arguments_for_a_group_were_dropped_without_a_word() {
    let session = session();
    put_group(&session, "web");
    let said = ["warning[arguments-unused]", "`web/` is a group"];
    session
        .grove("skills activate web/ extra words")
        .ok()
        .says(said);
    let value = session.json("skills activate web/ x");
    assert_eq!(value["diagnostics"][0]["code"], "arguments-unused");
    let value = session.json("skills activate web/");
    assert_eq!(value["diagnostics"], json!([]));
}

#[test]
fn arguments_that_a_branch_puts_where_it_is_cut_were_dropped_without_a_word() {
    let session = session();
    let line = "A line of the body.\n";
    for (parent, body) in [("long", line.repeat(200)), ("short", line.to_owned())] {
        put(&session, parent, BRANCH, &body);
        put_three(&session, parent);
    }
    let long = session.grove("skills activate long word").ok();
    long.says(["arguments-unused"]).lacks(["ARGUMENTS: word"]);
    let short = session.grove("skills activate short word").ok();
    short
        .prints(["ARGUMENTS: word"])
        .lacks(["arguments-unused"]);
}

#[test]
fn a_group_that_is_open_was_told_again() {
    let session = session();
    put_group(&session, "web");
    let first = session.json("skills activate web --session talk.json");
    assert_eq!(first["alreadyActive"], false);
    let second = session.json("skills activate web --session talk.json");
    assert_eq!(second["alreadyActive"], true);
    assert_eq!(
        second["text"],
        "`web/` is already active: its skills stand in its place in the catalog.\n"
    );
    assert_eq!(second["children"], first["children"]);
    let again = session.json("skills activate web --session talk.json --again");
    assert_eq!(again["alreadyActive"], false);
    assert_eq!(again["text"], first["text"]);
}

#[test]
fn a_session_that_is_no_file_was_an_internal_error() {
    let session = session();
    put(&session, "pdf", "", "x");
    session.dir("home/work/folder").file("home/work/plain", "");
    let fifo = session.path("home/work/pipe");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    for (file, said) in [
        ("folder", "is not a plain file"),
        (".", "is not a plain file"),
        ("pipe", "is not a plain file"),
        ("/dev/null", "is not a plain file"),
        ("plain/below.json", "does not exist"),
    ] {
        for command in ["skills activate pdf", "skills collapse pdf", "catalog"] {
            let refused = session.grove(&format!("{command} --session {file}"));
            refused.fails(1).says([said, "\nhint: "]);
        }
    }
    for folder in [&session.path("home/work"), Path::new("/dev")] {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| {
            let name = name.to_string_lossy();
            name.contains(".lock") || name.contains(".null")
        });
        assert!(names.is_empty(), "put beside it: {names:?}");
    }
}

#[test]
fn an_expanded_branch_left_no_way_to_its_own_file() {
    let session = session();
    put(&session, "docs", BRANCH, "Keep it short.");
    put_three(&session, "docs");
    let text = session
        .grove("skills expand docs --session talk.json")
        .ok()
        .stdout;
    let way =
        "What holds for all of them is in <location>~/.agents/skills/docs/SKILL.md</location>.\n";
    assert!(text.ends_with(way), "{text}");
}
