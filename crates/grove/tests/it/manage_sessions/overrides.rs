//! Overrides: switched off and on, set by settings and by the configuration, and trusted.

use grove_testkit::session::{USER_CONFIG, column, rows};
use serde_json::{Value, json};

use super::{agent, session, states};

const SETTINGS: &str = "home/.pi/agent/settings.json";
const OWN: &str = "user:.grove/agents";
const BUNDLED: &str = "bundled:agents";

#[test]
fn switching_off_and_on_leaves_the_configuration_as_it_was() {
    let session = session();
    let config = "# what I like\ncompat_roots = true # yes\n\n[limits]\ngroup_depth = 4\n";
    session.file(USER_CONFIG, config);
    session.done("agents disable scout");
    assert_eq!(
        session.read(USER_CONFIG),
        format!("{config}\n[agents.overrides.scout]\ndisabled = true\n")
    );
    assert_eq!(states(&session, "scout"), [[BUNDLED, "disabled"]]);
    session
        .refused("prompt scout")
        .says(["grove agents enable scout"]);
    session.done("agents enable scout");
    assert_eq!(session.read(USER_CONFIG), config);
    let again = session.json("agents enable scout");
    assert_eq!(
        [&again["changed"], &again["state"]],
        [&json!(false), &json!("ok")]
    );

    let edit = "agents edit scout --override --model opus --max-tokens 5 --body";
    session.done(edit.split(' ').chain(["Two\nlines"]).collect::<Vec<_>>());
    session.done("agents disable scout");
    let shown = session.json("agents show scout");
    assert_eq!(shown["overrides"].as_array().map(Vec::len), Some(4));
    session.done("agents enable scout");
    assert_eq!(session.done("prompt scout").stdout, "Two\nlines\n");
    session.done("agents edit scout --override --unset systemPrompt");
    assert!(!session.read(USER_CONFIG).contains("system_prompt"));
    session.done("agents reset scout");
    assert_eq!(session.read(USER_CONFIG), config);
    session
        .refused("agents edit scout --override --set description=x")
        .says(["cannot be overridden", "maxTokens"]);
}

#[test]
fn an_agent_of_ones_own_is_switched_off_by_itself() {
    let session = session();
    for (words, mine, reviewer) in [
        ("create mine --description d", "ok", ""),
        ("create reviewer --description d", "ok", "ok"),
        ("disable mine", "disabled", "ok"),
        ("disable reviewer", "disabled", "disabled"),
        ("enable reviewer", "disabled", "ok"),
        ("enable mine", "ok", "ok"),
    ] {
        session.done(&format!("agents {words}"));
        assert_eq!(states(&session, "mine"), [[OWN, mine]], "{words}");
        let bundled = if reviewer == "ok" { "shadowed" } else { "ok" };
        let mut both = vec![[OWN, reviewer], [BUNDLED, bundled]];
        both.retain(|[_, state]| !state.is_empty());
        assert_eq!(states(&session, "reviewer"), both, "{words}");
    }
    assert_eq!(session.read(USER_CONFIG).trim(), "");
}

#[test]
fn a_configuration_that_cannot_be_read_is_not_changed() {
    let session = session();
    session.file(USER_CONFIG, "a = 1\nb = = 2\n");
    session.refused("agents disable scout").says(["line 2"]);
    assert_eq!(session.read(USER_CONFIG), "a = 1\nb = = 2\n");
}

#[test]
fn what_is_switched_off_elsewhere_is_overruled_or_said() {
    let session = session();
    session.file(
        SETTINGS,
        r#"{"subagents": {"disableBuiltins": true, "agentOverrides": {"scout": {"model": "m"}}}}"#,
    );
    assert_eq!(states(&session, "scout"), [[BUNDLED, "disabled"]]);
    session.done("agents enable scout");
    assert!(session.read(USER_CONFIG).contains("disabled = false"));
    assert_eq!(states(&session, "scout"), [[BUNDLED, "ok"]]);
    assert_eq!(states(&session, "oracle"), [[BUNDLED, "disabled"]]);
    session
        .done("agents reset scout")
        .says(["`model` is still set in", "scout is disabled"]);
}

#[test]
fn a_wrong_type_in_settings_names_file_agent_and_field_and_costs_that_field_alone() {
    let session = session();
    session
        .file(SETTINGS, "{\"subagents\": {\"agentOverrides\": {\n  \"scout\": {\"model\": \"opus\",\n    \"tools\": 3},\n  \"oracle\": {\"tools\": false},\n  \"reviewer\": {\"disabled\": true},\n  \"nobody\": {\"disabled\": true}}}}\n")
        .file("home/.claude/agents/reviewer.md", agent("reviewer"));
    let list = session.json("agents list");
    let findings = rows(&list["diagnostics"], ["code", "line", "file", "message"]);
    let of = |code: &str| {
        let mut findings = findings.iter();
        findings
            .find(|it| it[0] == code)
            .unwrap_or_else(|| panic!("{list}"))
    };
    let [_, line, file, message] = of("override-value");
    assert!(message.contains("`scout`") && message.contains("tools"));
    assert_eq!(line, "3");
    assert!(file.ends_with(".pi/agent/settings.json"), "{file}");
    assert_eq!(of("override-unknown")[1], "6");

    let shown = |name: &str| session.json(["agents", "show", name]);
    let scout = shown("scout");
    assert_eq!(scout["fields"]["model"], "opus");
    assert_eq!(
        scout["fields"]["tools"],
        serde_json::json!([]),
        "what was to restrict does"
    );
    let set = column(&scout["overrides"], "field");
    assert_eq!(set, ["tools", "model"]);
    let oracle = shown("oracle");
    assert!(oracle["fields"]["tools"].is_null(), "`false` clears");
    // A user's file is still there.
    assert_eq!(shown("reviewer")["agent"]["root"], "user:.claude/agents");
    assert_eq!(session.done("prompt reviewer").stdout, "I am x.\n");
}

#[test]
fn settings_that_cannot_be_read_break_nothing() {
    for text in ["{", "[]", "\u{0}", "{\"subagents\": 1}"] {
        let session = session();
        session.file(SETTINGS, text);
        let list = session.done("agents list").prints(["scout"]);
        list.says([".pi/agent/settings.json"]);
    }
    let session = session();
    session.dir(SETTINGS);
    let said = session.done("agents list").stderr;
    let count = said.matches(".pi/agent/settings.json\n").count();
    assert_eq!(count, 1, "one file is one finding: {said}");
}

#[test]
fn a_projects_overrides_count_as_they_were_seen() {
    let session = session();
    let settings =
        |fields: Value| json!({"subagents": {"agentOverrides": {"scout": fields}}}).to_string();
    let of_project = |model: &str| {
        session.file(
            "project/.pi/settings.json",
            settings(json!({"model": model})),
        );
    };
    let of_user = settings(json!({"model": "user", "thinking": "max"}));
    let config = "[agents.overrides.scout]\nmax_tokens = 7\n";
    session
        .file(SETTINGS, of_user)
        .file("project/.grove/config.toml", config);
    of_project("seen");
    let fields = || session.json("agents show scout")["fields"].clone();
    assert_eq!(fields()["model"], "user");
    let said = session.done("agents list").stderr;
    assert_eq!(said.matches("config-untrusted").count(), 2, "{said}");
    session.trust();
    let laid_over = fields();
    assert_eq!(laid_over["model"], "seen");
    assert_eq!(laid_over["thinking"], "max");
    assert_eq!(laid_over["maxTokens"], 7);
    of_project("changed");
    assert_eq!(fields()["model"], "user", "nobody has seen it");
    of_project("seen");
    assert_eq!(fields()["model"], "seen");

    // Another scope has neither the other's agents nor its settings.
    session
        .file("home/.claude/agents/mine.md", agent("mine"))
        .file("project/.claude/agents/ours.md", agent("ours"));
    for (scope, there, absent) in [("user", "mine", "ours"), ("project", "ours", "mine")] {
        let list = session.json(["agents", "list", "--scope", scope]);
        let found = column(&list["agents"], "name");
        for (name, is_there) in [(there, true), (absent, false), ("scout", true)] {
            let is_found = found.iter().any(|found| found == name);
            assert_eq!(is_found, is_there, "{scope}: {found:?}");
        }
    }
}

#[test]
fn a_text_from_settings_is_proved_by_the_settings() {
    let session = session();
    let settings = r#"{"subagents": {"agentOverrides": {"scout": {"systemPrompt": "Look."}}}}"#;
    session.file(SETTINGS, settings);
    let told = session.json("prompt scout");
    let blocks = rows(&told["blocks"], ["kind", "text", "source", "digest"]);
    let own = blocks.iter().find(|[kind, ..]| kind == "agent").unwrap();
    let digest = grove_catalog::Digest::of(settings.as_bytes()).to_string();
    let source = session.path(SETTINGS);
    assert_eq!(
        own[1..],
        ["Look.\n", source.to_str().unwrap(), digest.as_str()]
    );
}

#[test]
fn what_a_project_switches_off_is_switched_on_in_its_file_before_it_is_trusted() {
    let session = session();
    let config = "project/.grove/config.toml";
    session.file(config, "# ours\n").trust();
    session.done("agents disable scout --scope project");
    assert!(session.read(config).contains("disabled = true"));
    session.done("agents enable scout --scope project");
    assert_eq!(session.read(config), "# ours\n");
    session.trust();
    assert_eq!(states(&session, "scout"), [[BUNDLED, "ok"]]);
}
