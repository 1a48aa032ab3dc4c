//! Wire formats: how a request is written and an answer is read. One file each; this one knows which there are.

use std::fmt::Debug;

use grove_plan::ModelFailure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::ModelAnswer;
use crate::anthropic;
use crate::assembly::{AnswerLimits, Assembly};
use crate::client::OnEvent;
use crate::error::{Bound, ModelError};
use crate::request::ModelRequest;
use crate::said_usage::SaidUsage;
use crate::secret::Secret;
use crate::sse::EventLines;
use crate::{openai_chat, openai_responses};

/// A provider's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Responses.
    OpenaiResponses,
    /// `OpenAI` Chat Completions.
    OpenaiChat,
}

impl Api {
    /// The word for it in configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiResponses => "openai-responses",
            Self::OpenaiChat => "openai-chat",
        }
    }

    /// The interface of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        let all = [Self::Anthropic, Self::OpenaiResponses, Self::OpenaiChat];
        all.into_iter().find(|api| api.word() == word)
    }

    /// Where its makers offer it.
    pub const fn usual_address(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenaiResponses | Self::OpenaiChat => "https://api.openai.com/v1",
        }
    }

    /// How it is spoken.
    pub(crate) fn format(self) -> &'static WireFormat {
        match self {
            Self::Anthropic => &anthropic::MESSAGES,
            Self::OpenaiResponses => &openai_responses::RESPONSES,
            Self::OpenaiChat => &openai_chat::CHAT,
        }
    }
}

/// How requests and answers are written: a row for each format.
#[derive(Debug)]
pub(crate) struct WireFormat {
    /// What follows the base address.
    pub(crate) path: &'static str,
    /// The headers that the format asks for, the key's header left out.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// The header for a key and what stands before the key in it.
    pub(crate) key_header: (&'static str, &'static str),
    /// The body of a request that is answered by a stream.
    pub(crate) body: fn(&ModelRequest) -> Value,
    /// Reads answers.
    pub(crate) reader: fn() -> Box<dyn AnswerReader>,
    /// The numbers of the object `usage`.
    pub(crate) usage: fn(&Value) -> SaidUsage,
    /// What an answer that is no success means; the body is null where it is not JSON.
    pub(crate) refusal: fn(u16, &Value) -> Refusal,
}

/// Reads the events of one answer into what it becomes.
pub(crate) trait AnswerReader: Send + Debug {
    /// Takes one event.
    fn take(
        &mut self,
        event: &Value,
        assembly: &mut Assembly,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError>;

    /// Takes the line `[DONE]`, which ends a stream in one format and is no event.
    fn take_last_line(&mut self, _assembly: &mut Assembly) {}
}

/// Why a provider does not answer, as it says itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) failure: ModelFailure,
    pub(crate) kind: Option<String>,
    pub(crate) message: Option<String>,
}

/// An answer of a provider, from bytes in any portions: a state machine that knows no network and no clock.
///
/// However the bytes are cut into portions, the events and the answer are the same.
#[derive(Debug)]
pub struct AnswerDecoder {
    lines: EventLines,
    reader: Box<dyn AnswerReader>,
    assembly: Assembly,
    received: usize,
    limits: AnswerLimits,
}

impl AnswerDecoder {
    /// Reads an answer in a wire format.
    pub fn new(api: Api, limits: AnswerLimits) -> Self {
        Self::of(api.format(), limits, None)
    }

    pub(crate) fn of(format: &WireFormat, limits: AnswerLimits, secret: Option<Secret>) -> Self {
        Self {
            lines: EventLines::new(limits.event_bytes),
            reader: (format.reader)(),
            assembly: Assembly::new(limits, secret),
            received: 0,
            limits,
        }
    }

    /// Takes the next bytes. After an error nothing that comes counts.
    pub fn push(&mut self, bytes: &[u8], on_event: &mut OnEvent<'_>) -> Result<(), ModelError> {
        let Self {
            lines,
            reader,
            assembly,
            ..
        } = self;
        let room = self.limits.stream_bytes - self.received;
        let (bytes, beyond) = bytes.split_at(bytes.len().min(room));
        self.received += bytes.len();
        lines.push(bytes, |event| {
            // What follows the end is of no interest.
            if assembly.is_complete {
                return Ok(());
            }
            if event.data == "[DONE]" {
                reader.take_last_line(assembly);
                return Ok(());
            }
            let mut data: Value = match serde_json::from_str(&event.data) {
                Ok(data) => data,
                Err(error) => {
                    return Err(Assembly::damaged(&format!("an event is not JSON: {error}")));
                }
            };
            // Some gateways leave the name out of the data.
            if let Some(object) = data.as_object_mut()
                && !object.contains_key("type")
            {
                object.insert("type".to_owned(), event.name.into());
            }
            reader.take(&data, assembly, on_event)
        })?;
        if !beyond.is_empty() && !assembly.is_complete {
            return Err(ModelError::TooLarge {
                what: Bound::Stream,
                limit: self.limits.stream_bytes as u64,
            });
        }
        Ok(())
    }

    /// Whether the end of the answer came.
    pub fn is_complete(&self) -> bool {
        self.assembly.is_complete
    }

    /// The answer to a request of `request_bytes`, from which its tokens are guessed where nobody counted them. A
    /// stream that was cut is an error.
    pub fn finish(self, request_bytes: usize) -> Result<ModelAnswer, ModelError> {
        self.assembly.finish(request_bytes)
    }
}
