//! Anthropic Messages.

use serde_json::{Value, json};

use super::events::{named, parts};
use super::http::Answer;
use super::script::{Reply, ToolCall, error};

pub(super) fn answer(reply: &Reply, asked: &Value, number: usize) -> Answer {
    let (text, calls) = match reply {
        Reply::Error { status, message } => return error(*status, message),
        Reply::Message { text, calls } => (text.as_deref(), calls),
    };
    let message = Message {
        text,
        calls,
        asked,
        number,
    };
    if asked["stream"] == true {
        return Answer::Stream(message.events().iter().map(named).collect());
    }
    Answer::json(200, &message.whole())
}

struct Message<'a> {
    text: Option<&'a str>,
    calls: &'a [ToolCall],
    asked: &'a Value,
    number: usize,
}

impl Message<'_> {
    fn whole(&self) -> Value {
        let block = |text| json!({ "type": "text", "text": text });
        let text = self.text.map(block);
        let calls = self.calls.iter().enumerate().map(|(index, call)| {
            let mut block = self.call_block(index, call);
            block["input"] = call.arguments.clone();
            block
        });
        let content: Vec<Value> = text.into_iter().chain(calls).collect();
        let mut message = self.start();
        message["content"] = content.into();
        message["stop_reason"] = self.stop_reason().into();
        message
    }

    fn events(&self) -> Vec<Value> {
        let mut events = vec![json!({ "type": "message_start", "message": self.start() })];
        let mut index = 0;
        if let Some(text) = self.text {
            let block = json!({ "type": "text", "text": "" });
            let deltas = parts(text);
            let deltas = deltas
                .iter()
                .map(|part| json!({ "type": "text_delta", "text": part }));
            block_events(&mut events, index, &block, deltas);
            index += 1;
        }
        for (number, call) in self.calls.iter().enumerate() {
            let arguments = call.arguments.to_string();
            let deltas = parts(&arguments);
            let deltas = deltas
                .iter()
                .map(|part| json!({ "type": "input_json_delta", "partial_json": part }));
            block_events(&mut events, index, &self.call_block(number, call), deltas);
            index += 1;
        }
        events.push(json!({
            "type": "message_delta",
            "delta": { "stop_reason": self.stop_reason(), "stop_sequence": null },
            "usage": { "output_tokens": 8 },
        }));
        events.push(json!({ "type": "message_stop" }));
        events
    }

    /// The message before it has content.
    fn start(&self) -> Value {
        json!({
            "id": format!("msg_{}", self.number),
            "type": "message",
            "role": "assistant",
            "model": self.asked["model"],
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": {
                "input_tokens": 16,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 8,
            },
        })
    }

    fn call_block(&self, index: usize, call: &ToolCall) -> Value {
        json!({
            "type": "tool_use",
            "id": format!("toolu_{}_{index}", self.number),
            "name": call.name,
            "input": {},
        })
    }

    const fn stop_reason(&self) -> &'static str {
        if self.calls.is_empty() {
            "end_turn"
        } else {
            "tool_use"
        }
    }
}

fn block_events(
    events: &mut Vec<Value>,
    index: usize,
    block: &Value,
    deltas: impl Iterator<Item = Value>,
) {
    events.push(json!({
        "type": "content_block_start",
        "index": index,
        "content_block": block,
    }));
    events.extend(
        deltas
            .map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
    );
    events.push(json!({ "type": "content_block_stop", "index": index }));
}
