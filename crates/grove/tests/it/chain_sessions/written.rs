//! What chain files say, as people write them.

use grove_testkit::home::TestHome;
use grove_testkit::process::Ending;
use serde_json::{Value, json};

use super::{home, json_of, listed};

#[test]
fn a_chain_is_called_by_its_package_and_shown_with_everything_its_steps_say() {
    let home = home();
    let text = "---\nname: flow\npackage: My Pkg\ndescription: d\ncolor: red\n---\n\nAn intro paragraph.\n\n## scout\noutput: context.md\nas: found\nreads:\nprogress: true\nskills: a, b\n\nLook at {task}\n\n## worker\nreads: a+b\n";
    home.file("home/.agents/chains/flow.chain.md", text);
    let shown = json_of(&home.run("project", ["chains", "show", "my-pkg.flow", "--json"]));
    assert_eq!(shown["chain"]["name"], "my-pkg.flow");
    assert_eq!(
        shown["fields"],
        json!({
            "package": "my-pkg",
            "steps": [
                {
                    "agent": "scout", "task": "Look at {task}", "output": "context.md", "as": "found",
                    "reads": false, "progress": true, "skill": ["a", "b"]
                },
                // A comma separates, a plus does not.
                {"agent": "worker", "reads": ["a+b"]}
            ],
            "intro": "An intro paragraph.",
            "unknown": {"color": "red"}
        })
    );
    let printed = home.run("project", ["chains", "show", "my-pkg.flow"]);
    let printed = printed.stdout_text();
    assert!(
        printed.contains("step 1       scout → found: Look"),
        "{printed}"
    );
    let missing = home.run("project", ["chains", "show", "my-pkg.flw"]);
    assert_eq!(missing.ending, Ending::Exited(1));
    assert!(missing.stderr_text().contains("my-pkg.flow"));
}

/// State, and code, severity, line and message of each finding, of the one chain in a file.
fn judged(file: &str, text: &str) -> (String, Vec<(String, String, u64, String)>) {
    let home = home();
    home.file(format!("home/.agents/chains/{file}"), text);
    let value = json_of(&home.run("project", ["chains", "list", "--json"]));
    let chain = &value["chains"][0];
    let findings = chain["diagnostics"].as_array().unwrap().iter();
    let findings = findings.map(|finding| {
        let text = |key: &str| finding[key].as_str().unwrap().to_owned();
        let line = finding["line"].as_u64().unwrap();
        (text("code"), text("severity"), line, text("message"))
    });
    let state = chain["state"].as_str().unwrap().to_owned();
    (state, findings.collect())
}

fn found(code: &str, severity: &str, line: u64, message: &str) -> (String, String, u64, String) {
    (code.into(), severity.into(), line, message.into())
}

#[test]
fn a_step_without_an_empty_line_keeps_its_text_and_is_a_warning() {
    let text = "---\nname: x\ndescription: d\n---\n\n## scout\nLook here\nand there\n";
    let (state, findings) = judged("x.chain.md", text);
    let message = "the step's text begins without a blank line before it";
    assert_eq!(state, "ok");
    assert_eq!(findings, [found("chain-step-text", "warning", 7, message)]);
    let home = home();
    home.file("home/.agents/chains/x.chain.md", text);
    let shown = json_of(&home.run("project", ["chains", "show", "x", "--json"]));
    assert_eq!(shown["fields"]["steps"][0]["task"], "Look here\nand there");
}

#[test]
fn a_schema_in_a_line_is_an_error_and_a_file_with_one_is_fine() {
    let text = |schema: &str| {
        format!("---\nname: x\ndescription: d\n---\n\n## scout\noutputSchema: {schema}\n\nt\n")
    };
    let (state, findings) = judged("x.chain.md", &text("{\"type\": \"object\"}"));
    let message = "`outputSchema` is the path of a file here, not the schema itself";
    assert_eq!(state, "invalid");
    assert_eq!(
        findings,
        [found("chain-schema-inline", "error", 7, message)]
    );
    assert_eq!(
        judged("x.chain.md", &text("schema.json")),
        ("ok".to_owned(), Vec::new())
    );
}

#[test]
fn a_chain_without_name_or_description_is_an_error_that_says_what_is_missing() {
    for (head, missing) in [
        (vec!["name"], "the chain has no description"),
        (vec!["description"], "the chain has no name"),
        (vec!["color"], "the chain has no name and no description"),
    ] {
        let lines: Vec<String> = head.iter().map(|key| format!("{key}: x\n")).collect();
        let markdown = format!("---\n{}---\n\n## scout\n\nt\n", lines.concat());
        let members: Vec<String> = head
            .iter()
            .map(|key| format!("\"{key}\": \"x\", "))
            .collect();
        let json = format!(
            "{{{}\"chain\": [{{\"agent\": \"scout\"}}]}}",
            members.concat()
        );
        for (file, text) in [("x.chain.md", markdown), ("x.chain.json", json)] {
            let (state, findings) = judged(file, &text);
            assert_eq!(state, "invalid", "{text}");
            assert_eq!(
                findings,
                [found("chain-incomplete", "error", 1, missing)],
                "{text}"
            );
        }
    }
}

/// The first step of a chain that a file defines.
fn first_step(home: &TestHome, file: &str, text: &str) -> Value {
    home.file(format!("home/.agents/chains/{file}"), text);
    let shown = json_of(&home.run("project", ["chains", "show", "x", "--json"]));
    shown["fields"]["steps"][0].clone()
}

#[test]
fn acceptance_and_working_folder_of_a_step_are_kept_in_both_formats() {
    let expected = json!({"agent": "scout", "task": "t", "cwd": "sub", "acceptance": "checked"});
    let markdown =
        "---\nname: x\ndescription: d\n---\n\n## scout\ncwd: sub\nacceptance: checked\n\nt\n";
    let in_json = json!({"name": "x", "description": "d", "chain": [expected]}).to_string();
    assert_eq!(first_step(&home(), "x.chain.md", markdown), expected);
    assert_eq!(first_step(&home(), "x.chain.json", &in_json), expected);
}

#[test]
fn text_that_looks_like_a_heading_in_code_is_no_step() {
    let text = "---\nname: x\ndescription: d\n---\n\n## scout\n\nWrite:\n\n```\n## Findings\n```\n";
    let home = home();
    let step = first_step(&home, "x.chain.md", text);
    assert_eq!(step["task"], "Write:\n\n```\n## Findings\n```");
    assert_eq!(listed(&home)[0].1, "ok");
}

#[test]
fn settings_that_cannot_be_read_hide_no_chain() {
    let home = home();
    home.file("home/.pi/agent/settings.json", "{");
    home.file(
        "home/.agents/chains/x.chain.json",
        "{\"name\": \"x\", \"description\": \"d\", \"chain\": [{\"agent\": \"scout\"}]}",
    );
    let value = json_of(&home.run("project", ["chains", "list", "--json"]));
    assert_eq!(value["chains"][0]["state"], "ok");
    assert_eq!(value["diagnostics"][0]["code"], "package-settings");
}
