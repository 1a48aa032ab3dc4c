//! Agents in the formats of other hosts, found where each host has them, and listed as each host would.

use grove_testkit::session::{Session, rows};
use serde_json::Value;

const SECRET: &str = "sk-very-secret-value";

fn session() -> Session {
    crate::session().without_bundled().with_repository()
}

/// A trusted project with one agent in each format, with its text, and one that is switched off.
fn project() -> Session {
    let session = session();
    for (path, text) in [
        (
            ".claude/agents/c.md",
            "---\nname: of-claude\ndescription: d\ntools: Read, Grep\nmodel: inherit\ncolor: red\n---\nTold claude.\n",
        ),
        (
            ".github/agents/p.agent.md",
            "---\nname: of-copilot\ndescription: d\nmodel: [m1, m2]\ntarget: vscode\n---\nTold copilot.\n",
        ),
        (
            ".gemini/agents/g.md",
            "---\nname: of-gemini\ndescription: d\ntimeout_mins: 2\ntemperature: 1\n---\nTold gemini.\n",
        ),
        (
            ".opencode/agents/o.md",
            "---\nname: of-opencode\ndescription: d\nmode: subagent\n---\nTold opencode.\n",
        ),
        (
            ".codex/agents/x.toml",
            "name = 'of-codex'\ndescription = 'd'\ndeveloper_instructions = '''\nTold codex.\n'''\nnickname_candidates = ['A']\n",
        ),
    ] {
        session.file(format!("project/{path}"), text);
    }
    session.file(
        "project/opencode.json",
        format!(
            "{{ \"provider\": {{\"x\": {{\"key\": \"{SECRET}\"}}}}, \"agent\": {{ \"of-settings\": {{ \"description\": \"d\", \"prompt\": \"Told settings.\", \"mode\": \"all\" }}, \"off\": {{ \"description\": \"d\", \"prompt\": \"x\", \"disable\": true }} }} }}\n"
        ),
    );
    let listed = session.json("agents list");
    let mut states = rows(&listed["agents"], ["source", "state"]);
    states.retain(|[source, _]| source == "project");
    assert_eq!(states, [["project", "untrusted"]; 7], "{listed}");
    session.trust();
    session
}

#[test]
fn every_format_is_read_where_its_host_has_it() {
    let session = project();
    let shown = |name: &str| session.json(["agents", "show", name]);
    for host in [
        "claude", "copilot", "gemini", "opencode", "codex", "settings",
    ] {
        let name = format!("of-{host}");
        let shown = shown(&name);
        assert_eq!(shown["agent"]["state"], "ok", "{shown}");
        let mut findings = rows(&shown["agent"]["diagnostics"], ["code", "line"]);
        findings.retain(|[code, _]| code == "agent-unmapped");
        assert_eq!(findings.len(), 1, "one key without a counterpart: {shown}");
        assert!(findings[0][1].parse::<u32>().is_ok(), "{shown}");
        let told = session.grove(["prompt", &name]).stdout;
        assert_eq!(told, format!("Told {host}.\n"));
    }
    assert_eq!(shown("off")["agent"]["state"], "disabled");
    assert_eq!(shown("of-claude")["fields"]["model"], Value::Null);
    let fallbacks = &shown("of-copilot")["fields"]["fallbackModels"];
    assert_eq!(fallbacks[0], "m2");
    let limit = &shown("of-gemini")["fields"]["maxExecutionTimeMs"];
    assert_eq!(*limit, 120_000);
}

#[test]
fn settings_with_agents_are_pinned_and_never_quoted() {
    let session = project();
    for command in [
        "agents show of-settings",
        "agents show of-settings --json",
        "agents list",
        "prompt of-settings --explain",
    ] {
        let said = session.grove(command).lacks([SECRET]);
        assert!(said.to_string().contains("of-settings"), "{said}");
    }
    session.file(
        "project/opencode.json",
        "{\"agent\": {\"of-settings\": {\"description\": \"d\", \"prompt\": \"Other.\"}}}",
    );
    let shown = session.json("agents show of-settings");
    assert_eq!(shown["agent"]["state"], "changed", "{shown}");
    let broken = format!("{{\"x\": \"{SECRET}\" oops");
    session.file("project/opencode.json", broken);
    let listed = session.grove("agents list --json");
    listed.prints(["agent-syntax"]).lacks([SECRET]);
}

#[test]
fn the_settings_of_a_user_hold_agents_too() {
    let session = session();
    session
        .file(
            "home/.config/opencode/opencode.jsonc",
            "// mine\n{\"agent\": {\"own\": {\"description\": \"d\", \"prompt\": \"Told.\"},}}",
        )
        .file(
            "home/.config/opencode/agents/own.md",
            "---\ndescription: d\n---\nFrom a file.\n",
        );
    let shown = session.json("agents show own");
    assert_eq!(shown["agent"]["root"], "user:.config/opencode/agents");
    let told = session.grove("prompt own@user:.config/opencode/opencode.jsonc");
    assert_eq!(told.ok().stdout, "Told.\n");
}

#[test]
fn each_host_has_its_own_folders_and_its_own_rank() {
    let session = session();
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
        session.file(path, format!("---\nname: {name}\ndescription: d\n---\nx\n"));
    }
    session
        .file("project/.gemini/agents/silent.md", "---\nname: silent\n---\nx\n")
        .file("project/.agents/notes.md", "---\ntitle: no agent\n---\nx\n")
        .file(
            "home/.config/opencode/opencode.json",
            "{\"agent\": {\"same\": {\"prompt\": \"x\"}, \"off\": {\"prompt\": \"x\", \"disable\": true}}}",
        );
    for (host, expected) in [
        (
            "gemini",
            &[
                "project:.gemini/agents Big filtered name-form",
                "project:.gemini/agents deep filtered nested",
                "project:.gemini/agents draft filtered file-name",
                "project:.gemini/agents same ok ",
                "project:.gemini/agents silent filtered no-description",
                "user:.gemini/agents same shadowed shadowed",
            ][..],
        ),
        (
            "pi",
            &[
                "project:.agents inner ok ",
                "project:.agents same shadowed shadowed",
                "project:.pi/agents same ok ",
                "user:.agents same shadowed shadowed",
                "user:.pi/agent/agents same shadowed shadowed",
            ],
        ),
        (
            "opencode",
            &[
                "project:.opencode/agent same ok ",
                "user:.config/opencode/opencode.json off disabled disabled",
                "user:.config/opencode/opencode.json same shadowed shadowed",
            ],
        ),
        ("codex", &[]),
    ] {
        let listed = session.json(["agents", "list", "--host", host]);
        let members = ["root", "name", "state", "reasons/0/code"];
        let view = rows(&listed["agents"], members).into_iter();
        let mut view: Vec<String> = view.map(|row| row.join(" ")).collect();
        view.sort();
        assert_eq!(view, expected, "{host}");
    }
    let unknown = session.grove("agents list --host nobody");
    unknown.says(["unknown host"]);
}

#[test]
fn what_only_a_host_writes_is_not_changed_here() {
    let session = project();
    let files = ["project/opencode.json", "project/.codex/agents/x.toml"];
    let before = files.map(|file| session.read(file));
    for name in ["of-settings", "of-codex"] {
        for change in ["delete NAME", "rename NAME other", "edit NAME --model m"] {
            let refused = session.grove(&format!("agents {}", change.replace("NAME", name)));
            assert_ne!(refused.code, 0, "{change}");
            refused.says(["format of its host"]);
        }
    }
    assert_eq!(before, files.map(|file| session.read(file)));
}
