//! The requests of an agent program to its provider and their answers, as a part of a recording.
//!
//! A request is kept as the texts that the child is told, if it contains them, and the words and calls of the model before:
//! the rest is the program's own and differs from one version and one day to the next. The answer is kept as the provider
//! sent it, but pieces of a text are put together so that no folder is cut in two.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::compare::{ComparedConversation, ComparedTurn};
use crate::sse::EventLines;
use crate::wire::ModelApi;

/// The longest event of an answer that is recorded, in bytes.
const LONGEST_ANSWER: usize = 64 << 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProgramExchange {
    pub(super) api: ModelApi,
    /// The system text and the message; empty for a request that does not contain the message.
    told: [String; 2],
    turns: Vec<ComparedTurn>,
    pub(super) answer: ProgramAnswer,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProgramAnswer {
    status: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<ProgramAnswerEvent>,
    /// The body of an answer that is not a stream.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    body: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ProgramAnswerEvent {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    data: Value,
}

impl ProgramExchange {
    pub(super) fn conversation(&self) -> ComparedConversation {
        ComparedConversation::passed_on(self.api, self.told.clone(), self.turns.clone())
    }

    /// Returns the record of a program's request, before it is answered.
    pub(super) fn asked(api: ModelApi, body: &[u8], told: &[String; 2]) -> Self {
        let request: Value = serde_json::from_slice(body).unwrap_or_default();
        let is_told = has_text(&request, told[1].trim());
        Self {
            api,
            told: if is_told {
                told.clone()
            } else {
                Default::default()
            },
            turns: turns(api, &request),
            answer: ProgramAnswer {
                status: 0,
                events: Vec::new(),
                body: Value::Null,
            },
        }
    }
}

impl ProgramAnswer {
    /// Returns the record of an answer that came to its end.
    pub(super) fn of(status: StatusCode, is_stream: bool, bytes: &[u8]) -> Self {
        let mut answer = Self {
            status: status.as_u16(),
            events: Vec::new(),
            body: Value::Null,
        };
        if !is_stream {
            answer.body = json_or_text(&String::from_utf8_lossy(bytes));
            return answer;
        }
        let mut lines = EventLines::new(LONGEST_ANSWER);
        // An event that is too large ends the record here, as it ends the count of tokens in the relay.
        let _ = lines.push(bytes, |event| {
            let event = ProgramAnswerEvent {
                name: event.name,
                data: json_or_text(&event.data),
            };
            let last = answer.events.last_mut();
            if !last.is_some_and(|last| last.takes(&event)) {
                answer.events.push(event);
            }
            Ok(())
        });
        answer
    }

    pub(super) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_GATEWAY)
    }

    pub(super) fn content_type(&self) -> &'static str {
        if self.events.is_empty() {
            "application/json"
        } else {
            "text/event-stream"
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        if self.events.is_empty() {
            return text_of(&self.body).into_bytes();
        }
        let mut bytes = String::new();
        let field = |bytes: &mut String, name: &str, value: &str| {
            bytes.extend([name, ": ", value, "\n"]);
        };
        for event in &self.events {
            if !event.name.is_empty() {
                field(&mut bytes, "event", &event.name);
            }
            for line in text_of(&event.data).lines() {
                field(&mut bytes, "data", line);
            }
            bytes.push('\n');
        }
        bytes.into_bytes()
    }
}

/// The JSON pointers at which the formats have pieces of text.
const PIECES: [&str; 6] = [
    "/delta/text",
    "/delta/partial_json",
    "/delta/thinking",
    "/delta",
    "/choices/0/delta/content",
    "/choices/0/delta/tool_calls/0/function/arguments",
];
/// The keys that differ in every event and say nothing.
const COUNTS: [&str; 2] = ["sequence_number", "obfuscation"];

impl ProgramAnswerEvent {
    /// Appends the next event's piece of text to its own, if the two differ in nothing else; returns true if it did.
    fn takes(&mut self, next: &Self) -> bool {
        let piece = |event: &Value| {
            let found = PIECES.into_iter().find_map(|path| {
                let text = event.pointer(path)?.as_str()?;
                Some((path, text.to_owned()))
            })?;
            let mut rest = event.clone();
            *rest.pointer_mut(found.0)? = Value::Null;
            for key in COUNTS {
                rest.as_object_mut()?.remove(key);
            }
            Some((found, rest))
        };
        let (Some(mine), Some(other)) = (piece(&self.data), piece(&next.data)) else {
            return false;
        };
        let ((path, start), rest) = mine;
        let ((other_path, end), other_rest) = other;
        let is_same = (path, &rest, &self.name) == (other_path, &other_rest, &next.name);
        if is_same && let Some(place) = self.data.pointer_mut(path) {
            *place = format!("{start}{end}").into();
        }
        is_same
    }
}

fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn has_text(value: &Value, text: &str) -> bool {
    match value {
        Value::String(here) => here.contains(text),
        Value::Array(items) => items.iter().any(|item| has_text(item, text)),
        Value::Object(fields) => fields.values().any(|value| has_text(value, text)),
        _ => false,
    }
}

/// Returns the earlier words and calls of the model from the body of a request.
fn turns(api: ModelApi, request: &Value) -> Vec<ComparedTurn> {
    let items = match api {
        ModelApi::OpenaiResponses => &request["input"],
        ModelApi::Anthropic | ModelApi::OpenaiChat => &request["messages"],
    };
    let mut turns = Vec::new();
    let mut is_open = false;
    for item in items.as_array().into_iter().flatten() {
        let call = |name: &Value, arguments: &Value| {
            let arguments = match arguments {
                Value::String(text) => json_or_text(text),
                value => value.clone(),
            };
            (text_of(name), arguments)
        };
        let mut said = ComparedTurn::default();
        match item["type"].as_str() {
            Some("function_call") => said.calls.push(call(&item["name"], &item["arguments"])),
            Some("custom_tool_call") => said.calls.push(call(&item["name"], &item["input"])),
            // Thoughts are neither words nor calls, and do not end a turn.
            Some("reasoning") => continue,
            _ if item["role"] == "assistant" => {
                match &item["content"] {
                    Value::String(text) => said.text.push_str(text),
                    Value::Array(blocks) => {
                        for block in blocks {
                            said.text
                                .push_str(block["text"].as_str().unwrap_or_default());
                            if block["type"] == "tool_use" {
                                said.calls.push(call(&block["name"], &block["input"]));
                            }
                        }
                    }
                    _ => {}
                }
                for made in item["tool_calls"].as_array().into_iter().flatten() {
                    let function = &made["function"];
                    said.calls
                        .push(call(&function["name"], &function["arguments"]));
                }
            }
            _ => {
                is_open = false;
                continue;
            }
        }
        // One format has the parts of a turn as items of their own.
        match turns.last_mut().filter(|_| is_open) {
            Some(turn) => ComparedTurn::extend(turn, said),
            None => turns.push(said),
        }
        is_open = true;
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_turns_of_a_request_are_the_same_in_every_format() {
        let input = json!({ "path": "a" });
        let anthropic = json!({ "messages": [
            { "role": "user", "content": "task" },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm" },
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "1", "name": "ls", "input": input },
            ] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1", "content": "b" }] },
            { "role": "assistant", "content": "Done." },
        ] });
        let responses = json!({ "input": [
            { "role": "user", "content": [{ "type": "input_text", "text": "task" }] },
            { "type": "reasoning", "summary": [] },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I look." }] },
            { "type": "function_call", "call_id": "1", "name": "ls", "arguments": input.to_string() },
            { "type": "function_call_output", "call_id": "1", "output": "b" },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] },
        ] });
        let chat = json!({ "messages": [
            { "role": "system", "content": "s" },
            { "role": "user", "content": "task" },
            { "role": "assistant", "content": "I look.", "tool_calls": [
                { "id": "1", "type": "function", "function": { "name": "ls", "arguments": input.to_string() } },
            ] },
            { "role": "tool", "tool_call_id": "1", "content": "b" },
            { "role": "assistant", "content": "Done." },
        ] });
        let expected = [
            ComparedTurn {
                text: "I look.".to_owned(),
                calls: vec![("ls".to_owned(), input.clone())],
            },
            ComparedTurn {
                text: "Done.".to_owned(),
                calls: Vec::new(),
            },
        ];
        for (api, request) in [
            (ModelApi::Anthropic, &anthropic),
            (ModelApi::OpenaiResponses, &responses),
            (ModelApi::OpenaiChat, &chat),
        ] {
            assert_eq!(turns(api, request), expected, "{api:?}");
            let told = ["s".to_owned(), "task\n".to_owned()];
            let bytes = request.to_string().into_bytes();
            assert_eq!(ProgramExchange::asked(api, &bytes, &told).told, told);
            let other = ["s".to_owned(), "another task".to_owned()];
            let asked = ProgramExchange::asked(api, &bytes, &other);
            assert_eq!(asked.told, <[String; 2]>::default());
        }
    }

    #[test]
    fn texts_in_pieces_are_put_together_and_everything_else_stays() {
        let part = |at: u64, text: &str| json!({ "type": "content_block_delta", "index": at, "delta": { "type": "text_delta", "text": text } });
        let stream = |events: &[Value]| -> Vec<u8> {
            let lines = events.iter().map(|it| format!("event: e\ndata: {it}\n\n"));
            lines.collect::<String>().into_bytes()
        };
        let start =
            json!({ "type": "message_start", "message": { "usage": { "input_tokens": 3 } } });
        let bytes = stream(&[
            start.clone(),
            part(0, "/home/"),
            part(0, "me/a"),
            part(1, "b"),
        ]);
        let answer = ProgramAnswer::of(StatusCode::OK, true, &bytes);
        let expected = stream(&[start, part(0, "/home/me/a"), part(1, "b")]);
        assert_eq!(answer.bytes(), expected);
        assert_eq!(answer.content_type(), "text/event-stream");
        let pieces = [
            json!({ "type": "response.output_text.delta", "delta": "a", "sequence_number": 1 }),
            json!({ "type": "response.output_text.delta", "delta": "b", "sequence_number": 2 }),
        ];
        let answer = ProgramAnswer::of(StatusCode::OK, true, &stream(&pieces));
        assert_eq!(answer.events.len(), 1);
        assert_eq!(answer.events[0].data["delta"], "ab");
        let done = ProgramAnswer::of(StatusCode::OK, true, b"data: [DONE]\n\n");
        assert_eq!(done.bytes(), b"data: [DONE]\n\n");
        let refused = ProgramAnswer::of(StatusCode::TOO_MANY_REQUESTS, false, br#"{"error":1}"#);
        assert_eq!(refused.bytes(), br#"{"error":1}"#);
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    }
}
