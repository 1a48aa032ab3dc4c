//! Somebody is told once when a child may need them: a silent model, a tool that takes long, edits that fail.

use grove_testkit::model_server::{Delivery, ModelServer, Reply, Script, ScriptedReply};
use grove_testkit::needs;
use grove_testkit::session::USER_CONFIG;
use serde_json::{Value, json};

use super::{AGENT, bash, run, run_of, scene};

const CONFIG: &str =
    "[runs.attention]\nneedsAttentionAfterMs = 400\ntoolNeedsAttentionAfterMs = 400\n";

/// The reasons of the notices of a run, in their order.
fn notices(stdout: &str) -> Vec<String> {
    let lines = stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let noticed = lines.filter(|line| line["fact"] == "noticed");
    noticed
        .map(|line| line["why"]["reason"].as_str().unwrap().to_owned())
        .collect()
}

fn late(text: &str, delivery: Delivery) -> ScriptedReply {
    ScriptedReply {
        delivery,
        pieces: 8,
        ..Reply::text(text).into()
    }
}

#[test]
fn one_notice_for_each_reason_and_none_for_whoever_goes_on() {
    let edit = || {
        ScriptedReply::from(Reply::call(
            "edit",
            json!({ "path": "no", "oldText": "a", "newText": "b" }),
        ))
    };
    let done = || ScriptedReply::from(Reply::text("Done."));
    let silent = Delivery {
        first_delay_ms: 1_500,
        ..Delivery::default()
    };
    // Slow, but never silent for long.
    let slow = Delivery {
        chunk_bytes: Some(200),
        chunk_delay_ms: 100,
        ..Delivery::default()
    };
    for (name, replies, expected) in [
        ("quick", vec![done()], vec![]),
        (
            "a silent model",
            vec![late("Late.", silent.clone())],
            vec!["silentModel"],
        ),
        (
            "a slow model",
            vec![late(&"word ".repeat(200), slow)],
            vec![],
        ),
        (
            "a long tool",
            vec![bash("sleep 1.5").into(), done()],
            vec!["longTool"],
        ),
        (
            "twice",
            vec![bash("sleep 1").into(), bash("sleep 1").into(), done()],
            vec!["longTool", "longTool"],
        ),
        ("two failing edits", vec![edit(), edit(), done()], vec![]),
        (
            "three failing edits",
            vec![edit(), edit(), edit(), done()],
            vec!["failingEdits"],
        ),
        (
            "failing edits with one between that did not",
            vec![
                edit(),
                edit(),
                Reply::call(
                    "edit",
                    json!({ "path": "there", "oldText": "x", "newText": "y" }),
                )
                .into(),
                edit(),
                done(),
            ],
            vec![],
        ),
    ] {
        let server = ModelServer::start(Script::replies(replies)).unwrap();
        let session = scene(&server);
        session.file(USER_CONFIG, CONFIG);
        session.file("project/there", "x");
        session.definition(AGENT, "tools: bash, write, edit\n", "You work.");
        let outcome = session.grove(run("Work", &["--json"])).ok();
        assert_eq!(notices(&outcome.stdout), expected, "{name}");
        // It decides nothing, and is over with the child.
        let run = run_of(&outcome.stdout);
        assert_eq!(
            (&run["state"], &run["nodes"][0]["attention"]),
            (&json!("complete"), &Value::Null)
        );
    }
    // A request may say when, and a person is told in words; or that nobody is to be told.
    for (control, is_told) in [
        (json!({ "needsAttentionAfterMs": 300 }), true),
        (
            json!({ "needsAttentionAfterMs": 300, "enabled": false }),
            false,
        ),
        (
            json!({ "needsAttentionAfterMs": 300, "notifyChannels": [] }),
            false,
        ),
        (json!({}), false),
    ] {
        let server = ModelServer::start(Script::replies([late("Late.", silent.clone())])).unwrap();
        let session = scene(&server);
        let request = json!({ "agent": "worker", "task": "Work", "model": "anthropic/m", "control": control });
        session.file("project/request.json", request.to_string());
        let outcome = session.grove("run --request request.json").ok();
        let says = "may need attention: its model has said nothing for 300 ms";
        assert_eq!(
            outcome.stderr.contains(says),
            is_told,
            "{control}: {outcome}"
        );
    }
}

#[test]
fn an_agent_program_is_looked_after_like_a_child_of_our_own() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let silent = Delivery {
        first_delay_ms: 1_500,
        ..Delivery::default()
    };
    let server = ModelServer::start(Script::replies([late("Late.", silent)])).unwrap();
    let session = super::engines::scene(&server);
    let config = session.read(USER_CONFIG);
    session.file(USER_CONFIG, format!("{config}{CONFIG}"));
    let words = "run worker Work --engine claude --model for-claude/claude-sonnet-4-5 --json";
    let outcome = session.grove(words).ok();
    assert!(
        notices(&outcome.stdout).contains(&"silentModel".to_owned()),
        "{outcome}"
    );
}
