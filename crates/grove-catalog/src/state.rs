//! States and their reasons.

use grove_spec::words;
use serde::{Deserialize, Serialize};

words! {
    /// Whether a skill, an agent or a chain may be used. Exactly one holds; the first that applies in the order of evaluation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum State {
        /// Usable.
        Ok = "ok",
        /// A stronger root has a usable skill of this name.
        Shadowed = "shadowed",
        /// Usable, and beyond the entries that its root or source may have: it is named in the entry of its group.
        Capped = "capped",
        /// The machine or the configuration lacks something.
        Ineligible = "ineligible",
        /// In a project that is not trusted.
        Untrusted = "untrusted",
        /// In a trusted project, and not as it was when trusted.
        Changed = "changed",
        /// Switched off.
        Disabled = "disabled",
        /// Not let through by an allow-list or a name filter.
        Filtered = "filtered",
        /// The file cannot be used.
        Invalid = "invalid",
    }
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

    /// The word for people. JSON and options have [`Self::as_str`].
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Capped => "named in its group",
            state => state.as_str(),
        }
    }

    /// Whether it may be used at all, be it by its address alone: what takes part in ranking.
    pub const fn is_usable(self) -> bool {
        matches!(self, Self::Ok | Self::Shadowed | Self::Capped)
    }

    /// Whether its bare name leads to it: it may be used and nothing of its name goes before it.
    pub const fn is_offered(self) -> bool {
        matches!(self, Self::Ok | Self::Capped)
    }

    /// Whether it may be an entry of its own in a catalog.
    pub const fn is_listed(self) -> bool {
        matches!(self, Self::Ok)
    }

    /// Whether it is missed when another one of its name is used: somebody expects it to be there. What was switched
    /// off or filtered is missed by nobody, and of a project that nobody trusts nothing is expected: listings say so
    /// of all of it.
    pub const fn is_missed(self) -> bool {
        matches!(self, Self::Changed | Self::Ineligible | Self::Invalid)
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
    /// What several say, in one line.
    pub fn joined(all: &[Self]) -> String {
        let messages: Vec<&str> = all.iter().map(|reason| reason.message.as_str()).collect();
        messages.join("; ")
    }

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
