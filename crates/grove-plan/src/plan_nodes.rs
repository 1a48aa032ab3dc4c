//! The nodes of a plan: a list in which each node is found by its id.

use std::collections::HashMap;
use std::ops::Deref;
use std::slice;

use serde::{Deserialize, Serialize, Serializer};

use crate::ids::NodeId;
use crate::plan::Node;

/// Nodes in the order in which they were planned. They do not change: another list is another `PlanNodes`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Vec<Node>")]
pub struct PlanNodes {
    list: Vec<Node>,
    places: HashMap<NodeId, usize>,
}

impl PlanNodes {
    /// A node by its id; the first, where several have the same.
    pub fn by_id(&self, id: &NodeId) -> Option<&Node> {
        self.list.get(*self.places.get(id)?)
    }
}

impl From<Vec<Node>> for PlanNodes {
    fn from(list: Vec<Node>) -> Self {
        let mut places = HashMap::with_capacity(list.len());
        for (place, node) in list.iter().enumerate() {
            places.entry(node.id.clone()).or_insert(place);
        }
        Self { list, places }
    }
}

impl Serialize for PlanNodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list.serialize(serializer)
    }
}

impl Deref for PlanNodes {
    type Target = [Node];

    fn deref(&self) -> &[Node] {
        &self.list
    }
}

impl<'a> IntoIterator for &'a PlanNodes {
    type Item = &'a Node;
    type IntoIter = slice::Iter<'a, Node>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}
