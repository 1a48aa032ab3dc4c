//! Roots: folders in which skills are looked for.

use std::path::PathBuf;

use grove_spec::words;
use serde::{Deserialize, Serialize};

use crate::rank;
use crate::trust::RootTrust;

words! {
    /// The source of a root.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RootSource {
        /// The skills inside Grove's own binary.
        Bundled = "bundled",
        /// A folder of a package or plugin.
        Package = "package",
        /// A folder from the configuration or the environment.
        Extra = "extra",
        /// Grove's own data folder.
        Managed = "managed",
        /// A folder in the user's home.
        User = "user",
        /// The project of the working folder.
        Project = "project",
    }
}

impl RootSource {
    /// All sources, strongest first.
    pub const ALL: [Self; 6] = [
        Self::Project,
        Self::User,
        Self::Managed,
        Self::Extra,
        Self::Package,
        Self::Bundled,
    ];

    /// Returns true if links may not leave a root of this source.
    ///
    /// The files of a repository or a package must not reach the rest of the disk; the user may lay out the user's own
    /// folders with links.
    pub const fn contains_links(self) -> bool {
        matches!(self, Self::Project | Self::Package)
    }
}

/// A root as it enters resolution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// A short unique name, such as `project:.agents/skills`.
    pub label: String,
    /// The path of the folder.
    pub path: PathBuf,
    /// The source it comes from.
    pub source: RootSource,
    /// Its place among all roots.
    pub rank: RootRank,
    /// The trust in its content.
    pub trust: RootTrust,
}

impl Root {
    /// Makes a trusted root at the usual place of its source, with the label `source:shown`.
    pub fn new(source: RootSource, shown: &str, path: PathBuf) -> Self {
        Self {
            label: format!("{}:{shown}", source.as_str()),
            path,
            source,
            rank: RootRank::of(source),
            trust: RootTrust::Trusted,
        }
    }
}

/// A root's place among all roots; smaller is stronger.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RootRank {
    /// The source's step on the ladder; another host has a ladder of its own.
    pub step: u32,
    /// Steps from the working folder up to the folder that holds the root; zero outside projects.
    pub distance: u32,
    /// The owner of the folder.
    pub owner: RootOwner,
    /// The order in which it was given, for roots that have one.
    pub order: u32,
}

impl RootRank {
    /// Returns the standing of a root of this source on Grove's own ladder.
    pub fn of(source: RootSource) -> Self {
        Self {
            step: rank::step(source),
            distance: 0,
            owner: RootOwner::Grove,
            order: 0,
        }
    }
}

/// The owner of a root's folder; the order is the rank within a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RootOwner {
    /// The folder `.grove` of Grove.
    #[default]
    Grove,
    /// `.agents`, which all hosts share.
    Agents,
    /// Another host's folder, by its name.
    Host(String),
    /// A folder that a host's settings name, after every folder that hosts search without settings.
    Named,
}

/// Makes labels unique by adding `#2`, `#3`… to later ones.
pub fn make_labels_unique(roots: &mut [Root]) {
    let mut taken = std::collections::BTreeSet::<String>::new();
    for root in roots {
        let plain = root.label.clone();
        let mut count = 1;
        while !taken.insert(root.label.clone()) {
            count += 1;
            root.label = format!("{plain}#{count}");
        }
    }
}
