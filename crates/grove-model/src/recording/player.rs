//! The player of a recording, which answers in place of a provider.

use std::io::{BufRead, Read as _};
use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::compare::ComparedConversation;
use super::program_exchange::{ProgramAnswer, ProgramExchange};
use super::{
    ExchangeOutcome, FORMAT, RecordedExchange, RecordingHeading, RecordingPlaceholders,
    ReplayError, heading,
};
use crate::answer::{ModelAnswer, ModelEvent};
use crate::client::{Asking, ModelClient, OnEvent};
use crate::error::{ModelError, bounded_line};
use crate::request::{MessageBlock, ModelRequest, as_json};
use crate::wire::ModelApi;

/// The longest line: an answer of the largest size with the request before it.
const LONGEST_LINE: u64 = 256 << 20;

/// A recording that all its players share: equal requests are answered in their order, whichever player asks.
#[derive(Debug)]
pub struct SharedRecording {
    exchanges: Vec<PlayedExchange>,
    /// For each exchange, true if it was played.
    played: Mutex<Vec<bool>>,
    /// True if a different result of a tool is an error.
    is_strict: bool,
}

#[derive(Debug, Clone)]
pub struct RecordingPlayer {
    tape: Arc<SharedRecording>,
    places: RecordingPlaceholders,
}

#[derive(Debug)]
struct PlayedExchange {
    conversation: ComparedConversation,
    outcome: PlayedOutcome,
}

#[derive(Debug, Clone)]
enum PlayedOutcome {
    Asked(ExchangeOutcome),
    PassedOn(ProgramAnswer),
}

impl PlayedExchange {
    fn read(line: &[u8]) -> serde_json::Result<Self> {
        let value: Value = serde_json::from_slice(line)?;
        if value.get("turns").is_some() {
            let passed: ProgramExchange = serde_json::from_value(value)?;
            return Ok(Self {
                conversation: passed.conversation(),
                outcome: PlayedOutcome::PassedOn(passed.answer),
            });
        }
        let exchange: RecordedExchange = serde_json::from_value(value)?;
        Ok(Self {
            conversation: ComparedConversation::of(&exchange.request),
            outcome: PlayedOutcome::Asked(exchange.outcome),
        })
    }
}

impl SharedRecording {
    /// Reads a recording. A line that was cut, as by a crash, is left out; what was recorded after it counts.
    pub fn read(mut from: impl BufRead, is_strict: bool) -> Result<Self, ReplayError> {
        let mut exchanges = Vec::new();
        let mut line = Vec::new();
        for number in 1.. {
            let damaged = |reason: String| ReplayError::Damaged {
                line: number,
                reason: bounded_line(&reason),
            };
            line.clear();
            let mut limited = from.by_ref().take(LONGEST_LINE);
            let length = limited
                .read_until(b'\n', &mut line)
                .map_err(|error| damaged(error.to_string()))?;
            if length == 0 && number > 1 {
                break;
            }
            if number == 1 {
                let heading: Option<RecordingHeading> = serde_json::from_slice(&line).ok();
                match heading {
                    Some(heading) if heading.recording == FORMAT => continue,
                    Some(other) => {
                        return Err(damaged(format!("`{}` is not `{FORMAT}`", other.recording)));
                    }
                    None => return Err(damaged(format!("it does not say `{FORMAT}`"))),
                }
            }
            if is_begun_again(&line) {
                continue;
            }
            let is_cut = line.last() != Some(&b'\n');
            match PlayedExchange::read(&line) {
                Ok(recorded) => exchanges.push(recorded),
                Err(_) if is_cut && (length as u64) < LONGEST_LINE => break,
                Err(error) => return Err(damaged(error.to_string())),
            }
        }
        Ok(Self {
            played: Mutex::new(vec![false; exchanges.len()]),
            exchanges,
            is_strict,
        })
    }

    /// Returns the recorded answer, and the differences to warn of.
    fn play(
        &self,
        conversation: &ComparedConversation,
    ) -> Result<(PlayedOutcome, Vec<String>), ReplayError> {
        let same = |recorded: &PlayedExchange| conversation.is_same(&recorded.conversation);
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let next = (0..self.exchanges.len()).find(|at| !played[*at] && same(&self.exchanges[*at]));
        let Some(next) = next else {
            let times = self
                .exchanges
                .iter()
                .filter(|recorded| same(recorded))
                .count();
            return Err(match times {
                0 => self.not_recorded(conversation),
                times => ReplayError::UsedUp { times },
            });
        };
        let recorded = &self.exchanges[next];
        let differences = conversation.differing_results(&recorded.conversation);
        if self.is_strict && !differences.is_empty() {
            let difference = differences.join("; ");
            return Err(ReplayError::ResultDiffers { difference });
        }
        played[next] = true;
        Ok((recorded.outcome.clone(), differences))
    }

    fn not_recorded(&self, conversation: &ComparedConversation) -> ReplayError {
        let recorded = self.exchanges.iter().map(|recorded| &recorded.conversation);
        let nearest = recorded.max_by_key(|recorded| conversation.likeness(recorded));
        let difference = match nearest {
            Some(nearest) => conversation.difference(nearest),
            None => "it has none at all".to_owned(),
        };
        ReplayError::NotRecorded { difference }
    }
}

impl RecordingPlayer {
    pub const fn new(tape: Arc<SharedRecording>, places: RecordingPlaceholders) -> Self {
        Self { tape, places }
    }

    fn play(&self, request: &ModelRequest) -> Result<(ExchangeOutcome, Vec<String>), ReplayError> {
        let hidden = changed(request, |value| {
            value.sort_all_objects();
            self.places.hide(value);
        });
        match self.tape.play(&ComparedConversation::of(&hidden))? {
            (PlayedOutcome::Asked(outcome), differences) => {
                let shown = changed(&outcome, |value| self.places.show(value));
                Ok((shown, differences))
            }
            // Conversations of the two kinds are never the same.
            (PlayedOutcome::PassedOn(_), _) => Err(ReplayError::UsedUp { times: 0 }),
        }
    }

    /// Returns the answer to a program's request: status, content type and bytes.
    pub(crate) fn pass_on(
        &self,
        api: ModelApi,
        body: &[u8],
        told: &[String; 2],
    ) -> Result<(StatusCode, &'static str, Vec<u8>), ReplayError> {
        let asked = ProgramExchange::asked(api, body, told);
        let hidden = changed(&asked, |value| self.places.hide(value));
        match self.tape.play(&hidden.conversation())? {
            (PlayedOutcome::PassedOn(answer), _) => {
                let shown = changed(&answer, |value| self.places.show(value));
                Ok((shown.status(), shown.content_type(), shown.bytes()))
            }
            (PlayedOutcome::Asked(_), _) => Err(ReplayError::UsedUp { times: 0 }),
        }
    }
}

/// Returns the value with its texts changed; its form and order stay.
fn changed<T: Serialize + DeserializeOwned + Clone>(of: &T, change: impl FnOnce(&mut Value)) -> T {
    let mut value = as_json(of);
    change(&mut value);
    // This cannot fail: the JSON was made from the same type just now.
    serde_json::from_value(value).unwrap_or_else(|_| of.clone())
}

impl ModelClient for RecordingPlayer {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_event: &'a mut OnEvent<'_>,
        cancel: &'a CancellationToken,
    ) -> Asking<'a> {
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
            let (outcome, differences) = self.play(request).map_err(ModelError::Replay)?;
            for message in differences {
                on_event(ModelEvent::Warning { message });
            }
            match outcome {
                ExchangeOutcome::Answer(answer) => {
                    tell(&answer, on_event);
                    Ok(answer)
                }
                ExchangeOutcome::Error(error) => Err(error),
            }
        })
    }
}

/// Returns true if a recording begins again in this line, perhaps behind a cut one. No exchange ends with a heading.
fn is_begun_again(line: &[u8]) -> bool {
    line.trim_ascii_end()
        .ends_with(heading().to_string().as_bytes())
}

/// Sends the parts of an answer as events, as if they came now.
fn tell(answer: &ModelAnswer, on_event: &mut OnEvent<'_>) {
    for (block, part) in (0..).zip(&answer.blocks) {
        match part.clone() {
            MessageBlock::Text { text } => on_event(ModelEvent::TextDelta { block, text }),
            MessageBlock::Thinking { text, .. } => {
                on_event(ModelEvent::ThinkingDelta { block, text });
            }
            MessageBlock::ToolUse { id, name, input } => {
                on_event(ModelEvent::ToolStart { block, id, name });
                let part = input.to_string();
                on_event(ModelEvent::ToolInputDelta { block, part });
            }
            MessageBlock::ToolResult { .. } | MessageBlock::Other { .. } => {}
        }
    }
    let usage = answer.usage;
    on_event(ModelEvent::Usage { usage });
}
