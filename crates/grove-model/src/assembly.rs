//! An answer of any provider while it comes: its parts so far, and the bounds that they have to keep.

use std::collections::BTreeMap;

use grove_plan::{ModelFailure, Usage};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::answer::{ModelAnswer, ModelEvent, StopKind};
use crate::client::OnEvent;
use crate::error::{AnswerBound, ModelError, ProviderError, bounded_line};
use crate::reported_usage::{CountedBytes, ReportedUsage};
use crate::request::MessageBlock;
use crate::secret::Secret;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Bytes of words, thoughts and arguments together.
    pub answer_bytes: usize,
    /// Bytes of the stream, including the JSON and the fields around the words.
    pub stream_bytes: usize,
    pub event_bytes: usize,
    pub tool_input_bytes: usize,
    pub blocks: usize,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self {
            answer_bytes: 16 << 20,
            // A stream that sends each token alone puts some hundred bytes around each.
            stream_bytes: 256 << 20,
            event_bytes: 16 << 20,
            tool_input_bytes: 8 << 20,
            blocks: 1024,
        }
    }
}

/// The deepest nesting of a model's JSON: it is written into other JSON, and readers give up at twice as much.
const DEEPEST_JSON: usize = 64;

#[derive(Debug)]
pub(crate) struct AnswerAssembly {
    limits: AnswerLimits,
    /// The key, which is masked in errors: some providers repeat it in theirs.
    secret: Option<Secret>,
    /// The parts by the provider's number, which is their order.
    parts: BTreeMap<u64, AnswerPart>,
    bytes: usize,
    pub(crate) model: String,
    pub(crate) stop: Option<StopKind>,
    pub(crate) is_complete: bool,
    /// True if the answer is whole even when the last line of the stream does not come.
    pub(crate) may_end: bool,
    said: ReportedUsage,
}

#[derive(Debug)]
enum AnswerPart {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: GrowingArguments,
    },
    Other {
        value: Value,
        input: GrowingArguments,
    },
}

/// Arguments as they come: the value that the call began with, and the pieces of JSON after it.
#[derive(Debug)]
struct GrowingArguments {
    start: Value,
    pieces: String,
}

impl GrowingArguments {
    fn new(start: Value) -> Self {
        Self {
            start,
            pieces: String::new(),
        }
    }

    fn value(self) -> Value {
        if !self.pieces.trim().is_empty() {
            return match serde_json::from_str(&self.pieces) {
                Ok(value) if !is_deeper_than(&value, DEEPEST_JSON) => value,
                _ => Value::String(self.pieces),
            };
        }
        match self.start {
            Value::Null => Value::Object(Map::new()),
            start => start,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum PartDelta<'a> {
    Text(&'a str),
    Thinking(&'a str),
    Signature(&'a str),
    Input(&'a str),
}

impl PartDelta<'_> {
    const fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Thinking(text) | Self::Signature(text) | Self::Input(text) => {
                text
            }
        }
    }
}

impl AnswerAssembly {
    pub(crate) fn new(limits: AnswerLimits, secret: Option<Secret>) -> Self {
        Self {
            limits,
            secret,
            parts: BTreeMap::new(),
            bytes: 0,
            model: String::new(),
            stop: None,
            is_complete: false,
            may_end: false,
            said: ReportedUsage::default(),
        }
    }

    /// Begins a part; the content that it begins with is counted and sent as an event like every later piece.
    pub(crate) fn begin(
        &mut self,
        index: u64,
        block: MessageBlock,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError> {
        if self.parts.len() >= self.limits.blocks {
            return Err(too_large(AnswerBound::Blocks, self.limits.blocks));
        }
        if self.parts.contains_key(&index) {
            return Err(Self::damaged(&format!("part {index} began twice")));
        }
        if let MessageBlock::ToolUse { input: value, .. } | MessageBlock::Other { value } = &block
            && is_deeper_than(value, DEEPEST_JSON)
        {
            return Err(Self::damaged(&format!("part {index} is nested too deep")));
        }
        let mut first = None;
        let part = match block {
            MessageBlock::Text { text } => {
                first = Some((text, false));
                AnswerPart::Text(String::new())
            }
            MessageBlock::Thinking { text, signature } => {
                first = Some((text, true));
                AnswerPart::Thinking {
                    text: String::new(),
                    signature: signature.unwrap_or_default(),
                }
            }
            MessageBlock::ToolUse { id, name, input } => {
                self.count(id.len() + name.len() + size_of_json(&input))?;
                let (told_id, told_name) = (id.clone(), name.clone());
                on_event(ModelEvent::ToolStart {
                    block: index,
                    id: told_id,
                    name: told_name,
                });
                let input = GrowingArguments::new(input);
                AnswerPart::ToolUse { id, name, input }
            }
            MessageBlock::Other { value } => {
                self.count(size_of_json(&value))?;
                let input = GrowingArguments::new(value.get("input").cloned().unwrap_or_default());
                AnswerPart::Other { value, input }
            }
            MessageBlock::ToolResult { .. } => {
                return Err(Self::damaged("a model returned a tool's result"));
            }
        };
        self.parts.insert(index, part);
        match first {
            Some((text, true)) if !text.is_empty() => {
                self.grow(index, PartDelta::Thinking(&text), on_event)
            }
            Some((text, false)) if !text.is_empty() => {
                self.grow(index, PartDelta::Text(&text), on_event)
            }
            _ => Ok(()),
        }
    }

    /// Adds to a part. A piece that does not fit the part's kind is of a kind unknown here and is ignored.
    pub(crate) fn grow(
        &mut self,
        index: u64,
        delta: PartDelta<'_>,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ModelError> {
        if !self.parts.contains_key(&index) {
            return Err(Self::damaged(&format!(
                "part {index} goes on and never began"
            )));
        }
        self.count(delta.text().len())?;
        let limit = self.limits.tool_input_bytes;
        let Some(part) = self.parts.get_mut(&index) else {
            return Ok(());
        };
        let block = index;
        match (part, delta) {
            (AnswerPart::Text(text), PartDelta::Text(more)) => {
                text.push_str(more);
                let text = more.to_owned();
                on_event(ModelEvent::TextDelta { block, text });
            }
            (AnswerPart::Thinking { text, .. }, PartDelta::Thinking(more)) => {
                text.push_str(more);
                let text = more.to_owned();
                on_event(ModelEvent::ThinkingDelta { block, text });
            }
            (AnswerPart::Thinking { signature, .. }, PartDelta::Signature(more)) => {
                signature.push_str(more);
            }
            (
                AnswerPart::ToolUse { input, .. } | AnswerPart::Other { input, .. },
                PartDelta::Input(more),
            ) => {
                if input.pieces.len() + more.len() > limit {
                    return Err(too_large(AnswerBound::ToolInput, limit));
                }
                input.pieces.push_str(more);
                let part = more.to_owned();
                on_event(ModelEvent::ToolInputDelta { block, part });
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn take_usage(&mut self, said: ReportedUsage, on_event: &mut OnEvent<'_>) {
        let before = self.said.readable();
        self.said.take(said);
        let usage = self.said.readable();
        if usage != before {
            on_event(ModelEvent::Usage { usage });
        }
    }

    /// Returns true if the arguments of a call are whole JSON, so that everything after them belongs to another call.
    pub(crate) fn has_whole_input(&self, index: u64) -> bool {
        let Some(AnswerPart::ToolUse { input, .. }) = self.parts.get(&index) else {
            return false;
        };
        let pieces = input.pieces.trim_end();
        pieces.ends_with('}') && serde_json::from_str::<IgnoredAny>(pieces).is_ok()
    }

    pub(crate) fn failed(&self, failure: ModelFailure, kind: &str, message: &str) -> ModelError {
        let (kind, message) = match &self.secret {
            Some(secret) => (secret.masked(kind), secret.masked(message)),
            None => (kind.to_owned(), message.to_owned()),
        };
        let error = ProviderError::new(failure, &message).with_kind(&kind);
        ModelError::Provider(Box::new(error))
    }

    /// Returns the error for a malformed stream, which counts as one that was cut there.
    pub(crate) fn damaged(what: &str) -> ModelError {
        let message = format!("the answer's stream is damaged: {}", bounded_line(what));
        ModelError::provider(ModelFailure::CutStream, message)
    }

    /// Returns the whole answer to a request of `request_bytes`; an error when its end did not come.
    pub(crate) fn finish(self, request_bytes: usize) -> Result<ModelAnswer, ModelError> {
        if !self.is_complete && !self.may_end {
            let message = "the answer ended before its end was sent";
            return Err(ModelError::provider(ModelFailure::CutStream, message));
        }
        let own = CountedBytes {
            request_bytes,
            answer_bytes: self.bytes,
        };
        let empty = StopKind::Other(String::new());
        Ok(ModelAnswer {
            model: self.model,
            blocks: self
                .parts
                .into_values()
                .map(AnswerPart::into_block)
                .collect(),
            stop: self.stop.unwrap_or(empty),
            usage: self.said.counted(own),
            lost: Usage::default(),
        })
    }

    fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.answer_bytes {
            return Err(too_large(AnswerBound::Answer, self.limits.answer_bytes));
        }
        Ok(())
    }
}

impl AnswerPart {
    fn into_block(self) -> MessageBlock {
        match self {
            Self::Text(text) => MessageBlock::Text { text },
            Self::Thinking { text, signature } => MessageBlock::Thinking {
                text,
                signature: (!signature.is_empty()).then_some(signature),
            },
            Self::ToolUse { id, name, input } => MessageBlock::ToolUse {
                id,
                name,
                input: input.value(),
            },
            Self::Other { mut value, input } => {
                if !input.pieces.is_empty()
                    && let Some(object) = value.as_object_mut()
                {
                    object.insert("input".to_owned(), input.value());
                }
                MessageBlock::Other { value }
            }
        }
    }
}

fn size_of_json(value: &Value) -> usize {
    match value {
        Value::Object(map) if map.is_empty() => 0,
        value => value.to_string().len(),
    }
}

fn is_deeper_than(value: &Value, depth: usize) -> bool {
    let Some(left) = depth.checked_sub(1) else {
        return value.is_array() || value.is_object();
    };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper_than(item, left)),
        Value::Object(map) => map.values().any(|item| is_deeper_than(item, left)),
        _ => false,
    }
}

fn too_large(what: AnswerBound, limit: usize) -> ModelError {
    ModelError::TooLarge {
        what,
        limit: limit as u64,
    }
}
