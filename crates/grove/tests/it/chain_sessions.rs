//! Whole sessions of `grove chains`: what is found, which file counts, and what is said about steps.

mod changes;
mod written;

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, Finished};
use serde_json::{Value, json};

fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/bundled").dir("project/.git");
    let bundled = home.path("home/bundled");
    home.with_env("GROVE_BUNDLED_DIR", bundled)
}

fn json_of(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout_text()).unwrap_or_else(|error| {
        panic!(
            "{error}: {}{}",
            finished.stdout_text(),
            finished.stderr_text()
        )
    })
}

fn markdown(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}")
}

fn in_json(name: &str, description: &str) -> String {
    json!({"name": name, "description": description, "chain": [{"agent": "scout"}]}).to_string()
}

/// Name, state and description of every chain.
fn listed(home: &TestHome) -> Vec<(String, String, String)> {
    let value = json_of(&home.run("project", ["chains", "list", "--json"]));
    let text = |chain: &Value, key: &str| chain[key].as_str().unwrap_or_default().to_owned();
    let mut all: Vec<_> = value["chains"]
        .as_array()
        .unwrap()
        .iter()
        .map(|chain| {
            (
                text(chain, "name"),
                text(chain, "state"),
                text(chain, "description"),
            )
        })
        .collect();
    all.sort();
    all
}

fn used(home: &TestHome) -> String {
    let all = listed(home);
    let mut ok = all.into_iter().filter(|(_, state, _)| state == "ok");
    let (_, _, description) = ok.next().unwrap();
    assert_eq!(ok.next(), None);
    description
}

#[test]
fn chains_are_found_beside_agents_and_in_folders_of_their_own() {
    let home = home();
    let step = "## scout\n\nLook\n";
    for (folder, name) in [
        ("home/.agents/chains", "a"),
        ("home/.agents/agents", "b"),
        ("home/.agents/anywhere/deep", "c"),
        ("home/.grove/chains", "d"),
        ("home/.pi/agent/chains", "e"),
        ("home/.pi/agent/agents", "f"),
        ("data/grove/chains", "g"),
    ] {
        home.file(
            format!("{folder}/{name}.chain.md"),
            markdown(name, "d", step),
        );
    }
    for never in [
        "home/.agents/skills/s/x.chain.md",
        "home/.agents/node_modules/x.chain.md",
        "home/.agents/nested/.git/x.chain.md",
        "home/.agents/x.chain.toml",
    ] {
        home.file(never, markdown("never", "d", step));
    }
    let names: Vec<String> = listed(&home).into_iter().map(|(name, _, _)| name).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e", "f", "g"]);
    let agents = home.run("project", ["agents", "list"]).stdout_text();
    assert!(!agents.contains(".agents"), "a chain is no agent: {agents}");
}

#[test]
fn in_one_scope_json_counts_and_the_ladder_decides_between_scopes() {
    let home = home();
    home.run("project", ["trust", "--follow"])
        .require_success("trust")
        .unwrap();
    let markdown = |description: &str| markdown("x", description, "## scout\n\nLook\n");
    home.file(
        "home/.pi/agent/chains/x.chain.json",
        in_json("x", "user json"),
    );
    assert_eq!(used(&home), "user json");
    home.file(
        "project/.pi/chains/x.chain.md",
        markdown("project markdown"),
    );
    assert_eq!(used(&home), "project markdown");
    home.file(
        "project/.pi/chains/x.chain.json",
        in_json("x", "project json"),
    );
    assert_eq!(used(&home), "project json");
    // A Markdown file in a stronger folder of the same scope does not go before it.
    home.file("project/.grove/chains/x.chain.md", markdown("own markdown"));
    assert_eq!(used(&home), "project json");
    assert_eq!(listed(&home).len(), 4, "losers stay visible");
    let loser = "x.chain.md@project:.pi/chains";
    let shown = json_of(&home.run("project", ["chains", "show", loser, "--json"]));
    assert_eq!(shown["chain"]["state"], "shadowed");
    assert_eq!(shown["chain"]["standIn"], "x.chain.json@project:.pi/chains");
    assert_eq!(shown["chain"]["diagnostics"][0]["code"], "chain-collision");
}

#[test]
fn a_file_that_is_invalid_hides_no_other() {
    let home = home();
    home.file("home/.agents/chains/x.chain.json", "{\"name\": \"x\", ");
    home.file(
        "home/.agents/chains/x.chain.md",
        markdown("x", "good", "## scout\n\nLook\n"),
    );
    assert_eq!(used(&home), "good");
    let states: Vec<String> = listed(&home)
        .into_iter()
        .map(|(_, state, _)| state)
        .collect();
    assert_eq!(states, ["invalid", "ok"]);
}

#[test]
fn unknown_agents_and_skills_of_steps_are_warnings_with_near_names() {
    let home = home();
    home.skill("home/.agents/skills/notes", "notes", "Writes notes");
    home.file(
        "home/.agents/chains/x.chain.md",
        markdown(
            "x",
            "d",
            "## scot\nskills: nots\n\nLook\n\n## scout\nskills: notes\n\nLook\n",
        ),
    );
    let checked = home.run("project", ["chains", "check", "--json"]);
    assert_eq!(checked.ending, Ending::Exited(1));
    let value = json_of(&checked);
    assert_eq!(value["findings"], 2);
    assert_eq!(value["scopes"][0]["source"], "user");
    let chain = &value["scopes"][0]["chains"][0];
    assert_eq!(chain["state"], "ok", "warnings do not switch a chain off");
    let said: Vec<(&str, u64, &str)> = chain["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            (
                finding["code"].as_str().unwrap(),
                finding["line"].as_u64().unwrap(),
                finding["help"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            ("chain-agent-unknown", 6, "did you mean `scout`?"),
            ("chain-skill-unknown", 7, "did you mean `notes`?")
        ]
    );
}

#[test]
fn findings_are_listed_by_scope_with_their_lines() {
    let home = home();
    home.run("project", ["trust", "--follow"])
        .require_success("trust")
        .unwrap();
    home.file(
        "home/.agents/chains/u.chain.md",
        markdown("u", "d", "## scout\nText at once\n"),
    );
    home.file(
        "project/.pi/chains/p.chain.md",
        markdown("p", "d", "## scout\noutputSchema: {\"type\": 1}\n\nLook\n"),
    );
    home.file("project/.pi/chains/fine.chain.json", in_json("fine", "d"));
    let checked = home.run("project", ["chains", "check"]);
    assert_eq!(checked.ending, Ending::Exited(1));
    let text = checked.stdout_text();
    let places: Vec<usize> = [
        "project: 2 chains",
        "error[chain-schema-inline]",
        "p.chain.md:7:1",
        "user: 1 chain\n",
        "warning[chain-step-text]",
        "u.chain.md:7:1",
        "2 findings need attention",
    ]
    .iter()
    .map(|words| {
        text.find(words)
            .unwrap_or_else(|| panic!("{words}: {text}"))
    })
    .collect();
    assert!(places.is_sorted(), "{text}");

    let clean = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    clean.file("home/.agents/chains/fine.chain.json", in_json("fine", "d"));
    let checked = clean.run("project", ["chains", "check"]);
    assert_eq!(
        checked.ending,
        Ending::Exited(0),
        "{}",
        checked.stdout_text()
    );
}

#[test]
fn findings_about_folders_are_listed_by_scope_too() {
    let home = home();
    home.run("project", ["trust", "--follow"])
        .require_success("trust")
        .unwrap();
    for root in ["home/.agents/chains", "project/.pi/chains"] {
        // Seven levels of folders: one more than are walked.
        home.file(
            format!("{root}/1/2/3/4/5/6/7/x.chain.json"),
            in_json("x", "d"),
        );
    }
    home.file("project/.pi/chains/p.chain.json", in_json("p", "d"));
    home.file("home/.pi/agent/settings.json", "{");
    home.file("project/.pi/settings.json", "{");
    let text = home.run("project", ["chains", "check"]).stdout_text();
    let places: Vec<usize> = [
        "project: 1 chain\n",
        "project/.pi/chains\n",
        "user: 0 chains\n",
        "home/.agents/chains\n",
        "4 findings need attention",
    ]
    .iter()
    .map(|words| {
        text.find(words)
            .unwrap_or_else(|| panic!("{words}: {text}"))
    })
    .collect();
    assert!(places.is_sorted() && places[0] == 0, "{text}");

    let value = json_of(&home.run("project", ["chains", "check", "--json"]));
    assert_eq!(value["findings"], 4);
    let said: Vec<(&str, Vec<(&str, bool)>)> = value["scopes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|scope| {
            let source = scope["source"].as_str().unwrap();
            let findings = scope["diagnostics"].as_array().unwrap().iter();
            let findings = findings.map(|finding| {
                let file = finding["file"].as_str().unwrap();
                (
                    finding["code"].as_str().unwrap(),
                    file.contains("/project/"),
                )
            });
            let mut findings: Vec<_> = findings.collect();
            findings.sort_unstable();
            (source, findings)
        })
        .collect();
    assert_eq!(
        said,
        [
            (
                "project",
                vec![("depth-limit", true), ("package-settings", true)]
            ),
            (
                "user",
                vec![("depth-limit", false), ("package-settings", false)]
            ),
        ]
    );
}

#[test]
fn files_that_are_too_large_too_deep_or_no_text_are_invalid_and_the_rest_is_found() {
    let home = home();
    let folder = "home/.agents/chains";
    let padded = |size: usize| {
        let text = markdown("fits", "d", "## scout\n\n");
        let padding = "x".repeat(size - text.len());
        text + &padding
    };
    home.file(format!("{folder}/fits.chain.md"), padded(256_000));
    home.file(format!("{folder}/large.chain.md"), padded(256_001));
    let deep = format!(
        "{{\"name\": \"deep\", \"x\": {}{}}}",
        "[".repeat(70),
        "]".repeat(70)
    );
    home.file(format!("{folder}/deep.chain.json"), deep);
    home.file(format!("{folder}/bytes.chain.md"), b"---\nname: \xff\n");
    home.dir(format!("{folder}/folder.chain.md"));
    let value = json_of(&home.run("project", ["chains", "list", "--json"]));
    let said: Vec<(&str, &str)> = value["chains"]
        .as_array()
        .unwrap()
        .iter()
        .map(|chain| {
            let code = chain["reasons"][0]["code"].as_str();
            (chain["id"].as_str().unwrap(), code.unwrap_or("ok"))
        })
        .collect();
    assert_eq!(
        said,
        [
            ("bytes.chain.md", "not-utf8"),
            ("deep.chain.json", "json-syntax"),
            ("fits.chain.md", "ok"),
            ("large.chain.md", "file-too-large")
        ]
    );
}

#[test]
fn exactly_the_given_folders_are_looked_in() {
    let home = home();
    home.file("home/.agents/chains/x.chain.json", in_json("x", "d"));
    home.file("project/given/y.chain.json", in_json("y", "d"));
    let value = json_of(&home.run(
        "project",
        ["chains", "list", "--chains-dir", "given", "--json"],
    ));
    let chains = value["chains"].as_array().unwrap();
    assert_eq!(chains.len(), 1);
    assert_eq!(chains[0]["name"], "y");
    let value = json_of(&home.run(
        "project",
        ["chains", "list", "--chains-dir", "nowhere", "--json"],
    ));
    assert_eq!(value["diagnostics"][0]["code"], "root-unreadable");
}

#[test]
fn a_chain_of_a_project_counts_once_it_is_trusted_and_as_it_was_seen() {
    let home = home();
    home.file("project/.pi/chains/x.chain.json", in_json("x", "d"));
    let state = || listed(&home)[0].1.clone();
    assert_eq!(state(), "untrusted");
    home.run("project", ["trust"])
        .require_success("trust")
        .unwrap();
    assert_eq!(state(), "ok");
    home.file("project/.pi/chains/x.chain.json", in_json("x", "other"));
    assert_eq!(state(), "changed");
}

#[test]
fn everything_that_a_chain_would_do_is_shown_before_it_is_trusted() {
    let home = home();
    let chain = json!({
        "name": "x", "description": "d",
        "chain": [
            {"agent": "worker", "task": "t", "cwd": "/etc", "reads": ["a.md"], "model": "m",
             "acceptance": {"verify": [{"id": "v", "command": "npm test; touch pwned"}]}},
            {"parallel": [{"agent": "scout", "task": "first"}, {"agent": "scout", "task": "second"}]},
        ],
    });
    home.file("project/.grove/chains/x.chain.json", chain.to_string());
    let shown = home.run("project", ["chains", "show", "x"]).stdout_text();
    for part in [
        "npm test; touch pwned",
        "/etc",
        "a.md",
        "model: m",
        "first",
        "second",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("untrusted"), "{shown}");
}

#[test]
fn a_chain_that_waits_to_be_looked_at_is_named_by_check() {
    let home = home();
    let file = "project/.grove/chains/x.chain.json";
    home.file(file, in_json("x", "d"));
    home.run("project", ["trust"])
        .require_success("trust")
        .unwrap();
    let check = || home.run("project", ["chains", "check"]).stdout_text();
    assert!(!check().contains("x:"), "{}", check());
    home.file(file, in_json("x", "another"));
    let said = check();
    assert!(
        said.contains("x:") && said.contains("grove trust"),
        "{said}"
    );
}
