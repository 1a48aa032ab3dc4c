//! A run as it is exported: its view, and for each child its prompt, its calls and its changes. Everything comes from the
//! journal and its artifacts, where secrets are masked already, and everything is bounded.

use std::collections::BTreeMap;

use crate::native::about;
use crate::told::Told;
use grove_plan::{
    Attempt, Body, CallId, Check, Contract, Event, Fact, LiveRun, NodeId, RunView, Times, Work,
};
use grove_spec::Digest;
use grove_spec::money::amount;
use grove_spec::text::counted;
use grove_store::LoadedRun;
use serde::Serialize;
use serde_json::Value;

use crate::envelope::RunEnvelope;
use crate::error::EngineError;
use crate::journal::RunJournal;

/// The most bytes of one text.
const MOST_TEXT: usize = 32 << 10;
/// The most bytes of one patch.
const MOST_PATCH: usize = 256 << 10;
/// The most bytes of all texts together.
const MOST_ALL: usize = 12 << 20;
/// The most actions of one child.
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
    pub told: Option<ExportedPrompt>,
    /// Its actions, the first ones first.
    pub done: Vec<ExportedAction>,
    /// The patch of its working tree.
    pub patch: Option<ExportedText>,
}

/// The text that a child was told, part by part.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedPrompt {
    /// The digest of the text.
    pub digest: Digest,
    /// The parts of its system prompt.
    pub parts: Vec<ExportedPart>,
    /// The message of the child.
    pub message: ExportedText,
    /// The sources of the words of the message beside its task.
    pub message_from: Vec<String>,
}

/// A part of a system prompt.
#[derive(Debug, Serialize)]
pub struct ExportedPart {
    /// The kind of the part.
    pub kind: String,
    /// The name of the part.
    pub name: String,
    /// The file of the part.
    pub source: Option<String>,
    /// The digest of the text.
    pub digest: Option<Digest>,
    /// The text, or its beginning.
    pub text: ExportedText,
}

/// An action of a child.
#[derive(Debug, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ExportedAction {
    /// Words of its model.
    Said {
        /// The time of the answer, in milliseconds since 1970.
        at: u64,
        /// The attempt in which it was given.
        attempt: u32,
        /// The words of the answer.
        text: ExportedText,
    },
    /// A call of a tool.
    Called {
        /// The time of the call, in milliseconds since 1970.
        at: u64,
        /// The attempt in which it was made.
        attempt: u32,
        /// The name of the tool.
        tool: String,
        /// The arguments in a few words.
        about: String,
        /// The arguments of the call.
        arguments: ExportedText,
        /// The result, once it returned.
        result: Option<ExportedText>,
        /// True if it failed.
        is_error: bool,
        /// The time that it took.
        milliseconds: Option<u64>,
    },
}

/// A text, or its beginning.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ExportedText {
    /// The text, or its beginning.
    pub text: String,
    /// The number of its bytes.
    pub bytes: usize,
    /// True if there is more of it.
    pub cut: bool,
}

impl RunJournal {
    /// Puts everything together that is exported of a run.
    pub fn export(&self, given: &str) -> Result<ExportedRun, EngineError> {
        Ok(exported(self, self.load(given)?))
    }
}

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
    let after = |id: &NodeId| {
        let mut nodes = loaded.plan.nodes.iter();
        let node = nodes.find(|node| node.id == *id || node.group.as_ref() == Some(id));
        node.map_or_else(Vec::new, |node| node.after.clone())
    };
    let steps = live.steps.iter().map(|step| ExportedStep {
        id: step.id.clone(),
        is_group: step.is_group,
        after: after(&step.id),
        children: step.children.iter().map(|child| child.id.clone()).collect(),
    });
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
}
