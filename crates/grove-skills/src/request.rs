//! The request for a discovery.

use std::path::PathBuf;

use grove_spec::package::EntryKind;

use crate::scope::OwnerScope;

/// The point of view of a discovery: the places to look in and the rules that hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DiscoveryView {
    /// Grove's own: everything, by Grove's rules.
    #[default]
    Own,
    /// Exactly these folders, as trusted user roots.
    Folders(Vec<PathBuf>),
    /// Another host's, by its rules.
    Host(String),
}

/// The kinds that are looked for; other kinds are not walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscoveryParts {
    /// Set to look for skills.
    pub skills: bool,
    /// Set to look for agents; with skills too, the folders of skills that agents bring are looked in.
    pub agents: bool,
    /// Set to look for chains; with the other two, the names in their steps are checked.
    pub chains: bool,
}

impl DiscoveryParts {
    /// The world alone, and no kind.
    pub const NOTHING: Self = Self {
        skills: false,
        agents: false,
        chains: false,
    };
    /// The skills and nothing else.
    pub const SKILLS: Self = Self {
        skills: true,
        ..Self::NOTHING
    };
    /// The agents and nothing else.
    pub const AGENTS: Self = Self {
        agents: true,
        ..Self::NOTHING
    };
    /// The chains and nothing else.
    pub const CHAINS: Self = Self {
        chains: true,
        ..Self::NOTHING
    };
    /// The kinds that prompts are made of.
    pub const PROMPTS: Self = Self {
        skills: true,
        agents: true,
        chains: false,
    };
    /// All three kinds at once.
    pub const ALL: Self = Self {
        skills: true,
        agents: true,
        chains: true,
    };

    /// Returns true if a kind is looked for.
    pub const fn has(self, kind: EntryKind) -> bool {
        match kind {
            EntryKind::Skills => self.skills,
            EntryKind::Agents => self.agents,
            EntryKind::Chains => self.chains,
        }
    }

    pub(crate) const fn is_nothing(self) -> bool {
        !(self.skills || self.agents || self.chains)
    }
}

impl Default for DiscoveryParts {
    fn default() -> Self {
        Self::SKILLS
    }
}

/// A request for a discovery: the kinds to look for, where, and by which rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiscoveryRequest {
    /// The point of view. Its exact folders are those of skills; agents and chains have folders of their own below.
    pub view: DiscoveryView,
    /// The kinds that are looked for.
    pub parts: DiscoveryParts,
    /// Exactly these folders to look for agents in, as trusted user roots; none means as usual.
    pub agent_folders: Vec<PathBuf>,
    /// The same for chains.
    pub chain_folders: Vec<PathBuf>,
    /// The scope in which agents and chains are looked for.
    pub scope: OwnerScope,
    /// Set to lift the caps on candidates and loaded skills.
    pub all: bool,
    /// The only names of skills that are let through; none means all.
    pub names: Option<Vec<String>>,
}

impl DiscoveryRequest {
    pub(crate) fn view_of(&self, kind: EntryKind) -> DiscoveryView {
        let folders = match kind {
            EntryKind::Skills => return self.view.clone(),
            EntryKind::Agents => &self.agent_folders,
            EntryKind::Chains => &self.chain_folders,
        };
        match &self.view {
            _ if !folders.is_empty() => DiscoveryView::Folders(folders.clone()),
            DiscoveryView::Host(name) => DiscoveryView::Host(name.clone()),
            DiscoveryView::Own | DiscoveryView::Folders(_) => DiscoveryView::Own,
        }
    }
}
