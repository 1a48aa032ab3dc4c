//! The course of a run, event by event: for each child the events that its transcript has, the phases that it went through, and
//! what it spent on what.
//!
//! It is an index: it holds numbers of events and sums, and no texts, so that a run of a hundred thousand events takes a few
//! megabytes. What an event says is read from the journal when it is shown.

mod phases;
mod spending;

use std::collections::BTreeMap;

use grove_spec::Digest;

use crate::advance::Step;
use crate::event::{Body, Event, Fact, Outcome};
use crate::ids::{Attempt, CallId, EffectKind, NodeId};
use crate::plan::Plan;
use crate::state::State;

pub use phases::{Phase, PhaseSpan};
pub use spending::{SpendCause, Spending, SpentOn, ToldSizes};

/// The lengths of texts that the journal names.
pub trait TextSizes {
    /// Returns the number of bytes of a text.
    fn of_text(&self, digest: &Digest) -> u64;
    /// Returns the numbers of bytes of what a child is told.
    fn of_told(&self, digest: &Digest) -> ToldSizes;
}

/// The course of a run.
#[derive(Debug, Clone, Default)]
pub struct RunHistory {
    children: BTreeMap<NodeId, ChildHistory>,
    /// Set once the run was told to stop, so that the end of every child is looked at once.
    is_stopping: bool,
}

/// The course of one child.
#[derive(Debug, Clone, Default)]
pub struct ChildHistory {
    /// The events of its transcript, in their order.
    pub marks: Vec<TranscriptMark>,
    /// The phases that it went through, in their order.
    pub phases: Vec<PhaseSpan>,
    /// The tokens and the money that it spent, in the order of time.
    pub spent: Vec<Spending>,
    /// The number of calls that failed.
    pub failed_calls: u32,
    /// Calls that have not returned, with their place among the marks.
    open: BTreeMap<(u32, CallId), usize>,
    request: spending::NextRequest,
}

/// An event of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptMark {
    /// The number of the event.
    pub seq: u64,
    /// For a call, the event with which it returned.
    pub end: Option<u64>,
    /// The attempt in which it happened; zero for none.
    pub attempt: u32,
    /// Set for a call of a tool.
    pub is_call: bool,
}

impl RunHistory {
    /// The course of a child, once something happened to it.
    pub fn child(&self, id: &NodeId) -> Option<&ChildHistory> {
        self.children.get(id)
    }

    /// Every child to which something happened, with its course.
    pub fn children(&self) -> impl Iterator<Item = (&NodeId, &ChildHistory)> {
        self.children.iter()
    }

    /// Takes in an event that led to a state.
    pub fn take(
        &mut self,
        plan: &Plan,
        state: &State,
        event: &Event,
        step: &Step,
        sizes: &dyn TextSizes,
    ) {
        // A list has no course of its own: its items have.
        let own = node_of(&event.fact).filter(|(of, _)| plan.child(&of.node).is_some());
        if let Some((of, _)) = &own {
            let child = self.children.entry(of.node.clone()).or_default();
            child.mark(event, of);
            child.spend(plan, state, event, of, sizes);
        }
        let effects = step.opened.iter().chain(&step.closed);
        let mut touched: Vec<&NodeId> = effects.map(|effect| &effect.of.node).collect();
        touched.extend(own.iter().map(|(of, _)| &of.node));
        let author = own.as_ref().and_then(|(of, _)| plan.reviews(&of.node));
        touched.extend(&author);
        let begins_to_stop = state.stop.is_some() && !self.is_stopping;
        self.is_stopping = state.stop.is_some();
        // A wish, a timer and a limit of the whole run may concern any child; everything else has an effect.
        let is_of_all = matches!(&event.fact, Fact::Wanted { .. } | Fact::Fired { .. });
        if is_of_all || begins_to_stop {
            touched.extend(state.nodes.keys());
        }
        touched.sort_unstable();
        touched.dedup();
        for id in touched {
            if plan.child(id).is_none() {
                continue;
            }
            let child = self.children.entry(id.clone()).or_default();
            child.enter_phase(state, id, event);
        }
    }
}

/// The attempt whose child an event is about, and true if the transcript of the child has it.
fn node_of(fact: &Fact) -> Option<(Attempt, bool)> {
    let whole = |node: &NodeId| Attempt {
        node: node.clone(),
        n: 0,
    };
    Some(match fact {
        Fact::Turned { of, .. }
        | Fact::Called { of, .. }
        | Fact::Noticed { of, .. }
        | Fact::Compacted { of, .. }
        | Fact::Delegated { of, .. }
        | Fact::Wasted { of, .. } => (of.clone(), true),
        Fact::Told { of, .. }
        | Fact::Found { of, .. }
        | Fact::Returned { of, .. }
        | Fact::Used { of, .. } => (of.clone(), false),
        Fact::Leased { effect, .. } | Fact::Gone { effect, .. } => {
            (effect.of.clone(), effect.kind == EffectKind::Start)
        }
        Fact::Answered {
            effect, outcome, ..
        } => {
            let is_shown = matches!(
                outcome,
                Outcome::Ended(_)
                    | Outcome::Sent { .. }
                    | Outcome::Checked(_)
                    | Outcome::Captured(_)
                    | Outcome::Conflicting { .. }
                    | Outcome::Impossible { .. }
            );
            (effect.of.clone(), is_shown)
        }
        Fact::Wanted { wish, .. } => (whole(wish.node()?), true),
        Fact::Fired { timer } if !timer.is_of_whole_run() => (timer.of.clone(), true),
        Fact::Fired { .. } | Fact::Submitted { .. } => return None,
    })
    .filter(|(of, _): &(Attempt, bool)| of.node != NodeId::whole_run())
}

impl ChildHistory {
    fn mark(&mut self, event: &Event, of: &Attempt) {
        match &event.fact {
            Fact::Called { call, .. } => {
                self.open.insert((of.n, call.id.clone()), self.marks.len());
            }
            Fact::Returned { call, outcome, .. } => {
                let at = self.open.remove(&(of.n, call.clone()));
                if let Some(mark) = at.and_then(|at| self.marks.get_mut(at)) {
                    mark.end = Some(event.seq);
                }
                self.failed_calls += u32::from(outcome.is_error);
            }
            _ => {}
        }
        if node_of(&event.fact).is_some_and(|(_, is_shown)| is_shown) {
            self.marks.push(TranscriptMark {
                seq: event.seq,
                end: None,
                attempt: of.n,
                is_call: matches!(event.fact, Fact::Called { .. }),
            });
        }
    }

    /// The place of an event of its transcript.
    pub fn place_of(&self, seq: u64) -> Option<usize> {
        self.marks.binary_search_by_key(&seq, |mark| mark.seq).ok()
    }

    /// The number of calls that it made.
    pub fn calls(&self) -> usize {
        self.marks.iter().filter(|mark| mark.is_call).count()
    }
}

/// The number of bytes of a value.
fn size_of(body: &Body, sizes: &dyn TextSizes) -> u64 {
    match body {
        Body::Inline(serde_json::Value::String(text)) => text.len() as u64,
        Body::Inline(value) => value.to_string().len() as u64,
        Body::Artifact(digest) => sizes.of_text(digest),
    }
}
