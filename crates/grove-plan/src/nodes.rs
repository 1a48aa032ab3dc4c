//! The nodes of a run as they are now. A state is copied for everybody who looks at it and changes in one node at a time, so
//! that copies share the nodes and a node is copied only when it changes.
//!
//! What a node is decides what begins after it, and what happens within a try does not: nodes know which of the two changed,
//! so that most events of a run with a thousand children concern one of them alone.

use std::collections::{BTreeMap, btree_map};
use std::iter::Map;
use std::ops::{Index, RangeBounds};
use std::sync::Arc;

use crate::ids::{Attempt, NodeId};
use crate::state::{AttemptState, NodeState};

/// Nodes by their ids, in the order of these.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nodes {
    by_id: BTreeMap<NodeId, Arc<NodeState>>,
    /// Whether a node itself may have changed since somebody asked.
    have_moved: bool,
}

type OfMap<'a> = (&'a NodeId, &'a Arc<NodeState>);
type Shown<'a> = fn(OfMap<'a>) -> (&'a NodeId, &'a NodeState);

impl Nodes {
    /// What is known of a node.
    pub fn get(&self, id: &NodeId) -> Option<&NodeState> {
        self.by_id.get(id).map(|node| &**node)
    }

    /// The same with the id as it is kept.
    pub fn get_key_value(&self, id: &NodeId) -> Option<(&NodeId, &NodeState)> {
        self.by_id.get_key_value(id).map(|(id, node)| (id, &**node))
    }

    /// A node that is to change: a copy of it, where others look at it.
    pub fn get_mut(&mut self, id: &NodeId) -> Option<&mut NodeState> {
        self.have_moved = true;
        self.by_id.get_mut(id).map(Arc::make_mut)
    }

    /// A try within which something is to change.
    pub(crate) fn attempt_mut(&mut self, of: &Attempt) -> Option<&mut AttemptState> {
        let node = self.by_id.get_mut(&of.node)?;
        Arc::make_mut(node).attempts.get_mut(of.place()?)
    }

    /// Whether a node itself may have changed since this was last asked.
    pub(crate) fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.have_moved)
    }

    /// Whether a node has begun or was decided about.
    pub fn contains_key(&self, id: &NodeId) -> bool {
        self.by_id.contains_key(id)
    }

    /// Puts a node in.
    pub fn insert(&mut self, id: NodeId, node: NodeState) {
        self.have_moved = true;
        self.by_id.insert(id, Arc::new(node));
    }

    /// All of them.
    pub fn iter(&self) -> Map<btree_map::Iter<'_, NodeId, Arc<NodeState>>, Shown<'_>> {
        self.by_id.iter().map(|(id, node)| (id, node))
    }

    /// Their ids.
    pub fn keys(&self) -> impl Iterator<Item = &NodeId> {
        self.by_id.keys()
    }

    /// What is known of them.
    pub fn values(&self) -> impl Iterator<Item = &NodeState> {
        self.by_id.values().map(|node| &**node)
    }

    /// Those between two ids.
    pub fn range(
        &self,
        range: impl RangeBounds<NodeId>,
    ) -> impl Iterator<Item = (&NodeId, &NodeState)> {
        self.by_id.range(range).map(|(id, node)| (id, &**node))
    }
}

impl<'a> IntoIterator for &'a Nodes {
    type Item = (&'a NodeId, &'a NodeState);
    type IntoIter = Map<btree_map::Iter<'a, NodeId, Arc<NodeState>>, Shown<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Index<&NodeId> for Nodes {
    type Output = NodeState;

    fn index(&self, id: &NodeId) -> &NodeState {
        &self.by_id[id]
    }
}
