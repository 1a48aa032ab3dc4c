//! The log of an attempt: what it does, written while it works. Nothing depends on it: the record is the journal.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use grove_fs::append::{AppendedFile, GrowingFile};
use grove_plan::Attempt;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::attention::{Activity, is_edit};
use crate::places::RunPlaces;

/// The most bytes of a log; what comes after is left out.
const MOST: u64 = 16 << 20;
/// The bytes at the end of a long log that are read.
const RECENT: u64 = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "log", rename_all = "camelCase")]
pub(crate) enum LogLine {
    /// Words that the model added.
    Text {
        /// The words that were added.
        text: String,
    },
    /// Thoughts that the model added.
    Thinking {
        /// The thoughts that were added.
        text: String,
    },
    /// The start of a tool's work.
    ToolStart {
        tool: String,
        /// The tool's input in short.
        about: String,
    },
    /// The end of a tool's work.
    ToolEnd {
        tool: String,
        /// Set if the tool failed.
        failed: bool,
    },
    /// A note for people about something else.
    Note { text: String },
}

/// The log of an attempt while it is written, with the activity of its child.
#[derive(Debug)]
pub(crate) struct AttemptLog {
    file: Mutex<Option<AppendedFile>>,
    activity: Mutex<Activity>,
    edited: Notify,
}

impl AttemptLog {
    /// Opens the log. If the file cannot be written, nothing is logged: no result depends on it.
    pub(crate) fn open(path: &Path) -> Self {
        Self {
            file: Mutex::new(AppendedFile::open(path, MOST).ok()),
            activity: Mutex::default(),
            edited: Notify::new(),
        }
    }

    pub(crate) fn write(&self, line: &LogLine) {
        self.activity_mut().see(line);
        if matches!(line, LogLine::ToolEnd { tool, .. } if is_edit(tool)) {
            self.edited.notify_one();
        }
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

    pub(crate) fn note(&self, text: impl Into<String>) {
        self.write(&LogLine::Note { text: text.into() });
    }

    /// Takes note of a sign of life that is not worth a line.
    pub(crate) fn touch(&self) {
        self.activity_mut().touch();
    }

    /// Waits for the end of an edit.
    pub(crate) async fn edited(&self) {
        self.edited.notified().await;
    }

    pub(crate) fn activity(&self) -> Activity {
        *self.activity_mut()
    }

    fn activity_mut(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The log of an attempt, read while it is written.
#[derive(Debug)]
pub(crate) struct AttemptTail {
    path: PathBuf,
    file: Option<GrowingFile>,
}

impl AttemptTail {
    /// Returns the log of an attempt, whose file need not exist yet.
    pub(crate) fn of(places: &RunPlaces, run: &str, attempt: &Attempt) -> Self {
        Self {
            path: places.log(run, attempt),
            file: None,
        }
    }

    /// Returns the milliseconds since something was last written.
    pub(crate) fn age_ms(&self) -> u64 {
        self.file.as_ref().map_or(0, GrowingFile::age_ms)
    }

    /// Returns the lines since the last call; the first call returns those at the end of the log.
    pub(crate) fn lines(&mut self) -> Vec<LogLine> {
        if self.file.is_none() {
            self.file = GrowingFile::open_near_end(&self.path, RECENT);
        }
        let lines = self.file.as_mut().map(GrowingFile::lines);
        let lines = lines.unwrap_or_default();
        let read = lines
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok());
        read.collect()
    }
}
