//! What a model is asked, whoever provides it.

use grove_spec::agent::thinking::LEVELS;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One request: all that a model is told for its next turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    /// The model's own id, without its provider.
    pub model: String,
    /// The system text, as it is sent.
    pub system: String,
    /// The conversation, beginning with a user's message.
    pub messages: Vec<Message>,
    /// What the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// Whether it has to.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// How many tokens the answer may have.
    pub max_output_tokens: u32,
    /// How much it thinks before it answers.
    #[serde(default)]
    pub thinking: Thinking,
}

impl ModelRequest {
    /// The request as JSON with sorted keys: equal requests have equal bytes.
    pub fn canonical(&self) -> Value {
        canonical(self)
    }
}

/// A value as JSON with sorted keys.
pub(crate) fn canonical(value: &impl Serialize) -> Value {
    let mut value = as_json(value);
    value.sort_all_objects();
    value
}

/// A value as JSON, with keys in their own order.
pub(crate) fn as_json(value: &impl Serialize) -> Value {
    // Every type of this crate is a map with text for keys, which always has a form in JSON.
    serde_json::to_value(value).unwrap_or_default()
}

/// A turn of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Whose turn.
    pub role: Role,
    /// What was said, called or returned.
    pub content: Vec<Block>,
}

impl Message {
    /// A user's words.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            content: vec![Block::text(text)],
        }
    }

    /// What a model answered, to be sent back as it came.
    pub fn assistant(content: Vec<Block>) -> Self {
        Self {
            role: Role::Assistant,
            content,
        }
    }
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Whoever asks; results of tools are a part of this turn.
    User,
    /// The model.
    Assistant,
}

/// A part of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Block {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// Thoughts. They have to be sent back as they came: the signature covers the text.
    Thinking {
        /// The thoughts.
        text: String,
        /// The provider's proof that they are its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A call of a tool.
    ToolUse {
        /// The model's name for the call.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments: an object, or the text as it came where that is not JSON.
        input: Value,
    },
    /// What a call came to.
    ToolResult {
        /// The call.
        id: String,
        /// What is told to the model.
        content: String,
        /// Whether it failed.
        #[serde(default)]
        is_error: bool,
    },
    /// A part of a kind that is not known here, in the provider's form, to be sent back as it came.
    Other {
        /// As it came.
        value: Value,
    },
}

impl Block {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it takes, as a JSON Schema of an object.
    pub input_schema: Value,
}

/// Whether a model has to call a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It may not.
    None,
    /// It has to call one of them.
    Any,
    /// It has to call this one.
    Tool(String),
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// Not at all, as far as it can be told to.
    #[default]
    Off,
    /// As little as there is.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// More than that.
    Xhigh,
}

impl Thinking {
    /// All of them, in the order of their words.
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

    /// The word for it.
    pub fn word(self) -> &'static str {
        let mut all = Self::all();
        all.find(|(level, _)| *level == self)
            .map_or("", |(_, word)| word)
    }

    /// The level that a word stands for.
    pub fn of_word(word: &str) -> Option<Self> {
        let mut all = Self::all();
        all.find(|(_, known)| *known == word)
            .map(|(level, _)| level)
    }
}
