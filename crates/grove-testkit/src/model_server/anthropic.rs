//! Anthropic Messages.

use serde_json::{Value, json};

use super::events::{named, pieces};
use super::http::Answer;
use super::script::{ScriptedError, ScriptedReply, ToolCall};

pub(super) fn answer(reply: &ScriptedReply, asked: &Value, number: usize) -> Answer {
    if let Some(error) = &reply.error {
        return Answer::error(error, &error_value(error));
    }
    let text = reply.whole_text();
    let message = Message {
        text: text.as_deref(),
        calls: &reply.all_calls(),
        reply,
        asked,
        number,
    };
    if asked["stream"] == true {
        Answer::Stream(message.events().iter().map(named).collect())
    } else {
        Answer::json(200, &message.whole())
    }
}

fn error_value(error: &ScriptedError) -> Value {
    let usual = match error.status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let kind = error.kind.as_deref().unwrap_or(usual);
    json!({ "type": "error", "error": { "type": kind, "message": error.message } })
}

struct Message<'a> {
    text: Option<&'a str>,
    calls: &'a [ToolCall],
    reply: &'a ScriptedReply,
    asked: &'a Value,
    number: usize,
}

impl Message<'_> {
    fn whole(&self) -> Value {
        let text = self
            .text
            .map(|text| json!({ "type": "text", "text": text }));
        let calls = self.calls.iter().enumerate().map(|(index, call)| {
            let mut block = self.call_block(index, call);
            block["input"] = call.arguments.clone();
            block
        });
        let thinking = self.reply.thinking.as_ref().map(|thinking| {
            json!({ "type": "thinking", "thinking": thinking, "signature": signature(thinking) })
        });
        let content: Vec<Value> = thinking.into_iter().chain(text).chain(calls).collect();
        let mut message = self.start();
        message["content"] = content.into();
        message["stop_reason"] = self.stop_reason().into();
        message
    }

    fn events(&self) -> Vec<Value> {
        let mut events = vec![json!({ "type": "message_start", "message": self.start() })];
        let mut index = 0;
        let mut add = |block: Value, deltas: Vec<Value>| {
            events.push(
                json!({ "type": "content_block_start", "index": index, "content_block": block }),
            );
            events.extend(deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
            events.push(json!({ "type": "content_block_stop", "index": index }));
            index += 1;
        };
        let deltas = |kind: &str, key: &str, text: &str| -> Vec<Value> {
            let pieces = pieces(text, self.reply.pieces);
            pieces
                .iter()
                .map(|piece| json!({ "type": kind, key: piece }))
                .collect()
        };
        if let Some(thinking) = &self.reply.thinking {
            let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
            let mut deltas = deltas("thinking_delta", "thinking", thinking);
            deltas.push(json!({ "type": "signature_delta", "signature": signature(thinking) }));
            add(block, deltas);
        }
        if let Some(text) = self.text {
            let block = json!({ "type": "text", "text": "" });
            add(block, deltas("text_delta", "text", text));
        }
        for (number, call) in self.calls.iter().enumerate() {
            let arguments = call.arguments.to_string();
            let deltas = deltas("input_json_delta", "partial_json", &arguments);
            add(self.call_block(number, call), deltas);
        }
        if let Some(error) = &self.reply.stream_error {
            events.push(error_value(error));
            return events;
        }
        let mut end = json!({
            "type": "message_delta",
            "delta": { "stop_reason": self.stop_reason(), "stop_sequence": null },
        });
        if let Some(said) = &self.reply.said_usage {
            end["usage"] = said.clone();
        } else if !self.reply.without_usage {
            end["usage"] = json!({ "output_tokens": self.reply.usage.output });
        }
        events.push(end);
        events.push(json!({ "type": "message_stop" }));
        events
    }

    /// The message before it has content.
    fn start(&self) -> Value {
        let mut message = json!({
            "id": format!("msg_{}", self.number),
            "type": "message",
            "role": "assistant",
            "model": self.asked["model"],
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
        });
        if let Some(said) = &self.reply.said_usage {
            message["usage"] = said.clone();
        } else if !self.reply.without_usage {
            let usage = self.reply.usage;
            message["usage"] = json!({
                "input_tokens": usage.input,
                "cache_creation_input_tokens": usage.cache_write,
                "cache_read_input_tokens": usage.cached,
                "output_tokens": usage.output,
            });
        }
        message
    }

    fn call_block(&self, index: usize, call: &ToolCall) -> Value {
        let usual = format!("toolu_{}_{index}", self.number);
        json!({
            "type": "tool_use",
            "id": self.reply.call_name(index).unwrap_or(&usual),
            "name": call.name,
            "input": {},
        })
    }

    fn stop_reason(&self) -> &str {
        let usual = if self.calls.is_empty() {
            "end_turn"
        } else {
            "tool_use"
        };
        self.reply.stop.as_deref().unwrap_or(usual)
    }
}

/// A signature, which says whether thoughts come back as they were sent.
fn signature(thinking: &str) -> String {
    format!("signature of {} bytes", thinking.len())
}
