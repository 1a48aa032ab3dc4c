//! Which agents a host has: `grove agents list --host X` against the real programs.

use std::collections::BTreeSet;
use std::time::Duration;

use grove_testkit::agent_program::AgentProgram;
use grove_testkit::home::TestHome;
use grove_testkit::model_server::{ModelServer, Script};
use serde_json::Value;

/// A turn takes two seconds; only a hanging program meets this.
const TURN: Duration = Duration::from_mins(5);

/// Agents that come with Claude Code.
const BUILT_IN: [&str; 5] = [
    "claude",
    "Explore",
    "general-purpose",
    "Plan",
    "statusline-setup",
];

/// Agents wherever programs may look, ordinary and odd ones; in the project alone, or at home too.
fn home(with_user: bool) -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.file("project/.git/HEAD", "ref: refs/heads/main\n")
        .dir("project/.git/objects")
        .dir("project/.git/refs");
    for folder in [
        "home/.claude/agents",
        "home/.copilot/agents",
        "home/.agents/agents",
        "project/.claude/agents",
        "project/.github/agents",
        "project/.agents/agents",
        "project/.pi/agents",
        "project/pkg/.claude/agents",
        "project/pkg/.github/agents",
    ] {
        if folder.starts_with("home") && !with_user {
            continue;
        }
        let tag = folder.replace(['/', '.'], "-");
        let put = |path: &str, lines: &str| {
            home.file(
                format!("{folder}/{path}"),
                format!("---\n{lines}---\nText of {tag}.\n"),
            );
        };
        put("same.md", "name: same\ndescription: d\n");
        put(
            &format!("one-{tag}.md"),
            &format!("name: one-{tag}\ndescription: d\n"),
        );
        put(
            &format!("end-{tag}.agent.md"),
            &format!("name: end-{tag}\ndescription: d\n"),
        );
        put(
            &format!("deep/down/deep-{tag}.md"),
            &format!("name: deep-{tag}\ndescription: d\n"),
        );
        put(&format!("unnamed-{tag}.md"), "description: d\n");
        put(
            &format!("silent-{tag}.md"),
            &format!("name: silent-{tag}\n"),
        );
        put(
            &format!("_under-{tag}.md"),
            &format!("name: _under-{tag}\ndescription: d\n"),
        );
        put(
            &format!("blank-{tag}.md"),
            &format!("name: Blank {tag}.x\ndescription: d\n"),
        );
    }
    home
}

/// The usable agents that Grove says the program has, and the source of the one called `same`.
fn ours(program: AgentProgram, home: &TestHome, working: &str) -> (BTreeSet<String>, String) {
    let finished = home.run(
        working,
        ["agents", "list", "--host", program.host(), "--json"],
    );
    let finished = finished.require_success("grove agents list").unwrap();
    let listed: Value = serde_json::from_slice(&finished.stdout).unwrap();
    let agents = listed["agents"].as_array().unwrap();
    let usable = agents.iter().filter(|agent| agent["state"] == "ok");
    let names = usable.clone().map(|agent| agent["name"].as_str().unwrap());
    let same = usable.clone().find(|agent| agent["name"] == "same");
    let location = same.unwrap()["location"].as_str().unwrap().to_owned();
    (names.map(str::to_owned).collect(), location)
}

/// The text with which the program begins when it runs as the agent called `same`.
fn told_as_same(program: AgentProgram, home: &TestHome, working: &str) -> String {
    let server = ModelServer::start(Script::plain()).unwrap();
    let finished = program.run_with(
        &server,
        &home.path("home"),
        &home.path(working),
        "Say the answer.",
        &["--agent", "same"],
        TURN,
    );
    finished.unwrap_or_else(|why| panic!("{why}"));
    let requests = server.requests();
    let all: Vec<String> = requests
        .iter()
        .map(|request| request.json().to_string())
        .collect();
    let text = all.iter().find(|text| text.contains("Text of "));
    text.unwrap_or_else(|| panic!("{}: {all:?}", program.host()))
        .clone()
}

fn compare(program: AgentProgram, real: impl Fn(&TestHome, &str) -> BTreeSet<String>) {
    for (with_user, working) in [
        (true, "project"),
        (true, "project/pkg"),
        (false, "project"),
        (false, "project/pkg"),
    ] {
        let home = home(with_user);
        let (names, location) = ours(program, &home, working);
        assert_eq!(
            names,
            real(&home, working),
            "{} in {working}",
            program.host()
        );
        let folder = location.rsplit_once('/').unwrap().0;
        let below = folder
            .strip_prefix(home.path("").to_str().unwrap())
            .unwrap();
        let tag = below.trim_start_matches('/').replace(['/', '.'], "-");
        let told = told_as_same(program, &home, working);
        assert!(
            told.contains(&format!("Text of {tag}.")),
            "{} in {working}: not {location}",
            program.host()
        );
    }
}

/// The agents that Claude Code says it has, without its own.
fn agents_of_claude(home: &TestHome, working: &str) -> BTreeSet<String> {
    let server = ModelServer::start(Script::plain()).unwrap();
    let (home, working) = (home.path("home"), home.path(working));
    let finished = AgentProgram::Claude
        .run(&server, &home, &working, "Say the answer.", TURN)
        .unwrap_or_else(|why| panic!("{why}"));
    let text = finished.stdout_text();
    let mut lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let first = lines.find(|line| line["subtype"] == "init").unwrap();
    let names = first["agents"].as_array().unwrap().iter();
    names
        .filter_map(Value::as_str)
        .filter(|name| !BUILT_IN.contains(name))
        .map(str::to_owned)
        .collect()
}

#[test]
fn claude_code_has_the_agents_that_are_listed_for_it() {
    compare(AgentProgram::Claude, agents_of_claude);
}

/// Frontmatter that is not quite YAML, or not quite frontmatter, by the name of its agent. `@` stands for the name.
fn odd_frontmatters() -> Vec<(String, Vec<u8>)> {
    let values = [
        "plain",
        "Ends with a colon:",
        "Use when: x",
        "wow! ends:",
        "\"Matches \\d+ in C:\\Users\"",
        "\"a\\tb\"",
        "'It's a reviewer'",
        "'It's a: reviewer' x",
        "it's fine",
        "\"It\" is a reviewer",
        "\"a\": b",
        "\"never closed",
        "say \"hi\": now",
        "a\\d: c",
        "@@handle does it",
        "`code` does it",
        "%x",
        "*bold* text",
        "&anchor text",
        "!important text",
        "!!str x",
        "| text",
        "> text",
        "|\n  text",
        "{placeholder} text",
        "[tag] text",
        "- item",
        "? what",
        ", x",
        "a --- b",
        "---x",
        "first line\nsecond line",
        "first line\n  second line",
        "first line\n  second: line",
        "first\ndescription: second",
        "d\n<<: x",
        "d\ntools:\n\t- Read",
        "d\ntools: [Read,\n  Grep]",
        "d\ntools: [Read, Grep",
        "d\ntools: [Read,\n  Grep",
        "d\nmodel: sonnet:",
        "d\nkey2: a: b",
        "d\nmeta:\n  x: a: b",
        "d\n- item",
        "42",
        "\"42\"",
        "true",
        "yes",
        "1e3",
        "2020-01-01",
        "~",
        "[a, b]",
        "\n  a: b",
    ];
    let files = [
        "\u{feff}---\nname: @\ndescription: d\n---\nBody\n",
        "\n---\nname: @\ndescription: d\n---\nBody\n",
        "---\r\nname: @\r\ndescription: d\r\n---\r\nBody\r\n",
        "---\rname: @\rdescription: d\r---\rBody\r",
        "---  \nname: @\ndescription: d\n---  \nBody\n",
        "---\nname: @\ndescription: d\n--- # end\nBody\n",
        "---\nname: @\ndescription: d\n----\nBody\n",
        "---\nname: @\ndescription: d\n  ---\nBody\n",
        "---\nname: @\ndescription: d\n...\nBody\n",
        "---\nname: @\ndescription: d\nBody\n",
        "----\nname: @\ndescription: d\n----\nBody\n",
        "---\nname: @\ndescription: d\n---",
        "# @\nBody\n",
    ];
    let of_values = values
        .iter()
        .map(|value| format!("---\nname: @\ndescription: {value}\n---\nBody\n"));
    let of_files = files.iter().map(|file| (*file).to_owned());
    let all = of_values.chain(of_files).enumerate();
    let mut all: Vec<(String, Vec<u8>)> = all
        .map(|(number, text)| {
            let name = format!("odd-{number}");
            let text = text.replacen('@', &name, 1).replace("@@", "@");
            (name, text.into_bytes())
        })
        .collect();
    all.push((
        "odd-bytes".to_owned(),
        b"---\nname: odd-bytes\ndescription: caf\xe9\n---\nBody\n".to_vec(),
    ));
    all
}

#[test]
fn claude_code_has_the_agents_with_odd_frontmatter_that_are_listed_for_it() {
    let home = home(false);
    let odd = odd_frontmatters();
    for (name, bytes) in &odd {
        home.file(format!("home/.claude/agents/{name}.md"), bytes);
    }
    let (names, _) = ours(AgentProgram::Claude, &home, "project");
    let real = agents_of_claude(&home, "project");
    let said = |names: &BTreeSet<String>| -> Vec<String> {
        let of = odd.iter().map(|(name, bytes)| {
            let is_there = names.contains(name);
            format!("{is_there} {:?}", String::from_utf8_lossy(bytes))
        });
        of.collect()
    };
    assert_eq!(said(&names), said(&real));
    // Both kinds are in the table, or it would compare nothing.
    let taken = odd.iter().filter(|(name, _)| real.contains(name)).count();
    assert!((10..odd.len() - 10).contains(&taken), "{taken}");
}

/// A role as settings declare it.
fn declared(name: &str, file: &str) -> String {
    format!("[agents.{name}]\ndescription = \"Declared\"\nconfig_file = \"{file}\"\n")
}

/// Roles have another format, and Codex names them where it describes its tool for them.
#[test]
fn codex_has_the_roles_that_are_listed_for_it() {
    let home = home(false);
    let project = home.path("project");
    home.file(
        "home/.codex/config.toml",
        format!(
            "[projects.{project:?}]\ntrust_level = \"trusted\"\n{}{}{}",
            declared("declared", "roles/d.toml"),
            declared("renamed", "agents/nameless.toml"),
            declared("other-name", "roles/named.toml"),
        ),
    );
    home.file(
        "project/.codex/config.toml",
        declared("of-project", "../roles/p.toml"),
    );
    for role in [
        "home/.codex/roles/d.toml",
        "home/.codex/agents/nameless.toml",
        "project/roles/p.toml",
    ] {
        home.file(role, "developer_instructions = \"x\"\n");
    }
    home.file(
        "home/.codex/roles/named.toml",
        "name = \"own-name\"\ndeveloper_instructions = \"x\"\n",
    );
    for folder in [
        "home/.codex/agents",
        "project/.codex/agents",
        "project/pkg/.codex/agents",
    ] {
        let tag = folder.replace(['/', '.'], "-");
        for (path, name) in [
            ("same", "same".to_owned()),
            ("one", format!("one-{tag}")),
            ("deep/down/deep", format!("deep-{tag}")),
            ("blank", format!("Blank {tag}.x")),
        ] {
            let text = format!(
                "name = \"{name}\"\ndescription = \"Of {tag}\"\ndeveloper_instructions = \"x\"\n"
            );
            home.file(format!("{folder}/{path}.toml"), text);
        }
    }
    for working in ["project", "project/pkg"] {
        let (names, location) = ours(AgentProgram::Codex, &home, working);
        let server = ModelServer::start(Script::plain()).unwrap();
        let (at_home, folder) = (home.path("home"), home.path(working));
        AgentProgram::Codex
            .run(&server, &at_home, &folder, "Say the answer.", TURN)
            .unwrap_or_else(|why| panic!("{why}"));
        let requests = server.requests();
        let tools = requests
            .iter()
            .find_map(|request| request.json()["tools"].as_array().cloned())
            .unwrap();
        let described = tools
            .iter()
            .flat_map(|tool| tool["tools"].as_array().cloned().unwrap_or_default())
            .find(|tool| tool["name"] == "spawn_agent")
            .unwrap();
        let roles = described["parameters"]["properties"]["agent_type"]["description"]
            .as_str()
            .unwrap()
            .to_owned();
        let real: BTreeSet<String> = roles
            .lines()
            .filter_map(|line| line.strip_suffix(": {"))
            .filter(|name| !["default", "explorer", "worker"].contains(name))
            .map(str::to_owned)
            .collect();
        assert_eq!(names, real, "{working}");
        for name in ["declared", "renamed", "own-name", "of-project"] {
            assert!(real.contains(name), "{working}: {name}: {real:?}");
        }
        let folder = location.rsplit_once('/').unwrap().0;
        let below = folder
            .strip_prefix(home.path("").to_str().unwrap())
            .unwrap();
        let tag = below.trim_start_matches('/').replace(['/', '.'], "-");
        assert!(roles.contains(&format!("same: {{\nOf {tag}\n")), "{roles}");
    }
}

#[test]
fn copilot_has_the_agents_that_are_listed_for_it() {
    compare(AgentProgram::Copilot, |home, working| {
        let server = ModelServer::start(Script::plain()).unwrap();
        let (home, working) = (home.path("home"), home.path(working));
        // Asked for one that is not there, it names those that are.
        let finished = AgentProgram::Copilot
            .run_with(
                &server,
                &home,
                &working,
                "Say the answer.",
                &["--agent", "nobody"],
                TURN,
            )
            .unwrap_or_else(|why| panic!("{why}"));
        let said = format!("{}{}", finished.stdout_text(), finished.stderr_text());
        let names = said
            .lines()
            .find_map(|line| line.split_once("available: "))
            .unwrap_or_else(|| panic!("{said}"))
            .1;
        names
            .split(", ")
            .map(|name| name.trim().to_owned())
            .collect()
    });
}
