//! The budget that a run, and a child in it, has left. Time is not here: it depends on the moment of asking.

use crate::ids::NodeId;
use crate::money::cost_of;
use crate::plan::{Plan, limit_reached};
use crate::state::{Cause, LimitKind, State};

impl State {
    /// Returns the budget that is used up: that of the whole run, or that of a child.
    pub fn nothing_left(&self, plan: &Plan, node: &NodeId) -> Option<Cause> {
        self.tree_spent(plan)
            .or_else(|| self.child_spent(plan, node))
    }

    /// Returns the budget of the whole run that is used up.
    pub(crate) fn tree_spent(&self, plan: &Plan) -> Option<Cause> {
        let tokens = plan.tree.max_tokens;
        let of_cost = || {
            let limit = plan.tree.max_cost?;
            let cost = cost_of(plan, self).unwrap_or(u64::MAX);
            limit_reached(LimitKind::Cost, Some(limit), cost)
        };
        limit_reached(LimitKind::Tokens, tokens, self.spent.counted()).or_else(of_cost)
    }

    /// Returns the budget of a child that is used up by all its attempts: another model does not get a new budget.
    pub(crate) fn child_spent(&self, plan: &Plan, node: &NodeId) -> Option<Cause> {
        let limit = plan.child(node)?.limits.max_tokens;
        let known = self.nodes.get(node);
        let attempts = known.map_or(&[][..], |node| &node.attempts);
        let spent = attempts.iter().flat_map(|attempt| {
            let below = attempt.nested.usage.counted();
            [attempt.usage.counted(), below]
        });
        let spent = spent.fold(0, u64::saturating_add);
        limit_reached(LimitKind::Tokens, limit, spent)
    }
}
