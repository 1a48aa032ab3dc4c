//! Overrides: switched off and on, set by settings and by the configuration, and trusted.

use grove_testkit::home::TestHome;
use serde_json::Value;

use super::{AGENT, code, done, home, json, read, refused, shown, states};

#[test]
fn switching_off_and_on_leaves_the_configuration_as_it_was() {
    let home = home();
    let config = "# what I like\ncompat_roots = true # yes\n\n[limits]\ngroup_depth = 4\n";
    home.file("config/grove/config.toml", config);
    done(&home, &["agents", "disable", "scout"]);
    let text = read(&home, "config/grove/config.toml");
    assert_eq!(
        text,
        format!("{config}\n[agents.overrides.scout]\ndisabled = true\n")
    );
    assert_eq!(
        states(&home, "scout"),
        [("bundled:agents".to_owned(), "disabled".to_owned())]
    );
    let told = home.run("project", ["prompt", "scout"]);
    assert_eq!((code(&told), told.stdout_text().as_str()), (1, ""));
    assert!(
        told.stderr_text().contains("grove agents enable scout"),
        "{}",
        told.stderr_text()
    );
    done(&home, &["agents", "enable", "scout"]);
    assert_eq!(read(&home, "config/grove/config.toml"), config);
    let again = json(&done(&home, &["agents", "enable", "scout", "--json"]));
    assert_eq!(
        (&again["changed"], &again["state"]),
        (&false.into(), &"ok".into())
    );

    done(
        &home,
        &[
            "agents",
            "edit",
            "scout",
            "--override",
            "--model",
            "opus",
            "--max-tokens",
            "5",
            "--body",
            "Two\nlines",
        ],
    );
    done(&home, &["agents", "disable", "scout"]);
    assert_eq!(
        shown(&home, "scout")["overrides"].as_array().unwrap().len(),
        4
    );
    done(&home, &["agents", "enable", "scout"]);
    assert_eq!(
        done(&home, &["prompt", "scout"]).stdout_text(),
        "Two\nlines\n"
    );
    done(
        &home,
        &[
            "agents",
            "edit",
            "scout",
            "--override",
            "--unset",
            "systemPrompt",
        ],
    );
    assert!(!read(&home, "config/grove/config.toml").contains("system_prompt"));
    done(&home, &["agents", "reset", "scout"]);
    assert_eq!(read(&home, "config/grove/config.toml"), config);
    let said = refused(
        &home,
        &[
            "agents",
            "edit",
            "scout",
            "--override",
            "--set",
            "description=x",
        ],
    );
    assert!(
        said.contains("cannot be overridden") && said.contains("maxTokens"),
        "{said}"
    );
}

#[test]
fn an_agent_of_ones_own_is_switched_off_by_itself() {
    let home = home();
    done(&home, &["agents", "create", "mine", "--description", "d"]);
    done(
        &home,
        &["agents", "create", "reviewer", "--description", "d"],
    );
    let off = |root: &str, state: &str| (root.to_owned(), state.to_owned());
    done(&home, &["agents", "disable", "mine"]);
    assert_eq!(
        states(&home, "mine"),
        [off("user:.grove/agents", "disabled")]
    );
    done(&home, &["agents", "disable", "reviewer"]);
    let both = [
        off("user:.grove/agents", "disabled"),
        off("bundled:agents", "ok"),
    ];
    assert_eq!(states(&home, "reviewer"), both);
    done(&home, &["agents", "enable", "reviewer"]);
    done(&home, &["agents", "enable", "mine"]);
    assert_eq!(states(&home, "reviewer")[0].1, "ok");
    assert_eq!(states(&home, "mine")[0].1, "ok");
    assert_eq!(read(&home, "config/grove/config.toml").trim(), "");
}

#[test]
fn a_configuration_that_cannot_be_read_is_not_changed() {
    let home = home();
    home.file("config/grove/config.toml", "a = 1\nb = = 2\n");
    let said = refused(&home, &["agents", "disable", "scout"]);
    assert!(said.contains("line 2"), "{said}");
    assert_eq!(read(&home, "config/grove/config.toml"), "a = 1\nb = = 2\n");
}

#[test]
fn what_is_switched_off_elsewhere_is_overruled_or_said() {
    let home = home();
    home.file(
        "home/.pi/agent/settings.json",
        r#"{"subagents": {"disableBuiltins": true, "agentOverrides": {"scout": {"model": "m"}}}}"#,
    );
    assert_eq!(states(&home, "scout")[0].1, "disabled");
    done(&home, &["agents", "enable", "scout"]);
    assert!(read(&home, "config/grove/config.toml").contains("disabled = false"));
    assert_eq!(
        (
            &*states(&home, "scout")[0].1,
            &*states(&home, "oracle")[0].1
        ),
        ("ok", "disabled")
    );
    let said = done(&home, &["agents", "reset", "scout"]).stderr_text();
    assert!(
        said.contains("`model` is still set in") && said.contains("scout is disabled"),
        "{said}"
    );
}

#[test]
fn a_wrong_type_in_settings_names_file_agent_and_field_and_costs_that_field_alone() {
    let home = home();
    home.file(
        "home/.pi/agent/settings.json",
        "{\"subagents\": {\"agentOverrides\": {\n  \"scout\": {\"model\": \"opus\",\n    \"tools\": 3},\n  \"oracle\": {\"tools\": false},\n  \"reviewer\": {\"disabled\": true},\n  \"nobody\": {\"disabled\": true}}}}\n",
    )
    .file("home/.claude/agents/reviewer.md", AGENT.replace("name: x", "name: reviewer"));
    let list = json(&done(&home, &["agents", "list", "--json"]));
    let findings = list["diagnostics"].as_array().unwrap();
    let of = |code: &str| -> &Value {
        findings
            .iter()
            .find(|finding| finding["code"] == code)
            .unwrap_or_else(|| panic!("{list}"))
    };
    let wrong = of("override-value");
    let message = wrong["message"].as_str().unwrap();
    assert!(
        message.contains("`scout`") && message.contains("tools"),
        "{message}"
    );
    assert_eq!(wrong["line"], 3);
    assert!(
        wrong["file"]
            .as_str()
            .unwrap()
            .ends_with(".pi/agent/settings.json")
    );
    assert_eq!(of("override-unknown")["line"], 6);

    let scout = shown(&home, "scout");
    assert_eq!(scout["fields"]["model"], "opus");
    assert!(scout["fields"]["tools"].is_array(), "the file's tools stay");
    assert_eq!(scout["overrides"][0]["field"], "model");
    assert!(
        shown(&home, "oracle")["fields"]["tools"].is_null(),
        "`false` clears"
    );
    let own = shown(&home, "reviewer");
    assert_eq!(
        own["agent"]["root"], "user:.claude/agents",
        "a user's file is still there"
    );
    assert_eq!(
        done(&home, &["prompt", "reviewer"]).stdout_text(),
        "I am x.\n"
    );
}

#[test]
fn settings_that_cannot_be_read_break_nothing() {
    for text in ["{", "[]", "\u{0}", "{\"subagents\": 1}"] {
        let home = home();
        home.file("home/.pi/agent/settings.json", text);
        let list = done(&home, &["agents", "list"]);
        assert!(list.stdout_text().contains("scout"), "{text:?}");
        assert!(
            list.stderr_text().contains(".pi/agent/settings.json"),
            "{text:?}"
        );
    }
    let home = home();
    home.dir("home/.pi/agent/settings.json");
    let said = done(&home, &["agents", "list"]).stderr_text();
    assert_eq!(
        said.matches(".pi/agent/settings.json\n").count(),
        1,
        "one file is one finding: {said}"
    );
}

#[test]
fn a_projects_overrides_count_as_they_were_seen() {
    let home = home();
    let settings = |model: &str| {
        format!(
            "{{\"subagents\": {{\"agentOverrides\": {{\"scout\": {{\"model\": \"{model}\"}}}}}}}}"
        )
    };
    home.file(
        "home/.pi/agent/settings.json",
        r#"{"subagents": {"agentOverrides": {"scout": {"model": "user", "thinking": "max"}}}}"#,
    )
    .file("project/.pi/settings.json", settings("seen"))
    .file(
        "project/.grove/config.toml",
        "[agents.overrides.scout]\nmax_tokens = 7\n",
    );
    let model = |home: &TestHome| shown(home, "scout")["fields"]["model"].clone();
    assert_eq!(model(&home), "user");
    let said = done(&home, &["agents", "list"]).stderr_text();
    assert_eq!(said.matches("config-untrusted").count(), 2, "{said}");
    done(&home, &["trust", "--yes"]);
    assert_eq!(
        model(&home),
        "seen",
        "the project's is laid over the user's"
    );
    let fields = shown(&home, "scout")["fields"].clone();
    assert_eq!(
        (&fields["thinking"], &fields["maxTokens"]),
        (&"max".into(), &7.into())
    );
    home.file("project/.pi/settings.json", settings("changed"));
    assert_eq!(model(&home), "user", "what nobody has seen does not count");
    home.file("project/.pi/settings.json", settings("seen"));
    assert_eq!(model(&home), "seen");

    // Another scope has neither the other's agents nor its settings.
    home.file(
        "home/.claude/agents/mine.md",
        AGENT.replace("name: x", "name: mine"),
    )
    .file(
        "project/.claude/agents/ours.md",
        AGENT.replace("name: x", "name: ours"),
    );
    for (scope, names) in [("user", ["mine", "scout"]), ("project", ["ours", "scout"])] {
        let list = json(&done(
            &home,
            &["agents", "list", "--scope", scope, "--json"],
        ));
        let agents = list["agents"].as_array().unwrap().iter();
        let found: Vec<&str> = agents.filter_map(|agent| agent["name"].as_str()).collect();
        for name in ["mine", "ours", "scout"] {
            assert_eq!(
                found.contains(&name),
                names.contains(&name),
                "{scope}: {found:?}"
            );
        }
    }
}

#[test]
fn a_text_from_settings_is_proved_by_the_settings() {
    let home = home();
    let settings = r#"{"subagents": {"agentOverrides": {"scout": {"systemPrompt": "Look."}}}}"#;
    home.file("home/.pi/agent/settings.json", settings);
    let told = json(&done(&home, &["prompt", "scout", "--json"]));
    let blocks = told["blocks"].as_array().unwrap();
    let own = blocks
        .iter()
        .find(|block| block["kind"] == "agent")
        .unwrap();
    assert_eq!(own["text"], "Look.\n");
    assert_eq!(
        own["source"],
        home.path("home/.pi/agent/settings.json").to_str().unwrap()
    );
    let digest = grove_catalog::Digest::of(settings.as_bytes()).to_string();
    assert_eq!(own["digest"], digest);
}

#[test]
fn what_a_project_switches_off_is_switched_on_in_its_file_before_it_is_trusted() {
    let home = home();
    home.file("project/.grove/config.toml", "# ours\n");
    done(&home, &["trust", "--yes"]);
    done(&home, &["agents", "disable", "scout", "--scope", "project"]);
    let off = read(&home, "project/.grove/config.toml");
    assert!(off.contains("disabled = true"), "{off}");
    done(&home, &["agents", "enable", "scout", "--scope", "project"]);
    assert_eq!(read(&home, "project/.grove/config.toml"), "# ours\n");
    done(&home, &["trust", "--yes"]);
    assert_eq!(states(&home, "scout")[0].1, "ok");
}
