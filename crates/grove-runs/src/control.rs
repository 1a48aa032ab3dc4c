//! Wishes about a child that was started before: to pause, to go on, to receive a message, to have its answer.

use grove_exec::{Program, now};
use grove_plan::{Execution, Fact, NodeId, Refused, Wish};
use grove_spec::Digest;
use grove_store::{Draft, LoadedRun, Store, StoreError};

use crate::identity::new_run_id;

/// A wish for one child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildWish {
    /// The child is to pause.
    Pause,
    /// The child is to end, and the others are to go on.
    Stop {
        /// Set if it gets no time to end by itself.
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

/// The reasons why a wish was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The run has no such child.
    #[error("run {run} has no child `{node}`")]
    NoSuchChild {
        /// The id of the run.
        run: String,
        /// The child that was named.
        node: NodeId,
        /// The children that the run has.
        names: Vec<NodeId>,
    },
    /// No child of the run is in the state that the wish needs.
    #[error("no child of run {run} {lacks}")]
    Nobody {
        /// The id of the run.
        run: String,
        /// The state that no child has.
        lacks: &'static str,
    },
    /// More than one child could be meant.
    #[error("run {run} has several children that this could mean")]
    Several {
        /// The id of the run.
        run: String,
        /// The children that could be meant.
        names: Vec<NodeId>,
    },
    /// The engine of the child cannot do what the wish asks.
    #[error("{title} cannot receive messages while it works")]
    Engine {
        /// The program's name for people.
        title: &'static str,
    },
    /// The run's state does not allow it.
    #[error(transparent)]
    Refused(Refused),
    /// The journal could not be written.
    #[error(transparent)]
    Store(StoreError),
}

/// Records a wish for a child of a run. If none is named, it is the only child that the wish can be for.
pub fn wish_for_child(
    store: &Store,
    run: &LoadedRun,
    named: Option<&NodeId>,
    by: &str,
    wish: ChildWish,
) -> Result<NodeId, ControlError> {
    let node = match named {
        Some(node) if run.state.nodes.contains_key(node) && run.plan.child(node).is_some() => {
            node.clone()
        }
        Some(node) => {
            return Err(ControlError::NoSuchChild {
                run: run.id.clone(),
                node: node.clone(),
                names: run.state.nodes.keys().cloned().collect(),
            });
        }
        None => meant(run, &wish)?,
    };
    let engine = run
        .plan
        .child(&node)
        .and_then(|it| Program::named(&it.engine));
    // A program reads one message, at its beginning.
    let is_steer = matches!(wish, ChildWish::Steer(_));
    if let Some(program) = engine.filter(|_| is_steer) {
        return Err(ControlError::Engine {
            title: program.title,
        });
    }
    let mut artifacts = Vec::new();
    let mut stored = |text: String| {
        let bytes = text.into_bytes();
        let digest = Digest::of(&bytes);
        artifacts.push(bytes);
        digest
    };
    let of = node.clone();
    let wish = match wish {
        ChildWish::Pause => Wish::Pause { node: Some(of) },
        ChildWish::Stop { now } => Wish::StopChild { node: of, now },
        ChildWish::Discard => Wish::Discard { node: of },
        ChildWish::Resume(message) => Wish::Resume {
            node: of,
            message: message.map(&mut stored),
        },
        ChildWish::Steer(message) => Wish::Steer {
            node: of,
            message: stored(message),
        },
        ChildWish::Answer(answer) => Wish::Answer {
            node: of,
            answer: stored(answer),
        },
    };
    let fact = Fact::Wanted {
        by: by.to_owned(),
        id: new_run_id(),
        wish,
    };
    let draft = Draft {
        fact,
        artifacts,
        at: now(),
    };
    match store.append(&run.id, draft) {
        Ok(_) => Ok(node),
        Err(StoreError::Refused(refused)) => Err(ControlError::Refused(refused)),
        Err(error) => Err(ControlError::Store(error)),
    }
}

/// Returns the only child that a wish can be for.
fn meant(run: &LoadedRun, wish: &ChildWish) -> Result<NodeId, ControlError> {
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
    let of = |fits: fn(&Execution) -> bool| -> Vec<NodeId> {
        let nodes = run.state.nodes.iter();
        let fitting = nodes.filter(|(_, node)| fits(&node.execution));
        fitting.map(|(id, _)| id.clone()).collect()
    };
    // A child that waits is meant before one that has ended.
    let waiting = of(Execution::is_waiting);
    let names = match wish {
        ChildWish::Resume(_) if !waiting.is_empty() => waiting,
        _ => of(fits),
    };
    let run = run.id.clone();
    match names.as_slice() {
        [] => Err(ControlError::Nobody { run, lacks }),
        [one] => Ok(one.clone()),
        _ => Err(ControlError::Several { run, names }),
    }
}
