//! One shape for everything that is said about a file: stable code, severity, place, message, help.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::codes::Code;
use crate::text::without_credentials;
use crate::words;

words! {
    /// The severity of a diagnostic.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Severity {
        /// The thing was not loaded; a restriction that cannot be read is an error too, and its strictest reading counts.
        Error = "error",
        /// The thing was loaded, but needs attention.
        Warning = "warning",
        /// A fact that is worth knowing.
        Info = "info",
    }
}

/// A place in a text; lines and columns start at one, and columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// Number of the line, from one.
    pub line: u32,
    /// Column in characters, from one.
    pub column: u32,
}

impl Position {
    /// A position from one-based numbers.
    pub const fn new(line: u32, column: u32) -> Self {
        Self { line, column }
    }
}

/// One finding about one file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The kind of finding; the code is stable across versions.
    pub code: Code,
    /// The severity of this finding. It starts as the code's usual severity.
    pub severity: Severity,
    /// One sentence without a full stop.
    pub message: String,
    /// The file or folder that the finding is about, once the reader of the bytes has set it.
    pub file: Option<PathBuf>,
    /// The place in the file.
    pub position: Option<Position>,
    /// Advice on this finding, when it differs from the code's usual help.
    pub help: Option<String>,
    /// Everything that the finding counts, when the message names only the first few.
    pub names: Vec<String>,
}

impl Diagnostic {
    /// A finding with the code's usual severity and help.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code,
            severity: code.severity(),
            message: match without_credentials(&message) {
                Cow::Borrowed(_) => message,
                Cow::Owned(shown) => shown,
            },
            file: None,
            position: None,
            help: None,
            names: Vec::new(),
        }
    }

    /// The same finding at a place, where it is known.
    #[must_use]
    pub fn at(mut self, position: impl Into<Option<Position>>) -> Self {
        self.position = position.into();
        self
    }

    /// The same finding in a file.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_path_buf());
        self
    }

    /// The same finding with its own advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same finding with everything it counts.
    #[must_use]
    pub fn with_names(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }

    /// The same finding with another weight.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Returns the advice on this finding.
    pub fn help_text(&self) -> &str {
        self.help.as_deref().unwrap_or(self.code.help())
    }

    /// Returns true if the finding kept its subject from being loaded. A restriction on a skill that cannot be read is
    /// an error too, but the skill is loaded with the strictest reading of it.
    pub fn is_error(&self) -> bool {
        let is_contained = matches!(
            self.code,
            Code::RestrictionUnreadable | Code::RequirementsUnreadable
        );
        self.severity == Severity::Error && !is_contained
    }

    /// Returns true if the finding needs a person's attention.
    pub fn needs_attention(&self) -> bool {
        self.severity != Severity::Info
    }
}
