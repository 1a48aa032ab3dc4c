//! A conversation as its journal has it.

mod from_journal;
mod messages;
mod turn;

use grove_model::{MessageBlock, StopKind};
use grove_plan::{CallId, Finish, Question, Usage};
use serde_json::Value;

use super::compaction::Window;
use super::goes_on;
use crate::child_end::ChildEnd;
use crate::told::Told;
use crate::tools::{STRUCTURED_OUTPUT, ToolResult, question_of};
use from_journal::NOT_RUN;
pub(super) use turn::TurnSoFar;
use turn::{CallSoFar, GivenResult};

/// The conversation so far, in all tries of one session.
pub(super) struct Conversation {
    told: Told,
    window: Window,
    /// The bytes of what is sent before the first message: the system prompt, and the conversation that it is forked from.
    begun_with: usize,
    /// The number of turns that are told in short.
    compacted: usize,
    /// The tokens of everything up to the last answer, as the provider counted them.
    counted: Option<u64>,
    /// The words that the child was sent before the first answer, beside the task.
    at_first: Vec<String>,
    turns: Vec<TurnSoFar>,
    /// The number of turns of earlier tries, which count for no limit of this one.
    earlier: usize,
}

/// A call whose result the model has not got.
pub(super) struct PendingCall {
    place: usize,
    /// Its name in the journal.
    pub(super) id: CallId,
    /// The model's name for it.
    pub(super) given: String,
    pub(super) name: String,
    pub(super) input: Value,
    /// Set if it was begun, and its end is not known.
    pub(super) may_have_run: bool,
}

impl PendingCall {
    /// Returns the question that the child asks with it and waits for.
    pub(super) fn question(&self) -> Option<Question> {
        let text = question_of(&self.name, &self.input)?;
        let call = self.id.clone();
        Some(Question { call, text })
    }
}

impl Conversation {
    /// Adds words for the child after everything that was said before.
    pub(super) fn hear(&mut self, words: String) {
        match self.turns.last_mut() {
            Some(last) => last.hear(words),
            None => self.at_first.push(words),
        }
    }

    fn push(&mut self, blocks: Vec<MessageBlock>, goes_on: bool, usage: &Usage) {
        let counted = [usage.input, usage.cached, usage.cache_write, usage.output];
        let counted = counted.into_iter().fold(0, u64::saturating_add);
        self.counted = (counted > 0 && !usage.estimated).then_some(counted);
        // Every call needs a result before the next answer, also one that an earlier version of this program passed over.
        if let Some(last) = self.turns.last_mut() {
            last.settle(|_, _| GivenResult::failed(NOT_RUN));
        }
        let number = self.own().len() + 1;
        self.turns.push(TurnSoFar::new(number, blocks, goes_on));
    }

    pub(super) fn add_turn(&mut self, blocks: Vec<MessageBlock>, stop: &StopKind, usage: &Usage) {
        let is_pause = goes_on(stop);
        self.push(blocks, is_pause, usage);
    }

    /// Tells so many turns in short from now on.
    pub(super) fn compact(&mut self, turns: u64) {
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        self.compacted = turns.min(self.turns.len());
        self.counted = None;
    }

    pub(super) fn add_result(&mut self, call: &PendingCall, result: &ToolResult) {
        if let Some(last) = self.turns.last_mut() {
            last.begin(call.place, call.id.clone());
            let (text, is_error) = (result.text.clone(), result.is_error);
            last.give(call.place, GivenResult { text, is_error });
        }
    }

    pub(super) fn system(&self) -> &str {
        &self.told.system
    }

    /// Returns the calls of the last answer that have no result, in order.
    pub(super) fn pending_calls(&self) -> Vec<PendingCall> {
        let Some(last) = self.turns.last() else {
            return Vec::new();
        };
        let calls = last.calls().enumerate();
        let calls = calls.filter(|(_, (_, call))| call.result.is_none());
        let calls = calls.map(|(place, (given, call))| PendingCall {
            place,
            id: call.begun.clone().unwrap_or_else(|| last.id_of(place)),
            given: given.id.to_owned(),
            name: given.tool.to_owned(),
            input: given.input.clone(),
            may_have_run: call.begun.is_some(),
        });
        let mut calls: Vec<PendingCall> = calls.collect();
        // A call that asks a question makes the child wait, so the others come first.
        calls.sort_by_key(|call| call.question().is_some());
        calls
    }

    /// Returns true if the model has said all it wanted to.
    pub(super) fn is_answered(&self) -> bool {
        let last = self.turns.last();
        last.is_some_and(|last| {
            let has_calls = last.calls().next().is_some();
            !last.goes_on && !has_calls && last.heard().is_empty()
        })
    }

    fn own(&self) -> &[TurnSoFar] {
        self.turns.get(self.earlier..).unwrap_or_default()
    }

    /// Returns the number of answers of the model.
    pub(super) fn turns(&self) -> u64 {
        self.own().len() as u64
    }

    pub(super) fn calls_wanted(&self) -> u64 {
        let calls = self.own().iter().map(|turn| turn.calls().count());
        calls.sum::<usize>() as u64
    }

    /// Returns the number of calls that it had asked for before its last answer.
    pub(super) fn calls_wanted_before_last(&self) -> u64 {
        let last = self.own().last();
        let of_last = last.map_or(0, |last| last.calls().count());
        self.calls_wanted().saturating_sub(of_last as u64)
    }

    /// Returns the number of calls that were begun or refused.
    pub(super) fn calls_begun(&self) -> u64 {
        let calls = self.own().iter().flat_map(TurnSoFar::calls);
        calls.filter(|(_, call)| call.begun.is_some()).count() as u64
    }

    /// Returns the names of the skills that it asked for and was given.
    pub(super) fn skills_given(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().flat_map(|turn| {
            let calls = turn
                .calls()
                .filter(|(given, call)| given.tool == "skill" && call.is_taken());
            calls.filter_map(|(given, _)| given.input.get("name")?.as_str())
        })
    }

    /// Returns the value that was taken as the result.
    pub(super) fn structured(&self) -> Option<&Value> {
        let last = self.turns.last().filter(|last| last.heard().is_empty())?;
        let mut calls = last.calls();
        let is_it = |name: &str, call: &CallSoFar| name == STRUCTURED_OUTPUT && call.is_taken();
        calls.find_map(|(given, call)| is_it(given.tool, call).then_some(given.input))
    }

    /// Returns the fault of the last value, once so many values were wrong.
    pub(super) fn wrong_values(&self, most: usize) -> Option<String> {
        let results = self.own().iter().flat_map(|turn| {
            let calls = turn
                .calls()
                .filter(|(given, _)| given.tool == STRUCTURED_OUTPUT);
            calls.filter_map(|(_, call)| call.result.as_ref())
        });
        let wrong: Vec<&GivenResult> = results.filter(|result| result.is_error).collect();
        wrong.get(most.checked_sub(1)?)?;
        wrong.last().map(|result| result.text.clone())
    }

    /// Returns the end with the last words and the value.
    pub(super) fn end(&self, finish: Finish) -> ChildEnd {
        ChildEnd::of(finish, self.last_text()).with_value(self.structured().cloned())
    }

    /// Returns the last words of the model.
    pub(super) fn last_text(&self) -> String {
        let mut texts = self.turns.iter().rev().map(|turn| {
            let words = turn.blocks.iter().filter_map(|block| match block {
                MessageBlock::Text { text } => Some(text.as_str()),
                _ => None,
            });
            words.collect::<Vec<_>>().join("")
        });
        let found = texts.find(|text| !text.trim().is_empty());
        found.unwrap_or_default()
    }
}

/// Returns the message for a child that answered in words where data was asked for.
pub(crate) fn asked_for_data(why: &str) -> String {
    format!(
        "Your answer is not the data that was asked for: {why}\n\nGive it once more: by calling `structured_output`, or as \
JSON that meets the schema and nothing beside it."
    )
}

/// Returns the message for a child whose work does not meet its contract.
pub(crate) fn asked_for(findings: &[String]) -> String {
    let findings: Vec<String> = findings.iter().map(|it| format!("- {it}")).collect();
    format!(
        "Your work does not count yet:\n{}\n\nMend what is wrong, then report again in the form that you were shown, if one \
was asked for. Your answer is kept: do not repeat it.",
        findings.join("\n")
    )
}
