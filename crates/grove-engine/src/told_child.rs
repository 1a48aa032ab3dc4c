//! The text that a child was told, as it was stored before it started, and the sources of its parts.

use crate::told::Told;
use grove_plan::{Node, NodeId, NodeView};
use grove_spec::Digest;

use crate::controlling::no_such_child;
use crate::error::EngineError;
use crate::journal::{RunJournal, node_or_last, parts_of};

/// The stored text of a child.
#[derive(Debug, Clone)]
pub struct ToldChild {
    /// The id of the run.
    pub run: String,
    /// The child's place in its plan.
    pub node: NodeId,
    /// The name of its agent.
    pub agent: String,
    /// The digest of the text.
    pub digest: Digest,
    /// The text: system prompt, message and the sources of their parts.
    pub told: Told,
}

impl RunJournal {
    /// Returns the text that a child was told; `given` is `RUN` or `RUN.NODE`.
    pub fn told(&self, given: &str) -> Result<ToldChild, EngineError> {
        let (run, node) = parts_of(given);
        let loaded = self.load(run)?;
        let node = node_or_last(&loaded, node);
        // A list is told what each of its items is, before the item is put in.
        let of_list = loaded.plan.node(&node).map(Node::child);
        let Some(child) = loaded.plan.child(&node).or(of_list) else {
            let all = loaded.plan.nodes.iter().map(|node| &node.id);
            return Err(no_such_child(&loaded.id, &node, all));
        };
        let of_node = |view: &NodeView| (view.id == node).then_some(view.told);
        let told = self.view(&loaded).nodes.iter().find_map(of_node);
        let digest = told.unwrap_or(child.told);
        Ok(ToldChild {
            run: loaded.id.clone(),
            agent: child.agent.clone(),
            node,
            digest,
            told: self.store.json(&digest)?,
        })
    }
}
