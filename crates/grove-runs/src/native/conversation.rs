//! A conversation as its journal has it.

mod from_journal;
mod messages;

use std::collections::BTreeMap;

use grove_model::{Block, StopKind};
use grove_plan::{CallId, Finish, Question, Usage};
use serde_json::Value;

use super::compaction::Window;
use super::{ChildEnd, calls_of, goes_on};
use crate::told::Told;
use crate::tools::{STRUCTURED_OUTPUT, ToolResult, question_of};

/// What was said so far, in all tries of one session.
pub(super) struct Conversation {
    told: Told,
    window: Window,
    /// How many turns are told in short.
    compacted: usize,
    /// The tokens of everything up to the last answer, as the provider counted them.
    counted: Option<u64>,
    /// What was said before the first answer, beside the task.
    at_first: Vec<String>,
    turns: Vec<TurnSoFar>,
    /// The turns of earlier tries, which count for no limit of this one.
    earlier: usize,
}

/// An answer of the model, and what its calls came to.
pub(super) struct TurnSoFar {
    pub(super) blocks: Vec<Block>,
    goes_on: bool,
    pub(super) results: BTreeMap<String, (String, bool)>,
    /// Calls that were begun.
    begun: Vec<String>,
    /// What the child was told then, beside the results.
    pub(super) heard: Vec<String>,
}

/// A call whose result the model has not been told.
pub(super) struct PendingCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
    /// Whether it was begun, and nobody knows how it ended.
    pub(super) may_have_run: bool,
}

impl PendingCall {
    /// What the child asks with it and waits for.
    pub(super) fn question(&self) -> Option<Question> {
        let text = question_of(&self.name, &self.input)?;
        let call = CallId(self.id.clone());
        Some(Question { call, text })
    }
}

impl Conversation {
    /// Something that the child is told after whatever was said before.
    pub(super) fn hear(&mut self, words: String) {
        match self.turns.last_mut() {
            Some(last) => last.heard.push(words),
            None => self.at_first.push(words),
        }
    }

    fn push(&mut self, blocks: Vec<Block>, goes_on: bool, usage: &Usage) {
        let counted = [usage.input, usage.cached, usage.cache_write, usage.output];
        let counted = counted.into_iter().fold(0, u64::saturating_add);
        self.counted = (counted > 0 && !usage.estimated).then_some(counted);
        self.turns.push(TurnSoFar {
            blocks,
            goes_on,
            results: BTreeMap::new(),
            begun: Vec::new(),
            heard: Vec::new(),
        });
    }

    pub(super) fn add_turn(&mut self, blocks: Vec<Block>, stop: &StopKind, usage: &Usage) {
        let is_pause = goes_on(stop);
        self.push(blocks, is_pause, usage);
    }

    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// Tells so many turns in short from now on.
    pub(super) fn compact(&mut self, turns: u64) {
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        self.compacted = turns.min(self.turns.len());
        self.counted = None;
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
        let calls = calls.map(|(id, name, input)| PendingCall {
            id: id.clone(),
            name: name.clone(),
            input: input.clone(),
            may_have_run: last.begun.contains(id),
        });
        let mut calls: Vec<PendingCall> = calls.collect();
        // Whoever asks waits, so the others come first.
        calls.sort_by_key(|call| call.question().is_some());
        calls
    }

    /// Whether the model has said all it wanted to.
    pub(super) fn is_answered(&self) -> bool {
        let last = self.turns.last();
        last.is_some_and(|last| {
            let has_calls = calls_of(&last.blocks).next().is_some();
            !last.goes_on && !has_calls && last.heard.is_empty()
        })
    }

    /// The turns of this try.
    fn own(&self) -> &[TurnSoFar] {
        self.turns.get(self.earlier..).unwrap_or_default()
    }

    /// How often the model has answered.
    pub(super) fn turns(&self) -> u64 {
        self.own().len() as u64
    }

    /// How many calls it has asked for.
    pub(super) fn calls_wanted(&self) -> u64 {
        let calls = self.own().iter().map(|turn| calls_of(&turn.blocks).count());
        calls.sum::<usize>() as u64
    }

    /// The same before its last answer.
    pub(super) fn calls_wanted_before_last(&self) -> u64 {
        let last = self.own().last();
        let of_last = last.map_or(0, |last| calls_of(&last.blocks).count());
        self.calls_wanted().saturating_sub(of_last as u64)
    }

    /// How many calls were begun or refused.
    pub(super) fn calls_begun(&self) -> u64 {
        let begun = self.own().iter().map(|turn| turn.begun.len());
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
        let last = self.turns.last().filter(|last| last.heard.is_empty())?;
        let mut calls = calls_of(&last.blocks).filter(|(_, name, _)| *name == STRUCTURED_OUTPUT);
        calls.find_map(|(id, _, input)| match last.results.get(id) {
            Some((_, false)) => Some(input),
            _ => None,
        })
    }

    /// What was wrong with the last value, once so many were.
    pub(super) fn wrong_values(&self, most: usize) -> Option<String> {
        let results = self.own().iter().flat_map(|turn| {
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
        ChildEnd::of(finish, self.last_text()).with_value(self.structured().cloned())
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

/// What a child is told that answered in words where data was asked for.
pub(crate) fn asked_for_data(why: &str) -> String {
    format!(
        "Your answer is not the data that was asked for: {why}\n\nGive it once more: by calling `structured_output`, or as \
JSON that meets the schema and nothing beside it."
    )
}

/// What a child is told whose work does not have everything.
pub(crate) fn asked_for(findings: &[String]) -> String {
    let findings: Vec<String> = findings.iter().map(|it| format!("- {it}")).collect();
    format!(
        "Your work does not count yet:\n{}\n\nMend what is wrong, then report again in the form that you were shown, if one \
was asked for. Your answer is kept: do not repeat it.",
        findings.join("\n")
    )
}
