//! Agents on disk: where they are looked for, what is in their files, and which of them are used.

use std::path::{Path, PathBuf};

use grove_catalog::agents::{Agent, Agents, resolve_for, resolve_with};
use grove_catalog::definitions::Candidate;
use grove_catalog::hosts::{self, AgentRules, FrontmatterReading};
use grove_catalog::overrides::Layer;
use grove_fs::document_walk::Document;
use grove_spec::agent::{Format, Parsed, formats, naming};
use grove_spec::package::Kind;
use grove_spec::{Code, Diagnostic, Severity};

use crate::agent_overrides::{self, LoadedOverrides};
use crate::definition_files::{Bounds, FileContent, FileKind, InRoots, Located, Searched};
use crate::environment::Environment;
use crate::planning::{self, PlannedRoot, agent_formats};
use crate::project::Project;
pub use crate::scope::Scope;
use crate::settings::LoadedSettings;
use crate::trusting;

/// Folder levels in which a host's own folders are looked through.
const HOST_DEPTH: usize = 64;

/// How agent files are told and read.
pub(crate) const AGENT_FILES: FileKind<Parsed> = FileKind {
    noun: "agent",
    wanted: |format| match format {
        Format::Codex => |name| Format::Codex.takes(name),
        _ => naming::is_agent_file,
    },
    parse: |format, _, bytes, named| {
        let found = formats::read_with(bytes, format, named).into_iter();
        found.map(|found| (found.member, found.parsed)).collect()
    },
    counts: is_agent,
    left_out: no_agent,
    note: unnamed,
};

/// The same for a host to which a file without frontmatter is an agent.
const BARE_FILES: FileKind<Parsed> = FileKind {
    parse: |format, _, bytes, named| {
        let found = if format.is_markdown() {
            formats::read_bare(bytes, format)
        } else {
            formats::read_with(bytes, format, named)
        };
        let found = found.into_iter();
        found.map(|found| (found.member, found.parsed)).collect()
    },
    counts: |document, format, is_shared| !is_shared || is_agent(document, format, is_shared),
    ..AGENT_FILES
};

/// The same for a host that repairs frontmatter by quotes alone.
const QUOTED_FILES: FileKind<Parsed> = FileKind {
    parse: |format, _, bytes, _| {
        let found = formats::read_quoted(bytes, format).into_iter();
        found.map(|found| (found.member, found.parsed)).collect()
    },
    ..AGENT_FILES
};

/// Every agent, and how its file is read again.
#[derive(Debug)]
pub struct AgentLibrary {
    /// What was found.
    pub agents: Agents,
    planned: Vec<PlannedRoot>,
    /// What overrides agents, weakest first.
    pub(crate) layers: Vec<Layer>,
}

impl AgentLibrary {
    /// Looks everywhere, or in exactly these folders as trusted user roots.
    pub fn load(environment: &Environment, folders: &[PathBuf]) -> Self {
        Self::load_scope(environment, folders, Scope::Both)
    }

    /// The same with the agents and settings of one scope alone.
    pub fn load_scope(environment: &Environment, folders: &[PathBuf], scope: Scope) -> Self {
        let Searched {
            found,
            settings,
            project,
        } = Bounds::search(Kind::Agents, &AGENT_FILES, environment, folders, scope);
        let InRoots {
            planned,
            candidates,
            mut diagnostics,
            ..
        } = without_declared(found);
        let LoadedOverrides {
            mut layers,
            diagnostics: said,
        } = agent_overrides::load(
            environment,
            &settings,
            project.as_ref().filter(|_| scope.has_project()),
        );
        layers.retain(|layer| scope.has_settings(layer.overrides.scope));
        // Whoever looked for packages may have said already that a settings file cannot be read.
        let is_known = |finding: &Diagnostic| {
            let mut known = diagnostics.iter();
            finding.code == Code::SettingsUnreadable
                && known.any(|it| it.code == Code::PackageSettings && it.file == finding.file)
        };
        let new: Vec<Diagnostic> = said.into_iter().filter(|it| !is_known(it)).collect();
        diagnostics.extend(new);
        let roots = planned.iter().map(|planned| planned.root.clone()).collect();
        let mut agents = resolve_with(roots, candidates, &layers, diagnostics);
        if project.is_some() {
            let unknown = agents.unknown_overrides(&layers);
            agents.diagnostics.extend(unknown);
        }
        let untrusted = AGENT_FILES.untrusted(&agents.agents);
        agents.diagnostics.extend(untrusted);
        Self {
            agents,
            planned,
            layers,
        }
    }

    /// Looks where another host looks and says what it would have; nothing where its rules are not known.
    pub fn of_host(environment: &Environment, name: &str) -> Option<Self> {
        let host = hosts::by_name(name)?;
        let rules = AgentRules::by_name(name)?;
        let project = Project::find(environment);
        let store = trusting::store(environment);
        let loaded = LoadedSettings::load(environment, None, &store);
        let bounds = Bounds {
            max_bytes: loaded.settings.limits.file_bytes.value,
            max_depth: HOST_DEPTH,
        };
        let plan = agent_formats::of_host(environment, host, &rules, &project);
        // A host that looks in the shared folder has no root of its own in it.
        let is_shared = |planned: &PlannedRoot| planned.root.path.ends_with(planning::SHARED);
        let files = match rules.frontmatter {
            FrontmatterReading::Quoting => &QUOTED_FILES,
            FrontmatterReading::Grove if rules.without_frontmatter => &BARE_FILES,
            FrontmatterReading::Grove => &AGENT_FILES,
        };
        let searched = without_declared(bounds.search_in(files, plan, Vec::new(), is_shared));
        let planned = searched.planned;
        let roots = planned.iter().map(|planned| planned.root.clone()).collect();
        let agents = resolve_for(&rules, roots, searched.candidates, searched.diagnostics);
        Some(Self {
            agents,
            planned,
            layers: Vec::new(),
        })
    }

    /// How an agent's file is written.
    pub fn format(&self, agent: &Agent) -> Format {
        let label = self.agents.roots.get(agent.root).map(|root| &root.label);
        let mut planned = self.planned.iter();
        let planned = planned.find(|known| Some(&known.root.label) == label);
        planned.map_or(Format::Native, |planned| planned.format)
    }

    /// The folder of the package that an agent came with.
    pub(crate) fn package_of(&self, agent: &Agent) -> Option<&Path> {
        let root = self.agents.roots.get(agent.root)?;
        let planned = self.planned.iter().find(|known| known.root == *root)?;
        planned.package_folder()
    }

    /// The text of an agent's file if it is still the one that was judged.
    ///
    /// Read beneath the root as the walk does: a path that leads elsewhere by now must not be quoted.
    pub fn source(&self, agent: &Agent) -> Option<String> {
        self.located().source(agent)
    }

    pub(crate) fn located(&self) -> Located<'_> {
        Located {
            roots: &self.agents.roots,
            planned: &self.planned,
        }
    }
}

/// Leaves out files without a name that settings declare: the settings say what such a role is called.
fn without_declared(found: InRoots<Parsed>) -> InRoots<Parsed> {
    let InRoots {
        planned,
        mut candidates,
        named,
        diagnostics,
    } = found;
    let is_declared = |candidate: &Candidate<Parsed>| {
        let content = candidate.content.as_ref();
        let is_nameless = content.is_ok_and(|content| content.parsed.agent.name.is_none());
        let root = planned.get(candidate.root);
        let file = root.map(|planned| planned.root.path.join(&candidate.path));
        let is_codex = root.is_some_and(|planned| planned.format == Format::Codex);
        is_codex
            && candidate.member.is_none()
            && is_nameless
            && file.is_some_and(|it| named.contains(&it))
    };
    if !named.is_empty() {
        candidates.retain(|candidate| !is_declared(candidate));
    }
    InRoots {
        planned,
        candidates,
        named,
        diagnostics,
    }
}

/// Whether a document can be read as an agent, or fails as one. A note beside agents is no agent, and in the
/// folder that all hosts share other things than agents have frontmatter too.
fn is_agent(document: &Document<FileContent<Parsed>>, format: Format, is_shared: bool) -> bool {
    let parsed = match &document.content {
        Ok(content) => match content.found.as_slice() {
            [(_, parsed)] if format.is_markdown() => parsed,
            _ => return true,
        },
        Err(_) => return !is_shared,
    };
    if is_shared {
        return parsed.agent.name.is_some() && parsed.agent.description.is_some();
    }
    // Bytes that are no text have no frontmatter and are no note either.
    let is_text = |finding: &Diagnostic| finding.code != Code::NotUtf8;
    let is_note = !parsed.has_frontmatter() && parsed.diagnostics.iter().all(is_text);
    !is_note || document.path.ends_with(".agent.md")
}

/// What is said of a document in a folder for agents that is none. What lies in the folder that all hosts share
/// may be anything.
fn no_agent(document: &Document<FileContent<Parsed>>, is_shared: bool) -> Option<Diagnostic> {
    let content = document.content.as_ref().ok().filter(|_| !is_shared)?;
    let mut findings = content.found.iter().flat_map(|(_, it)| &it.diagnostics);
    let refusal = findings.next()?;
    if refusal.code == Code::FrontmatterMissing {
        let message = "no frontmatter: taken for a note, not an agent";
        return Some(Diagnostic::new(Code::AgentNote, message));
    }
    let message = format!("{}, so the file is no agent", refusal.message);
    let finding = refusal.clone().with_severity(Severity::Warning);
    Some(Diagnostic { message, ..finding })
}

/// What is said of an agent that its file gives no name.
fn unnamed(parsed: &Parsed, file_name: &str) -> Option<Diagnostic> {
    let is_unnamed = parsed.is_valid() && parsed.agent.name.is_none();
    is_unnamed.then(|| {
        let stem = naming::stem(file_name);
        let message = format!("no name; the file's name `{stem}` is used");
        let help = format!("add `name: {stem}`");
        Diagnostic::new(Code::NameMissing, message).with_help(help)
    })
}
