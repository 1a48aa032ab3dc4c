//! One answer of a model, with the results of its calls.
//!
//! A call is found by its place in its turn. The model's name for it is only sent back with its result: some servers give
//! one name to every call.

use grove_model::MessageBlock;
use grove_plan::CallId;
use serde_json::Value;

use crate::native::calls_of;

/// An answer of the model, with the results of its calls.
pub(in crate::native) struct TurnSoFar {
    /// The number of the turn in its try, counted from one.
    number: usize,
    pub(in crate::native) blocks: Vec<MessageBlock>,
    pub(super) goes_on: bool,
    /// The state of each call, in their order.
    calls: Vec<CallSoFar>,
    /// The words that the child was sent then, beside the results.
    pub(in crate::native) heard: Vec<String>,
}

/// The state of a call.
#[derive(Debug, Clone, Default)]
pub(in crate::native) struct CallSoFar {
    /// The name under which it was begun.
    pub(super) begun: Option<CallId>,
    /// The text for the model, and true if the call failed.
    pub(in crate::native) result: Option<(String, bool)>,
}

impl CallSoFar {
    /// Returns true if it has a result that is no failure.
    pub(super) fn is_taken(&self) -> bool {
        matches!(self.result, Some((_, false)))
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
        }
    }

    /// Returns the calls in their order: the model's name, the tool and the arguments, and the state.
    pub(in crate::native) fn calls(
        &self,
    ) -> impl Iterator<Item = ((&String, &String, &Value), &CallSoFar)> {
        calls_of(&self.blocks).zip(&self.calls)
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
    pub(super) fn give(&mut self, place: usize, result: (String, bool)) {
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
            calls.position(|((given, _, _), call)| *given == id.0 && call.begun.is_none())
        };
        begun
            .or_else(|| places.find(|place| self.id_of(*place) == *id))
            .or_else(by_name)
    }

    /// Gives every call without a result the one that `said` returns for its tool and whether it was begun.
    pub(super) fn settle(&mut self, mut said: impl FnMut(&str, bool) -> (String, bool)) {
        let names = calls_of(&self.blocks).map(|(_, name, _)| name);
        for (name, call) in names.zip(&mut self.calls) {
            if call.result.is_none() {
                call.result = Some(said(name, call.begun.is_some()));
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
                turn.give(place, (place.to_string(), false));
                prop_assert_eq!(turn.place_of(&id), Some(place));
            }
            let told: Vec<String> = turn.calls().map(|(_, call)| call.result.clone().unwrap().0).collect();
            let expected: Vec<String> = (0..names.len()).map(|place| place.to_string()).collect();
            prop_assert_eq!(told, expected);
        }
    }
}
