//! Errors of commands: a kind that gives the exit code, a message, and hints.

/// What kind of error ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// What was asked for does not exist or cannot be done.
    Finding,
    /// The command line is wrong.
    Usage,
    /// Grove is at fault, or the machine.
    Internal,
}

impl ErrorKind {
    /// The exit code: 1 findings, 2 usage, 3 configuration (by its own command), 4 internal.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Finding => 1,
            Self::Usage => 2,
            Self::Internal => 4,
        }
    }
}

/// An error with what to try next.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

impl CommandError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hints: Vec::new(),
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<grove_fs::FsError> for CommandError {
    fn from(error: grove_fs::FsError) -> Self {
        Self::new(ErrorKind::Internal, format!("{error}: {}", error.source))
    }
}

impl From<grove_skills::trusting::TrustError> for CommandError {
    fn from(error: grove_skills::trusting::TrustError) -> Self {
        use grove_skills::trusting::TrustError;
        let (kind, hint) = match &error {
            TrustError::Fs(_) => (ErrorKind::Internal, String::new()),
            TrustError::NeverAProject(_) => (
                ErrorKind::Finding,
                "give the folder of one project".to_owned(),
            ),
            TrustError::PartOf(_, granted) => (
                ErrorKind::Finding,
                format!("run `grove untrust {}`", granted.display()),
            ),
            TrustError::NoHome => (ErrorKind::Finding, "set HOME or XDG_STATE_HOME".to_owned()),
            TrustError::NotThere(_) | TrustError::NotAFolder(_) => (
                ErrorKind::Usage,
                "give the folder of one project".to_owned(),
            ),
        };
        match error {
            TrustError::Fs(error) => error.into(),
            other => Self::new(kind, other.to_string()).hint(hint),
        }
    }
}

impl From<grove_skills::session_file::SessionFileError> for CommandError {
    fn from(error: grove_skills::session_file::SessionFileError) -> Self {
        use grove_skills::session_file::SessionFileError;
        let help = error.help();
        match error {
            // The caller chose the path, so what is wrong with the path is not Grove's fault.
            SessionFileError::Fs(error) if is_about_path(&error) => {
                let message = format!("{error}: {}", error.source);
                Self::new(ErrorKind::Finding, message).hint(help)
            }
            SessionFileError::Fs(error) => Self::from(error).hint(help),
            other => Self::new(ErrorKind::Finding, other.to_string()).hint(help),
        }
    }
}

fn is_about_path(error: &grove_fs::FsError) -> bool {
    use std::io::ErrorKind as Io;
    matches!(
        error.source.kind(),
        Io::NotFound
            | Io::NotADirectory
            | Io::PermissionDenied
            | Io::ReadOnlyFilesystem
            | Io::InvalidFilename
    )
}
