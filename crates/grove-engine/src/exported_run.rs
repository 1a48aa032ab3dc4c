//! A run as data for other programs: its view, and for each child its prompt, what it did and what it changed. Everything comes
//! from the journal and its artifacts, where secrets are masked already, and everything is bounded.

<<<<<<< HEAD
use std::collections::BTreeMap;

use crate::native::about;
use crate::told::Told;
use grove_plan::{
    Attempt, Body, CallId, Check, Contract, Event, Fact, LiveRun, NodeId, RunView, Times, Work,
};
use grove_spec::Digest;
=======
use grove_plan::{Check, Contract, LiveRun, NodeId, RunView};
>>>>>>> 52e33b5470be47d00d84469e9202043903e4680d
use grove_spec::money::amount;
use grove_spec::text::counted;
use serde::Serialize;
use serde_json::Value;

<<<<<<< HEAD
use crate::envelope::RunEnvelope;
=======
use crate::child_record::ToldParts;
>>>>>>> 52e33b5470be47d00d84469e9202043903e4680d
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

<<<<<<< HEAD
fn exported(journal: &RunJournal, loaded: LoadedRun) -> ExportedRun {
    let mut room = Room {
        left: MOST_ALL,
        cut: 0,
    };
    let mut run = journal.view(&loaded);
    let envelope = RunEnvelope::read(&loaded.envelope).unwrap_or_default();
    let last = loaded
        .events
        .last()
        .map_or_else(Times::default, |event| event.at);
    let live = LiveRun::of(&loaded.plan, &loaded.state, &|_| None, last);
=======
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
        let word = |key: &str| watched.envelope[key].as_str().unwrap_or_default();
        let task = self.room.take(word("task")).text;
        if self.room.cut > 0 {
            let cut = counted(self.room.cut, "text");
            self.left_out.push(format!(
                "the ends of {cut}; see `grove runs logs {} --json`",
                watched.id
            ));
        }
        Ok(ExportedRun {
            schema: "grove.export/1",
            title: word("title").to_owned(),
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
>>>>>>> 52e33b5470be47d00d84469e9202043903e4680d
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
<<<<<<< HEAD
    let steps = steps.collect();
    let mut by_node: BTreeMap<&NodeId, Vec<&Event>> = BTreeMap::new();
    for event in &loaded.events {
        if let Some(of) = attempt_of(&event.fact) {
            by_node.entry(&of.node).or_default().push(event);
        }
    }
    let mut children = Vec::new();
    let mut left_out = Vec::new();
    for child in live.children().take(MOST_CHILDREN) {
        let view = run.nodes.iter().find(|node| node.id == child.id);
        let told = view.map(|view| view.told);
        let patch = view.and_then(|view| view.patch.as_ref());
        let events = by_node.get(&child.id).map_or(&[][..], Vec::as_slice);
        if events.len() > MOST_DONE * 3 {
            left_out.push(format!(
                "what {} did after its first {MOST_DONE} actions",
                child.id
            ));
        }
        let contract = loaded.plan.child(&child.id);
        let contract = contract.and_then(|child| child.contract.as_ref());
        children.push(ExportedChild {
            node: child.id.clone(),
            cost: child.cost.filter(|cost| *cost > 0).map(amount),
            tokens: child.tokens,
            asked: contract.map(Contract::level_word),
            commands: contract.map_or_else(Vec::new, |contract| {
                contract.verify.iter().map(Check::line).collect()
            }),
            told: told.and_then(|told| told_of(journal, &loaded, &child.id, told, &mut room)),
            done: done_by(journal, events, &mut room),
            patch: patch.map(|patch| {
                let below = patch.submodules.iter().map(|work| &work.patch);
                let digests = std::iter::once(&patch.digest).chain(below);
                let texts = digests.filter_map(|digest| journal.text(digest));
                room.bounded(&texts.collect::<String>(), MOST_PATCH)
            }),
        });
    }
    let all = live.children().count();
    if all > MOST_CHILDREN {
        let more = counted(all - MOST_CHILDREN, "more child").replace("childs", "children");
        left_out.push(format!(
            "what {more} did; see `grove runs show {}`",
            loaded.id
        ));
    }
    for node in &mut run.nodes {
        if let Some(text) = &mut node.output.text {
            let bounded = room.bounded(text, MOST_TEXT);
            node.output.truncated |= bounded.cut;
            *text = bounded.text;
        }
    }
    run.answer = run
        .answer
        .map(|answer| room.bounded(&answer, MOST_TEXT).text);
    if room.cut > 0 {
        let cut = counted(room.cut, "text");
        left_out.push(format!(
            "the ends of {cut}; see `grove runs logs {} --json`",
            loaded.id
        ));
    }
    let (title, task) = (envelope.title, room.bounded(&envelope.task, MOST_TEXT).text);
    ExportedRun {
        schema: "grove.export/1",
        title,
        task,
        run,
        steps,
        children,
        ledger: journal.ledger_of(loaded).to_json(),
        left_out,
        last_event_at: last.wall,
    }
}

/// The room that is left.
struct Room {
    left: usize,
    cut: usize,
}

impl Room {
    fn bounded(&mut self, text: &str, most: usize) -> ExportedText {
        let end = text.floor_char_boundary(most.min(self.left));
        let kept = text.get(..end).unwrap_or_default();
        self.left -= kept.len();
        let cut = kept.len() < text.len();
        self.cut += usize::from(cut);
        ExportedText {
            text: kept.to_owned(),
            bytes: text.len(),
            cut,
        }
    }
}

fn attempt_of(fact: &Fact) -> Option<&Attempt> {
    match fact {
        Fact::Turned { of, .. } | Fact::Called { of, .. } | Fact::Returned { of, .. } => Some(of),
        _ => None,
    }
}

fn value_of(journal: &RunJournal, body: &Body) -> Value {
    journal.store.value(body).unwrap_or_default()
}

/// A value as people read it: words as they are, the words of blocks, everything else as JSON.
fn words_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) if blocks.iter().all(|block| block["text"].is_string()) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|it| it["text"].as_str()).collect();
            texts.join("\n")
        }
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    }
}

fn told_of(
    journal: &RunJournal,
    loaded: &LoadedRun,
    node: &NodeId,
    digest: Digest,
    room: &mut Room,
) -> Option<ExportedPrompt> {
    let told: Told = journal.store.json(&digest).ok()?;
    let mut parts: Vec<ExportedPart> = Vec::new();
    for part in &told.parts {
        let text = told.system.get(part.at..part.at + part.bytes);
        parts.push(ExportedPart {
            kind: part.kind.clone(),
            name: part.name.clone(),
            source: part.source.clone(),
            digest: Some(part.digest),
            text: room.bounded(text.unwrap_or_default(), MOST_TEXT),
        });
    }
    if parts.is_empty() {
        parts.push(ExportedPart {
            kind: "system".to_owned(),
            name: String::new(),
            source: None,
            digest: None,
            text: room.bounded(&told.system, MOST_TEXT),
        });
    }
    Some(ExportedPrompt {
        digest,
        parts,
        message: room.bounded(&told.message, MOST_TEXT),
        message_from: message_from(loaded, node),
    })
}

/// Returns the sources of words in a message.
fn message_from(loaded: &LoadedRun, node: &NodeId) -> Vec<String> {
    let names = |ids: &[NodeId]| {
        let ids: Vec<&str> = ids.iter().map(NodeId::as_str).collect();
        ids.join(", ")
    };
    let Some(inputs) = loaded
        .plan
        .child(node)
        .and_then(|child| child.inputs.as_ref())
    else {
        return Vec::new();
    };
    let mut from = Vec::new();
    if let Some(author) = loaded.plan.reviews(node) {
        from.push(format!("the work of {author}"));
    }
    if !inputs.previous.is_empty() {
        from.push(format!(
            "{{previous}}: what {} said",
            names(&inputs.previous)
        ));
    }
    for (name, ids) in &inputs.outputs {
        from.push(format!("{{outputs.{name}}}: what {} said", names(ids)));
    }
    let list = loaded
        .plan
        .nodes
        .iter()
        .find_map(|known| match &known.work {
            Work::FanOut(list) if node.as_str().starts_with(&format!("{}[", known.id)) => {
                Some(list)
            }
            _ => None,
        });
    if let Some(list) = list {
        let source = match &list.from {
            Some(giver) => format!("the output of {giver}"),
            None => "the list that was given".to_owned(),
        };
        from.push(format!("{{{}}}: an item of {source}", list.item));
    }
    from
}

fn done_by(journal: &RunJournal, events: &[&Event], room: &mut Room) -> Vec<ExportedAction> {
    let mut done: Vec<ExportedAction> = Vec::new();
    let mut calls: BTreeMap<(u32, &CallId), (usize, Times)> = BTreeMap::new();
    for event in events {
        match &event.fact {
            Fact::Turned { of, turn, .. } if done.len() < MOST_DONE => {
                let blocks = value_of(journal, &turn.content);
                let texts = blocks.as_array().into_iter().flatten();
                let texts: Vec<&str> = texts.filter_map(|block| block["text"].as_str()).collect();
                let text = texts.join("\n");
                if !text.trim().is_empty() {
                    done.push(ExportedAction::Said {
                        at: event.at.wall,
                        attempt: of.n,
                        text: room.bounded(&text, MOST_TEXT),
                    });
                }
            }
            Fact::Called { of, call, .. } if done.len() < MOST_DONE => {
                let arguments = value_of(journal, &call.arguments);
                calls.insert((of.n, &call.id), (done.len(), event.at));
                done.push(ExportedAction::Called {
                    at: event.at.wall,
                    attempt: of.n,
                    tool: call.tool.clone(),
                    about: about(&arguments),
                    arguments: room.bounded(&words_of(&arguments), MOST_TEXT),
                    result: None,
                    is_error: false,
                    milliseconds: None,
                });
            }
            Fact::Returned {
                of, call, outcome, ..
            } => {
                let Some((at, called)) = calls.get(&(of.n, call)) else {
                    continue;
                };
                if let Some(ExportedAction::Called {
                    result,
                    is_error,
                    milliseconds,
                    ..
                }) = done.get_mut(*at)
                {
                    let text = words_of(&value_of(journal, &outcome.content));
                    *result = Some(room.bounded(&text, MOST_TEXT));
                    *is_error = outcome.is_error;
                    *milliseconds = Some(event.at.since(*called));
                }
            }
            _ => {}
        }
    }
    done
=======
    steps.collect()
>>>>>>> 52e33b5470be47d00d84469e9202043903e4680d
}
