//! The nodes of a catalog: skills, and the groups that are folders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::identity::Layout;
use crate::snapshot::{Skill, Snapshot};
use crate::tree::FEWEST_TO_COLLAPSE;

/// A folder without `SKILL.md` that holds skills.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// The root it is in, by index.
    pub root: usize,
    /// Its path below the root, without a slash at its end.
    pub path: String,
}

impl Group {
    /// `path/@label`, which names exactly one group.
    pub fn key(&self, snapshot: &Snapshot) -> String {
        let root = snapshot.roots.get(self.root);
        let label = root.map_or("", |root| root.label.as_str());
        format!("{}/@{label}", self.path)
    }

    /// The folder itself.
    pub fn folder(&self, snapshot: &Snapshot) -> PathBuf {
        let root = snapshot.roots.get(self.root);
        root.map_or_else(
            || PathBuf::from(&self.path),
            |root| root.path.join(&self.path),
        )
    }

    /// All groups of a snapshot.
    pub fn all(snapshot: &Snapshot) -> BTreeSet<Self> {
        let folders = skill_folders(snapshot);
        let mut all = BTreeSet::new();
        for at in 0..snapshot.skills.len() {
            let mut next = group_of(snapshot, &folders, at);
            while let Some(group) = next {
                next = group.path.rsplit_once('/').map(|(above, _)| Self {
                    root: group.root,
                    path: above.to_owned(),
                });
                if !all.insert(group) {
                    break;
                }
            }
        }
        all
    }

    /// How many skills lie in it at any depth that a model may be told of, and the names of some.
    pub(super) fn summary(&self, snapshot: &Snapshot) -> String {
        let below = format!("{}/", self.path);
        let inside = snapshot.skills.iter().filter(|skill| {
            skill.place.root == self.root
                && skill.id().starts_with(&below)
                && skill.model_invocable()
        });
        let names: Vec<String> = inside.map(|skill| skill.name().to_owned()).collect();
        format!(
            "Group of {}: {}",
            grove_spec::text::counted(names.len(), "skill"),
            grove_spec::text::first_names(&names)
        )
    }
}

/// What stands in a catalog and may have something below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A skill, by its index in the snapshot.
    Skill(usize),
    /// A group.
    Group(Group),
}

impl Node {
    /// The key by which a session remembers it: a skill's address, or a group's key.
    pub fn key(&self, snapshot: &Snapshot) -> String {
        match self {
            Self::Skill(at) => snapshot
                .skills
                .get(*at)
                .map_or_else(String::new, |skill| snapshot.address(skill)),
            Self::Group(group) => group.key(snapshot),
        }
    }

    /// What it is called: a skill's name, or a group's path with a slash at its end.
    pub fn name(&self, snapshot: &Snapshot) -> String {
        match self {
            Self::Skill(at) => {
                let skill = snapshot.skills.get(*at);
                skill.map_or_else(String::new, |skill| skill.name().to_owned())
            }
            Self::Group(group) => format!("{}/", group.path),
        }
    }

    /// What it is about: a skill's description, or what a group holds.
    pub fn description(&self, snapshot: &Snapshot) -> Option<String> {
        match self {
            Self::Skill(at) => snapshot.skills.get(*at)?.description().map(str::to_owned),
            Self::Group(group) => Some(group.summary(snapshot)),
        }
    }

    /// A skill's file, or a group's folder.
    pub fn location(&self, snapshot: &Snapshot) -> PathBuf {
        match self {
            Self::Skill(at) => snapshot
                .skills
                .get(*at)
                .map_or_else(PathBuf::new, |skill| snapshot.location(&skill.place)),
            Self::Group(group) => group.folder(snapshot),
        }
    }

    /// What takes its place when it is expanded: what a model may be told of, one level down.
    ///
    /// A child that a model is not told of is passed over and its own children stand in its place; so do those of
    /// a group that is too small to be an entry.
    pub fn children(&self, snapshot: &Snapshot) -> Vec<Self> {
        match self {
            Self::Skill(at) => below_branch(snapshot, *at),
            Self::Group(group) => below_group(snapshot, group),
        }
    }

    /// Whether a node with so many children is never in their place: a catalog has no entry for a group that small.
    pub const fn is_always_open(&self, n_children: usize) -> bool {
        matches!(self, Self::Group(_)) && n_children < FEWEST_TO_COLLAPSE
    }
}

fn is_shown(snapshot: &Snapshot, at: usize) -> bool {
    snapshot.skills.get(at).is_some_and(Skill::model_invocable)
}

fn below_branch(snapshot: &Snapshot, branch: usize) -> Vec<Node> {
    let mut shown = Vec::new();
    let reversed = |at: usize| snapshot.tree.children(at).iter().rev().copied();
    let mut waiting: Vec<usize> = reversed(branch).collect();
    while let Some(at) = waiting.pop() {
        if is_shown(snapshot, at) {
            shown.push(Node::Skill(at));
        } else {
            waiting.extend(reversed(at));
        }
    }
    shown
}

/// What lies in a group, with what lies in groups that are too small to be an entry in their place.
fn below_group(snapshot: &Snapshot, group: &Group) -> Vec<Node> {
    let root = group.root;
    let mut levels = levels(snapshot, group);
    // A path comes after those it begins with, so that inner groups come first from the end.
    let mut open: BTreeMap<String, Level> = BTreeMap::new();
    while let Some((path, mut level)) = levels.pop_last() {
        for inner in std::mem::take(&mut level.groups) {
            match open.remove(&inner) {
                Some(small) if small.len() < FEWEST_TO_COLLAPSE => {
                    level.groups.extend(small.groups);
                    level.skills.extend(small.skills);
                }
                _ => {
                    level.groups.insert(inner);
                }
            }
        }
        open.insert(path, level);
    }
    let level = open.remove(&group.path).unwrap_or_default();
    let groups = level.groups.into_iter();
    let groups = groups.map(|path| Node::Group(Group { root, path }));
    groups
        .chain(level.skills.into_iter().map(Node::Skill))
        .collect()
}

/// What lies directly in a folder.
#[derive(Debug, Default)]
struct Level {
    /// Groups, by path.
    groups: BTreeSet<String>,
    /// Skills, by index.
    skills: BTreeSet<usize>,
}

impl Level {
    fn len(&self) -> usize {
        self.groups.len() + self.skills.len()
    }
}

/// A group and the groups below it, by path, with what a model may be told of.
fn levels(snapshot: &Snapshot, group: &Group) -> BTreeMap<String, Level> {
    let folders = skill_folders(snapshot);
    let below = format!("{}/", group.path);
    let mut levels: BTreeMap<String, Level> = BTreeMap::new();
    for at in 0..snapshot.skills.len() {
        let under_branch = snapshot
            .tree
            .ancestors(at)
            .any(|above| is_shown(snapshot, above));
        if under_branch || !is_shown(snapshot, at) {
            continue;
        }
        let Some(own) = group_of(snapshot, &folders, at).filter(|own| {
            own.root == group.root && (own.path == group.path || own.path.starts_with(&below))
        }) else {
            continue;
        };
        let mut path = own.path;
        levels.entry(path.clone()).or_default().skills.insert(at);
        while path != group.path
            && let Some((above, _)) = path.rsplit_once('/')
        {
            let above = above.to_owned();
            levels
                .entry(above.clone())
                .or_default()
                .groups
                .insert(std::mem::replace(&mut path, above));
        }
    }
    levels
}

/// The folders of skills, by root and id.
fn skill_folders(snapshot: &Snapshot) -> BTreeSet<(usize, &str)> {
    let folders = snapshot.skills.iter();
    folders
        .filter(|skill| skill.place.layout == Layout::Folder)
        .map(|skill| (skill.place.root, skill.id()))
        .collect()
}

/// The group a skill is in: that of its outermost ancestor. Folders inside another skill's folder are that
/// skill's, not groups.
fn group_of(snapshot: &Snapshot, folders: &BTreeSet<(usize, &str)>, at: usize) -> Option<Group> {
    let top = snapshot.tree.ancestors(at).last().unwrap_or(at);
    let skill = snapshot.skills.get(top)?;
    let root = skill.place.root;
    if skill.place.layout != Layout::Folder {
        return None;
    }
    let ends = skill.id().match_indices('/').map(|(end, _)| end);
    let outermost = ends
        .filter_map(|end| skill.id().get(..end))
        .find(|above| folders.contains(&(root, above)))
        .unwrap_or(skill.id());
    let (path, _) = outermost.rsplit_once('/')?;
    Some(Group {
        root,
        path: path.to_owned(),
    })
}
