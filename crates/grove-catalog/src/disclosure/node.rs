//! The nodes of a catalog: skills, and the groups that are folders.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::identity::Layout;
use crate::snapshot::{Skill, Snapshot};

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
    /// A child that a model is not told of is passed over and its own children stand in its place.
    pub fn children(&self, snapshot: &Snapshot) -> Vec<Self> {
        match self {
            Self::Skill(at) => below_branch(snapshot, *at),
            Self::Group(group) => below_group(snapshot, group),
        }
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

fn below_group(snapshot: &Snapshot, group: &Group) -> Vec<Node> {
    let folders = skill_folders(snapshot);
    let below = format!("{}/", group.path);
    let (mut groups, mut skills) = (BTreeSet::new(), Vec::new());
    for at in 0..snapshot.skills.len() {
        let under_branch = snapshot
            .tree
            .ancestors(at)
            .any(|above| is_shown(snapshot, above));
        if under_branch || !is_shown(snapshot, at) {
            continue;
        }
        let Some(own) = group_of(snapshot, &folders, at).filter(|own| own.root == group.root)
        else {
            continue;
        };
        if own.path == group.path {
            skills.push(Node::Skill(at));
        } else if let Some(deeper) = own.path.strip_prefix(&below) {
            let first = deeper.split('/').next().unwrap_or(deeper);
            groups.insert(format!("{below}{first}"));
        }
    }
    let root = group.root;
    let groups = groups
        .into_iter()
        .map(|path| Node::Group(Group { root, path }));
    groups.chain(skills).collect()
}

/// The folders of skills, by root and id.
fn skill_folders(snapshot: &Snapshot) -> BTreeSet<(usize, &str)> {
    let folders = snapshot.skills.iter();
    folders
        .filter(|skill| skill.place.layout == Layout::Folder)
        .map(|skill| (skill.place.root, skill.id()))
        .collect()
}

/// The group a skill is in. Folders inside another skill's folder are that skill's, not groups.
fn group_of(snapshot: &Snapshot, folders: &BTreeSet<(usize, &str)>, at: usize) -> Option<Group> {
    let skill = snapshot.skills.get(at)?;
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
