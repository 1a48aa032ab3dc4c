//! Agents on disk: where they are looked for, what is in their files, and which of them are used.

use std::path::{Path, PathBuf};

use grove_catalog::Digest;
use grove_catalog::agents::{Agent, Agents, Candidate, Content, resolve_for};
use grove_catalog::hosts::{self, AgentRules};
use grove_catalog::state::State;
use grove_fs::document_walk::{self, Document, DocumentOptions, Documents};
use grove_fs::probe_walk::{self, LimitsHit, Links, Trouble};
use grove_spec::agent::formats::{self, Found};
use grove_spec::agent::{Format, naming};
use grove_spec::skill::kept::too_large;
use grove_spec::text::{counted, first_names};
use grove_spec::{Code, Diagnostic};

use crate::environment::Environment;
use crate::loading::unopened;
use crate::planning::{self, Plan, PlannedRoot, agent_roots};
use crate::project::Project;
use crate::settings::LoadedSettings;
use crate::{troubles, trusting};

/// Agent files that are read in one root.
const MAX_FILES: usize = 2_000;
/// Folders that are opened in one root.
const MAX_FOLDERS: usize = 2_000;
/// Entries of one folder that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// Folder levels in which a host's own folders are looked through.
const HOST_DEPTH: usize = 64;

/// The folder for agents in the one that hosts share.
const SHARED_INNER: &str = "agents";
/// Folders that hold something else.
const NEVER: [&str; 2] = ["node_modules", "skills"];
/// What makes a folder a skill or a project of its own.
const FOREIGN: [&str; 5] = ["SKILL.md", ".git", ".grove", ".pi", ".agents"];

/// Every agent, and how its file is read again.
#[derive(Debug)]
pub struct AgentLibrary {
    /// What was found.
    pub agents: Agents,
    planned: Vec<PlannedRoot>,
}

impl AgentLibrary {
    /// Looks everywhere, or in exactly these folders as trusted user roots.
    pub fn load(environment: &Environment, folders: &[PathBuf]) -> Self {
        let store = trusting::store(environment);
        let (plan, loaded) = if folders.is_empty() {
            let project = Project::find(environment);
            let loaded = LoadedSettings::load(environment, Some(&project), &store);
            let plan = agent_roots::own(environment, &loaded.settings, &project, &store);
            (plan, loaded)
        } else {
            let loaded = LoadedSettings::load(environment, None, &store);
            (planning::exactly(folders), loaded)
        };
        let limits = &loaded.settings.limits;
        let bounds = Bounds {
            max_bytes: limits.file_bytes.value,
            max_depth: usize::try_from(limits.group_depth.value).unwrap_or(usize::MAX),
        };
        let mut diagnostics = loaded.diagnostics;
        Self::look(plan, None, &bounds, &mut diagnostics)
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
        let plan = agent_roots::of_host(environment, host, &rules, &project);
        Some(Self::look(plan, Some(&rules), &bounds, &mut Vec::new()))
    }

    fn look(
        plan: Plan,
        host: Option<&AgentRules>,
        bounds: &Bounds,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        diagnostics.extend(plan.diagnostics);
        let all = plan.roots;
        let planned: Vec<PlannedRoot> = all.iter().filter(|root| root.exists).cloned().collect();
        let mut candidates = Vec::new();
        for (root, planned) in planned.iter().enumerate() {
            let sharing = match host {
                // A host that looks in the shared folder has no root of its own in it.
                Some(_) if planned.root.path.ends_with(agent_roots::SHARED) => Sharing::Shared,
                Some(_) => Sharing::None,
                None => sharing(planned, &all),
            };
            candidates.extend(load_root(root, planned, sharing, bounds, diagnostics));
        }
        let roots = planned.iter().map(|planned| planned.root.clone()).collect();
        let mut agents = resolve_for(host, roots, candidates, std::mem::take(diagnostics));
        let untrusted = agents
            .agents
            .iter()
            .filter(|agent| agent.state == State::Untrusted);
        let untrusted = untrusted.count();
        if untrusted > 0 {
            let verb = if untrusted == 1 { "is" } else { "are" };
            let message = format!(
                "{} of this project {verb} not used because the project is not trusted",
                counted(untrusted, "agent")
            );
            agents
                .diagnostics
                .push(Diagnostic::new(Code::ProjectUntrusted, message));
        }
        Self { agents, planned }
    }

    /// How an agent's file is written.
    pub fn format(&self, agent: &Agent) -> Format {
        let label = self.agents.roots.get(agent.root).map(|root| &root.label);
        let mut planned = self.planned.iter();
        let planned = planned.find(|known| Some(&known.root.label) == label);
        planned.map_or(Format::Native, |planned| planned.format)
    }

    /// The text of an agent's file if it is still the one that was judged.
    ///
    /// Read beneath the root as the walk does: a path that leads elsewhere by now must not be quoted.
    pub fn source(&self, agent: &Agent) -> Option<String> {
        let content = agent.content.as_ref()?;
        let label = &self.agents.roots.get(agent.root)?.label;
        let mut planned = self.planned.iter();
        let planned = planned.find(|known| known.root.label == *label)?;
        let read = probe_walk::read_below(
            &planned.folder(),
            planned.links(),
            &agent.path,
            content.size,
        );
        let bytes = read.ok()?;
        (Digest::of(&bytes) == content.digest)
            .then(|| String::from_utf8(bytes).ok())
            .flatten()
    }
}

/// How much of a root is read.
pub(crate) struct Bounds {
    pub(crate) max_bytes: u64,
    pub(crate) max_depth: usize,
}

/// What else than agents is in a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Nothing: every file with frontmatter means to be an agent.
    None,
    /// It is the folder that hosts share, in which only some files are agents.
    Shared,
    /// The same, and the folder for agents in it is a root of its own.
    SharedApart,
}

/// What else is in one of Grove's own roots.
pub(crate) fn sharing(planned: &PlannedRoot, all: &[PlannedRoot]) -> Sharing {
    let inner = planned.root.path.join(SHARED_INNER);
    if planned.file.is_none() && all.iter().any(|other| other.root.path == inner) {
        Sharing::SharedApart
    } else {
        Sharing::None
    }
}

/// The agents of one root, for whoever remembers what was seen: path below the root, and digest.
pub(crate) fn digests(
    planned: &PlannedRoot,
    sharing: Sharing,
    bounds: &Bounds,
) -> Vec<(String, Digest)> {
    let found = load_root(0, planned, sharing, bounds, &mut Vec::new());
    found
        .into_iter()
        .filter_map(|candidate| Some((candidate.path, candidate.content.ok()?.digest)))
        .collect()
}

/// What a file holds.
struct FileContent {
    digest: Digest,
    size: u64,
    found: Vec<Found>,
}

impl FileContent {
    fn read(bytes: &[u8], format: Format) -> Self {
        Self {
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
            found: formats::read(bytes, format),
        }
    }
}

fn load_root(
    root: usize,
    planned: &PlannedRoot,
    sharing: Sharing,
    bounds: &Bounds,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Candidate> {
    if let Some(file) = &planned.file {
        let document = settings_file(planned, file, bounds);
        return candidates(root, document, planned.links(), bounds.max_bytes);
    }
    let path = &planned.root.path;
    let options = DocumentOptions {
        links: planned.links(),
        wanted: if planned.format == Format::Codex {
            |name| Format::Codex.takes(name)
        } else {
            naming::is_agent_file
        },
        never: &NEVER,
        foreign: &FOREIGN,
        not_in: if sharing == Sharing::SharedApart {
            &[SHARED_INNER]
        } else {
            &[]
        },
        max_depth: bounds.max_depth,
        max_folders: MAX_FOLDERS,
        max_entries: MAX_ENTRIES,
        max_files: MAX_FILES,
        max_bytes: bounds.max_bytes,
    };
    let read = |_: &str, bytes: &[u8]| FileContent::read(bytes, planned.format);
    let walk = match document_walk::walk(&planned.folder(), &options, read) {
        Ok(walk) => walk,
        Err(error) => {
            diagnostics.push(unopened(&error, options.links));
            return Vec::new();
        }
    };
    let Documents {
        found,
        problems,
        limits,
    } = walk;
    diagnostics.extend(
        problems
            .iter()
            .map(|problem| troubles::problem(path, problem)),
    );
    diagnostics.extend(limits_said(path, &limits, &options));
    found
        .into_iter()
        .filter(|document| is_agent(document, planned.format, sharing != Sharing::None))
        .flat_map(|document| candidates(root, document, options.links, bounds.max_bytes))
        .collect()
}

/// Somebody's settings, which are read as a walk would read them.
fn settings_file(planned: &PlannedRoot, file: &str, bounds: &Bounds) -> Document<FileContent> {
    let read = probe_walk::read_below(&planned.folder(), planned.links(), file, bounds.max_bytes);
    let content = read.map(|bytes| FileContent::read(&bytes, planned.format));
    Document {
        path: file.to_owned(),
        id: None,
        links: 1,
        content: content.map_err(|error| Trouble::Error(error.source.to_string())),
    }
}

/// Whether a document means to be an agent. A note beside agents is nobody's business, and in the folder that
/// all hosts share other things than agents have frontmatter too.
fn is_agent(document: &Document<FileContent>, format: Format, is_shared: bool) -> bool {
    let parsed = match &document.content {
        Ok(content) => match content.found.as_slice() {
            [one] if format.is_markdown() => &one.parsed,
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

/// The agents of a document.
fn candidates(
    root: usize,
    document: Document<FileContent>,
    links: Links,
    max_bytes: u64,
) -> Vec<Candidate> {
    let mut diagnostics = Vec::new();
    if links == Links::Contain && document.links > 1 {
        let message = format!("the file has {} hard links", document.links);
        diagnostics.push(Diagnostic::new(Code::HardLink, message));
    }
    let file_name = document.path.rsplit('/').next().unwrap_or_default();
    let candidate = |member: Option<String>, content: Result<Content, Diagnostic>| Candidate {
        root,
        path: document.path.clone(),
        member,
        file: document.id.map(|id| (id.device, id.inode)),
        content,
        diagnostics: diagnostics.clone(),
    };
    let content = match document.content {
        Ok(content) => content,
        Err(trouble) => {
            let finding = match trouble {
                Trouble::TooLarge { size } => too_large(size, max_bytes),
                other => troubles::describe(file_name, &other),
            };
            return vec![candidate(None, Err(finding))];
        }
    };
    let one = |found: Found| {
        let is_unnamed = found.parsed.is_valid() && found.parsed.agent.name.is_none();
        let content = Content {
            digest: content.digest,
            size: content.size,
            parsed: found.parsed,
        };
        let mut candidate = candidate(found.member, Ok(content));
        if is_unnamed {
            let stem = naming::stem(file_name);
            let message = format!("no name; the file's name `{stem}` is used");
            let finding = Diagnostic::new(Code::NameMissing, message);
            candidate.diagnostics.push(finding);
        }
        candidate
    };
    content.found.into_iter().map(one).collect()
}

fn limits_said(root: &Path, hit: &LimitsHit, options: &DocumentOptions<'_>) -> Vec<Diagnostic> {
    let beyond = [
        (
            Code::CandidateLimit,
            &hit.candidates,
            format!("more than {} agent files; not read", options.max_files),
        ),
        (
            Code::DepthLimit,
            &hit.depth,
            format!("folders below {} levels were not walked", options.max_depth),
        ),
        (
            Code::FolderLimit,
            &hit.folders,
            format!("more than {} folders; not opened", options.max_folders),
        ),
        (
            Code::EntryLimit,
            &hit.entries,
            format!("more than {} entries in a folder", options.max_entries),
        ),
    ];
    beyond
        .into_iter()
        .filter(|(_, names, _)| !names.is_empty())
        .map(|(code, names, message)| {
            let message = format!("{message}: {}", first_names(names));
            Diagnostic::new(code, message)
                .in_file(root)
                .with_names(names.clone())
        })
        .collect()
}
