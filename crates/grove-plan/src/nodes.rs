//! The nodes of a run as they are now. A state is copied for each reader and changes in one node at a time, so that copies
//! share the nodes and a node is copied only when it changes.
//!
//! A change of a node itself decides which nodes begin after it; a change within an attempt does not. `Nodes` knows which
//! of the two happened, so that most events of a run with a thousand children concern one of them alone.

use std::collections::{BTreeMap, btree_map};
use std::iter::Map;
use std::ops::{Index, RangeBounds};
use std::sync::Arc;

use crate::ids::{Attempt, NodeId};
use crate::state::{AttemptState, NodeState};

/// Nodes by their ids, in the order of the ids.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nodes {
    by_id: BTreeMap<NodeId, Arc<NodeState>>,
    /// Set if a node itself may have changed since the last `take_moved`.
    have_moved: bool,
}

type OfMap<'a> = (&'a NodeId, &'a Arc<NodeState>);
type Shown<'a> = fn(OfMap<'a>) -> (&'a NodeId, &'a NodeState);

impl Nodes {
    /// Returns the state of a node.
    pub fn get(&self, id: &NodeId) -> Option<&NodeState> {
        self.by_id.get(id).map(|node| &**node)
    }

    /// Returns the state of a node with its id as it is kept here.
    pub fn get_key_value(&self, id: &NodeId) -> Option<(&NodeId, &NodeState)> {
        self.by_id.get_key_value(id).map(|(id, node)| (id, &**node))
    }

    /// Returns a node for a change to the node itself: a copy, if other states share it.
    pub fn get_mut(&mut self, id: &NodeId) -> Option<&mut NodeState> {
        self.have_moved = true;
        self.by_id.get_mut(id).map(Arc::make_mut)
    }

    /// Returns an attempt for a change within it.
    pub(crate) fn attempt_mut(&mut self, of: &Attempt) -> Option<&mut AttemptState> {
        let node = self.by_id.get_mut(&of.node)?;
        Arc::make_mut(node).attempts.get_mut(of.place()?)
    }

    /// Returns true if a node itself may have changed since the last call.
    pub(crate) fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.have_moved)
    }

    /// Returns true if a node has begun or was decided about.
    pub fn contains_key(&self, id: &NodeId) -> bool {
        self.by_id.contains_key(id)
    }

    /// Puts a node in.
    pub fn insert(&mut self, id: NodeId, node: NodeState) {
        self.have_moved = true;
        self.by_id.insert(id, Arc::new(node));
    }

    /// Iterates over all nodes with their ids.
    pub fn iter(&self) -> Map<btree_map::Iter<'_, NodeId, Arc<NodeState>>, Shown<'_>> {
        self.by_id.iter().map(|(id, node)| (id, node))
    }

    /// Iterates over the ids of all nodes.
    pub fn keys(&self) -> impl Iterator<Item = &NodeId> {
        self.by_id.keys()
    }

    /// Iterates over the states of all nodes.
    pub fn values(&self) -> impl Iterator<Item = &NodeState> {
        self.by_id.values().map(|node| &**node)
    }

    /// Iterates over the nodes between two ids.
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
