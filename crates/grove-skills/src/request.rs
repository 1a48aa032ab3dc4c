//! What is asked of a look.

use std::path::PathBuf;

use grove_spec::package::Kind;

use crate::scope::Scope;

/// Whose eyes to look with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum View {
    /// Grove's own: everything, by Grove's rules.
    #[default]
    Own,
    /// Exactly these folders, as trusted user roots.
    Folders(Vec<PathBuf>),
    /// Another host's, by its rules.
    Host(String),
}

/// What is looked for; what is not asked for is not walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Skills.
    pub skills: bool,
    /// Agents. With skills too, the folders that agents bring skills in are looked in.
    pub agents: bool,
    /// Chains. With the other two, what their steps name is checked.
    pub chains: bool,
}

impl Parts {
    /// The surroundings alone.
    pub const NOTHING: Self = Self {
        skills: false,
        agents: false,
        chains: false,
    };
    /// Skills alone.
    pub const SKILLS: Self = Self {
        skills: true,
        ..Self::NOTHING
    };
    /// Agents alone.
    pub const AGENTS: Self = Self {
        agents: true,
        ..Self::NOTHING
    };
    /// Chains alone.
    pub const CHAINS: Self = Self {
        chains: true,
        ..Self::NOTHING
    };
    /// What prompts are made of.
    pub const PROMPTS: Self = Self {
        skills: true,
        agents: true,
        chains: false,
    };
    /// Everything.
    pub const ALL: Self = Self {
        skills: true,
        agents: true,
        chains: true,
    };

    /// Whether a kind is looked for.
    pub const fn has(self, kind: Kind) -> bool {
        match kind {
            Kind::Skills => self.skills,
            Kind::Agents => self.agents,
            Kind::Chains => self.chains,
        }
    }

    /// Whether only the surroundings are found.
    pub(crate) const fn is_nothing(self) -> bool {
        !(self.skills || self.agents || self.chains)
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self::SKILLS
    }
}

/// What to look for, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Whose eyes to look with. Exactly these folders are folders of skills: for agents and chains there are others.
    pub view: View,
    /// What is looked for.
    pub parts: Parts,
    /// Look for agents in exactly these folders, as trusted user roots; none means as usual.
    pub agent_folders: Vec<PathBuf>,
    /// The same for chains.
    pub chain_folders: Vec<PathBuf>,
    /// Whose agents and chains are looked for.
    pub scope: Scope,
    /// Lift the caps on candidates and loaded skills.
    pub all: bool,
    /// Let only these names of skills through; none means all.
    pub names: Option<Vec<String>>,
}

impl Request {
    /// Whose eyes one kind is looked for with.
    pub(crate) fn view_of(&self, kind: Kind) -> View {
        let folders = match kind {
            Kind::Skills => return self.view.clone(),
            Kind::Agents => &self.agent_folders,
            Kind::Chains => &self.chain_folders,
        };
        match &self.view {
            _ if !folders.is_empty() => View::Folders(folders.clone()),
            View::Host(name) => View::Host(name.clone()),
            View::Own | View::Folders(_) => View::Own,
        }
    }
}
