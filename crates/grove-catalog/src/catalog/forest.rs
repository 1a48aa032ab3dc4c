//! What there is to show, as a forest: skills, the branches they are children of, the groups they lie in.
//!
//! A skill hangs on its nearest ancestor that may be shown, so that a parent which is switched off never
//! hides its children.

use std::collections::BTreeMap;

use crate::identity::Layout;
use crate::snapshot::{Skill, Snapshot};
use crate::tree::FEWEST_TO_COLLAPSE;

use super::Request;
use super::budget::Pool;

/// Index of a node in its forest.
pub(crate) type NodeId = usize;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// A skill without children.
    Leaf(usize),
    /// A skill with children.
    Branch(usize),
    /// A folder without a skill of its own, by its path below the root.
    Group(&'a str),
}

/// One thing that can be an entry.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) root: usize,
    pub(crate) parent: Option<NodeId>,
    pub(crate) children: Vec<NodeId>,
    pub(crate) pool: Pool,
    /// Whether it, or something below it, must stay in sight.
    pub(crate) pinned: bool,
    /// How much it, or what is below it, was used of late.
    pub(crate) usage: u32,
    /// How many skills it stands for, itself included.
    pub(crate) n_skills: usize,
}

/// All nodes; parents by index, in no particular order.
#[derive(Debug, Default)]
pub(crate) struct Forest<'a> {
    pub(crate) nodes: Vec<Node<'a>>,
    /// Every node after its children.
    pub(crate) bottom_up: Vec<NodeId>,
}

impl<'a> Forest<'a> {
    pub(crate) fn of(snapshot: &'a Snapshot, request: &Request<'_>) -> Self {
        let mut builder = ForestBuilder {
            forest: Self::default(),
            groups: BTreeMap::new(),
            node_of: vec![None; snapshot.skills.len()],
            snapshot,
            request,
        };
        builder.add_skills();
        builder.hang_children();
        let mut forest = builder.forest;
        forest.dissolve_small_groups();
        forest.count();
        forest
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&Node<'a>> {
        self.nodes.get(id)
    }

    /// The nodes above one, nearest first.
    pub(crate) fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let above = |id: NodeId| self.nodes.get(id).and_then(|node| node.parent);
        std::iter::successors(above(id), move |id| above(*id))
    }

    /// A group with fewer children than are worth a step is no entry: they lie in the group around it.
    fn dissolve_small_groups(&mut self) {
        // A group is made before what lies in it, so that inner groups come first from the end.
        for id in (0..self.nodes.len()).rev() {
            let Some(node) = self.nodes.get_mut(id) else {
                continue;
            };
            let small = node.children.len() < FEWEST_TO_COLLAPSE;
            if !small || !matches!(node.kind, Kind::Group(_)) {
                continue;
            }
            let (above, children) = (node.parent, std::mem::take(&mut node.children));
            for child in &children {
                if let Some(child) = self.nodes.get_mut(*child) {
                    child.parent = above;
                }
            }
            let around = above.and_then(|above| self.nodes.get_mut(above));
            if let Some(around) = around
                && let Some(at) = around.children.iter().position(|child| *child == id)
            {
                around.children.splice(at..=at, children);
            }
        }
    }

    /// What every node takes from those below it.
    fn count(&mut self) {
        let depths: Vec<usize> = (0..self.nodes.len())
            .map(|id| self.ancestors(id).count())
            .collect();
        let mut order: Vec<NodeId> = (0..self.nodes.len()).collect();
        order.sort_by_key(|id| std::cmp::Reverse(depths.get(*id).copied()));
        for id in &order {
            let Some(node) = self.nodes.get(*id) else {
                continue;
            };
            let (above, n_skills, pinned, usage) =
                (node.parent, node.n_skills, node.pinned, node.usage);
            if let Some(above) = above.and_then(|above| self.nodes.get_mut(above)) {
                above.n_skills += n_skills;
                above.pinned |= pinned;
                above.usage = above.usage.max(usage);
            }
        }
        // A group that was dissolved stands for nothing.
        order.retain(|id| self.nodes.get(*id).is_some_and(|node| node.n_skills > 0));
        self.bottom_up = order;
    }
}

struct ForestBuilder<'a, 'r> {
    forest: Forest<'a>,
    /// The group of each folder, by root and path.
    groups: BTreeMap<(usize, &'a str), NodeId>,
    node_of: Vec<Option<NodeId>>,
    snapshot: &'a Snapshot,
    request: &'r Request<'r>,
}

impl<'a> ForestBuilder<'a, '_> {
    /// Adds every skill that may be shown. Skills are sorted by root and id, so those of a group follow
    /// one another.
    fn add_skills(&mut self) {
        let usage_matters = !self.request.usage.is_empty();
        let addresses_matter =
            usage_matters || !self.request.exclude.is_empty() || !self.request.pinned.is_empty();
        for (index, skill) in self.snapshot.skills.iter().enumerate() {
            if !skill.model_invocable() {
                continue;
            }
            let address = if addresses_matter {
                self.snapshot.address(skill)
            } else {
                String::new()
            };
            if self.request.exclude.contains(&address) {
                continue;
            }
            let named =
                |name: &String| name == skill.name() || name == skill.id() || *name == address;
            let pinned = self.request.pinned.iter().any(named);
            let usage = if usage_matters {
                self.request.usage.get(&address).copied().unwrap_or(0)
            } else {
                0
            };
            let shown_above = self.snapshot.tree.ancestors(index).any(|above| {
                self.snapshot
                    .skills
                    .get(above)
                    .is_some_and(Skill::model_invocable)
            });
            // A pinned child is in sight although its branch is not open.
            let parent = if shown_above && !pinned {
                None
            } else {
                self.group_for(index, skill)
            };
            let pool = Pool::of(self.snapshot.source_of(skill));
            let id = self.forest.nodes.len();
            self.forest.nodes.push(Node {
                kind: Kind::Leaf(index),
                root: skill.place.root,
                parent,
                children: Vec::new(),
                pool,
                pinned,
                usage,
                n_skills: 1,
            });
            if let Some(slot) = self.node_of.get_mut(index) {
                *slot = Some(id);
            }
            if let Some(group) = parent.and_then(|group| self.forest.nodes.get_mut(group)) {
                group.children.push(id);
            }
        }
    }

    /// The innermost group a skill lies in. No folder below a skill is a group, so what lies in the folder
    /// of an ancestor is where the outermost of those is.
    fn group_for(&mut self, index: usize, skill: &'a Skill) -> Option<NodeId> {
        let around = |above: &usize| {
            let above = self.snapshot.skills.get(*above);
            above.is_some_and(|above| is_below(skill.id(), above.id()))
        };
        let outermost = self.snapshot.tree.ancestors(index).filter(around).last();
        let top = outermost.and_then(|top| self.snapshot.skills.get(top));
        let top = top.unwrap_or(skill);
        let path = match top.place.layout {
            Layout::Root => "",
            Layout::Flat | Layout::Folder => {
                let parts = top.place.id.rsplit_once('/');
                parts.map_or("", |(folder, _)| folder)
            }
        };
        self.group_at(top.place.root, path)
    }

    /// The group of a folder, made with those around it when it is met first.
    fn group_at(&mut self, root: usize, path: &'a str) -> Option<NodeId> {
        if path.is_empty() {
            return None;
        }
        if let Some(known) = self.groups.get(&(root, path)) {
            return Some(*known);
        }
        let ends = path.bytes().enumerate().filter(|(_, b)| *b == b'/');
        let ends: Vec<usize> = ends.map(|(at, _)| at).chain([path.len()]).collect();
        let source = self.snapshot.roots.get(root).map(|root| root.source);
        let pool = source.map_or(Pool::Others, Pool::of);
        let mut around = None;
        for end in ends {
            let folder = path.get(..end)?;
            if let Some(known) = self.groups.get(&(root, folder)) {
                around = Some(*known);
                continue;
            }
            let id = self.forest.nodes.len();
            self.forest.nodes.push(Node {
                kind: Kind::Group(folder),
                root,
                parent: around,
                children: Vec::new(),
                pool,
                pinned: false,
                usage: 0,
                n_skills: 0,
            });
            if let Some(above) = around.and_then(|above| self.forest.nodes.get_mut(above)) {
                above.children.push(id);
            }
            self.groups.insert((root, folder), id);
            around = Some(id);
        }
        around
    }

    /// Hangs every skill that is in no group on its nearest ancestor that may be shown.
    fn hang_children(&mut self) {
        if self.snapshot.tree.is_flat() {
            return;
        }
        for branch in self.snapshot.tree.branches() {
            self.hang_below(branch);
        }
    }

    /// The children of a branch that is shown, and of those below it that are not.
    fn hang_below(&mut self, branch: usize) {
        let Some(above) = self.node_of.get(branch).copied().flatten() else {
            return;
        };
        // A stack instead of recursion: how deep a tree is, files say.
        let mut waiting: Vec<usize> = self
            .snapshot
            .tree
            .children(branch)
            .iter()
            .rev()
            .copied()
            .collect();
        while let Some(child) = waiting.pop() {
            match self.node_of.get(child).copied().flatten() {
                None => waiting.extend(self.snapshot.tree.children(child).iter().rev()),
                Some(id) => {
                    let Some(node) = self
                        .forest
                        .nodes
                        .get_mut(id)
                        .filter(|node| node.parent.is_none() && !node.pinned)
                    else {
                        continue;
                    };
                    node.parent = Some(above);
                    if let Some(branch_node) = self.forest.nodes.get_mut(above) {
                        branch_node.kind = Kind::Branch(branch);
                        branch_node.children.push(id);
                    }
                }
            }
        }
    }
}

fn is_below(path: &str, group: &str) -> bool {
    path.strip_prefix(group)
        .is_some_and(|rest| rest.starts_with('/'))
}
