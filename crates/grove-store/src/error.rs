//! What can go wrong with the file.

use grove_plan::{Damaged, Refused};

/// Why something was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused.
    #[error("the journal could not be used")]
    Sqlite(#[from] rusqlite::Error),
    /// A newer program wrote the file.
    #[error(
        "the journal has version {found}, but this program knows {known}: a newer Grove wrote it"
    )]
    Newer {
        /// The file's version.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// The event cannot follow what happened before it.
    #[error("not recorded: {0}")]
    Refused(#[from] Refused),
    /// Another run has this id.
    #[error("there is already a run `{0}`")]
    Taken(String),
    /// There is no such run.
    #[error("there is no run `{0}`")]
    NoRun(String),
    /// Several runs begin so.
    #[error("several runs begin with `{given}`: {}", .ids.join(", "))]
    Ambiguous {
        /// What was given.
        given: String,
        /// Some of them.
        ids: Vec<String>,
    },
    /// The journal of a run says something that cannot be.
    #[error("the journal of run {run} is damaged")]
    Damaged {
        /// The run.
        run: String,
        /// What is wrong.
        source: Damaged,
    },
    /// A row cannot be read.
    #[error("the journal of run {run} has a row that cannot be read: {message}")]
    Row {
        /// The run.
        run: String,
        /// What is wrong.
        message: String,
    },
    /// The group of events that this one was in could not be written.
    #[error("the journal could not be written: {0}")]
    Group(String),
    /// The store is closed.
    #[error("the journal is closed")]
    Closed,
    /// There is no thread to write with.
    #[error("no thread to write the journal with")]
    Thread(#[source] std::io::Error),
}

impl StoreError {
    /// Whether the event was judged and refused, and nothing is wrong with the file.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Whether nothing was written and the file is well: the run is another one than was thought.
    pub(crate) fn is_about_the_run(&self) -> bool {
        matches!(
            self,
            Self::Refused(_)
                | Self::Taken(_)
                | Self::NoRun(_)
                | Self::Damaged { .. }
                | Self::Row { .. }
        )
    }
}
