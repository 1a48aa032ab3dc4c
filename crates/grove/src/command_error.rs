//! Errors of commands are those of the engine; here each kind gets its exit code.

pub(crate) use grove_engine::{EngineError as CommandError, ErrorKind};

pub(crate) trait ExitCode: Sized {
    fn exit_code(self) -> u8;

    fn meaning(self) -> &'static str;

    /// The exit code if `is_so`, else that of success.
    fn exit_code_if(self, is_so: bool) -> u8 {
        if is_so { self.exit_code() } else { 0 }
    }
}

impl ExitCode for ErrorKind {
    fn exit_code(self) -> u8 {
        match self {
            Self::Finding => 1,
            Self::Usage => 2,
            Self::Configuration => 3,
            Self::Internal => 4,
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Finding => "findings",
            Self::Usage => "wrong usage",
            Self::Configuration => "configuration",
            Self::Internal => "internal error",
        }
    }
}
