//! Which agents a host has: `grove agents list --host X` against the real programs.

mod why;

use std::collections::BTreeSet;
use std::time::Duration;

use grove_testkit::agent_program::AgentProgram;
use grove_testkit::model_server::{ModelServer, Script};
use grove_testkit::needs;
use grove_testkit::process::Finished;
use grove_testkit::session::{Session, rows};
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
fn session(with_user: bool) -> Session {
    let session = crate::session();
    session
        .file("project/.git/HEAD", "ref: refs/heads/main\n")
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
        let tag = tag(folder);
        for (file, lines) in [
            ("same.md", "name: same\ndescription: d\n"),
            ("one-TAG.md", "name: one-TAG\ndescription: d\n"),
            ("end-TAG.agent.md", "name: end-TAG\ndescription: d\n"),
            ("deep/down/deep-TAG.md", "name: deep-TAG\ndescription: d\n"),
            ("unnamed-TAG.md", "description: d\n"),
            ("silent-TAG.md", "name: silent-TAG\n"),
            ("_under-TAG.md", "name: _under-TAG\ndescription: d\n"),
            ("blank-TAG.md", "name: Blank TAG.x\ndescription: d\n"),
        ] {
            let text = format!("---\n{lines}---\nText of TAG.\n");
            let file = format!("{folder}/{file}");
            session.file(file.replace("TAG", &tag), text.replace("TAG", &tag));
        }
    }
    session
}

/// A word for a folder.
fn tag(folder: &str) -> String {
    folder.trim_matches('/').replace(['/', '.'], "-")
}

/// The usable agents that Grove says the program has, and the word for the folder of the one called `same`.
fn ours(program: AgentProgram, session: &Session, working: &str) -> (BTreeSet<String>, String) {
    let list = ["agents", "list", "--host", program.host()];
    let listed = session.json_in(working, list);
    let mut usable = rows(&listed["agents"], ["name", "state", "location"]);
    usable.retain(|[_, state, _]| state == "ok");
    let same = usable.iter().find(|[name, ..]| name == "same").unwrap();
    let folder = same[2].rsplit_once('/').unwrap().0;
    let below = folder.strip_prefix(session.path("").to_str().unwrap());
    let tag = tag(below.unwrap());
    (usable.into_iter().map(|[name, ..]| name).collect(), tag)
}

/// What the program says in one turn with these words more, and everything that it sends to its model.
fn turn(
    program: AgentProgram,
    session: &Session,
    working: &str,
    more: &[&str],
) -> (Finished, Vec<Value>) {
    let server = ModelServer::start(Script::plain()).unwrap();
    let (home, working) = (session.path("home"), session.path(working));
    let finished = program.run_with(&server, &home, &working, "Say the answer.", more, TURN);
    let finished = finished.unwrap_or_else(|why| panic!("{why}"));
    let requests = server.requests().into_iter();
    (finished, requests.map(|request| request.json()).collect())
}

fn compare(program: AgentProgram, real: impl Fn(&Session, &str) -> BTreeSet<String>) {
    for (with_user, working) in [
        (true, "project"),
        (true, "project/pkg"),
        (false, "project"),
        (false, "project/pkg"),
    ] {
        let session = session(with_user);
        let (names, same) = ours(program, &session, working);
        let host = program.host();
        assert_eq!(names, real(&session, working), "{host} in {working}");
        // The text with which the program begins when it runs as the agent called `same`.
        let (_, requests) = turn(program, &session, working, &["--agent", "same"]);
        let mut texts = requests.iter().map(Value::to_string);
        let told = texts.find(|text| text.contains("Text of ")).unwrap();
        let is_ours = told.contains(&format!("Text of {same}."));
        assert!(is_ours, "{host} in {working}: not {same}");
    }
}

/// The agents that Claude Code says it has, without its own.
pub(crate) fn agents_of_claude(session: &Session, working: &str) -> BTreeSet<String> {
    let (finished, _) = turn(AgentProgram::Claude, session, working, &[]);
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
    needs![Claude];
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

/// Frontmatter that Copilot reads and Grove's view of it does not, which its rules say.
const NOT_FOLLOWED: [&str; 4] = [
    "description: !!str x",
    "description: !important",
    "description: &anchor",
    "<<: x",
];

/// Compares over frontmatters that are not in `but`.
fn compare_odd_frontmatters(
    program: AgentProgram,
    folder: &str,
    but: &[&str],
    real: impl Fn(&Session, &str) -> BTreeSet<String>,
) {
    let session = session(false);
    let mut odd = odd_frontmatters();
    odd.retain(|(_, bytes)| {
        let text = String::from_utf8_lossy(bytes);
        !but.iter().any(|it| text.contains(it))
    });
    for (name, bytes) in &odd {
        session.file(format!("{folder}/{name}.md"), bytes);
    }
    let (names, _) = ours(program, &session, "project");
    let real = real(&session, "project");
    let said = |names: &BTreeSet<String>| -> Vec<String> {
        let of = odd.iter().map(|(name, bytes)| {
            let is_there = names.contains(name);
            format!("{is_there} {:?}", String::from_utf8_lossy(bytes))
        });
        of.collect()
    };
    assert_eq!(said(&names), said(&real), "{}", program.host());
    // Both kinds are in the table, or it would compare nothing.
    let taken = odd.iter().filter(|(name, _)| real.contains(name)).count();
    assert!((10..odd.len() - 10).contains(&taken), "{taken}");
}

#[test]
fn claude_code_has_the_agents_with_odd_frontmatter_that_are_listed_for_it() {
    needs![Claude];
    compare_odd_frontmatters(
        AgentProgram::Claude,
        "home/.claude/agents",
        &[],
        agents_of_claude,
    );
}

#[test]
fn copilot_has_the_agents_with_odd_frontmatter_that_are_listed_for_it() {
    needs![Copilot];
    compare_odd_frontmatters(
        AgentProgram::Copilot,
        "home/.copilot/agents",
        &NOT_FOLLOWED,
        agents_of_copilot,
    );
}

/// A role as settings declare it.
fn declared(name: &str, file: &str) -> String {
    format!("[agents.{name}]\ndescription = \"Declared\"\nconfig_file = \"{file}\"\n")
}

/// The roles that Codex describes to its model, and its own among them.
fn described_roles(session: &Session, working: &str) -> String {
    let (_, requests) = turn(AgentProgram::Codex, session, working, &[]);
    let mut tools = requests.iter().filter_map(|it| it["tools"].as_array());
    let mut tools = tools.next().unwrap().iter();
    let described = tools.find_map(|tool| {
        let mut tools = tool["tools"].as_array()?.iter();
        tools.find(|tool| tool["name"] == "spawn_agent")
    });
    let kinds = &described.unwrap()["parameters"]["properties"]["agent_type"];
    kinds["description"].as_str().unwrap().to_owned()
}

/// The names of roles in such a description, without Codex's own.
fn named_roles(described: &str) -> BTreeSet<String> {
    described
        .lines()
        .filter_map(|line| line.strip_suffix(": {"))
        .filter(|name| !["default", "explorer", "worker"].contains(name))
        .map(str::to_owned)
        .collect()
}

/// Roles have another format, and Codex names them where it describes its tool for them.
#[test]
fn codex_has_the_roles_that_are_listed_for_it() {
    needs![Codex];
    let session = session(false);
    let nameless = "developer_instructions = \"x\"\n";
    session
        .file(
            "home/.codex/config.toml",
            format!(
                "[projects.{:?}]\ntrust_level = \"trusted\"\n{}{}{}",
                session.path("project"),
                declared("declared", "roles/d.toml"),
                declared("renamed", "agents/nameless.toml"),
                declared("other-name", "roles/named.toml"),
            ),
        )
        .file(
            "project/.codex/config.toml",
            declared("of-project", "../roles/p.toml"),
        )
        .file("home/.codex/roles/d.toml", nameless)
        .file("home/.codex/agents/nameless.toml", nameless)
        .file("project/roles/p.toml", nameless)
        .file(
            "home/.codex/roles/named.toml",
            format!("name = \"own-name\"\n{nameless}"),
        );
    for folder in [
        "home/.codex/agents",
        "project/.codex/agents",
        "project/pkg/.codex/agents",
    ] {
        let tag = tag(folder);
        for (path, name) in [
            ("same", "same".to_owned()),
            ("one", format!("one-{tag}")),
            ("deep/down/deep", format!("deep-{tag}")),
            ("blank", format!("Blank {tag}.x")),
        ] {
            let text = format!("name = \"{name}\"\ndescription = \"Of {tag}\"\n{nameless}");
            session.file(format!("{folder}/{path}.toml"), text);
        }
    }
    for working in ["project", "project/pkg"] {
        let (names, same) = ours(AgentProgram::Codex, &session, working);
        let roles = described_roles(&session, working);
        let real = named_roles(&roles);
        assert_eq!(names, real, "{working}");
        for name in ["declared", "renamed", "own-name", "of-project"] {
            assert!(real.contains(name), "{working}: {name}: {real:?}");
        }
        assert!(roles.contains(&format!("same: {{\nOf {same}\n")), "{roles}");
    }
}

/// The agents that Copilot has: asked for one that is not there, it names those that are.
fn agents_of_copilot(session: &Session, working: &str) -> BTreeSet<String> {
    let nobody = ["--agent", "nobody"];
    let (finished, _) = turn(AgentProgram::Copilot, session, working, &nobody);
    let said = format!("{}{}", finished.stdout_text(), finished.stderr_text());
    let mut lines = said.lines();
    let names = lines.find_map(|line| line.split_once("available: "));
    let (_, names) = names.unwrap_or_else(|| panic!("{said}"));
    names
        .split(", ")
        .map(|name| name.trim().to_owned())
        .collect()
}

#[test]
fn copilot_has_the_agents_that_are_listed_for_it() {
    needs![Copilot];
    compare(AgentProgram::Copilot, agents_of_copilot);
}
