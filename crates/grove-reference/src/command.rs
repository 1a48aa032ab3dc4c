//! The reference library's own command line, byte for byte: its files and its exit codes.
//!
//! The crate's documentation describes it. Output is not cleaned: it must equal the original's.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use grove_fs::files;

use crate::usage::{self, Command};
use crate::{
    Data, PromptEntry, Properties, messages, parse_frontmatter, paths, read_properties, to_prompt,
    universal_newlines, validate_metadata,
};

const PROGRAM: &str = "agentskills";
/// The original reads whatever it is given; nobody writes a skill of this size.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

const HELP: &str = "Usage: grove reference COMMAND PATH...

  Behaves as the reference library of the Agent Skills standard (skills-ref 0.1.1).

Commands:
  read-properties PATH   Print the properties of a skill as JSON.
  to-prompt PATH...      Print the <available_skills> block for skills.
  validate PATH          Check a skill folder.
";

/// What the program prints and how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// For standard output.
    pub data: Vec<u8>,
    /// For standard error.
    pub notes: Vec<u8>,
    /// The exit code.
    pub exit_code: u8,
}

impl CommandOutput {
    fn data(text: impl Into<Vec<u8>>) -> Self {
        Self {
            data: text.into(),
            notes: Vec::new(),
            exit_code: 0,
        }
    }

    fn refusal(text: impl Into<Vec<u8>>, exit_code: u8) -> Self {
        Self {
            data: Vec::new(),
            notes: text.into(),
            exit_code,
        }
    }

    fn error(message: &str) -> Self {
        Self::refusal(format!("Error: {message}\n"), 1)
    }
}

/// Runs the program in a working folder with the words after its name.
pub fn run(working_folder: &Path, arguments: Vec<OsString>) -> CommandOutput {
    let mut arguments = arguments.into_iter();
    let word = arguments
        .next()
        .map(|word| word.to_string_lossy().into_owned());
    let command = match word.as_deref() {
        None => return CommandOutput::refusal(HELP, 2),
        Some("--help") => return CommandOutput::data(HELP),
        Some("validate") => Command::Validate,
        Some("read-properties") => Command::ReadProperties,
        Some("to-prompt") => Command::ToPrompt,
        Some(other) => {
            let problem = if other.starts_with('-') {
                format!("No such option '{other}'.")
            } else {
                format!("No such command '{other}'.")
            };
            let text = format!(
                "Usage: {PROGRAM} [OPTIONS] COMMAND [ARGS]...\nTry '{PROGRAM} --help' for help.\n\nError: {problem}\n"
            );
            return CommandOutput::refusal(text, 2);
        }
    };
    let folders = match named_folders(command, arguments, working_folder) {
        Ok(folders) => folders,
        Err(Refused::Help) => return CommandOutput::data(HELP),
        Err(Refused::Wrong(problem)) => {
            return CommandOutput::refusal(usage::usage_error(PROGRAM, command, &problem), 2);
        }
    };
    match (command, folders.first()) {
        (Command::Validate, Some(folder)) => validate(folder),
        (Command::ReadProperties, Some(folder)) => properties(folder),
        _ => prompt(&folders),
    }
}

enum Refused {
    Help,
    Wrong(String),
}

/// A folder as given and where it is.
struct Folder {
    /// As the original prints it: normalised, not resolved.
    shown: String,
    path: PathBuf,
}

fn named_folders(
    command: Command,
    arguments: impl Iterator<Item = OsString>,
    working_folder: &Path,
) -> Result<Vec<Folder>, Refused> {
    let mut given: Vec<OsString> = Vec::new();
    let mut only_paths = false;
    for argument in arguments {
        match argument.to_str() {
            Some("--") if !only_paths => only_paths = true,
            Some("--help") if !only_paths => return Err(Refused::Help),
            Some(option) if !only_paths && option.starts_with('-') && option != "-" => {
                return Err(Refused::Wrong(format!(
                    "No such option '{}'.",
                    option_name(option)
                )));
            }
            _ => given.push(argument),
        }
    }
    let limit = if command == Command::ToPrompt {
        usize::MAX
    } else {
        1
    };
    if given.is_empty() {
        return Err(Refused::Wrong(usage::missing_argument(command)));
    }
    for path in given.iter().take(limit) {
        let shown = path.to_string_lossy();
        let full = working_folder.join(path);
        if path.is_empty() || files::identity(&full).is_err() {
            return Err(Refused::Wrong(usage::path_does_not_exist(command, &shown)));
        }
        if !files::may_read(&full) {
            return Err(Refused::Wrong(usage::path_is_not_readable(command, &shown)));
        }
    }
    if given.len() > limit {
        let extra: Vec<String> = given
            .iter()
            .skip(limit)
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        return Err(Refused::Wrong(usage::unexpected_arguments(
            &extra.iter().map(String::as_str).collect::<Vec<_>>(),
        )));
    }
    Ok(given
        .iter()
        .map(|path| folder_of(path, working_folder))
        .collect())
}
/// The part of a word that names an option: one letter after one hyphen, all up to `=` after two.
fn option_name(word: &str) -> &str {
    if word.starts_with("--") {
        return word.split('=').next().unwrap_or(word);
    }
    word.char_indices()
        .nth(2)
        .map_or(word, |(end, _)| word.get(..end).unwrap_or(word))
}

fn folder_of(given: &OsString, working_folder: &Path) -> Folder {
    let shown = paths::normalise(&paths::show_bytes(given.as_bytes()));
    let full = working_folder.join(given);
    if files::is_file(&full) && paths::is_skill_file_name(paths::name(&shown)) {
        let folder = full.parent().unwrap_or(&full).to_path_buf();
        return Folder {
            shown: paths::parent(&shown),
            path: folder,
        };
    }
    Folder { shown, path: full }
}

/// Why a skill could not be read; the second kind is a traceback in the original.
enum Unreadable {
    NotFound,
    Message(String),
}

struct Read {
    metadata: Vec<(String, Data)>,
    file_name: &'static str,
}

fn read(folder: &Path) -> Result<Read, Unreadable> {
    let Some(file_name) = ["SKILL.md", "skill.md"]
        .into_iter()
        .find(|name| files::identity(&folder.join(name)).is_ok())
    else {
        return Err(Unreadable::NotFound);
    };
    let file = folder.join(file_name);
    let bytes = files::read_bounded(&file, MAX_BYTES)
        .map_err(|error| Unreadable::Message(format!("{error}: {}", error.source)))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Unreadable::Message(messages::not_utf8(&paths::show_bytes(
            file.as_os_str().as_bytes(),
        )))
    })?;
    let (metadata, _) = parse_frontmatter(&universal_newlines(&text))
        .map_err(|error| Unreadable::Message(error.message))?;
    Ok(Read {
        metadata,
        file_name,
    })
}

fn validate(folder: &Folder) -> CommandOutput {
    let complaints = if files::is_folder(&folder.path) {
        match read(&folder.path) {
            Err(Unreadable::NotFound) => vec![messages::MISSING_REQUIRED_FILE.to_owned()],
            Err(Unreadable::Message(message)) => vec![message],
            Ok(read) => validate_metadata(&read.metadata, paths::name(&folder.shown)),
        }
    } else {
        vec![messages::not_a_directory(&folder.shown)]
    };
    if complaints.is_empty() {
        return CommandOutput::data(format!("Valid skill: {}\n", folder.shown));
    }
    let mut text = format!("Validation failed for {}:\n", folder.shown);
    for complaint in complaints {
        text.push_str("  - ");
        text.push_str(&complaint);
        text.push('\n');
    }
    CommandOutput::refusal(text, 1)
}

fn properties(folder: &Folder) -> CommandOutput {
    match properties_of(&folder.path, &folder.shown) {
        Ok((properties, _)) => match properties.json_crash() {
            None => CommandOutput::data(format!("{}\n", properties.to_json())),
            Some(reason) => CommandOutput::error(reason),
        },
        Err(message) => CommandOutput::error(&message),
    }
}

fn properties_of(folder: &Path, shown: &str) -> Result<(Properties, &'static str), String> {
    match read(folder) {
        Err(Unreadable::NotFound) => Err(messages::skill_md_not_found(shown)),
        Err(Unreadable::Message(message)) => Err(message),
        Ok(read) => read_properties(&read.metadata).map(|properties| (properties, read.file_name)),
    }
}

fn prompt(folders: &[Folder]) -> CommandOutput {
    let mut read = Vec::new();
    for folder in folders {
        let resolved = files::canonical(&folder.path).unwrap_or_else(|_| folder.path.clone());
        let shown = paths::show_bytes(resolved.as_os_str().as_bytes());
        match properties_of(&resolved, &shown) {
            Ok((properties, file_name)) => {
                if let Some(reason) = properties.prompt_crash() {
                    return CommandOutput::error(reason);
                }
                let location = resolved.join(file_name).into_os_string().into_vec();
                read.push((properties, location));
            }
            Err(message) => return CommandOutput::error(&message),
        }
    }
    let locations: Vec<String> = read
        .iter()
        .map(|(_, location)| String::from_utf8_lossy(location).into_owned())
        .collect();
    let entries: Vec<PromptEntry<'_>> = read
        .iter()
        .zip(&locations)
        .map(|((properties, _), location)| PromptEntry {
            properties,
            location,
        })
        .collect();
    CommandOutput::data(format!("{}\n", to_prompt(&entries)))
}
