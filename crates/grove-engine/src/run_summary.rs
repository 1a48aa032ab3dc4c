//! A run in short, as lists have it: what waits for a person, what its children do now, how far it is and what it took.

use grove_plan::{Execution, LiveRun, NodeId};

use crate::watched_run::WatchedRun;

/// A child that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingChild {
    /// The id of its node.
    pub node: NodeId,
    /// The name that people read for it.
    pub name: String,
    /// The question that it asks; none for a child that is paused.
    pub question: Option<String>,
}

/// A run in short.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunSummary {
    /// The children that wait for a person, in the order of the plan.
    pub waiting: Vec<WaitingChild>,
    /// The activity of its first child at work.
    pub doing: Option<String>,
    /// The children that may need a person to look after them.
    pub in_need: usize,
    /// The children that are at work.
    pub at_work: usize,
    /// The children that are over.
    pub over: usize,
    /// All of its children.
    pub all: usize,
    /// The money that it took so far, in millionths, where prices are known.
    pub cost: Option<u64>,
}

impl WatchedRun {
    /// The run in short, from its picture at a moment.
    pub fn summary(live: &LiveRun<'_>) -> RunSummary {
        let mut summary = RunSummary {
            cost: live.cost,
            ..RunSummary::default()
        };
        for child in live.children() {
            summary.all += 1;
            summary.over += usize::from(child.state.is_terminal());
            summary.at_work += usize::from(child.is_at_work());
            summary.in_need += usize::from(child.attention.is_some());
            if child.state.is_waiting() {
                summary.waiting.push(WaitingChild {
                    node: child.id.clone(),
                    name: child.name.to_owned(),
                    question: child.question().map(|question| question.text.clone()),
                });
            }
            if *child.state == Execution::Running && summary.doing.is_none() {
                summary.doing = child.doing.map(str::to_owned);
            }
        }
        summary
    }
}
