//! The reference validator: the Python package `skills-ref` 0.1.1 (with `strictyaml` 1.7.3, on
//! Python 3.11), behaviour for behaviour.
//!
//! Same verdict, same messages in the same order, same bytes of `read-properties` and
//! `to-prompt`. A YAML error has the same line and our own wording. Where the library ends in a
//! traceback there is an error here, marked as such. Everything but [`command`] is pure and takes time
//! linear in the text (times the logarithm of the number of keys); nesting is bounded.
//!
//! ```
//! use grove_reference::{parse_frontmatter, read_properties, validate_metadata};
//!
//! let file = "---\nname: pdf\ndescription: Reads PDF files\n---\n# PDF\n";
//! let (metadata, body) = parse_frontmatter(file)?;
//! assert!(validate_metadata(&metadata, "pdf").is_empty());
//! assert_eq!(body, "# PDF");
//! let json = read_properties(&metadata)?.to_json();
//! assert_eq!(json, "{\n  \"name\": \"pdf\",\n  \"description\": \"Reads PDF files\"\n}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The command line around it
//!
//! The program is `agentskills` with the commands `validate PATH`, `read-properties PATH` and
//! `to-prompt PATH...`. Exit codes: 0 fine, 1 an invalid or unreadable skill, 2 a wrong call.
//! Every line below ends with LF, and nothing is coloured.
//!
//! ## Arguments
//!
//! - Options may stand anywhere before `--`; only `--help` exists in a command. After `--` every
//!   word is a path. A single `-` is a path like any other, not standard input.
//! - The paths are checked before anything is read, in order, and before surplus paths are
//!   counted. A path that `stat` (following symlinks) fails on, for whatever reason and also when
//!   it is empty: [`usage::path_does_not_exist`]. One that `access` denies reading:
//!   [`usage::path_is_not_readable`]. Then, for the commands of one path, the others:
//!   [`usage::unexpected_arguments`]. No path at all: [`usage::missing_argument`]. An unknown
//!   option: `No such option '-x'.`, followed by ` Did you mean '--help'?` if it resembles that.
//! - All these are printed through [`usage::usage_error`] to standard error, exit 2, and quote
//!   the path as given (not normalised), bytes that are not UTF-8 as U+FFFD.
//! - Without a command the help goes to standard error with exit 2. An unknown command prints
//!   `Usage: agentskills [OPTIONS] COMMAND [ARGS]...`, `Try 'agentskills --help' for help.`, an
//!   empty line and `Error: No such command 'x'.` (with ` Did you mean 'validate'?` after it for
//!   a near miss), exit 2.
//!
//! ## The folder
//!
//! - The argument is read as a `pathlib` path, [`paths::normalise`], and printed so from here on.
//! - If it is a regular file (following symlinks) whose name is a skill file's in any case,
//!   [`paths::is_skill_file_name`], the folder is its [`paths::parent`]: `SKILL.md` gives `.`.
//!   Any other file stays what it is and fails below.
//! - The skill's file is `SKILL.md` in the folder, or else `skill.md`: whichever `stat` finds
//!   first, so a dangling symlink is not there, and a folder of that name is. No other case.
//! - It is read whole, decoded as UTF-8 without leave (a byte order mark is kept and then fails
//!   as a missing fence), [`universal_newlines`] is applied, and [`parse_frontmatter`] reads it.
//! - What the operating system refuses (a folder that may not be searched, a `SKILL.md` that is a
//!   folder or not readable) and what is not UTF-8 ([`messages::not_utf8`]) are tracebacks with
//!   exit 1 there. So is [`ParseError::crash`]. Here: a message on standard error and exit 1.
//!
//! ## `validate`
//!
//! - One complaint alone, in this order: [`messages::path_does_not_exist`] (not reached from the
//!   command line), [`messages::not_a_directory`] for a file,
//!   [`messages::MISSING_REQUIRED_FILE`], the message of a [`ParseError`]; else all those of
//!   [`validate_metadata`].
//! - Its `dir_name` is [`paths::name`] of the folder **as given**: nothing is made absolute or
//!   resolved. So `.` and `SKILL.md` complain about `Directory name ''`, `a/..` about `'..'`, and
//!   a symlink to a skill about the symlink's name.
//! - No complaint: `Valid skill: {folder}` on standard output, exit 0. Else on standard error
//!   `Validation failed for {folder}:` and for each complaint two spaces, `- ` and the text,
//!   which for a YAML error runs over several lines; exit 1.
//!
//! ## `read-properties`
//!
//! - [`messages::skill_md_not_found`] (with the folder as given; also for a file), a
//!   [`ParseError`], or the message of [`read_properties`], as `Error: {message}` on standard
//!   error, exit 1.
//! - Else [`Properties::to_json`] and a line end, exit 0; but if [`Properties::json_crash`], a
//!   traceback there.
//!
//! ## `to-prompt`
//!
//! - Each folder is made absolute and all symlinks in it are resolved; then as above, so
//!   [`messages::skill_md_not_found`] names the resolved folder. The first skill that fails ends
//!   the command: its `Error: {message}`, exit 1, nothing on standard output.
//! - Else [`to_prompt`] and a line end, exit 0. The location is [`paths::join`] of the resolved
//!   folder and the file's name; a symlink that is the file itself is not resolved. If any skill
//!   has [`Properties::prompt_crash`], a traceback there.
//!
//! ## Text that is not UTF-8 in paths
//!
//! On standard error a byte that is not UTF-8 reads as `\udcXX`, [`paths::show_bytes`]; that
//! form also serves as `dir_name`, which then matches no name. On standard output it goes out as
//! the byte itself in the `C` and `POSIX` locales and in Python's UTF-8 mode, and is a traceback
//! in any other locale.
//!
//! # Known differences
//!
//! - A surrogate escape in a *key* (`"\ud800": x`) is kept spelled out, so that it prints with
//!   two backslashes in JSON and in a representation.
//! - `str()` of a list or mapping that holds a plain `=` or `<<` has an address in it there.
//! - The depth of nesting at which the library overflows its stack depends on how deep it was
//!   called; the bounds here are those of the program's `validate`, to about one level.
//! - Surrogates U+DC80 to U+DCFF in a name or description are printed by `to-prompt` as a byte in
//!   the locales named above; here they count as a traceback everywhere.

use std::borrow::Cow;

pub mod command;
mod compose;
mod construct;
mod fault;
mod frontmatter;
pub mod messages;
mod parser;
pub mod paths;
mod prompt;
mod properties;
mod python_repr;
mod python_text;
mod reader;
mod scanner;
mod strict_load;
#[cfg(test)]
mod tests;
mod token;
mod unicode14;
pub mod usage;
mod validate;

pub use frontmatter::{ParseError, parse_frontmatter};
pub use prompt::{PromptEntry, to_prompt};
pub use properties::{Properties, read_properties};
pub use validate::validate_metadata;

use python_text::PyText;

/// A value of the frontmatter, in the order and with the types the library gives it. There are
/// no numbers, booleans or nulls: every scalar is text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// Text.
    Text(String),
    /// Text with surrogates in it, as code points. Only escapes such as `"\ud83d\ude00"` make
    /// it: the library keeps each half for itself, and counts two.
    Surrogates(Vec<u32>),
    /// A plain `=` or `<<` as a value. The library keeps it as an object that is no text: it
    /// fails as `name`, `description` or `compatibility` and cannot be printed as JSON.
    Tagged(String),
    /// A list.
    List(Vec<Data>),
    /// A mapping. A surrogate in a key is spelled out as `\udXXX`.
    Map(Vec<(String, Data)>),
}

impl Data {
    /// The code points, when the library sees a string here.
    fn code_points(&self) -> Option<Cow<'_, [u32]>> {
        match self {
            Self::Text(text) => Some(text.chars().map(u32::from).collect()),
            Self::Surrogates(points) => Some(Cow::Borrowed(points)),
            Self::Tagged(_) | Self::List(_) | Self::Map(_) => None,
        }
    }
}

impl From<PyText> for Data {
    fn from(text: PyText) -> Self {
        match text {
            PyText::Plain(text) => Self::Text(text),
            PyText::Surrogates(points) => Self::Surrogates(points),
        }
    }
}

/// Turns CR LF and lone CR into LF, as Python does on reading a text file.
pub fn universal_newlines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
