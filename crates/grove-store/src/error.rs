//! The errors of the store.

use grove_plan::{Damaged, Refused};
use grove_spec::Digest;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the journal could not be used")]
    Sqlite(#[from] rusqlite::Error),
    #[error(
        "the journal has version {found}, but this program knows {known}: a newer Grove wrote it"
    )]
    Newer {
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    #[error("not recorded: {0}")]
    Refused(#[from] Refused),
    #[error("there is already a run `{0}`")]
    Taken(String),
    #[error("there is no run `{0}`")]
    NoRun(String),
    #[error("several runs begin with `{given}`: {}", .ids.join(", "))]
    Ambiguous {
        /// The beginning that was given.
        given: String,
        ids: Vec<String>,
    },
    #[error("the journal of run {run} is damaged")]
    Damaged { run: String, source: Damaged },
    #[error("the journal of run {run} has a row that cannot be read: {message}")]
    Row {
        /// The id of the run.
        run: String,
        /// The reason why it cannot be read.
        message: String,
    },
    /// A text is missing, or differs from what was stored.
    #[error("artifact {0} is missing")]
    NoArtifact(Digest),
    /// A text is not what it has to be.
    #[error("artifact {digest} cannot be read: {message}")]
    NotJson {
        /// The digest of the text.
        digest: Digest,
        /// The reason why it cannot be read.
        message: String,
    },
    /// The group of events that this one belonged to could not be written.
    #[error("the journal could not be written: {0}")]
    Group(String),
    #[error("the journal is closed")]
    Closed,
    #[error("no thread to write the journal with")]
    Thread(#[source] std::io::Error),
}

impl StoreError {
    /// Returns true if the event was judged and refused, and nothing is wrong with the file.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Returns true if nothing was written and the file is well: the run is not as the caller assumed.
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
