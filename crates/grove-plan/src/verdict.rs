//! The meaning of an ending. The runtime owns the verdict: a child's statement about itself is not considered.

use crate::event::Finish;
use crate::plan::Child;
use crate::state::{AttemptState, Cause, Execution, StopReason};

/// Decides what became of an attempt of which nothing is left running.
pub(crate) fn of_attempt(child: &Child, attempt: &AttemptState) -> Execution {
    match &attempt.stopping {
        // A child that was told to stop was stopped, whatever it says and however it ended.
        Some(StopReason::Limit { cause }) => return Execution::Failed(cause.clone()),
        Some(why @ (StopReason::Wanted { .. } | StopReason::WantedOfChild { .. })) => {
            return Execution::Stopped(why.clone());
        }
        // A child that had ended by itself before it heard of the pause has ended.
        Some(why @ StopReason::Paused { .. }) if !has_ended(attempt) => {
            return Execution::Paused(why.clone());
        }
        Some(StopReason::Paused { .. }) | None => {}
    }
    let Some(ending) = &attempt.ending else {
        return Execution::Lost(format!(
            "its supervisor disappeared {} times",
            attempt.recoveries.saturating_add(1)
        ));
    };
    match &ending.finish {
        Finish::Failed(cause) => Execution::Failed(cause.clone()),
        Finish::Asked(question) => Execution::Asking(question.clone()),
        Finish::Interrupted => Execution::Lost("it was interrupted without a request".to_owned()),
        Finish::Answered if child.schema.is_some() && ending.output.structured.is_none() => {
            Execution::Failed(Cause::Schema {
                message: "no structured output was given".to_owned(),
            })
        }
        Finish::Answered if ending.output.text.is_none() && ending.output.structured.is_none() => {
            Execution::Failed(Cause::NoAnswer { why: String::new() })
        }
        Finish::Answered => Execution::Complete,
    }
}

fn has_ended(attempt: &AttemptState) -> bool {
    let finish = attempt.ending.as_ref().map(|ending| &ending.finish);
    finish.is_some_and(|finish| *finish != Finish::Interrupted)
}

/// The model that goes on when an attempt failed, if one may go on.
pub(crate) fn next_model(child: &Child, attempt: &AttemptState) -> Option<usize> {
    let Execution::Failed(Cause::Model { failure, .. }) = of_attempt(child, attempt) else {
        return None;
    };
    if attempt.stopping.is_some() {
        return None;
    }
    let may = failure.is_the_providers() && (!attempt.wrote || child.fallback_after_writes);
    let next = attempt.model.saturating_add(1);
    (may && next < child.models.len()).then_some(next)
}
