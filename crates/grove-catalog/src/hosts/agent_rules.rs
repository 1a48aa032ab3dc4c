//! The treatment of agents by hosts, as data: the files they take, their order of precedence, and the form of exports.
//!
//! The files are apart from those about skills, so that a caller that needs only skills does not read these.

use std::collections::BTreeMap;

use grove_spec::Code;
use grove_spec::agent::{AgentFormat, naming};
use serde::Deserialize;

use crate::agents::Agent;
use crate::root::RootSource;
use crate::state::{EntryState, StateReason};

/// The rules of a host for agents.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRules {
    /// The sources of agents, strongest first.
    pub order: Vec<RootSource>,
    /// Set if a file without a name counts under the file's own.
    pub name_from_file: bool,
    /// Set if that name is the file's path below the folder for agents, `nested/x`, and not only its last part.
    #[serde(default)]
    pub name_from_path: bool,
    /// Set if a file without frontmatter counts, as an agent with the whole text.
    #[serde(default)]
    pub without_frontmatter: bool,
    /// Its reading of frontmatter that is not quite YAML.
    #[serde(default)]
    pub frontmatter: FrontmatterReading,
    /// Set if a file without a description counts.
    pub without_description: bool,
    /// Set if it searches folders in its folders.
    pub nested: bool,
    /// The folders that it enters.
    #[serde(default)]
    pub folders: FoldersEntered,
    /// Set if it reads a project's agents only when its own settings trust the project.
    #[serde(default)]
    pub asks_trust: bool,
    /// Set if it goes on to the folders above when there is no repository to end at.
    #[serde(default)]
    pub climbs: bool,
    /// Set if names may have only small letters, digits, `-` and `_`.
    #[serde(default)]
    pub slugs: bool,
    /// The prefix of file names that are left out.
    pub ignored_prefix: Option<String>,
    /// Facts that are not known about it, or known and not followed.
    #[serde(default)]
    pub not_followed: Vec<String>,
    /// The rules for exports to it.
    pub export: ExportRules,
}

/// The way in which a host reads frontmatter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrontmatterReading {
    /// As Grove does, or in a way that is not known.
    #[default]
    Grove,
    /// It puts quotes around values with a character of YAML, and repairs nothing else.
    Quoting,
    /// It repairs nothing, and a name or a description that is not text counts as missing.
    Strict,
}

/// The folders below a folder for agents that a host enters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FoldersEntered {
    /// As Grove does, or in a way that is not known: none that are hidden or hold something else.
    #[default]
    Grove,
    /// All that are not hidden.
    Visible,
    /// All folders, and hidden files count.
    All,
}

/// The rules for exports to a host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportRules {
    /// The format of agent files.
    pub format: AgentFormat,
    /// The folder for agents in a project.
    pub agents: String,
    /// The ending of the names of agent files.
    pub ending: String,
    /// The folder for skills in a project; one level of folders, named after the skills.
    pub skills: String,
    /// The treatment of the skills that an agent names.
    pub preload: Preload,
    /// The longest text of an agent that it takes, in characters.
    pub prompt_chars: Option<usize>,
    /// The key for how hard the agent thinks, and the words that it takes.
    #[serde(default)]
    pub effort: Vec<String>,
    /// The models that it has; any if this is missing.
    pub models: Option<HostModels>,
    /// Its names for Grove's tools. Tools that are not here have no counterpart, unless the table is empty.
    #[serde(default)]
    pub tools: BTreeMap<String, String>,
    /// Further names of its tools, with Grove's names for each; empty if Grove has no such tool.
    #[serde(default)]
    pub aliases: BTreeMap<String, Vec<String>>,
    /// The sets that may stand before a `/` in names of its own tools; another word there is an MCP server.
    #[serde(default)]
    pub sets: Vec<String>,
    /// Set if capital and small letters are equal in the names of its tools.
    #[serde(default)]
    pub any_case: bool,
    /// The key for the turns that an agent may take.
    pub turns: Option<String>,
    /// Its names for all tools of an MCP server and for one of them, with `SERVER` and `TOOL` in their places.
    pub mcp: Option<[String; 2]>,
    /// Grove's keys that it reads as Grove does.
    #[serde(default)]
    pub same: Vec<String>,
}

/// The models that a host has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostModels {
    /// The provider in front of a name, which the host does not write. If this is empty, every name has a provider and
    /// keeps it.
    pub provider: String,
    /// The beginnings of names without a provider.
    #[serde(default)]
    pub begin: Vec<String>,
}

/// The treatment of the skills that an agent names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preload {
    /// The host reads `skills` itself.
    Skills,
    /// Their text is written into the agent's.
    Inline,
}

const FILES: [(&str, &str); 6] = [
    ("claude", include_str!("../../hosts/agents/claude.toml")),
    ("codex", include_str!("../../hosts/agents/codex.toml")),
    ("copilot", include_str!("../../hosts/agents/copilot.toml")),
    ("gemini", include_str!("../../hosts/agents/gemini.toml")),
    ("opencode", include_str!("../../hosts/agents/opencode.toml")),
    ("pi", include_str!("../../hosts/agents/pi.toml")),
];

impl AgentRules {
    /// Returns the names of all hosts whose rules for agents are known, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// Returns a host's rules by its name.
    pub fn by_name(name: &str) -> Option<Self> {
        let (_, text) = FILES.iter().find(|(known, _)| *known == name)?;
        toml::from_str(text).ok()
    }

    /// Filters an agent that the host would leave out, with the reason.
    pub(crate) fn apply(&self, agent: &mut Agent) {
        if self.name_from_path {
            name_by_path(agent);
        }
        if !agent.state.is_usable() {
            return;
        }
        if let Some(reason) = self.refusal(agent) {
            agent.state = EntryState::Filtered;
            agent.reasons = vec![reason];
        }
    }

    fn refusal(&self, agent: &Agent) -> Option<StateReason> {
        let file = agent.file()?;
        let reason = |code: &str, what: &str, fix: &str| {
            Some(StateReason::new(
                code,
                format!("this host leaves out agents {what}"),
                fix,
            ))
        };
        let mut findings = agent.diagnostics.iter();
        if findings.any(|finding| finding.code == Code::HostFrontmatter) {
            return reason(
                "not-repaired",
                "whose frontmatter it cannot read",
                "put values in double quotes, and begin the file with `---`",
            );
        }
        let file_name = agent.path.rsplit('/').next().unwrap_or_default();
        let prefix = self.ignored_prefix.as_deref();
        if !self.nested && agent.path.contains('/') {
            return reason(
                "nested",
                "in folders of their own",
                "move it up into the folder for agents",
            );
        }
        if prefix.is_some_and(|prefix| file_name.starts_with(prefix)) {
            return reason(
                "file-name",
                "with a file name like this one's",
                "rename the file",
            );
        }
        if !self.name_from_file && file.name.is_none() {
            return reason(
                "no-name",
                "without a name",
                "add `name:` to its frontmatter",
            );
        }
        if !self.without_description && file.description.is_none() {
            let fix = "add `description:` to its frontmatter";
            return reason("no-description", "without a description", fix);
        }
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        if self.slugs && !agent.name.chars().all(fits) {
            let fix = "name it with small letters, digits and hyphens";
            return reason("name-form", "with a name like this one's", fix);
        }
        None
    }
}

/// Names an agent whose file has no name by the path of its file.
fn name_by_path(agent: &mut Agent) {
    let is_named = agent.file().is_some_and(|file| file.name.is_some());
    if is_named || agent.member.is_some() {
        return;
    }
    let name = naming::stem(&agent.path).to_owned();
    let mut findings = agent.diagnostics.iter_mut();
    if let Some(finding) = findings.find(|finding| finding.code == Code::NameMissing) {
        finding.message = format!("no name; the path of its file `{name}` is used");
    }
    agent.name = name;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts;

    #[test]
    fn every_file_is_read_and_belongs_to_a_host() {
        for (name, text) in FILES {
            let rules: AgentRules =
                toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let host = hosts::by_name(name).unwrap();
            for root in &host.agent_roots {
                assert!(rules.order.contains(&root.source), "{name}: {root:?}");
            }
            // Exported files must be found where the host searches.
            let of = |roots: &[hosts::HostRoot], path: &str| {
                let mut roots = roots.iter();
                roots.any(|root| root.source == RootSource::Project && root.path == path)
            };
            assert!(of(&host.agent_roots, &rules.export.agents), "{name}");
            assert!(of(&host.roots, &rules.export.skills), "{name}");
            assert!(
                rules
                    .export
                    .format
                    .takes(&format!("x{}", rules.export.ending)),
                "{name}"
            );
        }
        assert!(AgentRules::by_name("nobody").is_none());
    }
}
