//! Sessions as files, and conversations that children are forked from.

use grove_plan::NodeId;
use grove_runs::{ForkError, history, write_session};
use grove_skills::Environment;
use serde_json::Value;

use super::Runs;
use super::controlling::parts_of;
use super::marks::child_of;
use crate::command_error::CommandError;
use crate::commands::Outcome;
use crate::output::Output;

impl From<ForkError> for CommandError {
    fn from(error: ForkError) -> Self {
        let hint = match &error {
            ForkError::NoSession(_) => "`grove runs list` lists runs; a child is RUN.NODE",
            ForkError::NoLeaf(_) => "wait until it has said something, or start fresh",
            ForkError::NotReadable { .. } => "start fresh, or fork from a child of engine `native`",
        };
        Self::usage(error).hint(hint)
    }
}

/// The conversation that children are forked from; `named` is a session, or nothing where this process is a child.
pub(super) fn forked_from(
    environment: &Environment,
    named: &str,
) -> Result<Vec<Value>, CommandError> {
    let runs = Runs::open(environment)?;
    let own = child_of(environment);
    let (run, node) = match (named, &own) {
        ("", Some(own)) => (own.run.as_str(), Some(own.of.node.clone())),
        ("", None) => {
            let message =
                "there is nothing to fork from: this is not a child, and no session is named";
            return Err(CommandError::usage(message)
                .hint("name one: `--fork=RUN.NODE`, or `\"context\": \"fork:RUN.NODE\"`"));
        }
        (named, _) => parts_of(named),
    };
    let loaded = runs
        .load(run)
        .map_err(|_| CommandError::from(ForkError::NoSession(run.to_owned())))?;
    let last = loaded.plan.nodes.last().map(|node| node.id.clone());
    let node = node.or(last).unwrap_or_else(|| NodeId::step(1));
    Ok(history(&runs.store, &runs.places, &loaded, &node)?)
}

/// Prints where the file of a session is.
pub(super) fn print_session(runs: &Runs, given: &str, out: &mut Output) -> Outcome {
    let (run, node) = parts_of(given);
    let loaded = runs.load(run)?;
    let last = loaded.plan.nodes.last().map(|node| node.id.clone());
    let node = node.or(last).unwrap_or_else(|| NodeId::step(1));
    let path = write_session(&runs.store, &runs.places, &loaded, &node);
    let path = path.map_err(CommandError::finding)?;
    out.line(&path.display().to_string());
    Ok(0)
}
