//! Agent files: Markdown with YAML frontmatter, from bytes to an [`AgentFile`] and findings.
//!
//! The frontmatter is read exactly as a skill's is. A field of the wrong kind is left out with a finding and the agent
//! still loads; keys that Grove does not know are kept. [`edit`] changes one field of a file and nothing else.

mod block_list;
pub mod compose;
pub mod edit;
mod field_kinds;
pub mod fields;
pub mod formats;
pub(crate) mod known_keys;
pub mod model_scope;
pub mod naming;
mod near_frontmatter;
pub mod overrides;
pub mod print;
pub mod settings;
pub mod thinking;

use serde::{Deserialize, Serialize, Serializer};

use crate::diagnostic::{Diagnostic, Position};
use crate::frontmatter;
use crate::text::without_controls;
use crate::yaml::Key;

pub(crate) use field_kinds::{Structured, WordChoice, is_dangerous, split_items};
pub use fields::AgentFile;
pub use formats::AgentFormat;

/// The use that an agent's prompt makes of its caller's prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptMode {
    /// The agent's prompt replaces it.
    #[default]
    Replace,
    /// The agent's prompt follows it.
    Append,
}

/// The form in which an agent gets the skills that it names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillInjection {
    /// Their text is in its prompt.
    #[default]
    Full,
    /// They are listed, and the agent reads those that it needs.
    Light,
}

/// The runner that an agent of pi's names in place of pi itself; nothing for the usual one.
pub fn foreign_runner(agent: &AgentFile) -> Option<String> {
    let mut unknown = agent.unknown.iter();
    let value = &unknown.find(|entry| entry.key == "runner")?.value;
    let kind = value.get("type").unwrap_or(value);
    let word = kind.as_text().map_or("?", str::trim);
    (word != "native").then(|| crate::text::one_line(word))
}

/// The part of its caller's conversation that an agent starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContextMode {
    /// No part of the conversation.
    Fresh,
    /// A copy of the conversation.
    Fork,
}

/// The file for an agent's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputFile {
    /// No file, as the agent states explicitly.
    None,
    /// A file with this path.
    File(String),
}

/// The result that the caller gets when an answer is written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputMode {
    /// The text of the answer.
    Inline,
    /// The path of the file.
    FileOnly,
}

impl Serialize for OutputFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_bool(false),
            Self::File(path) => serializer.serialize_str(path),
        }
    }
}

macro_rules! choices {
    ($($type:ident: $takes:literal, $($word:literal => $variant:ident),*;)*) => {
        $(impl WordChoice for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),*];
            const TAKES: &'static str = $takes;
            const OVERRIDE_TAKES: &'static str = concat!($takes, " or `false`");
        })*
    };
}

choices! {
    PromptMode: "`replace`, `append`", "replace" => Replace, "append" => Append;
    SkillInjection: "`full`, `light`", "full" => Full, "light" => Light;
    ContextMode: "`fresh`, `fork`", "fresh" => Fresh, "fork" => Fork;
    OutputMode: "`inline`, `file-only`", "inline" => Inline, "file-only" => FileOnly;
}

impl AgentFile {
    /// The tools that no MCP server provides; nothing means the usual ones.
    pub fn plain_tools(&self) -> Option<Vec<&str>> {
        let tools = self.tools.as_ref()?;
        Some(
            tools
                .iter()
                .map(String::as_str)
                .filter(|tool| !tool.starts_with(MCP))
                .collect(),
        )
    }

    /// The tools of MCP servers, without their prefix.
    pub fn mcp_tools(&self) -> Vec<&str> {
        let tools = self.tools.iter().flatten();
        tools.filter_map(|tool| tool.strip_prefix(MCP)).collect()
    }
}

const MCP: &str = "mcp:";

/// An agent file as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedAgent {
    /// The agent's fields; to be used only if no finding is an error.
    pub agent: AgentFile,
    /// Byte offset of the body; zero without frontmatter.
    pub body_offset: usize,
    /// The body, if it is a value in the file rather than the text after the frontmatter.
    pub inner_body: Option<String>,
    /// The path of the file with the body and the other keys, as written in this file.
    pub named_file: Option<String>,
    /// The position of each key in the file, by Grove's name for the key.
    pub places: Vec<(Key, Position)>,
    /// The address of the agent that Grove wrote the file from, if it did.
    pub generated_from: Option<String>,
    /// Findings about the file.
    pub diagnostics: Vec<Diagnostic>,
}

impl ParsedAgent {
    /// Returns true if the file is usable as an agent.
    pub fn is_valid(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Returns true if the file has a frontmatter block, readable or not.
    pub fn has_frontmatter(&self) -> bool {
        self.body_offset > 0
    }

    /// Returns the agent's own text, from the text of its file.
    pub fn body<'a>(&'a self, source: &'a str) -> Option<&'a str> {
        match &self.inner_body {
            Some(body) => Some(body),
            None => source.get(self.body_offset..),
        }
    }

    fn refused(diagnostic: Diagnostic) -> Self {
        Self {
            agent: AgentFile::default(),
            body_offset: 0,
            inner_body: None,
            named_file: None,
            places: Vec::new(),
            generated_from: None,
            diagnostics: vec![diagnostic],
        }
    }
}

/// Reads the bytes of an agent file.
pub fn parse_bytes(bytes: &[u8]) -> ParsedAgent {
    frontmatter::text_of(bytes).map_or_else(ParsedAgent::refused, parse)
}

/// Reads the text of an agent file.
pub fn parse(text: &str) -> ParsedAgent {
    formats::read_markdown(text, AgentFormat::Native)
}

/// A body as a model gets it: without control characters and blank edges, with LF line ends, one of them at the end.
///
/// A body without text becomes empty text.
pub fn prompt_text(body: &str) -> String {
    let lines = body.replace("\r\n", "\n").replace('\r', "\n");
    let clean = without_controls(&lines);
    let kept = clean.trim_end();
    // Blank lines before the text are layout, but blanks before its first word may be part of it.
    let start = kept
        .find(|c: char| !c.is_whitespace())
        .and_then(|first| kept.get(..first))
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |line_end| line_end + 1);
    let kept = kept.get(start..).unwrap_or(kept);
    if kept.is_empty() {
        String::new()
    } else {
        format!("{kept}\n")
    }
}

#[cfg(test)]
mod tests;
