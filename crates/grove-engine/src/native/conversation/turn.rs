//! One answer of a model, with the results of its calls.
//!
//! A call is found by its place in its turn. The model's name for it is only sent back with its result: some servers give
//! one name to every call.

use std::sync::OnceLock;

use grove_model::MessageBlock;
use grove_plan::CallId;

use crate::native::{GivenCall, calls_of};

/// An answer of the model, with the results of its calls.
pub(in crate::native) struct TurnSoFar {
    /// The number of the turn in its try, counted from one.
    number: usize,
    pub(in crate::native) blocks: Vec<MessageBlock>,
    pub(super) goes_on: bool,
    /// The state of each call, in their order.
    calls: Vec<CallSoFar>,
    /// The words that the child was sent then, beside the results.
    heard: Vec<String>,
    /// The bytes of its messages, once they were counted and as long as nothing is added.
    pub(super) bytes: OnceLock<usize>,
}

#[derive(Debug, Clone, Default)]
pub(in crate::native) struct CallSoFar {
    /// The name under which it was begun.
    pub(super) begun: Option<CallId>,
    pub(in crate::native) result: Option<GivenResult>,
}

/// The result of a call as the model is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::native) struct GivenResult {
    pub(in crate::native) text: String,
    pub(in crate::native) is_error: bool,
}

impl GivenResult {
    pub(super) fn failed(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            is_error: true,
        }
    }
}

impl CallSoFar {
    /// Returns true if it has a result that is no failure.
    pub(super) fn is_taken(&self) -> bool {
        self.result.as_ref().is_some_and(|result| !result.is_error)
    }
}

impl TurnSoFar {
    pub(super) fn new(number: usize, blocks: Vec<MessageBlock>, goes_on: bool) -> Self {
        let calls = vec![CallSoFar::default(); calls_of(&blocks).count()];
        Self {
            number,
            blocks,
            goes_on,
            calls,
            heard: Vec::new(),
            bytes: OnceLock::new(),
        }
    }

    /// Returns the calls in their order, each with its state.
    pub(in crate::native) fn calls(&self) -> impl Iterator<Item = (GivenCall<'_>, &CallSoFar)> {
        calls_of(&self.blocks).zip(&self.calls)
    }

    pub(in crate::native) fn heard(&self) -> &[String] {
        &self.heard
    }

    pub(super) fn hear(&mut self, words: String) {
        self.bytes.take();
        self.heard.push(words);
    }

    /// Returns the name of a call in the journal.
    pub(super) fn id_of(&self, place: usize) -> CallId {
        CallId(format!("turn-{}-call-{}", self.number, place + 1))
    }

    /// Takes note that a call was begun under a name.
    pub(super) fn begin(&mut self, place: usize, id: CallId) {
        if let Some(call) = self.calls.get_mut(place) {
            call.begun.get_or_insert(id);
        }
    }

    /// Takes the result of a call.
    pub(super) fn give(&mut self, place: usize, result: GivenResult) {
        self.bytes.take();
        if let Some(call) = self.calls.get_mut(place) {
            call.result = Some(result);
        }
    }

    /// Returns the place of a call that the journal names. Earlier versions wrote down the model's name: it stands for the
    /// first such call that was not begun.
    pub(super) fn place_of(&self, id: &CallId) -> Option<usize> {
        let mut places = 0..self.calls.len();
        let begun = self
            .calls
            .iter()
            .position(|call| call.begun.as_ref() == Some(id));
        let by_name = || {
            let mut calls = self.calls();
            calls.position(|(given, call)| given.id == id.0 && call.begun.is_none())
        };
        begun
            .or_else(|| places.find(|place| self.id_of(*place) == *id))
            .or_else(by_name)
    }

    /// Gives every call without a result the one that `said` returns for its tool and whether it was begun.
    pub(super) fn settle(&mut self, mut said: impl FnMut(&str, bool) -> GivenResult) {
        self.bytes.take();
        for (given, call) in calls_of(&self.blocks).zip(&mut self.calls) {
            if call.result.is_none() {
                call.result = Some(said(given.tool, call.begun.is_some()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn turn(names: &[&str]) -> TurnSoFar {
        let blocks = names.iter().map(|id| MessageBlock::ToolUse {
            id: (*id).to_owned(),
            name: "read".to_owned(),
            input: json!({}),
        });
        TurnSoFar::new(3, blocks.collect(), false)
    }

    #[test]
    fn a_call_of_an_older_journal_is_found_by_the_models_name() {
        let mut turn = turn(&["a", "same", "same", ""]);
        for (name, expected) in [
            ("same", Some(1)),
            ("a", Some(0)),
            ("", Some(3)),
            ("b", None),
        ] {
            let id = CallId(name.to_owned());
            assert_eq!(turn.place_of(&id), expected, "{name}");
            if let Some(place) = expected {
                turn.begin(place, id.clone());
                assert_eq!(turn.place_of(&id), expected, "{name}: its result");
            }
        }
    }

    proptest! {
        #[test]
        fn names_of_models_mean_nothing(names in proptest::collection::vec("(turn-3-call-)?[a12]?", 1..6)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut turn = turn(&names);
            for place in 0..names.len() {
                let id = turn.id_of(place);
                prop_assert_eq!(turn.place_of(&id), Some(place));
                turn.begin(place, id.clone());
                turn.give(place, GivenResult { text: place.to_string(), is_error: false });
                prop_assert_eq!(turn.place_of(&id), Some(place));
            }
            let told: Vec<String> = turn.calls().map(|(_, call)| call.result.clone().unwrap().text).collect();
            let expected: Vec<String> = (0..names.len()).map(|place| place.to_string()).collect();
            prop_assert_eq!(told, expected);
        }
    }
}
