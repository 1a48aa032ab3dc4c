//! The common parts of both formats of `OpenAI`: errors, tools, counts of tokens.

use grove_plan::ModelFailure;
use serde_json::{Value, json};

use crate::assembly::AnswerAssembly;
use crate::reported_usage::{ReportedCount, ReportedUsage};
use crate::request::{Message, MessageBlock, ModelRequest, Thinking, ToolChoice};
use crate::wire::ProviderRefusal;

pub(crate) const KEY_HEADER: (&str, &str) = ("authorization", "Bearer ");

/// The codes and types of errors and their meaning, which does not depend on the status. They include those of other
/// servers that speak the format.
const CODES: [(&str, ModelFailure); 19] = [
    ("invalid_api_key", ModelFailure::Auth),
    ("authentication_error", ModelFailure::Auth),
    ("permission_error", ModelFailure::Auth),
    ("insufficient_quota", ModelFailure::Quota),
    ("billing_hard_limit_reached", ModelFailure::Quota),
    ("rate_limit_exceeded", ModelFailure::Rate),
    ("rate_limit_error", ModelFailure::Rate),
    ("context_length_exceeded", ModelFailure::ContextTooLong),
    ("exceed_context_size_error", ModelFailure::ContextTooLong),
    ("string_above_max_length", ModelFailure::ContextTooLong),
    ("server_error", ModelFailure::Overload),
    ("server_is_overloaded", ModelFailure::Overload),
    ("slow_down", ModelFailure::Overload),
    ("unavailable_error", ModelFailure::Overload),
    ("timeout_error", ModelFailure::Network),
    ("model_not_found", ModelFailure::NoSuchModel),
    ("invalid_prompt", ModelFailure::BadRequest),
    ("not_found_error", ModelFailure::NoSuchModel),
    ("unsupported_parameter", ModelFailure::BadRequest),
];

/// The starts of messages that refuse a request as too long, where no code says so.
const TOO_LONG: [&str; 3] = [
    "This model's maximum context length is",
    "the request exceeds the available context size",
    "The decoder prompt",
];

/// Returns the meaning of an answer without success. Servers put the error into `error`, as an object or a text, or make
/// it the whole body.
pub(crate) fn refusal(status: u16, body: &Value) -> ProviderRefusal {
    let error = match &body["error"] {
        Value::Null => body,
        error => error,
    };
    let (code, kind) = (error["code"].as_str(), error["type"].as_str());
    let message = error["message"].as_str().or(error.as_str());
    ProviderRefusal {
        failure: failure(Some(status), code, kind, message),
        kind: code.or(kind).map(str::to_owned),
        message: message.map(str::to_owned),
    }
}

/// Returns the failure that a status and a typed error mean. An error in the middle of a stream has no status.
pub(crate) fn failure(
    status: Option<u16>,
    code: Option<&str>,
    kind: Option<&str>,
    message: Option<&str>,
) -> ModelFailure {
    for word in [code, kind].into_iter().flatten() {
        if let Some((_, failure)) = CODES.iter().find(|(known, _)| *known == word) {
            return *failure;
        }
    }
    let begins = |start: &&str| message.is_some_and(|message| message.starts_with(*start));
    match status {
        Some(400 | 422) if TOO_LONG.iter().any(begins) => ModelFailure::ContextTooLong,
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

pub(crate) fn stream_error(error: &Value, assembly: &AnswerAssembly) -> crate::error::ModelError {
    let (code, kind) = (error["code"].as_str(), error["type"].as_str());
    let message = error["message"].as_str().or(error.as_str());
    let failure = failure(None, code, kind, message);
    let name = code.or(kind).unwrap_or("error");
    assembly.failed(failure, name, message.unwrap_or_default())
}

/// Returns the word for a level of thinking; none where the request leaves it out.
pub(crate) const fn effort(thinking: Thinking) -> Option<&'static str> {
    match thinking {
        Thinking::Off => None,
        Thinking::Minimal => Some("minimal"),
        Thinking::Low => Some("low"),
        Thinking::Medium => Some("medium"),
        Thinking::High => Some("high"),
        Thinking::Xhigh => Some("xhigh"),
    }
}

/// Puts the tools into a body; `wrapped` puts the format's object around a tool or around the choice of one.
pub(crate) fn add_tools(
    body: &mut Value,
    request: &ModelRequest,
    wrapped: impl Fn(Value) -> Value,
) {
    if request.tools.is_empty() {
        return;
    }
    let tools = request.tools.iter().map(|tool| {
        wrapped(json!({
            "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
        }))
    });
    body["tools"] = tools.collect();
    body["tool_choice"] = match &request.tool_choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Any => "required".into(),
        ToolChoice::Tool(name) => wrapped(json!({ "name": name })),
    };
}

pub(crate) fn words(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|block| match block {
        MessageBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Returns the result of a tool as text, since the formats have no field for a failure.
pub(crate) fn result(content: &str, is_error: bool) -> String {
    if is_error {
        format!("The call failed: {content}")
    } else {
        content.to_owned()
    }
}

/// Returns the arguments of a call as they are sent back: those that were not JSON stay as they came.
pub(crate) fn arguments(input: &Value) -> String {
    match input {
        Value::String(text) => text.clone(),
        input => input.to_string(),
    }
}

/// Numbers whose input includes what was read from a cache. `names` are those of input, output and their details.
pub(crate) fn usage(counts: &Value, names: [&str; 4]) -> ReportedUsage {
    let detail = |at: usize, key: &str| ReportedCount::of(&counts[names[at]][key]);
    let input = ReportedCount::of(&counts[names[0]]);
    let (input, cached) = match (input, detail(2, "cached_tokens")) {
        (ReportedCount::Number(input), ReportedCount::Number(cached)) => {
            let cached = cached.min(input);
            (
                ReportedCount::Number(input - cached),
                ReportedCount::Number(cached),
            )
        }
        // The input is whole without it.
        (input, _) => (input, ReportedCount::Missing),
    };
    ReportedUsage {
        input,
        output: ReportedCount::of(&counts[names[1]]),
        cached,
        cache_write: ReportedCount::Missing,
        reasoning: detail(3, "reasoning_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_every_server_mean_something() {
        let too_long = "This model's maximum context length is 8192 tokens. However, you asked.";
        let error = |code: Value, kind: &str, message: &str| json!({ "error": { "code": code, "type": kind, "message": message } });
        for (status, body, failure) in [
            (
                401,
                error(
                    "invalid_api_key".into(),
                    "invalid_request_error",
                    "Incorrect",
                ),
                ModelFailure::Auth,
            ),
            (
                429,
                error("insufficient_quota".into(), "insufficient_quota", "You"),
                ModelFailure::Quota,
            ),
            (
                429,
                error(Value::Null, "tokens", "Rate limit reached"),
                ModelFailure::Rate,
            ),
            (
                400,
                error(
                    "context_length_exceeded".into(),
                    "invalid_request_error",
                    "",
                ),
                ModelFailure::ContextTooLong,
            ),
            // These bodies come from vLLM, llama.cpp and Ollama.
            (
                400,
                json!({ "object": "error", "message": too_long, "type": "BadRequestError", "code": 400 }),
                ModelFailure::ContextTooLong,
            ),
            (
                400,
                error(400.into(), "exceed_context_size_error", "the request"),
                ModelFailure::ContextTooLong,
            ),
            (
                404,
                json!({ "error": "model 'x' not found" }),
                ModelFailure::NoSuchModel,
            ),
            (
                503,
                error(503.into(), "unavailable_error", "Loading model"),
                ModelFailure::Overload,
            ),
            (500, Value::Null, ModelFailure::Overload),
            (402, Value::Null, ModelFailure::Quota),
            // Words that are only quoted in a message mean nothing.
            (
                400,
                error(
                    Value::Null,
                    "invalid_request_error",
                    &format!("you said: {too_long}"),
                ),
                ModelFailure::BadRequest,
            ),
        ] {
            assert_eq!(refusal(status, &body).failure, failure, "{status} {body}");
        }
        let told = refusal(404, &json!({ "error": "model 'x' not found" }));
        assert_eq!(told.message.as_deref(), Some("model 'x' not found"));
    }
}
