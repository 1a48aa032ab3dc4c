//! What comes of a request that is answered.

use std::sync::Arc;

use grove_model::ModelClient as _;
use grove_model::{
    Message, MessageBlock, ModelError, ModelEvent, Network, Role, StopKind, Thinking, ToolChoice,
    ToolDefinition,
};
use grove_testkit::model_server::{
    Delivery, ModelServer, Reply, Script, ScriptedReply, TokenCounts, ToolCall,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::World;
use crate::world::{KEY, PLENTY, ask, client, request, retries, runtime, said, settings};

fn call(name: &str, path: &str) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        namespace: None,
        arguments: json!({ "path": path, "deep": { "n": [1, 2.5, "ü"] } }),
    }
}

#[test]
fn text_comes_in_pieces_and_as_a_whole() {
    let reply = ScriptedReply {
        text: Some("All is well.".to_owned()),
        usage: TokenCounts {
            input: 10,
            output: 20,
            cached: 30,
            cache_write: 40,
        },
        ..ScriptedReply::default()
    };
    let world = World::new(Script::replies([reply]));
    let (answer, events) = world.ask(&request("Look."));
    let answer = answer.unwrap();
    assert_eq!(answer.blocks, [MessageBlock::text("All is well.")]);
    assert_eq!(
        (answer.model.as_str(), &answer.stop),
        ("fake-model", &StopKind::EndTurn)
    );
    let usage = answer.usage;
    assert_eq!(
        (usage.input, usage.output, usage.cached, usage.cache_write),
        (10, 20, 30, 40)
    );
    assert!(!usage.estimated && usage.counted() == 70);
    assert_eq!(said(&events), "All is well.");
    let pieces = events.iter().filter(|event| event.is_content()).count();
    assert_eq!(pieces, 2);
    assert!(events.contains(&ModelEvent::Usage { usage }), "{events:?}");
}

#[test]
fn what_is_sent_is_what_was_asked_and_the_key_is_in_its_header_alone() {
    let world = World::new(Script::plain());
    let mut asked = request("Look.");
    asked.tools = vec![ToolDefinition {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: json!({ "type": "object" }),
    }];
    asked.tool_choice = ToolChoice::Tool("read".to_owned());
    world.ask(&asked).0.unwrap();
    let requests = world.server.requests();
    let sent = &requests[0];
    assert_eq!(
        (sent.method.as_str(), sent.path.as_str()),
        ("POST", "/v1/messages")
    );
    for (name, value) in [
        ("x-api-key", KEY),
        ("anthropic-version", "2023-06-01"),
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
    ] {
        assert_eq!(sent.header(name), Some(value));
    }
    assert!(!String::from_utf8_lossy(&sent.body).contains(KEY));
    let marked = json!({ "type": "ephemeral" });
    assert_eq!(
        sent.json(),
        json!({
            "model": "fake-model",
            "max_tokens": 4096,
            "stream": true,
            "system": [{ "type": "text", "text": "You are a child.", "cache_control": marked }],
            "messages": [{
                "role": "user",
                "content": [{ "type": "text", "text": "Look.", "cache_control": marked }],
            }],
            "tools": [{ "name": "read", "description": "Reads a file.", "input_schema": { "type": "object" } }],
            "tool_choice": { "type": "tool", "name": "read" },
        })
    );
}

#[test]
fn thinking_is_asked_for_as_the_model_wants_it() {
    let budget = |tokens: u32| json!({ "type": "enabled", "budget_tokens": tokens });
    let adaptive = json!({ "type": "adaptive" });
    let world = World::new(Script::plain());
    for (model, thinking, tool_choice, expected, effort) in [
        (
            "claude-opus-4-8",
            Thinking::Off,
            ToolChoice::Auto,
            json!(null),
            None,
        ),
        (
            "claude-opus-4-8",
            Thinking::High,
            ToolChoice::Auto,
            adaptive.clone(),
            Some("high"),
        ),
        (
            "claude-sonnet-4-6",
            Thinking::Minimal,
            ToolChoice::Auto,
            adaptive.clone(),
            Some("low"),
        ),
        (
            "claude-opus-5",
            Thinking::Xhigh,
            ToolChoice::Auto,
            adaptive,
            Some("xhigh"),
        ),
        (
            "claude-sonnet-4-5-20250929",
            Thinking::Low,
            ToolChoice::Auto,
            budget(3072),
            None,
        ),
        (
            "claude-opus-4-20250514",
            Thinking::Minimal,
            ToolChoice::Auto,
            budget(1024),
            None,
        ),
        (
            "claude-3-7-sonnet-latest",
            Thinking::Minimal,
            ToolChoice::Auto,
            budget(1024),
            None,
        ),
        (
            "house-model",
            Thinking::Minimal,
            ToolChoice::Auto,
            budget(1024),
            None,
        ),
        (
            "house-model",
            Thinking::Minimal,
            ToolChoice::Any,
            json!(null),
            None,
        ),
    ] {
        let mut asked = request("Look.");
        model.clone_into(&mut asked.model);
        asked.thinking = thinking;
        asked.tool_choice = tool_choice;
        world.ask(&asked).0.unwrap();
        let requests = world.server.requests();
        let sent = requests.last().unwrap().json();
        assert_eq!(sent["thinking"], expected, "{model}");
        assert_eq!(sent["output_config"]["effort"].as_str(), effort, "{model}");
    }
}

#[test]
fn calls_are_whole_and_go_back_as_they_came() {
    let reply = ScriptedReply {
        thinking: Some("Which file? ".to_owned()),
        text: Some("First the files.".to_owned()),
        calls: vec![call("read", "a"), call("grep", "b \"quoted\"")],
        structured: Some(json!({ "done": false })),
        pieces: 7,
        ..ScriptedReply::default()
    };
    let world = World::new(Script::replies([reply, Reply::text("Read.").into()]));
    let mut asked = request("Look.");
    let (answer, events) = world.ask(&asked);
    let answer = answer.unwrap();
    assert_eq!(answer.stop, StopKind::ToolUse);
    let calls: Vec<(&str, &serde_json::Value)> = answer
        .blocks
        .iter()
        .filter_map(|block| match block {
            MessageBlock::ToolUse { name, input, .. } => Some((name.as_str(), input)),
            _ => None,
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("read", &call("read", "a").arguments),
            ("grep", &call("grep", "b \"quoted\"").arguments),
            ("structured_output", &json!({ "done": false })),
        ]
    );
    let started: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ToolStart { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(started, ["read", "grep", "structured_output"]);

    asked
        .messages
        .push(Message::assistant(answer.blocks.clone()));
    let results = answer.blocks.iter().filter_map(|block| match block {
        MessageBlock::ToolUse { id, .. } => Some(MessageBlock::ToolResult {
            id: id.clone(),
            content: "done".to_owned(),
            is_error: false,
        }),
        _ => None,
    });
    asked.messages.push(Message {
        role: Role::User,
        content: results.collect(),
    });
    world.ask(&asked).0.unwrap();
    let sent = world.server.requests()[1].json();
    let turn = &sent["messages"][1]["content"];
    assert_eq!(turn[0]["thinking"], "Which file? ");
    assert_eq!(turn[0]["signature"], "signature of 12 bytes");
    assert_eq!(turn[3]["input"], call("grep", "b \"quoted\"").arguments);
    let returned = &sent["messages"][2]["content"];
    for index in 0..3 {
        assert_eq!(returned[index]["tool_use_id"], turn[index + 2]["id"]);
    }
    assert_eq!(returned[2]["cache_control"]["type"], "ephemeral");
}

#[test]
fn an_answer_of_two_megabytes_comes_whole_and_in_bytes_too() {
    let large = ScriptedReply {
        text: Some("0123456789abcdefghijklmnopqrstü\n".to_owned()),
        repeat: 2 << 15,
        pieces: 3000,
        ..ScriptedReply::default()
    };
    let slow = ScriptedReply {
        text: Some("Byte by byte: ü.".to_owned()),
        delivery: Delivery {
            chunk_bytes: Some(1),
            ..Delivery::default()
        },
        ..ScriptedReply::default()
    };
    let world = World::new(Script::replies([large.clone(), slow]));
    let (answer, events) = world.ask(&request("Look."));
    let text = answer.unwrap().text();
    assert!(text.len() > 2_000_000);
    assert!(text == large.text.unwrap().repeat(large.repeat));
    assert!(said(&events) == text);
    assert_eq!(
        world.ask(&request("Look.")).0.unwrap().text(),
        "Byte by byte: ü."
    );
}

#[test]
fn without_counts_tokens_are_guessed_and_marked() {
    let reply = ScriptedReply {
        text: Some("x".repeat(400)),
        without_usage: true,
        ..ScriptedReply::default()
    };
    let world = World::new(Script::replies([reply]));
    let usage = world.ask(&request("Look.")).0.unwrap().usage;
    assert!(usage.estimated);
    assert_eq!(usage.output, 100);
    assert!(usage.input > 20 && usage.input < 200, "{usage:?}");
}

#[test]
fn a_slow_answer_is_waited_for() {
    let slow = ScriptedReply {
        text: Some("Slowly.".to_owned()),
        delivery: Delivery {
            first_delay_ms: 30,
            chunk_bytes: Some(400),
            chunk_delay_ms: 10,
            ..Delivery::default()
        },
        ..ScriptedReply::default()
    };
    let world = World::new(Script::replies([slow]));
    assert_eq!(world.ask(&request("Look.")).0.unwrap().text(), "Slowly.");
}

#[test]
fn a_connection_is_used_again_and_replaced_when_the_other_side_closed_it() {
    let world = World::new(Script::plain());
    for _ in 0..5 {
        world.ask(&request("Look.")).0.unwrap();
    }
    assert_eq!(world.server.stats().connections, 1);

    // A server that closes after each answer without saying so.
    let closing = ScriptedReply {
        text: Some("Closed.".to_owned()),
        ..ScriptedReply::default()
    };
    let length = grove_testkit::model_server::Format::Anthropic
        .stream(&closing)
        .len();
    let closing = ScriptedReply {
        delivery: Delivery {
            cut_after_bytes: Some(length),
            ..Delivery::default()
        },
        ..closing
    };
    let world = World::new(Script::replies([closing.clone(), closing]));
    for _ in 0..2 {
        let (answer, events) = world.ask(&request("Look."));
        assert_eq!(answer.unwrap().text(), "Closed.");
        assert_eq!(retries(&events), 0);
    }
}

#[test]
fn cancelling_and_dropping_close_the_connection() {
    for after in [0, 200] {
        let hanging = ScriptedReply {
            text: Some("Never to be heard to its end.".to_owned()),
            delivery: Delivery {
                hang_after_bytes: Some(after),
                ..Delivery::default()
            },
            ..ScriptedReply::default()
        };
        let world = World::new(Script::replies([hanging.clone(), hanging]));
        for (number, is_dropped) in [(1, false), (2, true)] {
            let (cancel, dropping) = (CancellationToken::new(), CancellationToken::new());
            std::thread::scope(|scope| {
                let asking = scope.spawn(|| {
                    let request = request("Look.");
                    let mut ignored = |_| {};
                    let asking = world.client.ask(&request, &mut ignored, &cancel);
                    world.runtime.block_on(async {
                        let answer = dropping.run_until_cancelled(asking).await;
                        // The connection's task ends when the runtime has a moment.
                        tokio::task::yield_now().await;
                        answer
                    })
                });
                let waiting = world
                    .server
                    .wait_for_stats(PLENTY, |stats| stats.hanging == 1);
                assert!(waiting.is_some());
                if is_dropped { &dropping } else { &cancel }.cancel();
                let expected = (!is_dropped).then_some(Err(ModelError::Cancelled));
                assert_eq!(asking.join().unwrap(), expected);
            });
            let closed = world
                .server
                .wait_for_stats(PLENTY, |stats| stats.abandoned == number && stats.open == 0);
            assert!(closed.is_some(), "{:?}", world.server.stats());
        }
    }
}

#[test]
fn hundreds_ask_at_once_over_one_network() {
    let reply = ScriptedReply {
        text: Some("Yes.".to_owned()),
        delivery: Delivery {
            first_delay_ms: 50,
            ..Delivery::default()
        },
        ..ScriptedReply::default()
    };
    let server = ModelServer::start(Script::chosen_by(move |_, _| reply.clone())).unwrap();
    let client = Arc::new(client(&server.url(), Network::new(), settings()));
    let answers = runtime().block_on(async {
        let asking: Vec<_> = (0..400)
            .map(|number| {
                let client = Arc::clone(&client);
                tokio::spawn(
                    async move { ask(&client, &request(&format!("Look {number}."))).await.0 },
                )
            })
            .collect();
        let mut answers = 0;
        for one in asking {
            assert_eq!(one.await.unwrap().unwrap().text(), "Yes.");
            answers += 1;
        }
        answers
    });
    assert_eq!(answers, 400);
    // The server counts after the client has read.
    let delivered = server.wait_for_stats(PLENTY, |stats| stats.delivered == 400);
    assert!(delivered.is_some(), "{:?}", server.stats());
}
