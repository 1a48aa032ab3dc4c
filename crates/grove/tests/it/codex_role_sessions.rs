//! Roles that Codex's settings declare, as the program finds them.

use grove_testkit::home::TestHome;
use grove_testkit::process::Finished;
use serde_json::Value;

const SECRET: &str = "sk-very-secret-value";

fn home() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_grove"))
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

/// Settings with a secret that declare one role, and the role's file.
fn put_role(home: &TestHome, folder: &str, name: &str, file: &str) {
    home.file(
        format!("{folder}/config.toml"),
        format!(
            "model = 'm'\n[mcp_servers.x]\nenv = {{ KEY = '{SECRET}' }}\n[agents]\nmax_threads = 3\n[agents.{name}]\ndescription = 'Declared {name}'\nconfig_file = '{file}'\n"
        ),
    );
}

fn role(text: &str) -> String {
    format!(
        "model = 'gpt-5'\nmodel_reasoning_effort = 'high'\nsandbox_mode = 'read-only'\ndeveloper_instructions = '{text}'\n"
    )
}

/// Name and state of every agent that did not come with Grove.
fn agents(home: &TestHome, arguments: &[&str]) -> Vec<(String, String)> {
    let command: Vec<&str> = ["agents", "list", "--json"]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    let listed = json(&home.run("project", command));
    let all = listed["agents"].as_array().unwrap().iter();
    let own = all.filter(|agent| agent["source"] != "bundled");
    own.map(|agent| {
        let text = |key: &str| agent[key].as_str().unwrap().to_owned();
        (text("name"), text("state"))
    })
    .collect()
}

fn one(name: &str, state: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), state.to_owned())]
}

#[test]
fn a_role_of_the_users_settings_is_an_agent_with_the_text_of_its_file() {
    let home = home();
    home.dir("project/.git");
    put_role(&home, "home/.codex", "lead", "roles/l.toml");
    home.file("home/.codex/roles/l.toml", role("Lead them"));
    assert_eq!(agents(&home, &[]), one("lead", "ok"));
    assert_eq!(
        home.run("project", ["prompt", "lead"]).stdout_text(),
        "Lead them\n"
    );
    let shown = json(&home.run("project", ["agents", "show", "lead", "--json"]));
    assert_eq!(shown["agent"]["description"], "Declared lead");
    assert_eq!(shown["fields"]["model"], "gpt-5");
    assert_eq!(shown["fields"]["thinking"], "high");
    let findings = shown["agent"]["diagnostics"].as_array().unwrap();
    let unmapped = findings
        .iter()
        .find(|it| it["code"] == "agent-unmapped")
        .unwrap();
    let file = unmapped["file"].as_str().unwrap();
    assert!(
        file.ends_with("roles/l.toml"),
        "what cannot be mapped is said where it stands: {shown}"
    );
    assert_eq!(unmapped["severity"], "warning", "{unmapped}");
    for arguments in [
        &["agents", "show", "lead"][..],
        &["agents", "list"],
        &["prompt", "lead", "--explain"],
    ] {
        let run = home.run("project", arguments.iter().copied());
        assert!(!run.stdout_text().contains(SECRET) && !run.stderr_text().contains(SECRET));
    }
    // As Codex itself has it.
    assert_eq!(agents(&home, &["--host", "codex"]), one("lead", "ok"));
    // It is Codex's file, and not changed here.
    let edit = home.run("project", ["agents", "edit", "lead", "--model", "x"]);
    assert!(edit.require_success("edit").is_err());
}

#[test]
fn codex_home_says_where_the_settings_are() {
    let elsewhere = home();
    let folder = elsewhere.path("home/elsewhere");
    let home = elsewhere.with_env("CODEX_HOME", folder);
    home.dir("project/.git");
    put_role(&home, "home/.codex", "usual", "u.toml");
    home.file("home/.codex/u.toml", role("Usual"));
    put_role(&home, "home/elsewhere", "lead", "l.toml");
    home.file("home/elsewhere/l.toml", role("Lead them"));
    assert_eq!(agents(&home, &[]), one("lead", "ok"));
}

#[test]
fn a_projects_roles_wait_for_trust_and_a_change_of_either_file_is_a_change() {
    let home = home();
    home.dir("project/.git");
    put_role(&home, "project/.codex", "lead", "../roles/l.toml");
    home.file("project/roles/l.toml", role("Lead them"));
    let trust = || {
        home.run("project", ["trust"])
            .require_success("trust")
            .unwrap()
    };
    assert_eq!(agents(&home, &[]), one("lead", "untrusted"));
    trust();
    assert_eq!(agents(&home, &[]), one("lead", "ok"));
    assert_eq!(
        home.run("project", ["prompt", "lead"]).stdout_text(),
        "Lead them\n"
    );
    home.file("project/roles/l.toml", role("Mislead them"));
    assert_eq!(agents(&home, &[]), one("lead", "changed"));
    trust();
    assert_eq!(agents(&home, &[]), one("lead", "ok"));
    put_role(&home, "project/.codex", "boss", "../roles/l.toml");
    assert_eq!(agents(&home, &[]), one("boss", "changed"));
    assert_eq!(agents(&home, &["--scope", "user"]), []);
}

#[test]
fn a_projects_settings_name_no_file_outside_of_the_project() {
    for named in [
        "../../outside.toml",
        "link.toml",
        "~/outside.toml",
        "ABSOLUTE",
    ] {
        let home = home();
        home.dir("project/.git");
        home.file("outside.toml", role("Planted"));
        home.file("home/outside.toml", role("Planted"));
        home.link("project/.codex/link.toml", home.path("outside.toml"));
        let outside = home.path("outside.toml");
        let named = named.replace("ABSOLUTE", outside.to_str().unwrap());
        put_role(&home, "project/.codex", "lead", &named);
        home.run("project", ["trust"])
            .require_success("trust")
            .unwrap();
        assert_eq!(agents(&home, &[]), one("lead", "invalid"), "{named}");
        let shown = json(&home.run("project", ["agents", "show", "lead", "--json"]));
        assert_eq!(
            shown["agent"]["diagnostics"][0]["code"], "agent-elsewhere",
            "{shown}"
        );
        assert_eq!(shown["agent"]["diagnostics"][0]["line"], 8, "{shown}");
    }
}

#[test]
fn a_role_file_without_a_name_is_called_as_the_settings_declare_it_and_listed_once() {
    let home = home();
    home.dir("project/.git");
    put_role(&home, "home/.codex", "lead", "agents/l.toml");
    home.file("home/.codex/agents/l.toml", role("Lead them"));
    for arguments in [&[][..], &["--host", "codex"]] {
        assert_eq!(agents(&home, arguments), one("lead", "ok"), "{arguments:?}");
    }
    // With a name of its own it is an agent by itself, under one name with the declared one.
    let named = format!("name = 'lead'\ndescription = 'Own'\n{}", role("Lead them"));
    home.file("home/.codex/agents/l.toml", named);
    let found = agents(&home, &[]);
    let usable = found
        .iter()
        .filter(|(name, state)| name == "lead" && state == "ok");
    assert_eq!((usable.count(), found.len()), (1, 2), "{found:?}");
}

#[test]
fn settings_that_are_no_toml_or_declare_nothing_break_nothing() {
    let home = home();
    home.dir("project/.git");
    home.file(
        "home/.codex/config.toml",
        "model = 'm'\n[agents]\nmax_threads = 1\n",
    );
    assert_eq!(agents(&home, &[]), []);
    home.file(
        "home/.codex/config.toml",
        format!("key = '{SECRET}'\n[agents.x\n"),
    );
    assert_eq!(agents(&home, &[]), one("config", "invalid"));
    let listed = home.run("project", ["agents", "show", "config"]);
    assert!(
        !listed.stdout_text().contains(SECRET),
        "{}",
        listed.stdout_text()
    );
}

#[test]
fn each_role_file_is_seen_and_named_by_itself() {
    let home = home();
    home.dir("project/.git");
    home.file(
        "project/.codex/config.toml",
        "[agents.one]\ndescription = '1'\nconfig_file = 'roles/one.toml'\n[agents.two]\ndescription = '2'\nconfig_file = '../two.toml'\n",
    );
    home.file("project/.codex/roles/one.toml", role("Be one."));
    home.file("project/two.toml", role("Be two."));
    let trust = || json(&home.run("project", ["trust", "--json"]));
    let files = [".codex/config.toml", ".codex/roles/one.toml", "two.toml"];
    assert_eq!(trust()["new"], serde_json::json!(files));
    let digest = |name: &str| {
        let shown = json(&home.run("project", ["agents", "show", name, "--json"]));
        shown["digest"].as_str().unwrap().to_owned()
    };
    let before = (digest("one"), digest("two"));
    home.file("project/two.toml", role("Be another."));
    let states = |one: &str, two: &str| {
        let pair = |name: &str, state: &str| (name.to_owned(), state.to_owned());
        vec![pair("one", one), pair("two", two)]
    };
    assert_eq!(agents(&home, &[]), states("ok", "changed"));
    assert_eq!(digest("one"), before.0);
    assert_ne!(digest("two"), before.1);
    let granted = trust();
    assert_eq!(granted["changed"], serde_json::json!(["two.toml"]));
    assert_eq!(granted["unchanged"], 2);
    assert_eq!(agents(&home, &[]), states("ok", "ok"));

    let file = home.path("project/two.toml");
    let shown = json(&home.run("project", ["agents", "show", "two", "--json"]));
    assert_eq!(shown["textFile"].as_str(), file.to_str());
    let told = json(&home.run("project", ["prompt", "two", "--json"]));
    let block = &told["blocks"][0];
    assert_eq!(block["source"].as_str(), file.to_str(), "{told}");
    let text = home.run("project", ["agents", "show", "two"]).stdout_text();
    assert!(text.contains("two.toml"), "{text}");
}

#[test]
fn the_name_of_the_settings_file_is_no_roles_name() {
    let home = home();
    home.file(
        "home/.codex/config.toml",
        "[agents.alpha]\ndescription = 'a'\nconfig_file = 'alpha.toml'\n[agents.beta]\ndescription = 'b'\nconfig_file = 'beta.toml'\n",
    );
    home.file("home/.codex/alpha.toml", role("Be alpha."));
    home.file("home/.codex/beta.toml", role("Be beta."));
    home.file(
        "home/.config/opencode/opencode.json",
        "{\"agent\": {\"gamma\": {\"description\": \"g\", \"prompt\": \"Be gamma.\"}}}",
    );
    assert_eq!(agents(&home, &[]).len(), 3, "{:?}", agents(&home, &[]));
    for query in ["config", "opencode"] {
        for command in [&["prompt", query][..], &["agents", "disable", query]] {
            let finished = home.run("project", command);
            let told = finished.stderr_text();
            assert!(told.contains(&format!("`{query}`")), "{command:?}: {told}");
            assert!(!finished.success(), "{command:?}");
        }
    }
    let alpha = home.run("project", ["prompt", "alpha"]).stdout_text();
    assert!(alpha.contains("Be alpha."));
    let chain = "{\"name\": \"c\", \"description\": \"d\", \"chain\": [{\"agent\": \"config\"}]}";
    home.file("home/.grove/chains/c.chain.json", chain);
    let check = home
        .run("project", ["chains", "check", "--json"])
        .stdout_text();
    assert!(check.contains("chain-agent-unknown"), "{check}");
}
