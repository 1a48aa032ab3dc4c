//! What a run, and a child in it, may still spend. Time is not here: it depends on when one looks.

use crate::ids::NodeId;
use crate::money::cost_of;
use crate::plan::{Plan, limit_reached};
use crate::state::{Cause, LimitKind, State};

impl State {
    /// The budget that a child, or the whole run, has come to the end of.
    pub fn nothing_left(&self, plan: &Plan, node: &NodeId) -> Option<Cause> {
        self.tree_spent(plan)
            .or_else(|| self.child_spent(plan, node))
    }

    /// The same for the whole run alone.
    pub(crate) fn tree_spent(&self, plan: &Plan) -> Option<Cause> {
        let tokens = plan.tree.max_tokens;
        let of_cost = || {
            let limit = plan.tree.max_cost?;
            let cost = cost_of(plan, self).unwrap_or(u64::MAX);
            limit_reached(LimitKind::Cost, Some(limit), cost)
        };
        limit_reached(LimitKind::Tokens, tokens, self.spent.counted()).or_else(of_cost)
    }

    /// The same for one child: what all attempts at it have spent, since another model does not get a new budget.
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
