//! The wire format of Anthropic Messages.

use grove_plan::ModelFailure;
use serde_json::{Map, Value, json};

use crate::answer::StopKind;
use crate::assembly::{AnswerAssembly, PartDelta};
use crate::client::OnEvent;
use crate::error::ModelError;
use crate::reported_usage::{ReportedCount, ReportedUsage};
use crate::request::{Message, MessageBlock, ModelRequest, Role, Thinking, ToolChoice};
use crate::wire::{AnswerReader, ProviderRefusal, WireFormat};

pub(crate) static MESSAGES: WireFormat = WireFormat {
    path: "/v1/messages",
    headers: &[("anthropic-version", "2023-06-01")],
    key_header: ("x-api-key", ""),
    body,
    reader: || Box::new(AnthropicReader),
    usage,
    refusal,
};

fn refusal(status: u16, body: &Value) -> ProviderRefusal {
    let text = |key: &str| body["error"][key].as_str().map(str::to_owned);
    let (kind, message) = (text("type"), text("message"));
    ProviderRefusal {
        failure: failure(Some(status), kind.as_deref(), message.as_deref()),
        kind,
        message,
    }
}

/// The types of errors and their meaning, which does not depend on the status.
const TYPES: [(&str, ModelFailure); 11] = [
    ("authentication_error", ModelFailure::Auth),
    ("permission_error", ModelFailure::Auth),
    ("billing_error", ModelFailure::Quota),
    ("insufficient_quota", ModelFailure::Quota),
    ("rate_limit_error", ModelFailure::Rate),
    ("overloaded_error", ModelFailure::Overload),
    ("api_error", ModelFailure::Overload),
    ("timeout_error", ModelFailure::Network),
    ("request_too_large", ModelFailure::ContextTooLong),
    ("not_found_error", ModelFailure::NoSuchModel),
    ("invalid_request_error", ModelFailure::BadRequest),
];

/// Refusals of a request that only the start of their message tells apart: their type is the same for all.
const BAD_REQUESTS: [(&str, ModelFailure); 3] = [
    ("prompt is too long", ModelFailure::ContextTooLong),
    (
        "input length and `max_tokens` exceed",
        ModelFailure::ContextTooLong,
    ),
    ("Your credit balance is too low", ModelFailure::Quota),
];

/// Returns the failure that a status and a typed error mean. An error in the middle of a stream has no status.
fn failure(status: Option<u16>, kind: Option<&str>, message: Option<&str>) -> ModelFailure {
    let is_bad = status == Some(400) && kind == Some("invalid_request_error");
    if let (true, Some(message)) = (is_bad, message)
        && let Some((_, failure)) = BAD_REQUESTS
            .iter()
            .find(|(start, _)| message.starts_with(start))
    {
        return *failure;
    }
    let mut types = TYPES.iter();
    if let Some((_, failure)) = types.find(|(known, _)| Some(*known) == kind) {
        return *failure;
    }
    match status {
        Some(401 | 403) => ModelFailure::Auth,
        Some(402) => ModelFailure::Quota,
        Some(404) => ModelFailure::NoSuchModel,
        Some(408) => ModelFailure::Network,
        Some(413) => ModelFailure::ContextTooLong,
        Some(429) => ModelFailure::Rate,
        Some(500..) | None => ModelFailure::Overload,
        Some(_) => ModelFailure::BadRequest,
    }
}

/// Returns the tokens of thinking for models that take a number, and the word for models that take a word.
const fn thinking_level(thinking: Thinking) -> Option<(u32, &'static str)> {
    match thinking {
        Thinking::Off => None,
        Thinking::Minimal => Some((1024, "low")),
        Thinking::Low => Some((4096, "low")),
        Thinking::Medium => Some((10_240, "medium")),
        Thinking::High => Some((20_480, "high")),
        Thinking::Xhigh => Some((32_768, "xhigh")),
    }
}

/// The fewest tokens of thinking that the provider takes, and the fewest that are left for the answer.
const FEWEST_TOKENS: u32 = 1024;

/// Returns true if a model takes a number of tokens to think with. Anthropic's models from 4.6 on decide for themselves
/// and later ones refuse a number; models of other makers that speak this format know only the number.
fn thinks_by_budget(model: &str) -> bool {
    let Some(name) = model.strip_prefix("claude-") else {
        return true;
    };
    let old = ["3", "opus-4", "sonnet-4", "haiku-4"];
    old.iter().any(|family| match name.strip_prefix(family) {
        Some(rest) if *family == "3" => rest.is_empty() || rest.starts_with(['-', '.']),
        // `-4`, `-4-0` to `-4-5`, or `-4-` and a date.
        Some(rest) => {
            let minor = rest.trim_start_matches(['-', '.']);
            let digits = minor.split(['-', '.', '@']).next().unwrap_or_default();
            digits.len() > 2
                || digits.parse::<u8>().is_ok_and(|minor| minor <= 5)
                || minor.is_empty()
        }
        None => false,
    })
}

fn body(request: &ModelRequest) -> Value {
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.max_output_tokens,
        "stream": true,
        "messages": messages(&request.messages),
    });
    if !request.system.is_empty() {
        let mut system = json!({ "type": "text", "text": request.system });
        mark_cached(&mut system);
        body["system"] = json!([system]);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema })
        });
        body["tools"] = tools.collect();
        body["tool_choice"] = match &request.tool_choice {
            ToolChoice::Auto => json!({ "type": "auto" }),
            ToolChoice::None => json!({ "type": "none" }),
            ToolChoice::Any => json!({ "type": "any" }),
            ToolChoice::Tool(name) => json!({ "type": "tool", "name": name }),
        };
    }
    let is_forced = matches!(request.tool_choice, ToolChoice::Any | ToolChoice::Tool(_));
    // The provider refuses to think before a call that is forced.
    if let (Some((tokens, word)), false) = (thinking_level(request.thinking), is_forced) {
        if thinks_by_budget(&request.model) {
            let tokens = tokens.min(request.max_output_tokens.saturating_sub(FEWEST_TOKENS));
            if tokens >= FEWEST_TOKENS {
                body["thinking"] = json!({ "type": "enabled", "budget_tokens": tokens });
            }
        } else {
            body["thinking"] = json!({ "type": "adaptive" });
            body["output_config"] = json!({ "effort": word });
        }
    }
    body
}

/// Returns the conversation; its last part is marked for the cache, since the next request begins with the same parts.
fn messages(messages: &[Message]) -> Value {
    let mut all: Vec<Value> = messages
        .iter()
        .map(|message| {
            let role = match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            let content: Vec<Value> = message.content.iter().filter_map(block).collect();
            json!({ "role": role, "content": content })
        })
        .collect();
    let last = all
        .last_mut()
        .and_then(|message| message["content"].as_array_mut());
    if let Some(last) = last.and_then(|content| content.last_mut()) {
        mark_cached(last);
    }
    all.into()
}

fn mark_cached(block: &mut Value) {
    let kind = block["type"].as_str().unwrap_or_default();
    // The provider does not let thoughts be marked.
    if matches!(kind, "text" | "tool_use" | "tool_result") {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

fn block(block: &MessageBlock) -> Option<Value> {
    Some(match block {
        // The provider refuses an empty text.
        MessageBlock::Text { text } if text.is_empty() => return None,
        MessageBlock::Text { text } => json!({ "type": "text", "text": text }),
        // Thoughts without a signature are refused, and so are those of another provider, whose signatures begin with its name.
        MessageBlock::Thinking { text, signature } => {
            let signature = signature.as_ref().filter(|text| !text.contains(':'))?;
            json!({ "type": "thinking", "thinking": text, "signature": signature })
        }
        MessageBlock::ToolUse { id, name, input } => {
            // The provider takes only objects, even where the model wrote something else.
            let input = match input {
                Value::Object(_) => input.clone(),
                other => json!({ "unreadable": other }),
            };
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        MessageBlock::ToolResult {
            id,
            content,
            is_error,
        } => {
            let mut result =
                json!({ "type": "tool_result", "tool_use_id": id, "is_error": is_error });
            if !content.is_empty() {
                result["content"] = json!([{ "type": "text", "text": content }]);
            }
            result
        }
        MessageBlock::Other { value } => value.clone(),
    })
}

#[derive(Debug)]
struct AnthropicReader;

impl AnswerReader for AnthropicReader {
    fn take(
        &mut self,
        event: &Value,
        assembly: &mut AnswerAssembly,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError> {
        let index = event["index"].as_u64();
        match (event["type"].as_str().unwrap_or_default(), index) {
            ("message_start", _) => {
                let message = &event["message"];
                if let Some(model) = message["model"].as_str() {
                    model.clone_into(&mut assembly.model);
                }
                assembly.take_usage(usage(&message["usage"]), on_event);
            }
            ("content_block_start", Some(index)) => {
                assembly.begin(index, begun(&event["content_block"]), on_event)?;
            }
            ("content_block_delta", Some(index)) => {
                if let Some(delta) = delta(&event["delta"]) {
                    assembly.grow(index, delta, on_event)?;
                }
            }
            ("content_block_start" | "content_block_delta", None) => {
                return Err(AnswerAssembly::damaged("a part has no number"));
            }
            ("message_delta", _) => {
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    assembly.stop = Some(stop(reason));
                }
                assembly.take_usage(usage(&event["usage"]), on_event);
            }
            ("message_stop", _) => assembly.is_complete = true,
            ("error", _) => {
                let error = &event["error"];
                let kind = error["type"].as_str().unwrap_or("error");
                let message = error["message"].as_str().unwrap_or_default();
                return Err(assembly.failed(failure(None, Some(kind), None), kind, message));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns a part of the answer as it begins.
fn begun(block: &Value) -> MessageBlock {
    let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str().unwrap_or_default() {
        "text" => MessageBlock::Text { text: text("text") },
        "thinking" => MessageBlock::Thinking {
            text: text("thinking"),
            signature: block["signature"].as_str().map(str::to_owned),
        },
        "tool_use" => MessageBlock::ToolUse {
            id: text("id"),
            name: text("name"),
            input: match &block["input"] {
                Value::Null => Value::Object(Map::new()),
                input => input.clone(),
            },
        },
        _ => MessageBlock::Other {
            value: block.clone(),
        },
    }
}

fn delta(delta: &Value) -> Option<PartDelta<'_>> {
    let text = |key: &str| delta[key].as_str();
    match delta["type"].as_str()? {
        "text_delta" => text("text").map(PartDelta::Text),
        "thinking_delta" => text("thinking").map(PartDelta::Thinking),
        "signature_delta" => text("signature").map(PartDelta::Signature),
        "input_json_delta" => text("partial_json").map(PartDelta::Input),
        _ => None,
    }
}

fn stop(reason: &str) -> StopKind {
    match reason {
        "end_turn" => StopKind::EndTurn,
        "tool_use" => StopKind::ToolUse,
        "max_tokens" => StopKind::MaxTokens,
        "stop_sequence" => StopKind::StopSequence,
        "refusal" => StopKind::Refusal,
        "pause_turn" => StopKind::Pause,
        "model_context_window_exceeded" => StopKind::ContextFull,
        other => StopKind::Other(crate::error::bounded_line(other)),
    }
}

/// The numbers that are there: those of the end replace those of the start.
fn usage(counts: &Value) -> ReportedUsage {
    let count = |key: &str| ReportedCount::of(&counts[key]);
    ReportedUsage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cached: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        reasoning: ReportedCount::Missing,
    }
}
