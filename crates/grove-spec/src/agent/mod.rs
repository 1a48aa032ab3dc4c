//! Agent files: Markdown with YAML frontmatter, from bytes to an [`Agent`] and what was found on the way.
//!
//! The frontmatter is read exactly as a skill's is. A field of the wrong kind is left out with a finding and
//! the agent still loads; keys that nobody here knows are kept. [`edit`] changes one field of a file and
//! nothing else.

mod block_list;
pub mod compose;
pub mod edit;
pub(crate) mod fields;
pub mod formats;
pub(crate) mod known_keys;
pub mod naming;
mod near_frontmatter;
mod override_fields;
pub mod overrides;
pub mod print;
pub mod settings;

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Diagnostic, Position};
use crate::frontmatter;
use crate::text::without_controls;
use crate::yaml::{Entry, Key, Node};

pub use formats::Format;

/// What an agent file says about its agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    clippy::struct_excessive_bools,
    reason = "each field is the frontmatter key of the same name"
)]
pub struct Agent {
    /// The frontmatter's name, if it has one; otherwise the file's counts.
    pub name: Option<String>,
    /// Normalised; the agent is called `package.name`.
    pub package: Option<String>,
    pub description: Option<String>,
    /// As written, `mcp:` entries and paths of extensions among them; none means whatever is usual.
    pub tools: Option<Vec<String>>,
    /// None means whatever is usual, an empty list means none.
    pub extensions: Option<Vec<String>>,
    pub model: Option<String>,
    pub fallback_models: Vec<String>,
    pub thinking: Option<String>,
    pub system_prompt_mode: PromptMode,
    pub inherit_project_context: bool,
    pub inherit_skills: bool,
    /// The skills whose text is in the agent's prompt, in order, each once; `skill` is another name of the key.
    pub skills: Vec<String>,
    pub skill_injection: SkillInjection,
    pub skill_path: Vec<String>,
    pub default_context: Option<ContextMode>,
    pub output: Option<OutputFile>,
    pub output_mode: Option<OutputMode>,
    pub default_reads: Vec<String>,
    pub default_progress: bool,
    pub interactive: bool,
    pub max_subagent_depth: Option<u64>,
    pub completion_guard: Option<bool>,
    pub max_execution_time_ms: Option<u64>,
    pub timeout_ms: Option<u64>,
    pub max_tokens: Option<u64>,
    /// As written.
    pub turn_budget: Option<Node>,
    /// As written.
    pub tool_budget: Option<Node>,
    /// As written.
    pub acceptance: Option<Node>,
    pub acceptance_role: Option<String>,
    /// `async`: whether it runs in the background unless told otherwise.
    pub background: Option<bool>,
    pub aliases: Vec<String>,
    /// Whether its own file switches it off.
    pub is_disabled: bool,
    /// Keys that nobody here knows, as written.
    pub unknown: Vec<Entry>,
}

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
