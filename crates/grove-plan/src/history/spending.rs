//! What a child spent, and on what.
//!
//! A provider says how many tokens a request had, and not which part of it had how many. The parts are known by their bytes, and
//! a cache holds the beginning of a request: so tokens that were not cached belong to its end, in proportion to the bytes there.

use grove_spec::Digest;
use serde::Serialize;

use super::{ChildHistory, TextSizes, size_of};
use crate::event::{Body, Event, Fact, Outcome, Turn};
use crate::ids::{Attempt, EffectKind};
use crate::money::Prices;
use crate::plan::Plan;
use crate::state::{Said, State};
use crate::usage::Usage;

/// The thing on which tokens are spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SpendCause {
    /// The system prompt without its skills.
    System,
    /// Skills in the system prompt.
    Skills,
    /// The message of the child, and what it was told later.
    Task,
    /// The results of tool calls.
    Tools,
    /// Words and calls of the model.
    Answers,
    /// Thoughts of the model.
    Thinking,
    /// Runs that the child asked for.
    Below,
    /// Requests that brought no answer.
    Lost,
}

impl SpendCause {
    /// Every cause, in the order in which a request has them.
    pub const ALL: [Self; 8] = [
        Self::System,
        Self::Skills,
        Self::Task,
        Self::Tools,
        Self::Answers,
        Self::Thinking,
        Self::Below,
        Self::Lost,
    ];

    /// The words for the cause.
    pub const fn words(self) -> &'static str {
        match self {
            Self::System => "system prompt",
            Self::Skills => "skills",
            Self::Task => "task and messages",
            Self::Tools => "tool results",
            Self::Answers => "answers and calls",
            Self::Thinking => "thinking",
            Self::Below => "runs below",
            Self::Lost => "failed requests",
        }
    }
}

/// Amounts by cause, in the order of [`SpendCause::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpentOn([u64; SpendCause::ALL.len()]);

impl SpentOn {
    /// The amount of a cause.
    pub fn of(&self, cause: SpendCause) -> u64 {
        self.0.get(cause as usize).copied().unwrap_or_default()
    }

    /// The amounts of all causes together.
    pub fn sum(&self) -> u64 {
        self.0.iter().copied().fold(0, u64::saturating_add)
    }

    /// Adds to the amount of a cause.
    pub fn add(&mut self, cause: SpendCause, amount: u64) {
        if let Some(known) = self.0.get_mut(cause as usize) {
            *known = known.saturating_add(amount);
        }
    }

    /// Adds the amounts of another.
    pub fn add_all(&mut self, other: &Self) {
        for cause in SpendCause::ALL {
            self.add(cause, other.of(cause));
        }
    }

    /// Divides an amount in the proportions of these.
    fn divide(&self, amount: u64, or: SpendCause) -> Self {
        let mut parts = Self::default();
        let sum = u128::from(self.sum());
        if sum == 0 {
            parts.add(or, amount);
            return parts;
        }
        let (mut before, mut given) = (0_u128, 0_u64);
        for cause in SpendCause::ALL {
            before += u128::from(self.of(cause));
            // Each part ends where the sum so far ends, so that all parts together are the amount.
            let until = u64::try_from(u128::from(amount) * before / sum).unwrap_or(amount);
            parts.add(cause, until - given);
            given = until;
        }
        parts
    }
}

/// Tokens and money that were spent at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spending {
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// The tokens that limits count.
    pub tokens: SpentOn,
    /// Millionths of money; none where a price is not known.
    pub cost: Option<SpentOn>,
}

/// Numbers of bytes of what a child is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToldSizes {
    /// The system prompt without its skills.
    pub system: u64,
    /// The skills in it.
    pub skills: u64,
    /// The message, with the conversation before it if there is one.
    pub message: u64,
}

/// The request that a child's model would get next, in bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct NextRequest {
    told: Option<Digest>,
    beginning: ToldSizes,
    /// The parts after the beginning, in their order.
    parts: Vec<(SpendCause, u64)>,
}

impl NextRequest {
    fn add(&mut self, cause: SpendCause, bytes: u64) {
        match self.parts.last_mut() {
            Some((last, sum)) if *last == cause => *sum = sum.saturating_add(bytes),
            _ => self.parts.push((cause, bytes)),
        }
    }

    /// Returns the parts of the request as a provider counts them: those that it read from a cache, and those that it did not.
    fn cached_and_fresh(&self, usage: &Usage) -> (SpentOn, SpentOn) {
        let (mut cached, mut fresh) = (SpentOn::default(), SpentOn::default());
        let beginning = [
            (SpendCause::System, self.beginning.system),
            (SpendCause::Skills, self.beginning.skills),
            (SpendCause::Task, self.beginning.message),
        ];
        let all = || beginning.iter().chain(&self.parts);
        let sum: u128 = all().map(|(_, bytes)| u128::from(*bytes)).sum();
        let uncached = u128::from(usage.input.saturating_add(usage.cache_write));
        let tokens = uncached + u128::from(usage.cached);
        let mut left = (sum * uncached).checked_div(tokens).unwrap_or(0);
        for (cause, bytes) in all().rev() {
            let of_fresh = u64::try_from(left).unwrap_or(u64::MAX).min(*bytes);
            left -= u128::from(of_fresh);
            fresh.add(*cause, of_fresh);
            cached.add(*cause, bytes - of_fresh);
        }
        (cached, fresh)
    }
}

impl ChildHistory {
    /// Notes what an event adds to the next request, and what it spent.
    pub(super) fn spend(
        &mut self,
        plan: &Plan,
        state: &State,
        event: &Event,
        of: &Attempt,
        sizes: &dyn TextSizes,
    ) {
        match &event.fact {
            Fact::Leased {
                effect, epoch: 1, ..
            } if effect.kind == EffectKind::Start => {
                self.begin(state, of, sizes);
            }
            Fact::Answered {
                outcome: Outcome::Sent { message },
                ..
            } => self.request.add(SpendCause::Task, sizes.of_text(message)),
            Fact::Returned { outcome, .. } => {
                let bytes = size_of(&outcome.content, sizes);
                self.request.add(SpendCause::Tools, bytes);
            }
            Fact::Compacted { .. } => self.request.parts.clear(),
            Fact::Turned { turn, .. } => self.turned(plan, state, event, of, turn, sizes),
            Fact::Wasted { usage, .. } => {
                self.lose(plan, state, event.at.wall, of, usage);
            }
            Fact::Answered {
                outcome: Outcome::Ended(ending),
                ..
            } => self.lose(plan, state, event.at.wall, of, &ending.lost),
            Fact::Used { usage, cost, .. } => {
                let mut tokens = SpentOn::default();
                tokens.add(SpendCause::Below, usage.counted());
                let cost = cost.map(|cost| {
                    let mut spent = SpentOn::default();
                    spent.add(SpendCause::Below, cost);
                    spent
                });
                let at = event.at.wall;
                self.spent.push(Spending { at, tokens, cost });
            }
            _ => {}
        }
    }

    /// An attempt begins: in the session of an earlier one, or from the beginning.
    fn begin(&mut self, state: &State, of: &Attempt, sizes: &dyn TextSizes) {
        let continues = state.attempt(of).and_then(|it| it.continues.as_ref());
        match continues.map(|it| &it.said) {
            None => {
                self.request.parts.clear();
                self.request.told = None;
            }
            Some(Said::Message(words) | Said::Answer(words)) => {
                self.request.add(SpendCause::Task, sizes.of_text(words));
            }
            Some(Said::Nothing | Said::Findings(_) | Said::Data(_)) => {}
        }
    }

    fn turned(
        &mut self,
        plan: &Plan,
        state: &State,
        event: &Event,
        of: &Attempt,
        turn: &Turn,
        sizes: &dyn TextSizes,
    ) {
        let told = state.attempt(of).and_then(|attempt| attempt.told);
        let told = told.or_else(|| plan.child(&of.node).map(|child| child.told));
        if let Some(told) = told.filter(|told| self.request.told != Some(*told)) {
            self.request.beginning = sizes.of_told(&told);
            self.request.told = Some(told);
        }
        if let Some(added) = &turn.added {
            let bytes = added.bytes as u64;
            let system = &mut self.request.beginning.system;
            *system = system.saturating_add(bytes);
        }
        let said = said_in(turn, sizes);
        let (cached, fresh) = self.request.cached_and_fresh(&turn.usage);
        for cause in [SpendCause::Thinking, SpendCause::Answers] {
            self.request.add(cause, said.of(cause));
        }
        let usage = &turn.usage;
        let input = usage.input.saturating_add(usage.cache_write);
        let output = usage.counted().saturating_sub(input);
        let of_output = output_by_cause(usage, output, &said);
        let mut tokens = fresh.divide(input, SpendCause::System);
        tokens.add_all(&of_output);
        let cost = prices_of(plan, state, of).map(|prices| {
            let of_fresh = prices.cost(&Usage {
                input: usage.input,
                cache_write: usage.cache_write,
                ..Usage::default()
            });
            let of_cached = prices.cost(&Usage {
                cached: usage.cached,
                ..Usage::default()
            });
            let rest = prices.cost(usage).saturating_sub(of_fresh + of_cached);
            let mut cost = fresh.divide(of_fresh, SpendCause::System);
            cost.add_all(&cached.divide(of_cached, SpendCause::System));
            cost.add_all(&of_output.divide(rest, SpendCause::Answers));
            cost
        });
        let at = event.at.wall;
        self.spent.push(Spending { at, tokens, cost });
    }

    fn lose(&mut self, plan: &Plan, state: &State, at: u64, of: &Attempt, usage: &Usage) {
        if usage.is_nothing() {
            return;
        }
        let lost = |amount: u64| {
            let mut spent = SpentOn::default();
            spent.add(SpendCause::Lost, amount);
            spent
        };
        let prices = prices_of(plan, state, of);
        self.spent.push(Spending {
            at,
            tokens: lost(usage.counted()),
            cost: prices.map(|prices| lost(prices.cost(usage))),
        });
    }
}

fn prices_of(plan: &Plan, state: &State, of: &Attempt) -> Option<Prices> {
    let model = state.attempt(of)?.model;
    plan.child(&of.node)?.facts(model).prices
}

/// The bytes of an answer: its thoughts, and everything else.
fn said_in(turn: &Turn, sizes: &dyn TextSizes) -> SpentOn {
    let mut said = SpentOn::default();
    let Body::Inline(content) = &turn.content else {
        said.add(SpendCause::Answers, size_of(&turn.content, sizes));
        return said;
    };
    for block in content.as_array().into_iter().flatten() {
        let cause = match block["kind"].as_str() {
            Some("thinking") => SpendCause::Thinking,
            _ => SpendCause::Answers,
        };
        let bytes = match block["text"].as_str() {
            Some(text) => text.len(),
            None => block.to_string().len(),
        };
        said.add(cause, bytes as u64);
    }
    said
}

/// The tokens of an answer by cause: thoughts as the provider counts them, or by their bytes.
fn output_by_cause(usage: &Usage, output: u64, said: &SpentOn) -> SpentOn {
    if usage.reasoning == 0 {
        return said.divide(output, SpendCause::Answers);
    }
    let thinking = usage.reasoning.min(output);
    let mut spent = SpentOn::default();
    spent.add(SpendCause::Thinking, thinking);
    spent.add(SpendCause::Answers, output - thinking);
    spent
}
