//! Recordings: what a model was asked and what it answered, one exchange a line, to be played again.
//!
//! A recording is made on one machine and played on another, so folders and run ids stand in it as placeholders. Compared
//! are what the model was told, what it had said and what it had called; what tools came to may differ from one machine
//! to the next and is worth a warning.

mod compare;
mod passed_on;
mod places;
mod player;
mod recorder;

pub use places::Places;
pub use player::{Player, Tape};
pub(crate) use recorder::{PassingAnswer, PassingRecord};
pub use recorder::{Recorder, RecordingSink};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::ModelAnswer;
use crate::error::ModelError;
use crate::request::{ModelRequest, canonical};

/// The first line of a recording.
const FORMAT: &str = "grove.recording/1";

#[derive(Debug, Serialize, Deserialize)]
struct Heading {
    recording: String,
}

fn heading() -> Value {
    canonical(&Heading {
        recording: FORMAT.to_owned(),
    })
}

/// One line of a recording.
#[derive(Debug, Serialize, Deserialize)]
struct Exchange {
    request: ModelRequest,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Outcome {
    Answer(ModelAnswer),
    Error(ModelError),
}

/// Why a recording has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ReplayError {
    /// It cannot be read.
    #[error("line {line} of the recording cannot be read: {reason}")]
    Damaged {
        /// Which line, counted from one.
        line: usize,
        /// Why.
        reason: String,
    },
    /// Nothing like it was asked.
    #[error("the recording has no such request: {difference}")]
    NotRecorded {
        /// What differs from the most similar one.
        difference: String,
    },
    /// It was asked more often than it was recorded.
    #[error("the recording has {times} such requests, and this is one more")]
    UsedUp {
        /// How often it was recorded.
        times: usize,
    },
    /// A tool came to something else, and that was not to be.
    #[error("{difference}")]
    ResultDiffers {
        /// What differs.
        difference: String,
    },
}
