//! Google's `generateContent`, whole and streamed.

use serde_json::{Value, json};

use super::events::{data, pieces};
use super::http::Answer;
use super::script::{ScriptedError, ScriptedReply};

/// Whether the answer is a stream is said by the path, and not by what is asked.
pub(super) fn answer(reply: &ScriptedReply, is_stream: bool, number: usize) -> Answer {
    if let Some(error) = &reply.error {
        return Answer::error(error, &error_value(error));
    }
    let thinking = reply.thinking.as_deref();
    let text = reply.whole_text();
    let calls = reply
        .all_calls()
        .into_iter()
        .map(|call| json!({ "functionCall": { "name": call.name, "args": call.arguments } }));
    let calls: Vec<Value> = calls.collect();
    let pieces_of = |text: Option<&str>, wanted: usize, is_thought: bool| -> Vec<Value> {
        let pieces = text.map(|text| pieces(text, wanted)).unwrap_or_default();
        let part = |piece: &&str| {
            let mut part = json!({ "text": piece });
            if is_thought {
                part["thought"] = true.into();
            }
            part
        };
        pieces.iter().map(part).collect()
    };
    let parts = |wanted: usize| {
        let mut parts = pieces_of(thinking, wanted, true);
        parts.extend(pieces_of(text.as_deref(), wanted, false));
        parts.extend(calls.iter().cloned());
        parts
    };
    let finish = reply.stop.as_deref().unwrap_or("STOP");
    if !is_stream {
        return Answer::json(200, &part_of(reply, &parts(1), Some(finish), number));
    }
    let mut events: Vec<Vec<u8>> = parts(reply.pieces)
        .into_iter()
        .map(|part| data(&part_of(reply, &[part], None, number)))
        .collect();
    let nothing = [json!({ "text": "" })];
    let end = part_of(reply, &nothing, Some(finish), number);
    let failed = reply.stream_error.as_ref().map(error_value);
    events.push(data(&failed.unwrap_or(end)));
    Answer::Stream(events)
}

/// A failure, with the status by its name.
fn error_value(error: &ScriptedError) -> Value {
    let usual = match error.status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    let status = error.kind.as_deref().unwrap_or(usual);
    json!({ "error": { "code": error.status, "message": error.message, "status": status } })
}

/// An answer, or a piece of one: each says what was taken so far.
fn part_of(reply: &ScriptedReply, parts: &[Value], finish: Option<&str>, number: usize) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    let mut answer = json!({
        "candidates": [candidate],
        "modelVersion": "fake-model",
        "responseId": format!("response_{number}"),
    });
    if !reply.without_usage {
        let usage = reply.usage;
        let input = usage.input + usage.cached;
        answer["usageMetadata"] = json!({
            "promptTokenCount": input,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": input + usage.output,
        });
        if usage.cached > 0 {
            answer["usageMetadata"]["cachedContentTokenCount"] = usage.cached.into();
        }
    }
    answer
}
