//! `grove runs interrupt | resume | steer | answer`: what a person wants of a child that was started before.

use grove_plan::NodeId;
use grove_runs::{ChildWish, ControlError, wish_for_child};
use grove_skills::Environment;

use super::following::Following;
use super::marks::require_own;
use super::{ModelSettings, Runs};
use crate::args::GoOnArgs;
use crate::command_error::CommandError;
use crate::commands::Outcome;
use crate::output::Output;

/// A child as it is typed: `RUN`, or `RUN.NODE`.
pub(super) fn parts_of(given: &str) -> (&str, Option<NodeId>) {
    match given.split_once('.') {
        Some((run, node)) => (run, Some(NodeId::from(node))),
        None => (given, None),
    }
}

impl From<ControlError> for CommandError {
    fn from(error: ControlError) -> Self {
        let names = |names: &[NodeId]| {
            let names: Vec<&str> = names.iter().map(NodeId::as_str).collect();
            names.join(", ")
        };
        match error {
            ControlError::Store(error) => error.into(),
            ControlError::NoSuchChild { names: ref all, .. } => {
                let hint = format!("it has {}", names(all));
                Self::finding(error).hint(hint)
            }
            ControlError::Several {
                ref run,
                names: ref all,
            } => {
                let hint = format!("name one as {run}.NODE: {}", names(all));
                Self::usage(error).hint(hint)
            }
            ControlError::Engine { .. } => Self::usage(error)
                .hint("stop it and continue it with `grove runs resume`, or use `--engine native`"),
            ControlError::Nobody { ref run, .. } => {
                let hint = format!("`grove runs show {run}` shows how far each one is");
                Self::finding(error).hint(hint)
            }
            ControlError::Refused(_) => Self::finding(error),
        }
    }
}

/// Records a wish, and sees to it that somebody does what follows. Gives the run and the child.
pub(super) fn want(
    environment: &Environment,
    runs: &Runs,
    given: &str,
    wish: ChildWish,
) -> Result<(String, NodeId), CommandError> {
    let (run, node) = parts_of(given);
    let loaded = runs.load(run)?;
    require_own(environment, runs, &loaded.id)?;
    let is_pause = wish == ChildWish::Pause;
    let node = wish_for_child(&runs.store, &loaded, node.as_ref(), "a terminal", wish)?;
    let surroundings = ModelSettings::find(environment).surroundings();
    runs.ensure(&surroundings, &loaded.id)?;
    if is_pause {
        runs.require_told_to_stop(&loaded.id)?;
    }
    Ok((loaded.id, node))
}

/// Something that is recorded and done when the child comes to it.
pub(super) fn tell(
    environment: &Environment,
    runs: &Runs,
    given: &str,
    wish: ChildWish,
    out: &mut Output,
) -> Outcome {
    let is_pause = wish == ChildWish::Pause;
    let (run, node) = want(environment, runs, given, wish)?;
    out.line(&if is_pause {
        format!("child {node} of run {run} has been told to pause; `grove runs resume {run}.{node}` continues it")
    } else {
        format!("child {node} of run {run} gets the message before its next step")
    });
    Ok(0)
}

/// Lets a child go on, and follows it.
pub(super) fn go_on(
    environment: &Environment,
    runs: &Runs,
    arguments: &GoOnArgs,
    wish: ChildWish,
    out: &mut Output,
) -> Outcome {
    let (run, _) = want(environment, runs, &arguments.run, wish)?;
    if arguments.background {
        out.line(&run);
        return Ok(0);
    }
    let following = Following {
        environment,
        runs,
        run: &run,
        surroundings: &ModelSettings::find(environment).surroundings(),
        json: arguments.json,
        timeout: None,
    };
    following.follow(out)
}
