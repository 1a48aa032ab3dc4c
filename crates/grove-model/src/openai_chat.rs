//! The wire format of `OpenAI` Chat Completions, which many other servers speak too.

use serde_json::{Value, json};

use crate::answer::StopKind;
use crate::assembly::{AnswerAssembly, PartDelta};
use crate::client::OnEvent;
use crate::error::ModelError;
use crate::openai::{self, add_tools, arguments, effort, result, stream_error, words};
use crate::reported_usage::ReportedUsage;
use crate::request::{Message, MessageBlock, ModelRequest, Role};
use crate::wire::{AnswerReader, WireFormat};

pub(crate) static CHAT: WireFormat = WireFormat {
    path: "/chat/completions",
    headers: &[],
    key_header: openai::KEY_HEADER,
    body,
    reader: || Box::new(ChatReader::default()),
    usage,
    refusal: openai::refusal,
};

/// The starts of names of models that refuse the older name of the limit; other servers know only the older name.
const NEW_LIMIT: [&str; 4] = ["o1", "o3", "o4", "gpt-5"];

fn body(request: &ModelRequest) -> Value {
    let system = (!request.system.is_empty())
        .then(|| json!({ "role": "system", "content": request.system }));
    let messages = request.messages.iter().flat_map(messages);
    let mut body = json!({
        "model": request.model,
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": system.into_iter().chain(messages).collect::<Vec<_>>(),
    });
    let is_new = NEW_LIMIT
        .iter()
        .any(|start| request.model.starts_with(start));
    let limit = if is_new {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    body[limit] = request.max_output_tokens.into();
    add_tools(
        &mut body,
        request,
        |tool| json!({ "type": "function", "function": tool }),
    );
    if let Some(effort) = effort(request.thinking) {
        body["reasoning_effort"] = effort.into();
    }
    body
}

/// Returns a turn as messages: each result of a tool is a message of its own. Thoughts are not sent back.
fn messages(message: &Message) -> Vec<Value> {
    let words = words(message);
    let blocks = message.content.iter();
    if message.role == Role::Assistant {
        let calls: Vec<Value> = blocks.filter_map(call).collect();
        let mut said = json!({ "role": "assistant", "content": words });
        if !calls.is_empty() {
            said["tool_calls"] = calls.into();
            if words.is_empty() {
                said["content"] = Value::Null;
            }
        }
        return vec![said];
    }
    let results = blocks.filter_map(|block| match block {
        MessageBlock::ToolResult {
            id,
            content,
            is_error,
        } => Some(json!({
            "role": "tool", "tool_call_id": id, "content": result(content, *is_error),
        })),
        _ => None,
    });
    let mut all: Vec<Value> = results.collect();
    if !words.is_empty() || all.is_empty() {
        all.push(json!({ "role": "user", "content": words }));
    }
    all
}

fn call(block: &MessageBlock) -> Option<Value> {
    let MessageBlock::ToolUse { id, name, input } = block else {
        return None;
    };
    let function = json!({ "name": name, "arguments": arguments(input) });
    Some(json!({ "id": id, "type": "function", "function": function }))
}

fn usage(counts: &Value) -> ReportedUsage {
    let names = [
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details",
        "completion_tokens_details",
    ];
    openai::usage(counts, names)
}

/// The parts of an answer in their order: thoughts, words, calls.
const THOUGHTS: u64 = 0;
const WORDS: u64 = 1;
const CALLS: u64 = 2;

#[derive(Debug, Default)]
struct ChatReader {
    has_thoughts: bool,
    has_words: bool,
    is_refusal: bool,
    /// The provider's number and id of each call. Some servers give all calls the same number.
    calls: Vec<(u64, String)>,
}

impl AnswerReader for ChatReader {
    fn take(
        &mut self,
        event: &Value,
        assembly: &mut AnswerAssembly,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError> {
        if !event["error"].is_null() {
            return Err(stream_error(&event["error"], assembly));
        }
        if let (Some(model), true) = (event["model"].as_str(), assembly.model.is_empty()) {
            model.clone_into(&mut assembly.model);
        }
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        let text = |key: &str| delta[key].as_str().filter(|text| !text.is_empty());
        if let Some(thought) = text("reasoning_content").or_else(|| text("reasoning")) {
            if !std::mem::replace(&mut self.has_thoughts, true) {
                let (text, signature) = (String::new(), None);
                assembly.begin(
                    THOUGHTS,
                    MessageBlock::Thinking { text, signature },
                    on_event,
                )?;
            }
            assembly.grow(THOUGHTS, PartDelta::Thinking(thought), on_event)?;
        }
        for (words, is_refusal) in [(text("content"), false), (text("refusal"), true)] {
            let Some(words) = words else { continue };
            self.is_refusal |= is_refusal;
            if !std::mem::replace(&mut self.has_words, true) {
                assembly.begin(WORDS, MessageBlock::text(""), on_event)?;
            }
            assembly.grow(WORDS, PartDelta::Text(words), on_event)?;
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.take_call(call, assembly, on_event)?;
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            assembly.stop = Some(self.stop(reason));
            // The count of tokens follows, and then a last line that some servers leave out.
            assembly.may_end = true;
        }
        assembly.take_usage(usage(&event["usage"]), on_event);
        Ok(())
    }

    fn take_last_line(&mut self, assembly: &mut AnswerAssembly) {
        assembly.is_complete = assembly.may_end;
    }
}

impl ChatReader {
    fn take_call(
        &mut self,
        call: &Value,
        assembly: &mut AnswerAssembly,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError> {
        let number = call["index"].as_u64().unwrap_or(0);
        let id = call["id"].as_str().unwrap_or_default();
        let is_same =
            |(known, its): &(u64, String)| *known == number && (id.is_empty() || its == id);
        let more = match &call["function"]["arguments"] {
            // Written out by some servers.
            Value::Object(object) => Value::Object(object.clone()).to_string(),
            more => more.as_str().unwrap_or_default().to_owned(),
        };
        let name = call["function"]["name"].as_str().unwrap_or_default();
        let known = self.calls.iter().rposition(is_same);
        // A call with a name after arguments that are whole is another one, whatever its number and id are.
        let is_more = |at: &usize| name.is_empty() || !assembly.has_whole_input(CALLS + *at as u64);
        let known = known.filter(is_more);
        let at = known.unwrap_or(self.calls.len());
        if known.is_none() {
            self.calls.push((number, id.to_owned()));
            let id = match id {
                "" => format!("call_{at}"),
                id => id.to_owned(),
            };
            let block = MessageBlock::ToolUse {
                id,
                name: name.to_owned(),
                input: Value::Null,
            };
            assembly.begin(CALLS + at as u64, block, on_event)?;
        }
        assembly.grow(CALLS + at as u64, PartDelta::Input(&more), on_event)
    }

    fn stop(&self, reason: &str) -> StopKind {
        match reason {
            "content_filter" => StopKind::Refusal,
            "length" => StopKind::MaxTokens,
            _ if self.is_refusal => StopKind::Refusal,
            // Some servers say `stop` after a call.
            "stop" | "tool_calls" | "function_call" if !self.calls.is_empty() => StopKind::ToolUse,
            "stop" => StopKind::EndTurn,
            other => StopKind::Other(crate::error::bounded_line(other)),
        }
    }
}
