//! What the tools answer when there is nothing to tell, nothing to do, or something is missing: a model reads it and has to
//! know what is so and what it can do.

use grove_engine::below::grove_plan::subagent_tool::NEEDS_OF_RUN;
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::scene;
use crate::mcp_hostile::raw_client::{RawClient, request};
use crate::run_sessions::end_all;

/// What a tool answers, and whether it is an error.
fn told(client: &mut RawClient, tool: &str, arguments: &Value) -> (String, bool) {
    let params = json!({ "name": tool, "arguments": arguments });
    let answer = client.ask(&request("told", "tools/call", &params));
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{answer}")).to_owned();
    (text, result["isError"] == true)
}

fn empty_home() -> Session {
    let session = crate::session().without_bundled();
    session.dir("home/work");
    session
}

#[test]
fn a_catalog_says_that_nothing_changed_or_that_it_is_the_whole_one() {
    let session = empty_home();
    session.skill("home/.agents/skills/greet", "greet", "Greets.");
    let mut client = RawClient::connect(&session);
    let (whole, _) = told(&mut client, "skills", &json!({}));
    let digest = whole.lines().last().unwrap();
    let unchanged = format!("Nothing has changed in the catalog.\n{digest}\n");
    let id = digest.strip_prefix("catalog digest: ").unwrap();
    for since in ["last", id] {
        let (text, is_error) = told(&mut client, "skills", &json!({ "since": since }));
        assert_eq!((text, is_error), (unchanged.clone(), false), "{since}");
    }

    let nobodys = "0".repeat(64);
    let (text, _) = told(&mut client, "skills", &json!({ "since": nobodys }));
    let (said, rest) = text.split_once('\n').unwrap();
    assert_eq!(rest, whole);
    let printed = session.grove_in("home/work", ["catalog", "--since", &nobodys]);
    let printed = printed.ok().stderr;
    assert!(
        printed.lines().any(|line| line == said),
        "{said}: {printed}"
    );

    session.skill("home/.agents/skills/part", "part", "Says goodbye.");
    let (text, _) = told(&mut client, "skills", &json!({ "since": id }));
    assert!(text.contains("Says goodbye."), "{text}");
    assert!(!text.contains(said) && !text.contains("Nothing"), "{text}");
}

#[test]
fn a_catalog_without_skills_says_so() {
    let session = empty_home();
    let mut client = RawClient::connect(&session);
    let (text, _) = told(&mut client, "skills", &json!({}));
    let first = text.lines().next();
    assert_eq!(first, Some("There are no skills in the catalog."), "{text}");
    assert!(!text.contains("To open one"), "{text}");
}

#[test]
fn runs_that_have_ended_are_neither_open_nor_stopped() {
    let (_server, session) = scene();
    let mut client = RawClient::connect(&session);
    let status = json!({ "action": "status" });
    let runs = json!({ "action": "list", "what": "runs" });
    let (text, _) = told(&mut client, "subagent", &status);
    assert_eq!(text, "no run is open\n");
    let (text, _) = told(&mut client, "subagent", &runs);
    assert_eq!(text, "Runs\nthere are no runs\n\n");

    let work = json!({ "agent": "worker", "task": "quick one" });
    let (text, is_error) = told(&mut client, "subagent", &work);
    assert!(!is_error && text.contains("Did quick one."), "{text}");
    let mut lines = text.lines();
    let run = lines.next().unwrap().strip_prefix("run: ").unwrap();
    let token = lines.next().unwrap().strip_prefix("token: ").unwrap();
    let (text, _) = told(&mut client, "subagent", &status);
    let expected = "no run is open; `action: list` with `what: runs` lists 1 ended run\n";
    assert_eq!(text, expected);
    let (text, _) = told(&mut client, "subagent", &runs);
    assert!(text.contains(run), "{text}");

    let stop = json!({ "action": "stop", "run": run, "token": token });
    let (text, is_error) = told(&mut client, "subagent", &stop);
    let expected = format!("run {run} has already ended (complete)");
    assert_eq!((text, is_error), (expected, false));
    let stop = json!({ "action": "stop", "run": format!("{run}.1"), "token": token });
    let (text, is_error) = told(&mut client, "subagent", &stop);
    assert!(
        is_error && text.contains("child 1 is not at work"),
        "{text}"
    );
    end_all(&session);
}

#[test]
fn one_child_is_stopped_and_the_others_keep_their_results() {
    let (_server, session) = scene();
    let mut client = RawClient::connect(&session);
    let tasks =
        json!([{ "agent": "asker", "task": "ask me" }, { "agent": "worker", "task": "quick one" }]);
    let work = json!({ "tasks": tasks, "background": true });
    let (text, _) = told(&mut client, "subagent", &work);
    let mut lines = text.lines();
    let run = lines.next().unwrap().strip_prefix("run: ").unwrap();
    let token = lines.next().unwrap().strip_prefix("token: ").unwrap();
    let stop = json!({ "action": "stop", "run": format!("{run}.1.0"), "token": token });
    let (text, is_error) = told(&mut client, "subagent", &stop);
    let expected = format!("child 1.0 of run {run} has been told to stop");
    assert_eq!((text, is_error), (expected, false));
    let wait = json!({ "action": "wait", "run": run, "token": token });
    told(&mut client, "subagent", &wait);
    let shown = session.json(["runs", "show", run]);
    let states = shown["nodes"].as_array().unwrap().iter();
    let states: Vec<&str> = states.map(|node| node["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["stopped", "complete"], "{shown}");
    end_all(&session);
}

#[test]
fn a_model_is_told_why_work_was_rejected() {
    let (_server, session) = scene();
    let mut client = RawClient::connect(&session);
    let acceptance = json!({ "verify": ["exit 3"] });
    let work = json!({ "agent": "worker", "task": "quick one", "acceptance": acceptance });
    let (text, is_error) = told(&mut client, "subagent", &work);
    assert!(is_error, "{text}");
    let why = "\n1 rejected: verify-1 (`exit 3`) ended with code 3\n";
    assert!(text.contains(why), "{text}");
    end_all(&session);
}

#[test]
fn a_request_is_told_what_it_needs_and_nothing_that_the_tool_has_not() {
    let session = empty_home();
    session.definition("home/.grove/agents/worker.md", "tools: read\n", "You work.");
    let mut client = RawClient::connect(&session);
    for arguments in [json!({}), json!({ "task": "x" })] {
        let (text, is_error) = told(&mut client, "subagent", &arguments);
        let expected = format!("a run needs {NEEDS_OF_RUN}\n");
        assert!(is_error && text.starts_with(&expected), "{text}");
    }
    let misspelt = json!({ "agnt": "worker", "task": "x" });
    let (text, _) = told(&mut client, "subagent", &misspelt);
    assert!(text.contains("`agnt`"), "{text}");

    let work = json!({ "agent": "worker", "task": "x" });
    let (text, is_error) = told(&mut client, "subagent", &work);
    assert!(is_error, "{text}");
    assert!(text.contains("no model provider is configured"), "{text}");
    assert!(text.contains("ANTHROPIC_API_KEY"), "{text}");
    assert!(!text.contains("--replay"), "{text}");
}

#[test]
fn the_help_says_when_a_field_is_not_needed() {
    let session = empty_home();
    let mut client = RawClient::connect(&session);
    let (text, _) = told(&mut client, "subagent", &json!({ "action": "help" }));
    let expected = "  parentModel: your own model, for children that name none; not needed if your host provides it\n";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains(&format!("  run ({NEEDS_OF_RUN}): ")),
        "{text}"
    );
    assert!(!text.contains("grove agents show"), "{text}");
}
