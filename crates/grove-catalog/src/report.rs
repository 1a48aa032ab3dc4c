//! The JSON forms of skills, agents, chains and prompts, for all that print them: the binary and the server.
//!
//! The keys are documented in docs/reference/json.md and stay as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use grove_spec::Diagnostic;
use grove_spec::agent::PromptMode;
use serde::{Serialize, Serializer};

use crate::digest::Digest;
use crate::entry::{Entries, Entry};
use crate::prompt::{BasePromptUse, Prompt, PromptPart};
use crate::root::RootSource;
use crate::snapshot::Snapshot;
use crate::state::{EntryState, StateReason};

/// The JSON form of a diagnostic.
#[derive(Debug, Serialize)]
pub struct DiagnosticJson<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    help: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    names: &'a [String],
}

impl<'a> DiagnosticJson<'a> {
    /// Makes the form of a diagnostic, with this file if it names none itself.
    pub fn new(diagnostic: &'a Diagnostic, file: Option<&str>) -> Self {
        let own_file = diagnostic.file.as_deref().map(path_text);
        Self {
            code: diagnostic.code.as_str(),
            severity: diagnostic.severity.as_str(),
            message: &diagnostic.message,
            file: own_file.or_else(|| file.map(str::to_owned)),
            line: diagnostic.position.map(|at| at.line),
            column: diagnostic.position.map(|at| at.column),
            help: diagnostic.help_text(),
            names: &diagnostic.names,
        }
    }

    /// Makes the forms of diagnostics that name their files themselves.
    pub fn list(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Vec<Self> {
        let all = diagnostics.into_iter();
        all.map(|diagnostic| Self::new(diagnostic, None)).collect()
    }
}

pub(crate) fn diagnostics<S: Serializer>(all: &[Diagnostic], to: S) -> Result<S::Ok, S::Error> {
    DiagnosticJson::list(all).serialize(to)
}

/// The identity of a snapshot's skills: the same for a command that does not search for agents as for one that does.
#[derive(Debug, Serialize)]
pub struct SnapshotJson {
    version: u64,
    digest: Digest,
}

impl SnapshotJson {
    /// Makes the identity of a snapshot.
    pub fn new(snapshot: &Snapshot) -> Self {
        Self {
            version: snapshot.version,
            digest: snapshot.skills_digest,
        }
    }
}

/// The JSON form of a skill, an agent or a chain.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryJson<'a> {
    id: String,
    name: &'a str,
    description: Option<&'a str>,
    location: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also_at: Vec<String>,
    source: RootSource,
    root: &'a str,
    address: String,
    state: EntryState,
    reasons: &'a [StateReason],
    #[serde(skip_serializing_if = "Option::is_none")]
    stand_in: Option<String>,
    #[serde(flatten)]
    invocable: Option<InvocableJson>,
    /// All findings about it.
    pub diagnostics: Vec<DiagnosticJson<'a>>,
}

/// The callers that may use a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InvocableJson {
    /// Set if a model may see it.
    pub model_invocable: bool,
    /// Set if a person may call it.
    pub user_invocable: bool,
}

impl<'a> EntryJson<'a> {
    /// Makes the form of one entry.
    pub fn new<E: Entry>(entries: Entries<'a, E>, entry: &'a E) -> Self {
        let location = path_text(&entries.location(entry));
        let root = entries.root_of(entry);
        let other = entry.stand_in().and_then(|at| entries.all.get(at));
        let diagnostics = entry
            .findings()
            .map(|finding| DiagnosticJson::new(finding, Some(&location)));
        Self {
            id: entry
                .ids(&[])
                .next()
                .map_or_else(String::new, |(_, id)| id.into_owned()),
            name: entry.name(),
            description: entry.description(),
            also_at: entries
                .further_locations(entry)
                .map(|path| path_text(&path))
                .collect(),
            source: root.map_or(RootSource::Bundled, |root| root.source),
            root: root.map_or("", |root| &root.label),
            address: entries.address(entry),
            state: entry.state(),
            reasons: entry.reasons(),
            stand_in: other.map(|other| entries.address(other)),
            invocable: entry.invocable(),
            diagnostics: diagnostics.collect(),
            location,
        }
    }

    /// Makes the forms of all entries.
    pub fn list<E: Entry>(entries: Entries<'a, E>) -> Vec<Self> {
        let all = entries.all.iter();
        all.map(|entry| Self::new(entries, entry)).collect()
    }
}

/// The number of entries in each state.
pub type StateCounts = BTreeMap<&'static str, usize>;

/// Counts the entries in each state.
pub fn count_states<'a, E: Entry + 'a>(entries: impl IntoIterator<Item = &'a E>) -> StateCounts {
    let mut counts = StateCounts::new();
    for entry in entries {
        *counts.entry(entry.state().as_str()).or_insert(0) += 1;
    }
    counts
}

/// Counts the entries of each source that has any, strongest first.
pub fn count_sources<E: Entry>(entries: Entries<'_, E>) -> Vec<(RootSource, StateCounts)> {
    let of_source = |source: RootSource| {
        let is_of = move |entry: &&E| entries.root_of(entry).is_some_and(|it| it.source == source);
        (source, count_states(entries.all.iter().filter(is_of)))
    };
    let all = RootSource::ALL.into_iter().map(of_source);
    all.filter(|(_, states)| !states.is_empty()).collect()
}

/// The JSON form of an agent's prompt.
#[derive(Debug, Serialize)]
pub struct PromptJson<'a> {
    schema: &'static str,
    name: &'a str,
    address: String,
    prompt: &'a str,
    mode: PromptMode,
    base: BasePromptUse,
    digest: Digest,
    chars: usize,
    tokens: usize,
    blocks: Vec<PromptPartJson<'a>>,
    tools: Option<&'a [String]>,
    #[serde(rename = "deniedTools")]
    denied_tools: &'a BTreeSet<String>,
    active: &'a [String],
    listed: &'a [String],
    warnings: Vec<DiagnosticJson<'a>>,
}

impl<'a> PromptJson<'a> {
    /// Makes the form of an agent's prompt, which takes `tokens` tokens.
    pub fn new(name: &'a str, address: String, prompt: &'a Prompt, tokens: usize) -> Self {
        let blocks = prompt.blocks.iter().map(|block| PromptPartJson {
            cost: block.cost(),
            block,
        });
        Self {
            schema: "grove.prompt/1",
            name,
            address,
            prompt: &prompt.text,
            mode: prompt.mode,
            base: prompt.base,
            digest: Digest::of(prompt.text.as_bytes()),
            chars: prompt.text.chars().count(),
            tokens,
            blocks: blocks.collect(),
            tools: prompt.tools.as_deref(),
            denied_tools: &prompt.denied_tools,
            active: &prompt.active,
            listed: &prompt.listed,
            warnings: DiagnosticJson::list(&prompt.warnings),
        }
    }
}

#[derive(Debug, Serialize)]
struct PromptPartJson<'a> {
    cost: usize,
    #[serde(flatten)]
    block: &'a PromptPart,
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_a_record_with_stable_names() {
        let digest = Digest::of(b"");
        let prompt = Prompt {
            text: "t".to_owned(),
            blocks: vec![PromptPart {
                kind: crate::prompt::PromptPartKind::Agent,
                name: "a".to_owned(),
                source: Some("/a.md".into()),
                digest,
                text: "t".to_owned(),
            }],
            warnings: vec![Diagnostic::new(grove_spec::Code::PreloadUnknown, "m")],
            tools: None,
            denied_tools: ["bash".to_owned()].into(),
            active: vec!["s@user:skills".to_owned()],
            listed: Vec::new(),
            mode: PromptMode::Replace,
            base: BasePromptUse::Absent,
        };
        let record = serde_json::to_value(&prompt).unwrap();
        let printed = PromptJson::new("a", "a@user:agents".to_owned(), &prompt, 1);
        let printed = serde_json::to_value(printed).unwrap();
        assert_eq!(record["blocks"][0]["kind"], "agent");
        assert_eq!(record["blocks"][0]["digest"], digest.to_string());
        assert_eq!(record["blocks"][0]["source"], "/a.md");
        assert_eq!(record["base"], "absent");
        assert_eq!(record["mode"], "replace");
        assert_eq!(record["warnings"][0]["code"], "preload-unknown");
        for key in [
            "mode",
            "base",
            "active",
            "listed",
            "tools",
            "deniedTools",
            "warnings",
        ] {
            assert!(record.get(key).is_some(), "{key}");
            assert_eq!(record[key], printed[key], "{key}");
        }
        assert_eq!(printed["blocks"][0]["cost"], 1);
    }
}
