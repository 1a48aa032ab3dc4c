//! The phases of a child: each is decided from the state alone, and lasts until the state says another.

use serde::Serialize;

use super::ChildHistory;
use crate::event::Event;
use crate::ids::{Attempt, EffectId, EffectKind, NodeId};
use crate::state::{Execution, NodeState, State};

/// What a child waits for or does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// It waits for a process that drives it.
    Waiting,
    /// Its working tree is made.
    Preparing,
    /// It is at work.
    Working,
    /// The process that drove it is gone, and the remains are ended.
    Recovering,
    /// Its work is stored and checked.
    Checking,
    /// Another child looks at its work.
    Reviewed,
    /// It waits for an answer.
    Asking,
    /// It waits until it is told to go on.
    Paused,
}

impl Phase {
    /// Every phase, in the order in which a legend has them.
    pub const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Preparing,
        Self::Working,
        Self::Recovering,
        Self::Checking,
        Self::Reviewed,
        Self::Asking,
        Self::Paused,
    ];

    /// The word for the phase.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Preparing => "preparing",
            Self::Working => "working",
            Self::Recovering => "recovering",
            Self::Checking => "checking",
            Self::Reviewed => "in review",
            Self::Asking => "asking",
            Self::Paused => "paused",
        }
    }

    /// The word for the phase without blanks, for data.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Reviewed => "reviewed",
            phase => phase.word(),
        }
    }

    /// Returns the phase of a node; none before it begins and after it ended.
    fn of(state: &State, id: &NodeId, node: &NodeState) -> Option<Self> {
        match node.execution {
            Execution::Paused(_) => return Some(Self::Paused),
            Execution::Asking(_) => return Some(Self::Asking),
            Execution::Queued | Execution::Running => {}
            _ => return None,
        }
        if node.is_reviewed {
            return Some(Self::Reviewed);
        }
        // Its open effects are beside each other, and there are few.
        let first = EffectId::new(
            &Attempt {
                node: id.clone(),
                n: 0,
            },
            EffectKind::Start,
            0,
        );
        let open = state.open.range(first..);
        let own = open.take_while(|(effect, _)| effect.of.node == *id);
        let mut start = None;
        for (effect, open) in own {
            match effect.kind {
                EffectKind::Make | EffectKind::Look => return Some(Self::Preparing),
                EffectKind::Verify | EffectKind::Capture | EffectKind::Remove => {
                    return Some(Self::Checking);
                }
                EffectKind::Start => start = Some(open.holder.is_some()),
                _ => {}
            }
        }
        let last = node.last();
        if last.is_some_and(|last| last.recovering) {
            return Some(Self::Recovering);
        }
        match start {
            Some(true) | None if last.is_some_and(|last| last.started.is_some()) => {
                Some(Self::Working)
            }
            _ => Some(Self::Waiting),
        }
    }
}

/// A phase with its beginning and its end, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseSpan {
    /// The phase that lasts so long.
    pub phase: Phase,
    /// The attempt at the child; zero before the first.
    pub attempt: u32,
    /// The time at which it began.
    pub from: u64,
    /// The time at which it ended; none while it lasts.
    pub until: Option<u64>,
}

impl ChildHistory {
    /// Notes the phase in which a child is after an event.
    pub(super) fn enter_phase(&mut self, state: &State, id: &NodeId, event: &Event) {
        let Some(node) = state.nodes.get(id) else {
            return;
        };
        let attempt = u32::try_from(node.attempts.len()).unwrap_or(u32::MAX);
        let now = Phase::of(state, id, node);
        let last = self.phases.last_mut().filter(|span| span.until.is_none());
        if last.as_ref().map(|it| (it.phase, it.attempt)) == now.map(|phase| (phase, attempt)) {
            return;
        }
        if let Some(last) = last {
            last.until = Some(event.at.wall.max(last.from));
        }
        self.phases.extend(now.map(|phase| PhaseSpan {
            phase,
            attempt,
            from: event.at.wall,
            until: None,
        }));
    }
}
