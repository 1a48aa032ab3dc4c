//! Texts that the caller gives in a file, or on standard input as `-`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use grove_skills::Environment;

use super::absolute;
use crate::command_error::CommandError;

/// A text with where it came from; nowhere when it was standard input.
pub(super) struct InputText {
    pub(super) file: Option<PathBuf>,
    pub(super) text: String,
}

/// Reads a text of at most so many bytes; `what` names it in what is said about it.
pub(super) fn read(
    environment: &Environment,
    given: &Path,
    most: u64,
    what: &str,
) -> Result<InputText, CommandError> {
    let (file, bytes) = if given.as_os_str() == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().take(most + 1).read_to_end(&mut bytes);
        let refuse = |error| format!("could not read standard input: {error}");
        read.map_err(|error| CommandError::usage(refuse(error)))?;
        (None, bytes)
    } else {
        let file = absolute(given, environment);
        let bytes = grove_fs::files::read_bounded(&file, most).map_err(CommandError::usage)?;
        (Some(file), bytes)
    };
    if bytes.len() as u64 > most {
        let message = format!("{what} is larger than {most} bytes");
        return Err(CommandError::usage(message));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| CommandError::usage(format!("{what} is not UTF-8")))?;
    Ok(InputText { file, text })
}
