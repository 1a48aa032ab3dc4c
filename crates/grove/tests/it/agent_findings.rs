//! What is said of files and settings of agents that cannot be used as they are written.

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished};
use grove_testkit::shared;
use serde_json::{Value, json};

const SETTINGS: &str = "home/.pi/agent/settings.json";

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/bundled").dir("project/.git");
    let bundled = home.path("home/bundled");
    home.with_env("GROVE_BUNDLED_DIR", bundled)
}

fn agent(lines: &str) -> String {
    format!("---\nname: me\ndescription: Does.\n{lines}---\n\nOWN-BODY\n")
}

fn run(home: &TestHome, arguments: &[&str]) -> Finished {
    let finished = home.run("project", arguments);
    let said = format!("{}{}", finished.stdout_text(), finished.stderr_text());
    assert!(
        matches!(finished.ending, Ending::Exited(0)),
        "{arguments:?}: {said}"
    );
    finished
}

fn json_of(home: &TestHome, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str(&run(home, &arguments).stdout_text()).unwrap()
}

/// Code, severity, file name and line of each finding.
fn findings(list: &Value) -> Vec<(String, String, String, u64)> {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let list = list.as_array().unwrap().iter();
    let mut all: Vec<_> = list
        .map(|it| {
            let file = text(&it["file"]);
            let name = file.rsplit('/').next().unwrap_or_default().to_owned();
            let line = it["line"].as_u64().unwrap_or(0);
            (text(&it["code"]), text(&it["severity"]), name, line)
        })
        .collect();
    all.sort();
    all
}

/// The names of all agents that did not come with Grove.
fn names(listed: &Value) -> Vec<&str> {
    let agents = listed["agents"].as_array().unwrap().iter();
    let others = agents.filter(|agent| agent["source"] != "bundled");
    let mut names: Vec<&str> = others
        .map(|agent| agent["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    names
}

fn finding(code: &str, severity: &str, file: &str, line: u64) -> (String, String, String, u64) {
    (code.into(), severity.into(), file.into(), line)
}

#[test]
fn a_file_among_agents_that_is_none_is_never_dropped_without_a_word() {
    for folder in ["home/.grove/agents", "home/.claude/agents"] {
        let home = home();
        for (name, text) in [
            ("README.md", "# Agents\n\nOurs.\n"),
            ("blank.md", "\n---\nname: blank\ndescription: d\n---\nB\n"),
            ("dashes.md", "----\nname: dashes\ndescription: d\n----\nB\n"),
            ("empty.md", ""),
            ("open.md", "name: open\ndescription: d\n---\nB\n"),
            ("unclosed.md", "---\nname: unclosed\ndescription: hello\nB"),
        ] {
            home.file(format!("{folder}/{name}"), text);
        }
        home.file(format!("{folder}/me.md"), agent(""));
        let listed = json_of(&home, &["agents", "list"]);
        assert_eq!(names(&listed), ["me"]);
        assert_eq!(
            findings(&listed["diagnostics"]),
            [
                finding("agent-note", "info", "README.md", 0),
                finding("empty-file", "warning", "empty.md", 1),
                finding("frontmatter-misplaced", "warning", "blank.md", 2),
                finding("frontmatter-misplaced", "warning", "dashes.md", 1),
                finding("frontmatter-misplaced", "warning", "open.md", 1),
                finding("frontmatter-unclosed", "warning", "unclosed.md", 1),
            ],
            "{folder}"
        );
        let told = run(&home, &["agents", "list"]).stderr_text();
        assert!(told.contains("taken for notes: ~/"), "{told}");
        let doctor = run(&home, &["doctor"]).stdout_text();
        assert!(
            doctor.contains("agents: 5 findings need attention: run `grove agents list`"),
            "{doctor}"
        );
    }
}

#[test]
fn notes_beside_agents_are_no_reason_to_complain() {
    let home = home();
    let real = shared::real_corpus().unwrap().join("anthropics");
    let mut found = 0;
    let mut folders = vec![real];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if folder.ends_with("skill-creator/agents") {
                let name = path.file_name().unwrap().to_str().unwrap();
                home.file(
                    format!("home/.claude/agents/{found}-{name}"),
                    std::fs::read(&path).unwrap(),
                );
                found += 1;
            }
        }
    }
    assert!(found >= 3, "the real notes are not there");
    let listed = json_of(&home, &["agents", "list"]);
    let said = findings(&listed["diagnostics"]);
    assert_eq!(said.len(), found);
    for (code, severity, ..) in said {
        assert_eq!((code.as_str(), severity.as_str()), ("agent-note", "info"));
    }
    let doctor = run(&home, &["doctor"]).stdout_text();
    assert!(doctor.contains("nothing needs attention"), "{doctor}");
}

#[test]
fn notes_in_the_folder_that_hosts_share_are_not_mentioned() {
    let home = home();
    home.file("home/.agents/README.md", "# Ours\n");
    home.file("home/.agents/open.md", "---\nname: x\n");
    home.file("home/.agents/me.md", agent(""));
    let listed = json_of(&home, &["agents", "list"]);
    assert_eq!(names(&listed), ["me"]);
    assert_eq!(listed["diagnostics"], json!([]));
}

#[test]
fn an_override_that_is_not_used_is_said_wherever_its_agent_is_asked_for() {
    let home = home();
    home.file("home/.claude/agents/me.md", agent(""));
    home.file("home/.claude/agents/you.md", agent("").replace("me", "you"));
    home.file(
        SETTINGS,
        "{\"subagents\":{\"agentOverrides\":{\"me\":{\n\"skills\":\"protocol\",\n\"tools\":3,\n\"skillInjection\":\"weird\"}}}}",
    );
    let expected: Vec<_> = (2..=4)
        .map(|line| finding("override-value", "warning", "settings.json", line))
        .collect();
    let prompt = json_of(&home, &["prompt", "me"]);
    assert_eq!(findings(&prompt["warnings"]), expected);
    let told = run(&home, &["prompt", "me"]).stderr_text();
    assert!(told.contains("agentOverrides.me.tools"), "{told}");
    let shown = json_of(&home, &["agents", "show", "me"]);
    assert_eq!(findings(&shown["agent"]["diagnostics"]), expected);
    let shown = run(&home, &["agents", "show", "me"]).stdout_text();
    assert!(shown.contains("agentOverrides.me.skills"), "{shown}");
    let other = json_of(&home, &["prompt", "you"]);
    assert_eq!(other["warnings"], json!([]), "it is not about this one");
    let doctor = run(&home, &["doctor"]).stdout_text();
    assert!(
        doctor.contains("agents: 3 findings need attention: run `grove agents list`"),
        "{doctor}"
    );
    assert!(!doctor.contains("nothing needs attention"), "{doctor}");
}

#[test]
fn an_override_in_the_configuration_that_is_not_used_is_said_with_its_agent() {
    let home = home();
    home.file("home/.claude/agents/me.md", agent(""));
    home.file(
        "config/grove/config.toml",
        "[agents.overrides.me]\ntools = 3\n[agents.overrides.you]\ntools = 3\n",
    );
    let prompt = json_of(&home, &["prompt", "me"]);
    assert_eq!(
        findings(&prompt["warnings"]),
        [finding("config-value", "warning", "config.toml", 2)]
    );
}

#[test]
fn settings_that_cannot_be_read_are_said_with_every_agent() {
    let home = home();
    home.file("home/.claude/agents/me.md", agent(""));
    for text in ["{", "[]"] {
        home.file(SETTINGS, text);
        let prompt = json_of(&home, &["prompt", "me"]);
        let said = findings(&prompt["warnings"]);
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0].2, "settings.json");
        let doctor = json_of(&home, &["doctor"]);
        let others = &doctor["otherFindings"];
        let count = |key: &str| others[key].as_u64().unwrap();
        let skills = doctor["findings"].as_u64().unwrap();
        assert_eq!(
            count("agents") + count("packages") + count("chains") + skills,
            1,
            "one file is one finding: {doctor}"
        );
        let doctor = run(&home, &["doctor"]).stdout_text();
        assert!(!doctor.contains("nothing needs attention"), "{doctor}");
    }
}

#[test]
fn a_doctor_names_the_agents_and_chains_whose_files_have_findings() {
    let home = home();
    home.file(
        "home/.claude/agents/me.md",
        agent("skillInjection: weird\n"),
    );
    home.file("home/.pi/agent/agents/c.chain.md", "---\nname: c\n---\n");
    let doctor = run(&home, &["doctor"]).stdout_text();
    assert!(
        doctor.contains("`grove agents show` for me@user:"),
        "{doctor}"
    );
    let counts = json_of(&home, &["doctor"])["otherFindings"].clone();
    assert_eq!(counts["agents"], 1);
    let chains = json_of(&home, &["chains", "list"]);
    assert_eq!(
        chains["chains"].as_array().unwrap().len(),
        1,
        "the chain is where chains are"
    );
    // Neither a description nor a step.
    assert_eq!(counts["chains"], 2);
    let told = "chains: 2 findings need attention: run `grove chains check`";
    assert!(doctor.contains(told), "{doctor}");
}

#[test]
fn no_tools_are_told_from_the_usual_ones() {
    for (lines, settings, field, expected) in [
        ("", "{}", "tools", None),
        ("tools: []\n", "{}", "tools", Some(json!([]))),
        ("tools: \"\"\n", "{}", "tools", Some(json!([]))),
        ("tools: read\n", "{}", "tools", Some(json!(["read"]))),
        ("tools: read\n", "{\"tools\": false}", "tools", None),
        ("tools: read\n", "{\"tools\": []}", "tools", Some(json!([]))),
        ("", "{}", "extensions", None),
        ("extensions:\n", "{}", "extensions", Some(json!([]))),
        ("extensions: []\n", "{}", "extensions", Some(json!([]))),
        ("extensions: \"\"\n", "{}", "extensions", Some(json!([]))),
        ("extensions: a\n", "{}", "extensions", Some(json!(["a"]))),
    ] {
        let home = home();
        home.file("home/.grove/agents/me.md", agent(lines));
        let settings = format!("{{\"subagents\":{{\"agentOverrides\":{{\"me\":{settings}}}}}}}");
        home.file(SETTINGS, &settings);
        let shown = json_of(&home, &["agents", "show", "me"]);
        let case = format!("{lines} {settings}");
        assert_eq!(shown["fields"].get(field), expected.as_ref(), "{case}");
        let text = run(&home, &["agents", "show", "me"]).stdout_text();
        let row = text.lines().find(|line| line.starts_with(field));
        let is_none = row.is_some_and(|row| row.split_whitespace().nth(1) == Some("none"));
        assert_eq!(is_none, expected == Some(json!([])), "{case}: {row:?}");
        if settings.contains("false") {
            assert!(row.unwrap().contains("as usual"), "{row:?}");
        }
    }
}

#[test]
fn a_skill_beyond_the_limit_is_there_for_prompts_as_for_activation() {
    let home = home();
    home.file(
        "config/grove/config.toml",
        "[limits]\ncandidates_per_root = 1\n",
    );
    for name in ["one", "two"] {
        let text = format!("---\nname: {name}\ndescription: d\n---\nBODY\n");
        home.file(format!("home/.agents/skills/{name}/SKILL.md"), text);
    }
    home.file("home/.claude/agents/me.md", agent("skills: two\n"));
    let activated = home.run("project", ["skills", "activate", "two"]);
    let activated = activated.stderr_text();
    let told = run(&home, &["prompt", "me"]).stderr_text();
    for said in [
        "`two` is there and was not read: its root has more skills than are read",
        "look with --all, or raise `limits.candidates_per_root`",
    ] {
        assert!(activated.contains(said), "{activated}");
        assert!(told.contains(said), "{told}");
    }
    let all = run(&home, &["prompt", "me", "--all"]);
    assert!(all.stdout_text().contains("BODY"), "the advice helps");
}

#[test]
fn a_warning_about_a_skill_names_the_file_that_names_the_skill() {
    let home = home();
    home.file("home/.grove/agents/me.md", agent("skills: nope\n"));
    for (overrides, file) in [
        ("{\"systemPrompt\": \"Other.\"}", "me.md"),
        (
            "{\"systemPrompt\": \"Other.\", \"skills\": [\"nope\"]}",
            "settings.json",
        ),
        ("{\"skills\": [\"nope\"]}", "settings.json"),
    ] {
        let settings = format!("{{\"subagents\":{{\"agentOverrides\":{{\"me\":{overrides}}}}}}}");
        home.file(SETTINGS, settings);
        let prompt = json_of(&home, &["prompt", "me"]);
        let warnings = findings(&prompt["warnings"]);
        let files: Vec<&str> = warnings.iter().map(|it| it.2.as_str()).collect();
        assert_eq!(files, [file], "{overrides}");
    }
}

#[test]
fn packages_of_a_project_are_not_the_users() {
    let home = home();
    for (folder, name) in [
        ("project/.pi/npm/node_modules/theirs", "theirs"),
        ("home/.pi/agent/npm/node_modules/mine", "mine"),
        ("project", "root"),
    ] {
        home.file(
            format!("{folder}/package.json"),
            format!("{{\"name\":\"{name}\",\"pi-subagents\":{{\"agents\":[\"./given\"]}}}}"),
        );
        home.file(
            format!("{folder}/given/{name}.md"),
            agent("").replace("me\n", &format!("{name}\n")),
        );
    }
    run(&home, &["trust"]);
    for (scope, expected) in [
        ("user", vec!["mine"]),
        ("project", vec!["mine", "root", "theirs"]),
        ("both", vec!["mine", "root", "theirs"]),
    ] {
        let listed = json_of(&home, &["agents", "list", "--scope", scope]);
        assert_eq!(names(&listed), expected, "{scope}: {listed}");
    }
}
