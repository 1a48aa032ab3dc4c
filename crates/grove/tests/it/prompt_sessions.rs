//! Whole sessions of `grove prompt` with what an agent inherits: the prompt of whoever runs it, a project's
//! instructions, the catalog, folders of its own.

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished};
use serde_json::Value;

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/bundled")
        .dir("project/.git")
        .dir("project/sub/deep");
    let bundled = home.path("home/bundled");
    home.with_env("GROVE_BUNDLED_DIR", bundled)
}

fn put_agent(home: &TestHome, name: &str, lines: &str) {
    let text = format!("---\nname: {name}\ndescription: d\n{lines}---\nOWN\n");
    home.file(format!("home/.claude/agents/{name}.md"), text);
}

fn put_skill(home: &TestHome, folder: &str, name: &str, body: &str) {
    let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n");
    home.file(format!("{folder}/{name}/SKILL.md"), text);
}

fn prompt(home: &TestHome, folder: &str, words: &[&str]) -> Finished {
    let finished = home.run(folder, [&["prompt"], words].concat());
    assert_eq!(
        finished.ending,
        Ending::Exited(0),
        "{}",
        finished.stderr_text()
    );
    finished
}

fn json(home: &TestHome, folder: &str, words: &[&str]) -> Value {
    let printed = prompt(home, folder, &[words, &["--json"]].concat());
    serde_json::from_str(&printed.stdout_text()).unwrap_or_else(|error| panic!("{error}"))
}

fn codes(value: &Value) -> Vec<&str> {
    let warnings = value["warnings"].as_array().unwrap().iter();
    warnings
        .filter_map(|warning| warning["code"].as_str())
        .collect()
}

fn kinds(value: &Value) -> Vec<&str> {
    let blocks = value["blocks"].as_array().unwrap().iter();
    blocks.filter_map(|block| block["kind"].as_str()).collect()
}

#[test]
fn the_base_prompt_stands_first_or_is_left_out_and_both_are_said() {
    let home = home();
    put_agent(&home, "after", "systemPromptMode: append\n");
    put_agent(&home, "instead", "");
    home.file("project/base.md", "LEAD\n");
    for (agent, words, text, mode, base) in [
        (
            "after",
            &["--base", "base.md"][..],
            "LEAD\n\nOWN\n",
            "append",
            "first",
        ),
        ("after", &[], "OWN\n", "append", "absent"),
        (
            "instead",
            &["--base", "base.md"],
            "OWN\n",
            "replace",
            "replaced",
        ),
        ("instead", &[], "OWN\n", "replace", "absent"),
    ] {
        let words = [&[agent], words].concat();
        let printed = prompt(&home, "project", &words);
        assert_eq!(printed.stdout_text(), text, "{words:?}");
        let value = json(&home, "project", &words);
        assert_eq!(
            (&value["mode"], &value["base"]),
            (&mode.into(), &base.into()),
            "{words:?}"
        );
        let said = codes(&value);
        let expected: &[&str] = match (mode, base) {
            ("append", "absent") => &["prompt-partial"],
            (_, "replaced") => &["prompt-base"],
            _ => &[],
        };
        assert_eq!(said, expected, "{words:?}");
        let explained = prompt(&home, "project", &[&words[..], &["--explain"]].concat());
        assert!(
            explained.stderr_text().contains(&format!("mode {mode}:")),
            "{words:?}"
        );
    }
    let value = json(&home, "project", &["after", "--base", "base.md"]);
    assert_eq!(kinds(&value), ["base", "agent"]);
    let bytes = std::fs::read(home.path("project/base.md")).unwrap();
    let digest = grove_catalog::Digest::of(&bytes).to_string();
    assert_eq!(value["blocks"][0]["digest"], digest);
    assert_eq!(
        value["blocks"][0]["source"],
        home.path("project/base.md").to_str().unwrap()
    );
}

#[test]
fn the_base_prompt_may_come_from_standard_input_and_must_be_text() {
    let home = home();
    put_agent(&home, "after", "systemPromptMode: append\n");
    home.file("project/bytes", b"\xff\xfe");
    home.file("project/lead", "LEAD\n");
    let mut command = home.command("project");
    command.args(["prompt", "after", "--base", "-", "--json"]);
    command.stdin(std::fs::File::open(home.path("project/lead")).unwrap());
    let output = command.output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["prompt"], "LEAD\n\nOWN\n");
    assert_eq!(value["blocks"][0]["source"], Value::Null);
    for file in ["bytes", "nowhere"] {
        let refused = home.run("project", ["prompt", "after", "--base", file]);
        assert_ne!(refused.ending, Ending::Exited(0), "{file}");
        assert_eq!(refused.stdout_text(), "", "{file}");
    }
}

#[test]
fn a_projects_instructions_are_inherited_nearest_first_when_it_is_trusted() {
    let home = home();
    put_agent(&home, "heir", "inheritProjectContext: true\n");
    put_agent(&home, "alone", "");
    home.file("project/AGENTS.md", "OUTER\n")
        .file("project/sub/CLAUDE.md", "MIDDLE\n")
        .file("project/sub/deep/AGENTS.md", "INNER\n")
        .file("AGENTS.md", "ABOVE THE REPOSITORY\n")
        .file("project/other/AGENTS.md", "ASIDE\n");
    let deep = "project/sub/deep";

    let untrusted = json(&home, deep, &["heir"]);
    assert_eq!(untrusted["prompt"], "OWN\n");
    assert_eq!(codes(&untrusted), ["instructions-untrusted"; 3]);
    assert_eq!(codes(&json(&home, deep, &["alone"])), [""; 0]);

    home.run("project", ["trust", "--yes"]);
    let value = json(&home, deep, &["heir"]);
    let text = value["prompt"].as_str().unwrap();
    let places: Vec<_> = ["OWN", "INNER", "MIDDLE", "OUTER"]
        .iter()
        .map(|word| text.find(word))
        .collect();
    assert!(places.is_sorted() && places[0].is_some(), "{text}");
    assert!(!text.contains("ABOVE") && !text.contains("ASIDE"), "{text}");
    assert_eq!(
        kinds(&value),
        ["agent", "instructions", "instructions", "instructions"]
    );
    let source = value["blocks"][2]["source"].as_str().unwrap();
    assert!(source.ends_with("project/sub/CLAUDE.md"), "{source}");
    let digest = grove_catalog::Digest::of(b"MIDDLE\n").to_string();
    assert_eq!(value["blocks"][2]["digest"], digest);
    assert_eq!(prompt(&home, deep, &["alone"]).stdout_text(), "OWN\n");

    home.file("project/AGENTS.md", "OUTER, CHANGED\n");
    let changed = json(&home, deep, &["heir"]);
    assert!(!changed["prompt"].as_str().unwrap().contains("CHANGED"));
    assert_eq!(codes(&changed), ["instructions-untrusted"]);
    home.run("project", ["trust", "--yes"]);
    let seen = json(&home, deep, &["heir"]);
    assert!(seen["prompt"].as_str().unwrap().contains("CHANGED"));
}

#[test]
fn of_two_files_in_a_folder_agents_md_counts_and_the_other_is_named() {
    let home = home();
    put_agent(&home, "heir", "inheritProjectContext: true\n");
    home.file("project/AGENTS.md", "OPEN\n");
    home.run("project", ["trust", "--yes", "--follow"]);
    for (other, said) in [
        ("CLAUDE\n", &["instructions-second"][..]),
        ("@AGENTS.md\n", &[]),
        ("OPEN\n", &[]),
    ] {
        home.file("project/CLAUDE.md", other);
        let value = json(&home, "project", &["heir"]);
        let text = value["prompt"].as_str().unwrap();
        assert!(
            text.contains("OPEN") && !text.contains("CLAUDE\n"),
            "{text}"
        );
        assert_eq!(
            (kinds(&value).len(), codes(&value)),
            (2, said.to_vec()),
            "{other}"
        );
    }
}

#[test]
fn instructions_do_not_lead_out_of_a_project() {
    let home = home();
    put_agent(&home, "heir", "inheritProjectContext: true\n");
    home.file("secret.md", "SECRET\n")
        .link("project/AGENTS.md", "../secret.md")
        .file("project/sub/RULES.md", "RULES\n")
        .link("project/sub/AGENTS.md", "RULES.md")
        .file("project/sub/deep/AGENTS.md", b"\xff\xfe");
    home.run("project", ["trust", "--yes", "--follow"]);
    let value = json(&home, "project/sub/deep", &["heir"]);
    let text = value["prompt"].as_str().unwrap();
    assert!(!text.contains("SECRET"), "{text}");
    assert!(
        text.contains("RULES"),
        "a link inside the project is followed: {text}"
    );
    assert_eq!(codes(&value), ["instructions-unread"; 2]);
}

#[test]
fn instructions_over_their_limit_are_left_out_whole() {
    let home = home();
    put_agent(&home, "heir", "inheritProjectContext: true\n");
    home.file(
        "config/grove/config.toml",
        "[limits]\ninstruction_chars = 300\n",
    )
    .file("project/AGENTS.md", "OUTER\n")
    .file("project/sub/AGENTS.md", "x".repeat(400));
    home.run("project", ["trust", "--yes"]);
    let value = json(&home, "project/sub", &["heir"]);
    let text = value["prompt"].as_str().unwrap();
    assert!(text.contains("OUTER") && !text.contains("xx"), "{text}");
    assert_eq!(codes(&value), ["instructions-budget"]);
}

#[test]
fn the_configuration_bounds_preloads_and_the_flag_goes_before_it() {
    let home = home();
    put_skill(&home, "home/.agents/skills", "big", &"x".repeat(3_000));
    put_agent(&home, "me", "skills: big\n");
    let has_it = |words: &[&str]| {
        prompt(&home, "project", words)
            .stdout_text()
            .contains("xxx")
    };
    assert!(has_it(&["me"]));
    home.file(
        "config/grove/config.toml",
        "[limits]\npreload_chars = 1000\n",
    );
    assert!(!has_it(&["me"]));
    let said = prompt(&home, "project", &["me"]).stderr_text();
    assert!(
        said.contains("preload-budget") && said.contains("1000 of 1000"),
        "{said}"
    );
    assert!(has_it(&["me", "--budget", "5000"]));
}

#[test]
fn named_skills_are_not_in_the_inherited_catalog_listed_or_whole() {
    let home = home();
    for name in ["first", "second"] {
        put_skill(&home, "home/.agents/skills", name, "BODY");
    }
    put_skill(&home, "home/.agents/skills", "big", &"x".repeat(3_000));
    put_agent(
        &home,
        "light",
        "skills: first\nskillInjection: light\ninheritSkills: true\n",
    );
    let value = json(&home, "project", &["light"]);
    assert_eq!(kinds(&value), ["agent", "listing", "catalog"]);
    let of = |at: usize, name: &str| {
        let text = value["blocks"][at]["text"].as_str().unwrap();
        text.contains(&format!("<name>{name}</name>"))
    };
    assert!(of(1, "first") && !of(1, "second"));
    assert!(!of(2, "first") && of(2, "second"));
    assert_eq!(
        value["listed"],
        serde_json::json!(["first@user:.agents/skills"])
    );

    // What did not fit can still be found.
    put_agent(&home, "full", "skills: first, big\ninheritSkills: true\n");
    let value = json(&home, "project", &["full", "--budget", "1000"]);
    let catalog = value["blocks"][2]["text"].as_str().unwrap();
    assert!(catalog.contains("<name>big</name>") && !catalog.contains("<name>first</name>"));
}

#[test]
fn an_agents_own_skill_folders_come_first_and_those_of_a_project_are_not_looked_in() {
    let home = home();
    put_skill(&home, "home/.agents/skills", "same", "USUAL");
    put_skill(&home, "home/.claude/agents/mine", "same", "FROM-THE-AGENT");
    put_skill(&home, "home/more", "other", "FROM-HOME");
    put_agent(
        &home,
        "me",
        "skills: same, other\nskillPath: ./mine, ~/more, ./nowhere\n",
    );
    let value = json(&home, "project", &["me"]);
    let text = value["prompt"].as_str().unwrap();
    assert!(
        text.contains("FROM-THE-AGENT") && text.contains("FROM-HOME"),
        "{text}"
    );
    assert!(!text.contains("USUAL"), "{text}");
    assert_eq!(codes(&value), ["skill-path-unused"]);

    put_skill(&home, "project/.pi/agents/mine", "planted", "PLANTED");
    home.file(
        "project/.pi/agents/it.md",
        "---\nname: it\ndescription: d\nskills: planted\nskillPath: ./mine\n---\nIT\n",
    );
    home.run("project", ["trust", "--yes"]);
    let value = json(&home, "project", &["it"]);
    assert_eq!(value["prompt"], "IT\n");
    assert_eq!(codes(&value), ["preload-unknown", "skill-path-unused"]);
}

#[test]
fn an_agents_own_package_is_looked_in_first_for_its_skills() {
    let home = home();
    put_skill(&home, "home/.agents/skills", "same", "USUAL");
    put_skill(&home, "home/.agents/skills", "usual", "ONLY-USUAL");
    for name in ["first", "second"] {
        let folder = format!("home/.pi/agent/npm/node_modules/{name}");
        let manifest = serde_json::json!({"name": name, "grove": {"agents": ["agents"], "skills": ["skills"]}});
        home.file(format!("{folder}/package.json"), manifest.to_string());
        put_skill(
            &home,
            &format!("{folder}/skills"),
            "same",
            &format!("OF-{name}"),
        );
        let agent =
            format!("---\nname: of-{name}\ndescription: d\nskills: same, usual\n---\nOWN\n");
        home.file(format!("{folder}/agents/of-{name}.md"), agent);
    }
    for name in ["first", "second"] {
        let value = json(&home, "project", &[&format!("of-{name}")]);
        let text = value["prompt"].as_str().unwrap();
        assert!(text.contains(&format!("OF-{name}")), "{text}");
        assert!(text.contains("ONLY-USUAL"), "then the usual rank: {text}");
        assert!(!text.contains("\nUSUAL"), "{text}");
        assert_eq!(codes(&value), [""; 0]);
    }
    put_agent(&home, "mine", "skills: same\n");
    let text = prompt(&home, "project", &["mine"]).stdout_text();
    assert!(
        text.contains("\nUSUAL"),
        "somebody else's package is ranked as usual: {text}"
    );
}
