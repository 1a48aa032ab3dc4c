//! A conversation as its journal has it.

use std::collections::BTreeMap;

use grove_model::{Block, Message, Role, StopKind};
use grove_plan::{Attempt, Body, CallOutcome, Cause, Fact, Finish, Usage};
use grove_store::{LoadedRun, Store};
use serde_json::Value;

use super::{ChildEnd, calls_of, goes_on};
use crate::told::Told;
use crate::tools::{STRUCTURED_OUTPUT, ToolResult};

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
            if !last.begun.contains(&call.id) {
                last.begun.push(call.id.clone());
            }
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

    /// How often the model has answered.
    pub(super) fn turns(&self) -> u64 {
        self.turns.len() as u64
    }

    /// How many calls it has asked for.
    pub(super) fn calls_wanted(&self) -> u64 {
        let calls = self.turns.iter().map(|turn| calls_of(&turn.blocks).count());
        calls.sum::<usize>() as u64
    }

    /// The same before its last answer.
    pub(super) fn calls_wanted_before_last(&self) -> u64 {
        let last = self.turns.last();
        let of_last = last.map_or(0, |last| calls_of(&last.blocks).count());
        self.calls_wanted().saturating_sub(of_last as u64)
    }

    /// How many calls were begun or refused.
    pub(super) fn calls_begun(&self) -> u64 {
        let begun = self.turns.iter().map(|turn| turn.begun.len());
        begun.sum::<usize>() as u64
    }

    /// The skills that it asked for and was given.
    pub(super) fn skills_given(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().flat_map(|turn| {
            let calls = calls_of(&turn.blocks).filter(|(id, name, _)| {
                *name == "skill" && turn.results.get(*id).is_some_and(|(_, failed)| !failed)
            });
            calls.filter_map(|(_, _, input)| input.get("name")?.as_str())
        })
    }

    /// The value that was taken as the result.
    pub(super) fn structured(&self) -> Option<&Value> {
        let last = self.turns.last()?;
        let mut calls = calls_of(&last.blocks).filter(|(_, name, _)| *name == STRUCTURED_OUTPUT);
        calls.find_map(|(id, _, input)| match last.results.get(id) {
            Some((_, false)) => Some(input),
            _ => None,
        })
    }

    /// What was wrong with the last value, once so many were.
    pub(super) fn wrong_values(&self, most: usize) -> Option<String> {
        let results = self.turns.iter().flat_map(|turn| {
            let calls = calls_of(&turn.blocks).filter(|(_, name, _)| *name == STRUCTURED_OUTPUT);
            calls.filter_map(|(id, _, _)| turn.results.get(id))
        });
        let wrong: Vec<&String> = results
            .filter(|(_, is_error)| *is_error)
            .map(|(text, _)| text)
            .collect();
        wrong.get(most.checked_sub(1)?)?;
        wrong.last().map(|text| (*text).clone())
    }

    /// How it ended, with what it came to.
    pub(super) fn end(&self, finish: Finish) -> ChildEnd {
        ChildEnd {
            finish,
            text: self.last_text(),
            structured: self.structured().cloned(),
            lost: Usage::default(),
        }
    }

    /// The same with the word that the limit is reached.
    pub(super) fn messages_to_sum_up(&self, limit: &Cause) -> Vec<Message> {
        let mut messages = self.messages();
        let text = format!(
            "[{limit}] Call no more tools. Answer now with the result as far as you have it."
        );
        match messages.last_mut() {
            Some(last) if last.role == Role::User => last.content.push(Block::text(text)),
            _ => messages.push(Message::user(text)),
        }
        messages
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
