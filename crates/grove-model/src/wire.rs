//! The list of wire formats, in which requests are written and answers are read. Each format has a file of its own.

use std::fmt::Debug;

use grove_plan::ModelFailure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::ModelAnswer;
use crate::anthropic;
use crate::assembly::{AnswerAssembly, AnswerLimits};
use crate::client::OnEvent;
use crate::error::{AnswerBound, ModelError};
use crate::reported_usage::ReportedUsage;
use crate::request::ModelRequest;
use crate::secret::Secret;
use crate::sse::EventLines;
use crate::{openai_chat, openai_responses};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelApi {
    Anthropic,
    OpenaiResponses,
    OpenaiChat,
}

impl ModelApi {
    /// Returns the word for the interface in configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiResponses => "openai-responses",
            Self::OpenaiChat => "openai-chat",
        }
    }

    pub fn of_word(word: &str) -> Option<Self> {
        let all = [Self::Anthropic, Self::OpenaiResponses, Self::OpenaiChat];
        all.into_iter().find(|api| api.word() == word)
    }

    pub const fn usual_address(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenaiResponses | Self::OpenaiChat => "https://api.openai.com/v1",
        }
    }

    pub(crate) fn format(self) -> &'static WireFormat {
        match self {
            Self::Anthropic => &anthropic::MESSAGES,
            Self::OpenaiResponses => &openai_responses::RESPONSES,
            Self::OpenaiChat => &openai_chat::CHAT,
        }
    }
}

/// A wire format, which says how requests and answers are written.
#[derive(Debug)]
pub(crate) struct WireFormat {
    pub(crate) path: &'static str,
    /// The headers that the format needs, without the header for the key.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// The header for a key, and the text before the key in it.
    pub(crate) key_header: (&'static str, &'static str),
    /// Returns the body of a request that is answered by a stream.
    pub(crate) body: fn(&ModelRequest) -> Value,
    pub(crate) reader: fn() -> Box<dyn AnswerReader>,
    /// The numbers of the object `usage`.
    pub(crate) usage: fn(&Value) -> ReportedUsage,
    /// Returns the meaning of an answer that is no success; the body is null where it is not JSON.
    pub(crate) refusal: fn(u16, &Value) -> ProviderRefusal,
}

/// A reader that puts the events of one answer into its assembly.
pub(crate) trait AnswerReader: Send + Debug {
    fn take(
        &mut self,
        event: &Value,
        assembly: &mut AnswerAssembly,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError>;

    /// Takes the line `[DONE]`, which ends a stream in one format and is not an event.
    fn take_last_line(&mut self, _assembly: &mut AnswerAssembly) {}
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProviderRefusal {
    pub(crate) failure: ModelFailure,
    pub(crate) kind: Option<String>,
    pub(crate) message: Option<String>,
}

/// A decoder of a provider's answer: a state machine that takes bytes and uses no network and no clock.
///
/// The events and the answer do not depend on the portions in which the bytes come.
#[derive(Debug)]
pub struct AnswerDecoder {
    lines: EventLines,
    reader: Box<dyn AnswerReader>,
    assembly: AnswerAssembly,
    received: usize,
    limits: AnswerLimits,
}

impl AnswerDecoder {
    pub fn new(api: ModelApi, limits: AnswerLimits) -> Self {
        Self::of(api.format(), limits, None)
    }

    pub(crate) fn of(format: &WireFormat, limits: AnswerLimits, secret: Option<Secret>) -> Self {
        Self {
            lines: EventLines::new(limits.event_bytes),
            reader: (format.reader)(),
            assembly: AnswerAssembly::new(limits, secret),
            received: 0,
            limits,
        }
    }

    /// Takes the next bytes. After an error all later bytes are to be ignored.
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
            // Events after the end of the answer do not belong to it.
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
                    return Err(AnswerAssembly::damaged(&format!(
                        "an event is not JSON: {error}"
                    )));
                }
            };
            // Some gateways leave the type out of the data and send it only as the event's name.
            if let Some(object) = data.as_object_mut()
                && !object.contains_key("type")
            {
                object.insert("type".to_owned(), event.name.into());
            }
            reader.take(&data, assembly, on_event)
        })?;
        if !beyond.is_empty() && !assembly.is_complete {
            return Err(ModelError::TooLarge {
                what: AnswerBound::Stream,
                limit: self.limits.stream_bytes as u64,
            });
        }
        Ok(())
    }

    pub fn is_complete(&self) -> bool {
        self.assembly.is_complete
    }

    /// Returns the answer to a request of `request_bytes`, from which its tokens are estimated if the provider did not
    /// count them. A stream that was cut is an error.
    pub fn finish(self, request_bytes: usize) -> Result<ModelAnswer, ModelError> {
        self.assembly.finish(request_bytes)
    }
}
