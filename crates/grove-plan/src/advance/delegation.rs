//! Runs that a child asks for: they are below it, and their spending is its own.

use super::Run;
use crate::ids::Attempt;
use crate::refused::Refused;
use crate::state::Execution;
use crate::usage::Usage;

impl Run<'_> {
    /// Records that a child, or a run below it, asks for a run: it may while it works, and as far as the tree allows.
    pub(super) fn delegated(
        &mut self,
        of: &Attempt,
        run: &str,
        children: u64,
    ) -> Result<(), Refused> {
        let tree = &self.plan.tree;
        let at_work = self.attempt(of).is_some_and(|attempt| {
            attempt.execution == Execution::Running && attempt.stopping.is_none()
        });
        if !at_work || self.state.stop.is_some() {
            return Err(Refused::NotAtWork(of.node.clone()));
        }
        let child = self.plan.child(&of.node);
        let deepest = child.map_or(tree.max_depth, |child| tree.deepest(&child.limits));
        if let Some(max) = deepest.filter(|max| tree.depth >= *max) {
            return Err(Refused::TooDeep(max));
        }
        let all = self.state.children.saturating_add(children);
        if let Some(max) = tree.max_children.filter(|max| all > *max) {
            return Err(Refused::TooMany(max));
        }
        if let Some(cause) = self.nothing_left_for(&of.node) {
            return Err(Refused::Spent(cause));
        }
        match self.attempt_mut(of) {
            Some(attempt) if !attempt.delegated.iter().any(|known| known == run) => {
                attempt.delegated.push(run.to_owned());
            }
            _ => return Err(Refused::Duplicate),
        }
        self.state.children = all;
        Ok(())
    }

    /// Counts the spending of a run below as spent here too, whenever that was.
    pub(super) fn used(
        &mut self,
        of: &Attempt,
        usage: Usage,
        cost: Option<u64>,
    ) -> Result<(), Refused> {
        let Some(attempt) = self.attempt_mut(of) else {
            return Err(Refused::NoSuchNode(of.node.clone()));
        };
        attempt.nested.usage += usage;
        match cost {
            Some(cost) => attempt.nested.cost = attempt.nested.cost.saturating_add(cost),
            None => attempt.nested.is_cost_unknown = true,
        }
        self.state.spent += usage;
        if !self.is_over() {
            self.stop_at_limit(of);
        }
        Ok(())
    }
}
