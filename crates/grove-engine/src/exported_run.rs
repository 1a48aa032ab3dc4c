//! A run as data for other programs: its view, and for each child its prompt, what it did and what it changed. Everything comes
//! from the journal and its artifacts, where secrets are masked already, and everything is bounded.

use grove_plan::{Check, Contract, LiveRun, NodeId, RunView};
use grove_spec::money::amount;
use grove_spec::text::counted;
use serde::Serialize;
use serde_json::Value;

use crate::child_record::ToldParts;
use crate::error::EngineError;
use crate::journal::RunJournal;
use crate::transcript::{CutText, TextRoom, TranscriptItem};
use crate::watched_run::WatchedRun;

/// The most bytes of one text.
const MOST_TEXT: usize = 32 << 10;
/// The most bytes of one patch.
const MOST_PATCH: usize = 256 << 10;
/// The most bytes of all texts together.
const MOST_ALL: usize = 12 << 20;
/// The most things that one child did.
const MOST_DONE: usize = 300;
/// Children that are exported with everything they did.
const MOST_CHILDREN: usize = 250;

/// A run with everything that is exported of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedRun {
    /// The name of this form.
    pub schema: &'static str,
    /// The title of the run.
    pub title: String,
    /// The task of the run.
    pub task: String,
    /// The run as all views show it.
    pub run: RunView,
    /// The steps of its plan.
    pub steps: Vec<ExportedStep>,
    /// The children of the run.
    pub children: Vec<ExportedChild>,
    /// The ledger of the run.
    pub ledger: Value,
    /// Everything that has no room here, and its place.
    pub left_out: Vec<String>,
    /// The time of the run's last event, in milliseconds since 1970.
    pub last_event_at: u64,
}

/// A step of the graph.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedStep {
    /// Its place in the plan.
    pub id: NodeId,
    /// True if it has several children.
    pub is_group: bool,
    /// The steps that have to be complete before it.
    pub after: Vec<NodeId>,
    /// The ids of its children.
    pub children: Vec<NodeId>,
}

/// A child with everything it did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedChild {
    /// Its place in the plan.
    pub node: NodeId,
    /// The money that it spent.
    pub cost: Option<f64>,
    /// The tokens that limits count.
    pub tokens: u64,
    /// The level of acceptance that was asked for.
    pub asked: Option<&'static str>,
    /// The commands that had to succeed.
    pub commands: Vec<String>,
    /// The text that it was told.
    pub told: Option<ToldParts>,
    /// The things that it did, the first ones first.
    pub done: Vec<TranscriptItem>,
    /// The patch of its working tree.
    pub patch: Option<CutText>,
}

impl RunJournal {
    /// Puts everything together that is exported of a run.
    pub fn export(&self, given: &str) -> Result<ExportedRun, EngineError> {
        let loaded = self.load(given)?;
        let mut watched = WatchedRun::new(self, &loaded.id)?;
        watched.take_news(self, |_, _| {})?;
        let view = self.view(&loaded);
        let ledger = self.ledger_of(loaded).to_json();
        Export {
            journal: self,
            watched: &watched,
            room: TextRoom {
                left: MOST_ALL,
                ..TextRoom::each(MOST_TEXT)
            },
            left_out: Vec::new(),
        }
        .of(view, ledger)
    }
}

/// An export while it is put together.
struct Export<'a> {
    journal: &'a RunJournal,
    watched: &'a WatchedRun,
    room: TextRoom,
    left_out: Vec<String>,
}

impl Export<'_> {
    fn of(mut self, mut run: RunView, ledger: Value) -> Result<ExportedRun, EngineError> {
        let watched = self.watched;
        let last = watched.last_event_at;
        let live = LiveRun::of(&watched.plan, &watched.state, &|_| None, last);
        let children = self.children(&live, &run)?;
        for node in &mut run.nodes {
            if let Some(text) = &mut node.output.text {
                let bounded = self.room.take(text);
                node.output.truncated |= bounded.cut;
                *text = bounded.text;
            }
        }
        run.answer = run.answer.map(|answer| self.room.take(&answer).text);
        let task = self.room.take(&watched.envelope.task).text;
        if self.room.cut > 0 {
            let cut = counted(self.room.cut, "text");
            self.left_out.push(format!(
                "the ends of {cut}; see `grove runs logs {} --json`",
                watched.id
            ));
        }
        Ok(ExportedRun {
            schema: "grove.export/2",
            title: watched.envelope.title.clone(),
            task,
            run,
            steps: steps(watched, &live),
            children,
            ledger,
            left_out: self.left_out,
            last_event_at: last.wall,
        })
    }

    fn children(
        &mut self,
        live: &LiveRun<'_>,
        run: &RunView,
    ) -> Result<Vec<ExportedChild>, EngineError> {
        let mut children = Vec::new();
        for child in live.children().take(MOST_CHILDREN) {
            let view = run.nodes.iter().find(|node| node.id == child.id);
            let contract = child.child.contract.as_ref();
            let mut done = Vec::new();
            if let Some(history) = self.watched.history.child(&child.id) {
                if history.marks.len() > MOST_DONE {
                    self.left_out.push(format!(
                        "what {} did after its first {MOST_DONE} actions",
                        child.id
                    ));
                }
                let (watched, room) = (self.watched, &mut self.room);
                let places = 0..MOST_DONE;
                done = self
                    .journal
                    .transcript(watched, history, places, room)?
                    .items;
            }
            let patch = view.map(|view| self.journal.patch_text(view)).transpose()?;
            let patch = patch.flatten();
            children.push(ExportedChild {
                node: child.id.clone(),
                cost: child.cost.filter(|cost| *cost > 0).map(amount),
                tokens: child.tokens,
                asked: contract.map(Contract::level_word),
                commands: contract.map_or_else(Vec::new, |contract| {
                    contract.verify.iter().map(Check::line).collect()
                }),
                told: view
                    .and_then(|view| self.journal.told_parts(self.watched, view, &mut self.room)),
                done,
                patch: patch.map(|patch| self.room.take_most(&patch, MOST_PATCH)),
            });
        }
        let all = live.children().count();
        if all > MOST_CHILDREN {
            let more = counted(all - MOST_CHILDREN, "more child").replace("childs", "children");
            self.left_out.push(format!(
                "what {more} did; see `grove runs show {}`",
                self.watched.id
            ));
        }
        Ok(children)
    }
}

/// The steps of a plan with the children that each has.
fn steps(watched: &WatchedRun, live: &LiveRun<'_>) -> Vec<ExportedStep> {
    let after = |id: &NodeId| {
        let mut nodes = watched.plan.nodes.iter();
        let node = nodes.find(|node| node.id == *id || node.group.as_ref() == Some(id));
        node.map_or_else(Vec::new, |node| node.after.clone())
    };
    let steps = live.steps.iter().map(|step| ExportedStep {
        id: step.id.clone(),
        is_group: step.is_group,
        after: after(&step.id),
        children: step.children.iter().map(|child| child.id.clone()).collect(),
    });
    steps.collect()
}
