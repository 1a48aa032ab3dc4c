//! Changes to agents and chains that are refused, or that must not say more than they did.

use std::path::PathBuf;

use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::json;

use super::{AGENT, MINE, agent, session, states};

fn state(session: &Session, address: &str) -> String {
    let (name, root) = address.split_once('@').unwrap_or((address, ""));
    let mut found = states(session, name);
    found.retain(|[its_root, _]| root.is_empty() || its_root == root);
    let [_, state] = found.swap_remove(0);
    state
}

/// Every path below a folder.
fn below(session: &Session, folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![session.path(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}

const CREATE_AGENT: &str = "agents create w --description d --scope project";
const CREATE_CHAIN: &str =
    r#"chains create w --description d --scope project --steps [{"agent":"scout","task":"t"}]"#;
const OVERRIDE: &str = "agents edit oracle --override --scope project --model evil";

#[test]
fn what_is_written_for_a_project_does_not_follow_a_link_out_of_it() {
    for (link, below_it, words) in [
        (".grove", "", CREATE_AGENT),
        (".grove", "", CREATE_CHAIN),
        (".grove", "", OVERRIDE),
        (".grove", "", "agents disable oracle --scope project"),
        (".grove/agents", "agents", CREATE_AGENT),
        (".grove/chains", "chains", CREATE_CHAIN),
        (".grove/config.toml", "config.toml", OVERRIDE),
    ] {
        for is_there in [true, false] {
            let session = session();
            let outside = format!("outside/{below_it}");
            session.dir("outside");
            match below_it {
                "config.toml" if is_there => drop(session.file(&outside, "# mine\n")),
                _ if is_there => drop(session.dir(&outside)),
                _ => {}
            }
            let outside = session.path(outside.trim_end_matches('/'));
            session.link(format!("project/{link}"), &outside);
            let before = below(&session, "outside");
            let said = session.refused(words);
            let named = session.path("project").join(link);
            let [named, outside] = [named, outside].map(|path| path.display().to_string());
            said.says([&named, &outside, "not in the project"]);
            assert_eq!(below(&session, "outside"), before, "{link}: {words}");
        }
    }
}

#[test]
fn a_link_that_stays_in_the_project_is_followed() {
    let session = session();
    session
        .dir("project/tools/grove")
        .link("project/.grove", "tools/grove");
    session.done(CREATE_AGENT);
    session.done(OVERRIDE);
    assert!(session.has("project/tools/grove/agents/w.md"));
    assert!(session.has("project/tools/grove/config.toml"));
}

#[test]
fn agents_behind_a_link_out_of_the_project_are_not_changed() {
    for (link, outside) in [
        (".grove", "outside"),
        (".grove/agents", "outside/agents"),
        (".pi/agents", "outside/agents"),
    ] {
        let session = session();
        session
            .file("outside/agents/x.md", AGENT)
            .link(format!("project/{link}"), session.path(outside));
        for words in ["edit x --model evil", "rename x y", "delete x --yes"] {
            session
                .refused(&format!("agents {words} --scope project"))
                .says(["no agent is called `x`"]);
        }
        let why = "error[path-escape]: the root is a link that leads out of its project";
        session.grove("agents list").says([why]);
        assert_eq!(session.read("outside/agents/x.md"), AGENT, "{link}");
        assert_eq!(below(&session, "outside/agents").len(), 1, "{link}");
    }
    // The same agent in a folder of the project is there and is changed.
    let session = session();
    session.file("project/.pi/agents/x.md", AGENT);
    session.done("agents edit x --model opus --scope project");
    session.done("agents delete x --scope project --yes");
    assert!(!session.has("project/.pi/agents/x.md"));
}

#[test]
fn an_export_does_not_follow_a_link_out_of_the_project() {
    let session = session();
    session
        .file(MINE, AGENT)
        .dir("outside")
        .link("project/.claude", session.path("outside"));
    let exported = session.grove("agents export --host claude --yes");
    assert_eq!(exported.code, 1, "{exported}");
    assert!(below(&session, "outside").is_empty());
}

#[test]
fn names_whose_files_are_no_agents_are_refused_before_anything_is_written() {
    let session = session();
    session.file(MINE, AGENT);
    for words in [
        "create skill --description d",
        "create SKILL --description d",
        "create Skill --description d --scope project",
        "create chain --package p --description d",
        "rename x skill",
        "rename x Skill",
        "rename x chain --package p",
    ] {
        session
            .refused(&format!("agents {words}"))
            .says([".md, which is not read as this agent's"]);
    }
    assert_eq!(session.read(MINE), AGENT);
    assert_eq!(below(&session, "home/.grove/agents").len(), 1);
    assert!(!session.has("project/.grove"));
    session.done("agents create skill --package p --description d");
    session.done("agents create chain --description d");
    assert_eq!(
        ["p.skill", "chain"].map(|name| state(&session, name)),
        ["ok"; 2]
    );
}

#[test]
fn renaming_replaces_a_name_that_cannot_be_used() {
    let session = session();
    session.file(MINE, agent("a/b"));
    session.done("agents rename x y");
    assert_eq!(session.read("home/.grove/agents/y.md"), agent("y"));
    assert_eq!(state(&session, "y"), "ok");
}

#[test]
fn a_file_that_is_not_utf_8_says_so_and_where() {
    let session = session();
    let bytes = [AGENT.as_bytes(), b"caf\xe9\n"].concat();
    session.file(MINE, &bytes);
    for words in ["edit x --model opus", "rename x y", "delete x --yes"] {
        session
            .refused(&format!("agents {words}"))
            .says(["x.md cannot be edited: line 7 is not UTF-8"]);
    }
    assert_eq!(std::fs::read(session.path(MINE)).unwrap(), bytes);
}

/// A trusted project whose settings switch `worker` off, or on.
fn switched_by_project(is_off: bool) -> Session {
    let session = session();
    let settings = format!(
        "{{\"subagents\": {{\n  \"agentOverrides\": {{\"worker\": {{\"disabled\": {is_off}}}}}}}}}"
    );
    session.file("project/.pi/settings.json", settings).trust();
    session
}

#[test]
fn a_switch_says_what_still_decides_otherwise_and_what_helps() {
    for (is_off, action, stays, before, after) in [
        (true, "enable", "off", "disabled", "ok"),
        (false, "disable", "on", "ok", "disabled"),
    ] {
        let session = switched_by_project(is_off);
        assert_eq!(state(&session, "worker"), before);
        let said = session.refused(&format!("agents {action} worker"));
        let file = session.path("project/.pi/settings.json");
        let line = format!("{}:2", file.display());
        let advised = format!("agents {action} worker --scope project");
        let stays = format!("`worker` stays switched {stays}");
        said.says([&stays, &line, &format!("grove {advised}")]);
        assert!(!session.has(USER_CONFIG), "nothing is left behind");

        // What is advised helps, once it is trusted as everything of a project must be.
        let made = session.done(&advised);
        if action == "enable" {
            made.says(["worker is disabled", "run `grove trust`"])
                .lacks(["switched on", "grove agents enable"]);
        }
        session.trust();
        assert_eq!(state(&session, "worker"), after);
    }
}

#[test]
fn a_refused_switch_leaves_the_configuration_as_it_was() {
    let session = switched_by_project(true);
    let config = "# mine\n[agents.overrides.worker]\ndisabled = true\n";
    session.file(USER_CONFIG, config);
    session.refused("agents enable worker");
    assert_eq!(session.read(USER_CONFIG), config);
}

#[test]
fn what_is_advised_for_one_of_several_of_a_name_reaches_that_one() {
    let session = session();
    for folder in ["one", "two"] {
        session.file(format!("{folder}/dup.md"), agent("dup"));
    }
    let folders = std::env::join_paths([session.path("one"), session.path("two")]).unwrap();
    let session = session.with_env("GROVE_AGENT_DIRS", folders);
    let twins = states(&session, "dup").into_iter();
    let addresses: Vec<String> = twins.map(|[root, _]| format!("dup@{root}")).collect();
    assert_eq!(addresses.len(), 2);
    for address in &addresses {
        session.done(&format!("agents disable {address}"));
    }
    for address in addresses.iter().rev() {
        let told = session.grove(["agents", "show", address]).to_string();
        let advised = format!("agents enable {address}");
        assert!(told.contains(&advised), "{told}");
        session.done(&advised);
        assert_ne!(state(&session, address), "disabled");
    }
    assert_eq!(session.read(USER_CONFIG).trim(), "");
    // By its bare name the first that is off is meant, and what is said of its address goes.
    session.done(&format!("agents disable {}", addresses[0]));
    session.done("agents enable dup");
    assert_eq!(state(&session, &addresses[0]), "ok");
}

#[test]
fn an_empty_value_unsets_in_a_file_as_in_an_override_and_brackets_say_none() {
    let session = session();
    session.file(MINE, AGENT);
    let tools = |name: &str| session.json(["agents", "show", name])["fields"]["tools"].clone();
    for flag in ["--tools=", "--set tools="] {
        for (name, more, file, none) in [
            ("x", "", MINE, "\ntools: []\n"),
            ("scout", "--override", USER_CONFIG, "tools = []\n"),
        ] {
            let unset = tools(name);
            let edit = format!("agents edit {name} {more} {flag}");
            session.done(&format!("{edit}[read,ls]"));
            assert_eq!(tools(name), json!(["read", "ls"]), "{edit}");
            session.done(&edit);
            assert_eq!(tools(name), unset, "{edit}");
            session.done(&format!("{edit}[]"));
            assert!(session.read(file).contains(none), "{edit}");
            session.done(&edit);
        }
    }
    assert_eq!(session.read(MINE), AGENT);
    assert!(!session.read(USER_CONFIG).contains("tools"));
}

#[test]
fn a_package_of_blanks_is_refused_for_agents_and_chains_alike() {
    let create = ["create", "w", "--description", "d", "--package"];
    let steps = ["--steps", r#"[{"agent":"scout","task":"t"}]"#];
    for blank in [" ", "   ", "\t"] {
        for (kind, more) in [("agents", &[][..]), ("chains", &steps)] {
            let session = session();
            let words = [&[kind][..], &create, &[blank], more].concat();
            session.refused(words).says(["package"]);
            assert!(!session.has("home/.grove"), "{kind} {blank:?}");
        }
    }
    // An empty one says that there is none.
    let session = session();
    session.done("agents create w --package p --description d");
    session.done(["agents", "rename", "p.w", "w", "--package", ""]);
    session.refused(["agents", "rename", "w", "v", "--package", " "]);
}

/// What `grove validate` finds fault with is not written.
#[test]
fn a_name_that_is_too_long_is_refused_by_creating_and_renaming() {
    let long = "a".repeat(65);
    let session = session();
    session.done("skills create short --description d");
    session.done("agents create short --description d");
    let before = (
        below(&session, "home/.grove"),
        session.read("home/.grove/agents/short.md"),
    );
    for kind in ["skills", "agents"] {
        for words in [
            vec![kind, "create", &long, "--description", "d"],
            vec![kind, "rename", "short", &long],
        ] {
            let said = session.grove(words).fails(2);
            said.says(["name has 65 characters, more than 64"]);
        }
    }
    let after = (
        below(&session, "home/.grove"),
        session.read("home/.grove/agents/short.md"),
    );
    assert_eq!(before, after);
    let longest = "a".repeat(64);
    session.done(["skills", "rename", "short", &longest]);
    let file = session.path(format!("home/.grove/skills/{longest}"));
    session.done(["validate", file.to_str().unwrap()]);
}

#[test]
fn a_level_of_thinking_that_nobody_knows_is_said() {
    let session = session();
    let help = "write `off`, `minimal`, `low`, `medium`, `high` or `xhigh`";
    let thinking = "warning[agent-thinking]: `thinking` is `huge`";
    session
        .done("agents create helper --description d --thinking huge")
        .says([thinking, help]);
    let file = session.path("home/.grove/agents/helper.md");
    session
        .grove(["validate", file.to_str().unwrap()])
        .fails(1)
        .prints([thinking]);
    session
        .grove("check --name helper")
        .fails(1)
        .prints([thinking]);
    session
        .done("agents edit helper --thinking vast")
        .says(["`thinking` is `vast`"]);
    session
        .done("agents edit helper --model m")
        .lacks(["agent-thinking"]);
    session
        .done("agents edit helper --thinking high")
        .lacks(["agent-thinking"]);
    // A host's own file has the host's words.
    session.dir("home/.claude").file(
        "home/.claude/agents/deep.md",
        "---\nname: deep\ndescription: d\neffort: max\n---\nThink.\n",
    );
    session.done("agents show deep").lacks(["agent-thinking"]);
}

#[test]
fn an_engine_that_is_none_is_answered_with_those_that_are() {
    let session = session();
    session.file(MINE, AGENT);
    session.grove("agents edit x --engine foo").fails(2).says([
        "`foo` is not an engine",
        "`native`, `claude`, `codex`, `pi`, `copilot`, `opencode`, `gemini` or `acp:`",
    ]);
    session.grove("plan x task --engine foo").fails(2).says([
        "choose one of native, claude, codex, pi, copilot, opencode, gemini, or `acp:COMMAND`",
    ]);
}

#[test]
fn a_change_that_asks_for_nothing_is_refused_in_plain_words() {
    let session = session();
    session.file(MINE, AGENT);
    let said = session.grove("agents edit x").fails(2);
    said.says(["there is nothing to change"]);
}
