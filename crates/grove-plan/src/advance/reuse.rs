//! A plan that is run again: the results of earlier nodes are taken over, and the rest is done.

use std::collections::{BTreeMap, BTreeSet};

use super::Run;
use crate::event::Reused;
use crate::ids::NodeId;
use crate::plan::Plan;
use crate::state::{Execution, NodeState, State, WorktreeState};

/// The reason why a plan cannot be run again from a step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReusable {
    /// The plan has no such step.
    #[error("the plan has no step `{0}`")]
    NoStep(NodeId),
    /// A step before it has no result.
    #[error("step {0} was not done: run again from there")]
    NotDone(NodeId),
}

impl Run<'_> {
    /// Takes over the results of an earlier run.
    pub(super) fn reuse(&mut self, reused: &BTreeMap<NodeId, Reused>) {
        for (id, before) in reused {
            // Items of a list are known only with their results.
            if !self.state.nodes.contains_key(id) && self.plan.child(id).is_some() {
                self.state.nodes.insert(id.clone(), NodeState::default());
            }
            let Some(node) = self.state.nodes.get_mut(id) else {
                continue;
            };
            node.items.clone_from(&before.items);
            node.execution = Execution::Complete;
            node.collected = Some(before.output.clone());
            node.accepted = before.accepted.clone();
            node.worktree = before.captured.clone().map(|captured| WorktreeState {
                captured: Some(captured),
                ..WorktreeState::default()
            });
            // The reviewer of this work has looked at it already.
            if let Some(reviewer) = self.state.nodes.get_mut(&id.reviewer()) {
                reviewer.execution = Execution::Skipped;
            }
        }
    }
}

impl State {
    /// Returns the results that can be taken over when a plan is run again from a node or a step: those of everything that is
    /// done and neither is it nor waits for it.
    pub fn reusable(
        &self,
        plan: &Plan,
        from: &NodeId,
    ) -> Result<BTreeMap<NodeId, Reused>, NotReusable> {
        let is_from = |id: &NodeId, group: Option<&NodeId>| id == from || group == Some(from);
        let mut again: BTreeSet<&NodeId> = BTreeSet::new();
        for node in &plan.nodes {
            let waits = node.after.iter().any(|id| again.contains(id));
            if is_from(&node.id, node.group.as_ref()) || waits {
                again.insert(&node.id);
            }
        }
        if again.is_empty() {
            return Err(NotReusable::NoStep(from.clone()));
        }
        let first = plan.nodes.iter().find(|node| again.contains(&node.id));
        let mut reused = BTreeMap::new();
        for node in plan.nodes.iter().filter(|node| node.reviews.is_none()) {
            if again.contains(&node.id) {
                continue;
            }
            let is_before = first.is_some_and(|first| first.after.contains(&node.id));
            let known = self.nodes.get(&node.id).filter(|known| known.is_done());
            match known.and_then(reused_of) {
                Some(known) => {
                    let items = known.items.iter().flat_map(|found| &found.items);
                    for item in items.map(|item| node.id.item(&item.key)) {
                        let done = self.nodes.get(&item).and_then(reused_of);
                        reused.extend(done.map(|done| (item, done)));
                    }
                    reused.insert(node.id.clone(), known);
                }
                None if is_before => {
                    return Err(NotReusable::NotDone(node.id.clone()));
                }
                None => {}
            }
        }
        Ok(reused)
    }
}

fn reused_of(node: &NodeState) -> Option<Reused> {
    Some(Reused {
        output: node.output()?.clone(),
        captured: node
            .worktree
            .as_ref()
            .and_then(|tree| tree.captured.clone()),
        items: node.items.clone(),
        accepted: node.accepted.clone(),
    })
}
