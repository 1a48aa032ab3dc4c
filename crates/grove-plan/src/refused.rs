//! The reasons for which a journal cannot go on with an event.

use crate::ids::{CallId, EffectId, NodeId};
use crate::state::Cause;

/// The reason why an event was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The event is not the next one.
    #[error("event {given} does not follow event {last}")]
    OutOfOrder {
        /// The number of the last event that was taken.
        last: u64,
        /// The number of this event.
        given: u64,
    },
    /// The event was taken before.
    #[error("it was recorded before")]
    Duplicate,
    /// The first event is not the submission, or a later one is.
    #[error("a run begins with its submission, and only there")]
    Misplaced,
    /// No effect with this id is to be done.
    #[error("{0} is not open")]
    NotOpen(EffectId),
    /// Another process holds the effect.
    #[error("{0} is held")]
    Held(EffectId),
    /// The remains of its last holder are not ended yet.
    #[error("{0} is being recovered")]
    Recovering(EffectId),
    /// The process that reports no longer holds the effect.
    #[error("epoch {given} of {effect} is not its epoch {current}")]
    OldEpoch {
        /// The effect that is reported on.
        effect: EffectId,
        /// The epoch of the report.
        given: u32,
        /// The epoch in force.
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
    /// The child asked nothing, or has its answer.
    #[error("child {0} asks nothing")]
    NotAsking(NodeId),
    /// The child has no stored work, or is at work on it.
    #[error("child {0} has no stored work")]
    NoWork(NodeId),
    /// The work of another child begins with that of this one, so that it is in the other's patch, too.
    #[error("the work of child {1} begins with that of child {0}: discard that of {1} first")]
    BuiltUpon(NodeId, NodeId),
    /// The child cannot go on, since nothing is left that it may spend.
    #[error("it cannot go on: {0}")]
    Spent(Cause),
    /// Runs may not be any deeper.
    #[error("runs may be {0} deep, and this one would be deeper: do the work yourself")]
    TooDeep(u64),
    /// There are as many children as there may be.
    #[error(
        "a run and those below it may have {0} children, and these would be more: do the work yourself"
    )]
    TooMany(u64),
    /// The child may not call tools so often.
    #[error("call {} is beyond the limit", .0.0)]
    BeyondLimit(CallId),
}

/// A journal that cannot be folded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} cannot follow what is before it: {why}")]
pub struct Damaged {
    /// The number of the event.
    pub seq: u64,
    /// The reason why it was refused.
    pub why: Refused,
}
