//! The recorder of requests and answers.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use tokio_util::sync::CancellationToken;

use super::program_exchange::{ProgramAnswer, ProgramExchange};
use super::{ExchangeOutcome, RecordedExchange, RecordingPlaceholders, heading};
use crate::answer::ModelEvent;
use crate::client::{Asking, ModelClient, OnEvent};
use crate::error::ModelError;
use crate::request::{MessageBlock, ModelRequest, canonical};
use crate::wire::ModelApi;

/// The destination of a recording. A line is whole and ends with its line end; lines of several recorders do not mix.
pub trait RecordingSink: Send + Sync {
    fn append(&self, line: &str) -> io::Result<()>;
}

impl<W: Write + Send> RecordingSink for Mutex<W> {
    fn append(&self, line: &str) -> io::Result<()> {
        let mut writer = self.lock().unwrap_or_else(PoisonError::into_inner);
        writer.write_all(line.as_bytes())?;
        writer.flush()
    }
}

impl<S: RecordingSink + ?Sized> RecordingSink for Arc<S> {
    fn append(&self, line: &str) -> io::Result<()> {
        (**self).append(line)
    }
}

/// A client that asks another one and records its answers.
#[derive(Debug)]
pub struct Recorder<C, S> {
    inner: C,
    sink: S,
    places: RecordingPlaceholders,
}

impl<C: ModelClient, S: RecordingSink> Recorder<C, S> {
    /// Begins a recording of the answers of `inner`, also behind one that is in the same file.
    pub fn new(inner: C, sink: S, places: RecordingPlaceholders) -> io::Result<Self> {
        sink.append(&format!("{}\n", heading()))?;
        Ok(Self {
            inner,
            sink,
            places,
        })
    }

    fn record(&self, request: &ModelRequest, outcome: ExchangeOutcome) -> io::Result<()> {
        let exchange = RecordedExchange {
            request: request.clone(),
            outcome,
        };
        let mut line = canonical(&exchange);
        // Arguments keep the order of the model's keys: a text that quotes them would differ if they were sorted.
        if let ExchangeOutcome::Answer(answer) = exchange.outcome {
            for (at, block) in answer.blocks.into_iter().enumerate() {
                let place = line.pointer_mut(&format!("/answer/blocks/{at}/input"));
                if let (Some(place), MessageBlock::ToolUse { input, .. }) = (place, block) {
                    *place = input;
                }
            }
        }
        self.places.hide(&mut line);
        self.sink.append(&format!("{line}\n"))
    }
}

impl<C: ModelClient, S: RecordingSink> ModelClient for Recorder<C, S> {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_event: &'a mut OnEvent<'_>,
        cancel: &'a CancellationToken,
    ) -> Asking<'a> {
        Box::pin(async move {
            let answer = self.inner.ask(request, on_event, cancel).await;
            let outcome = match &answer {
                Ok(answer) => ExchangeOutcome::Answer(answer.clone()),
                // A cancelled request has no answer that could be played.
                Err(ModelError::Cancelled) => return answer,
                Err(error) => ExchangeOutcome::Error(error.clone()),
            };
            if let Err(error) = self.record(request, outcome) {
                // The answer is paid for: it is not thrown away because it could not be written down.
                let message = format!("the recording is not whole: {error}");
                on_event(ModelEvent::Warning { message });
            }
            answer
        })
    }
}

/// A recorder of an agent program's requests and answers.
#[derive(Clone)]
pub(crate) struct ProgramRecorder {
    sink: Arc<dyn RecordingSink>,
    places: RecordingPlaceholders,
}

impl fmt::Debug for ProgramRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassingRecord").finish_non_exhaustive()
    }
}

impl ProgramRecorder {
    pub(crate) fn new(
        sink: Arc<dyn RecordingSink>,
        places: RecordingPlaceholders,
    ) -> io::Result<Self> {
        sink.append(&format!("{}\n", heading()))?;
        Ok(Self { sink, places })
    }

    /// Begins the record of a request, whose answer is to come.
    pub(crate) fn asked(
        &self,
        api: ModelApi,
        body: &[u8],
        told: &[String; 2],
    ) -> ProgramAnswerRecorder {
        ProgramAnswerRecorder {
            record: self.clone(),
            asked: ProgramExchange::asked(api, body, told),
            bytes: Vec::new(),
        }
    }
}

/// An answer on its way to a program; one that is cut is not recorded.
#[derive(Debug)]
pub(crate) struct ProgramAnswerRecorder {
    record: ProgramRecorder,
    asked: ProgramExchange,
    bytes: Vec<u8>,
}

impl ProgramAnswerRecorder {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Records the answer; the program has it even if this fails.
    pub(crate) fn end(mut self, status: StatusCode, is_stream: bool) {
        self.asked.answer = ProgramAnswer::of(status, is_stream, &self.bytes);
        let mut line = canonical(&self.asked);
        self.record.places.hide(&mut line);
        let _ = self.record.sink.append(&format!("{line}\n"));
    }
}
