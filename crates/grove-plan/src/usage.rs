//! Counts of tokens, by kind.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// The tokens that a model was sent and that it sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input that was not cached.
    pub input: u64,
    /// Output, thinking included where the provider counts it there.
    pub output: u64,
    /// Input that was read from a cache.
    pub cached: u64,
    /// Input that was written to a cache.
    pub cache_write: u64,
    /// Thinking, as far as the provider tells it.
    pub reasoning: u64,
    /// Set if the reasoning is a part of the output already.
    pub reasoning_in_output: bool,
    /// Set if these are estimates, because no exact counts were given.
    pub estimated: bool,
}

impl Usage {
    /// Returns true if nothing was sent at all.
    pub fn is_nothing(&self) -> bool {
        self.counted() == 0 && self.cached == 0
    }

    /// Returns what was added since an earlier sum of the same.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(earlier.input),
            output: self.output.saturating_sub(earlier.output),
            cached: self.cached.saturating_sub(earlier.cached),
            cache_write: self.cache_write.saturating_sub(earlier.cache_write),
            reasoning: self.reasoning.saturating_sub(earlier.reasoning),
            reasoning_in_output: true,
            estimated: self.estimated,
        }
    }

    /// The tokens that a limit counts: uncached input, cache writes, output, and reasoning unless it is in the output.
    pub fn counted(&self) -> u64 {
        let reasoning = if self.reasoning_in_output {
            0
        } else {
            self.reasoning
        };
        [self.input, self.cache_write, self.output, reasoning]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // Reasoning that is in one's output and not in the other's is counted where it belongs before they are mixed.
        let counted = self.counted().saturating_add(other.counted());
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.reasoning_in_output = true;
        self.output = counted
            .saturating_sub(self.input)
            .saturating_sub(self.cache_write);
        self.estimated = self.estimated || other.estimated;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_counts_what_its_parts_count() {
        let apart = Usage {
            input: 10,
            output: 5,
            reasoning: 3,
            cached: 100,
            ..Usage::default()
        };
        let inside = Usage {
            input: 1,
            output: 20,
            reasoning: 15,
            reasoning_in_output: true,
            cache_write: 4,
            ..Usage::default()
        };
        let mut sum = apart;
        sum += inside;
        assert_eq!((apart.counted(), inside.counted()), (18, 25));
        assert_eq!(sum.counted(), 43);
        assert_eq!((sum.input, sum.output, sum.cached), (11, 28, 100));
        assert!(!sum.estimated);
    }
}
