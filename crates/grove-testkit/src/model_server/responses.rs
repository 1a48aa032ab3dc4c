//! `OpenAI` Responses.

use serde_json::{Value, json};

use super::chat::error_value;
use super::events::{named, pieces};
use super::http::Answer;
use super::script::{ScriptedReply, ToolCall};

pub(super) fn answer(reply: &ScriptedReply, asked: &Value, number: usize) -> Answer {
    if let Some(error) = &reply.error {
        return Answer::error(error, &error_value(error));
    }
    let text = reply.whole_text().map(|text| text_item(&text, number));
    let calls = reply.all_calls();
    let calls = calls.iter().enumerate().map(|(index, call)| {
        let mut item = call_item(call, number, index);
        super::chat::named(&mut item["call_id"], reply, index);
        item
    });
    let thinking = reply.thinking.as_ref();
    let thinking = thinking.map(|thinking| reasoning_item(thinking, number));
    let items: Vec<Value> = thinking.into_iter().chain(text).chain(calls).collect();
    let response = response(reply, asked, number, "completed", &items);
    if asked["stream"] != true {
        return Answer::json(200, &response);
    }
    let started = self::response(reply, asked, number, "in_progress", &[]);
    let mut events = vec![
        json!({ "type": "response.created", "response": started }),
        json!({ "type": "response.in_progress", "response": started }),
    ];
    for (index, item) in items.iter().enumerate() {
        item_events(&mut events, index, item, reply.pieces);
    }
    events.push(match &reply.stream_error {
        Some(error) => {
            let mut failed = self::response(reply, asked, number, "failed", &items);
            failed["error"] = json!({ "code": error.kind, "message": error.message });
            json!({ "type": "response.failed", "response": failed })
        }
        None => json!({ "type": "response.completed", "response": response }),
    });
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    Answer::Stream(events.iter().map(named).collect())
}

fn response(
    reply: &ScriptedReply,
    asked: &Value,
    number: usize,
    status: &str,
    items: &[Value],
) -> Value {
    let counts = reply.usage;
    let input = counts.input + counts.cached;
    let usage = json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": counts.cached },
        "output_tokens": counts.output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": input + counts.output,
    });
    let usage = reply.said_usage.clone().unwrap_or(usage);
    let has_usage = status == "completed" && !reply.without_usage;
    json!({
        "id": format!("resp_{number}"),
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": asked["model"],
        "output": items,
        "parallel_tool_calls": true,
        "error": null,
        "usage": if has_usage { usage } else { Value::Null },
    })
}

fn text_item(text: &str, number: usize) -> Value {
    json!({
        "type": "message",
        "id": format!("msg_{number}"),
        "role": "assistant",
        "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }],
    })
}

fn reasoning_item(thinking: &str, number: usize) -> Value {
    json!({
        "type": "reasoning",
        "id": format!("rs_{number}"),
        "status": "completed",
        "summary": [{ "type": "summary_text", "text": thinking }],
        "encrypted_content": format!("{} bytes", thinking.len()),
    })
}

fn call_item(call: &ToolCall, number: usize, index: usize) -> Value {
    let mut item = json!({
        "type": "function_call",
        "id": format!("fc_{number}_{index}"),
        "call_id": format!("call_{number}_{index}"),
        "name": call.name,
        "arguments": call.arguments.to_string(),
        "status": "completed",
    });
    if let Some(namespace) = &call.namespace {
        item["namespace"] = namespace.clone().into();
    }
    item
}

fn item_events(events: &mut Vec<Value>, index: usize, item: &Value, n_pieces: usize) {
    let id = &item["id"];
    let mut started = item.clone();
    started["status"] = "in_progress".into();
    let mut push = |kind: &str, key: &str, value: &Value| {
        let mut event = json!({ "type": kind, "output_index": index });
        if !kind.starts_with("response.output_item") {
            event["item_id"] = id.clone();
        }
        if kind.contains("summary") {
            event["summary_index"] = 0.into();
        } else if kind.contains("text") || kind.contains("part") {
            event["content_index"] = 0.into();
        }
        event[key] = value.clone();
        events.push(event);
    };
    if item["type"] == "message" {
        started["content"] = json!([]);
        push("response.output_item.added", "item", &started);
        let part = &item["content"][0];
        let mut empty = part.clone();
        empty["text"] = "".into();
        push("response.content_part.added", "part", &empty);
        let text = part["text"].as_str().unwrap_or_default();
        for delta in pieces(text, n_pieces) {
            push("response.output_text.delta", "delta", &delta.into());
        }
        push("response.output_text.done", "text", &part["text"]);
        push("response.content_part.done", "part", part);
    } else if item["type"] == "reasoning" {
        started["summary"] = json!([]);
        started["encrypted_content"] = Value::Null;
        push("response.output_item.added", "item", &started);
        let part = &item["summary"][0];
        let mut empty = part.clone();
        empty["text"] = "".into();
        push("response.reasoning_summary_part.added", "part", &empty);
        let text = part["text"].as_str().unwrap_or_default();
        for delta in pieces(text, n_pieces) {
            push(
                "response.reasoning_summary_text.delta",
                "delta",
                &delta.into(),
            );
        }
        push("response.reasoning_summary_part.done", "part", part);
    } else {
        started["arguments"] = "".into();
        push("response.output_item.added", "item", &started);
        let arguments = item["arguments"].as_str().unwrap_or_default();
        for delta in pieces(arguments, n_pieces) {
            push(
                "response.function_call_arguments.delta",
                "delta",
                &delta.into(),
            );
        }
        push(
            "response.function_call_arguments.done",
            "arguments",
            &item["arguments"],
        );
    }
    push("response.output_item.done", "item", item);
}
