//! A model's answer, in the events in which it comes and as a whole.

use std::time::Duration;

use grove_plan::{ModelFailure, Usage};
use serde::{Deserialize, Serialize};

use crate::request::MessageBlock;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelAnswer {
    pub model: String,
    /// The words, thoughts and calls of the answer, in order.
    pub blocks: Vec<MessageBlock>,
    pub stop: StopKind,
    pub usage: Usage,
    /// The tokens that failed tries took before it.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub lost: Usage,
}

fn is_nothing(usage: &Usage) -> bool {
    *usage == Usage::default()
}

impl ModelAnswer {
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
    EndTurn,
    /// The model waits for the results of its calls.
    ToolUse,
    MaxTokens,
    /// The model wrote a text at which it was to stop.
    StopSequence,
    Refusal,
    /// The provider paused the answer; a request that ends with this answer makes the model go on.
    Pause,
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
    TextDelta {
        block: u64,
        text: String,
    },
    ThinkingDelta {
        block: u64,
        text: String,
    },
    ToolStart {
        block: u64,
        id: String,
        name: String,
    },
    ToolInputDelta {
        block: u64,
        /// A piece of the arguments' JSON.
        part: String,
    },
    Usage {
        usage: Usage,
    },
    Retrying {
        failure: ModelFailure,
        message: String,
        /// The try that failed, counted from one.
        tried: u32,
        wait_ms: u64,
    },
    /// A fact that a person should know and that does not change the answer.
    Warning {
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
