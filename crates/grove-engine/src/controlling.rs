//! Wishes for runs and children that were started before: pause, continue, steer, answer, stop, run again.

use grove_plan::{NodeId, NodeState, Wish};
use grove_runs::{ChildWish, ControlError, SubmittedRun, submit_again, wish_for_child};

use crate::calling_child::require_own;
use crate::error::EngineError;
use crate::journal::{RunJournal, parts_of};

impl From<ControlError> for EngineError {
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

/// A child of a run that a wish was recorded for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WishedChild {
    /// The id of the run.
    pub run: String,
    /// The child's place in its plan.
    pub node: NodeId,
}

impl RunJournal {
    /// Records a wish of the person for a child, `RUN` or `RUN.NODE`, and wakes its supervisor.
    pub fn want(&self, given: &str, wish: ChildWish) -> Result<WishedChild, EngineError> {
        let (run, node) = parts_of(given);
        let loaded = self.load(run)?;
        require_own(self, &loaded.id)?;
        let is_end = matches!(wish, ChildWish::Pause | ChildWish::Stop { .. });
        let is_about_work = wish != ChildWish::Discard;
        let node = wish_for_child(&self.store, &loaded, node.as_ref(), self.by, wish)?;
        if is_about_work {
            self.ensure(&self.surroundings(), &loaded.id)?;
        }
        if is_end {
            self.require_told_to_stop(&loaded.id)?;
        }
        Ok(WishedChild {
            run: loaded.id,
            node,
        })
    }

    /// Tells a run, or one child of it as `RUN.NODE`, to stop. Returns the run's state in words if it has ended already.
    pub fn stop(&self, given: &str, now: bool) -> Result<StopOutcome, EngineError> {
        if parts_of(given).1.is_some() {
            let child = self.want(given, ChildWish::Stop { now })?;
            return Ok(StopOutcome {
                run: child.run,
                node: Some(child.node),
                ended: None,
            });
        }
        let loaded = self.load(given)?;
        require_own(self, &loaded.id)?;
        let ended = loaded.state.ended.map(|_| loaded.state.shown().to_owned());
        if ended.is_none() {
            self.wish(&loaded.id, Wish::Stop { now })?;
            self.ensure(&self.surroundings(), &loaded.id)?;
            self.require_told_to_stop(&loaded.id)?;
        }
        Ok(StopOutcome {
            run: loaded.id,
            node: None,
            ended,
        })
    }

    /// Tells every child of a run that is at work to pause.
    pub fn pause_all(&self, given: &str) -> Result<String, EngineError> {
        let loaded = self.load(given)?;
        require_own(self, &loaded.id)?;
        self.record(&loaded.id, Wish::Pause { node: None })?;
        self.ensure(&self.surroundings(), &loaded.id)?;
        self.require_told_to_stop(&loaded.id)?;
        Ok(loaded.id)
    }

    /// Submits the plan of an earlier run again, from a step on: the one that is named, else the first that is not done. That
    /// step may get another task.
    pub fn again(
        &self,
        given: &str,
        from: Option<&str>,
        task: Option<&str>,
    ) -> Result<SubmittedRun, EngineError> {
        if self.is_child() {
            let message = "a child runs nothing again";
            return Err(EngineError::usage(message).hint("ask for it as new work"));
        }
        let (run, named) = parts_of(given);
        let earlier = self.load(run)?;
        let from = match (from, named) {
            (Some(_), Some(_)) => {
                let message = "a step is named twice, in RUN.NODE and by --from";
                return Err(EngineError::usage(message).hint("keep one of them"));
            }
            (from, named) => from.map(NodeId::from).or(named),
        };
        if earlier.state.ended.is_none() {
            let message = format!("run {} is not over", earlier.id);
            return Err(EngineError::finding(message)
                .hint(format!("`grove runs wait {}` waits for it", earlier.id)));
        }
        let is_done = |id: &NodeId| earlier.state.nodes.get(id).is_some_and(NodeState::is_done);
        let nodes = earlier.plan.nodes.iter();
        let mut steps = nodes.filter(|node| node.reviews.is_none());
        let first = steps.find(|node| !is_done(&node.id));
        let Some(from) = from.or_else(|| first.map(|first| first.id.clone())) else {
            let message = format!("everything in run {} is done", earlier.id);
            let hint = "name the step to begin with: `--from 1` repeats everything";
            return Err(EngineError::finding(message).hint(hint));
        };
        let surroundings = self.surroundings();
        let submitted = submit_again(&self.store, &earlier, &from, task, &surroundings)?;
        self.ensure(&surroundings, &submitted.id)?;
        Ok(submitted)
    }
}

/// The outcome of telling a run to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopOutcome {
    /// The id of the run.
    pub run: String,
    /// The child that was meant, where it was one alone.
    pub node: Option<NodeId>,
    /// The state of the run in words, where it had ended already.
    pub ended: Option<String>,
}
