//! The numbers of tokens that a provider says, and those that count.

use grove_plan::Usage;
use serde_json::Value;

/// The bytes that are taken for a token where the provider gave no number.
const BYTES_PER_TOKEN: u64 = 4;

/// The most bytes of words that one token stands for on average, in any text: less output than this cannot have been.
const MOST_BYTES_PER_TOKEN: u64 = 32;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ReportedCount {
    #[default]
    Missing,
    Number(u64),
    /// Something else: below zero, too large, a fraction, a text.
    Unreadable,
}

impl ReportedCount {
    pub(crate) fn of(value: &Value) -> Self {
        match (value, value.as_u64()) {
            (Value::Null, _) => Self::Missing,
            (_, Some(number)) => Self::Number(number),
            (_, None) => Self::Unreadable,
        }
    }

    const fn number(self) -> u64 {
        match self {
            Self::Number(number) => number,
            Self::Missing | Self::Unreadable => 0,
        }
    }

    fn take(&mut self, later: Self) {
        if later != Self::Missing {
            *self = later;
        }
    }
}

/// The bytes that were sent and that came, as this side counts them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedBytes {
    pub(crate) request_bytes: usize,
    pub(crate) answer_bytes: usize,
}

impl CountedBytes {
    /// The tokens of it, where the provider gave no number.
    pub(crate) fn guessed(self) -> Usage {
        Usage {
            input: (self.request_bytes as u64).div_ceil(BYTES_PER_TOKEN),
            output: (self.answer_bytes as u64).div_ceil(BYTES_PER_TOKEN),
            estimated: true,
            ..Usage::default()
        }
    }

    const fn least_output(self) -> u64 {
        (self.answer_bytes as u64).div_ceil(MOST_BYTES_PER_TOKEN)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReportedUsage {
    /// Input that was not cached.
    pub(crate) input: ReportedCount,
    pub(crate) output: ReportedCount,
    pub(crate) cached: ReportedCount,
    pub(crate) cache_write: ReportedCount,
    pub(crate) reasoning: ReportedCount,
}

impl ReportedUsage {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Takes what is said later: it replaces what was said before, also by something unreadable.
    pub(crate) fn take(&mut self, later: Self) {
        self.input.take(later.input);
        self.output.take(later.output);
        self.cached.take(later.cached);
        self.cache_write.take(later.cache_write);
        self.reasoning.take(later.reasoning);
    }

    /// The numbers that can be read: all that is known of an answer whose end did not come.
    pub(crate) fn readable(&self) -> Usage {
        Usage {
            input: self.input.number(),
            output: self.output.number(),
            cached: self.cached.number(),
            cache_write: self.cache_write.number(),
            reasoning: self.reasoning.number(),
            // Thoughts are a part of the output in every format, counted apart or not.
            reasoning_in_output: true,
            estimated: false,
        }
    }

    /// The tokens that a whole answer counts for, in budgets and in every view. What cannot be read or cannot be is taken from the
    /// own count: no request is empty, and no token stands for a page.
    pub(crate) fn counted(&self, own: CountedBytes) -> Usage {
        let guessed = own.guessed();
        if self.is_nothing() {
            return guessed;
        }
        let mut usage = self.readable();
        let whole_input = [self.cached, self.cache_write];
        let is_unreadable = whole_input.contains(&ReportedCount::Unreadable);
        let all = [usage.input, usage.cached, usage.cache_write];
        let is_empty = all.iter().all(|tokens| *tokens == 0);
        if !matches!(self.input, ReportedCount::Number(_)) || is_unreadable || is_empty {
            usage.input = usage.input.max(guessed.input);
            usage.estimated = true;
        }
        let least = match self.output {
            ReportedCount::Number(_) => own.least_output(),
            ReportedCount::Missing | ReportedCount::Unreadable => guessed.output,
        };
        if usage.output < least || !matches!(self.output, ReportedCount::Number(_)) {
            usage.output = least;
            usage.estimated = true;
        }
        usage
    }
}
