//! Everything that can be shown, as one tree made without a budget: skills, branches of skills, and groups.
//!
//! A folder of five skills or more is a group and a smaller one belongs to the folder around it; an only child takes the
//! place of its group; where there are twelve skills or fewer there are no groups inside. Every node with more than
//! twelve children is divided (see `division`). A skill is put below its nearest ancestor that may be shown, so that a
//! parent which is switched off never hides its children.

mod division;
mod name_words;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::identity::SkillLayout;
use crate::snapshot::{Skill, Snapshot};

use super::group_key;
use super::style::shown_name;
use name_words::NameWords;

pub(crate) type NodeId = usize;

pub(crate) const EVERYTHING: NodeId = 0;

/// The fewest skills that a folder needs to be a group, and the fewest names that must share a word to make one.
const FEWEST: usize = 5;

const MOST: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ForestNodeKind<'a> {
    /// A skill, by its index in the snapshot; with children it is a branch.
    Skill(usize),
    Group {
        /// The root they are in; none if they are from several.
        root: Option<usize>,
        /// The folder below the root that they are in.
        path: &'a str,
        /// The part of the folder, with a slash at its end; empty for all of it.
        part: String,
    },
}

#[derive(Debug)]
pub(crate) struct ForestNode<'a> {
    pub(crate) kind: ForestNodeKind<'a>,
    pub(crate) parent: Option<NodeId>,
    /// In the order of their first skills.
    pub(crate) children: Vec<NodeId>,
    /// The number of skills it stands for, itself included.
    pub(crate) n_skills: usize,
    /// Its position on the page: after everything in it.
    pub(crate) place: usize,
    first: NodeId,
    /// The number of skills in it, each branch counted as one.
    n_items: usize,
}

/// All nodes. Skills come right after [`EVERYTHING`], in the order of skills: source after source, name, id.
#[derive(Debug)]
pub(crate) struct Forest<'a> {
    pub(crate) nodes: Vec<ForestNode<'a>>,
    /// The nodes that are reached from [`EVERYTHING`], each after its children.
    pub(crate) bottom_up: Vec<NodeId>,
    node_of: Vec<Option<NodeId>>,
    names: Vec<&'a str>,
    /// By root: the folder that all its skills are in, which is left out of the names of groups.
    common_folders: Vec<Option<&'a str>>,
    /// The words of the names, once something has to be divided.
    words: Option<NameWords<'a>>,
    /// The number of groups with one name, by the hash of root, folder and part.
    taken: BTreeMap<u64, usize>,
}

/// The wishes of a request that change the forest of a snapshot.
#[derive(Debug, Default)]
pub(crate) struct ForestOptions<'r> {
    /// Addresses of skills that the reader already has.
    pub(crate) exclude: &'r [String],
    /// Names, ids or addresses of skills that stand outside of their branch.
    pub(crate) pinned: &'r [String],
    /// Keys of branches whose children take their place.
    pub(crate) opened: &'r [String],
}

impl<'a> Forest<'a> {
    pub(crate) fn of(snapshot: &'a Snapshot, wishes: &ForestOptions<'_>) -> Self {
        let mut forest = Self {
            // One group in eight nodes is more than most libraries have.
            nodes: Vec::with_capacity(snapshot.skills.len() * 8 / 7 + 1),
            bottom_up: Vec::new(),
            node_of: vec![None; snapshot.skills.len()],
            names: Vec::with_capacity(snapshot.skills.len() + 1),
            common_folders: vec![None; snapshot.roots.len()],
            words: None,
            taken: BTreeMap::new(),
        };
        forest.nodes.push(group(None, "", String::new()));
        forest.names.push("");
        forest.add_skills(snapshot, wishes);
        let n_skills = forest.nodes.len();
        forest.place_skills(snapshot, wishes);
        for id in (n_skills..forest.nodes.len()).rev() {
            forest.decide_groups(id);
        }
        forest.decide_groups(EVERYTHING);
        for id in 1..n_skills {
            let children = std::mem::take(&mut forest.nodes[id].children);
            forest.nodes[id].children = forest.divide((None, ""), "", children);
        }
        forest.finish();
        forest
    }

    /// Returns the node of a skill that may be shown, unless its children take its place.
    pub(crate) fn node_of(&self, skill: usize) -> Option<NodeId> {
        self.node_of.get(skill).copied().flatten()
    }

    pub(crate) fn skill(&self, id: NodeId) -> Option<usize> {
        match self.nodes[id].kind {
            ForestNodeKind::Skill(skill) => Some(skill),
            ForestNodeKind::Group { .. } => None,
        }
    }

    /// The nodes above one, nearest first.
    pub(crate) fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.nodes[id].parent, |id| self.nodes[*id].parent)
    }

    /// The groups that can be asked for by name.
    pub(crate) fn groups(&self) -> impl Iterator<Item = NodeId> + '_ {
        let is_group = |id: &NodeId| *id != EVERYTHING && self.skill(*id).is_none();
        self.bottom_up.iter().copied().filter(is_group)
    }

    /// The key of a node: `id@label` of a skill, `path/@label` of a group, nothing for everything.
    pub(crate) fn key(&self, snapshot: &Snapshot, id: NodeId) -> String {
        match &self.nodes[id].kind {
            _ if id == EVERYTHING => String::new(),
            ForestNodeKind::Skill(skill) => snapshot.address(&snapshot.skills[*skill]),
            ForestNodeKind::Group { root, path, part } => {
                let root = root.and_then(|root| snapshot.roots.get(root));
                group_key(&path_of(path, part), root.map_or("", |root| &root.label))
            }
        }
    }

    /// Returns the name of a node. A group's name ends in a slash, which no skill's does.
    pub(crate) fn name(&self, snapshot: &Snapshot, id: NodeId) -> String {
        match &self.nodes[id].kind {
            ForestNodeKind::Skill(_) => shown_name(self.names[id]).into_owned(),
            ForestNodeKind::Group { root, path, part } => {
                let path = self.below_common_folder(*root, path);
                if path.is_empty() && part.is_empty() {
                    let root = root.and_then(|root| snapshot.roots.get(root));
                    return [root.map_or("skills", |root| &*root.label), "/"].concat();
                }
                [&*shown_name(&path_of(path, part)), "/"].concat()
            }
        }
    }

    fn below_common_folder<'p>(&self, root: Option<usize>, path: &'p str) -> &'p str {
        let common = root.and_then(|root| *self.common_folders.get(root)?);
        let below = common.and_then(|common| path.strip_prefix(common));
        below.map_or(path, |below| below.trim_start_matches('/'))
    }

    /// Returns the name of a node for the entry of the group around it, where the path is known already.
    pub(crate) fn label(&self, snapshot: &Snapshot, id: NodeId) -> Cow<'_, str> {
        match &self.nodes[id].kind {
            ForestNodeKind::Skill(_) => shown_name(self.names[id]),
            ForestNodeKind::Group { path, part, .. } if !path.is_empty() || !part.is_empty() => {
                let part = part.trim_end_matches('/');
                let whole = if part.is_empty() { path } else { part };
                shown_name(whole.rsplit('/').next().unwrap_or(whole))
            }
            ForestNodeKind::Group { .. } => self.name(snapshot, id).into(),
        }
    }

    /// Makes a node of every skill that may be shown, in the order of skills.
    fn add_skills(&mut self, snapshot: &'a Snapshot, wishes: &ForestOptions<'_>) {
        let is_excluded = |skill: &Skill| {
            !wishes.exclude.is_empty() && wishes.exclude.contains(&snapshot.address(skill))
        };
        let mut skills = Vec::with_capacity(snapshot.skills.len());
        for (at, skill) in snapshot.skills.iter().enumerate() {
            if !skill.model_invocable()
                || is_excluded(skill)
                || is_opened(snapshot, at, wishes.opened)
            {
                continue;
            }
            let standing = snapshot.root_of(skill).map(|root| &root.rank);
            let (step, distance) = standing.map_or((0, 0), |of| (of.step, of.distance));
            let source = (u64::from(step) << 32) | u64::from(distance);
            let name = skill.name();
            skills.push((source, beginning(name), name, at));
        }
        // Skills of a snapshot are by root and id: a stable sort keeps that order among equal names, and has little to do
        // where names are in the order of ids.
        skills.sort_by(|(source, begin, name, _), (source_b, begin_b, name_b, _)| {
            let by_number = (source, begin).cmp(&(source_b, begin_b));
            by_number.then_with(|| name.cmp(name_b))
        });
        for (id, (_, _, name, at)) in skills.into_iter().enumerate() {
            self.nodes.push(ForestNode {
                kind: ForestNodeKind::Skill(at),
                parent: None,
                children: Vec::new(),
                n_skills: 1,
                place: 0,
                first: id + 1,
                n_items: 1,
            });
            self.node_of[at] = Some(id + 1);
            self.names.push(name);
        }
    }

    /// Puts every skill below its branch or into its folder, making the folders.
    fn place_skills(&mut self, snapshot: &'a Snapshot, wishes: &ForestOptions<'_>) {
        let mut folders: BTreeMap<(usize, &'a str), NodeId> = BTreeMap::new();
        let mut last: Option<((usize, &'a str), NodeId)> = None;
        for (at, skill) in snapshot.skills.iter().enumerate() {
            let Some(id) = self.node_of[at] else {
                continue;
            };
            let mut above = snapshot.tree.ancestors(at);
            let nearest = above.find(|above| {
                self.node_of[*above].is_some() || is_opened(snapshot, *above, wishes.opened)
            });
            if let Some(branch) = nearest.and_then(|above| self.node_of[above])
                && !is_named(snapshot, skill, wishes.pinned)
            {
                self.nodes[branch].children.push(id);
                continue;
            }
            let folder = folder_of(snapshot, at, skill);
            let known = last.filter(|(known, _)| *known == folder);
            let group = if let Some((_, group)) = known {
                group
            } else {
                self.note_common(folder);
                self.folder(&mut folders, folder)
            };
            last = Some((folder, group));
            self.nodes[group].children.push(id);
        }
        for branch in snapshot.tree.branches() {
            self.order_as_declared(snapshot, branch);
        }
    }

    fn order_as_declared(&mut self, snapshot: &Snapshot, branch: usize) {
        let Some(id) = self.node_of[branch] else {
            return;
        };
        let mut declared = Vec::new();
        let mut waiting = vec![branch];
        while let Some(at) = waiting.pop() {
            declared.push(self.node_of[at]);
            waiting.extend(snapshot.tree.children(at).iter().rev());
        }
        let order = |child: &NodeId| declared.iter().position(|at| *at == Some(*child));
        self.nodes[id].children.sort_by_key(order);
    }

    /// Narrows the folder that all skills of a root are in.
    fn note_common(&mut self, (root, path): (usize, &'a str)) {
        if let Some(common) = self.common_folders.get_mut(root) {
            *common = Some(common.map_or(path, |known| common_folder(known, path)));
        }
    }

    /// The node of a folder, made with those around it when it is met first.
    fn folder(
        &mut self,
        folders: &mut BTreeMap<(usize, &'a str), NodeId>,
        (root, path): (usize, &'a str),
    ) -> NodeId {
        let slashes = path.match_indices('/').map(|(at, _)| at);
        let ends = [0].into_iter().chain(slashes).chain([path.len()]);
        let mut around = EVERYTHING;
        for end in ends {
            let folder = path.get(..end).unwrap_or(path);
            around = *folders.entry((root, folder)).or_insert_with(|| {
                let id = self.nodes.len();
                self.nodes.push(group(Some(root), folder, String::new()));
                self.nodes[around].children.push(id);
                id
            });
        }
        around
    }

    /// Decides which of the folders in a folder are groups, and divides what is left when it is too much.
    fn decide_groups(&mut self, id: NodeId) {
        let below = std::mem::take(&mut self.nodes[id].children);
        let n_items: usize = below.iter().map(|child| self.nodes[*child].n_items).sum();
        let mut children = Vec::with_capacity(below.len());
        for child in below {
            let is_skill = self.skill(child).is_some();
            if is_skill || (n_items > MOST && self.nodes[child].n_items >= FEWEST) {
                children.push(child);
            } else {
                children.append(&mut self.nodes[child].children);
            }
        }
        if let [only] = children[..]
            && self.skill(only).is_none()
        {
            children = std::mem::take(&mut self.nodes[only].children);
        }
        children.sort_unstable_by_key(|child| self.nodes[*child].first);
        let ForestNodeKind::Group { root, path, .. } = self.nodes[id].kind else {
            return;
        };
        let first = children.first().map(|first| self.nodes[*first].first);
        self.nodes[id].children = self.divide((root, path), "", children);
        self.nodes[id].first = first.unwrap_or(EVERYTHING);
        self.nodes[id].n_items = n_items;
    }

    /// Fills in the fields that depend on other nodes: parents, places and numbers of skills.
    fn finish(&mut self) {
        let mut waiting = vec![EVERYTHING];
        self.bottom_up.reserve(self.nodes.len());
        while let Some(id) = waiting.pop() {
            self.bottom_up.push(id);
            waiting.extend(&self.nodes[id].children);
            for at in 0..self.nodes[id].children.len() {
                let child = self.nodes[id].children[at];
                self.nodes[child].parent = Some(id);
            }
        }
        self.bottom_up.reverse();
        for place in 0..self.bottom_up.len() {
            let id = self.bottom_up[place];
            self.nodes[id].place = place;
            let (parent, n_skills) = (self.nodes[id].parent, self.nodes[id].n_skills);
            if let Some(parent) = parent {
                self.nodes[parent].n_skills += n_skills;
            }
        }
    }
}

fn common_folder<'a>(a: &'a str, b: &str) -> &'a str {
    let is_around = |folder: &&str| {
        let below = b.strip_prefix(*folder);
        below.is_some_and(|below| folder.is_empty() || below.is_empty() || below.starts_with('/'))
    };
    let mut around = std::iter::successors(Some(a), |folder| {
        let outer = folder.rsplit_once('/').map_or("", |(outer, _)| outer);
        (!folder.is_empty()).then_some(outer)
    });
    around.find(is_around).unwrap_or_default()
}

/// The first bytes of a name as a number that sorts as names do: comparing it decides for most names.
fn beginning(name: &str) -> u128 {
    let mut bytes = [0; 16];
    let shown = name.len().min(bytes.len());
    bytes[..shown].copy_from_slice(&name.as_bytes()[..shown]);
    u128::from_be_bytes(bytes)
}

/// Returns true if a skill is a branch whose children take its place.
pub(crate) fn is_opened(snapshot: &Snapshot, at: usize, opened: &[String]) -> bool {
    let skill = &snapshot.skills[at];
    !opened.is_empty()
        && !snapshot.tree.children(at).is_empty()
        && skill.model_invocable()
        && opened.contains(&snapshot.address(skill))
}

/// Returns true if a list has a skill's name, id or address.
pub(crate) fn is_named(snapshot: &Snapshot, skill: &Skill, list: &[String]) -> bool {
    let bears = |name: &String| {
        name == skill.name()
            || name == skill.id()
            || (name.contains('@') && *name == snapshot.address(skill))
    };
    list.iter().any(bears)
}

fn group(root: Option<usize>, path: &str, part: String) -> ForestNode<'_> {
    ForestNode {
        kind: ForestNodeKind::Group { root, path, part },
        parent: None,
        children: Vec::new(),
        n_skills: 0,
        place: 0,
        first: EVERYTHING,
        n_items: 0,
    }
}

/// A folder and a part of it as one path, without the slash at its end.
fn path_of(path: &str, part: &str) -> String {
    let part = part.trim_end_matches('/');
    let between = if path.is_empty() || part.is_empty() {
        ""
    } else {
        "/"
    };
    [path, between, part].concat()
}

/// Returns the root and the folder of a skill. A folder below a skill is no group, so a skill inside other skills
/// counts as lying in the folder of the outermost one.
fn folder_of<'a>(snapshot: &'a Snapshot, at: usize, skill: &'a Skill) -> (usize, &'a str) {
    let around = |above: &&Skill| {
        let rest = skill.id().strip_prefix(above.id());
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    let above = snapshot.tree.ancestors(at);
    let above = above.filter_map(|above| snapshot.skills.get(above));
    let top = above.filter(around).last().unwrap_or(skill);
    let path = match top.place.layout {
        SkillLayout::Root => "",
        SkillLayout::Flat | SkillLayout::Folder => {
            let parts = top.place.id.rsplit_once('/');
            parts.map_or("", |(folder, _)| folder)
        }
    };
    (top.place.root, path)
}
