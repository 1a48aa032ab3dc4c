//! The trees of the skills of a snapshot: which skill is a branch, and which are its children.
//!
//! Skills are identified by their index in the snapshot. Groups are not in here: a group is a folder, and an id says
//! which folders it is in.

pub(crate) mod declared_tree;
mod places;
mod shared_words;

pub(crate) use shared_words::is_stop_word;

use std::collections::BTreeMap;

/// The most skills that may stand above one another, the first and the last included.
pub const MAX_LEVELS: usize = 6;

/// The parent of each skill that has one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillTree {
    parents: BTreeMap<usize, usize>,
    children: BTreeMap<usize, Vec<usize>>,
}

impl SkillTree {
    /// Makes a tree from pairs of child and parent; the first parent of a child counts, and a pair that would close a
    /// cycle does not.
    pub fn of(pairs: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut tree = Self::default();
        for (child, parent) in pairs {
            let closes_cycle = child == parent || tree.ancestors(parent).any(|a| a == child);
            if !closes_cycle && !tree.parents.contains_key(&child) {
                tree.parents.insert(child, parent);
                tree.children.entry(parent).or_default().push(child);
            }
        }
        tree
    }

    /// Returns true if no skill has children.
    pub fn is_flat(&self) -> bool {
        self.parents.is_empty()
    }

    /// Returns the branch that a skill is a child of.
    pub fn parent(&self, skill: usize) -> Option<usize> {
        self.parents.get(&skill).copied()
    }

    /// Returns the children of a branch in their declared order; none for a leaf.
    pub fn children(&self, skill: usize) -> &[usize] {
        self.children.get(&skill).map_or(&[], Vec::as_slice)
    }

    /// Returns the branches above a skill, nearest first.
    pub fn ancestors(&self, skill: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.parent(skill), |at| self.parent(*at))
    }

    /// Returns all children with their parents: the parents by index, the children of each in their declared order.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let of = |(parent, children): (&usize, &Vec<usize>)| {
            let parent = *parent;
            children
                .clone()
                .into_iter()
                .map(move |child| (child, parent))
        };
        self.children.iter().flat_map(of)
    }

    /// Returns the branches, in the order of the snapshot.
    pub fn branches(&self) -> impl Iterator<Item = usize> + '_ {
        self.children.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_read_in_both_directions() {
        let tree = SkillTree::of([(1, 0), (3, 0), (2, 1)]);
        assert_eq!(tree.children(0), [1, 3]);
        assert_eq!(tree.parent(2), Some(1));
        assert_eq!(tree.ancestors(2).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(tree.branches().collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_second_parent_and_a_cycle_do_not_count() {
        let tree = SkillTree::of([(1, 0), (1, 2), (0, 1), (2, 2)]);
        assert_eq!(tree.parent(1), Some(0));
        assert_eq!(tree.parent(0), None);
        assert_eq!(tree.parent(2), None);
    }
}
