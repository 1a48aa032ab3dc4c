//! Splitting a file into its metadata and its body.

use std::fmt;

use super::fault::Fault;
use super::python_repr::to_str;
use super::unicode14::strip;
use super::{Data, strict_load};

const FENCE: &str = "---";

/// Why a file has no readable frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The whole message. Where the library gives one of its own it is the same, except for the
    /// wording of a YAML error.
    pub message: String,
    /// Where the YAML is invalid: the last line the library's message names, counted from 1 at
    /// the opening fence.
    pub yaml_line: Option<usize>,
    /// The library gives no message here but ends in a traceback.
    pub crash: bool,
}

impl ParseError {
    fn plain(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            yaml_line: None,
            crash: false,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

impl From<Fault> for ParseError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Yaml { problem, mark } => {
                let (line, column) = (mark.line + 1, mark.column + 1);
                Self {
                    message: format!(
                        "Invalid YAML in frontmatter: {problem}\n  \
                         in \"<unicode string>\", line {line}, column {column}"
                    ),
                    yaml_line: Some(line),
                    crash: false,
                }
            }
            Fault::Crash { reason } => Self {
                message: format!("Unreadable frontmatter: {reason}"),
                yaml_line: None,
                crash: true,
            },
        }
    }
}

/// Reads the frontmatter and gives the body, stripped.
///
/// The content has had its line ends made LF by [`super::universal_newlines`]. The frontmatter
/// ends at the first three hyphens after the opening three, even inside a value.
pub fn parse_frontmatter(content: &str) -> Result<(Vec<(String, Data)>, String), ParseError> {
    let Some(rest) = content.strip_prefix(FENCE) else {
        return Err(ParseError::plain(
            "SKILL.md must start with YAML frontmatter (---)",
        ));
    };
    let Some((yaml, body)) = rest.split_once(FENCE) else {
        return Err(ParseError::plain(
            "SKILL.md frontmatter not properly closed with ---",
        ));
    };
    let Some(mut metadata) = strict_load::load(yaml)? else {
        return Err(ParseError::plain(
            "SKILL.md frontmatter must be a YAML mapping",
        ));
    };
    for (key, value) in &mut metadata {
        if key == "metadata"
            && let Data::Map(entries) = value
        {
            for (_, entry) in entries {
                *entry = to_str(std::mem::replace(entry, Data::List(Vec::new())));
            }
        }
    }
    Ok((metadata, strip(body).to_owned()))
}
