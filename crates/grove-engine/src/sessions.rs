//! The conversations of children as files.

use std::path::PathBuf;

use crate::session_file::write_session;

use crate::error::EngineError;
use crate::journal::{RunJournal, node_or_last, parts_of};

impl RunJournal {
    /// Writes the conversation of a child, `RUN` or `RUN.NODE`, and returns its file.
    pub fn session(&self, given: &str) -> Result<PathBuf, EngineError> {
        let (run, node) = parts_of(given);
        let loaded = self.load(run)?;
        let node = node_or_last(&loaded, node);
        let path = write_session(&self.store, &self.places, &loaded, &node);
        path.map_err(EngineError::finding)
    }
}
