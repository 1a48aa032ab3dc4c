//! A conversation as its journal has it.

use std::collections::BTreeMap;

use grove_model::{Block, Message, Role, StopKind};
use grove_plan::{Attempt, Body, CallOutcome, Fact};
use grove_store::{LoadedRun, Store};
use serde_json::Value;

use super::{calls_of, goes_on};
use crate::told::Told;
use crate::tools::ToolResult;

/// What was said so far.
pub(super) struct Conversation {
    told: Told,
    turns: Vec<TurnSoFar>,
}

/// An answer of the model, and what its calls came to.
struct TurnSoFar {
    blocks: Vec<Block>,
    goes_on: bool,
    results: BTreeMap<String, (String, bool)>,
    /// Calls that were begun.
    begun: Vec<String>,
}

/// A call whose result the model has not been told.
pub(super) struct PendingCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
    /// Whether it was begun, and nobody knows how it ended.
    pub(super) may_have_run: bool,
}

impl Conversation {
    /// What the journal says about an attempt.
    pub(super) fn of(store: &Store, run: &LoadedRun, of: &Attempt) -> Result<Self, String> {
        let child = run
            .plan
            .child(&of.node)
            .ok_or("the plan has no such child")?;
        let told = artifact(store, &Body::Artifact(child.told))?;
        let told = serde_json::from_value(told).map_err(|error| error.to_string())?;
        let mut conversation = Self {
            told,
            turns: Vec::new(),
        };
        for event in &run.events {
            match &event.fact {
                Fact::Turned {
                    of: whose, turn, ..
                } if whose == of => {
                    let blocks = artifact(store, &turn.content)?;
                    let blocks =
                        serde_json::from_value(blocks).map_err(|error| error.to_string())?;
                    let stop = serde_json::from_value(Value::String(turn.stop.clone()));
                    let is_pause = stop.is_ok_and(|stop: StopKind| goes_on(&stop));
                    conversation.push(blocks, is_pause);
                }
                Fact::Called {
                    of: whose, call, ..
                } if whose == of => {
                    if let Some(last) = conversation.turns.last_mut() {
                        last.begun.push(call.id.0.clone());
                    }
                }
                Fact::Returned {
                    of: whose,
                    call,
                    outcome: CallOutcome { content, is_error },
                    ..
                } if whose == of => {
                    let text = artifact(store, content)?;
                    let text = text.as_str().unwrap_or_default().to_owned();
                    if let Some(last) = conversation.turns.last_mut() {
                        last.results.insert(call.0.clone(), (text, *is_error));
                    }
                }
                _ => {}
            }
        }
        Ok(conversation)
    }

    fn push(&mut self, blocks: Vec<Block>, goes_on: bool) {
        self.turns.push(TurnSoFar {
            blocks,
            goes_on,
            results: BTreeMap::new(),
            begun: Vec::new(),
        });
    }

    pub(super) fn add_turn(&mut self, blocks: Vec<Block>, stop: &StopKind) {
        let is_pause = goes_on(stop);
        self.push(blocks, is_pause);
    }

    pub(super) fn add_result(&mut self, call: &PendingCall, result: &ToolResult) {
        if let Some(last) = self.turns.last_mut() {
            let result = (result.text.clone(), result.is_error);
            last.results.insert(call.id.clone(), result);
        }
    }

    pub(super) fn system(&self) -> &str {
        &self.told.system
    }

    /// Calls of the last answer whose results are not there, in order.
    pub(super) fn pending_calls(&self) -> Vec<PendingCall> {
        let Some(last) = self.turns.last() else {
            return Vec::new();
        };
        let calls = calls_of(&last.blocks).filter(|(id, _, _)| !last.results.contains_key(*id));
        calls
            .map(|(id, name, input)| PendingCall {
                id: id.clone(),
                name: name.clone(),
                input: input.clone(),
                may_have_run: last.begun.contains(id),
            })
            .collect()
    }

    /// Whether the model has said all it wanted to.
    pub(super) fn is_answered(&self) -> bool {
        let last = self.turns.last();
        last.is_some_and(|last| !last.goes_on && calls_of(&last.blocks).next().is_none())
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        let mut messages = vec![Message::user(self.told.message.clone())];
        for turn in &self.turns {
            messages.push(Message::assistant(turn.blocks.clone()));
            let results = calls_of(&turn.blocks).filter_map(|(id, _, _)| {
                let (content, is_error) = turn.results.get(id)?.clone();
                let id = id.clone();
                Some(Block::ToolResult {
                    id,
                    content,
                    is_error,
                })
            });
            let content: Vec<Block> = results.collect();
            if !content.is_empty() {
                messages.push(Message {
                    role: Role::User,
                    content,
                });
            }
        }
        messages
    }

    /// The last words of the model.
    pub(super) fn last_text(&self) -> String {
        let mut texts = self.turns.iter().rev().map(|turn| {
            let words = turn.blocks.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                _ => None,
            });
            words.collect::<Vec<_>>().join("")
        });
        let found = texts.find(|text| !text.trim().is_empty());
        found.unwrap_or_default()
    }
}

fn artifact(store: &Store, body: &Body) -> Result<Value, String> {
    match body {
        Body::Inline(value) => Ok(value.clone()),
        Body::Artifact(digest) => {
            let bytes = store.artifact(digest).map_err(|error| error.to_string())?;
            let bytes = bytes.ok_or_else(|| format!("artifact {digest} is missing"))?;
            serde_json::from_slice(&bytes).map_err(|error| error.to_string())
        }
    }
}
