//! The same child for each item of a list: the items are found when the list is there, each is a node of its own, and when
//! all are done their outputs are put together.

use std::ops::Bound;

use super::Run;
use crate::command::Command;
use crate::contract::Accepted;
use crate::event::{Expanded, Output};
use crate::fan_out::are_keys;
use crate::ids::{EffectId, EffectKind, NodeId};
use crate::refused::Refused;
use crate::state::{Cause, Execution, NodeState, StopReason, worst_of};

impl Run<'_> {
    /// Opens the effect that finds the items of a step.
    pub(super) fn expand(&mut self, id: &NodeId) {
        if let Some(node) = self.state.nodes.get_mut(id) {
            node.execution = Execution::Queued;
        }
        let node = id.clone();
        self.open_of_node(id, EffectKind::Expand, Command::Expand { node });
    }

    /// Makes each of the items that were found a node.
    pub(super) fn expanded(&mut self, effect: &EffectId, found: &Expanded) -> Result<(), Refused> {
        let id = &effect.of.node;
        let fan_out = self.plan.fan_out(id);
        let fan_out = fan_out.ok_or_else(|| Refused::NoSuchNode(id.clone()))?;
        let count = found.items.len() as u64;
        if count > fan_out.max_items || !are_keys(&found.items) {
            return Err(Refused::WrongOutcome(effect.clone()));
        }
        self.close(effect);
        let all = self.state.children.saturating_add(count);
        if let Some(max) = self.plan.tree.max_children.filter(|max| all > *max) {
            let message = format!("{count} items would make more than {max} children of one run");
            self.end_list(id, failed(&message));
            return Ok(());
        }
        self.state.children = all;
        if count == 0 && fan_out.fail_if_empty {
            self.end_list(id, failed("the list has no items"));
            return Ok(());
        }
        for item in &found.items {
            let item = id.item(&item.key);
            if fan_out.reviewer.is_some() {
                let known = NodeState {
                    is_review: true,
                    ..NodeState::default()
                };
                self.state.nodes.insert(item.reviewer(), known);
            }
            self.state.nodes.insert(item, NodeState::default());
        }
        if let Some(node) = self.state.nodes.get_mut(id) {
            node.execution = Execution::Running;
            node.items = Some(found.clone());
        }
        Ok(())
    }

    /// Ends a step whose items could not be found, or whose outputs could not be put together.
    pub(super) fn not_expanded(&mut self, effect: &EffectId, why: &str) {
        self.close(effect);
        let execution = match effect.kind {
            EffectKind::Collect => Execution::Failed(Cause::Schema {
                message: why.to_owned(),
            }),
            _ => failed(why),
        };
        self.end_list(&effect.of.node, execution);
    }

    pub(super) fn collected(&mut self, effect: &EffectId, output: &Output) {
        self.close(effect);
        if let Some(node) = self.state.nodes.get_mut(&effect.of.node) {
            node.collected = Some(output.clone());
        }
        self.end_list(&effect.of.node, Execution::Complete);
    }

    /// Begins as many items as may run at a time; when all are over, decides what became of the step.
    pub(super) fn go_on_with_items(&mut self, id: &NodeId) {
        let is_open = |node: &NodeState| node.execution == Execution::Running;
        if !self.state.nodes.get(id).is_some_and(is_open) {
            return;
        }
        let rules = self.plan.groups.get(id);
        let limit = rules.and_then(|rules| rules.concurrency);
        let fail_fast = rules.is_some_and(|rules| rules.fail_fast);
        let mut room = limit.unwrap_or(u64::MAX);
        let (mut pending, mut are_over, mut is_given_up) = (false, true, false);
        for node in self.item_nodes(id).filter(|node| !node.is_review) {
            let execution = &node.execution;
            pending |= *execution == Execution::Pending;
            are_over &= execution.is_terminal();
            let is_failure = !node.is_done() && !node.is_stopped_alone();
            is_given_up |= fail_fast && execution.is_terminal() && is_failure;
            if matches!(execution, Execution::Queued | Execution::Running) {
                room = room.saturating_sub(1);
            }
        }
        if pending && (room > 0 || is_given_up) {
            self.begin_items(id, room, is_given_up);
        } else if are_over {
            self.skip_reviews(id);
            self.items_are_over(id);
        }
    }

    fn begin_items(&mut self, id: &NodeId, mut room: u64, is_given_up: bool) {
        let known = self.state.nodes.get(id);
        let items = known.and_then(|node| node.items.as_ref());
        let items = items.map_or(&[][..], |found| &found.items);
        let ids: Vec<NodeId> = items.iter().map(|item| id.item(&item.key)).collect();
        for item in ids {
            let known = self.state.nodes.get(&item);
            if known.is_none_or(|node| node.execution != Execution::Pending) {
                continue;
            }
            if is_given_up {
                self.skip(&item);
            } else if room > 0 {
                room -= 1;
                self.begin(&item, 0, None);
            }
        }
        if is_given_up {
            // Items that are still at work come back here when they are done.
            self.go_on_with_items(id);
        }
    }

    /// Skips the reviewers of work that is over, since there is nothing to look at.
    fn skip_reviews(&mut self, id: &NodeId) {
        let reviews = self.item_range(id).filter(|(_, node)| {
            let is_waiting = node.execution == Execution::Pending;
            node.is_review && is_waiting
        });
        let reviews: Vec<NodeId> = reviews.map(|(id, _)| id.clone()).collect();
        for review in &reviews {
            self.skip(review);
        }
    }

    fn items_are_over(&mut self, id: &NodeId) {
        let items = || self.item_nodes(id).filter(|node| !node.is_review);
        let (all, done) = (
            items().count(),
            items().filter(|node| node.is_done()).count(),
        );
        let is_collecting = self.list_effect(id).is_some();
        if done < all {
            let worst = worst_of(|| items().map(|node| &node.execution));
            let execution = worst.unwrap_or(Execution::Complete);
            if execution == Execution::Complete
                && let Some(node) = self.state.nodes.get_mut(id)
            {
                let why = format!("the work on {} of {all} items was not accepted", all - done);
                node.accepted = Accepted::Rejected { why };
            }
            self.end_list(id, execution);
        } else if !is_collecting {
            let node = id.clone();
            self.open_of_node(id, EffectKind::Collect, Command::Collect { node });
        }
    }

    /// Stops a step whose items are being found or put together; while its items are at work it ends as they do.
    pub(super) fn stop_list(&mut self, id: &NodeId, why: &StopReason) {
        if let Some(effect) = self.list_effect(id) {
            self.close(&effect);
            self.end_list(id, super::stopped(why));
        }
    }

    /// Opens a list again when a node goes on that is one of its items, or when others of its items may begin now.
    pub(super) fn open_lists(&mut self, resumed: &NodeId) {
        let of_item = resumed.of_item().map(|(step, _)| step);
        for node in &self.plan.nodes {
            let id = &node.id;
            let may_begin = |node: &NodeState| node.execution == Execution::Pending;
            if of_item.as_ref() != Some(id) && !self.item_nodes(id).any(may_begin) {
                continue;
            }
            if let Some(effect) = self.list_effect(id) {
                self.close(&effect);
            }
            if let Some(node) = self.state.nodes.get_mut(id) {
                node.execution = Execution::Running;
                (node.accepted, node.collected) = (Accepted::None, None);
            }
        }
    }

    fn end_list(&mut self, id: &NodeId, execution: Execution) {
        if let Some(node) = self.state.nodes.get_mut(id) {
            node.execution = execution;
        }
    }

    fn list_effect(&self, id: &NodeId) -> Option<EffectId> {
        let mut open = self.state.open.keys();
        let is_it = |kind| matches!(kind, EffectKind::Expand | EffectKind::Collect);
        open.find(|effect| effect.of.node == *id && is_it(effect.kind))
            .cloned()
    }

    fn item_nodes(&self, id: &NodeId) -> impl Iterator<Item = &NodeState> {
        self.item_range(id).map(|(_, node)| node)
    }

    /// The nodes of a step's items, their reviewers included: their ids stand together.
    fn item_range(&self, id: &NodeId) -> impl Iterator<Item = (&NodeId, &NodeState)> {
        let first = NodeId::from(format!("{id}[").as_str());
        let after = NodeId::from(format!("{id}\\").as_str());
        self.state
            .nodes
            .range((Bound::Included(first), Bound::Excluded(after)))
    }
}

fn failed(message: &str) -> Execution {
    Execution::Failed(Cause::Input {
        message: message.to_owned(),
    })
}
