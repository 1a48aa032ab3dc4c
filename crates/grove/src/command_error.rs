//! Errors of commands: a kind that gives the exit code, the error with what caused it, and hints.
//!
//! Libraries say what went wrong. Here, and nowhere else, is said whose fault that is and what to try next; the chain
//! of causes is printed by [`CommandError::message`] alone.

use std::error::Error;
use std::io;

use grove_fs::FsError;
use grove_fs::undo::UndoError;
use grove_server::ServeError;
use grove_server::host_config::ConfigError;
use grove_skills::Unsteady;
use grove_skills::exporting::ExportError;
use grove_skills::managing::ManageError;
use grove_skills::prompt::PromptError;
use grove_skills::session_file::SessionFileError;
use grove_skills::trusting::TrustError;

/// What kind of error ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// What was asked for does not exist or cannot be done, or something was found that needs attention.
    Finding,
    /// The command line is wrong.
    Usage,
    /// The configuration is wrong.
    Configuration,
    /// Grove is at fault, or the machine.
    Internal,
}

impl ErrorKind {
    /// All kinds in the order of their exit codes.
    pub(crate) const ALL: [Self; 4] = [
        Self::Finding,
        Self::Usage,
        Self::Configuration,
        Self::Internal,
    ];

    /// The exit code.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Finding => 1,
            Self::Usage => 2,
            Self::Configuration => 3,
            Self::Internal => 4,
        }
    }

    /// The exit code if it is so, or that all is well.
    pub(crate) const fn exit_code_if(self, is_so: bool) -> u8 {
        if is_so { self.exit_code() } else { 0 }
    }

    /// What the exit code means, for the reference.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Finding => "findings",
            Self::Usage => "wrong usage",
            Self::Configuration => "configuration",
            Self::Internal => "internal error",
        }
    }
}

/// What to do where Grove has no folder for what it keeps.
const SET_HOME: &str = "set HOME or XDG_STATE_HOME to an absolute path";

/// What to do where the system starts no more processes and threads.
pub(crate) const AT_LIMIT: &str =
    "the limit of processes and threads is reached: end some, or raise it (`ulimit -u`)";

type Cause = Box<dyn Error + Send + Sync>;

/// An error with what to try next.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) kind: ErrorKind,
    error: Cause,
    pub(crate) hints: Vec<String>,
}

impl CommandError {
    fn new(kind: ErrorKind, error: impl Into<Cause>) -> Self {
        Self {
            kind,
            error: error.into(),
            hints: Vec::new(),
        }
    }

    /// What was asked for cannot be had.
    pub(crate) fn finding(error: impl Into<Cause>) -> Self {
        Self::new(ErrorKind::Finding, error)
    }

    /// The configuration is wrong.
    pub(crate) fn configuration(error: impl Into<Cause>) -> Self {
        Self::new(ErrorKind::Configuration, error)
    }

    /// The command line is wrong.
    pub(crate) fn usage(error: impl Into<Cause>) -> Self {
        Self::new(ErrorKind::Usage, error)
    }

    /// There is nowhere to keep something.
    pub(crate) fn nowhere(why: &str, what: &str) -> Self {
        Self::finding(format!("{why}, so there is nowhere to keep {what}")).hint(SET_HOME)
    }

    /// Grove or the machine is at fault.
    pub(crate) fn internal(error: impl Into<Cause>) -> Self {
        Self::new(ErrorKind::Internal, error)
    }

    /// A process or a thread that the system did not start.
    pub(crate) fn not_started(what: &str, error: &io::Error) -> Self {
        let is_limit = error.kind() == io::ErrorKind::WouldBlock;
        let error = Self::internal(format!("{what} cannot be started: {error}"));
        if is_limit {
            error.hint(AT_LIMIT)
        } else {
            error
        }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.hints([hint.into()])
    }

    pub(crate) fn hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.hints.extend(hints);
        self
    }

    /// An error of the same kind that says something else.
    pub(crate) fn saying(self, message: String, hints: Vec<String>) -> Self {
        Self {
            error: message.into(),
            hints,
            ..self
        }
    }

    /// The same with what to do, for a reader who sees nothing else.
    pub(crate) fn message_with_hints(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!("\nhint: {hint}"));
        format!("{}{}", self.message(), hints.collect::<String>())
    }

    /// What went wrong, and what caused it, and what caused that.
    pub(crate) fn message(&self) -> String {
        let mut message = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        message
    }
}

impl From<FsError> for CommandError {
    fn from(error: FsError) -> Self {
        Self::internal(error)
    }
}

impl From<TrustError> for CommandError {
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

impl From<SessionFileError> for CommandError {
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

impl From<ManageError> for CommandError {
    fn from(error: ManageError) -> Self {
        let kind = match &error {
            ManageError::Asked(..) => ErrorKind::Usage,
            ManageError::Refused(..) => ErrorKind::Finding,
            ManageError::Fs(_) => ErrorKind::Internal,
        };
        let hints = error.hints().to_vec();
        Self::new(kind, error).hints(hints)
    }
}

impl From<PromptError> for CommandError {
    fn from(error: PromptError) -> Self {
        Self::finding(error).hint("run the command again when nothing is writing there")
    }
}

impl Unsteady for CommandError {
    fn is_unsteady(&self) -> bool {
        let error = self.error.downcast_ref::<PromptError>();
        error.is_some_and(PromptError::is_unsteady)
    }
}

impl From<ExportError> for CommandError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::UnknownHost(_) => Self::usage(error),
            ExportError::Prompt(error) => error.into(),
            ExportError::Fs(error) => error.into(),
        }
    }
}

impl From<ServeError> for CommandError {
    fn from(error: ServeError) -> Self {
        match &error {
            ServeError::NotLoopback(_) => Self::usage(error).hint(
                "give a port or a loopback address such as 127.0.0.1:8722: the connection is not encrypted",
            ),
            ServeError::Listen { .. } => Self::finding(error).hint("give another port"),
            ServeError::Start(error) => Self::not_started("the server", error),
            _ => Self::finding(error),
        }
    }
}

impl From<UndoError> for CommandError {
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

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        match &error {
            ConfigError::Fs(_) => Self::internal(error),
            ConfigError::NoHome => Self::finding(error).hint("set HOME, or use --scope project"),
            ConfigError::Changed(_) => Self::finding(error).hint("run the command again"),
            ConfigError::Unreadable { .. } => Self::finding(error)
                .hint("correct the file, or add the server by hand as the guide shows"),
        }
    }
}
