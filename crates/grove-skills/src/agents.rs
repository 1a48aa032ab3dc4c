//! Agents on disk: where they are looked for, what is in their files, and which of them are used.

use std::path::{Path, PathBuf};

use grove_catalog::agents::{Agent, Agents, Candidate, Content, resolve_with};
use grove_catalog::overrides::Layer;
use grove_catalog::state::State;
use grove_catalog::{Digest, Source};
use grove_fs::document_walk::{self, Document, DocumentOptions, Documents};
use grove_fs::probe_walk::{self, LimitsHit, Links, Trouble};
use grove_spec::agent::{self, naming};
use grove_spec::config::LayerScope;
use grove_spec::skill::kept::too_large;
use grove_spec::text::{counted, first_names};
use grove_spec::{Code, Diagnostic};

use crate::environment::Environment;
use crate::loading::unopened;
use crate::planning::{self, Plan, PlannedRoot, agent_roots};
use crate::project::Project;
use crate::settings::LoadedSettings;
use crate::{agent_overrides, troubles, trusting};

/// Agent files that are read in one root.
const MAX_FILES: usize = 2_000;
/// Folders that are opened in one root.
const MAX_FOLDERS: usize = 2_000;
/// Entries of one folder that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// The folder for agents in the one that hosts share.
const SHARED_INNER: &str = "agents";
/// Folders that hold something else.
const NEVER: [&str; 2] = ["node_modules", "skills"];
/// What makes a folder a skill or a project of its own.
const FOREIGN: [&str; 5] = ["SKILL.md", ".git", ".grove", ".pi", ".agents"];

/// Whose agents are looked for. Those of Grove and of packages always are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// The user's, and the further folders.
    User,
    /// The project's.
    Project,
    /// Both.
    #[default]
    Both,
}

impl Scope {
    fn has(self, source: Source) -> bool {
        match source {
            Source::Bundled | Source::Package => true,
            Source::Project => self != Self::User,
            Source::User | Source::Managed | Source::Extra => self != Self::Project,
        }
    }

    fn has_settings(self, scope: LayerScope) -> bool {
        match scope {
            LayerScope::User => self != Self::Project,
            LayerScope::Project => self != Self::User,
        }
    }
}

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
        let store = trusting::store(environment);
        let project = folders.is_empty().then(|| Project::find(environment));
        let loaded = LoadedSettings::load(environment, project.as_ref(), &store);
        let mut plan = match &project {
            Some(project) => agent_roots::own(environment, &loaded.settings, project, &store),
            None => planning::exactly(folders),
        };
        if project.is_some() {
            plan.roots.retain(|planned| scope.has(planned.root.source));
        }
        let mut overrides = agent_overrides::load(environment, &loaded, project.as_ref(), &store);
        let layers = &mut overrides.layers;
        layers.retain(|layer| scope.has_settings(layer.overrides.scope));
        let limits = &loaded.settings.limits;
        let bounds = Bounds {
            max_bytes: limits.file_bytes.value,
            max_depth: usize::try_from(limits.group_depth.value).unwrap_or(usize::MAX),
        };
        let mut diagnostics = loaded.diagnostics;
        diagnostics.extend(overrides.diagnostics);
        let mut library = Self::look(plan, &bounds, overrides.layers, &mut diagnostics);
        if project.is_some() {
            let unknown = library.agents.unknown_overrides(&library.layers);
            library.agents.diagnostics.extend(unknown);
        }
        library
    }

    fn look(
        plan: Plan,
        bounds: &Bounds,
        layers: Vec<Layer>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        diagnostics.extend(plan.diagnostics);
        let all = plan.roots;
        let planned: Vec<PlannedRoot> = all.iter().filter(|root| root.exists).cloned().collect();
        let mut candidates = Vec::new();
        for (root, planned) in planned.iter().enumerate() {
            let is_shared = is_shared(planned, &all);
            candidates.extend(load_root(root, planned, is_shared, bounds, diagnostics));
        }
        let roots = planned.iter().map(|planned| planned.root.clone()).collect();
        let mut agents = resolve_with(roots, candidates, &layers, std::mem::take(diagnostics));
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
        Self {
            agents,
            planned,
            layers,
        }
    }

    /// The text of an agent's file if it is still the one that was judged.
    ///
    /// Read beneath the root as the walk does: a path that leads elsewhere by now must not be quoted.
    pub fn source(&self, agent: &Agent) -> Option<String> {
        let content = agent.content.as_ref()?;
        let root = &self.agents.roots.get(agent.root)?.path;
        let planned = self.planned.iter().find(|known| known.root.path == *root)?;
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

/// Whether a root is the folder that hosts share, in which only some files are agents: then the folder for
/// agents in it is a root of its own.
pub(crate) fn is_shared(planned: &PlannedRoot, all: &[PlannedRoot]) -> bool {
    let inner = planned.root.path.join(SHARED_INNER);
    all.iter().any(|other| other.root.path == inner)
}

/// The agents of one root, for whoever remembers what was seen: path below the root, and digest.
pub(crate) fn digests(
    planned: &PlannedRoot,
    is_shared: bool,
    bounds: &Bounds,
) -> Vec<(String, Digest)> {
    let found = load_root(0, planned, is_shared, bounds, &mut Vec::new());
    found
        .into_iter()
        .filter_map(|candidate| Some((candidate.path, candidate.content.ok()?.digest)))
        .collect()
}

fn load_root(
    root: usize,
    planned: &PlannedRoot,
    is_shared: bool,
    bounds: &Bounds,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Candidate> {
    let path = &planned.root.path;
    let options = DocumentOptions {
        links: planned.links(),
        wanted: naming::is_agent_file,
        never: &NEVER,
        foreign: &FOREIGN,
        not_in: if is_shared { &[SHARED_INNER] } else { &[] },
        max_depth: bounds.max_depth,
        max_folders: MAX_FOLDERS,
        max_entries: MAX_ENTRIES,
        max_files: MAX_FILES,
        max_bytes: bounds.max_bytes,
    };
    let read = |_: &str, bytes: &[u8]| Content {
        digest: Digest::of(bytes),
        size: bytes.len() as u64,
        parsed: agent::parse_bytes(bytes),
    };
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
        .filter(|document| is_agent(document, is_shared))
        .map(|document| candidate(root, document, options.links, bounds.max_bytes))
        .collect()
}

/// Whether a document means to be an agent. A note beside agents is nobody's business, and in the folder that
/// all hosts share other things than agents have frontmatter too.
fn is_agent(document: &Document<Content>, is_shared: bool) -> bool {
    match &document.content {
        Ok(content) if is_shared => {
            let agent = &content.parsed.agent;
            agent.name.is_some() && agent.description.is_some()
        }
        Ok(content) => {
            // Bytes that are no text have no frontmatter and are no note either.
            let is_note = !content.parsed.has_frontmatter()
                && !content
                    .parsed
                    .diagnostics
                    .iter()
                    .any(|finding| finding.code == Code::NotUtf8);
            !is_note || document.path.ends_with(".agent.md")
        }
        Err(_) => !is_shared,
    }
}

fn candidate(root: usize, document: Document<Content>, links: Links, max_bytes: u64) -> Candidate {
    let mut diagnostics = Vec::new();
    if links == Links::Contain && document.links > 1 {
        let message = format!("the file has {} hard links", document.links);
        diagnostics.push(Diagnostic::new(Code::HardLink, message));
    }
    let file_name = document
        .path
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_owned();
    let content = document.content.map_err(|trouble| match trouble {
        Trouble::TooLarge { size } => too_large(size, max_bytes),
        other => troubles::describe(&file_name, &other),
    });
    if let Ok(content) = &content
        && content.parsed.is_valid()
        && content.parsed.agent.name.is_none()
    {
        let stem = naming::stem(&file_name);
        let message = format!("no name; the file's name `{stem}` is used");
        diagnostics.push(Diagnostic::new(Code::NameMissing, message));
    }
    Candidate {
        root,
        path: document.path,
        file: document.id.map(|id| (id.device, id.inode)),
        content,
        diagnostics,
    }
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
