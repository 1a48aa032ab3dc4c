//! Changes to agents and chains that are refused, or that must not say more than they did.

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished};

const AGENT: &str = "---\nname: x\ndescription: Does x.\n---\n\nI am x.\n";

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("project/.git");
    home
}

fn code(finished: &Finished) -> i32 {
    match finished.ending {
        Ending::Exited(code) => code,
        ref other => panic!("{other:?}"),
    }
}

fn run(home: &TestHome, words: &str) -> Finished {
    home.run("project", words.split_whitespace())
}

fn done(home: &TestHome, words: &str) -> Finished {
    let finished = run(home, words);
    assert_eq!(code(&finished), 0, "{words}: {}", finished.stderr_text());
    finished
}

/// Runs a command that must be refused, and gives what it says.
fn refused(home: &TestHome, words: &str) -> String {
    let finished = run(home, words);
    assert_ne!(code(&finished), 0, "{words}: {}", finished.stdout_text());
    assert_eq!(finished.stdout_text(), "", "{words}");
    finished.stderr_text()
}

fn read(home: &TestHome, path: &str) -> String {
    std::fs::read_to_string(home.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn state(home: &TestHome, address: &str) -> String {
    let list = done(home, "agents list --json").stdout_text();
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let mut agents = list["agents"].as_array().unwrap().iter();
    let (name, root) = address.split_once('@').unwrap_or((address, ""));
    let found =
        agents.find(|agent| agent["name"] == name && (root.is_empty() || agent["root"] == root));
    found.unwrap_or_else(|| panic!("{address}: {list}"))["state"]
        .as_str()
        .unwrap()
        .to_owned()
}

const CREATE_AGENT: &str = "agents create w --description d --scope project";
const CREATE_CHAIN: &str =
    r#"chains create w --description d --scope project --steps [{"agent":"scout","task":"t"}]"#;
const OVERRIDE: &str = "agents edit oracle --override --scope project --model evil";

#[test]
fn what_is_written_for_a_project_does_not_follow_a_link_out_of_it() {
    for (link, below, words) in [
        (".grove", "", CREATE_AGENT),
        (".grove", "", CREATE_CHAIN),
        (".grove", "", OVERRIDE),
        (".grove", "", "agents disable oracle --scope project"),
        (".grove/agents", "agents", CREATE_AGENT),
        (".grove/chains", "chains", CREATE_CHAIN),
        (".grove/config.toml", "config.toml", OVERRIDE),
    ] {
        for is_there in [true, false] {
            let home = home();
            let outside = home.path(format!("outside/{below}").trim_end_matches('/'));
            match (below, is_there) {
                ("config.toml", true) => drop(home.file("outside/config.toml", "# mine\n")),
                (_, true) => drop(home.dir(format!("outside/{below}"))),
                (_, false) => drop(home.dir("outside")),
            }
            home.link(format!("project/{link}"), &outside);
            let before = below_of(&home, "outside");
            let said = refused(&home, words);
            let named = home.path("project").join(link);
            assert!(
                said.contains(named.to_str().unwrap())
                    && said.contains(outside.to_str().unwrap())
                    && said.contains("not in the project"),
                "{link}: {words}: {said}"
            );
            assert_eq!(below_of(&home, "outside"), before, "{link}: {words}");
        }
    }
}

/// Every path below a folder.
fn below_of(home: &TestHome, folder: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![home.path(folder)];
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

#[test]
fn a_link_that_stays_in_the_project_is_followed() {
    let home = home();
    home.dir("project/tools/grove")
        .link("project/.grove", "tools/grove");
    done(&home, CREATE_AGENT);
    done(&home, OVERRIDE);
    assert!(home.path("project/tools/grove/agents/w.md").is_file());
    assert!(home.path("project/tools/grove/config.toml").is_file());
}

#[test]
fn agents_behind_a_link_out_of_the_project_are_not_changed() {
    for link in [".grove", ".grove/agents", ".pi/agents"] {
        let home = home();
        home.file("outside/agents/x.md", AGENT);
        let outside = if link == ".grove" {
            "outside"
        } else {
            "outside/agents"
        };
        home.link(format!("project/{link}"), home.path(outside));
        for words in [
            "agents edit x --model evil --scope project",
            "agents rename x y --scope project",
            "agents delete x --scope project",
        ] {
            let said = refused(&home, words);
            assert!(said.contains("no agent is called `x`"), "{words}: {said}");
        }
        let told = run(&home, "agents list").stderr_text();
        let why = "error[path-escape]: the root is a link that leads out of its project";
        assert!(told.contains(why), "{link}: {told}");
        assert_eq!(read(&home, "outside/agents/x.md"), AGENT, "{link}");
        assert_eq!(below_of(&home, "outside/agents").len(), 1, "{link}");
    }
    // The same agent in a folder of the project is there and is changed.
    let home = home();
    home.file("project/.pi/agents/x.md", AGENT);
    done(&home, "agents edit x --model opus --scope project");
    done(&home, "agents delete x --scope project");
    assert!(!home.path("project/.pi/agents/x.md").exists());
}

#[test]
fn an_export_does_not_follow_a_link_out_of_the_project() {
    let home = home();
    home.file("home/.grove/agents/x.md", AGENT)
        .dir("outside")
        .link("project/.claude", home.path("outside"));
    let finished = run(&home, "agents export --host claude");
    assert_eq!(code(&finished), 1, "{}", finished.stderr_text());
    assert!(below_of(&home, "outside").is_empty());
}

#[test]
fn names_whose_files_are_no_agents_are_refused_before_anything_is_written() {
    let home = home();
    home.file("home/.grove/agents/x.md", AGENT);
    for words in [
        "agents create skill --description d",
        "agents create SKILL --description d",
        "agents create Skill --description d --scope project",
        "agents create chain --package p --description d",
        "agents rename x skill",
        "agents rename x Skill",
        "agents rename x chain --package p",
    ] {
        let said = refused(&home, words);
        assert!(
            said.contains(".md, which is not read as this agent's"),
            "{words}: {said}"
        );
    }
    assert_eq!(read(&home, "home/.grove/agents/x.md"), AGENT);
    assert_eq!(below_of(&home, "home/.grove/agents").len(), 1);
    assert!(!home.path("project/.grove").exists());
    done(&home, "agents create skill --package p --description d");
    done(&home, "agents create chain --description d");
    assert_eq!(
        (state(&home, "p.skill"), state(&home, "chain")),
        ("ok".to_owned(), "ok".to_owned())
    );
}

#[test]
fn renaming_replaces_a_name_that_cannot_be_used() {
    let home = home();
    home.file(
        "home/.grove/agents/x.md",
        AGENT.replace("name: x", "name: a/b"),
    );
    done(&home, "agents rename x y");
    assert_eq!(
        read(&home, "home/.grove/agents/y.md"),
        AGENT.replace("name: x", "name: y")
    );
    assert_eq!(state(&home, "y"), "ok");
}

#[test]
fn a_file_that_is_not_utf_8_says_so_and_where() {
    let home = home();
    let mut bytes = AGENT.as_bytes().to_vec();
    bytes.extend(b"caf\xe9\n");
    home.file("home/.grove/agents/x.md", &bytes);
    for words in [
        "agents edit x --model opus",
        "agents rename x y",
        "agents delete x",
    ] {
        let said = refused(&home, words);
        assert!(
            said.contains("x.md cannot be edited: line 7 is not UTF-8"),
            "{words}: {said}"
        );
    }
    assert_eq!(
        std::fs::read(home.path("home/.grove/agents/x.md")).unwrap(),
        bytes
    );
}

const OFF: &str = r#"{"subagents": {
  "agentOverrides": {"worker": {"disabled": true}}}}"#;

#[test]
fn enabling_says_what_still_switches_an_agent_off_and_what_helps() {
    let home = home();
    home.file("project/.pi/settings.json", OFF);
    done(&home, "trust --yes");
    assert_eq!(state(&home, "worker"), "disabled");
    let said = refused(&home, "agents enable worker");
    let file = home.path("project/.pi/settings.json");
    assert!(
        said.contains("`worker` stays switched off")
            && said.contains(&format!("{}:2", file.display()))
            && said.contains("grove agents enable worker --scope project"),
        "{said}"
    );
    assert!(
        !home.path("config/grove/config.toml").exists(),
        "nothing is left behind"
    );

    // What is advised helps, once it is trusted as everything of a project must be.
    let made = done(&home, "agents enable worker --scope project");
    assert!(
        !made.stdout_text().contains("switched on"),
        "{}",
        made.stdout_text()
    );
    let said = made.stderr_text();
    assert!(
        said.contains("worker is disabled")
            && said.contains("run `grove trust`")
            && !said.contains("grove agents enable"),
        "{said}"
    );
    done(&home, "trust --yes");
    assert_eq!(state(&home, "worker"), "ok");
}

#[test]
fn a_refused_switch_leaves_the_configuration_as_it_was() {
    let home = home();
    let config = "# mine\n[agents.overrides.worker]\ndisabled = true\n";
    home.file("project/.pi/settings.json", OFF)
        .file("config/grove/config.toml", config);
    done(&home, "trust --yes");
    refused(&home, "agents enable worker");
    assert_eq!(read(&home, "config/grove/config.toml"), config);
}

#[test]
fn disabling_says_what_still_switches_an_agent_on() {
    let home = home();
    home.file("project/.pi/settings.json", OFF.replace("true", "false"));
    done(&home, "trust --yes");
    let said = refused(&home, "agents disable worker");
    let file = home.path("project/.pi/settings.json");
    assert!(
        said.contains("`worker` stays switched on")
            && said.contains(&format!("{}:2", file.display()))
            && said.contains("grove agents disable worker --scope project"),
        "{said}"
    );
    assert!(!home.path("config/grove/config.toml").exists());
    done(&home, "agents disable worker --scope project");
    done(&home, "trust --yes");
    assert_eq!(state(&home, "worker"), "disabled");
}

#[test]
fn what_is_advised_for_one_of_several_of_a_name_reaches_that_one() {
    let home = home();
    for folder in ["one", "two"] {
        home.file(
            format!("{folder}/dup.md"),
            AGENT.replace("name: x", "name: dup"),
        );
    }
    let dirs = std::env::join_paths([home.path("one"), home.path("two")]).unwrap();
    let home = home.with_env("GROVE_AGENT_DIRS", dirs);
    let addresses = addresses(&home, "dup");
    assert_eq!(addresses.len(), 2);
    for address in &addresses {
        done(&home, &format!("agents disable {address}"));
    }
    for address in addresses.iter().rev() {
        let told = run(&home, &format!("agents show {address}"));
        let told = format!("{}{}", told.stdout_text(), told.stderr_text());
        let advised = format!("agents enable {address}");
        assert!(told.contains(&advised), "{told}");
        done(&home, &advised);
        assert_ne!(state(&home, address), "disabled");
    }
    assert_eq!(read(&home, "config/grove/config.toml").trim(), "");
    // By its bare name the first that is off is meant, and what is said of its address goes.
    done(&home, &format!("agents disable {}", addresses[0]));
    done(&home, "agents enable dup");
    assert_eq!(state(&home, &addresses[0]), "ok");
}

fn addresses(home: &TestHome, name: &str) -> Vec<String> {
    let list = done(home, "agents list --json").stdout_text();
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let agents = list["agents"].as_array().unwrap().iter();
    agents
        .filter(|agent| agent["name"] == name)
        .map(|agent| format!("{name}@{}", agent["root"].as_str().unwrap()))
        .collect()
}

#[test]
fn an_empty_value_unsets_in_a_file_as_in_an_override_and_brackets_say_none() {
    let home = home();
    home.file("home/.grove/agents/x.md", AGENT);
    let tools = |name: &str| {
        let shown = done(&home, &format!("agents show {name} --json")).stdout_text();
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown["fields"]["tools"].clone()
    };
    let usual = tools("scout");
    for flag in ["--tools=", "--set tools="] {
        for (name, overriding, unset) in [
            ("x", "", tools("x")),
            ("scout", " --override", usual.clone()),
        ] {
            let edit = format!("agents edit {name}{overriding} {flag}");
            done(&home, &format!("{edit}[read,ls]"));
            assert_eq!(tools(name), serde_json::json!(["read", "ls"]), "{edit}");
            done(&home, &edit);
            assert_eq!(tools(name), unset, "{edit}");
        }
        done(&home, &format!("agents edit x {flag}[]"));
        assert!(read(&home, "home/.grove/agents/x.md").contains("\ntools: []\n"));
        done(&home, &format!("agents edit scout --override {flag}[]"));
        assert!(read(&home, "config/grove/config.toml").contains("tools = []\n"));
        done(&home, &format!("agents edit x {flag}"));
        done(&home, &format!("agents edit scout --override {flag}"));
    }
    assert_eq!(read(&home, "home/.grove/agents/x.md"), AGENT);
    assert!(!read(&home, "config/grove/config.toml").contains("tools"));
}

#[test]
fn a_package_of_blanks_is_refused_for_agents_and_chains_alike() {
    let steps = r#"[{"agent":"scout","task":"t"}]"#;
    for blank in [" ", "   ", "\t"] {
        for kind in ["agents", "chains"] {
            let mut words = vec![
                kind,
                "create",
                "w",
                "--description",
                "d",
                "--package",
                blank,
            ];
            if kind == "chains" {
                words.extend(["--steps", steps]);
            }
            let home = home();
            let made = home.run("project", words);
            assert_ne!(code(&made), 0, "{kind} {blank:?}: {}", made.stdout_text());
            assert!(
                made.stderr_text().contains("package"),
                "{}",
                made.stderr_text()
            );
            assert!(!home.path("home/.grove").exists(), "{kind} {blank:?}");
        }
    }
    // An empty one says that there is none.
    let home = home();
    done(&home, "agents create w --package p --description d");
    let renamed = home.run("project", ["agents", "rename", "p.w", "w", "--package", ""]);
    assert_eq!(code(&renamed), 0, "{}", renamed.stderr_text());
    let renamed = home.run("project", ["agents", "rename", "w", "v", "--package", " "]);
    assert_ne!(code(&renamed), 0);
}
