//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use super::events::{data, parts};
use super::http::Answer;
use super::script::{Reply, ToolCall, error};

pub(super) fn answer(reply: &Reply, asked: &Value, number: usize) -> Answer {
    let (text, calls) = match reply {
        Reply::Error { status, message } => return error(*status, message),
        Reply::Message { text, calls } => (text.as_deref(), calls.as_slice()),
    };
    let finish = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    if asked["stream"] == true {
        let mut events: Vec<Vec<u8>> = chunks(text, calls, finish, asked, number)
            .iter()
            .map(data)
            .collect();
        events.push(b"data: [DONE]\n\n".to_vec());
        return Answer::Stream(events);
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        let calls: Vec<Value> = calls
            .iter()
            .enumerate()
            .map(|(index, call)| tool_call(call, number, index, &call.arguments.to_string()))
            .collect();
        message["tool_calls"] = calls.into();
    }
    let mut completion = frame("chat.completion", asked, number);
    completion["choices"] = json!([{
        "index": 0,
        "message": message,
        "finish_reason": finish,
    }]);
    completion["usage"] = usage();
    Answer::json(200, &completion)
}

fn chunks(
    text: Option<&str>,
    calls: &[ToolCall],
    finish: &str,
    asked: &Value,
    number: usize,
) -> Vec<Value> {
    let chunk = |delta: Value, finish: Option<&str>| {
        let mut chunk = frame("chat.completion.chunk", asked, number);
        chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        chunk
    };
    let mut chunks = vec![chunk(json!({ "role": "assistant", "content": "" }), None)];
    for part in text.map(parts).unwrap_or_default() {
        chunks.push(chunk(json!({ "content": part }), None));
    }
    for (index, call) in calls.iter().enumerate() {
        // The name comes with the first part alone.
        let mut first = tool_call(call, number, index, "");
        first["index"] = index.into();
        chunks.push(chunk(json!({ "tool_calls": [first] }), None));
        for part in parts(&call.arguments.to_string()) {
            let next = json!({ "index": index, "function": { "arguments": part } });
            chunks.push(chunk(json!({ "tool_calls": [next] }), None));
        }
    }
    chunks.push(chunk(json!({}), Some(finish)));
    if asked["stream_options"]["include_usage"] == true {
        let mut last = frame("chat.completion.chunk", asked, number);
        last["choices"] = json!([]);
        last["usage"] = usage();
        chunks.push(last);
    }
    chunks
}

fn frame(object: &str, asked: &Value, number: usize) -> Value {
    json!({
        "id": format!("chatcmpl_{number}"),
        "object": object,
        "created": 0,
        "model": asked["model"],
    })
}

fn tool_call(call: &ToolCall, number: usize, index: usize, arguments: &str) -> Value {
    json!({
        "id": format!("call_{number}_{index}"),
        "type": "function",
        "function": { "name": call.name, "arguments": arguments },
    })
}

fn usage() -> Value {
    json!({ "prompt_tokens": 16, "completion_tokens": 8, "total_tokens": 24 })
}
