//! One test for each fault that was found in activating, expanding and sessions, named for what went wrong.

use std::path::Path;

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished};
use serde_json::Value;

const SKILLS: &str = "home/.agents/skills";

fn empty_home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/bundled").dir("home/work");
    let bundled = home.path("home/bundled");
    home.with_env("GROVE_BUNDLED_DIR", bundled)
}

fn put(home: &TestHome, id: &str, lines: &str, body: &str) {
    let name = id.rsplit('/').next().unwrap();
    let text = format!("---\nname: {name}\n{lines}\n---\n{body}");
    home.file(format!("{SKILLS}/{id}/SKILL.md"), text);
}

fn run(home: &TestHome, arguments: &[&str]) -> Finished {
    home.run("home/work", arguments)
}

fn ok(home: &TestHome, arguments: &[&str]) -> Finished {
    let finished = run(home, arguments);
    let stderr = finished.stderr_text();
    assert_eq!(
        finished.ending,
        Ending::Exited(0),
        "{arguments:?}: {stderr}"
    );
    finished
}

fn json(home: &TestHome, arguments: &[&str]) -> Value {
    serde_json::from_slice(&ok(home, arguments).stdout).unwrap()
}

#[test]
fn one_childs_description_took_a_whole_activation() {
    let home = empty_home();
    put(
        &home,
        "docs",
        "description: Writes.\nmetadata:\n  children: \"*\"",
        "Keep it short.\n",
    );
    let huge = "Long words again. ".repeat(8_333);
    put(&home, "docs/a", &format!("description: {huge}"), "A.\n");
    for n in 0..198 {
        let id = format!("docs/s{n:03}");
        put(&home, &id, &format!("description: Does {n}."), "S.\n");
    }
    let value = json(&home, &["skills", "activate", "docs", "--json", "--all"]);
    assert!(
        value["chars"].as_u64().unwrap() < 33_000,
        "{}",
        value["chars"]
    );
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
    ok(&home, &["skills", "activate", named[0], "--all"]);
}

#[test]
fn a_small_skill_multiplied_its_arguments_without_a_bound() {
    let home = empty_home();
    put(
        &home,
        "echo",
        "description: Echoes.",
        &"$ARGUMENTS\n".repeat(22_000),
    );
    let long = "x".repeat(20_000);
    let finished = run(&home, &["skills", "activate", "/echo", &long]);
    assert_eq!(finished.ending, Ending::Exited(1));
    assert_eq!(finished.stdout_text(), "");
    let location = home.path(SKILLS).join("echo/SKILL.md");
    assert_eq!(
        finished.stderr_text(),
        format!(
            "error: `echo` would have more than 1000000 characters with what it puts in\n\
             hint: give shorter arguments, or put them in a file and give its path\n\
             hint: read {} itself\n",
            location.display()
        )
    );
    ok(&home, &["skills", "activate", "/echo", "short"]);
}

#[test]
fn expanding_a_group_of_two_was_stored_without_effect() {
    let home = empty_home();
    for id in ["g/sub/a", "g/sub/b", "g/c", "g/d"] {
        put(&home, id, "description: Does it.", "x\n");
    }
    let with = |words: &[&'static str]| [words, &["--session", "talk.json", "--json"]].concat();
    let small = json(&home, &with(&["skills", "expand", "g/sub"]));
    assert_eq!(small["children"].as_array().unwrap().len(), 2);
    assert_eq!(small["expanded"], serde_json::json!([]));
    assert_eq!(small["alreadyExpanded"], true);
    let text = small["text"].as_str().unwrap();
    assert!(text.ends_with("nothing has to be remembered.\n"), "{text}");
    let outer = json(&home, &with(&["skills", "expand", "g"]));
    let names: Vec<&str> = outer["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|child| child["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["c", "d", "a", "b"], "no entry is a folder");
    assert_eq!(
        outer["expanded"],
        serde_json::json!(["g/@user:.agents/skills"])
    );
    let plain = ok(&home, &["skills", "expand", "g/sub"]);
    let stderr = plain.stderr_text();
    assert!(!stderr.contains("without --session"), "{stderr}");
}

#[test]
fn a_record_of_use_of_a_later_version_was_overwritten() {
    let home = empty_home();
    put(&home, "pdf", "description: Fills.", "x\n");
    for later in [
        "{\"version\":2,\"skills\":{}}",
        "{\"skills\":[[\"a\",1]],\"more\":true,\"version\":17}",
    ] {
        home.file("state/grove/usage.json", later);
        for session in [&[][..], &["--session", "talk.json"]] {
            let finished = ok(&home, &[&["skills", "activate", "pdf"], session].concat());
            let stderr = finished.stderr_text();
            assert!(stderr.contains("info[usage-newer]"), "{stderr}");
            let kept = std::fs::read_to_string(home.path("state/grove/usage.json")).unwrap();
            assert_eq!(kept, later);
        }
        std::fs::remove_file(home.path("home/work/talk.json")).unwrap();
    }
}

fn group_of_three(home: &TestHome) {
    for name in ["fetch", "crawl", "parse"] {
        put(home, &format!("web/{name}"), "description: Does it.", "x\n");
    }
}

#[test]
fn arguments_for_a_group_were_dropped_without_a_word() {
    let home = empty_home();
    group_of_three(&home);
    let finished = ok(&home, &["skills", "activate", "web/", "extra", "words"]);
    let stderr = finished.stderr_text();
    assert!(stderr.contains("warning[arguments-unused]"), "{stderr}");
    assert!(stderr.contains("`web/` is a group"), "{stderr}");
    let value = json(&home, &["skills", "activate", "web/", "x", "--json"]);
    assert_eq!(value["diagnostics"][0]["code"], "arguments-unused");
    let value = json(&home, &["skills", "activate", "web/", "--json"]);
    assert_eq!(value["diagnostics"], serde_json::json!([]));
}

#[test]
fn arguments_that_a_branch_puts_where_it_is_cut_were_dropped_without_a_word() {
    let home = empty_home();
    let branch = "description: Writes.\nmetadata:\n  children: \"*\"";
    put(&home, "long", branch, &"A line of the body.\n".repeat(200));
    put(&home, "short", branch, "A line of the body.\n");
    for parent in ["long", "short"] {
        for n in 0..3 {
            let id = format!("{parent}/{parent}-{n}");
            put(&home, &id, "description: Does it.", "x\n");
        }
    }
    for (typed, said) in [("long", true), ("short", false)] {
        let finished = ok(&home, &["skills", "activate", typed, "word"]);
        let stderr = finished.stderr_text();
        assert_eq!(stderr.contains("arguments-unused"), said, "{stderr}");
        assert_ne!(finished.stdout_text().contains("ARGUMENTS: word"), said);
    }
}

#[test]
fn a_group_that_is_open_was_told_again() {
    let home = empty_home();
    group_of_three(&home);
    let with = |words: &[&'static str]| {
        [
            &[
                "skills",
                "activate",
                "web",
                "--session",
                "talk.json",
                "--json",
            ],
            words,
        ]
        .concat()
    };
    let first = json(&home, &with(&[]));
    assert_eq!(first["alreadyActive"], false);
    let second = json(&home, &with(&[]));
    assert_eq!(second["alreadyActive"], true);
    assert_eq!(
        second["text"],
        "`web/` is already active: its skills stand in its place in the catalog.\n"
    );
    assert_eq!(second["children"], first["children"]);
    let again = json(&home, &with(&["--again"]));
    assert_eq!(again["alreadyActive"], false);
    assert_eq!(again["text"], first["text"]);
}

#[test]
fn a_session_that_is_no_file_was_an_internal_error() {
    let home = empty_home();
    put(&home, "pdf", "description: Fills.", "x\n");
    home.dir("home/work/folder").file("home/work/plain", "");
    let fifo = home.path("home/work/pipe");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    for (session, said) in [
        ("folder", "is not a plain file"),
        (".", "is not a plain file"),
        ("pipe", "is not a plain file"),
        ("/dev/null", "is not a plain file"),
        ("plain/below.json", "does not exist"),
    ] {
        for command in [
            &["skills", "activate", "pdf"][..],
            &["skills", "collapse", "pdf"],
            &["catalog"],
        ] {
            let finished = run(&home, &[command, &["--session", session]].concat());
            let stderr = finished.stderr_text();
            assert_eq!(finished.ending, Ending::Exited(1), "{session} {stderr}");
            assert!(
                stderr.contains(said) && stderr.contains("\nhint: "),
                "{stderr}"
            );
        }
    }
    for folder in [&home.path("home/work"), Path::new("/dev")] {
        let names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.contains(".lock") || name.contains(".null"))
            .collect();
        assert_eq!(names, Vec::<String>::new(), "nothing is put beside it");
    }
}

#[test]
fn an_expanded_branch_left_no_way_to_its_own_file() {
    let home = empty_home();
    let branch = "description: Writes.\nmetadata:\n  children: \"*\"";
    put(&home, "docs", branch, "Keep it short.\n");
    for name in ["a", "b", "c"] {
        put(
            &home,
            &format!("docs/{name}"),
            "description: Does it.",
            "x\n",
        );
    }
    let expanded = ok(
        &home,
        &["skills", "expand", "docs", "--session", "talk.json"],
    );
    let text = expanded.stdout_text();
    assert!(
        text.ends_with(
            "What holds for all of them is in <location>~/.agents/skills/docs/SKILL.md</location>.\n"
        ),
        "{text}"
    );
}
