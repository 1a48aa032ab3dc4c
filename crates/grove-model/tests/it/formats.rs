//! The same conversation in the formats of `OpenAI`'s.

use grove_model::{
    AnswerDecoder, AnswerLimits, Message, MessageBlock, ModelAnswer, ModelApi, ModelError,
    ModelRequest, Role, StopKind, Thinking, ToolChoice, ToolDefinition,
};
use grove_plan::ModelFailure;
use grove_testkit::model_server::{Script, ScriptedError, ScriptedReply, TokenCounts, ToolCall};
use serde_json::{Value, json};

use crate::World;
use crate::world::{KEY, failure, request, said};

const BOTH: [(ModelApi, &str); 2] = [
    (ModelApi::OpenaiResponses, "/responses"),
    (ModelApi::OpenaiChat, "/chat/completions"),
];

/// A turn of everything that can be in one, after which the model was told what its calls came to.
fn conversation() -> ModelRequest {
    let mut asked = request("Look.");
    asked.tools = vec![ToolDefinition {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: json!({ "type": "object" }),
    }];
    let thought = |signature: &str| MessageBlock::Thinking {
        text: "hm".to_owned(),
        signature: Some(signature.to_owned()),
    };
    let call = |id: &str, input: Value| MessageBlock::ToolUse {
        id: id.to_owned(),
        name: "read".to_owned(),
        input,
    };
    let came_to = |id: &str, content: &str, is_error: bool| MessageBlock::ToolResult {
        id: id.to_owned(),
        content: content.to_owned(),
        is_error,
    };
    asked.messages.push(Message::assistant(vec![
        thought("openai:sealed"),
        thought("EqQBCkYIB"),
        MessageBlock::text("I look."),
        call("c1", json!({ "path": "a" })),
        call("c2", json!("{\"path")),
        MessageBlock::Other {
            value: json!({ "type": "redacted_thinking", "data": "x" }),
        },
    ]));
    asked.messages.push(Message {
        role: Role::User,
        content: vec![
            came_to("c1", "text", false),
            came_to("c2", "no such file", true),
            MessageBlock::text("Go on."),
        ],
    });
    asked
}

fn sent(api: ModelApi, asked: &ModelRequest) -> Value {
    let world = World::speaking(api, Script::plain());
    world.ask(asked).0.unwrap();
    world.server.requests()[0].json()
}

#[test]
fn a_conversation_is_written_as_responses() {
    let mut asked = conversation();
    asked.thinking = Thinking::High;
    asked.tool_choice = ToolChoice::Tool("read".to_owned());
    assert_eq!(
        sent(ModelApi::OpenaiResponses, &asked),
        json!({
            "model": "fake-model",
            "max_output_tokens": 4096,
            "stream": true,
            "store": false,
            "instructions": "You are a child.",
            "reasoning": { "effort": "high", "summary": "auto" },
            "include": ["reasoning.encrypted_content"],
            "tools": [{ "type": "function", "name": "read", "description": "Reads a file.", "parameters": { "type": "object" } }],
            "tool_choice": { "type": "function", "name": "read" },
            "input": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Look." }] },
                { "type": "reasoning", "summary": [{ "type": "summary_text", "text": "hm" }], "encrypted_content": "sealed" },
                { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I look." }] },
                { "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"a\"}" },
                { "type": "function_call", "call_id": "c2", "name": "read", "arguments": "{\"path" },
                { "type": "function_call_output", "call_id": "c1", "output": "text" },
                { "type": "function_call_output", "call_id": "c2", "output": "The call failed: no such file" },
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Go on." }] },
            ],
        })
    );
}

#[test]
fn a_conversation_is_written_as_chat() {
    let mut asked = conversation();
    asked.tool_choice = ToolChoice::Any;
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": arguments } });
    let expected = json!({
        "model": "fake-model",
        "max_tokens": 4096,
        "stream": true,
        "stream_options": { "include_usage": true },
        "tools": [{ "type": "function", "function": { "name": "read", "description": "Reads a file.", "parameters": { "type": "object" } } }],
        "tool_choice": "required",
        "messages": [
            { "role": "system", "content": "You are a child." },
            { "role": "user", "content": "Look." },
            { "role": "assistant", "content": "I look.", "tool_calls": [call("c1", "{\"path\":\"a\"}"), call("c2", "{\"path")] },
            { "role": "tool", "tool_call_id": "c1", "content": "text" },
            { "role": "tool", "tool_call_id": "c2", "content": "The call failed: no such file" },
            { "role": "user", "content": "Go on." },
        ],
    });
    assert_eq!(sent(ModelApi::OpenaiChat, &asked), expected);
    // Newer models refuse the older name of the limit.
    let mut newer = request("Look.");
    newer.model = "gpt-5-mini".to_owned();
    newer.thinking = Thinking::Low;
    let newer = sent(ModelApi::OpenaiChat, &newer);
    assert_eq!(newer["max_completion_tokens"], 4096);
    assert_eq!(newer["reasoning_effort"], "low");
    assert_eq!(newer["max_tokens"], Value::Null);
}

#[test]
fn thoughts_of_one_provider_are_not_sent_to_another() {
    let sent = sent(ModelApi::Anthropic, &conversation());
    let kinds: Vec<&str> = sent["messages"][1]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["signature"].as_str().unwrap_or("-"))
        .filter(|signature| *signature != "-")
        .collect();
    assert_eq!(kinds, ["EqQBCkYIB"]);
}

#[test]
fn an_answer_has_its_words_calls_and_counts_and_the_key_is_in_its_header_alone() {
    let reply = ScriptedReply {
        text: Some("All is well.".to_owned()),
        calls: ["a", "b"]
            .map(|path| ToolCall {
                name: "read".to_owned(),
                namespace: None,
                arguments: json!({ "path": path }),
            })
            .to_vec(),
        usage: TokenCounts {
            input: 10,
            output: 20,
            cached: 30,
            cache_write: 0,
        },
        ..ScriptedReply::default()
    };
    for (api, path) in BOTH {
        let world = World::speaking(api, Script::replies([reply.clone()]));
        let (answer, events) = world.ask(&request("Look."));
        let answer = answer.unwrap();
        assert_eq!(answer.text(), "All is well.");
        assert_eq!(said(&events), "All is well.");
        assert_eq!(answer.stop, StopKind::ToolUse);
        assert_eq!(answer.model, "fake-model");
        let calls: Vec<&Value> = answer
            .blocks
            .iter()
            .filter_map(|block| match block {
                MessageBlock::ToolUse { input, .. } => Some(&input["path"]),
                _ => None,
            })
            .collect();
        assert_eq!(calls, ["a", "b"]);
        let usage = answer.usage;
        assert_eq!((usage.input, usage.output, usage.cached), (10, 20, 30));
        assert!(!usage.estimated);
        let sent = &world.server.requests()[0];
        assert!(sent.path.ends_with(path), "{}", sent.path);
        let bearer = format!("Bearer {KEY}");
        assert_eq!(sent.header("authorization"), Some(bearer.as_str()));
        assert!(!String::from_utf8_lossy(&sent.body).contains(KEY));
    }
}

#[test]
fn failures_are_typed_before_and_in_the_middle_of_an_answer() {
    let error = |status: u16, kind: &str| ScriptedError {
        status,
        kind: Some(kind.to_owned()),
        message: "because".to_owned(),
        ..ScriptedError::default()
    };
    for (api, _) in BOTH {
        for (status, kind, expected) in [
            (401, "invalid_api_key", ModelFailure::Auth),
            (429, "insufficient_quota", ModelFailure::Quota),
            (400, "context_length_exceeded", ModelFailure::ContextTooLong),
        ] {
            let reply = ScriptedReply {
                error: Some(error(status, kind)),
                ..ScriptedReply::default()
            };
            let world = World::speaking(api, Script::replies([reply]));
            let asked = world.ask(&request("Look."));
            assert_eq!(failure(&asked).failure, expected, "{api:?} {kind}");
        }
        let reply = ScriptedReply {
            text: Some("I begin".to_owned()),
            stream_error: Some(error(500, "server_error")),
            ..ScriptedReply::default()
        };
        let world = World::speaking(api, Script::replies([reply]));
        let asked = world.ask(&request("Look."));
        assert_eq!(failure(&asked).failure, ModelFailure::Overload, "{api:?}");
    }
}

fn decode(api: ModelApi, events: &[Value], last: &str) -> Result<ModelAnswer, ModelError> {
    let mut decoder = AnswerDecoder::new(api, AnswerLimits::default());
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    let bytes = lines.collect::<String>() + last;
    decoder.push(bytes.as_bytes(), &mut |_| {})?;
    decoder.finish(0)
}

/// A chunk of a chat with one change.
fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({ "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

#[test]
fn chat_is_read_as_servers_really_send_it() {
    let call = |index: Value, id: Value, arguments: Value| json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": "ls", "arguments": arguments } }] });
    let done = "data: [DONE]\n\n";
    // All calls have one number; arguments are an object; the end is called `stop`; thoughts come beside the words.
    let answer = decode(
        ModelApi::OpenaiChat,
        &[
            chunk(&json!({ "role": "assistant", "content": null, "reasoning_content": "hm" }), None),
            chunk(&call(0.into(), "a".into(), "{\"p\":1}".into()), None),
            chunk(&call(0.into(), "b".into(), json!({ "p": 2 })), None),
            chunk(&json!({}), Some("stop")),
            json!({ "choices": [], "usage": { "prompt_tokens": 5, "completion_tokens": 7, "completion_tokens_details": { "reasoning_tokens": 3 } } }),
        ],
        done,
    )
    .unwrap();
    let calls: Vec<&Value> = answer
        .blocks
        .iter()
        .filter_map(|block| match block {
            MessageBlock::ToolUse { input, .. } => Some(&input["p"]),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [1, 2]);
    // Nor do their names tell them apart, also where each piece repeats them.
    let piece = |name: &str, text: &str| chunk(&call(0.into(), name.into(), text.into()), None);
    let pieces = [
        piece("a", "{\"p\":"),
        piece("a", "1}"),
        piece("a", "{\"p\":2"),
        piece("a", "}"),
        chunk(&json!({}), Some("tool_calls")),
    ];
    let all = decode(ModelApi::OpenaiChat, &pieces, done).unwrap();
    let calls: Vec<&Value> = all
        .blocks
        .iter()
        .filter_map(|block| match block {
            MessageBlock::ToolUse { input, .. } => Some(&input["p"]),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [1, 2]);
    assert!(
        matches!(&answer.blocks[0], MessageBlock::Thinking { text, signature: None } if text == "hm")
    );
    assert_eq!(answer.stop, StopKind::ToolUse);
    assert_eq!((answer.usage.reasoning, answer.usage.counted()), (3, 12));
    // Without the last line it is whole once its reason came, and cut before.
    let word = chunk(&json!({ "content": "yes" }), None);
    let end = chunk(&json!({}), Some("stop"));
    assert_eq!(
        decode(ModelApi::OpenaiChat, &[word.clone(), end], "")
            .unwrap()
            .text(),
        "yes"
    );
    for last in ["", done] {
        let cut = decode(ModelApi::OpenaiChat, std::slice::from_ref(&word), last);
        assert!(
            matches!(cut, Err(ModelError::Provider(error)) if error.failure == ModelFailure::CutStream)
        );
    }
}

#[test]
fn responses_are_read_when_only_their_ends_come_and_when_they_are_incomplete() {
    let reasoning = json!({ "type": "reasoning", "summary": [], "encrypted_content": "sealed" });
    let message =
        json!({ "type": "message", "content": [{ "type": "output_text", "text": "yes" }] });
    let call =
        json!({ "type": "function_call", "call_id": "c", "name": "ls", "arguments": "{\"p\":1}" });
    let unknown = json!({ "type": "web_search_call", "id": "w" });
    let whole = json!({ "type": "response.completed", "response": { "output": [reasoning, message, call, unknown] } });
    let answer = decode(ModelApi::OpenaiResponses, &[whole], "").unwrap();
    assert_eq!(
        answer.blocks,
        [
            MessageBlock::Thinking {
                text: String::new(),
                signature: Some("openai:sealed".to_owned())
            },
            MessageBlock::text("yes"),
            MessageBlock::ToolUse {
                id: "c".to_owned(),
                name: "ls".to_owned(),
                input: json!({ "p": 1 })
            },
            MessageBlock::Other { value: unknown },
        ]
    );
    for (reason, stop) in [
        ("max_output_tokens", StopKind::MaxTokens),
        ("content_filter", StopKind::Refusal),
    ] {
        let end = json!({ "type": "response.incomplete", "response": { "incomplete_details": { "reason": reason } } });
        assert_eq!(
            decode(ModelApi::OpenaiResponses, &[end], "").unwrap().stop,
            stop
        );
    }
}
