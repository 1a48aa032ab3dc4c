//! Agent files of other hosts, each read into the one [`AgentFile`].
//!
//! The caller gives the format of a file, from the place where it was found; nothing here guesses. A key that has the
//! meaning of one of Grove's under another name is read as that one; every other key of a host is kept with a finding
//! about it. Grove's own keys are understood in every format.

mod codex;
mod codex_config;
pub mod granting;
mod keys;
mod opencode;
mod opencode_references;
pub mod restriction;

pub use codex_config::{NamedFile, NamedFiles};
use serde::{Deserialize, Serialize};

use super::{AgentFile, ParsedAgent, fields, known_keys, naming, near_frontmatter, thinking};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::quoted_frontmatter::{self, QuotedFrontmatter};
use crate::skill::body;
use crate::yaml::{Key, YamlEntry};
use crate::{frontmatter, generated};
use restriction::Restriction;

/// The format of a file with agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentFormat {
    /// Grove's own format, which is pi's with a few more keys: Markdown with frontmatter.
    #[default]
    Native,
    /// Markdown as Claude Code has it.
    Claude,
    /// Markdown as Copilot has it.
    Copilot,
    /// Markdown as Gemini CLI has it.
    Gemini,
    /// Markdown as `OpenCode` has it.
    Opencode,
    /// The `agent` object of `OpenCode`'s settings.
    OpencodeJson,
    /// A role of Codex, in TOML.
    Codex,
    /// The roles that Codex's settings declare.
    CodexConfig,
}

impl AgentFormat {
    /// Returns the host's name, for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Native => "Grove",
            Self::Claude => "Claude Code",
            Self::Copilot => "Copilot",
            Self::Gemini => "Gemini CLI",
            Self::Opencode | Self::OpencodeJson => "OpenCode",
            Self::Codex | Self::CodexConfig => "Codex",
        }
    }

    /// Returns true if a file of this name may have this format.
    pub fn takes(self, file_name: &str) -> bool {
        match self {
            Self::Codex => file_name
                .strip_suffix(".toml")
                .is_some_and(|stem| !stem.is_empty()),
            Self::CodexConfig => file_name == "config.toml",
            Self::OpencodeJson => matches!(file_name, "opencode.json" | "opencode.jsonc"),
            _ => naming::is_agent_file(file_name),
        }
    }

    /// Returns true if the format is Markdown with frontmatter, in which a file without frontmatter is a note.
    pub const fn is_markdown(self) -> bool {
        !matches!(self, Self::Codex | Self::CodexConfig | Self::OpencodeJson)
    }

    /// Returns true if a file of this format has more than agents in it, perhaps secrets, so that it is never quoted.
    pub const fn is_settings(self) -> bool {
        matches!(self, Self::OpencodeJson | Self::CodexConfig)
    }

    /// Returns the format of a host's own agent files for the format of its settings.
    #[must_use]
    pub const fn of_files(self) -> Self {
        match self {
            Self::OpencodeJson => Self::Opencode,
            Self::CodexConfig => Self::Codex,
            other => other,
        }
    }
}

/// An agent found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAgent {
    /// Its name in the file, if a file of this format may hold several.
    pub member: Option<String>,
    /// The agent as read from the file.
    pub parsed: ParsedAgent,
}

/// The files that hold the rest of a file's agents, by their paths as they are written there.
pub fn named_files(bytes: &[u8], format: AgentFormat) -> Vec<String> {
    let named_in: fn(&str) -> Vec<String> = match format {
        AgentFormat::CodexConfig => codex_config::named_files,
        AgentFormat::OpencodeJson => opencode::named_files,
        _ => return Vec::new(),
    };
    frontmatter::text_of(bytes).map_or_else(|_| Vec::new(), named_in)
}

/// Reads every agent of a file that names no other files.
pub fn read(bytes: &[u8], format: AgentFormat) -> Vec<FoundAgent> {
    read_with(bytes, format, &NamedFiles::new())
}

/// Reads every agent of a file, with the content of the files that [`named_files`] returned.
pub fn read_with(bytes: &[u8], format: AgentFormat, named: &NamedFiles) -> Vec<FoundAgent> {
    let alone = |parsed: ParsedAgent| {
        vec![FoundAgent {
            member: None,
            parsed,
        }]
    };
    let text = match frontmatter::text_of(bytes) {
        Ok(text) => text,
        Err(refusal) => return alone(ParsedAgent::refused(refusal)),
    };
    match format {
        AgentFormat::OpencodeJson => opencode::settings(text, named),
        AgentFormat::Codex => alone(codex::role(text)),
        AgentFormat::CodexConfig => codex_config::roles(text, named),
        markdown => alone(read_markdown(text, markdown)),
    }
}

/// Reads a Markdown file for a host that does not require frontmatter: without it the whole file is the agent's text.
pub fn read_bare(bytes: &[u8], format: AgentFormat) -> Vec<FoundAgent> {
    let mut found = read(bytes, format);
    for one in &mut found {
        let is_bare = |finding: &Diagnostic| finding.code == Code::FrontmatterMissing;
        if format.is_markdown() && one.parsed.diagnostics.iter().any(is_bare) {
            one.parsed = ParsedAgent {
                agent: AgentFile::default(),
                body_offset: 0,
                inner_body: None,
                named_file: None,
                places: Vec::new(),
                generated_from: None,
                diagnostics: Vec::new(),
            };
            if let Ok(text) = frontmatter::text_of(bytes) {
                body::check(text, 0, &mut one.parsed.diagnostics);
            }
        }
    }
    found
}

/// Reads a Markdown file for a host whose only repair of frontmatter is to add quotes, and which replaces invalid UTF-8.
///
/// Grove's own findings on the file are kept. An agent that the host does not have is marked by a finding.
pub fn read_quoted(bytes: &[u8], format: AgentFormat) -> Vec<FoundAgent> {
    let mut found = read(bytes, format);
    if !format.is_markdown() {
        return found;
    }
    let text = String::from_utf8_lossy(bytes);
    for one in &mut found {
        match quoted_frontmatter::read(&text) {
            Ok(quoted) => as_quoted(&mut one.parsed, quoted, format),
            // A file without frontmatter is a note for Grove and for the host.
            Err(_) if !one.parsed.has_frontmatter() => {}
            Err(unread) => {
                let finding = Diagnostic::new(Code::HostFrontmatter, unread.reason());
                one.parsed.diagnostics.push(finding);
            }
        }
    }
    found
}

/// Reads a Markdown file for a host that takes frontmatter as YAML and repairs nothing.
///
/// Grove's own findings on the file are kept. An agent that the host does not have is marked by a finding.
pub fn read_strict(bytes: &[u8], format: AgentFormat) -> Vec<FoundAgent> {
    let mut found = read(bytes, format);
    let text = frontmatter::text_of(bytes).ok();
    let Some(text) = text.filter(|_| format.is_markdown()) else {
        return found;
    };
    let first = text.lines().next().unwrap_or_default();
    let has_bare_returns = first.contains('\r');
    for one in &mut found {
        let parsed = &mut one.parsed;
        let mut findings = parsed.diagnostics.iter();
        if has_bare_returns || findings.any(|finding| finding.code == Code::YamlRepaired) {
            let message = "the frontmatter is not valid YAML, and this host repairs none";
            parsed
                .diagnostics
                .push(Diagnostic::new(Code::HostFrontmatter, message));
            continue;
        }
        let document = frontmatter::read(text, known_keys::KNOWN).ok();
        let entries = document.and_then(|document| document.entries);
        for entry in entries.into_iter().flatten() {
            match &*entry.key {
                _ if quoted_frontmatter::is_text(&entry.value.value) => {}
                "name" => parsed.agent.name = None,
                "description" => parsed.agent.description = None,
                _ => {}
            }
        }
    }
    found
}

/// The folders of projects that settings name, each with true if they trust it.
pub fn trusted_projects(bytes: &[u8]) -> Vec<(String, bool)> {
    let text = frontmatter::text_of(bytes);
    text.map_or_else(|_| Vec::new(), codex_config::trusted_projects)
}

/// Gives an agent the fields that the host reads: it has the agent only with a name and a description.
fn as_quoted(parsed: &mut ParsedAgent, quoted: QuotedFrontmatter, format: AgentFormat) {
    let mut entries = quoted.entries;
    entries.retain(|entry| {
        let is_asked = matches!(&*entry.key, "name" | "description");
        !is_asked || quoted_frontmatter::is_text(&entry.value.value)
    });
    let mut findings = Vec::new();
    let AgentWithPlaces { agent, places } =
        read_keys(entries, format, Position::new(1, 1), &mut findings);
    if parsed.is_valid() && parsed.has_frontmatter() {
        parsed.agent.name = agent.name;
        parsed.agent.description = agent.description;
        return;
    }
    parsed.agent = agent;
    parsed.places = places;
    parsed.body_offset = quoted.body_offset;
    // The host can read the frontmatter although Grove cannot.
    for finding in &mut parsed.diagnostics {
        if finding.is_error() {
            finding.severity = Severity::Warning;
        }
    }
    parsed.diagnostics.append(&mut findings);
}

pub(super) fn read_markdown(text: &str, format: AgentFormat) -> ParsedAgent {
    let document = match frontmatter::read(text, known_keys::KNOWN) {
        Ok(document) => document,
        Err(refusal) => {
            return ParsedAgent::refused(near_frontmatter::locate_refusal(text, refusal));
        }
    };
    let mut diagnostics = document.diagnostics;
    let AgentWithPlaces { agent, places } = document
        .entries
        .map_or_else(AgentWithPlaces::default, |entries| {
            read_keys(entries, format, Position::new(1, 1), &mut diagnostics)
        });
    body::check(text, document.body_offset, &mut diagnostics);
    ParsedAgent {
        agent,
        body_offset: document.body_offset,
        inner_body: None,
        named_file: None,
        places,
        generated_from: generated::source_of(text).map(str::to_owned),
        diagnostics,
    }
}

/// An agent whose keys and body are values of a file; `start` is its position in the file.
fn from_values(
    entries: Vec<YamlEntry>,
    body_key: &str,
    (format, start): (AgentFormat, Position),
    diagnostics: &mut Vec<Diagnostic>,
) -> (AgentWithPlaces, String) {
    let (bodies, entries): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.key == body_key);
    let mut inner_body = String::new();
    if let Some(entry) = bodies.into_iter().next() {
        match entry.value.as_text() {
            Some(text) => {
                let mut found = Vec::new();
                body::check(text, 0, &mut found);
                let place = entry.value.position;
                diagnostics.extend(found.into_iter().map(|finding| finding.at(place)));
                text.clone_into(&mut inner_body);
            }
            None if entry.value.is_null() => {}
            None => {
                let message = format!("`{body_key}` is {}, not text", entry.value.kind());
                let finding = Diagnostic::new(Code::FieldRequiredType, message);
                diagnostics.push(finding.at(entry.value.position));
            }
        }
    }
    (read_keys(entries, format, start, diagnostics), inner_body)
}

/// The agent that the keys of a file describe, and their positions.
#[derive(Default)]
struct AgentWithPlaces {
    agent: AgentFile,
    places: Vec<(Key, Position)>,
}

/// Reads the keys of an agent; `start` is its position in the file.
fn read_keys(
    entries: Vec<YamlEntry>,
    format: AgentFormat,
    start: Position,
    diagnostics: &mut Vec<Diagnostic>,
) -> AgentWithPlaces {
    let place = |entry: &YamlEntry| (entry.key.clone(), entry.position);
    let translated = keys::translate(entries, format, diagnostics);
    let places: Vec<(Key, Position)> = translated.native.iter().map(place).collect();
    let mut agent = fields::read(translated.native, start, diagnostics);
    agent.is_disabled |= translated.is_disabled;
    if format == AgentFormat::Native {
        let place = places.iter().find(|(key, _)| *key == "thinking");
        let place = place.map(|(_, position)| *position);
        diagnostics.extend(thinking::unknown_level(&agent).map(|finding| finding.at(place)));
    }
    if let Some(tools) = &mut agent.tools {
        // Denied tools can be taken out of the list, and the key needs no finding then.
        agent
            .unknown
            .retain(|entry| !restriction::take(entry, format, tools));
    }
    agent.unknown.extend(translated.kept);
    let cannot_be_read = |entry: &YamlEntry| {
        let found = restriction::of(entry, format);
        found.is_some_and(|found| !found.is_readable)
    };
    if agent.unknown.iter().any(cannot_be_read) {
        agent.tools = Some(Vec::new());
    }
    agent.unknown.sort_by_key(|entry| entry.position);
    known_keys::report(&agent.unknown, &places, format, diagnostics);
    AgentWithPlaces { agent, places }
}

/// The finding about a key that cannot be read, or that restricts an agent in a way for which Grove has no key.
pub(super) fn restricting(
    entry: &YamlEntry,
    found: &Restriction,
    format: AgentFormat,
) -> Diagnostic {
    if !found.is_readable {
        let message = format!(
            "`{}` restricts the agent and cannot be read: it is {}",
            entry.key,
            entry.value.kind()
        );
        return Diagnostic::new(Code::AgentContract, message).at(entry.value.position);
    }
    let whose = match format {
        AgentFormat::Native => String::new(),
        host => format!(" of {}", host.title()),
    };
    let message = format!(
        "`{}`{whose} restricts the agent in a way for which Grove has no key; it is kept, and in a run the agent gets no tool that it may refer to",
        entry.key
    );
    Diagnostic::new(Code::AgentUnmapped, message)
        .with_severity(Severity::Warning)
        .with_help("list the tools that the agent may use in `tools`")
        .at(entry.position)
}

#[cfg(test)]
mod tests;
