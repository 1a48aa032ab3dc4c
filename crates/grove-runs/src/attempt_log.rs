//! The log of an attempt: what it does while it does it. It is no record: the journal is.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use grove_fs::append::{AppendedFile, GrowingFile};
use grove_plan::Attempt;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::attention::{Activity, is_edit};
use crate::places::RunPlaces;

/// A log is no longer than this; what comes after is left out.
const MOST: u64 = 16 << 20;
/// Of a log that is long already no more than this is read.
const RECENT: u64 = 64 << 10;

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

/// A log that is written to, and what can be seen of its child by that.
#[derive(Debug)]
pub(crate) struct AttemptLog {
    file: Mutex<Option<AppendedFile>>,
    activity: Mutex<Activity>,
    edited: Notify,
}

impl AttemptLog {
    /// Opens the log. One that cannot be written is none: nothing depends on it.
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

    /// Something was heard that is not worth a line.
    pub(crate) fn touch(&self) {
        self.activity_mut().touch();
    }

    /// Waits for the end of an edit.
    pub(crate) async fn edited(&self) {
        self.edited.notified().await;
    }

    /// What was last seen of the child.
    pub(crate) fn activity(&self) -> Activity {
        *self.activity_mut()
    }

    fn activity_mut(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The log of an attempt, read while it is written.
#[derive(Debug)]
pub struct AttemptTail {
    path: PathBuf,
    file: Option<GrowingFile>,
}

impl AttemptTail {
    /// The log of an attempt, which need not be there yet.
    pub fn of(places: &RunPlaces, run: &str, attempt: &Attempt) -> Self {
        Self {
            path: places.log(run, attempt),
            file: None,
        }
    }

    /// How long ago something was last written, in milliseconds.
    pub fn age_ms(&self) -> u64 {
        self.file.as_ref().map_or(0, GrowingFile::age_ms)
    }

    /// The lines that came since the last time; the first time the last of them.
    pub fn lines(&mut self) -> Vec<LogLine> {
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
