//! The wire format of `OpenAI` Responses.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::answer::StopKind;
use crate::assembly::{AnswerAssembly, PartDelta};
use crate::client::OnEvent;
use crate::error::ModelError;
use crate::openai::{self, add_tools, arguments, effort, result, stream_error, words};
use crate::reported_usage::ReportedUsage;
use crate::request::{Message, MessageBlock, ModelRequest, Role};
use crate::wire::{AnswerReader, WireFormat};

pub(crate) static RESPONSES: WireFormat = WireFormat {
    path: "/responses",
    headers: &[],
    key_header: openai::KEY_HEADER,
    body,
    reader: || Box::new(ResponsesReader::default()),
    usage,
    refusal: openai::refusal,
};

fn usage(counts: &Value) -> ReportedUsage {
    let names = [
        "input_tokens",
        "output_tokens",
        "input_tokens_details",
        "output_tokens_details",
    ];
    openai::usage(counts, names)
}

/// The prefix of a signature of thoughts in this format, so that no other provider is sent it.
const SIGNATURE: &str = "openai:";

fn body(request: &ModelRequest) -> Value {
    let mut body = json!({
        "model": request.model,
        "max_output_tokens": request.max_output_tokens,
        "stream": true,
        // The whole conversation is sent each time, so the provider need not store it.
        "store": false,
        "input": request.messages.iter().flat_map(items).collect::<Vec<_>>(),
    });
    if !request.system.is_empty() {
        body["instructions"] = request.system.clone().into();
    }
    add_tools(&mut body, request, |mut tool| {
        tool["type"] = "function".into();
        tool
    });
    if let Some(effort) = effort(request.thinking) {
        body["reasoning"] = json!({ "effort": effort, "summary": "auto" });
        // The provider does not store the thoughts, so they have to be sent back.
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    body
}

/// Returns a turn as items: calls and their results are items beside the messages.
fn items(message: &Message) -> Vec<Value> {
    let mut items: Vec<Value> = message.content.iter().filter_map(item).collect();
    let words = words(message);
    if !words.is_empty() {
        let (role, kind) = match message.role {
            Role::User => ("user", "input_text"),
            Role::Assistant => ("assistant", "output_text"),
        };
        let content = json!([{ "type": kind, "text": words }]);
        let said = json!({ "type": "message", "role": role, "content": content });
        // A model thinks, then speaks, then calls; in the user's turn results come before words.
        let is_call = |item: &Value| item["type"] == "function_call";
        let at = items.iter().position(is_call).unwrap_or(items.len());
        items.insert(at, said);
    }
    items
}

fn item(block: &MessageBlock) -> Option<Value> {
    match block {
        MessageBlock::Thinking { text, signature } => {
            let content = signature.as_deref()?.strip_prefix(SIGNATURE)?;
            let summary = match text.as_str() {
                "" => json!([]),
                text => json!([{ "type": "summary_text", "text": text }]),
            };
            Some(json!({ "type": "reasoning", "summary": summary, "encrypted_content": content }))
        }
        MessageBlock::ToolUse { id, name, input } => Some(json!({
            "type": "function_call", "call_id": id, "name": name, "arguments": arguments(input),
        })),
        MessageBlock::ToolResult {
            id,
            content,
            is_error,
        } => Some(json!({
            "type": "function_call_output", "call_id": id, "output": result(content, *is_error),
        })),
        // Words become a message of their own; parts that only another provider knows are not sent.
        MessageBlock::Text { .. } | MessageBlock::Other { .. } => None,
    }
}

#[derive(Debug, Default)]
struct ResponsesReader {
    begun: BTreeSet<u64>,
    /// The numbers of the parts of which some text came.
    grown: BTreeSet<u64>,
    has_calls: bool,
    is_refusal: bool,
}

impl AnswerReader for ResponsesReader {
    fn take(
        &mut self,
        event: &Value,
        assembly: &mut AnswerAssembly,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError> {
        let kind = event["type"].as_str().unwrap_or_default();
        let index = event["output_index"].as_u64();
        let delta = event["delta"].as_str().unwrap_or_default();
        match (kind, index) {
            ("response.created" | "response.in_progress", _) => {
                if let Some(model) = event["response"]["model"].as_str() {
                    model.clone_into(&mut assembly.model);
                }
            }
            ("response.output_item.added", Some(index)) => {
                self.begin(index, &event["item"], assembly, on_event)?;
            }
            ("response.output_item.done", Some(index)) => {
                self.end(index, &event["item"], assembly, on_event)?;
            }
            ("response.output_text.delta", Some(index)) => {
                self.grow(index, PartDelta::Text(delta), assembly, on_event)?;
            }
            ("response.refusal.delta", Some(index)) => {
                self.is_refusal = true;
                self.grow(index, PartDelta::Text(delta), assembly, on_event)?;
            }
            ("response.reasoning_summary_text.delta", Some(index)) => {
                self.grow(index, PartDelta::Thinking(delta), assembly, on_event)?;
            }
            ("response.reasoning_summary_part.added", Some(index))
                if event["summary_index"].as_u64().is_some_and(|at| at > 0) =>
            {
                self.grow(index, PartDelta::Thinking("\n\n"), assembly, on_event)?;
            }
            ("response.function_call_arguments.delta", Some(index)) => {
                self.grow(index, PartDelta::Input(delta), assembly, on_event)?;
            }
            ("response.completed" | "response.incomplete", _) => {
                self.finish(&event["response"], assembly, on_event)?;
            }
            ("response.failed", _) => {
                return Err(stream_error(&event["response"]["error"], assembly));
            }
            ("error", _) => {
                let error = match &event["error"] {
                    Value::Null => event,
                    error => error,
                };
                return Err(stream_error(error, assembly));
            }
            _ => {}
        }
        Ok(())
    }
}

impl ResponsesReader {
    fn begin(
        &mut self,
        index: u64,
        item: &Value,
        assembly: &mut AnswerAssembly,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError> {
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        let block = match item["type"].as_str().unwrap_or_default() {
            "message" => MessageBlock::text(""),
            "reasoning" => MessageBlock::Thinking {
                text: String::new(),
                signature: None,
            },
            "function_call" => {
                self.has_calls = true;
                MessageBlock::ToolUse {
                    id: text("call_id"),
                    name: text("name"),
                    input: Value::Null,
                }
            }
            // Items of other kinds are taken whole when they end.
            _ => return Ok(()),
        };
        self.begun.insert(index);
        assembly.begin(index, block, on_event)
    }

    fn grow(
        &mut self,
        index: u64,
        delta: PartDelta<'_>,
        assembly: &mut AnswerAssembly,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError> {
        self.grown.insert(index);
        assembly.grow(index, delta, on_event)
    }

    /// Takes a whole item at its end; some servers send nothing of it before.
    fn end(
        &mut self,
        index: u64,
        item: &Value,
        assembly: &mut AnswerAssembly,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError> {
        if !self.begun.contains(&index) {
            self.begin(index, item, assembly, on_event)?;
        }
        if !self.begun.contains(&index) {
            self.begun.insert(index);
            let value = item.clone();
            return assembly.begin(index, MessageBlock::Other { value }, on_event);
        }
        let is_told = self.grown.contains(&index);
        match item["type"].as_str().unwrap_or_default() {
            "function_call" if !is_told => {
                let arguments = item["arguments"].as_str().unwrap_or_default();
                self.grow(index, PartDelta::Input(arguments), assembly, on_event)
            }
            "message" if !is_told => {
                for part in item["content"].as_array().into_iter().flatten() {
                    self.is_refusal |= part["type"] == "refusal";
                    let text = part["text"].as_str().or(part["refusal"].as_str());
                    let text = PartDelta::Text(text.unwrap_or_default());
                    self.grow(index, text, assembly, on_event)?;
                }
                Ok(())
            }
            "reasoning" => match item["encrypted_content"].as_str() {
                Some(content) => {
                    let signature = format!("{SIGNATURE}{content}");
                    assembly.grow(index, PartDelta::Signature(&signature), on_event)
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn finish(
        &mut self,
        response: &Value,
        assembly: &mut AnswerAssembly,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError> {
        let items = response["output"].as_array().into_iter().flatten();
        for (index, item) in (0..).zip(items) {
            if !self.begun.contains(&index) {
                self.end(index, item, assembly, on_event)?;
            }
        }
        assembly.take_usage(usage(&response["usage"]), on_event);
        assembly.stop = Some(match response["incomplete_details"]["reason"].as_str() {
            Some("max_output_tokens") => StopKind::MaxTokens,
            Some("content_filter") => StopKind::Refusal,
            Some(other) => StopKind::Other(crate::error::bounded_line(other)),
            None if self.is_refusal => StopKind::Refusal,
            None if self.has_calls => StopKind::ToolUse,
            None => StopKind::EndTurn,
        });
        assembly.is_complete = true;
        Ok(())
    }
}
