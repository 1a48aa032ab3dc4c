//! Playing a recording.

use std::io::{BufRead, Read as _};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::compare::Conversation;
use super::{Exchange, FORMAT, Heading, Outcome, Places, ReplayError, heading};
use crate::answer::{ModelAnswer, ModelEvent};
use crate::client::{Asking, ModelClient, OnEvent};
use crate::error::{ModelError, bounded_line};
use crate::request::{Block, ModelRequest};

/// The longest line: an answer of the largest size with the request before it.
const LONGEST_LINE: u64 = 256 << 20;

/// Answers as a model did before.
#[derive(Debug)]
pub struct Player {
    exchanges: Vec<Recorded>,
    /// Which of them were played.
    played: Mutex<Vec<bool>>,
    places: Places,
    /// Whether a tool that comes to something else is an error.
    is_strict: bool,
}

#[derive(Debug)]
struct Recorded {
    conversation: Conversation,
    outcome: Outcome,
}

impl Player {
    /// Reads a recording. A line that was cut, as by a crash, is left out; what was recorded after it counts.
    pub fn read(
        mut from: impl BufRead,
        places: Places,
        is_strict: bool,
    ) -> Result<Self, ReplayError> {
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
                let heading: Option<Heading> = serde_json::from_slice(&line).ok();
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
            match serde_json::from_slice::<Exchange>(&line) {
                Ok(exchange) => exchanges.push(Recorded {
                    conversation: Conversation::of(&exchange.request),
                    outcome: exchange.outcome,
                }),
                Err(_) if is_cut && (length as u64) < LONGEST_LINE => break,
                Err(error) => return Err(damaged(error.to_string())),
            }
        }
        Ok(Self {
            played: Mutex::new(vec![false; exchanges.len()]),
            exchanges,
            places,
            is_strict,
        })
    }

    /// The answer that was recorded, and what to say about it.
    fn play(&self, request: &ModelRequest) -> Result<(Outcome, Vec<String>), ReplayError> {
        let conversation = self.conversation(request);
        let same = |recorded: &Recorded| conversation.is_same(&recorded.conversation);
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let next = (0..self.exchanges.len()).find(|at| !played[*at] && same(&self.exchanges[*at]));
        let Some(next) = next else {
            let times = self
                .exchanges
                .iter()
                .filter(|recorded| same(recorded))
                .count();
            return Err(match times {
                0 => self.not_recorded(&conversation),
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
        Ok((self.shown(&recorded.outcome), differences))
    }

    fn conversation(&self, request: &ModelRequest) -> Conversation {
        let mut value = request.canonical();
        self.places.hide(&mut value);
        // It was made from a request just now.
        let hidden: Option<ModelRequest> = serde_json::from_value(value).ok();
        Conversation::of(hidden.as_ref().unwrap_or(request))
    }

    fn not_recorded(&self, conversation: &Conversation) -> ReplayError {
        let recorded = self.exchanges.iter().map(|recorded| &recorded.conversation);
        let nearest = recorded.max_by_key(|recorded| conversation.likeness(recorded));
        let difference = match nearest {
            Some(nearest) => conversation.difference(nearest),
            None => "it has none at all".to_owned(),
        };
        ReplayError::NotRecorded { difference }
    }

    fn shown(&self, outcome: &Outcome) -> Outcome {
        let mut value = serde_json::to_value(outcome).unwrap_or(Value::Null);
        self.places.show(&mut value);
        serde_json::from_value(value).unwrap_or_else(|_| outcome.clone())
    }
}

impl ModelClient for Player {
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
                Outcome::Answer(answer) => {
                    tell(&answer, on_event);
                    Ok(answer)
                }
                Outcome::Error(error) => Err(error),
            }
        })
    }
}

/// Whether a recording was begun again in the same file, perhaps behind a line that was cut. No exchange ends like that.
fn is_begun_again(line: &[u8]) -> bool {
    line.trim_ascii_end()
        .ends_with(heading().to_string().as_bytes())
}

/// Tells the parts of an answer as if they came now.
fn tell(answer: &ModelAnswer, on_event: &mut OnEvent<'_>) {
    for (block, part) in (0..).zip(&answer.blocks) {
        match part.clone() {
            Block::Text { text } => on_event(ModelEvent::TextDelta { block, text }),
            Block::Thinking { text, .. } => on_event(ModelEvent::ThinkingDelta { block, text }),
            Block::ToolUse { id, name, input } => {
                on_event(ModelEvent::ToolStart { block, id, name });
                let part = input.to_string();
                on_event(ModelEvent::ToolInputDelta { block, part });
            }
            Block::ToolResult { .. } | Block::Other { .. } => {}
        }
    }
    let usage = answer.usage;
    on_event(ModelEvent::Usage { usage });
}
