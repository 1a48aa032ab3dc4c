//! Puts a conversation together from the facts in the journal.

use grove_model::StopKind;
use grove_plan::{Attempt, CallOutcome, Fact, Outcome, Said};
use grove_store::{LoadedRun, Store, StoreError};
use serde_json::Value;

use super::turn::GivenResult;
use super::{Conversation, asked_for, asked_for_data};
use crate::native::calls::UNKNOWN_OUTCOME;
use crate::native::compaction::{Window, bytes_of};
use crate::native::goes_on;
use crate::told::Told;
use crate::tools::CONTACT_SUPERVISOR;

/// The result for the model of a call that it wanted and that was not begun before it was interrupted.
pub(super) const NOT_RUN: &str =
    "not run: the work was interrupted before it; call it again if it is still wanted";
/// The result for the model of a question that was not answered before it went on.
const NO_ANSWER: &str = "no answer was given; go on as well as you can without one";

impl Conversation {
    /// Returns the conversation of an attempt, with the tries that it continues.
    pub(in crate::native) fn of(
        store: &Store,
        run: &LoadedRun,
        of: &Attempt,
        told: Told,
        window: Window,
    ) -> Result<Self, StoreError> {
        let mut conversation = Self {
            begun_with: told.system.len() + bytes_of(&told.history),
            told,
            window,
            compacted: 0,
            counted: None,
            at_first: Vec::new(),
            turns: Vec::new(),
            earlier: 0,
        };
        for (of, said) in session_of(run, of) {
            if let Some(said) = said {
                conversation.go_on(store, said)?;
            }
            conversation.take_in(store, run, &of)?;
        }
        Ok(conversation)
    }

    /// Takes in the facts of one try.
    fn take_in(&mut self, store: &Store, run: &LoadedRun, of: &Attempt) -> Result<(), StoreError> {
        for event in &run.events {
            match &event.fact {
                Fact::Turned {
                    of: whose, turn, ..
                } if whose == of => {
                    let blocks = serde_json::from_value(store.value(&turn.content)?);
                    let blocks = blocks.map_err(|error| StoreError::Row {
                        run: run.id.clone(),
                        message: format!("event {}: {error}", event.seq),
                    })?;
                    let stop = serde_json::from_value(Value::String(turn.stop.clone()));
                    let is_pause = stop.is_ok_and(|stop: StopKind| goes_on(&stop));
                    self.push(blocks, is_pause, &turn.usage);
                }
                Fact::Compacted {
                    of: whose, turns, ..
                } if whose == of => self.compact(*turns),
                Fact::Called {
                    of: whose, call, ..
                } if whose == of => {
                    if let Some(last) = self.turns.last_mut()
                        && let Some(place) = last.place_of(&call.id)
                    {
                        last.begin(place, call.id.clone());
                    }
                }
                Fact::Returned {
                    of: whose,
                    call,
                    outcome:
                        CallOutcome {
                            content, is_error, ..
                        },
                    ..
                } if whose == of => {
                    let text = store.value(content)?;
                    let text = text.as_str().unwrap_or_default().to_owned();
                    let is_error = *is_error;
                    if let Some(last) = self.turns.last_mut()
                        && let Some(place) = last.place_of(call)
                    {
                        last.give(place, GivenResult { text, is_error });
                    }
                }
                Fact::Answered {
                    effect,
                    outcome: Outcome::Sent { message },
                    ..
                } if effect.of == *of => self.hear(store.text(message)?),
                _ => {}
            }
        }
        Ok(())
    }

    /// Settles what was open when the try before ended; the next one begins with what is said now.
    fn go_on(&mut self, store: &Store, said: &Said) -> Result<(), StoreError> {
        let mut words = match said {
            Said::Nothing => None,
            Said::Message(digest) | Said::Answer(digest) => Some(store.text(digest)?),
            Said::Findings(findings) => Some(asked_for(findings)),
            Said::Data(why) => Some(asked_for_data(why)),
        };
        self.settle_open_calls(&mut words);
        if let Some(words) = words {
            self.hear(words);
        }
        self.earlier = self.turns.len();
        Ok(())
    }

    /// Gives every call of the last turn a result: an answer to a question, or what is known of it.
    pub(super) fn settle_open_calls(&mut self, words: &mut Option<String>) {
        let Some(last) = self.turns.last_mut() else {
            return;
        };
        last.settle(
            |name, is_begun| match (is_begun, name == CONTACT_SUPERVISOR) {
                (true, true) => match words.take() {
                    Some(text) => GivenResult {
                        text,
                        is_error: false,
                    },
                    None => GivenResult::failed(NO_ANSWER),
                },
                (true, false) => GivenResult::failed(UNKNOWN_OUTCOME),
                (false, _) => GivenResult::failed(NOT_RUN),
            },
        );
    }
}

/// Returns the tries of a session up to one, the oldest first, each with what it began with.
fn session_of<'a>(run: &'a LoadedRun, of: &Attempt) -> Vec<(Attempt, Option<&'a Said>)> {
    let attempts = run.state.nodes.get(&of.node).map(|node| &node.attempts);
    let mut session = Vec::new();
    let mut next = Some(of.n);
    while let Some(n) = next {
        let at = usize::try_from(n).unwrap_or(usize::MAX);
        let attempt = attempts.and_then(|attempts| attempts.get(at.checked_sub(1)?));
        let continues = attempt.and_then(|attempt| attempt.continues.as_ref());
        let node = of.node.clone();
        session.push((Attempt { node, n }, continues.map(|it| &it.said)));
        next = continues.map(|it| it.n).filter(|earlier| *earlier < n);
    }
    session.reverse();
    session
}
