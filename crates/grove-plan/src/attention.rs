//! When a child may need somebody to look after it. It decides nothing.

use std::fmt;

use grove_spec::duration::in_words;
use serde::{Deserialize, Serialize};

/// After how much somebody is told.
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

/// Why a child may need somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "reason",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Attention {
    /// Its model said nothing for so many milliseconds.
    SilentModel {
        /// How many.
        after_ms: u64,
    },
    /// A tool has run for so many milliseconds.
    LongTool {
        /// How many.
        after_ms: u64,
    },
    /// So many edits failed in a row.
    FailingEdits {
        /// How many.
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
