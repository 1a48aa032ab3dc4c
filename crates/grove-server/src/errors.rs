//! The next steps after errors of the server.

use grove_engine::EngineError;

use crate::host_config::ConfigError;
use crate::server::ServeError;

impl From<ServeError> for EngineError {
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

impl From<ConfigError> for EngineError {
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
