//! Who said what in a request, whatever its wire format.

use serde_json::Value;

/// The parts of a request's conversation, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Conversation(Vec<Said>);

#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// Words of the user's.
    User(String),
    /// Anything of the model's.
    Model,
    /// What a tool came to.
    Tool,
}

impl Conversation {
    /// Of the body of a request.
    pub(super) fn of(asked: &Value) -> Self {
        let mut parts = Vec::new();
        if let Some(text) = asked["input"].as_str() {
            parts.push(Said::User(text.to_owned()));
        }
        let lists = ["messages", "input", "contents"].map(|key| asked[key].as_array());
        let items = lists.into_iter().flatten().next();
        for item in items.into_iter().flatten() {
            match item["role"].as_str() {
                Some("user") if item["parts"].is_array() => add_user(&mut parts, &item["parts"]),
                Some("user") => add_user(&mut parts, &item["content"]),
                Some("assistant" | "model") => parts.push(Said::Model),
                Some("tool") => parts.push(Said::Tool),
                Some(_) => {}
                // `OpenAI` Responses has calls and their results beside messages.
                None => match item["type"].as_str().unwrap_or_default() {
                    kind if kind.ends_with("_output") => parts.push(Said::Tool),
                    "function_call" | "reasoning" => parts.push(Said::Model),
                    _ => {}
                },
            }
        }
        Self(parts)
    }

    /// Where the last message of the user's with a text is.
    pub(super) fn last_message_with(&self, marker: &str) -> Option<usize> {
        self.0
            .iter()
            .rposition(|said| matches!(said, Said::User(text) if text.contains(marker)))
    }

    /// How many turns the model had since.
    pub(super) fn turns_after(&self, place: usize) -> usize {
        let after = self.0.get(place..).unwrap_or_default();
        let begins = |pair: &&[Said]| pair[0] != Said::Model && pair[1] == Said::Model;
        after.windows(2).filter(begins).count()
    }
}

fn add_user(parts: &mut Vec<Said>, content: &Value) {
    let mut text = content.as_str().unwrap_or_default().to_owned();
    let mut has_result = false;
    for block in content.as_array().into_iter().flatten() {
        has_result |= block["type"] == "tool_result" || block["functionResponse"].is_object();
        text.push_str(block["text"].as_str().unwrap_or_default());
    }
    if has_result {
        parts.push(Said::Tool);
    }
    if !text.is_empty() {
        parts.push(Said::User(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn turns_are_counted_from_the_last_message_with_the_marker_in_every_format() {
        let anthropic = json!({ "messages": [
            { "role": "user", "content": "do @@A" },
            { "role": "assistant", "content": [{ "type": "tool_use" }] },
            { "role": "user", "content": [{ "type": "tool_result", "content": "@@B" }] },
            { "role": "assistant", "content": [] },
            { "role": "user", "content": [{ "type": "text", "text": "go on" }] },
        ]});
        let chat = json!({ "messages": [
            { "role": "system", "content": "@@B" },
            { "role": "user", "content": [{ "type": "text", "text": "do @@A" }] },
            { "role": "assistant", "tool_calls": [{}] },
            { "role": "tool", "content": "@@B" },
            { "role": "assistant", "content": "x" },
            { "role": "user", "content": "go on" },
        ]});
        let responses = json!({ "input": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "do @@A" }] },
            { "type": "reasoning" },
            { "type": "function_call" },
            { "type": "function_call_output", "output": "@@B" },
            { "type": "message", "role": "assistant", "content": [] },
        ]});
        let google = json!({ "systemInstruction": { "parts": [{ "text": "@@B" }] }, "contents": [
            { "role": "user", "parts": [{ "text": "do @@A" }] },
            { "role": "model", "parts": [{ "functionCall": {} }] },
            { "role": "user", "parts": [{ "functionResponse": { "response": { "output": "@@B" } } }] },
            { "role": "model", "parts": [{ "text": "x" }] },
            { "role": "user", "parts": [{ "text": "go on" }] },
        ]});
        for asked in [anthropic, chat, responses, google] {
            let conversation = Conversation::of(&asked);
            let place = conversation.last_message_with("@@A").unwrap();
            assert_eq!(conversation.turns_after(place), 2, "{asked}");
            assert_eq!(conversation.last_message_with("@@B"), None, "{asked}");
        }
        assert_eq!(
            Conversation::of(&json!({ "input": "do @@A" })).last_message_with("@@A"),
            Some(0)
        );
    }
}
