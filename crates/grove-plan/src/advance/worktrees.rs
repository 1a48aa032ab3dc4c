//! The steps around the attempts at a child: a working tree of its own is made before the first, its work is captured when
//! nothing of the child is left, and the tree is removed only with the digest of what was captured. The verdict on the work
//! comes between the two, in `acceptance`.

use super::{Run, stopped};
use crate::beginnings::EarlierWork;
use crate::command::Command;
use crate::contract::Accepted;
use crate::event::{CapturedWork, Outcome, Output, SubmoduleWork};
use crate::ids::{Attempt, EffectId, EffectKind, NodeId};
use crate::plan::WorktreePlan;
use crate::refused::Refused;
use crate::state::{Cause, Continued, Execution, NextTry, StopReason, WorktreeState};

impl Run<'_> {
    /// Begins a new attempt at a node, in a working tree where the plan wants one.
    pub(super) fn begin(&mut self, id: &NodeId, model: usize, continues: Option<Continued>) {
        let wants = self.wants_worktree(id).is_some();
        if !wants && self.wants_look(id) {
            return self.look(id, NextTry { model, continues });
        }
        let Some(node) = self.state.nodes.get_mut(id) else {
            return;
        };
        let has = node.worktree.as_ref();
        if !wants || has.is_some_and(|tree| tree.folder.is_some()) {
            return self.try_with(id, model, continues);
        }
        node.execution = Execution::Queued;
        node.next = Some(NextTry { model, continues });
        let patch = has.and_then(|tree| tree.captured.as_ref());
        let patch = patch.map(|captured| captured.patch);
        // Its captured work is a patch for the work that it began with.
        let begins = match has.filter(|_| patch.is_some()) {
            Some(tree) => tree.begins.clone(),
            None => self.work_before(id),
        };
        if let Some(node) = self.state.nodes.get_mut(id) {
            let tree = node.worktree.get_or_insert_with(WorktreeState::default);
            tree.begins.clone_from(&begins);
        }
        let node = id.clone();
        let make = Command::MakeWorktree {
            node,
            patch,
            begins,
        };
        self.open_of_node(id, EffectKind::Make, make);
    }

    /// The work that the tree of a node begins with.
    fn work_before(&self, id: &NodeId) -> Vec<EarlierWork> {
        let nodes = self.wants_worktree(id).map(|tree| &tree.begins);
        nodes.map_or_else(Vec::new, |nodes| self.state.earlier_work(nodes))
    }

    fn wants_worktree(&self, id: &NodeId) -> Option<&WorktreePlan> {
        self.plan.child(id)?.place.worktree.as_ref()
    }

    pub(super) fn open_of_node(&mut self, id: &NodeId, kind: EffectKind, command: Command) {
        let Some(node) = self.state.nodes.get_mut(id) else {
            return;
        };
        let k = node.effects;
        node.effects = node.effects.saturating_add(1);
        let of = Attempt {
            node: id.clone(),
            n: 0,
        };
        self.open(EffectId::new(&of, kind, k), command);
    }

    /// Takes in the outcome of an effect that belongs to a node and to no attempt.
    pub(super) fn of_node_answered(
        &mut self,
        effect: &EffectId,
        outcome: &Outcome,
    ) -> Result<(), Refused> {
        let id = &effect.of.node;
        match (effect.kind, outcome) {
            (
                EffectKind::Make,
                Outcome::Made {
                    folder,
                    synthetic,
                    base,
                },
            ) => {
                self.close(effect);
                if let Some(tree) = self.worktree_mut(id) {
                    tree.folder = Some(folder.clone());
                    tree.synthetic.clone_from(synthetic);
                    tree.base.clone_from(base);
                    tree.kept = None;
                }
                self.go_on_in_worktree(id);
            }
            (EffectKind::Make, Outcome::Impossible { why }) => {
                self.close(effect);
                let message = why.clone();
                self.not_made(id, Cause::Isolation { message });
            }
            (EffectKind::Make, Outcome::Conflicting { conflict, answer }) => {
                self.close(effect);
                if let Some(node) = self.state.nodes.get_mut(id) {
                    let text = Some(*answer);
                    node.collected = Some(Output {
                        text,
                        ..Output::default()
                    });
                }
                self.not_made(id, Cause::Conflict(conflict.clone()));
            }
            (EffectKind::Capture, Outcome::Captured(captured)) => {
                self.close(effect);
                self.captured(id, captured);
            }
            (EffectKind::Capture | EffectKind::Remove, Outcome::Impossible { why }) => {
                self.close(effect);
                if let Some(tree) = self.worktree_mut(id) {
                    tree.kept = Some(why.clone());
                }
                if effect.kind == EffectKind::Capture && self.wants_checks(id) {
                    self.verify(id);
                } else {
                    self.take_verdict(id);
                }
            }
            (EffectKind::Look, Outcome::Looked(before)) => {
                self.close(effect);
                self.looked(id, before);
            }
            (EffectKind::Verify, Outcome::Checked(seen)) => {
                self.close(effect);
                self.checked(id, seen);
            }
            (EffectKind::Expand, Outcome::Expanded(found)) => self.expanded(effect, found)?,
            (EffectKind::Collect, Outcome::Collected(output)) => self.collected(effect, output),
            (EffectKind::Expand | EffectKind::Collect, Outcome::Impossible { why }) => {
                self.not_expanded(effect, why);
            }
            (EffectKind::Verify, Outcome::Impossible { why }) => {
                self.close(effect);
                let why = why.clone();
                self.accept(id, Accepted::Rejected { why });
            }
            (EffectKind::Remove, Outcome::Removed) => {
                self.close(effect);
                if let Some(tree) = self.worktree_mut(id) {
                    tree.folder = None;
                }
                self.take_verdict(id);
            }
            _ => return Err(Refused::WrongOutcome(effect.clone())),
        }
        Ok(())
    }

    fn worktree_mut(&mut self, id: &NodeId) -> Option<&mut WorktreeState> {
        self.state.nodes.get_mut(id)?.worktree.as_mut()
    }

    fn not_made(&mut self, id: &NodeId, cause: Cause) {
        let node = self.state.nodes.get_mut(id);
        // A node that was stopped meanwhile counts as stopped.
        let stopped = node.and_then(|node| node.verdict.take());
        self.end_node(id, stopped.unwrap_or(Execution::Failed(cause)));
    }

    /// The tree is there: the attempt begins, unless everything was stopped meanwhile.
    fn go_on_in_worktree(&mut self, id: &NodeId) {
        let next = self
            .state
            .nodes
            .get_mut(id)
            .and_then(|node| node.next.take());
        match next {
            Some(next) => self.try_with(id, next.model, next.continues),
            None => self.capture(id),
        }
    }

    fn capture(&mut self, id: &NodeId) {
        let node = id.clone();
        self.open_of_node(id, EffectKind::Capture, Command::Capture { node });
    }

    fn captured(&mut self, id: &NodeId, captured: &CapturedWork) {
        if let Some(tree) = self.worktree_mut(id) {
            let earlier = tree.captured.take().map(|it| it.submodules);
            let earlier = earlier.unwrap_or_default();
            let mut captured = captured.clone();
            // A tree that was made again has no submodule checked out, so what was done there before is in no new patch.
            let is_new = |work: &SubmoduleWork| !captured.submodules.contains(work);
            let earlier: Vec<SubmoduleWork> = earlier.into_iter().filter(is_new).collect();
            captured.submodules.splice(0..0, earlier);
            tree.captured = Some(captured.clone());
            tree.is_discarded = false;
            // A tree with work that is in no patch stays where it is.
            tree.kept.clone_from(&captured.left);
        }
        if self.wants_checks(id) {
            self.verify(id);
        } else {
            self.leave_worktree(id);
        }
    }

    /// Removes a tree whose work is stored; a tree with more work stays.
    pub(super) fn leave_worktree(&mut self, id: &NodeId) {
        let tree = self.worktree_mut(id).filter(|tree| tree.folder.is_some());
        let tree = tree.filter(|tree| tree.kept.is_none());
        let patch = tree.and_then(|tree| tree.captured.as_ref().map(|captured| captured.patch));
        let Some(patch) = patch else {
            return self.take_verdict(id);
        };
        let node = id.clone();
        let command = Command::RemoveWorktree { node, patch };
        self.open_of_node(id, EffectKind::Remove, command);
    }

    /// Ends a node: its state is set once its work is safe.
    pub(super) fn end_node(&mut self, id: &NodeId, execution: Execution) {
        let Some(node) = self.state.nodes.get_mut(id) else {
            return;
        };
        node.next = None;
        let has_tree = node
            .worktree
            .as_ref()
            .is_some_and(|tree| tree.folder.is_some());
        if !execution.is_terminal() {
            node.execution = execution;
            return;
        }
        // The observations of earlier work say nothing about this work.
        (node.accepted, node.seen, node.review) = (Accepted::None, None, None);
        node.verdict = Some(execution);
        node.execution = Execution::Running;
        if has_tree {
            self.capture(id);
        } else if self.wants_checks(id) {
            self.verify(id);
        } else {
            self.take_verdict(id);
        }
    }

    pub(super) fn take_verdict(&mut self, id: &NodeId) {
        if let Some(node) = self.state.nodes.get_mut(id)
            && let Some(verdict) = node.verdict.take()
        {
            node.execution = verdict;
        }
        self.tell_author(id);
    }

    /// Returns true if no attempt at a node runs, though the node is under way: its tree is being made or captured.
    pub(super) fn is_between_tries(&self, id: &NodeId) -> bool {
        let node = self.state.nodes.get(id);
        node.is_some_and(|node| node.next.is_some() || node.verdict.is_some())
    }

    /// Stops a node whose tree is being made or whose work is being looked at; a node whose work is being stored is over
    /// already.
    pub(super) fn stop_between_tries(&mut self, id: &NodeId, why: &StopReason) {
        let is_stoppable = |(effect, _): &(&EffectId, _)| {
            let can = matches!(
                effect.kind,
                EffectKind::Make | EffectKind::Look | EffectKind::Verify
            );
            effect.of.node == *id && can
        };
        let open = self.state.open.iter().find(is_stoppable);
        let open = open.map(|(id, open)| (id.clone(), open.holder.is_some()));
        let Some((effect, is_held)) = open else {
            return;
        };
        if effect.kind == EffectKind::Verify {
            self.close(&effect);
            if let Some(node) = self.state.nodes.get_mut(id) {
                node.verdict = Some(stopped(why));
            }
            return self.leave_worktree(id);
        }
        if is_held {
            // The process that holds the effect is not disturbed; its result is taken away again.
            if let Some(node) = self.state.nodes.get_mut(id) {
                node.next = None;
                node.verdict = Some(stopped(why));
            }
            return;
        }
        self.close(&effect);
        self.end_node(id, stopped(why));
    }
}
