//! Sessions about configuration: which file decides, what a wrong value costs, and that no secret
//! is ever printed.

mod places;
mod secrets;

use grove_testkit::session::{Session, USER_CONFIG as USER, rows};
use serde_json::{Value, json};

use crate::session;

const PROJECT: &str = "project/.grove/config.toml";

#[track_caller]
fn config(session: &Session, code: i32) -> Value {
    session.grove("config --json").fails(code).json()
}

/// Code and line of every finding about the configuration.
fn found(config: &Value) -> Vec<[String; 2]> {
    rows(&config["diagnostics"], ["code", "line"])
}

/// Name and state of every skill that is not bundled.
#[track_caller]
fn states(session: &Session, flags: &str) -> Vec<[String; 2]> {
    let list = session.json(&format!("skills list {flags}"));
    let all = rows(&list["skills"], ["name", "state", "source"]).into_iter();
    let own = all.filter(|[.., source]| source != "bundled");
    own.map(|[name, state, _]| [name, state]).collect()
}

#[track_caller]
fn assert_states(session: &Session, expected: &[[&str; 2]]) {
    assert_eq!(states(session, ""), expected);
}

#[test]
fn every_value_says_where_it_comes_from() {
    let session = session();
    session
        .file(
            USER,
            "compat_roots = true\n\n[limits]\ngroup_depth = 4\nfile_bytes = 1000\n",
        )
        .file(PROJECT, "[limits]\n\ngroup_depth = 2\n")
        .trust();
    let config = config(&session, 0);
    let (user, project) = (session.path(USER), session.path(PROJECT));
    let of_user = |line: u32| json!({ "file": user, "line": line });
    let of_project = json!({ "file": project, "line": 3 });
    for (key, value, origin) in [
        ("compat_roots", json!(true), of_user(1)),
        ("limits.file_bytes", json!(1000), of_user(5)),
        ("limits.group_depth", json!(2), of_project),
        ("limits.candidates_per_root", json!(20_000), Value::Null),
        ("limits.loaded_per_root", json!(300), Value::Null),
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
    let outcome = session().grove("config").ok().says(["grove/config.toml"]);
    let mut lines = outcome.stdout.lines().skip(1);
    assert!(lines.all(|line| line.ends_with("default")), "{outcome}");
}

#[test]
fn a_wrong_value_is_named_and_costs_that_key_alone() {
    for (text, code, line, key) in [
        ("compat_roots = 'no'\n", "value", 1, "compat_roots"),
        ("extra_dirs = '/x'\n", "value", 1, "extra_dirs"),
        (
            "\nlimits.file_bytes = -1\n",
            "value",
            2,
            "limits.file_bytes",
        ),
        (
            "[limits]\nprompt_chars = 1.5\n",
            "value",
            2,
            "limits.prompt_chars",
        ),
        ("[skills]\nonly = 'deploy'\n", "value", 2, "skills.only"),
        ("[skills]\nonly = ['a', 2]\n", "value", 2, "skills.only"),
        (
            "[skills.entries.x]\nenabled = 1\n",
            "value",
            2,
            "skills.entries.x.enabled",
        ),
        ("limits = 3\n", "value", 1, "limits"),
        ("colour = true\n", "unknown-key", 1, "colour"),
        (
            "[limits]\nfile_byte = 1\n",
            "unknown-key",
            2,
            "limits.file_byte",
        ),
    ] {
        let session = session();
        let other = "[skills.entries.other]\nenabled = false\n";
        session.file(USER, format!("{text}{other}"));
        let config = config(&session, 3);
        let (code, line) = (format!("config-{code}"), line.to_string());
        assert_eq!(found(&config), [[code.as_str(), &line]], "{text}");
        let message = config["diagnostics"][0]["message"].as_str().unwrap();
        assert!(message.contains(&format!("`{key}`")), "{text}: {message}");
        assert_eq!(config["diagnostics"][0]["file"], json!(session.path(USER)));
        let settings = &config["settings"];
        assert_eq!(settings["skills.entries.other.enabled"]["value"], false);
        assert_eq!(settings["limits.file_bytes"]["value"], 256_000, "{text}");
        let place = format!("{}:{line}:", session.path(USER).display());
        session.grove("config").says([&place]);
    }
}

#[test]
fn a_syntax_error_is_named_with_its_line() {
    let session = session();
    session.file(USER, "compat_roots = false\nbroken = = 1\n");
    let config = config(&session, 3);
    assert_eq!(found(&config)[0], ["config-syntax", "2"]);
    let before = &config["settings"]["compat_roots"]["value"];
    assert_eq!(*before, false, "the line before still counts");
}

#[test]
fn a_wrong_configuration_stops_config_and_nothing_else() {
    let session = session();
    session.file(USER, "compat_roots = 'no'\n");
    for (command, code) in [
        ("config", 3),
        ("config --json", 3),
        ("skills list", 0),
        ("skills roots", 0),
        ("skills show grove", 0),
        ("doctor", 0),
        ("", 0),
        ("skills check", 1),
    ] {
        session.grove(command).fails(code);
    }
    let checked = session.grove("skills check");
    checked.prints(["warning[config-value]"]);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let session = session();
    session.dir(USER);
    assert_eq!(found(&config(&session, 3)), [["config-syntax", ""]]);
    assert_states(&session, &[]);
}

#[test]
fn a_projects_file_is_not_used_before_trust() {
    let session = session();
    session
        .skill("home/.agents/skills/deploy", "deploy", "Deploys")
        .file(PROJECT, "[skills]\nonly = []\n");
    assert_states(&session, &[["deploy", "ok"]]);
    let before = config(&session, 0);
    assert_eq!(found(&before), [["config-untrusted", ""]]);
    assert_eq!(before["files"], json!([]));
    session.grove("config").says(["grove trust"]);

    session.trust();
    assert_states(&session, &[["deploy", "filtered"]]);
    assert_eq!(config(&session, 0)["files"], json!([session.path(PROJECT)]));

    session.file(PROJECT, "[skills]\nonly = []\n# and more\n");
    assert_states(&session, &[["deploy", "ok"]]);
    let changed = config(&session, 0);
    assert_eq!(found(&changed), [["config-untrusted", ""]], "changed since");
}

#[test]
fn the_advice_to_trust_works_wherever_the_project_is_worked_in() {
    for (repository, file, cwd) in [
        ("project/.git", "project/.grove/config.toml", "project"),
        ("project/.git", "project/.grove/config.toml", "project/sub"),
        (
            "project/.git",
            "project/sub/.grove/config.toml",
            "project/sub",
        ),
        ("project", "project/.grove/config.toml", "project/sub"),
    ] {
        let session = session();
        session
            .dir(repository)
            .dir("project/sub")
            .file(file, "[limits]\ngroup_depth = 1\n");
        session.trust_in(cwd, "");
        let config = session.json_in(cwd, "config");
        let depth = &config["settings"]["limits.group_depth"]["value"];
        assert_eq!(*depth, 1, "{file} in {cwd}, repository in {repository}");
    }
}

#[test]
fn a_project_can_only_narrow() {
    for (key, user, project, expected) in [
        ("limits.file_bytes", "9", "5", json!(5)),
        ("limits.file_bytes", "9", "99", json!(9)),
        ("limits.candidates_per_root", "", "99999", json!(20_000)),
        ("limits.prompt_chars", "", "100", json!(100)),
        ("compat_roots", "false", "true", json!(false)),
        ("compat_roots", "true", "false", json!(false)),
        ("skills.only", "['a', 'b']", "['b', 'c']", json!(["b"])),
        ("skills.only", "", "['c']", json!(["c"])),
        ("skills.only", "[]", "['c']", json!([])),
        ("skills.allow_bundled", "[]", "['grove']", json!([])),
        ("skills.entries.x.enabled", "false", "true", json!(false)),
        ("skills.entries.x.enabled", "", "false", json!(false)),
    ] {
        let session = session();
        if !user.is_empty() {
            session.file(USER, format!("{key} = {user}\n"));
        }
        session
            .file(PROJECT, format!("{key} = {project}\n"))
            .trust();
        let value = &config(&session, 0)["settings"][key]["value"];
        assert_eq!(*value, expected, "{key}: {user:?} and {project:?}");
    }
}

#[test]
fn keys_that_a_project_may_not_set_are_named_and_not_used() {
    let session = session();
    let needs = "metadata: {openclaw: {requires: {env: [TOKEN]}}}\n";
    let elsewhere = session.path("elsewhere");
    session
        .skill("elsewhere/planted", "planted", "From a folder the project names")
        .definition("home/.agents/skills/keyed", needs, "")
        .file(
            PROJECT,
            format!(
                "extra_dirs = ['{}']\n[skills.entries.keyed]\nenv = {{ TOKEN = 'x' }}\napi_key = 'x'\nconfig = {{ a = true }}\n",
                elsewhere.display()
            ),
        )
        .trust();
    let forbidden = ["1", "3", "4", "5"].map(|line| ["config-forbidden", line]);
    assert_eq!(found(&config(&session, 3)), forbidden);
    assert_states(&session, &[["keyed", "ineligible"]]);
}

#[test]
fn skills_beyond_the_limits_are_named_in_their_group_and_usable() {
    let session = session();
    for name in ["a", "b", "c"] {
        session.skill(format!("home/.agents/skills/{name}"), name, "Does it.");
    }
    session.file(USER, "limits.loaded_per_source = 1\n");
    let overview = session.done("").stdout;
    assert!(overview.contains("4 skills found, 4 usable"), "{overview}");
    assert!(
        overview.contains("1 ok, 2 named in its group"),
        "{overview}"
    );
    let list = session.done("skills list").prints(["named in its group"]);
    list.says(["4 skills listed, 4 usable"]);
    session.done("why b").prints([
        "named in its group",
        "since the user source has more than 1",
    ]);
    for command in [
        "",
        "why b",
        "skills list",
        "skills show b",
        "skills check",
        "doctor",
    ] {
        let shown = session.grove(command).stdout;
        assert!(!shown.contains("capped"), "{command}: {shown}");
    }
    assert_states(&session, &[["a", "ok"], ["b", "capped"], ["c", "capped"]]);
    for word in ["capped", "named in its group"] {
        let list = session.done(["skills", "list", "--state", word]);
        list.prints(["b", "c"]);
    }
}

#[test]
fn limits_are_kept_and_inclusive() {
    let session = session();
    let skills = "home/.agents/skills";
    let text = "---\nname: a\ndescription: d\n---\n";
    session.file(format!("{skills}/a/SKILL.md"), text).file(
        format!("{skills}/b/SKILL.md"),
        format!("{}x", text.replace("name: a", "name: b")),
    );
    let limit = |key: &str, value: usize| {
        session.file(USER, format!("limits.{key} = {value}\n"));
    };
    limit("file_bytes", text.len());
    assert_states(&session, &[["a", "ok"], ["b", "invalid"]]);
    limit("loaded_per_source", 1);
    assert_states(&session, &[["a", "ok"], ["b", "capped"]]);
    limit("candidates_per_root", 1);
    assert_states(&session, &[["a", "ok"]]);
    assert_eq!(states(&session, "--all").len(), 2, "--all lifts it");
    limit("group_depth", 1);
    session.skill(format!("{skills}/one/c"), "c", "d").skill(
        format!("{skills}/one/two/d"),
        "d",
        "d",
    );
    assert_states(&session, &[["a", "ok"], ["b", "ok"], ["c", "ok"]]);
    for (key, expected) in [
        ("candidates_per_root", 0),
        ("loaded_per_source", 0),
        ("loaded_per_root", 0),
        ("group_depth", 2),
        ("file_bytes", 0),
    ] {
        limit(key, 0);
        let states = states(&session, "");
        let usable = states.iter().filter(|[_, state]| state == "ok").count();
        assert_eq!(usable, expected, "{key}");
    }
}

#[test]
fn every_key_of_a_provider_and_of_a_server_has_its_own_line() {
    let session = session();
    session.file(
        USER,
        "[providers.p]\napi = 'anthropic'\nmodels = ['m']\n\nbase_url = 'https://models.example'\n[mcp.s]\nenv = {}\ncommand = ['x']\n",
    );
    let config = config(&session, 0);
    for (key, line) in [
        ("providers.p.api", 2),
        ("providers.p.models", 3),
        ("providers.p.base_url", 5),
        ("mcp.s.env", 7),
        ("mcp.s.command", 8),
    ] {
        assert_eq!(config["settings"][key]["origin"]["line"], line, "{key}");
    }
}

#[test]
fn an_address_that_is_none_is_a_finding() {
    let session = session();
    session.file(
        USER,
        "[providers.p]\napi = 'anthropic'\nbase_url = 'nonsense'\n",
    );
    assert_eq!(found(&config(&session, 3)), [["config-value", "3"]]);
    let said = session.grove("config").fails(3);
    said.says(["`providers.p.base_url` must be an address"]);
}
