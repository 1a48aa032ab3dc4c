//! Roots: folders in which skills are looked for.

use std::path::PathBuf;

use grove_spec::words;
use serde::{Deserialize, Serialize};

use crate::rank;
use crate::trust::Trust;

words! {
    /// Where a root comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Source {
        /// Inside the binary.
        Bundled = "bundled",
        /// A package or plugin.
        Package = "package",
        /// A folder from the configuration or the environment.
        Extra = "extra",
        /// Grove's own data folder.
        Managed = "managed",
        /// The user's home.
        User = "user",
        /// The project one works in.
        Project = "project",
    }
}

impl Source {
    /// All sources, strongest first.
    pub const ALL: [Self; 6] = [
        Self::Project,
        Self::User,
        Self::Managed,
        Self::Extra,
        Self::Package,
        Self::Bundled,
    ];

    /// Whether links may leave a root of this source.
    ///
    /// What came with a repository or a package must not reach the rest of the disk; the user's own
    /// folders may be laid out with links as the user likes.
    pub const fn contains_links(self) -> bool {
        matches!(self, Self::Project | Self::Package)
    }
}

/// A root as it enters resolution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// A short unique name: `project:.agents/skills`.
    pub label: String,
    /// The folder.
    pub path: PathBuf,
    /// Where it comes from.
    pub source: Source,
    /// Its place among all roots.
    pub standing: Standing,
    /// Whether its content may be used.
    pub trust: Trust,
}

impl Root {
    /// A trusted root at the usual place of its source, called `source:shown`.
    pub fn new(source: Source, shown: &str, path: PathBuf) -> Self {
        Self {
            label: format!("{}:{shown}", source.as_str()),
            path,
            source,
            standing: Standing::of(source),
            trust: Trust::Trusted,
        }
    }
}

/// A root's place among all roots; smaller is stronger.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standing {
    /// The source's step on the ladder; another host has a ladder of its own.
    pub step: u32,
    /// Steps from the working folder up to the folder that holds the root; zero outside projects.
    pub distance: u32,
    /// Whose folder it is.
    pub family: Family,
    /// The order in which it was given, for roots that have one.
    pub order: u32,
}

impl Standing {
    /// The standing of a root of this source by Grove's own ladder.
    pub fn of(source: Source) -> Self {
        Self {
            step: rank::step(source),
            distance: 0,
            family: Family::Grove,
            order: 0,
        }
    }
}

/// Whose folder a root is; the order is the rank within a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// `.grove`.
    #[default]
    Grove,
    /// `.agents`, which all hosts share.
    Agents,
    /// Another host's folder, by its name.
    Host(String),
    /// A folder that a host's settings name, after every folder that is known by itself.
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
