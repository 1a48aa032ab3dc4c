//! Agents as `OpenCode` has them: in its settings, with the files that prompts name, and in its folders.

use std::collections::BTreeMap;

use grove_testkit::home::TestHome;
use serde_json::{Value, json};

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/bundled").dir("project/.git");
    let bundled = home.path("home/bundled");
    home.with_env("GROVE_BUNDLED_DIR", bundled)
}

fn json_of(home: &TestHome, arguments: &[&str]) -> Value {
    let finished = home.run("project", arguments);
    serde_json::from_slice(&finished.stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {}{}",
            finished.stdout_text(),
            finished.stderr_text()
        )
    })
}

/// State and findings (code and line) of an agent.
fn judged(home: &TestHome, name: &str) -> (String, Vec<(String, u64)>) {
    let shown = json_of(home, &["agents", "show", name, "--json"]);
    let agent = &shown["agent"];
    let findings = agent["diagnostics"].as_array().unwrap().iter();
    let said = findings.map(|it| {
        (
            it["code"].as_str().unwrap().to_owned(),
            it["line"].as_u64().unwrap_or_default(),
        )
    });
    (agent["state"].as_str().unwrap().to_owned(), said.collect())
}

fn told(home: &TestHome, name: &str) -> String {
    let finished = home.run("project", ["prompt", name]);
    let finished = finished.require_success("prompt").unwrap();
    finished.stdout_text()
}

fn with_prompt(prompt: &str) -> String {
    format!(
        "{{\n\"agent\": {{\"a\": {{\"description\": \"d\",\n\"prompt\": {}}}}}}}",
        json!(prompt)
    )
}

fn trust(home: &TestHome) {
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
}

#[test]
fn a_prompt_is_in_the_file_that_it_names_wherever_the_user_keeps_it() {
    for (prompt, expected) in [
        ("{file:./prompts/a.md}", "From a file."),
        ("{file:prompts/a.md}", "From a file."),
        ("{file:../near.md}", "Near."),
        ("{file:~/far.md}", "Far."),
        (
            "Before {file:~/far.md} and {file:./prompts/a.md} after",
            "Before Far. and From a file. after",
        ),
        ("{file:} and {file:", "{file:} and {file:"),
    ] {
        let home = home();
        home.file("home/.config/opencode/opencode.json", with_prompt(prompt));
        home.file("home/.config/opencode/prompts/a.md", "\nFrom a file.\n\n");
        home.file("home/.config/near.md", "Near.\n");
        home.file("home/far.md", "Far.");
        let (state, findings) = judged(&home, "a");
        assert_eq!((state.as_str(), findings), ("ok", vec![]), "{prompt}");
        assert_eq!(told(&home, "a").trim_end(), expected, "{prompt}");
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
        let home = home();
        home.file("home/.config/opencode/opencode.json", with_prompt(prompt));
        home.file(
            "home/.config/opencode/bytes.md",
            [0xff, 0xfe, 0x00].as_slice(),
        );
        home.file("home/.config/opencode/long.md", "x".repeat(250_000));
        home.file("home/far.md", "Far.");
        let (state, findings) = judged(&home, "a");
        assert_eq!(state, "invalid", "{prompt}");
        let elsewhere = ("agent-elsewhere".to_owned(), 3);
        assert!(findings.contains(&elsewhere), "{prompt} {findings:?}");
    }
}

#[test]
fn a_projects_prompt_names_files_of_the_project_and_waits_for_trust_as_it_was_seen() {
    let home = home();
    home.file(
        "project/opencode.json",
        with_prompt("{file:./prompts/a.md}"),
    );
    home.file("project/prompts/a.md", "First.");
    assert_eq!(judged(&home, "a").0, "untrusted");
    trust(&home);
    assert_eq!(judged(&home, "a").0, "ok");
    assert_eq!(told(&home, "a").trim_end(), "First.");
    home.file("project/prompts/a.md", "Second.");
    assert_eq!(judged(&home, "a").0, "changed");
    let refused = home.run("project", ["prompt", "a"]);
    assert!(!refused.success() && !refused.stdout_text().contains("Second."));
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
        let home = home();
        home.file(
            "project/opencode.json",
            with_prompt(&format!("{{file:{written}}}")),
        );
        for secret in ["secret.md", "home/secret.md"] {
            home.file(secret, "SECRET");
        }
        home.link("project/linked.md", home.path("secret.md"));
        trust(&home);
        let (state, findings) = judged(&home, "a");
        assert_eq!(state, "invalid", "{written}");
        assert_eq!(findings, [("agent-elsewhere".to_owned(), 3)], "{written}");
        for arguments in [
            &["agents", "list", "--json"][..],
            &["prompt", "a"],
            &["agents", "show", "a"],
        ] {
            let finished = home.run("project", arguments);
            let said = format!("{}{}", finished.stdout_text(), finished.stderr_text());
            assert!(!said.contains("SECRET"), "{written} {said}");
        }
    }
}

#[test]
fn a_variable_stays_as_it_is_written_and_is_said() {
    let home = home().with_env("GROVE_TEST_SECRET", "hidden");
    home.file(
        "home/.config/opencode/opencode.json",
        "{\"agent\": {\"a\": {\"description\": \"d\",\n\"model\": \"{env:MODEL}\",\n\"prompt\": \"Key {env:GROVE_TEST_SECRET}.\"}}}",
    );
    let (state, findings) = judged(&home, "a");
    assert_eq!(state, "ok");
    let variable = |line: u64| ("agent-variable".to_owned(), line);
    assert!(
        findings.contains(&variable(2)) && findings.contains(&variable(3)),
        "{findings:?}"
    );
    assert_eq!(told(&home, "a").trim_end(), "Key {env:GROVE_TEST_SECRET}.");
}

#[test]
fn agents_under_the_older_key_are_read() {
    let home = home();
    home.file(
        "home/.config/opencode/opencode.json",
        "{\"mode\": {\"old\": {\"prompt\": \"Old.\"}, \"both\": {\"prompt\": \"Stronger.\"}},\n\
         \"agent\": {\"both\": {\"description\": \"Kept.\", \"prompt\": \"Weaker.\"}}}",
    );
    assert_eq!(told(&home, "old").trim_end(), "Old.");
    assert_eq!(told(&home, "both").trim_end(), "Stronger.");
    let shown = json_of(&home, &["agents", "show", "both", "--json"]);
    assert_eq!(shown["agent"]["description"], "Kept.");
    home.file(
        "home/.config/opencode/opencode.json",
        "{\n\"mode\": [],\n\"agent\": {\"a\": {\"prompt\": \"A.\"}}}",
    );
    assert_eq!(told(&home, "a").trim_end(), "A.");
    let listed = json_of(&home, &["agents", "list", "--json"]);
    let text = listed.to_string();
    assert!(text.contains("`mode` is a list, not an object"), "{text}");
}

#[test]
fn opencode_calls_a_file_by_its_path_and_needs_no_frontmatter() {
    let home = home();
    home.file(
        "project/.opencode/agents/nested/deep/o7.md",
        "---\ndescription: d\n---\nx\n",
    );
    home.file(
        "project/.opencode/agents/nested/named.md",
        "---\nname: own\ndescription: d\n---\nx\n",
    );
    home.file("project/.opencode/agent/bare.md", "Only text.\n");
    home.file("project/.opencode/agents/nested/bare.md", "Only text.\n");
    trust(&home);
    let names = |arguments: &[&str]| -> BTreeMap<String, String> {
        let listed = json_of(&home, arguments);
        let agents = listed["agents"].as_array().unwrap().iter();
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        agents
            .map(|it| (word(&it["name"]), word(&it["state"])))
            .collect()
    };
    let ok = |names: &[&str]| -> BTreeMap<String, String> {
        names
            .iter()
            .map(|name| ((*name).to_owned(), "ok".to_owned()))
            .collect()
    };
    assert_eq!(
        names(&["agents", "list", "--host", "opencode", "--json"]),
        ok(&["nested/deep/o7", "own", "bare", "nested/bare"])
    );
    // Grove's own names have no paths, and text without frontmatter is a note.
    let own = names(&["agents", "list", "--json"]);
    assert!(own.contains_key("o7") && own.contains_key("own"), "{own:?}");
    for foreign in ["nested/deep/o7", "bare", "nested/bare"] {
        assert!(!own.contains_key(foreign), "{own:?}");
    }
}
