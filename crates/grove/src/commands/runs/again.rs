//! `grove runs again`: a plan that was run is run once more, from a step on.

use grove_plan::{NodeId, NodeState};
use grove_runs::submit_again;
use grove_skills::Environment;

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
    let earlier = runs.load(&arguments.run)?;
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
    let from = match (from, first) {
        (Some(named), _) => NodeId::from(named),
        (None, Some(first)) => first.id.clone(),
        (None, None) => NodeId::step(1),
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
