//! The nodes of a run as they are now. A state is copied for everybody who looks at it and changes in one node at a time, so
//! that copies share the nodes and a node is copied only when it changes.

use std::collections::{BTreeMap, btree_map};
use std::iter::Map;
use std::ops::{Index, RangeBounds};
use std::sync::Arc;

use crate::ids::NodeId;
use crate::state::NodeState;

/// Nodes by their ids, in the order of these.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nodes(BTreeMap<NodeId, Arc<NodeState>>);

type OfMap<'a> = (&'a NodeId, &'a Arc<NodeState>);
type Shown<'a> = fn(OfMap<'a>) -> (&'a NodeId, &'a NodeState);

impl Nodes {
    /// What is known of a node.
    pub fn get(&self, id: &NodeId) -> Option<&NodeState> {
        self.0.get(id).map(|node| &**node)
    }

    /// The same with the id as it is kept.
    pub fn get_key_value(&self, id: &NodeId) -> Option<(&NodeId, &NodeState)> {
        self.0.get_key_value(id).map(|(id, node)| (id, &**node))
    }

    /// A node that is to change: a copy of it, where others look at it.
    pub fn get_mut(&mut self, id: &NodeId) -> Option<&mut NodeState> {
        self.0.get_mut(id).map(Arc::make_mut)
    }

    /// Whether a node has begun or was decided about.
    pub fn contains_key(&self, id: &NodeId) -> bool {
        self.0.contains_key(id)
    }

    /// Puts a node in.
    pub fn insert(&mut self, id: NodeId, node: NodeState) {
        self.0.insert(id, Arc::new(node));
    }

    /// All of them.
    pub fn iter(&self) -> Map<btree_map::Iter<'_, NodeId, Arc<NodeState>>, Shown<'_>> {
        self.0.iter().map(|(id, node)| (id, node))
    }

    /// Their ids.
    pub fn keys(&self) -> impl Iterator<Item = &NodeId> {
        self.0.keys()
    }

    /// What is known of them.
    pub fn values(&self) -> impl Iterator<Item = &NodeState> {
        self.0.values().map(|node| &**node)
    }

    /// Those between two ids.
    pub fn range(
        &self,
        range: impl RangeBounds<NodeId>,
    ) -> impl Iterator<Item = (&NodeId, &NodeState)> {
        self.0.range(range).map(|(id, node)| (id, &**node))
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
        &self.0[id]
    }
}
