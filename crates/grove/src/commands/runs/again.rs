//! `grove runs again`: a plan that was run is run once more, from a step on.

use grove_plan::{NodeId, NodeState};
use grove_runs::submit_again;
use grove_skills::Environment;

use super::controlling::parts_of;
use super::following::Following;
use super::{ModelSettings, Runs};
use crate::args::GoOnArgs;
use crate::command_error::CommandError;
use crate::commands::Outcome;
use crate::output::Output;

pub(super) fn run(
    environment: &Environment,
    runs: &Runs,
    arguments: &GoOnArgs,
    from: Option<&str>,
    out: &mut Output,
) -> Outcome {
    if runs.is_child {
        let message = "a child runs nothing again";
        return Err(CommandError::usage(message).hint("ask for it as new work"));
    }
    let (run, named) = parts_of(&arguments.run);
    let earlier = runs.load(run)?;
    let from = match (from, named) {
        (Some(_), Some(_)) => {
            let message = "a step is named twice, in RUN.NODE and by --from";
            return Err(CommandError::usage(message).hint("keep one of them"));
        }
        (from, named) => from.map(NodeId::from).or(named),
    };
    if earlier.state.ended.is_none() {
        let message = format!("run {} is not over", earlier.id);
        return Err(CommandError::finding(message)
            .hint(format!("`grove runs wait {}` waits for it", earlier.id)));
    }
    let is_done = |id: &NodeId| earlier.state.nodes.get(id).is_some_and(NodeState::is_done);
    let mut steps = earlier
        .plan
        .nodes
        .iter()
        .filter(|node| node.reviews.is_none());
    let first = steps.find(|node| !is_done(&node.id));
    let Some(from) = from.or_else(|| first.map(|first| first.id.clone())) else {
        let message = format!("everything in run {} is done", earlier.id);
        let hint = "name the step to begin with: `--from 1` repeats everything";
        return Err(CommandError::finding(message).hint(hint));
    };
    let surroundings = ModelSettings::find(environment).surroundings();
    let submitted = submit_again(&runs.store, &earlier, &from, &surroundings)?;
    runs.ensure(&surroundings, &submitted.id)?;
    if arguments.background {
        out.line(&submitted.id);
        return Ok(0);
    }
    let following = Following {
        environment,
        runs,
        run: &submitted.id,
        surroundings: &surroundings,
        json: arguments.json,
        timeout: None,
    };
    following.follow(out)
}
