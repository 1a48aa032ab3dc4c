//! The conversation of a child, for another child that begins with it.

use grove_plan::{Attempt, NodeId};
use grove_store::{LoadedRun, Store};
use serde_json::Value;

use super::compaction::Window;
use super::conversation::Conversation;
use crate::places::RunPlaces;
use crate::told;
use crate::tools::CONTACT_SUPERVISOR;

/// Tools whose calls mean nothing to a child that is forked from the one that made them.
const PARENTS_ONLY: [&str; 2] = ["subagent", CONTACT_SUPERVISOR];

/// The reasons why no child can be forked from a session.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The run has no such child, or it has not begun.
    #[error("there is no session `{0}`")]
    NoSession(String),
    /// The session has no answer yet.
    #[error("session `{0}` has no answer yet that a fork could start after")]
    NoLeaf(String),
    /// The session is kept by an agent program, or cannot be read.
    #[error("session `{session}` cannot be read: {why}")]
    NotReadable {
        /// The name of the session.
        session: String,
        /// The reason in words.
        why: String,
    },
}

/// Returns the conversation of a child so far, for one that is forked from it.
pub(crate) fn history(
    store: &Store,
    places: &RunPlaces,
    run: &LoadedRun,
    node: &NodeId,
) -> Result<Vec<Value>, ForkError> {
    let session = format!("{}.{node}", run.id);
    let attempts = run.state.nodes.get(node).map(|node| node.attempts.len());
    let n = attempts.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    let child = run.plan.child(node).filter(|_| n > 0);
    let Some(child) = child else {
        return Err(ForkError::NoSession(session));
    };
    let not_readable = |why: String| ForkError::NotReadable {
        session: session.clone(),
        why,
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
    let told = told.map_err(|error| not_readable(error.to_string()))?.told;
    let conversation = Conversation::of(store, run, &of, told, Window::new(None));
    let conversation = conversation.map_err(|error| not_readable(error.to_string()))?;
    let messages = conversation.for_fork(&PARENTS_ONLY);
    let messages = messages.ok_or_else(|| ForkError::NoLeaf(session.clone()))?;
    let values = messages.iter().map(serde_json::to_value);
    let values: Result<Vec<Value>, _> = values.collect();
    values.map_err(|error| not_readable(error.to_string()))
}
