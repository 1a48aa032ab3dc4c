//! Errors of the engine: a kind that says whose fault it is, the error with its causes, and hints.
//!
//! The crates below say what went wrong. The next step for the caller is said here; the chain of causes is printed by
//! [`EngineError::message`] alone.

use std::error::Error;
use std::io;

use grove_fs::FsError;
use grove_fs::undo::UndoError;
use grove_skills::StaleRead;
use grove_skills::exporting::ExportError;
use grove_skills::managing::ManageError;
use grove_skills::prompt::PromptError;
use grove_skills::session_file::SessionFileError;
use grove_skills::trusting::TrustError;

use crate::envelope::EnvelopeError;

/// The kinds of errors. Commands end with one exit code for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The thing that was asked for does not exist or cannot be done, or something was found that needs attention.
    Finding,
    /// The request or the command line is wrong.
    Usage,
    /// The configuration is wrong.
    Configuration,
    /// Grove is at fault, or the machine.
    Internal,
}

impl ErrorKind {
    /// All kinds in the order of their exit codes.
    pub const ALL: [Self; 4] = [
        Self::Finding,
        Self::Usage,
        Self::Configuration,
        Self::Internal,
    ];
}

/// The hint where Grove has no folder to keep things in.
const SET_HOME: &str = "set HOME or XDG_STATE_HOME to an absolute path";

/// The hint where the system starts no more processes and threads.
pub(crate) const AT_LIMIT: &str =
    "the limit of processes and threads is reached: end some, or raise it (`ulimit -u`)";

type Cause = Box<dyn Error + Send + Sync>;

/// An error with the next step.
#[derive(Debug)]
pub struct EngineError {
    /// The kind of the error.
    pub kind: ErrorKind,
    error: Cause,
    /// Next steps for the caller, the best first.
    pub hints: Vec<String>,
}

impl EngineError {
    fn new(kind: ErrorKind, error: impl Into<Cause>) -> Self {
        Self {
            kind,
            error: error.into(),
            hints: Vec::new(),
        }
    }

    /// An error about something that does not exist or cannot be done.
    pub fn finding(error: impl Into<Cause>) -> Self {
        Self::new(ErrorKind::Finding, error)
    }

    /// An error in the configuration.
    pub fn configuration(error: impl Into<Cause>) -> Self {
        Self::new(ErrorKind::Configuration, error)
    }

    /// An error in a request or on the command line.
    pub fn usage(error: impl Into<Cause>) -> Self {
        Self::new(ErrorKind::Usage, error)
    }

    /// An error about a missing folder in which something would be kept.
    pub fn nowhere(why: &str, what: &str) -> Self {
        Self::finding(format!("{why}, so there is nowhere to keep {what}")).hint(SET_HOME)
    }

    /// An error of Grove or of the machine.
    pub fn internal(error: impl Into<Cause>) -> Self {
        Self::new(ErrorKind::Internal, error)
    }

    /// An error about a process or a thread that the system did not start.
    pub fn not_started(what: &str, error: &io::Error) -> Self {
        let is_limit = error.kind() == io::ErrorKind::WouldBlock;
        let error = Self::internal(format!("{what} cannot be started: {error}"));
        if is_limit {
            error.hint(AT_LIMIT)
        } else {
            error
        }
    }

    /// Adds a next step.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.hints([hint.into()])
    }

    /// Adds next steps as hints.
    #[must_use]
    pub fn hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.hints.extend(hints);
        self
    }

    /// An error of the same kind that says something else.
    #[must_use]
    pub fn saying(self, message: String, hints: Vec<String>) -> Self {
        Self {
            error: message.into(),
            hints,
            ..self
        }
    }

    /// The message and its hints, for a reader who sees nothing else.
    pub fn message_with_hints(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!("\nhint: {hint}"));
        format!("{}{}", self.message(), hints.collect::<String>())
    }

    /// The error and the chain of its causes.
    pub fn message(&self) -> String {
        with_causes(&*self.error)
    }
}

/// An error and the chain of its causes in one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(": ");
        message.push_str(&error.to_string());
        cause = error.source();
    }
    message
}

impl std::fmt::Display for EngineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for EngineError {}

impl From<EnvelopeError> for EngineError {
    fn from(error: EnvelopeError) -> Self {
        Self::finding(error).hint("the version of Grove that asked for the run may read it")
    }
}

impl From<FsError> for EngineError {
    fn from(error: FsError) -> Self {
        Self::internal(error)
    }
}

impl From<TrustError> for EngineError {
    fn from(error: TrustError) -> Self {
        let one_project = "give the folder of one project";
        match &error {
            TrustError::Fs(_) => Self::internal(error),
            TrustError::NeverAProject(_) => Self::finding(error).hint(one_project),
            TrustError::PartOf(_, granted) => {
                let hint = format!("run `grove untrust {}`", granted.display());
                Self::finding(error).hint(hint)
            }
            TrustError::NoHome(_) => Self::finding(error).hint(SET_HOME),
            TrustError::NotThere(_) | TrustError::NotAFolder(_) => {
                Self::usage(error).hint(one_project)
            }
        }
    }
}

impl From<SessionFileError> for EngineError {
    fn from(error: SessionFileError) -> Self {
        let help = error.help();
        let kind = match &error {
            // The caller chose the path, so what is wrong with the path is not Grove's fault.
            SessionFileError::Fs(error) if !is_about_path(error) => ErrorKind::Internal,
            _ => ErrorKind::Finding,
        };
        Self::new(kind, error).hint(help)
    }
}

fn is_about_path(error: &FsError) -> bool {
    matches!(
        error.source.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::InvalidFilename
    )
}

impl From<ManageError> for EngineError {
    fn from(error: ManageError) -> Self {
        let kind = match &error {
            ManageError::BadRequest(..) => ErrorKind::Usage,
            ManageError::Refused(..) => ErrorKind::Finding,
            ManageError::Fs(_) => ErrorKind::Internal,
        };
        let hints = error.hints().to_vec();
        Self::new(kind, error).hints(hints)
    }
}

impl From<PromptError> for EngineError {
    fn from(error: PromptError) -> Self {
        Self::finding(error).hint("run the command again when nothing is writing there")
    }
}

impl StaleRead for EngineError {
    fn is_stale(&self) -> bool {
        let error = self.error.downcast_ref::<PromptError>();
        error.is_some_and(PromptError::is_stale)
    }
}

impl From<ExportError> for EngineError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::UnknownHost(_) => Self::usage(error),
            ExportError::Prompt(error) => error.into(),
            ExportError::Fs(error) => error.into(),
        }
    }
}

impl From<UndoError> for EngineError {
    fn from(error: UndoError) -> Self {
        match error {
            UndoError::ChangedSince(_) => Self::finding(error),
            UndoError::Unreadable(_) => {
                Self::finding(error).hint("remove that file to undo the change before it")
            }
            UndoError::Fs(error) => error.into(),
        }
    }
}
