//! The nodes of a catalog: skills, and the groups of its forest.

use std::path::PathBuf;

use crate::catalog::forest::{Forest, ForestNodeKind, ForestOptions, NodeId};
use crate::catalog::texts::closed_text;
use crate::snapshot::{Skill, Snapshot};

/// Skills that a catalog may show as one entry: those of a folder, or a part of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkillGroup {
    /// `path/@label`, which names exactly one group.
    pub key: String,
    /// The name, with a slash at its end.
    pub name: String,
    /// The number and the names of its skills.
    pub about: String,
    /// The folder that its skills are in.
    pub folder: PathBuf,
}

impl SkillGroup {
    /// All groups of a snapshot, by key.
    pub fn all(snapshot: &Snapshot) -> Vec<Self> {
        let forest = Forest::of(snapshot, &ForestOptions::default());
        let groups = forest.groups();
        let mut all: Vec<Self> = groups
            .filter_map(|id| Self::of(snapshot, &forest, id))
            .collect();
        all.sort();
        all
    }

    fn of(snapshot: &Snapshot, forest: &Forest<'_>, id: NodeId) -> Option<Self> {
        let ForestNodeKind::Group { root, path, .. } = &forest.nodes[id].kind else {
            return None;
        };
        let root = root.and_then(|root| snapshot.roots.get(root));
        let held = |id: NodeId| forest.nodes[id].n_skills;
        Some(Self {
            key: forest.key(snapshot, id),
            name: forest.name(snapshot, id),
            about: closed_text(snapshot, forest, id, &held, true),
            folder: root.map_or_else(|| PathBuf::from(path), |root| root.path.join(path)),
        })
    }
}

/// An entry of a catalog that may have others below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DisclosureNode {
    /// A skill, by its index in the snapshot.
    Skill(usize),
    /// A group of the catalog's forest.
    Group(SkillGroup),
}

impl DisclosureNode {
    /// Returns the key by which a session remembers it: a skill's address, or a group's key.
    pub fn key(&self, snapshot: &Snapshot) -> String {
        match self {
            Self::Skill(at) => snapshot
                .skills
                .get(*at)
                .map_or_else(String::new, |skill| snapshot.address(skill)),
            Self::Group(group) => group.key.clone(),
        }
    }

    /// Returns the name of a skill, or that of a group with a slash at its end.
    pub fn name(&self, snapshot: &Snapshot) -> String {
        match self {
            Self::Skill(at) => {
                let skill = snapshot.skills.get(*at);
                skill.map_or_else(String::new, |skill| skill.name().to_owned())
            }
            Self::Group(group) => group.name.clone(),
        }
    }

    /// Returns the description of a skill, or the contents of a group.
    pub fn description(&self, snapshot: &Snapshot) -> Option<String> {
        match self {
            Self::Skill(at) => snapshot.skills.get(*at)?.description().map(str::to_owned),
            Self::Group(group) => Some(group.about.clone()),
        }
    }

    /// Returns a skill's file, or a group's folder.
    pub fn location(&self, snapshot: &Snapshot) -> PathBuf {
        match self {
            Self::Skill(at) => snapshot
                .skills
                .get(*at)
                .map_or_else(PathBuf::new, |skill| snapshot.location(&skill.place)),
            Self::Group(group) => group.folder.clone(),
        }
    }

    /// Returns the nodes that take its place when it is expanded: those that a model may see, one level down.
    ///
    /// If a child is not for models, its own children stand in its place.
    pub fn children(&self, snapshot: &Snapshot) -> Vec<Self> {
        let group = match self {
            Self::Skill(at) => return below_branch(snapshot, *at),
            Self::Group(group) => group,
        };
        let forest = Forest::of(snapshot, &ForestOptions::default());
        let mut groups = forest.groups();
        let id = groups.find(|id| forest.key(snapshot, *id) == group.key);
        let below = id.map_or(&[][..], |id| &forest.nodes[id].children);
        let node = |id: &NodeId| match forest.skill(*id) {
            Some(skill) => Some(Self::Skill(skill)),
            None => SkillGroup::of(snapshot, &forest, *id).map(Self::Group),
        };
        below.iter().filter_map(node).collect()
    }
}

fn below_branch(snapshot: &Snapshot, branch: usize) -> Vec<DisclosureNode> {
    let mut shown = Vec::new();
    let reversed = |at: usize| snapshot.tree.children(at).iter().rev().copied();
    let mut waiting: Vec<usize> = reversed(branch).collect();
    while let Some(at) = waiting.pop() {
        let skill = snapshot.skills.get(at);
        if skill.is_some_and(Skill::model_invocable) {
            shown.push(DisclosureNode::Skill(at));
        } else {
            waiting.extend(reversed(at));
        }
    }
    shown
}
