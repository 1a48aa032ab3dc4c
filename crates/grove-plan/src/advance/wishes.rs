//! The wishes of people and programs for a run: that it stops, pauses, goes on, hears something.

use grove_spec::Digest;

use super::{Run, stopped};
use crate::command::Command;
use crate::event::Wish;
use crate::ids::{Attempt, EffectId, EffectKind, NodeId};
use crate::refused::Refused;
use crate::state::{Cause, Continued, Execution, Said, StopReason, WorktreeState};

impl Run<'_> {
    pub(super) fn wanted(&mut self, by: &str, id: &str, wish: &Wish) -> Result<(), Refused> {
        if self.state.wishes.contains(id) {
            return Err(Refused::Duplicate);
        }
        let by = by.to_owned();
        match wish {
            Wish::Stop { now } => {
                if self.is_over() {
                    return Err(Refused::Duplicate);
                }
                self.stop_everything(&StopReason::Wanted { by }, *now);
            }
            Wish::StopChild { node, now } => {
                self.stop_child(node, &StopReason::WantedOfChild { by }, *now)?;
            }
            Wish::Discard { node } => self.discard(node)?,
            Wish::Pause { node } => self.pause(node.as_ref(), &StopReason::Paused { by })?,
            Wish::Resume { node, message } => {
                let said = message.map_or(Said::Nothing, Said::Message);
                self.resume(node, said)?;
            }
            Wish::Answer { node, answer } => {
                if !matches!(self.execution(node)?, Execution::Asking(_)) {
                    return Err(Refused::NotAsking(node.clone()));
                }
                self.resume(node, Said::Answer(*answer))?;
            }
            Wish::Steer { node, message } => self.steer(node, *message)?,
            Wish::Acknowledge => {
                if !self.is_over() {
                    return Err(Refused::NotOver);
                }
                self.state.acknowledged = true;
            }
        }
        self.state.wishes.insert(id.to_owned());
        Ok(())
    }

    fn execution(&self, node: &NodeId) -> Result<&Execution, Refused> {
        let known = self.state.nodes.get(node);
        let known = known.ok_or_else(|| Refused::NoSuchNode(node.clone()))?;
        Ok(&known.execution)
    }

    /// Ends what runs, and begins nothing any more.
    pub(super) fn stop_everything(&mut self, why: &StopReason, now: bool) {
        self.state.stop.get_or_insert_with(|| why.clone());
        let nodes: Vec<NodeId> = self.state.nodes.keys().cloned().collect();
        for id in nodes {
            self.stop_node(&id, why, now);
        }
    }

    fn stop_node(&mut self, id: &NodeId, why: &StopReason, now: bool) {
        let is_between = self.is_between_tries(id);
        let is_list = self.plan.fan_out(id).is_some();
        let Some(node) = self.state.nodes.get_mut(id) else {
            return;
        };
        match node.execution {
            Execution::Pending => node.execution = stopped(why),
            Execution::Paused(_) | Execution::Asking(_) => self.end_node(id, stopped(why)),
            Execution::Queued | Execution::Running if is_list => self.stop_list(id, why),
            Execution::Queued | Execution::Running if is_between => {
                self.stop_between_tries(id, why);
            }
            Execution::Queued | Execution::Running => {
                let of = self.last_attempt(id);
                self.stop_attempt(&of, why, now);
            }
            _ => {}
        }
    }

    /// Ends one child, with the reviewer of its work if there is one. The others go on.
    fn stop_child(&mut self, id: &NodeId, why: &StopReason, now: bool) -> Result<(), Refused> {
        if self.execution(id)?.is_terminal() || self.plan.child(id).is_none() {
            return Err(Refused::NotAtWork(id.clone()));
        }
        let is_reviewed = self.state.nodes.get(id).is_some_and(|it| it.is_reviewed);
        if is_reviewed {
            // Its work is done and stored; the verdict is what it was stopped for.
            if let Some(node) = self.state.nodes.get_mut(id) {
                node.verdict = Some(stopped(why));
            }
            self.stop_node(&id.reviewer(), why, now);
        } else {
            self.stop_node(id, why, now);
        }
        Ok(())
    }

    /// Leaves the stored work of a child out of what is applied.
    fn discard(&mut self, id: &NodeId) -> Result<(), Refused> {
        let is_over = !matches!(self.execution(id)?, Execution::Queued | Execution::Running);
        let has_work = |tree: &WorktreeState| tree.captured.is_some() && !tree.is_discarded;
        let begins_with_it = self.state.nodes.iter().find(|(_, node)| {
            let tree = node.worktree.as_ref().filter(|tree| has_work(tree));
            tree.is_some_and(|tree| tree.begins.iter().any(|work| work.node == *id))
        });
        if let Some((other, _)) = begins_with_it {
            return Err(Refused::BuiltUpon(id.clone(), other.clone()));
        }
        let tree = self.state.nodes.get(id).and_then(|it| it.worktree.as_ref());
        if !is_over || !tree.is_some_and(has_work) {
            return Err(Refused::NoWork(id.clone()));
        }
        let node = self.state.nodes.get_mut(id);
        if let Some(tree) = node.and_then(|node| node.worktree.as_mut()) {
            tree.is_discarded = true;
        }
        Ok(())
    }

    /// Tells a child, or every child, to end in such a way that it can go on.
    fn pause(&mut self, wanted: Option<&NodeId>, why: &StopReason) -> Result<(), Refused> {
        let at_work =
            |execution: &Execution| matches!(execution, Execution::Queued | Execution::Running);
        let is_child = |id: &NodeId| self.plan.child(id).is_some();
        let nodes: Vec<NodeId> = match wanted {
            Some(node) if at_work(self.execution(node)?) && is_child(node) => vec![node.clone()],
            Some(node) => return Err(Refused::NotAtWork(node.clone())),
            None => {
                let nodes = self.state.nodes.iter();
                let nodes = nodes.filter(|(id, node)| at_work(&node.execution) && is_child(id));
                nodes.map(|(id, _)| id.clone()).collect()
            }
        };
        let Some(first) = nodes.first() else {
            return Err(Refused::NotAtWork(NodeId::whole_run()));
        };
        if nodes.iter().all(|id| self.is_told_to_stop(id)) {
            return Err(Refused::NotAtWork(first.clone()));
        }
        for id in &nodes {
            let of = self.last_attempt(id);
            self.stop_attempt(&of, why, false);
        }
        Ok(())
    }

    /// Returns true if a child can be told nothing: it was told to stop, or no attempt is under way.
    fn is_told_to_stop(&self, node: &NodeId) -> bool {
        if self.is_between_tries(node) {
            return true;
        }
        let attempt = self.attempt(&self.last_attempt(node));
        attempt.is_some_and(|attempt| attempt.stopping.is_some())
    }

    /// Lets a child go on in its session: a new attempt, which knows what was said before.
    fn resume(&mut self, id: &NodeId, said: Said) -> Result<(), Refused> {
        let execution = self.execution(id)?;
        let may = execution.is_waiting() || execution.is_terminal();
        let n = self.last_attempt(id).n;
        if !may || n == 0 {
            return Err(Refused::NotWaiting(id.clone()));
        }
        if let Some(cause) = self.nothing_left_for(id) {
            return Err(Refused::Spent(cause));
        }
        self.state.stop = None;
        self.state.ended = None;
        self.state.acknowledged = false;
        // Nodes that were not begun because of it may begin after it.
        let skipped = self.state.nodes.iter().filter(|(id, node)| {
            // The reviewer of an item's work is started by the item.
            let is_asked = node.is_review && id.of_item().is_some();
            let conflicted = matches!(node.execution, Execution::Failed(Cause::Conflict(_)));
            (node.execution == Execution::Skipped && !is_asked) || conflicted
        });
        let skipped: Vec<NodeId> = skipped.map(|(id, _)| id.clone()).collect();
        for id in &skipped {
            if let Some(node) = self.state.nodes.get_mut(id) {
                (node.execution, node.collected) = (Execution::Pending, None);
            }
        }
        if let Some(node) = self.state.nodes.get_mut(id) {
            (node.finalizations, node.answer) = (0, None);
        }
        self.open_lists(id);
        let model = self
            .attempt(&self.last_attempt(id))
            .map_or(0, |it| it.model);
        self.begin(id, model, Some(Continued { n, said }));
        Ok(())
    }

    /// Returns the limit that a child, or the whole run, has reached already.
    pub(super) fn nothing_left_for(&self, id: &NodeId) -> Option<Cause> {
        self.state.nothing_left(self.plan, id).or_else(|| {
            let limit_ms = self.plan.tree.timeout_ms;
            let limit_ms = limit_ms.filter(|limit| self.worked() >= *limit)?;
            Some(Cause::TimedOut { limit_ms })
        })
    }

    fn steer(&mut self, node: &NodeId, message: Digest) -> Result<(), Refused> {
        let execution = self.execution(node)?;
        let at_work = matches!(execution, Execution::Queued | Execution::Running);
        if !at_work || self.plan.child(node).is_none() || self.is_told_to_stop(node) {
            return Err(Refused::NotAtWork(node.clone()));
        }
        let of = self.last_attempt(node);
        self.send(&of, message);
        Ok(())
    }

    pub(super) fn send(&mut self, of: &Attempt, message: Digest) {
        let Some(attempt) = self.attempt_mut(of) else {
            return;
        };
        let k = attempt.sends;
        attempt.sends = attempt.sends.saturating_add(1);
        if attempt.ending.is_some() {
            // It has said its last word; it goes on with this message when nothing of it is left.
            attempt.unheard.push(message);
            return;
        }
        let of = of.clone();
        self.open(
            EffectId::new(&of, EffectKind::Send, k),
            Command::Send { of, message },
        );
    }

    /// The attempt under way, or the last one; number zero when there was none.
    pub(super) fn last_attempt(&self, node: &NodeId) -> Attempt {
        let attempts = self.state.nodes.get(node).map_or(0, |it| it.attempts.len());
        Attempt {
            node: node.clone(),
            n: u32::try_from(attempts).unwrap_or(u32::MAX),
        }
    }
}
