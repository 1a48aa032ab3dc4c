//! Agents in the formats of other hosts, found where each host has them, and listed as each host would.

use std::collections::BTreeMap;

use grove_testkit::home::TestHome;
use grove_testkit::process::Finished;
use serde_json::Value;

const SECRET: &str = "sk-very-secret-value";

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/bundled").dir("project/.git");
    let bundled = home.path("home/bundled");
    home.with_env("GROVE_BUNDLED_DIR", bundled)
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout_text()).unwrap_or_else(|error| {
        panic!(
            "{error}: {}{}",
            finished.stdout_text(),
            finished.stderr_text()
        )
    })
}

/// One agent in each format, with its text.
fn put_all(home: &TestHome, base: &str) {
    for (path, text) in [
        (
            ".claude/agents/c.md",
            "---\nname: of-claude\ndescription: d\ntools: Read, Grep\nmodel: inherit\ncolor: red\n---\nTold claude.\n".to_owned(),
        ),
        (
            ".github/agents/p.agent.md",
            "---\nname: of-copilot\ndescription: d\nmodel: [m1, m2]\ntarget: vscode\n---\nTold copilot.\n".to_owned(),
        ),
        (
            ".gemini/agents/g.md",
            "---\nname: of-gemini\ndescription: d\ntimeout_mins: 2\ntemperature: 1\n---\nTold gemini.\n".to_owned(),
        ),
        (
            ".opencode/agents/o.md",
            "---\nname: of-opencode\ndescription: d\nmode: subagent\n---\nTold opencode.\n".to_owned(),
        ),
        (
            ".codex/agents/x.toml",
            "name = 'of-codex'\ndescription = 'd'\ndeveloper_instructions = '''\nTold codex.\n'''\nnickname_candidates = ['A']\n".to_owned(),
        ),
        (
            "opencode.json",
            format!(
                "{{ \"provider\": {{\"x\": {{\"key\": \"{SECRET}\"}}}}, \"agent\": {{ \"of-settings\": {{ \"description\": \"d\", \"prompt\": \"Told settings.\", \"mode\": \"all\" }}, \"off\": {{ \"description\": \"d\", \"prompt\": \"x\", \"disable\": true }} }} }}\n"
            ),
        ),
    ] {
        home.file(format!("{base}/{path}"), text);
    }
}

const NAMES: [&str; 6] = [
    "of-claude",
    "of-copilot",
    "of-gemini",
    "of-opencode",
    "of-codex",
    "of-settings",
];

#[test]
fn every_format_is_read_where_its_host_has_it() {
    let home = home();
    put_all(&home, "project");
    let listed = json(&home.run("project", ["agents", "list", "--json"]));
    let agents = listed["agents"].as_array().unwrap().iter();
    let agents: Vec<_> = agents
        .filter(|agent| agent["source"] == "project")
        .collect();
    assert_eq!(agents.len(), 7, "{listed}");
    assert!(agents.iter().all(|agent| agent["state"] == "untrusted"));
    home.run("project", ["trust"])
        .require_success("trust")
        .unwrap();
    for name in NAMES {
        let shown = json(&home.run("project", ["agents", "show", name, "--json"]));
        assert_eq!(shown["agent"]["state"], "ok", "{shown}");
        let findings = shown["agent"]["diagnostics"].as_array().unwrap();
        let unmapped: Vec<_> = findings
            .iter()
            .filter(|finding| finding["code"] == "agent-unmapped")
            .collect();
        assert_eq!(unmapped.len(), 1, "one key without a counterpart: {shown}");
        assert!(unmapped[0]["line"].is_number(), "{shown}");
        let told = home.run("project", ["prompt", name]);
        let host = name.trim_start_matches("of-");
        assert_eq!(told.stdout_text(), format!("Told {host}.\n"));
    }
    let shown = json(&home.run("project", ["agents", "show", "off", "--json"]));
    assert_eq!(shown["agent"]["state"], "disabled");
    let fields = |name: &str| {
        json(&home.run("project", ["agents", "show", name, "--json"]))["fields"].clone()
    };
    assert_eq!(fields("of-claude")["model"], Value::Null);
    assert_eq!(fields("of-copilot")["fallbackModels"][0], "m2");
    assert_eq!(fields("of-gemini")["maxExecutionTimeMs"], 120_000);
}

#[test]
fn settings_with_agents_are_pinned_and_never_quoted() {
    let home = home();
    put_all(&home, "project");
    home.run("project", ["trust"])
        .require_success("trust")
        .unwrap();
    for arguments in [
        &["agents", "show", "of-settings"][..],
        &["agents", "show", "of-settings", "--json"],
        &["agents", "list"],
        &["prompt", "of-settings", "--explain"],
    ] {
        let finished = home.run("project", arguments);
        let said = format!("{}{}", finished.stdout_text(), finished.stderr_text());
        assert!(
            said.contains("of-settings") && !said.contains(SECRET),
            "{said}"
        );
    }
    home.file(
        "project/opencode.json",
        "{\"agent\": {\"of-settings\": {\"description\": \"d\", \"prompt\": \"Other.\"}}}",
    );
    let shown = json(&home.run("project", ["agents", "show", "of-settings", "--json"]));
    assert_eq!(shown["agent"]["state"], "changed", "{shown}");
    home.file(
        "project/opencode.json",
        format!("{{\"x\": \"{SECRET}\" oops"),
    );
    let listed = home
        .run("project", ["agents", "list", "--json"])
        .stdout_text();
    assert!(
        listed.contains("agent-syntax") && !listed.contains(SECRET),
        "{listed}"
    );
}

#[test]
fn the_settings_of_a_user_hold_agents_too() {
    let home = home();
    home.file(
        "home/.config/opencode/opencode.jsonc",
        "// mine\n{\"agent\": {\"own\": {\"description\": \"d\", \"prompt\": \"Told.\"},}}",
    )
    .file(
        "home/.config/opencode/agents/own.md",
        "---\ndescription: d\n---\nFrom a file.\n",
    );
    let shown = json(&home.run("project", ["agents", "show", "own", "--json"]));
    assert_eq!(shown["agent"]["root"], "user:.config/opencode/agents");
    let other = "own@user:.config/opencode/opencode.jsonc";
    let told = home.run("project", ["prompt", other]);
    assert_eq!(told.stdout_text(), "Told.\n", "{}", told.stderr_text());
}

/// States and first reasons of the agents that a host has, by root and name.
fn host_view(home: &TestHome, host: &str) -> BTreeMap<String, String> {
    let listed = json(&home.run("project", ["agents", "list", "--host", host, "--json"]));
    let agents = listed["agents"].as_array().unwrap().iter();
    agents
        .map(|agent| {
            let word = |key: &str| agent[key].as_str().unwrap().to_owned();
            let reason = agent["reasons"][0]["code"].as_str().unwrap_or("");
            (
                format!("{} {}", word("root"), word("name")),
                format!("{} {reason}", word("state")).trim().to_owned(),
            )
        })
        .collect()
}

fn assert_view(home: &TestHome, host: &str, expected: &[(&str, &str)]) {
    let expected: BTreeMap<String, String> = expected
        .iter()
        .map(|(agent, state)| ((*agent).to_owned(), (*state).to_owned()))
        .collect();
    assert_eq!(host_view(home, host), expected, "{host}");
}

#[test]
fn each_host_has_its_own_folders_and_its_own_rank() {
    let home = home();
    for (path, name) in [
        ("home/.gemini/agents/same.md", "same"),
        ("project/.gemini/agents/same.md", "same"),
        ("project/.gemini/agents/_draft.md", "draft"),
        ("project/.gemini/agents/big.md", "Big"),
        ("project/.gemini/agents/sub/deep.md", "deep"),
        ("home/.pi/agent/agents/same.md", "same"),
        ("home/.agents/same.md", "same"),
        ("project/.agents/same.md", "same"),
        ("project/.agents/agents/inner.md", "inner"),
        ("project/.pi/agents/same.md", "same"),
        ("project/.opencode/agent/same.md", "same"),
    ] {
        home.file(path, format!("---\nname: {name}\ndescription: d\n---\nx\n"));
    }
    home.file("project/.gemini/agents/silent.md", "---\nname: silent\n---\nx\n")
        .file("project/.agents/notes.md", "---\ntitle: no agent\n---\nx\n")
        .file(
            "home/.config/opencode/opencode.json",
            "{\"agent\": {\"same\": {\"prompt\": \"x\"}, \"off\": {\"prompt\": \"x\", \"disable\": true}}}",
        );
    assert_view(
        &home,
        "gemini",
        &[
            ("project:.gemini/agents same", "ok"),
            ("user:.gemini/agents same", "shadowed shadowed"),
            ("project:.gemini/agents draft", "filtered file-name"),
            ("project:.gemini/agents Big", "filtered name-form"),
            ("project:.gemini/agents deep", "filtered nested"),
            ("project:.gemini/agents silent", "filtered no-description"),
        ],
    );
    assert_view(
        &home,
        "pi",
        &[
            ("project:.pi/agents same", "ok"),
            ("project:.agents inner", "ok"),
            ("project:.agents same", "shadowed shadowed"),
            ("user:.agents same", "shadowed shadowed"),
            ("user:.pi/agent/agents same", "shadowed shadowed"),
        ],
    );
    assert_view(
        &home,
        "opencode",
        &[
            ("project:.opencode/agent same", "ok"),
            (
                "user:.config/opencode/opencode.json same",
                "shadowed shadowed",
            ),
            (
                "user:.config/opencode/opencode.json off",
                "disabled disabled",
            ),
        ],
    );
    assert_view(&home, "codex", &[]);
    let finished = home.run("project", ["agents", "list", "--host", "nobody"]);
    assert!(
        finished.stderr_text().contains("unknown host"),
        "{}",
        finished.stderr_text()
    );
}

#[test]
fn what_only_a_host_writes_is_not_changed_here() {
    let home = home();
    put_all(&home, "project");
    home.run("project", ["trust"])
        .require_success("trust")
        .unwrap();
    let files = ["project/opencode.json", "project/.codex/agents/x.toml"];
    let read = || files.map(|file| std::fs::read(home.path(file)).unwrap());
    let before = read();
    for name in ["of-settings", "of-codex"] {
        for arguments in [
            &["agents", "delete", name][..],
            &["agents", "rename", name, "other"],
            &["agents", "edit", name, "--model", "m"],
        ] {
            let finished = home.run("project", arguments);
            assert!(!finished.success(), "{arguments:?}");
            let said = finished.stderr_text();
            assert!(said.contains("format of its host"), "{said}");
        }
    }
    assert_eq!(before, read());
}
