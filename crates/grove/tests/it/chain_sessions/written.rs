//! What chain files say, as people write them.

use grove_testkit::session::{Session, rows};
use serde_json::{Value, json};

use super::{USER, in_json, markdown, session};

#[test]
fn a_chain_is_called_by_its_package_and_shown_with_everything_its_steps_say() {
    let session = session();
    let text = "---\nname: flow\npackage: My Pkg\ndescription: d\ncolor: red\n---\n\nAn intro paragraph.\n\n## scout\noutput: context.md\nas: found\nreads:\nprogress: true\nskills: a, b\n\nLook at {task}\n\n## worker\nreads: a+b\n";
    session.file(format!("{USER}/flow.chain.md"), text);
    let shown = session.json("chains show my-pkg.flow");
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
    let printed = session.grove("chains show my-pkg.flow").ok();
    printed.prints(["step 1       scout → found: Look"]);
    let missing = session.grove("chains show my-pkg.flw").fails(1);
    missing.says(["my-pkg.flow"]);
}

/// A home with one chain, its state and what was found in its file.
fn judged(file: &str, text: &str) -> (Session, String, Vec<[String; 4]>) {
    let session = session();
    session.file(format!("{USER}/{file}"), text);
    let chain = session.json("chains list")["chains"][0].clone();
    let findings = rows(
        &chain["diagnostics"],
        ["code", "severity", "line", "message"],
    );
    let state = chain["state"].as_str().unwrap().to_owned();
    (session, state, findings)
}

/// The first step of a chain that a file defines without a finding.
fn first_step(file: &str, text: &str) -> Value {
    let (session, state, findings) = judged(file, text);
    assert_eq!((state.as_str(), findings), ("ok", vec![]));
    session.json("chains show x")["fields"]["steps"][0].clone()
}

#[test]
fn a_step_without_an_empty_line_keeps_its_text_and_is_a_warning() {
    let text = markdown("x", "d", "## scout\nLook here\nand there\n");
    let (session, state, findings) = judged("x.chain.md", &text);
    let message = "the step's text begins without a blank line before it";
    assert_eq!(state, "ok");
    assert_eq!(findings, [["chain-step-text", "warning", "7", message]]);
    let shown = session.json("chains show x");
    assert_eq!(shown["fields"]["steps"][0]["task"], "Look here\nand there");
}

#[test]
fn a_schema_in_a_line_is_an_error_and_a_file_with_one_is_fine() {
    let text = |schema: &str| {
        markdown(
            "x",
            "d",
            &format!("## scout\noutputSchema: {schema}\n\nt\n"),
        )
    };
    let (_, state, findings) = judged("x.chain.md", &text("{\"type\": \"object\"}"));
    let message = "`outputSchema` is the path of a file here, not the schema itself";
    assert_eq!(state, "invalid");
    assert_eq!(findings, [["chain-schema-inline", "error", "7", message]]);
    first_step("x.chain.md", &text("schema.json"));
}

#[test]
fn a_chain_without_name_or_description_is_an_error_that_says_what_is_missing() {
    for (key, missing) in [
        ("name", "the chain has no description"),
        ("description", "the chain has no name"),
        ("color", "the chain has no name and no description"),
    ] {
        let markdown = format!("---\n{key}: x\n---\n\n## scout\n\nt\n");
        let json = json!({ key: "x", "chain": [{"agent": "scout"}] }).to_string();
        for (file, text) in [("x.chain.md", markdown), ("x.chain.json", json)] {
            let (_, state, findings) = judged(file, &text);
            assert_eq!(state, "invalid", "{text}");
            assert_eq!(findings, [["chain-incomplete", "error", "1", missing]]);
        }
    }
}

#[test]
fn acceptance_and_working_folder_of_a_step_are_kept_in_both_formats() {
    let expected = json!({"agent": "scout", "task": "t", "cwd": "sub", "acceptance": "checked"});
    let markdown = markdown("x", "d", "## scout\ncwd: sub\nacceptance: checked\n\nt\n");
    let in_json = json!({"name": "x", "description": "d", "chain": [expected]}).to_string();
    assert_eq!(first_step("x.chain.md", &markdown), expected);
    assert_eq!(first_step("x.chain.json", &in_json), expected);
}

#[test]
fn text_that_looks_like_a_heading_in_code_is_no_step() {
    let task = "Write:\n\n```\n## Findings\n```";
    let text = markdown("x", "d", &format!("## scout\n\n{task}\n"));
    assert_eq!(first_step("x.chain.md", &text)["task"], task);
}

#[test]
fn settings_that_cannot_be_read_hide_no_chain() {
    let session = session();
    session
        .file("home/.pi/agent/settings.json", "{")
        .file(format!("{USER}/x.chain.json"), in_json("x", "d"));
    let value = session.json("chains list");
    assert_eq!(value["chains"][0]["state"], "ok");
    assert_eq!(value["diagnostics"][0]["code"], "package-settings");
}
