//! Sessions about configuration: which file decides, what a wrong value costs, and that no secret
//! is ever printed.

mod places;
mod secrets;
mod session;

use grove_testkit::process::Ending;
use serde_json::{Value, json};
use session::{PROJECT, USER, assert_states, config, findings, new_home, places, states, trust};

#[test]
fn every_value_says_where_it_comes_from() {
    let home = new_home();
    home.file(
        USER,
        "compat_roots = true\n\n[limits]\ngroup_depth = 4\nfile_bytes = 1000\n",
    );
    home.file(PROJECT, "[limits]\n\ngroup_depth = 2\n");
    trust(&home, "project");
    let config = config(&home, 0);
    let (user, project) = (home.path(USER), home.path(PROJECT));
    for (key, value, origin) in [
        (
            "compat_roots",
            json!(true),
            json!({ "file": user, "line": 1 }),
        ),
        (
            "limits.file_bytes",
            json!(1000),
            json!({ "file": user, "line": 5 }),
        ),
        (
            "limits.group_depth",
            json!(2),
            json!({ "file": project, "line": 3 }),
        ),
        ("limits.candidates_per_root", json!(300), Value::Null),
        ("limits.loaded_per_source", json!(200), Value::Null),
        ("limits.prompt_skills", json!(150), Value::Null),
        ("limits.prompt_chars", json!(30000), Value::Null),
        ("limits.preload_chars", json!(100_000), Value::Null),
        ("limits.instruction_chars", json!(40_000), Value::Null),
        ("skills.only", Value::Null, Value::Null),
        ("extra_dirs", json!([]), Value::Null),
        ("packages", json!([]), Value::Null),
    ] {
        let expected = json!({ "value": value, "origin": origin });
        assert_eq!(config["settings"][key], expected, "{key}");
    }
    assert_eq!(config["files"], json!([user, project]));
    assert_eq!(config["diagnostics"], json!([]));
}

#[test]
fn without_a_file_everything_is_the_default() {
    let home = new_home();
    let finished = home.run("project", ["config"]);
    assert_eq!(finished.ending, Ending::Exited(0));
    let (table, told) = (finished.stdout_text(), finished.stderr_text());
    assert!(
        table.lines().skip(1).all(|line| line.ends_with("default")),
        "{table}"
    );
    assert!(told.contains("grove/config.toml"), "{told}");
}

#[test]
fn a_wrong_value_is_named_and_costs_that_key_alone() {
    for (text, code, line, key) in [
        ("compat_roots = 'no'\n", "config-value", 1, "compat_roots"),
        ("extra_dirs = '/x'\n", "config-value", 1, "extra_dirs"),
        (
            "\n[limits]\nfile_bytes = -1\n",
            "config-value",
            3,
            "limits.file_bytes",
        ),
        (
            "[limits]\nprompt_chars = 1.5\n",
            "config-value",
            2,
            "limits.prompt_chars",
        ),
        (
            "[skills]\nonly = 'deploy'\n",
            "config-value",
            2,
            "skills.only",
        ),
        (
            "[skills]\nonly = ['a', 2]\n",
            "config-value",
            2,
            "skills.only",
        ),
        (
            "[skills.entries.x]\nenabled = 1\n",
            "config-value",
            2,
            "skills.entries.x.enabled",
        ),
        ("limits = 3\n", "config-value", 1, "limits"),
        ("colour = true\n", "config-unknown-key", 1, "colour"),
        (
            "[limits]\nfile_byte = 1\n",
            "config-unknown-key",
            2,
            "limits.file_byte",
        ),
    ] {
        let home = new_home();
        home.file(
            USER,
            format!("{text}[skills.entries.other]\nenabled = false\n"),
        );
        let config = config(&home, 3);
        let [(found, at, message)] = findings(&config).try_into().unwrap();
        assert_eq!((found.as_str(), at), (code, line), "{text}");
        assert!(message.contains(&format!("`{key}`")), "{text}: {message}");
        assert_eq!(config["diagnostics"][0]["file"], json!(home.path(USER)));
        assert_eq!(
            config["settings"]["skills.entries.other.enabled"]["value"], false,
            "{text}"
        );
        assert_eq!(
            config["settings"]["limits.file_bytes"]["value"], 256_000,
            "{text}"
        );

        let told = home.run("project", ["config"]).stderr_text();
        assert!(
            told.contains(&format!("{}:{line}:", home.path(USER).display())),
            "{told}"
        );
    }
}

#[test]
fn a_syntax_error_is_named_with_its_line() {
    let home = new_home();
    home.file(USER, "compat_roots = false\nbroken = = 1\n");
    let config = config(&home, 3);
    assert_eq!(places(&config)[0], ("config-syntax".to_owned(), 2));
    assert_eq!(
        config["settings"]["compat_roots"]["value"], false,
        "the line before still counts"
    );
}

#[test]
fn a_wrong_configuration_stops_config_and_nothing_else() {
    let home = new_home();
    home.file(USER, "compat_roots = 'no'\n");
    for (arguments, code) in [
        (&["config"][..], 3),
        (&["config", "--json"], 3),
        (&["skills", "list"], 0),
        (&["skills", "roots"], 0),
        (&["skills", "show", "grove"], 0),
        (&["doctor"], 0),
        (&[], 0),
        (&["skills", "check"], 1),
    ] {
        let finished = home.run("project", arguments);
        assert_eq!(finished.ending, Ending::Exited(code), "{arguments:?}");
    }
    let checked = home.run("project", ["skills", "check"]).stdout_text();
    assert!(checked.contains("warning[config-value]"), "{checked}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let home = new_home();
    home.dir(USER);
    let config = config(&home, 3);
    assert_eq!(places(&config), [("config-syntax".to_owned(), 0)]);
    assert_states(&home, &[]);
}

#[test]
fn a_projects_file_is_not_used_before_trust() {
    let home = new_home();
    home.skill("home/.agents/skills/deploy", "deploy", "Deploys");
    home.file(PROJECT, "[skills]\nonly = []\n");
    assert_states(&home, &[("deploy", "ok")]);
    let before = config(&home, 0);
    assert_eq!(places(&before), [("config-untrusted".to_owned(), 0)]);
    assert_eq!(before["files"], json!([]));
    let told = home.run("project", ["config"]).stderr_text();
    assert!(told.contains("grove trust"), "{told}");

    trust(&home, "project");
    assert_states(&home, &[("deploy", "filtered")]);
    assert_eq!(config(&home, 0)["files"], json!([home.path(PROJECT)]));

    home.file(PROJECT, "[skills]\nonly = []\n# and more\n");
    assert_states(&home, &[("deploy", "ok")]);
    assert_eq!(
        places(&config(&home, 0)),
        [("config-untrusted".to_owned(), 0)],
        "changed since"
    );
}

#[test]
fn the_advice_to_trust_works_wherever_the_project_is_worked_in() {
    for (repository, file, cwd) in [
        (true, "project/.grove/config.toml", "project"),
        (true, "project/.grove/config.toml", "project/sub"),
        (true, "project/sub/.grove/config.toml", "project/sub"),
        (false, "project/.grove/config.toml", "project/sub"),
    ] {
        let home = new_home();
        home.dir("project/sub")
            .file(file, "[limits]\ngroup_depth = 1\n");
        if repository {
            home.dir("project/.git");
        }
        trust(&home, cwd);
        let config = session::json(&home, cwd, &["config", "--json"], 0);
        let depth = &config["settings"]["limits.group_depth"]["value"];
        assert_eq!(*depth, 1, "{file} in {cwd}, in a repository: {repository}");
    }
}

/// Lays a project's file over a user's and gives the value of one key.
fn laid(user: &str, project: &str, key: &str) -> Value {
    let home = new_home();
    home.file(USER, user).file(PROJECT, project);
    trust(&home, "project");
    config(&home, 0)["settings"][key]["value"].clone()
}

#[test]
fn a_project_can_only_narrow() {
    for (user, project, key, expected) in [
        (
            "[limits]\nfile_bytes = 9",
            "[limits]\nfile_bytes = 5",
            "limits.file_bytes",
            json!(5),
        ),
        (
            "[limits]\nfile_bytes = 9",
            "[limits]\nfile_bytes = 99",
            "limits.file_bytes",
            json!(9),
        ),
        (
            "",
            "[limits]\ncandidates_per_root = 999",
            "limits.candidates_per_root",
            json!(300),
        ),
        (
            "",
            "[limits]\nprompt_chars = 100",
            "limits.prompt_chars",
            json!(100),
        ),
        (
            "compat_roots = false",
            "compat_roots = true",
            "compat_roots",
            json!(false),
        ),
        (
            "compat_roots = true",
            "compat_roots = false",
            "compat_roots",
            json!(false),
        ),
        (
            "[skills]\nonly = ['a', 'b']",
            "[skills]\nonly = ['b', 'c']",
            "skills.only",
            json!(["b"]),
        ),
        ("", "[skills]\nonly = ['c']", "skills.only", json!(["c"])),
        (
            "[skills]\nonly = []",
            "[skills]\nonly = ['c']",
            "skills.only",
            json!([]),
        ),
        (
            "[skills]\nallow_bundled = []",
            "[skills]\nallow_bundled = ['grove']",
            "skills.allow_bundled",
            json!([]),
        ),
        (
            "[skills.entries.x]\nenabled = false",
            "[skills.entries.x]\nenabled = true",
            "skills.entries.x.enabled",
            json!(false),
        ),
        (
            "",
            "[skills.entries.x]\nenabled = false",
            "skills.entries.x.enabled",
            json!(false),
        ),
    ] {
        assert_eq!(
            laid(user, project, key),
            expected,
            "{user:?} and {project:?}"
        );
    }
}

#[test]
fn keys_that_a_project_may_not_set_are_named_and_not_used() {
    let home = new_home();
    home.skill(
        "elsewhere/planted",
        "planted",
        "From a folder the project names",
    );
    home.skill(
        "home/.agents/skills/keyed",
        "keyed",
        "Needs\nmetadata: {openclaw: {requires: {env: [TOKEN]}}}",
    );
    let elsewhere = home.path("elsewhere");
    home.file(
        PROJECT,
        format!(
            "extra_dirs = ['{}']\n[skills.entries.keyed]\nenv = {{ TOKEN = 'x' }}\napi_key = 'x'\nconfig = {{ a = true }}\n",
            elsewhere.display()
        ),
    );
    trust(&home, "project");
    let lines: Vec<u64> = places(&config(&home, 3))
        .into_iter()
        .map(|(code, line)| {
            assert_eq!(code, "config-forbidden");
            line
        })
        .collect();
    assert_eq!(lines, [1, 3, 4, 5]);
    assert_states(&home, &[("keyed", "ineligible")]);
}

#[test]
fn limits_are_kept_and_inclusive() {
    let home = new_home();
    let file = |name: &str| format!("home/.agents/skills/{name}/SKILL.md");
    let text = "---\nname: a\ndescription: d\n---\n";
    home.file(file("a"), text).file(
        file("b"),
        format!("{}x", text.replace("name: a", "name: b")),
    );
    home.file(USER, format!("[limits]\nfile_bytes = {}\n", text.len()));
    assert_states(&home, &[("a", "ok"), ("b", "invalid")]);
    home.file(USER, "[limits]\nloaded_per_source = 1\n");
    assert_states(&home, &[("a", "ok"), ("b", "capped")]);
    home.file(USER, "[limits]\ncandidates_per_root = 1\n");
    assert_states(&home, &[("a", "ok")]);
    assert_eq!(states(&home, &["--all"]).len(), 2, "--all lifts it");
    home.file(USER, "[limits]\ngroup_depth = 1\n");
    home.skill("home/.agents/skills/one/c", "c", "d").skill(
        "home/.agents/skills/one/two/d",
        "d",
        "d",
    );
    assert_states(&home, &[("a", "ok"), ("b", "ok"), ("c", "ok")]);
    for limit in [
        "candidates_per_root",
        "loaded_per_source",
        "group_depth",
        "file_bytes",
    ] {
        home.file(USER, format!("[limits]\n{limit} = 0\n"));
        let usable = states(&home, &[])
            .iter()
            .filter(|(_, state)| state == "ok")
            .count();
        assert_eq!(
            usable,
            if limit == "group_depth" { 2 } else { 0 },
            "{limit}"
        );
    }
}
