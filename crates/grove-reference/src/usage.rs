//! What the program prints when it is called wrongly. All of it goes to standard error, with
//! exit code 2.

use super::Data;
use super::python_repr::repr;

/// A command of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `validate SKILL_PATH`
    Validate,
    /// `read-properties SKILL_PATH`
    ReadProperties,
    /// `to-prompt SKILL_PATHS...`
    ToPrompt,
}

impl Command {
    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::ReadProperties => "read-properties",
            Self::ToPrompt => "to-prompt",
        }
    }

    /// How the program calls its argument in the usage line and in messages.
    pub fn argument(self) -> &'static str {
        match self {
            Self::Validate | Self::ReadProperties => "SKILL_PATH",
            Self::ToPrompt => "SKILL_PATHS...",
        }
    }
}

/// The whole text of a usage error, line end included. `program` is what comes before the
/// command's word: the original prints `agentskills`.
pub fn usage_error(program: &str, command: Command, problem: &str) -> String {
    let (word, argument) = (command.word(), command.argument());
    format!(
        "Usage: {program} {word} [OPTIONS] {argument}\n\
         Try '{program} {word} --help' for help.\n\
         \n\
         Error: {problem}\n"
    )
}

/// No path was given.
pub fn missing_argument(command: Command) -> String {
    format!("Missing argument '{}'.", command.argument())
}

/// `validate` and `read-properties` take one path; these are the others.
pub fn unexpected_arguments(extra: &[&str]) -> String {
    let plural = if extra.len() == 1 { "" } else { "s" };
    format!(
        "Got unexpected extra argument{plural} ({})",
        extra.join(" ")
    )
}

/// Nothing is at the path: following symlinks, it cannot be looked up for any reason.
pub fn path_does_not_exist(command: Command, path: &str) -> String {
    invalid_value(command, path, "does not exist")
}

/// The path is there and may not be read.
pub fn path_is_not_readable(command: Command, path: &str) -> String {
    invalid_value(command, path, "is not readable")
}

/// `path` is the argument as given; bytes that are not UTF-8 are replacement characters here.
fn invalid_value(command: Command, path: &str, problem: &str) -> String {
    let mut quoted = String::new();
    repr(&Data::Text(path.to_owned()), &mut quoted);
    format!(
        "Invalid value for '{}': Path {quoted} {problem}.",
        command.argument()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_quoted_as_python_quotes() {
        assert_eq!(
            path_does_not_exist(Command::ToPrompt, "it's"),
            "Invalid value for 'SKILL_PATHS...': Path \"it's\" does not exist."
        );
    }

    #[test]
    fn a_usage_error_is_four_lines() {
        let problem = missing_argument(Command::Validate);
        assert_eq!(
            usage_error("agentskills", Command::Validate, &problem),
            "Usage: agentskills validate [OPTIONS] SKILL_PATH\n\
             Try 'agentskills validate --help' for help.\n\nError: Missing argument 'SKILL_PATH'.\n"
        );
    }
}
