//! The file with the source of meanings, which is read by the first search.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use grove_catalog::search::Meanings;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};

/// The reader of such a file; the error is its cause in words.
pub type OpenMeanings = fn(&Path) -> Result<Arc<dyn Meanings>, Box<dyn std::error::Error>>;

/// A file with the source of meanings.
#[derive(Debug, Clone)]
pub struct MeaningsFile {
    path: PathBuf,
    open: OpenMeanings,
    opened: Arc<OnceLock<Result<Arc<dyn Meanings>, String>>>,
}

impl MeaningsFile {
    /// A file that the first search opens.
    pub fn new(path: PathBuf, open: OpenMeanings) -> Self {
        Self {
            path,
            open,
            opened: Arc::default(),
        }
    }

    /// Returns the source, or a finding that says why words alone decide.
    pub(super) fn source(&self) -> Result<Arc<dyn Meanings>, Diagnostic> {
        let open = || (self.open)(&self.path).map_err(|error| one_line(&error.to_string()));
        let opened = self.opened.get_or_init(open);
        opened.clone().map_err(|error| {
            let message = format!("{error}; the search goes by words alone");
            Diagnostic::new(Code::Unreadable, message)
                .in_file(&self.path)
                .with_help("install the file again")
        })
    }
}

impl PartialEq for MeaningsFile {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for MeaningsFile {}
