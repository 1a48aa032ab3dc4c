//! The prompt and the message of a child, stored before it starts.

use grove_catalog::prompt::Prompt;
use grove_plan::{
    Attempt, Contract, Inputs, ItemValue, NodeId, Texts, Variables, compose, node_views, said_by,
};
use grove_spec::Digest;
use grove_store::{LoadedRun, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::envelope::EnvelopeError;
use crate::places::RunPlaces;

/// The prompt and the message of a child. The built-in engine sends exactly these bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The text of the system prompt.
    pub system: String,
    /// The first message of the conversation.
    pub message: String,
    /// The conversation before it, if the child was forked from another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Value>,
    /// The sources of the parts of the system prompt, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ToldPart>,
}

/// A part of a system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldPart {
    /// The kind of the part: a skill, the agent's own text, the boundary, the contract.
    pub kind: String,
    /// The skill's or the agent's name; empty for everything else.
    pub name: String,
    /// The file it was made of; none for a part that Grove makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The digest of that file's bytes, or of the text if there is no file.
    pub digest: Digest,
    /// The byte of the text at which it begins.
    pub at: usize,
    /// The number of its bytes.
    pub bytes: usize,
}

impl ToldPart {
    /// Adds a text of Grove's own at the end of a system prompt.
    fn added(kind: &str, system: &mut String, text: &str) -> Self {
        let at = system.len();
        system.push_str(text);
        Self {
            kind: kind.to_owned(),
            name: String::new(),
            source: None,
            digest: Digest::of(text.as_bytes()),
            at,
            bytes: text.len(),
        }
    }

    /// The parts of an agent's prompt, of whose end so many bytes are kept.
    fn of_prompt(prompt: &Prompt, kept: usize) -> Vec<Self> {
        let mut end = 0;
        let parts = prompt.blocks.iter().map(|block| {
            // Between two blocks there are ends of lines.
            let rest = prompt.text.get(end..).unwrap_or_default();
            let at = end + rest.find(&block.text).unwrap_or_default();
            end = at + block.text.len();
            let source = block.source.as_ref();
            Self {
                kind: block.kind.as_str().to_owned(),
                name: block.name.clone(),
                source: source.map(|path| path.to_string_lossy().into_owned()),
                digest: block.digest,
                at,
                bytes: block.text.len().min(kept.saturating_sub(at)),
            }
        });
        parts.collect()
    }
}

/// The text about being a child. It is the same for equal work, so it has no ids and no paths of a run.
pub const BOUNDARY: &str = "You are a child agent: another agent or a person gave you one task and reads only your last \
message. Do the task yourself with the tools you have, do not start other agents, and end with the whole result in your \
last message.";
/// The part of it that is replaced for a child that may ask other agents.
const ALONE: &str = "Do the task yourself with the tools you have, do not start other agents,";
const DELEGATES: &str = "Do the task with the tools you have, ask other agents with `subagent` only for what the task calls for,";
const FORKED: &str = "\n\nWhat was said before your task is another's conversation: know it, and do your own task alone.";
/// The texts for a child that cannot ask questions, and for one that can.
const CANNOT_ASK: &str = " You cannot ask back.";
const CAN_ASK: &str =
    " When something is missing that you cannot find out, ask with `contact_supervisor`.";

/// The facts about a child that its boundary depends on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Boundary<'a> {
    /// Set if its result is data.
    pub has_schema: bool,
    /// Set if it can ask questions.
    pub can_ask: bool,
    /// Set if it can ask other agents.
    pub can_delegate: bool,
    /// The contract of its work, if it has one.
    pub contract: Option<&'a Contract>,
}

impl Told {
    /// Puts an agent's prompt, the boundary and the task together, after the conversation of another child if there is one.
    pub(crate) fn new(
        prompt: &Prompt,
        task: &str,
        boundary: &Boundary<'_>,
        history: &[Value],
    ) -> Self {
        let mut system = prompt.text.trim_end().to_owned();
        let mut parts = ToldPart::of_prompt(prompt, system.len());
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        let mut about = if boundary.can_delegate {
            BOUNDARY.replace(ALONE, DELEGATES)
        } else {
            BOUNDARY.to_owned()
        };
        about.push_str(if boundary.can_ask {
            CAN_ASK
        } else {
            CANNOT_ASK
        });
        if boundary.has_schema {
            about.push_str(
                " Your result is data: give it by calling `structured_output` once, with a value that meets its schema.",
            );
        }
        parts.push(ToldPart::added("boundary", &mut system, &about));
        if let Some(contract) = boundary.contract {
            system.push_str("\n\n");
            let section = contract.section();
            parts.push(ToldPart::added("contract", &mut system, &section));
        }
        if !history.is_empty() {
            parts.push(ToldPart::added("boundary", &mut system, FORKED));
        }
        Self {
            system,
            message: task.to_owned(),
            history: history.to_vec(),
            parts,
        }
    }

    /// Returns the bytes of the artifact.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// The prompt and the message of an attempt.
pub(crate) struct ToldAttempt {
    pub(crate) told: Told,
    /// The artifact, if it was put together just now and is not recorded yet.
    pub(crate) to_store: Option<Vec<u8>>,
}

/// Returns the prompt and the message of an attempt: those of its session, or new ones with the outputs of earlier steps.
pub(crate) fn of_attempt(
    store: &Store,
    places: &RunPlaces,
    run: &LoadedRun,
    of: &Attempt,
    review: &dyn Fn(&NodeId) -> String,
) -> Result<ToldAttempt, ToldError> {
    let child = run.plan.child(&of.node).ok_or(ToldError::NoChild)?;
    let is_recorded = recorded(run, of);
    let digest = is_recorded.or_else(|| recorded(run, &first_of_session(run, of)));
    let template: Told = store.json(digest.as_ref().unwrap_or(&child.told))?;
    let told = match &child.inputs {
        Some(inputs) if digest.is_none() => {
            let message = if let Some(author) = run.plan.reviews(&of.node) {
                review(&author)
            } else {
                let mut variables = variables(store, places, run, inputs)?;
                variables.item = item_of(store, run, &of.node);
                compose(&template.message, &variables)
            };
            Told {
                message,
                ..template
            }
        }
        _ => template,
    };
    let to_store = (is_recorded.is_none() && child.inputs.is_some()).then(|| told.to_bytes());
    Ok(ToldAttempt { told, to_store })
}

/// The reason why it is not known what a child is told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToldError {
    #[error("the plan has no such child")]
    NoChild,
    #[error("what the child is told is not there: {0}")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
}

fn recorded(run: &LoadedRun, of: &Attempt) -> Option<Digest> {
    let at = usize::try_from(of.n).ok()?.checked_sub(1)?;
    run.state.nodes.get(&of.node)?.attempts.get(at)?.told
}

fn first_of_session(run: &LoadedRun, of: &Attempt) -> Attempt {
    let mut first = of.clone();
    loop {
        let at = usize::try_from(first.n)
            .unwrap_or(usize::MAX)
            .checked_sub(1);
        let attempts = run.state.nodes.get(&first.node).map(|node| &node.attempts);
        let attempt = at.and_then(|at| attempts?.get(at));
        match attempt.and_then(|attempt| attempt.continues.as_ref()) {
            Some(earlier) if earlier.n < first.n => first.n = earlier.n,
            _ => return first,
        }
    }
}

fn variables(
    store: &Store,
    places: &RunPlaces,
    run: &LoadedRun,
    inputs: &Inputs,
) -> Result<Variables, EnvelopeError> {
    let text = |digest: &Digest| store.text(digest).ok();
    let texts: Texts<'_> = &text;
    let outputs = inputs.outputs.iter();
    // A run may have thousands of other nodes, which are not read.
    let is_wanted = |id: &NodeId| {
        let named = outputs.clone().any(|(_, nodes)| nodes.contains(id));
        named || inputs.previous.contains(id)
    };
    let views = node_views(&run.plan, &run.state, texts, is_wanted);
    // The output of a single node that gave data is told as data.
    let said = |nodes: &[NodeId]| {
        let mut of_one = views.iter().filter(|node| nodes == [node.id.clone()]);
        let structured = of_one
            .next()
            .and_then(|node| node.output.structured.as_ref());
        structured.map_or_else(|| said_by(&views, nodes), ToString::to_string)
    };
    Ok(Variables {
        task: inputs.task.as_ref().and_then(text).unwrap_or_default(),
        previous: said_by(&views, &inputs.previous),
        chain_dir: places.chain_folder(run)?.to_string_lossy().into_owned(),
        outputs: outputs
            .map(|(name, nodes)| (name.clone(), said(nodes)))
            .collect(),
        item: None,
    })
}

pub(crate) fn item_of(store: &Store, run: &LoadedRun, id: &NodeId) -> Option<ItemValue> {
    let step = run.plan.group_of(id)?;
    let fan_out = run.plan.fan_out(&step)?;
    let found = run.state.nodes.get(&step)?.items.as_ref()?;
    let mut items = found.items.iter();
    let at = items.position(|item| step.item(&item.key) == *id)?;
    let list: Vec<Value> = store.json(&found.list).ok()?;
    Some(ItemValue {
        name: fan_out.item.clone(),
        value: list.into_iter().nth(at)?,
        key: found.items.get(at)?.key.clone(),
    })
}
