//! Why a journal does not go on so.

use crate::ids::{CallId, EffectId, NodeId};
use crate::state::Cause;

/// Why an event was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not the next one.
    #[error("event {given} does not follow event {last}")]
    OutOfOrder {
        /// The last one that was taken.
        last: u64,
        /// This one.
        given: u64,
    },
    /// It was taken before.
    #[error("it was recorded before")]
    Duplicate,
    /// The first event is not the submission, or a later one is.
    #[error("a run begins with its submission, and only there")]
    Misplaced,
    /// Nobody waits for this effect.
    #[error("{0} is not open")]
    NotOpen(EffectId),
    /// Somebody else has it.
    #[error("{0} is held")]
    Held(EffectId),
    /// What is left of its last holder is not ended yet.
    #[error("{0} is being recovered")]
    Recovering(EffectId),
    /// Whoever reports is no longer the one who does it.
    #[error("epoch {given} of {effect} is not its epoch {current}")]
    OldEpoch {
        /// The effect.
        effect: EffectId,
        /// The epoch that reports.
        given: u32,
        /// The one in force.
        current: u32,
    },
    /// The outcome is that of another kind of effect.
    #[error("this outcome is not one of {0}")]
    WrongOutcome(EffectId),
    /// There is no such call, or it has returned.
    #[error("call {} is not open", .0.0)]
    NoSuchCall(CallId),
    /// The run is not over.
    #[error("the run is not over")]
    NotOver,
    /// The plan has no such node.
    #[error("there is no child {0}")]
    NoSuchNode(NodeId),
    /// Only a child that works can be paused or told something.
    #[error("child {0} is not at work")]
    NotAtWork(NodeId),
    /// Only a child that waits or has ended can go on.
    #[error("child {0} neither waits nor has ended")]
    NotWaiting(NodeId),
    /// It asked nothing, or has its answer.
    #[error("child {0} asks nothing")]
    NotAsking(NodeId),
    /// It cannot go on, since nothing is left that it may spend.
    #[error("it cannot go on: {0}")]
    Spent(Cause),
    /// Runs are not asked for any deeper.
    #[error("runs may be {0} deep, and this one would be deeper: do the work yourself")]
    TooDeep(u64),
    /// There are as many children as there may be.
    #[error(
        "a run and those below it may have {0} children, and these would be more: do the work yourself"
    )]
    TooMany(u64),
    /// It may not call tools so often.
    #[error("call {} is beyond the limit", .0.0)]
    BeyondLimit(CallId),
}

/// A journal that cannot be folded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} cannot follow what is before it: {why}")]
pub struct Damaged {
    /// The event.
    pub seq: u64,
    /// Why it was refused.
    pub why: Refused,
}
