//! Agents as `OpenCode` has them: in its settings, with the files that prompts name, and in its folders.

use grove_testkit::session::{Session, rows};
use serde_json::json;

const SETTINGS: &str = "home/.config/opencode/opencode.json";

fn session() -> Session {
    crate::session().without_bundled().with_repository()
}

/// State and findings (code and line) of an agent.
fn judged(session: &Session, name: &str) -> (String, Vec<[String; 2]>) {
    let shown = session.json(["agents", "show", name]);
    let agent = &shown["agent"];
    let state = agent["state"].as_str().unwrap().to_owned();
    (state, rows(&agent["diagnostics"], ["code", "line"]))
}

fn told(session: &Session, name: &str) -> String {
    session.done(["prompt", name]).stdout.trim_end().to_owned()
}

/// Settings with the agent `a`, whose prompt stands in line 3.
fn with_prompt(prompt: &str) -> String {
    let prompt = json!(prompt);
    format!("{{\n\"agent\": {{\"a\": {{\"description\": \"d\",\n\"prompt\": {prompt}}}}}}}")
}

#[test]
fn a_prompt_is_in_the_file_that_it_names_wherever_the_user_keeps_it() {
    for (prompt, expected) in [
        ("{file:./prompts/a.md}", "From a file."),
        ("{file:prompts/a.md}", "From a file."),
        ("{file:../near.md}", "Near."),
        ("{file:~/far.md}", "Far."),
        ("A {file:~/far.md}, {file:../near.md} b", "A Far., Near. b"),
        ("{file:} and {file:", "{file:} and {file:"),
    ] {
        let session = session();
        session
            .file(SETTINGS, with_prompt(prompt))
            .file("home/.config/opencode/prompts/a.md", "\nFrom a file.\n\n")
            .file("home/.config/near.md", "Near.\n")
            .file("home/far.md", "Far.");
        assert_eq!(judged(&session, "a"), ("ok".to_owned(), vec![]), "{prompt}");
        assert_eq!(told(&session, "a"), expected, "{prompt}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_said_where_it_is_named() {
    let long = "{file:./long.md}".repeat(5);
    for prompt in [
        "{file:./absent.md}",
        "{file:.}",
        "{file:./bytes.md}",
        "{file:{env:HOME}/far.md}",
        &long,
    ] {
        let session = session();
        session
            .file(SETTINGS, with_prompt(prompt))
            .file("home/.config/opencode/bytes.md", b"\xff\xfe\x00")
            .file("home/.config/opencode/long.md", "x".repeat(250_000))
            .file("home/far.md", "Far.");
        let (state, findings) = judged(&session, "a");
        assert_eq!(state, "invalid", "{prompt}");
        let is_said = findings.iter().any(|it| it == &["agent-elsewhere", "3"]);
        assert!(is_said, "{prompt} {findings:?}");
    }
}

#[test]
fn a_projects_prompt_names_files_of_the_project_and_waits_for_trust_as_it_was_seen() {
    let session = session();
    session
        .file(
            "project/opencode.json",
            with_prompt("{file:./prompts/a.md}"),
        )
        .file("project/prompts/a.md", "First.");
    assert_eq!(judged(&session, "a").0, "untrusted");
    session.trust();
    assert_eq!(judged(&session, "a").0, "ok");
    assert_eq!(told(&session, "a"), "First.");
    session.file("project/prompts/a.md", "Second.");
    assert_eq!(judged(&session, "a").0, "changed");
    session.refused("prompt a");
}

#[test]
fn a_projects_prompt_reaches_nothing_outside_of_the_project() {
    for written in [
        "../secret.md",
        "./a/../../secret.md",
        "~/secret.md",
        "linked.md",
        "/etc/hostname",
    ] {
        let session = session();
        let prompt = with_prompt(&format!("{{file:{written}}}"));
        session
            .file("project/opencode.json", prompt)
            .file("secret.md", "SECRET")
            .file("home/secret.md", "SECRET")
            .link("project/linked.md", session.path("secret.md"))
            .trust();
        let (state, findings) = judged(&session, "a");
        assert_eq!(state, "invalid", "{written}");
        assert_eq!(findings, [["agent-elsewhere", "3"]], "{written}");
        for words in ["agents list --json", "prompt a", "agents show a"] {
            let said = session.grove(words).to_string();
            assert!(!said.contains("SECRET"), "{written} {said}");
        }
    }
}

#[test]
fn a_variable_stays_as_it_is_written_and_is_said() {
    let session = session().with_env("GROVE_TEST_SECRET", "hidden");
    session.file(
        SETTINGS,
        "{\"agent\": {\"a\": {\"description\": \"d\",\n\"model\": \"{env:MODEL}\",\n\"prompt\": \"Key {env:GROVE_TEST_SECRET}.\"}}}",
    );
    let (state, findings) = judged(&session, "a");
    assert_eq!(state, "ok");
    for line in ["2", "3"] {
        let is_said = findings.iter().any(|it| it == &["agent-variable", line]);
        assert!(is_said, "{findings:?}");
    }
    assert_eq!(told(&session, "a"), "Key {env:GROVE_TEST_SECRET}.");
}

#[test]
fn agents_under_the_older_key_are_read() {
    let session = session();
    session.file(
        SETTINGS,
        "{\"mode\": {\"old\": {\"prompt\": \"Old.\"}, \"both\": {\"prompt\": \"Stronger.\"}},\n\
         \"agent\": {\"both\": {\"description\": \"Kept.\", \"prompt\": \"Weaker.\"}}}",
    );
    assert_eq!(told(&session, "old"), "Old.");
    assert_eq!(told(&session, "both"), "Stronger.");
    let shown = session.json("agents show both");
    assert_eq!(shown["agent"]["description"], "Kept.");
    session.file(
        SETTINGS,
        "{\n\"mode\": [],\n\"agent\": {\"a\": {\"prompt\": \"A.\"}}}",
    );
    assert_eq!(told(&session, "a"), "A.");
    let text = session.json("agents list").to_string();
    assert!(text.contains("`mode` is a list, not an object"), "{text}");
}

#[test]
fn opencode_calls_a_file_by_its_path_and_needs_no_frontmatter() {
    let session = session();
    let folder = "project/.opencode";
    let named = "---\nname: own\ndescription: d\n---\nx\n";
    for (file, text) in [
        ("agents/nested/deep/o7.md", "---\ndescription: d\n---\nx\n"),
        ("agents/nested/named.md", named),
        ("agent/bare.md", "Only text.\n"),
        ("agents/nested/bare.md", "Only text.\n"),
    ] {
        session.file(format!("{folder}/{file}"), text);
    }
    session.trust();
    let listed = session.json("agents list --host opencode");
    let mut found = rows(&listed["agents"], ["name", "state"]);
    found.sort();
    let expected = ["bare", "nested/bare", "nested/deep/o7", "own"];
    assert_eq!(found, expected.map(|name| [name, "ok"]));
    // Grove's own names have no paths, and text without frontmatter is a note.
    let listed = session.json("agents list");
    let mut own = rows(&listed["agents"], ["name", "source"]);
    own.retain(|[_, source]| source == "project");
    own.sort();
    assert_eq!(own, ["o7", "own"].map(|name| [name, "project"]));
}
