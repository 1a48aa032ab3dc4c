//! The cost of work: tokens times prices. The plan has the prices, so that the cost of a run is a function of its journal.

use serde::{Deserialize, Serialize};

use crate::plan::{Child, Plan};
use crate::state::{AttemptState, State};
use crate::usage::Usage;

/// The facts about a model that are known when a run is planned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelFacts {
    /// The number of tokens that it can read.
    pub context: Option<u64>,
    /// The prices of its tokens.
    pub prices: Option<Prices>,
}

/// Prices of a million tokens, in millionths of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prices {
    /// The price of input.
    pub input: u64,
    /// The price of output.
    pub output: u64,
    /// The price of input that is read from a cache; that of input where it is not given.
    #[serde(default)]
    pub cached: Option<u64>,
    /// The price of input that is written to a cache; that of input where it is not given.
    #[serde(default)]
    pub cache_write: Option<u64>,
}

impl Prices {
    /// Returns the cost of a use, in millionths.
    pub fn cost(&self, usage: &Usage) -> u64 {
        let reasoning = if usage.reasoning_in_output {
            0
        } else {
            usage.reasoning
        };
        let parts = [
            (usage.input, self.input),
            (usage.output.saturating_add(reasoning), self.output),
            (usage.cached, self.cached.unwrap_or(self.input)),
            (usage.cache_write, self.cache_write.unwrap_or(self.input)),
        ];
        let sum = parts
            .iter()
            .map(|(tokens, price)| u128::from(*tokens).saturating_mul(u128::from(*price)))
            .fold(0_u128, u128::saturating_add);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

impl Child {
    /// Returns the known facts about one of its models.
    pub fn facts(&self, model: usize) -> ModelFacts {
        self.model_facts.get(model).copied().unwrap_or_default()
    }
}

impl State {
    /// Returns the cost of the run, in millionths; none where something was used that has no known price.
    pub fn cost(&self, plan: &Plan) -> Option<u64> {
        cost_of(plan, self)
    }
}

/// Returns the cost of a run, in millionths; none where something was used that has no known price.
pub(crate) fn cost_of(plan: &Plan, state: &State) -> Option<u64> {
    let mut sum = 0_u64;
    for (id, node) in &state.nodes {
        let Some(child) = plan.child(id) else {
            continue;
        };
        for attempt in &node.attempts {
            if attempt.nested.is_cost_unknown {
                return None;
            }
            sum = sum.saturating_add(cost_of_attempt(child, attempt)?);
            sum = sum.saturating_add(attempt.nested.cost);
        }
    }
    Some(sum)
}

/// Returns the cost of an attempt itself, in millionths; none where that has no known price.
pub(crate) fn cost_of_attempt(child: &Child, attempt: &AttemptState) -> Option<u64> {
    if attempt.usage == Usage::default() {
        return Some(0);
    }
    let prices = child.facts(attempt.model).prices?;
    Some(prices.cost(&attempt.usage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_token_has_its_price() {
        let prices = Prices {
            input: 3_000_000,
            output: 15_000_000,
            cached: Some(300_000),
            cache_write: None,
        };
        let one = 1_000_000;
        for (usage, expected) in [
            (
                Usage {
                    input: one,
                    ..Usage::default()
                },
                3_000_000,
            ),
            (
                Usage {
                    output: 2 * one,
                    ..Usage::default()
                },
                30_000_000,
            ),
            (
                Usage {
                    cached: 10 * one,
                    ..Usage::default()
                },
                3_000_000,
            ),
            (
                Usage {
                    cache_write: one,
                    ..Usage::default()
                },
                3_000_000,
            ),
            (
                Usage {
                    reasoning: one,
                    ..Usage::default()
                },
                15_000_000,
            ),
            (
                Usage {
                    reasoning: one,
                    reasoning_in_output: true,
                    ..Usage::default()
                },
                0,
            ),
            // Less than a millionth is not nothing.
            (
                Usage {
                    cached: 1,
                    ..Usage::default()
                },
                1,
            ),
        ] {
            assert_eq!(prices.cost(&usage), expected, "{usage:?}");
        }
    }
}
