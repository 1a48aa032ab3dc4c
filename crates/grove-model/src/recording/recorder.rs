//! Recording what a model is asked and answers.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::{Exchange, Outcome, Places, heading};
use crate::answer::ModelEvent;
use crate::client::{Asking, ModelClient, OnEvent};
use crate::error::ModelError;
use crate::request::{ModelRequest, canonical};

/// Where a recording goes. A line is whole and ends with its line end; lines of several askers do not mix.
pub trait RecordingSink: Send + Sync {
    /// Adds a line.
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

/// Asks another and writes down what comes.
#[derive(Debug)]
pub struct Recorder<C, S> {
    inner: C,
    sink: S,
    places: Places,
}

impl<C: ModelClient, S: RecordingSink> Recorder<C, S> {
    /// Begins a recording of what `inner` answers, also behind one that is in the same file.
    pub fn new(inner: C, sink: S, places: Places) -> io::Result<Self> {
        sink.append(&format!("{}\n", heading()))?;
        Ok(Self {
            inner,
            sink,
            places,
        })
    }

    fn record(&self, request: &ModelRequest, outcome: Outcome) -> io::Result<()> {
        let mut exchange = canonical(&Exchange {
            request: request.clone(),
            outcome,
        });
        self.places.hide(&mut exchange);
        self.sink.append(&format!("{exchange}\n"))
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
                Ok(answer) => Outcome::Answer(answer.clone()),
                // Nobody would want to play that.
                Err(ModelError::Cancelled) => return answer,
                Err(error) => Outcome::Error(error.clone()),
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
