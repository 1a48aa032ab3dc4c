//! The log of an attempt: what it does while it does it. It is no record: the journal is.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use grove_fs::append::AppendedFile;
use serde::{Deserialize, Serialize};

/// A log is no longer than this; what comes after is left out.
const MOST: u64 = 16 << 20;

/// One line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "log", rename_all = "camelCase")]
pub enum LogLine {
    /// More words of the model.
    Text {
        /// The words.
        text: String,
    },
    /// More thoughts of the model.
    Thinking {
        /// The thoughts.
        text: String,
    },
    /// A tool begins.
    ToolStart {
        /// Its name.
        tool: String,
        /// What it is given, in short.
        about: String,
    },
    /// A tool has ended.
    ToolEnd {
        /// Its name.
        tool: String,
        /// Whether it failed.
        failed: bool,
    },
    /// Something else that people want to know.
    Note {
        /// What.
        text: String,
    },
}

/// A log that is written to.
#[derive(Debug)]
pub(crate) struct AttemptLog {
    file: Mutex<Option<AppendedFile>>,
}

impl AttemptLog {
    /// Opens the log. One that cannot be written is none: nothing depends on it.
    pub(crate) fn open(path: &Path) -> Self {
        Self {
            file: Mutex::new(AppendedFile::open(path, MOST).ok()),
        }
    }

    pub(crate) fn write(&self, line: &LogLine) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(mut text) = serde_json::to_string(line) else {
            return;
        };
        text.push('\n');
        if file
            .as_mut()
            .is_some_and(|file| file.append(text.as_bytes()).is_err())
        {
            *file = None;
        }
    }
}
