//! Everything that is exported of a run: its view, and of each child what it was told, what it called and what it changed.
//! Everything comes from the journal and its artifacts, where secrets are masked already, and everything is bounded.

use std::collections::BTreeMap;

use grove_plan::{
    Attempt, Body, CallId, Check, Contract, Event, Fact, LiveRun, NodeId, RunView, Times, Work,
};
use grove_runs::{Told, about};
use grove_spec::Digest;
use grove_spec::money::amount;
use grove_store::LoadedRun;
use serde::Serialize;
use serde_json::Value;

use super::super::{Runs, ledger};
use crate::command_error::CommandError;
use crate::commands::counted;

/// Of one text.
const MOST_TEXT: usize = 32 << 10;
/// Of one patch.
const MOST_PATCH: usize = 256 << 10;
/// Of all texts together.
const MOST_ALL: usize = 12 << 20;
/// Things that a child did.
const MOST_DONE: usize = 300;
/// Children that are exported with everything they did.
const MOST_CHILDREN: usize = 250;

/// A run, exported.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Gathered {
    pub(super) schema: &'static str,
    pub(super) title: String,
    pub(super) task: String,
    pub(super) run: RunView,
    pub(super) steps: Vec<GatheredStep>,
    pub(super) children: Vec<GatheredChild>,
    pub(super) ledger: Value,
    /// What has no room here, and where it is.
    pub(super) left_out: Vec<String>,
    /// When the last event of the run happened, in milliseconds since 1970.
    pub(super) last_event_at: u64,
}

/// A step of the graph.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GatheredStep {
    pub(super) id: NodeId,
    pub(super) is_group: bool,
    pub(super) after: Vec<NodeId>,
    pub(super) children: Vec<NodeId>,
}

/// A child with everything it did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GatheredChild {
    pub(super) node: NodeId,
    pub(super) cost: Option<f64>,
    pub(super) tokens: u64,
    /// What its work was to be before it counts.
    pub(super) asked: Option<&'static str>,
    /// The commands that had to succeed.
    pub(super) commands: Vec<String>,
    pub(super) told: Option<GatheredTold>,
    pub(super) done: Vec<Done>,
    pub(super) patch: Option<BoundedText>,
}

/// What a child was told, part by part.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GatheredTold {
    pub(super) digest: Digest,
    pub(super) parts: Vec<GatheredPart>,
    pub(super) message: BoundedText,
    /// What the words of the message come from beside its task.
    pub(super) message_from: Vec<String>,
}

/// A part of what a child was told.
#[derive(Debug, Serialize)]
pub(super) struct GatheredPart {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) source: Option<String>,
    pub(super) digest: Option<Digest>,
    pub(super) text: BoundedText,
}

/// Something that a child did.
#[derive(Debug, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(super) enum Done {
    /// Its model said something.
    Said {
        at: u64,
        attempt: u32,
        text: BoundedText,
    },
    /// It called a tool.
    Called {
        at: u64,
        attempt: u32,
        tool: String,
        about: String,
        arguments: BoundedText,
        result: Option<BoundedText>,
        is_error: bool,
        milliseconds: Option<u64>,
    },
}

/// A text, or its beginning.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct BoundedText {
    pub(super) text: String,
    /// How many bytes it has.
    pub(super) bytes: usize,
    /// Whether there is more of it.
    pub(super) cut: bool,
}

/// Gathers a run.
pub(super) fn gather(runs: &Runs, loaded: &LoadedRun) -> Result<Gathered, CommandError> {
    let mut room = Room {
        left: MOST_ALL,
        cut: 0,
    };
    let mut run = runs.view(loaded);
    let request: Value = serde_json::from_str(&loaded.request).unwrap_or_default();
    let word = |key: &str| request[key].as_str().unwrap_or_default().to_owned();
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
    let steps = live.steps.iter().map(|step| GatheredStep {
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
        children.push(GatheredChild {
            node: child.id.clone(),
            cost: child.cost.filter(|cost| *cost > 0).map(amount),
            tokens: child.tokens,
            asked: contract.map(Contract::level_word),
            commands: contract.map_or_else(Vec::new, |contract| {
                contract.verify.iter().map(Check::line).collect()
            }),
            told: told.and_then(|told| told_of(runs, loaded, &child.id, told, &mut room)),
            done: done_by(runs, events, &mut room),
            patch: patch.map(|patch| {
                let below = patch.submodules.iter().map(|work| &work.patch);
                let digests = std::iter::once(&patch.digest).chain(below);
                let texts = digests.filter_map(|digest| text_of(runs, digest));
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
    let ledger = ledger::ledger(loaded, &run);
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
    Ok(Gathered {
        schema: "grove.export/1",
        title: word("title"),
        task: room.bounded(&word("task"), MOST_TEXT).text,
        run,
        steps,
        children,
        ledger,
        left_out,
        last_event_at: last.wall,
    })
}

/// How much more there may be.
struct Room {
    left: usize,
    /// Texts that are not whole.
    cut: usize,
}

impl Room {
    fn bounded(&mut self, text: &str, most: usize) -> BoundedText {
        let end = text.floor_char_boundary(most.min(self.left));
        let kept = text.get(..end).unwrap_or_default();
        self.left -= kept.len();
        let cut = kept.len() < text.len();
        self.cut += usize::from(cut);
        BoundedText {
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

fn text_of(runs: &Runs, digest: &Digest) -> Option<String> {
    let bytes = runs.store.artifact(digest).ok().flatten()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn value_of(runs: &Runs, body: &Body) -> Value {
    match body {
        Body::Inline(value) => value.clone(),
        Body::Artifact(digest) => {
            let text = text_of(runs, digest).unwrap_or_default();
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
    }
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
    runs: &Runs,
    loaded: &LoadedRun,
    node: &NodeId,
    digest: Digest,
    room: &mut Room,
) -> Option<GatheredTold> {
    let told: Told = serde_json::from_str(&text_of(runs, &digest)?).ok()?;
    let mut parts: Vec<GatheredPart> = Vec::new();
    for part in &told.parts {
        let text = told.system.get(part.at..part.at + part.bytes);
        parts.push(GatheredPart {
            kind: part.kind.clone(),
            name: part.name.clone(),
            source: part.source.clone(),
            digest: Some(part.digest),
            text: room.bounded(text.unwrap_or_default(), MOST_TEXT),
        });
    }
    if parts.is_empty() {
        parts.push(GatheredPart {
            kind: "system".to_owned(),
            name: String::new(),
            source: None,
            digest: None,
            text: room.bounded(&told.system, MOST_TEXT),
        });
    }
    Some(GatheredTold {
        digest,
        parts,
        message: room.bounded(&told.message, MOST_TEXT),
        message_from: message_from(loaded, node),
    })
}

/// Whose words a message may have in it.
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

fn done_by(runs: &Runs, events: &[&Event], room: &mut Room) -> Vec<Done> {
    let mut done: Vec<Done> = Vec::new();
    let mut calls: BTreeMap<(u32, &CallId), (usize, Times)> = BTreeMap::new();
    for event in events {
        match &event.fact {
            Fact::Turned { of, turn, .. } if done.len() < MOST_DONE => {
                let blocks = value_of(runs, &turn.content);
                let texts = blocks.as_array().into_iter().flatten();
                let texts: Vec<&str> = texts.filter_map(|block| block["text"].as_str()).collect();
                let text = texts.join("\n");
                if !text.trim().is_empty() {
                    done.push(Done::Said {
                        at: event.at.wall,
                        attempt: of.n,
                        text: room.bounded(&text, MOST_TEXT),
                    });
                }
            }
            Fact::Called { of, call, .. } if done.len() < MOST_DONE => {
                let arguments = value_of(runs, &call.arguments);
                calls.insert((of.n, &call.id), (done.len(), event.at));
                done.push(Done::Called {
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
                if let Some(Done::Called {
                    result,
                    is_error,
                    milliseconds,
                    ..
                }) = done.get_mut(*at)
                {
                    let text = words_of(&value_of(runs, &outcome.content));
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
