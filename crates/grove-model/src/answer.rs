//! A model's answer, in the events in which it comes and as a whole.

use std::time::Duration;

use grove_plan::{ModelFailure, Usage};
use serde::{Deserialize, Serialize};

use crate::request::MessageBlock;

/// The whole answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelAnswer {
    /// The model that answered, as the provider calls it.
    pub model: String,
    /// The words, thoughts and calls of the answer, in order.
    pub blocks: Vec<MessageBlock>,
    /// The reason for which the answer ended.
    pub stop: StopKind,
    /// The tokens that this answer took.
    pub usage: Usage,
    /// The tokens that failed tries took before it.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub lost: Usage,
}

fn is_nothing(usage: &Usage) -> bool {
    *usage == Usage::default()
}

impl ModelAnswer {
    /// Returns the words of the answer as one text.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            MessageBlock::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// The reason for which an answer ended, as the provider gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopKind {
    /// The model finished its turn.
    EndTurn,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The answer reached its limit of tokens.
    MaxTokens,
    /// The model wrote a text at which it was to stop.
    StopSequence,
    /// The model refused to answer.
    Refusal,
    /// The provider paused the answer; a request that ends with this answer makes the model go on.
    Pause,
    /// The context of the model is full.
    ContextFull,
    /// Another reason, or none when the provider gave none.
    Other(String),
}

impl StopKind {
    /// The word of the kind in the journal: that of the provider where it is none of ours.
    pub fn word(&self) -> &str {
        match self {
            Self::EndTurn => "endTurn",
            Self::ToolUse => "toolUse",
            Self::MaxTokens => "maxTokens",
            Self::StopSequence => "stopSequence",
            Self::Refusal => "refusal",
            Self::Pause => "pause",
            Self::ContextFull => "contextFull",
            Self::Other(word) => word,
        }
    }
}

/// An event while a model answers; it serves progress and logs and is not a record of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ModelEvent {
    /// More words of the answer.
    TextDelta {
        /// The number of the block in the answer.
        block: u64,
        /// The words that were added.
        text: String,
    },
    /// More thoughts of the model.
    ThinkingDelta {
        /// The number of the block in the answer.
        block: u64,
        /// The thoughts that were added.
        text: String,
    },
    /// A call of a tool begins.
    ToolStart {
        /// The number of the block in the answer.
        block: u64,
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// More of a call's arguments.
    ToolInputDelta {
        /// The number of the block in the answer.
        block: u64,
        /// A piece of the arguments' JSON.
        part: String,
    },
    /// The tokens that this answer took so far.
    Usage {
        /// The tokens of each kind.
        usage: Usage,
    },
    /// A try failed and there will be another.
    Retrying {
        /// The kind of the failure.
        failure: ModelFailure,
        /// The message of the failure.
        message: String,
        /// The try that failed, counted from one.
        tried: u32,
        /// The wait before the next try, in milliseconds.
        wait_ms: u64,
    },
    /// A fact that a person should know and that does not change the answer.
    Warning {
        /// The text of the warning.
        message: String,
    },
}

impl ModelEvent {
    /// Returns true if the event is a part of the answer. After such an event a new try would repeat what was already sent.
    pub const fn is_content(&self) -> bool {
        matches!(
            self,
            Self::TextDelta { .. }
                | Self::ThinkingDelta { .. }
                | Self::ToolStart { .. }
                | Self::ToolInputDelta { .. }
        )
    }

    pub(crate) fn retrying(
        failure: ModelFailure,
        message: &str,
        tried: u32,
        wait: Duration,
    ) -> Self {
        Self::Retrying {
            failure,
            message: message.to_owned(),
            tried,
            wait_ms: wait.as_millis().try_into().unwrap_or(u64::MAX),
        }
    }
}
