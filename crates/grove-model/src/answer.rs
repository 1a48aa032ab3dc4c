//! What a model answers, as it comes and as a whole.

use std::time::Duration;

use grove_plan::{ModelFailure, Usage};
use serde::{Deserialize, Serialize};

use crate::request::Block;

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelAnswer {
    /// The model that answered, as the provider calls it.
    pub model: String,
    /// What it said, thought and called, in order.
    pub blocks: Vec<Block>,
    /// Why it ended.
    pub stop: StopKind,
    /// What this answer took.
    pub usage: Usage,
    /// What was used by tries that came to nothing before it.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub lost: Usage,
}

fn is_nothing(usage: &Usage) -> bool {
    *usage == Usage::default()
}

impl ModelAnswer {
    /// What it said, all in one.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// Why an answer ended, in the provider's own words about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopKind {
    /// It was done.
    EndTurn,
    /// It waits for what its calls come to.
    ToolUse,
    /// It was as long as it may be.
    MaxTokens,
    /// It wrote a text at which it was to stop.
    StopSequence,
    /// It would not.
    Refusal,
    /// The provider paused it; asked again with this answer, it goes on.
    Pause,
    /// The model can read no more.
    ContextFull,
    /// For another reason, or for none that was given.
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

/// What happens while a model answers: for progress and logs, no record of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ModelEvent {
    /// More words.
    TextDelta {
        /// Which block of the answer.
        block: u64,
        /// The words.
        text: String,
    },
    /// More thoughts.
    ThinkingDelta {
        /// Which block of the answer.
        block: u64,
        /// The thoughts.
        text: String,
    },
    /// A call of a tool begins.
    ToolStart {
        /// Which block of the answer.
        block: u64,
        /// The call.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of a call's arguments.
    ToolInputDelta {
        /// Which block of the answer.
        block: u64,
        /// A piece of JSON.
        part: String,
    },
    /// What this answer took so far.
    Usage {
        /// By kind.
        usage: Usage,
    },
    /// A try came to nothing and there will be another.
    Retrying {
        /// In which way it failed.
        failure: ModelFailure,
        /// What was said about it.
        message: String,
        /// The try that failed, counted from one.
        tried: u32,
        /// How long is waited, in milliseconds.
        wait_ms: u64,
    },
    /// Something that somebody should know and that changes nothing.
    Warning {
        /// What.
        message: String,
    },
}

impl ModelEvent {
    /// Whether it is a part of the answer. After one of these an answer cannot be begun anew without saying things twice.
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
