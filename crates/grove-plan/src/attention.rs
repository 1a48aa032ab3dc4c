//! Notices that a child may need a person to look after it. They decide nothing.

use std::fmt;

use grove_spec::duration::in_words;
use serde::{Deserialize, Serialize};

/// The amounts after which a person is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttentionLimits {
    /// Milliseconds in which a model says nothing.
    pub model_ms: u64,
    /// Milliseconds that a tool runs without a word.
    pub tool_ms: u64,
    /// Edits that fail in a row.
    pub failing_edits: u64,
}

/// The reason why a child may need a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "reason",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Attention {
    /// Its model said nothing for so many milliseconds.
    SilentModel {
        /// The length of the silence.
        after_ms: u64,
    },
    /// A tool has run for so many milliseconds.
    LongTool {
        /// The time for which it has run.
        after_ms: u64,
    },
    /// So many edits failed in a row.
    FailingEdits {
        /// The number of failed edits.
        count: u64,
    },
}

impl fmt::Display for Attention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SilentModel { after_ms } => {
                write!(f, "its model has said nothing for {}", in_words(*after_ms))
            }
            Self::LongTool { after_ms } => write!(f, "a tool has run for {}", in_words(*after_ms)),
            Self::FailingEdits { count } => write!(f, "{count} edits failed in a row"),
        }
    }
}
