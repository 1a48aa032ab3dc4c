//! Agent files: Markdown with YAML frontmatter, from bytes to an [`Agent`] and what was found on the way.
//!
//! The frontmatter is read exactly as a skill's is. A field of the wrong kind is left out with a finding and
//! the agent still loads; keys that nobody here knows are kept. [`edit`] changes one field of a file and
//! nothing else.

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

pub(crate) use field_kinds::{Choice, Structured, is_dangerous, split_items};
pub use fields::Agent;
pub use formats::Format;

/// What becomes of the prompt of whoever runs the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptMode {
    /// The agent's stands in its place.
    #[default]
    Replace,
    /// The agent's comes after it.
    Append,
}

/// How an agent gets the skills that it names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillInjection {
    /// Their text is in its prompt.
    #[default]
    Full,
    /// They are listed, and the agent reads what it needs.
    Light,
}

/// The runner that an agent of pi's names in place of pi itself; none where that is the usual one.
pub fn foreign_runner(agent: &Agent) -> Option<String> {
    let mut unknown = agent.unknown.iter();
    let value = &unknown.find(|entry| entry.key == "runner")?.value;
    let kind = value.get("type").unwrap_or(value);
    let word = kind.as_text().map_or("?", str::trim);
    (word != "native").then(|| crate::text::one_line(word))
}

/// What an agent knows of the conversation that calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContextMode {
    /// Nothing.
    Fresh,
    /// A copy of it.
    Fork,
}

/// Where an agent's answer is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputFile {
    /// Nowhere, said explicitly.
    None,
    /// In this file.
    File(String),
}

/// What the caller gets when an answer is written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputMode {
    /// The answer.
    Inline,
    /// The file's path.
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
        $(impl Choice for $type {
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

impl Agent {
    /// The tools that are not served by an MCP server; none means whatever is usual.
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
pub struct Parsed {
    /// What was understood; to be used only when no finding is an error.
    pub agent: Agent,
    /// Where the body starts, in bytes; zero without frontmatter.
    pub body_offset: usize,
    /// The body where it is a value in the file rather than what comes after the frontmatter.
    pub inner_body: Option<String>,
    /// The file that says the rest and has the body, by its path as it is written in this one.
    pub named_file: Option<String>,
    /// Where the keys of the file stand, by what they are called here.
    pub places: Vec<(Key, Position)>,
    /// The address of the agent that Grove wrote the file from, if it did.
    pub generated_from: Option<String>,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// Whether the file is usable as an agent.
    pub fn is_valid(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Whether the file has a frontmatter block, readable or not.
    pub fn has_frontmatter(&self) -> bool {
        self.body_offset > 0
    }

    /// The agent's own text, from the text of its file.
    pub fn body<'a>(&'a self, source: &'a str) -> Option<&'a str> {
        match &self.inner_body {
            Some(body) => Some(body),
            None => source.get(self.body_offset..),
        }
    }

    fn refused(diagnostic: Diagnostic) -> Self {
        Self {
            agent: Agent::default(),
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
pub fn parse_bytes(bytes: &[u8]) -> Parsed {
    frontmatter::text_of(bytes).map_or_else(Parsed::refused, parse)
}

/// Reads the text of an agent file.
pub fn parse(text: &str) -> Parsed {
    formats::read_markdown(text, Format::Native)
}

/// A body as a model gets it: one kind of line end, no control characters, no blank edges, one line end.
///
/// A body with nothing in it is nothing.
pub fn prompt_text(body: &str) -> String {
    let lines = body.replace("\r\n", "\n").replace('\r', "\n");
    let clean = without_controls(&lines);
    let kept = clean.trim_end();
    // Blank lines before the text are layout; blanks before its first word may be.
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
