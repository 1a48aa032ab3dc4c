//! States and their reasons.

use serde::{Deserialize, Serialize};

/// Whether a skill may be used. Exactly one holds; the first that applies in the order of evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Usable.
    Ok,
    /// A stronger root has a usable skill of this name.
    Shadowed,
    /// Usable, and beyond what its source offers.
    Capped,
    /// The machine or the configuration lacks something.
    Ineligible,
    /// In a project that is not trusted.
    Untrusted,
    /// In a trusted project, and not as it was when trusted.
    Changed,
    /// Switched off.
    Disabled,
    /// Not let through by an allow-list or a name filter.
    Filtered,
    /// The file cannot be used.
    Invalid,
}

impl State {
    /// All states, in the order of the reference page.
    pub const ALL: [Self; 9] = [
        Self::Ok,
        Self::Shadowed,
        Self::Capped,
        Self::Ineligible,
        Self::Untrusted,
        Self::Changed,
        Self::Disabled,
        Self::Filtered,
        Self::Invalid,
    ];

    /// The word shown to people and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Shadowed => "shadowed",
            Self::Capped => "capped",
            Self::Ineligible => "ineligible",
            Self::Untrusted => "untrusted",
            Self::Changed => "changed",
            Self::Disabled => "disabled",
            Self::Filtered => "filtered",
            Self::Invalid => "invalid",
        }
    }

    /// Whether a skill in this state takes part in ranking.
    pub const fn is_usable(self) -> bool {
        matches!(self, Self::Ok | Self::Shadowed | Self::Capped)
    }
}

/// Why a skill is in its state, and what would change that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// A stable word.
    pub code: String,
    /// One sentence without a full stop.
    pub message: String,
    /// What to do.
    pub fix: String,
}

impl Reason {
    /// A reason from its parts.
    pub fn new(
        code: impl Into<String>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            fix: fix.into(),
        }
    }
}
