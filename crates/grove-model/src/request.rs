//! Requests to a model, in a form that does not depend on the provider.

use grove_spec::agent::thinking::LEVELS;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request to a model: all that it needs for its next turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    /// The model's own id, without its provider.
    pub model: String,
    pub system: String,
    /// The conversation, beginning with a user's message.
    pub messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    #[serde(default)]
    pub tool_choice: ToolChoice,
    pub max_output_tokens: u32,
    #[serde(default)]
    pub thinking: Thinking,
}

impl ModelRequest {
    /// Returns the request as JSON with sorted keys: equal requests have equal bytes.
    pub fn canonical(&self) -> Value {
        canonical(self)
    }
}

/// Returns a value as JSON with sorted keys.
pub(crate) fn canonical(value: &impl Serialize) -> Value {
    let mut value = as_json(value);
    value.sort_all_objects();
    value
}

/// Returns a value as JSON, with keys in their own order.
pub(crate) fn as_json(value: &impl Serialize) -> Value {
    // Every type of this crate is a map with text for keys, which always has a form in JSON.
    serde_json::to_value(value).unwrap_or_default()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    /// The words, calls and results of the turn.
    pub content: Vec<MessageBlock>,
}

impl Message {
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            content: vec![MessageBlock::text(text)],
        }
    }

    /// Returns a model's turn with the parts of its answer, to be sent back as they came.
    pub fn assistant(content: Vec<MessageBlock>) -> Self {
        Self {
            role: Role::Assistant,
            content,
        }
    }
}

/// The side of the conversation whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// The caller of the model; results of tools are a part of this turn.
    User,
    Assistant,
}

/// A part of a turn: words, thoughts, a call or a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum MessageBlock {
    Text {
        text: String,
    },
    /// Thoughts of the model, which have to be sent back as they came: the signature covers the text.
    Thinking {
        text: String,
        /// The provider's proof that they are its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    ToolUse {
        id: String,
        name: String,
        /// The arguments of the call: an object, or the text as it came where that is not JSON.
        input: Value,
    },
    ToolResult {
        id: String,
        /// The text that the model reads.
        content: String,
        #[serde(default)]
        is_error: bool,
    },
    /// A part of a kind that is not known here, in the provider's form, to be sent back as it came.
    Other {
        value: Value,
    },
}

impl MessageBlock {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    /// The arguments of the tool, as a JSON Schema of an object.
    pub input_schema: Value,
}

/// The rule for whether a model has to call a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolChoice {
    #[default]
    Auto,
    None,
    Any,
    /// The model has to call the tool of this name.
    Tool(String),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// No thinking, as far as the model can be told so.
    #[default]
    Off,
    /// The least thinking that the provider offers.
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
}

impl Thinking {
    /// All levels, in the order of their words.
    const ALL: [Self; LEVELS.len()] = [
        Self::Off,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Xhigh,
    ];

    fn all() -> impl Iterator<Item = (Self, &'static str)> {
        Self::ALL.into_iter().zip(LEVELS)
    }

    pub fn word(self) -> &'static str {
        let mut all = Self::all();
        all.find(|(level, _)| *level == self)
            .map_or("", |(_, word)| word)
    }

    pub fn of_word(word: &str) -> Option<Self> {
        let mut all = Self::all();
        all.find(|(_, known)| *known == word)
            .map(|(level, _)| level)
    }
}
