//! The states of skills, agents and chains, and their reasons.

use grove_spec::words;
use serde::{Deserialize, Serialize};

words! {
    /// The state of a skill, an agent or a chain: the first that applies in the order of evaluation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum EntryState {
        /// It may be used.
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
        /// It is switched off.
        Disabled = "disabled",
        /// Not let through by an allow-list or a name filter.
        Filtered = "filtered",
        /// The file cannot be used.
        Invalid = "invalid",
    }
}

impl EntryState {
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

    /// Returns the word for people. JSON and options have [`Self::as_str`].
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Capped => "named in its group",
            state => state.as_str(),
        }
    }

    /// Returns true if it may be used at all, even if only by its address; only usable entries are ranked.
    pub const fn is_usable(self) -> bool {
        matches!(self, Self::Ok | Self::Shadowed | Self::Capped)
    }

    /// Returns true if its bare name leads to it: it may be used and no stronger one has its name.
    pub const fn is_offered(self) -> bool {
        matches!(self, Self::Ok | Self::Capped)
    }

    /// Returns true if it may be an entry of its own in a catalog.
    pub const fn is_listed(self) -> bool {
        matches!(self, Self::Ok)
    }

    /// Returns true if the user expects it and must be told when another one of its name is used. An entry that was
    /// switched off or filtered is not expected, nor is one of a project that is not trusted: listings say so of the
    /// whole project.
    pub const fn is_missed(self) -> bool {
        matches!(self, Self::Changed | Self::Ineligible | Self::Invalid)
    }
}

/// The reason for a skill's state, and what would change it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateReason {
    /// A stable word for programs.
    pub code: String,
    /// One sentence without a full stop.
    pub message: String,
    /// Advice on what to do.
    pub fix: String,
}

impl StateReason {
    /// Joins the messages of several reasons in one line.
    pub fn joined(all: &[Self]) -> String {
        let messages: Vec<&str> = all.iter().map(|reason| reason.message.as_str()).collect();
        messages.join("; ")
    }

    /// Makes a reason from its parts.
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
