//! Whole sessions of `grove chains`: what is found, which file counts, and what is said about steps.

mod changes;
mod written;

use grove_testkit::session::{Session, column, rows};
use insta::assert_snapshot;
use serde_json::json;

const USER: &str = "home/.agents/chains";

fn session() -> Session {
    crate::session().without_bundled().with_repository()
}

fn markdown(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}")
}

fn in_json(name: &str, description: &str) -> String {
    json!({"name": name, "description": description, "chain": [{"agent": "scout"}]}).to_string()
}

/// Name, state and description of every chain.
fn listed(session: &Session) -> Vec<[String; 3]> {
    let list = session.json("chains list");
    let mut all = rows(&list["chains"], ["name", "state", "description"]);
    all.sort();
    all
}

/// The description of the one chain that can be used.
fn used(session: &Session) -> String {
    let mut all = listed(session);
    all.retain(|[_, state, _]| state == "ok");
    let [[_, _, description]] = all.try_into().unwrap();
    description
}

#[test]
fn chains_are_found_beside_agents_and_in_folders_of_their_own() {
    let session = session();
    for file in [
        "home/.agents/chains/a.chain.md",
        "home/.agents/agents/b.chain.md",
        "home/.agents/anywhere/deep/c.chain.md",
        "home/.grove/chains/d.chain.md",
        "home/.pi/agent/chains/e.chain.md",
        "home/.pi/agent/agents/f.chain.md",
        "data/grove/chains/g.chain.md",
        // Never looked at.
        "home/.agents/skills/s/x.chain.md",
        "home/.agents/node_modules/x.chain.md",
        "home/.agents/nested/.git/x.chain.md",
        "home/.agents/x.chain.toml",
    ] {
        let name = file.rsplit('/').next().unwrap().split('.').next().unwrap();
        session.file(file, markdown(name, "d", "## scout\n\nLook\n"));
    }
    let names = listed(&session).into_iter().map(|[name, ..]| name);
    let names: Vec<String> = names.collect();
    assert_eq!(names, ["a", "b", "c", "d", "e", "f", "g"]);
    // A chain is no agent.
    session.grove("agents list").lacks([".agents"]);
}

#[test]
fn in_one_scope_json_counts_and_the_ladder_decides_between_scopes() {
    let session = session();
    session.trust_with("--follow");
    for (file, description, expected) in [
        (
            "home/.pi/agent/chains/x.chain.json",
            "user json",
            "user json",
        ),
        (
            "project/.pi/chains/x.chain.md",
            "project text",
            "project text",
        ),
        (
            "project/.pi/chains/x.chain.json",
            "project json",
            "project json",
        ),
        // A Markdown file in a stronger folder of the same scope does not go before it.
        (
            "project/.grove/chains/x.chain.md",
            "own text",
            "project json",
        ),
    ] {
        let text = if description.ends_with("json") {
            in_json("x", description)
        } else {
            markdown("x", description, "## scout\n\nLook\n")
        };
        session.file(file, text);
        assert_eq!(used(&session), expected);
    }
    assert_eq!(listed(&session).len(), 4, "losers stay visible");
    let shown = session.json("chains show x.chain.md@project:.pi/chains");
    assert_eq!(shown["chain"]["state"], "shadowed");
    assert_eq!(shown["chain"]["standIn"], "x.chain.json@project:.pi/chains");
    assert_eq!(shown["chain"]["diagnostics"][0]["code"], "chain-collision");
}

#[test]
fn a_file_that_is_invalid_hides_no_other() {
    let session = session();
    let good = markdown("x", "good", "## scout\n\nLook\n");
    session
        .file(format!("{USER}/x.chain.json"), "{\"name\": \"x\", ")
        .file(format!("{USER}/x.chain.md"), good);
    assert_eq!(used(&session), "good");
    let list = session.json("chains list");
    let mut states = column(&list["chains"], "state");
    states.sort();
    assert_eq!(states, ["invalid", "ok"]);
}

#[test]
fn unknown_agents_and_skills_of_steps_are_warnings_with_near_names() {
    let session = session();
    let steps = "## scot\nskills: nots\n\nLook\n\n## scout\nskills: notes\n\nLook\n";
    session
        .skill("home/.agents/skills/notes", "notes", "Writes notes")
        .file(format!("{USER}/x.chain.md"), markdown("x", "d", steps));
    let value = session.grove("chains check --json").fails(1).json();
    assert_eq!(value["findings"], 2);
    assert_eq!(value["scopes"][0]["source"], "user");
    let chain = &value["scopes"][0]["chains"][0];
    assert_eq!(chain["state"], "ok", "warnings do not switch a chain off");
    assert_eq!(
        rows(&chain["diagnostics"], ["code", "line", "help"]),
        [
            ["chain-agent-unknown", "6", "did you mean `scout`?"],
            ["chain-skill-unknown", "7", "did you mean `notes`?"]
        ]
    );
}

#[test]
fn findings_are_listed_by_scope_with_their_lines() {
    let session = session();
    session.trust_with("--follow");
    let inline = "## scout\noutputSchema: {\"type\": 1}\n\nLook\n";
    session
        .file(
            format!("{USER}/u.chain.md"),
            markdown("u", "d", "## scout\nText at once\n"),
        )
        .file("project/.pi/chains/p.chain.md", markdown("p", "d", inline))
        .file("project/.pi/chains/fine.chain.json", in_json("fine", "d"));
    assert_snapshot!(session.grove("chains check"), @r#"
        project: 2 chains
        error[chain-schema-inline]: `outputSchema` is the path of a file here, not the schema itself
          --> [T]/project/.pi/chains/p.chain.md:7:1
          |
        7 | outputSchema: {"type": 1}
          | ^
          = help: write the schema to a file and name the file, or write the chain as `.chain.json`

        user: 1 chain
        warning[chain-step-text]: the step's text begins without a blank line before it
          --> [T]/home/.agents/chains/u.chain.md:7:1
          |
        7 | Text at once
          | ^
          = help: put an empty line before the text

        2 findings need attention
        [exit code 1]
    "#);

    let clean = crate::session();
    clean.file(format!("{USER}/fine.chain.json"), in_json("fine", "d"));
    clean.grove("chains check").ok();
}

#[test]
fn findings_about_folders_are_listed_by_scope_too() {
    let session = session();
    session.trust_with("--follow");
    for root in [USER, "project/.pi/chains"] {
        // Seven levels of folders: one more than are walked.
        let file = format!("{root}/1/2/3/4/5/6/7/x.chain.json");
        session.file(file, in_json("x", "d"));
    }
    session
        .file("project/.pi/chains/p.chain.json", in_json("p", "d"))
        .file("home/.pi/agent/settings.json", "{")
        .file("project/.pi/settings.json", "{");
    assert_snapshot!(session.grove("chains check"), @r"
        project: 1 chain
        warning[package-settings]: the settings cannot be read: a key in double quotes belongs here
          --> [T]/project/.pi/settings.json:1:2
          = help: correct the file

        warning[depth-limit]: folders below 6 levels were not walked: 1/2/3/4/5/6/7
          --> [T]/project/.pi/chains
          = help: move the skills up, or raise `limits.group_depth`

        user: 0 chains
        warning[package-settings]: the settings cannot be read: a key in double quotes belongs here
          --> [T]/home/.pi/agent/settings.json:1:2
          = help: correct the file

        warning[depth-limit]: folders below 6 levels were not walked: 1/2/3/4/5/6/7
          --> [T]/home/.agents/chains
          = help: move the skills up, or raise `limits.group_depth`

        4 findings need attention
        [exit code 1]
    ");

    let value = session.grove("chains check --json").fails(1).json();
    assert_eq!(value["findings"], 4);
    assert_eq!(column(&value["scopes"], "source"), ["project", "user"]);
    for scope in value["scopes"].as_array().unwrap() {
        let mut codes = column(&scope["diagnostics"], "code");
        codes.sort();
        assert_eq!(codes, ["depth-limit", "package-settings"]);
        for file in column(&scope["diagnostics"], "file") {
            let is_in_project = file.contains("/project/");
            assert_eq!(is_in_project, scope["source"] == "project", "{file}");
        }
    }
}

#[test]
fn files_that_are_too_large_too_deep_or_no_text_are_invalid_and_the_rest_is_found() {
    let session = session();
    let padded = |size: usize| {
        let text = markdown("fits", "d", "## scout\n\n");
        let padding = "x".repeat(size - text.len());
        text + &padding
    };
    let (open, close) = ("[".repeat(70), "]".repeat(70));
    session
        .file(format!("{USER}/fits.chain.md"), padded(256_000))
        .file(format!("{USER}/large.chain.md"), padded(256_001))
        .file(
            format!("{USER}/deep.chain.json"),
            format!("{{\"name\": \"deep\", \"x\": {open}{close}}}"),
        )
        .file(format!("{USER}/bytes.chain.md"), b"---\nname: \xff\n")
        .dir(format!("{USER}/folder.chain.md"));
    let list = session.json("chains list");
    assert_eq!(
        rows(&list["chains"], ["id", "state", "reasons/0/code"]),
        [
            ["bytes.chain.md", "invalid", "not-utf8"],
            ["deep.chain.json", "invalid", "json-syntax"],
            ["fits.chain.md", "ok", ""],
            ["large.chain.md", "invalid", "file-too-large"]
        ]
    );
}

#[test]
fn exactly_the_given_folders_are_looked_in() {
    let session = session();
    session
        .file(format!("{USER}/x.chain.json"), in_json("x", "d"))
        .file("project/given/y.chain.json", in_json("y", "d"));
    let list = session.json("chains list --chains-dir given");
    assert_eq!(column(&list["chains"], "name"), ["y"]);
    let list = session.json("chains list --chains-dir nowhere");
    assert_eq!(list["diagnostics"][0]["code"], "root-unreadable");
}

#[test]
fn a_chain_of_a_project_counts_once_it_is_trusted_and_as_it_was_seen() {
    let session = session();
    session.file("project/.pi/chains/x.chain.json", in_json("x", "d"));
    let state = || listed(&session)[0][1].clone();
    assert_eq!(state(), "untrusted");
    session.trust();
    assert_eq!(state(), "ok");
    session.grove("chains check").lacks(["x:"]);
    session.file("project/.pi/chains/x.chain.json", in_json("x", "other"));
    assert_eq!(state(), "changed");
    // What waits to be looked at is named.
    session.grove("chains check").prints(["x:", "grove trust"]);
}

#[test]
fn everything_that_a_chain_would_do_is_shown_before_it_is_trusted() {
    let session = session();
    let chain = json!({
        "name": "x", "description": "d",
        "chain": [
            {"agent": "worker", "task": "t", "cwd": "/etc", "reads": ["a.md"], "model": "m",
             "acceptance": {"verify": [{"id": "v", "command": "npm test; touch pwned"}]}},
            {"parallel": [{"agent": "scout", "task": "first"}, {"agent": "scout", "task": "second"}]},
        ],
    });
    session.file("project/.grove/chains/x.chain.json", chain.to_string());
    assert_snapshot!(session.grove("chains show x"), @r#"
        name         x
        state        untrusted
                     the project is not trusted; review the project, then run `grove trust`
        description  d
        location     [T]/project/.grove/chains/x.chain.json
        root         project:.grove/chains
        digest       [DIGEST]
        step 1       worker: t
                     task: t
                     cwd: /etc
                     reads: ["a.md"]
                     model: m
                     acceptance.verify.1.id: v
                     acceptance.verify.1.command: npm test; touch pwned
        step 2       scout + scout: 2 tasks
                     parallel.1.agent: scout
                     parallel.1.task: first
                     parallel.2.agent: scout
                     parallel.2.task: second

        warning[model-unknown]: no model `m` is known here
          --> [T]/project/.grove/chains/x.chain.json:1:99
          |
        1 | …c","reads":["a.md"],"model":"m","acceptance":{"verify":[{"id":"v","command":"npm test; touch pwned"}…
          |                      ^
          = help: check the spelling
        [exit code 0]
    "#);
}
