//! The tool `subagent`, called by hosts and by children: the same answers, and what each of them may do.

use std::sync::{Arc, Mutex};

use grove_engine::view::ChildWish;
use grove_testkit::model_server::{Reply, Request, Script};
use serde_json::{Value, json};

use crate::scene::Scene;

/// The last message of a conversation that a model is told.
fn last(request: &Request) -> Value {
    let body = request.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    messages.last().cloned().unwrap_or_default()
}

/// The call of `subagent` that a child makes.
type CallOfChild = Arc<Mutex<Value>>;

/// A model whose child asks another agent if it is told to delegate, and tells what the tool said.
fn delegating(call: &CallOfChild) -> Script {
    let call = Arc::clone(call);
    Script::chosen_by(move |_, request: &Request| {
        let last = last(request);
        let block = &last["content"][0];
        if block["type"] == "tool_result" {
            return Reply::text(format!("It said: {}", block["content"]));
        }
        match block["text"].as_str().unwrap_or_default() {
            "delegate" => Reply::call("subagent", call.lock().unwrap().clone()),
            other => Reply::text(format!("Did {other}.")),
        }
    })
}

#[test]
fn a_host_gets_a_token_and_only_its_owner_changes_a_run() {
    let scene = Scene::new(Script::chosen_by(|_, request: &Request| {
        let text = last(request)["content"].to_string();
        if text.contains("Which?") || text.contains("Blue") {
            Reply::text("Painted.")
        } else {
            Reply::call(
                "contact_supervisor",
                json!({ "kind": "question", "message": "Which?" }),
            )
        }
    }));
    let _served = scene.engine.serve_here().unwrap();
    let begun = scene.call(&json!({ "agent": "scout", "task": "ask" }));
    let data = begun.data().unwrap();
    let (run, token) = (data["id"].clone(), data["ownerToken"].clone());
    assert_eq!(data["state"], "asking");
    assert!(begun.text().contains("Which?"), "{}", begun.text());
    for (action, token) in [
        ("answer", Value::Null),
        ("stop", json!("wrong")),
        ("resume", Value::Null),
    ] {
        let mut call = json!({ "action": action, "run": run, "message": "Blue." });
        if token.is_string() {
            call["token"] = token;
        }
        let refused = scene.call(&call);
        assert!(
            refused.is_error() && refused.text().contains("not-owner"),
            "{action}"
        );
        assert_eq!(refused.data().unwrap()["code"], "not-owner");
    }
    let answered =
        scene.call(&json!({ "action": "answer", "run": run, "token": token, "message": "Blue." }));
    assert!(!answered.is_error(), "{}", answered.text());
    let data = answered.data().unwrap();
    assert_eq!(data["state"], "complete");
    let ack = json!({ "action": "ack", "run": run, "token": token, "delivery": data["delivery"] });
    for _ in 0..2 {
        let acknowledged = scene.call(&ack);
        assert!(
            acknowledged.text().contains("is acknowledged"),
            "{}",
            acknowledged.text()
        );
    }
    let status = scene.call(&json!({ "action": "status" }));
    assert!(
        status.text().starts_with("no run is open; "),
        "{}",
        status.text()
    );
}

#[test]
fn a_child_waits_for_the_run_that_it_asks_for_and_reaches_no_other() {
    let call = CallOfChild::default();
    let scene = Scene::new(delegating(&call));
    let _served = scene.engine.serve_here().unwrap();
    let other = scene.submit("scout", "of a person");
    scene.wait(&other);
    for (made, expected) in [
        (json!({ "agent": "scout", "task": "a part" }), "Did a part."),
        (
            json!({ "agent": "scout", "task": "a part", "background": true }),
            "has begun; `action: wait` waits for it",
        ),
        (
            json!({ "action": "stop", "run": other }),
            "is not one that this child asked for",
        ),
        (
            json!({ "action": "apply", "run": other }),
            "there is no action `apply`",
        ),
        (
            json!({ "agent": "nobody", "task": "x" }),
            "no agent is called `nobody`",
        ),
        (json!({ "task": "x" }), "a run needs `agent` and `task`"),
    ] {
        *call.lock().unwrap() = made.clone();
        let run = scene.submit("scout", "delegate");
        let answer = scene.wait(&run).answer.unwrap_or_default();
        assert!(answer.contains(expected), "{made}: {answer}");
    }
}

#[test]
fn a_question_below_is_answered_by_the_child_above() {
    let script = Script::chosen_by(|_, request: &Request| {
        let body = request.json();
        let text = body["messages"].to_string();
        let last = last(request)["content"].to_string();
        let first = body["messages"][0]["content"][0]["text"].clone();
        if first == "ask" {
            return if text.contains("Blue") {
                Reply::text("Blue, then.")
            } else {
                Reply::call(
                    "contact_supervisor",
                    json!({ "kind": "question", "message": "Which?" }),
                )
            };
        }
        if last.contains("Blue, then.") {
            return Reply::text("Done below.");
        }
        if last.contains("Which?") {
            let run = last
                .split("run ")
                .nth(1)
                .unwrap()
                .split(' ')
                .next()
                .unwrap();
            return Reply::call(
                "subagent",
                json!({ "action": "answer", "run": run, "message": "Blue." }),
            );
        }
        Reply::call("subagent", json!({ "agent": "scout", "task": "ask" }))
    });
    let scene = Scene::new(script);
    let _served = scene.engine.serve_here().unwrap();
    let run = scene.submit("scout", "delegate");
    let view = scene.wait(&run);
    assert_eq!(view.answer.as_deref(), Some("Done below."), "{view:?}");
    assert_eq!(view.nodes[0].attempts[0].delegated.len(), 1);
}

#[test]
fn the_same_key_gives_the_same_run_and_another_request_none() {
    let scene = Scene::new(Script::plain());
    let _served = scene.engine.serve_here().unwrap();
    let call = json!({ "agent": "scout", "task": "look", "submitKey": "k", "background": true });
    let (first, second) = (scene.call(&call), scene.call(&call));
    assert_eq!(first.data().unwrap()["id"], second.data().unwrap()["id"]);
    assert_eq!(
        first.data().unwrap()["ownerToken"],
        second.data().unwrap()["ownerToken"]
    );
    let other = scene.call(&json!({ "agent": "scout", "task": "else", "submitKey": "k" }));
    assert!(other.is_error());
    assert!(
        other.text().contains("was asked for something else"),
        "{}",
        other.text()
    );
}

#[test]
fn a_paused_child_goes_on_where_it_was() {
    let scene = Scene::new(Script::chosen_by(|number, _: &Request| {
        if number == 0 {
            Reply::call(
                "contact_supervisor",
                json!({ "kind": "question", "message": "Now?" }),
            )
        } else {
            Reply::text("Went on.")
        }
    }));
    let _served = scene.engine.serve_here().unwrap();
    let run = scene.submit("scout", "ask");
    assert_eq!(scene.wait(&run).shown(), "asking");
    let journal = scene.engine.journal().unwrap();
    journal
        .want(&run, ChildWish::Answer("Yes.".to_owned()))
        .unwrap();
    assert_eq!(scene.wait(&run).answer.as_deref(), Some("Went on."));
}
