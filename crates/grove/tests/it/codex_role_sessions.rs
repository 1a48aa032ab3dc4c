//! Roles that Codex's settings declare, as the program finds them.

use grove_testkit::session::{Session, rows};
use serde_json::json;

const SECRET: &str = "sk-very-secret-value";

fn session() -> Session {
    crate::session().with_repository()
}

/// Settings with a secret that declare one role.
fn put_role(session: &Session, folder: &str, name: &str, file: &str) {
    session.file(
        format!("{folder}/config.toml"),
        format!(
            "model = 'm'\n[mcp_servers.x]\nenv = {{ KEY = '{SECRET}' }}\n[agents]\nmax_threads = 3\n[agents.{name}]\ndescription = 'Declared {name}'\nconfig_file = '{file}'\n"
        ),
    );
}

/// The file of a role.
fn role(text: &str) -> String {
    format!(
        "model = 'gpt-5'\nmodel_reasoning_effort = 'high'\nsandbox_mode = 'read-only'\ndeveloper_instructions = '{text}'\n"
    )
}

/// Name and state of every agent that did not come with Grove.
fn agents(session: &Session, flags: &str) -> Vec<[String; 2]> {
    let listed = session.json(&format!("agents list {flags}"));
    let all = rows(&listed["agents"], ["name", "state", "source"]).into_iter();
    let own = all.filter(|[.., source]| source != "bundled");
    own.map(|[name, state, _]| [name, state]).collect()
}

#[test]
fn a_role_of_the_users_settings_is_an_agent_with_the_text_of_its_file() {
    let session = session();
    put_role(&session, "home/.codex", "lead", "roles/l.toml");
    session.file("home/.codex/roles/l.toml", role("Lead them"));
    assert_eq!(agents(&session, ""), [["lead", "ok"]]);
    assert_eq!(session.grove("prompt lead").stdout, "Lead them\n");
    let shown = session.json("agents show lead");
    assert_eq!(shown["agent"]["description"], "Declared lead");
    assert_eq!(shown["fields"]["model"], "gpt-5");
    assert_eq!(shown["fields"]["thinking"], "high");
    let mut findings = rows(&shown["agent"]["diagnostics"], ["code", "severity", "file"]);
    findings.retain(|[code, ..]| code == "agent-unmapped");
    let [_, severity, file] = &findings[0];
    // What cannot be mapped is said where it stands.
    assert!(file.ends_with("roles/l.toml"), "{shown}");
    assert_eq!(severity, "warning", "{shown}");
    for command in ["agents show lead", "agents list", "prompt lead --explain"] {
        session.grove(command).lacks([SECRET]);
    }
    // As Codex itself has it.
    assert_eq!(agents(&session, "--host codex"), [["lead", "ok"]]);
    // It is Codex's file, and not changed here.
    let edit = session.grove("agents edit lead --model x");
    assert_ne!(edit.code, 0, "{edit}");
}

#[test]
fn codex_home_says_where_the_settings_are() {
    let session = session();
    let folder = session.path("home/elsewhere");
    let session = session.with_env("CODEX_HOME", folder);
    for (folder, name) in [("home/.codex", "usual"), ("home/elsewhere", "lead")] {
        put_role(&session, folder, name, "role.toml");
        session.file(format!("{folder}/role.toml"), role("Lead them"));
    }
    assert_eq!(agents(&session, ""), [["lead", "ok"]]);
}

#[test]
fn a_projects_roles_wait_for_trust_and_a_change_of_either_file_is_a_change() {
    let session = session();
    put_role(&session, "project/.codex", "lead", "../roles/l.toml");
    session.file("project/roles/l.toml", role("Lead them"));
    assert_eq!(agents(&session, ""), [["lead", "untrusted"]]);
    session.trust();
    assert_eq!(agents(&session, ""), [["lead", "ok"]]);
    assert_eq!(session.grove("prompt lead").stdout, "Lead them\n");
    session.file("project/roles/l.toml", role("Mislead them"));
    assert_eq!(agents(&session, ""), [["lead", "changed"]]);
    session.trust();
    assert_eq!(agents(&session, ""), [["lead", "ok"]]);
    put_role(&session, "project/.codex", "boss", "../roles/l.toml");
    assert_eq!(agents(&session, ""), [["boss", "changed"]]);
    assert!(agents(&session, "--scope user").is_empty());
}

#[test]
fn a_projects_settings_name_no_file_outside_of_the_project() {
    for named in [
        "../../outside.toml",
        "link.toml",
        "~/outside.toml",
        "ABSOLUTE",
    ] {
        let session = session();
        let outside = session.path("outside.toml");
        session
            .file("outside.toml", role("Planted"))
            .file("home/outside.toml", role("Planted"))
            .link("project/.codex/link.toml", &outside);
        let named = named.replace("ABSOLUTE", outside.to_str().unwrap());
        put_role(&session, "project/.codex", "lead", &named);
        session.trust();
        assert_eq!(agents(&session, ""), [["lead", "invalid"]], "{named}");
        let shown = session.json("agents show lead");
        let findings = rows(&shown["agent"]["diagnostics"], ["code", "line"]);
        assert_eq!(findings[0], ["agent-elsewhere", "8"], "{shown}");
    }
}

#[test]
fn a_role_file_without_a_name_is_called_as_the_settings_declare_it_and_listed_once() {
    let session = session();
    put_role(&session, "home/.codex", "lead", "agents/l.toml");
    session.file("home/.codex/agents/l.toml", role("Lead them"));
    for flags in ["", "--host codex"] {
        assert_eq!(agents(&session, flags), [["lead", "ok"]], "{flags}");
    }
    // With a name of its own it is an agent by itself, under one name with the declared one.
    let named = format!("name = 'lead'\ndescription = 'Own'\n{}", role("Lead them"));
    session.file("home/.codex/agents/l.toml", named);
    let found = agents(&session, "");
    let usable = found.iter().filter(|found| **found == ["lead", "ok"]);
    assert_eq!((usable.count(), found.len()), (1, 2), "{found:?}");
}

#[test]
fn settings_that_are_no_toml_or_declare_nothing_break_nothing() {
    let session = session();
    let file = "home/.codex/config.toml";
    session.file(file, "model = 'm'\n[agents]\nmax_threads = 1\n");
    assert!(agents(&session, "").is_empty());
    session.file(file, format!("key = '{SECRET}'\n[agents.x\n"));
    assert_eq!(agents(&session, ""), [["config", "invalid"]]);
    session.grove("agents show config").lacks([SECRET]);
}

#[test]
fn each_role_file_is_seen_and_named_by_itself() {
    let session = session();
    session
        .file(
            "project/.codex/config.toml",
            "[agents.one]\ndescription = '1'\nconfig_file = 'roles/one.toml'\n[agents.two]\ndescription = '2'\nconfig_file = '../two.toml'\n",
        )
        .file("project/.codex/roles/one.toml", role("Be one."))
        .file("project/two.toml", role("Be two."));
    let trust = || session.trust_with("--json").json();
    let files = [".codex/config.toml", ".codex/roles/one.toml", "two.toml"];
    assert_eq!(trust()["new"], json!(files));
    let digest = |name: &str| session.json(["agents", "show", name])["digest"].clone();
    let before = ["one", "two"].map(digest);
    session.file("project/two.toml", role("Be another."));
    assert_eq!(agents(&session, ""), [["one", "ok"], ["two", "changed"]]);
    assert_eq!(digest("one"), before[0]);
    assert_ne!(digest("two"), before[1]);
    let granted = trust();
    assert_eq!(granted["changed"], json!(["two.toml"]));
    assert_eq!(granted["unchanged"], 2);
    assert_eq!(agents(&session, ""), [["one", "ok"], ["two", "ok"]]);

    let file = json!(session.path("project/two.toml"));
    assert_eq!(session.json("agents show two")["textFile"], file);
    assert_eq!(session.json("prompt two")["blocks"][0]["source"], file);
    session.grove("agents show two").prints(["two.toml"]);
}

#[test]
fn the_name_of_the_settings_file_is_no_roles_name() {
    let session = crate::session();
    session
        .file(
            "home/.codex/config.toml",
            "[agents.alpha]\ndescription = 'a'\nconfig_file = 'alpha.toml'\n[agents.beta]\ndescription = 'b'\nconfig_file = 'beta.toml'\n",
        )
        .file("home/.codex/alpha.toml", role("Be alpha."))
        .file("home/.codex/beta.toml", role("Be beta."))
        .file(
            "home/.config/opencode/opencode.json",
            "{\"agent\": {\"gamma\": {\"description\": \"g\", \"prompt\": \"Be gamma.\"}}}",
        );
    let found = agents(&session, "");
    assert_eq!(found.len(), 3, "{found:?}");
    for query in ["config", "opencode"] {
        for command in ["prompt", "agents disable"] {
            let refused = session.grove(&format!("{command} {query}"));
            assert_ne!(refused.code, 0, "{refused}");
            refused.says([&format!("`{query}`")]);
        }
    }
    session.grove("prompt alpha").prints(["Be alpha."]);
    let chain = "{\"name\": \"c\", \"description\": \"d\", \"chain\": [{\"agent\": \"config\"}]}";
    session.file("home/.grove/chains/c.chain.json", chain);
    let check = session.grove("chains check --json");
    check.prints(["chain-agent-unknown"]);
}
