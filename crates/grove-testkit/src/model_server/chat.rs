//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use super::events::{data, pieces};
use super::http::Answer;
use super::script::{ScriptedError, ScriptedReply, ToolCall};

pub(super) fn answer(reply: &ScriptedReply, asked: &Value, number: usize) -> Answer {
    if let Some(error) = &reply.error {
        return Answer::error(error, &error_value(error));
    }
    let (text, calls) = (reply.whole_text(), reply.all_calls());
    let usual = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    let finish = reply.stop.as_deref().unwrap_or(usual);
    if asked["stream"] == true {
        let mut events: Vec<Vec<u8>> =
            chunks(reply, text.as_deref(), &calls, finish, asked, number)
                .iter()
                .map(data)
                .collect();
        events.push(match &reply.stream_error {
            Some(error) => data(&error_value(error)),
            None => b"data: [DONE]\n\n".to_vec(),
        });
        return Answer::Stream(events);
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        let calls: Vec<Value> = calls
            .iter()
            .enumerate()
            .map(|(index, call)| {
                let mut whole = tool_call(call, number, index, &call.arguments.to_string());
                named(&mut whole["id"], reply, index);
                whole
            })
            .collect();
        message["tool_calls"] = calls.into();
    }
    let mut completion = frame("chat.completion", asked, number);
    completion["choices"] = json!([{
        "index": 0,
        "message": message,
        "finish_reason": finish,
    }]);
    if !reply.without_usage {
        completion["usage"] = usage(reply);
    }
    Answer::json(200, &completion)
}

/// A failure in the form of both `OpenAI` formats.
pub(super) fn error_value(error: &ScriptedError) -> Value {
    let usual = match error.status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_error",
        _ => "server_error",
    };
    let kind = error.kind.as_deref().unwrap_or(usual);
    let error =
        json!({ "message": error.message, "type": kind, "param": null, "code": error.kind });
    json!({ "error": error })
}

fn chunks(
    reply: &ScriptedReply,
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
    for part in reply
        .thinking
        .as_ref()
        .map(|thinking| pieces(thinking, reply.pieces))
        .unwrap_or_default()
    {
        // As servers of open models say it.
        chunks.push(chunk(json!({ "reasoning_content": part }), None));
    }
    for part in text
        .map(|text| pieces(text, reply.pieces))
        .unwrap_or_default()
    {
        chunks.push(chunk(json!({ "content": part }), None));
    }
    for (index, call) in calls.iter().enumerate() {
        // The name comes with the first part alone.
        let mut first = tool_call(call, number, index, "");
        first["index"] = index.into();
        named(&mut first["id"], reply, index);
        chunks.push(chunk(json!({ "tool_calls": [first] }), None));
        for part in pieces(&call.arguments.to_string(), reply.pieces) {
            let next = json!({ "index": index, "function": { "arguments": part } });
            chunks.push(chunk(json!({ "tool_calls": [next] }), None));
        }
    }
    chunks.push(chunk(json!({}), Some(finish)));
    if asked["stream_options"]["include_usage"] == true && !reply.without_usage {
        let mut last = frame("chat.completion.chunk", asked, number);
        last["choices"] = json!([]);
        last["usage"] = usage(reply);
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

/// Gives a call the name that is said for it.
pub(super) fn named(id: &mut Value, reply: &ScriptedReply, index: usize) {
    if let Some(name) = reply.call_name(index) {
        *id = name.into();
    }
}

fn usage(reply: &ScriptedReply) -> Value {
    if let Some(said) = &reply.said_usage {
        return said.clone();
    }
    let usage = reply.usage;
    let input = usage.input + usage.cached;
    let mut counts = json!({
        "prompt_tokens": input,
        "completion_tokens": usage.output,
        "total_tokens": input + usage.output,
    });
    if usage.cached > 0 {
        counts["prompt_tokens_details"] = json!({ "cached_tokens": usage.cached });
    }
    counts
}
