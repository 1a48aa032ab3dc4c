//! Recordings of requests to a model and of its answers, one exchange a line, to be played again.
//!
//! A recording is made on one machine and played on another, so folders and run ids stand in it as placeholders. A request
//! is compared by its system text, its first message, and the words and calls of the model before it; results of tools may
//! differ from one machine to the next, and a difference gives a warning.

mod compare;
mod placeholders;
mod player;
mod program_exchange;
mod recorder;

pub use placeholders::RecordingPlaceholders;
pub use player::{RecordingPlayer, SharedRecording};
pub(crate) use recorder::{ProgramAnswerRecorder, ProgramRecorder};
pub use recorder::{Recorder, RecordingSink};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::ModelAnswer;
use crate::error::ModelError;
use crate::request::{ModelRequest, canonical};

const FORMAT: &str = "grove.recording/1";

#[derive(Debug, Serialize, Deserialize)]
struct RecordingHeading {
    recording: String,
}

fn heading() -> Value {
    canonical(&RecordingHeading {
        recording: FORMAT.to_owned(),
    })
}

#[derive(Debug, Serialize, Deserialize)]
struct RecordedExchange {
    request: ModelRequest,
    #[serde(flatten)]
    outcome: ExchangeOutcome,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ExchangeOutcome {
    Answer(ModelAnswer),
    Error(ModelError),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ReplayError {
    #[error("line {line} of the recording cannot be read: {reason}")]
    Damaged {
        /// The number of the line, counted from one.
        line: usize,
        reason: String,
    },
    #[error("the recording has no such request: {difference}")]
    NotRecorded { difference: String },
    #[error("the recording has {times} such requests, and this is one more")]
    UsedUp { times: usize },
    #[error("{difference}")]
    ResultDiffers { difference: String },
}
