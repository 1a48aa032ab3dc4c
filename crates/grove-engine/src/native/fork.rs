//! The conversation of a child, for another child that begins with it.

use grove_plan::{Attempt, NodeId};
use grove_store::{LoadedRun, Store};
use serde_json::Value;

use super::compaction::Window;
use super::conversation::Conversation;
use crate::error::{EngineError, with_causes};
use crate::places::RunPlaces;
use crate::told;
use crate::tools::CONTACT_SUPERVISOR;

/// Tools whose calls mean nothing to a child that is forked from the one that made them.
const PARENTS_ONLY: [&str; 2] = ["subagent", CONTACT_SUPERVISOR];

/// Returns the conversation of a child so far, for one that is forked from it.
pub(crate) fn history(
    store: &Store,
    places: &RunPlaces,
    run: &LoadedRun,
    node: &NodeId,
) -> Result<Vec<Value>, EngineError> {
    let session = format!("{}.{node}", run.id);
    let attempts = run.state.nodes.get(node).map(|node| node.attempts.len());
    let n = attempts.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    let child = run.plan.child(node).filter(|_| n > 0);
    let Some(child) = child else {
        return Err(no_session(&session));
    };
    let not_readable = |why: String| {
        let message = format!("session `{session}` cannot be read: {why}");
        EngineError::usage(message).hint("start fresh, or fork from a child of engine `native`")
    };
    if child.engine != "native" {
        let why = format!("engine `{}` keeps it", child.engine);
        return Err(not_readable(why));
    }
    let node = node.clone();
    let of = Attempt { node, n };
    // The journal has the prompt and the message of an attempt that began.
    let nothing = |_: &NodeId| String::new();
    let told = told::of_attempt(store, places, run, &of, &nothing);
    let told = told
        .map_err(|error| not_readable(with_causes(&error)))?
        .told;
    let conversation = Conversation::of(store, run, &of, told, Window::new(None));
    let conversation = conversation.map_err(|error| not_readable(with_causes(&error)))?;
    let Some(messages) = conversation.for_fork(&PARENTS_ONLY) else {
        let message =
            format!("session `{session}` has no answer yet that a fork could start after");
        return Err(
            EngineError::usage(message).hint("wait until it has said something, or start fresh")
        );
    };
    let values = messages.iter().map(serde_json::to_value);
    let values: Result<Vec<Value>, _> = values.collect();
    values.map_err(|error| not_readable(error.to_string()))
}

/// The error about a session that is not there, or has not begun.
pub(crate) fn no_session(session: &str) -> EngineError {
    let message = format!("there is no session `{session}`");
    EngineError::usage(message).hint("`grove runs list` lists runs; a child is RUN.NODE")
}
