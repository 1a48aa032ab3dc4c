//! Wishes for runs and children that were started before: pause, continue, steer, answer, stop, run again.

use grove_exec::Program;
use grove_plan::{Execution, Fact, NodeId, NodeState, Wish};
use grove_spec::Digest;
use grove_store::{LoadedRun, Store, StoreError};

use crate::calling_child::require_own;
use crate::driving::draft;
use crate::error::EngineError;
use crate::identity::new_run_id;
use crate::journal::{RunJournal, parts_of};
use crate::submission::{SubmittedRun, submit_again};

/// A wish for one child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildWish {
    /// The child is to pause.
    Pause,
    /// The child is to end, and the others are to go on.
    Stop {
        /// True if it gets no time to end by itself.
        now: bool,
    },
    /// The stored work of the child is not to be applied with that of the others.
    Discard,
    /// The child is to go on, with a message if there is one.
    Resume(Option<String>),
    /// The child is to receive a message while it works.
    Steer(String),
    /// The child is to have the answer to its question.
    Answer(String),
}

/// A child of a run that a wish was recorded for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WishedChild {
    /// The id of the run.
    pub run: String,
    /// The child's place in its plan.
    pub node: NodeId,
}

impl std::fmt::Display for WishedChild {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "child {} of run {}", self.node, self.run)
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

impl std::fmt::Display for StopOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let run = &self.run;
        match (&self.node, &self.ended) {
            (Some(node), _) => write!(f, "child {node} of run {run} has been told to stop"),
            (None, Some(state)) => write!(f, "run {run} has already ended ({state})"),
            (None, None) => write!(f, "run {run} has been told to stop"),
        }
    }
}

impl RunJournal {
    /// Records a wish of the person for a child, `RUN` or `RUN.NODE`, and wakes its supervisor.
    pub fn want(&self, given: &str, wish: ChildWish) -> Result<WishedChild, EngineError> {
        require_own(self, &self.find(parts_of(given).0)?)?;
        self.want_by(given, self.by, wish)
    }

    /// The same for a caller that may do it, under its name. If no child is named, it is the only one that the wish can be
    /// for.
    pub(crate) fn want_by(
        &self,
        given: &str,
        by: &str,
        wish: ChildWish,
    ) -> Result<WishedChild, EngineError> {
        let (run, named) = parts_of(given);
        let run = self.load(run)?;
        let node = match named {
            Some(node)
                if run.state.nodes.contains_key(&node) && run.plan.child(&node).is_some() =>
            {
                node
            }
            Some(node) => return Err(no_such_child(&run.id, &node, run.state.nodes.keys())),
            None => meant(&run, &wish)?,
        };
        let child = run.plan.child(&node);
        let program = child.and_then(|child| Program::named(&child.engine));
        // A program reads one message, at its beginning.
        if let Some(program) = program.filter(|_| matches!(wish, ChildWish::Steer(_))) {
            let message = format!("{} cannot receive messages while it works", program.title);
            return Err(EngineError::usage(message).hint(
                "stop it and continue it with `grove runs resume`, or use `--engine native`",
            ));
        }
        let is_end = matches!(wish, ChildWish::Pause | ChildWish::Stop { .. });
        let is_about_work = wish != ChildWish::Discard;
        let (wish, artifacts) = as_recorded(wish, node.clone());
        record_wish(&self.store, &run.id, by, wish, artifacts)?;
        if is_about_work {
            self.have_done(&run.id)?;
        }
        if is_end {
            self.require_told_to_stop(&run.id)?;
        }
        Ok(WishedChild { run: run.id, node })
    }

    /// Tells a run of the person, or one child of it as `RUN.NODE`, to stop.
    pub fn stop(&self, given: &str, now: bool) -> Result<StopOutcome, EngineError> {
        require_own(self, &self.find(parts_of(given).0)?)?;
        self.stop_by(given, self.by, now)
    }

    /// Tells a run or a child of it to stop, for a caller that may do it. A run that is over stays as it is.
    pub(crate) fn stop_by(
        &self,
        given: &str,
        by: &str,
        now: bool,
    ) -> Result<StopOutcome, EngineError> {
        if parts_of(given).1.is_some() {
            let child = self.want_by(given, by, ChildWish::Stop { now })?;
            return Ok(StopOutcome {
                run: child.run,
                node: Some(child.node),
                ended: None,
            });
        }
        let loaded = self.load(given)?;
        let ended = loaded.state.ended.map(|_| loaded.state.shown().to_owned());
        if ended.is_none() {
            self.wish_by(&loaded.id, by, Wish::Stop { now })?;
            self.have_done(&loaded.id)?;
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
        let id = self.find(given)?;
        require_own(self, &id)?;
        record_wish(
            &self.store,
            &id,
            self.by,
            Wish::Pause { node: None },
            Vec::new(),
        )?;
        self.have_done(&id)?;
        self.require_told_to_stop(&id)?;
        Ok(id)
    }

    /// Records a wish of the person for a whole run. A wish that comes too late changes nothing.
    pub fn wish(&self, run: &str, wish: Wish) -> Result<(), EngineError> {
        self.wish_by(run, self.by, wish)
    }

    fn wish_by(&self, run: &str, by: &str, wish: Wish) -> Result<(), EngineError> {
        match record_wish(&self.store, run, by, wish, Vec::new()) {
            Err(error) if !error.is_refusal() => Err(error.into()),
            _ => Ok(()),
        }
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

fn as_recorded(wish: ChildWish, node: NodeId) -> (Wish, Vec<Vec<u8>>) {
    let (text, wish): (_, fn(NodeId, Digest) -> Wish) = match wish {
        ChildWish::Pause => return (Wish::Pause { node: Some(node) }, Vec::new()),
        ChildWish::Stop { now } => return (Wish::StopChild { node, now }, Vec::new()),
        ChildWish::Discard => return (Wish::Discard { node }, Vec::new()),
        ChildWish::Resume(None) => {
            let message = None;
            return (Wish::Resume { node, message }, Vec::new());
        }
        ChildWish::Resume(Some(text)) => (text, |node, text| Wish::Resume {
            node,
            message: Some(text),
        }),
        ChildWish::Steer(text) => (text, |node, message| Wish::Steer { node, message }),
        ChildWish::Answer(text) => (text, |node, answer| Wish::Answer { node, answer }),
    };
    let bytes = text.into_bytes();
    (wish(node, Digest::of(&bytes)), vec![bytes])
}

/// The error about a child that a run does not have.
pub(crate) fn no_such_child<'a>(
    run: &str,
    node: &NodeId,
    all: impl Iterator<Item = &'a NodeId>,
) -> EngineError {
    let message = format!("run {run} has no child `{node}`");
    EngineError::finding(message).hint(format!("it has {}", names(all)))
}

fn names<'a>(nodes: impl Iterator<Item = &'a NodeId>) -> String {
    nodes.map(NodeId::as_str).collect::<Vec<_>>().join(", ")
}

fn meant(run: &LoadedRun, wish: &ChildWish) -> Result<NodeId, EngineError> {
    let (fits, lacks): (fn(&Execution) -> bool, _) = match wish {
        ChildWish::Pause | ChildWish::Steer(_) => (
            |it| matches!(it, Execution::Queued | Execution::Running),
            "is at work",
        ),
        ChildWish::Stop { .. } => (|it| !it.is_terminal(), "is to be done or at work"),
        ChildWish::Answer(_) => (|it| matches!(it, Execution::Asking(_)), "asks anything"),
        ChildWish::Discard => (Execution::is_terminal, "has ended"),
        ChildWish::Resume(_) => (
            |it| it.is_waiting() || it.is_terminal(),
            "waits or has ended",
        ),
    };
    let of = |fits: fn(&Execution) -> bool| -> Vec<&NodeId> {
        let nodes = run.state.nodes.iter();
        let fitting = nodes.filter(|(_, node)| fits(&node.execution));
        fitting.map(|(id, _)| id).collect()
    };
    // A child that waits is meant before one that has ended.
    let waiting = of(Execution::is_waiting);
    let fitting = match wish {
        ChildWish::Resume(_) if !waiting.is_empty() => waiting,
        _ => of(fits),
    };
    let run = &run.id;
    match fitting.as_slice() {
        [] => Err(
            EngineError::finding(format!("no child of run {run} {lacks}"))
                .hint(format!("`grove runs show {run}` shows how far each one is")),
        ),
        [one] => Ok((*one).clone()),
        several => {
            let message = format!("run {run} has several children that this could mean");
            let names = names(several.iter().copied());
            Err(EngineError::usage(message).hint(format!("name one as {run}.NODE: {names}")))
        }
    }
}

/// Tells a run to stop; one that is over stays as it is.
pub(crate) fn stop_run(store: &Store, run: &str, by: &str) {
    let _ = record_wish(store, run, by, Wish::Stop { now: false }, Vec::new());
}

fn record_wish(
    store: &Store,
    run: &str,
    by: &str,
    wish: Wish,
    artifacts: Vec<Vec<u8>>,
) -> Result<(), StoreError> {
    let fact = Fact::Wanted {
        by: by.to_owned(),
        id: new_run_id(),
        wish,
    };
    store.append(run, draft(fact, artifacts)).map(drop)
}
