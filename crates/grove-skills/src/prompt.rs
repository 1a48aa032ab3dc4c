//! An agent's prompt from real files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::Digest;
use grove_catalog::agents::Agent;
use grove_catalog::catalog::{self, Budget, Style};
use grove_catalog::prompt::{self, Base, Instructions, Own, Prompt, Read};
use grove_catalog::snapshot::Snapshot;
use grove_spec::agent::overrides::Field;
use grove_spec::agent::{PromptMode, SkillInjection};
use grove_spec::config::Settings;
use grove_spec::{Code, Diagnostic, Severity};

use crate::agents::AgentLibrary;
use crate::catalog_files;
use crate::instructions;
use crate::library::Library;
use crate::skill_path::SkillPath;

/// How often files are looked at again when one changes between looking and reading.
const ATTEMPTS: usize = 3;

/// Why there is no prompt.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A file is not the one that was looked at.
    #[error("{} changed while it was read", .0.display())]
    Unsteady(PathBuf),
    /// The catalog that the agent inherits leads to files that could not be written.
    #[error(transparent)]
    Files(#[from] grove_fs::FsError),
}

/// How a prompt is wanted.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// Characters that the skills may take; none means what the settings say.
    pub budget: Option<usize>,
    /// The prompt of whoever runs the agent.
    pub base: Option<Base>,
    /// The agent as it was asked for; none means by its name.
    pub asked: Option<String>,
}

/// A prompt with the skills it was made of.
#[derive(Debug)]
pub struct Told {
    /// The prompt.
    pub prompt: Prompt,
    /// The skills.
    pub snapshot: Arc<Snapshot>,
}

/// What an agent says itself, or what settings say in its place.
pub(crate) fn own_of<'a>(agent: &'a Agent, location: &'a Path, source: &'a str) -> Option<Own<'a>> {
    let content = agent.content.as_ref()?;
    let mut overridden = agent.overridden.iter();
    let skills = overridden.find(|set| set.field == Field::Skills);
    let own = Own {
        name: &agent.name,
        agent: &content.parsed.agent,
        file: content.rest.as_ref().map_or(location, |rest| &rest.path),
        digest: content
            .rest
            .as_ref()
            .map_or(content.digest, |rest| rest.digest),
        body: content.parsed.body(source)?,
        named_in: skills.map_or(location, |set| &set.origin.file),
    };
    Some(match &agent.own_text {
        Some(other) => Own {
            file: &other.file,
            digest: other.digest,
            body: &other.text,
            ..own
        },
        None => own,
    })
}

/// Puts an agent's prompt together from the skills of a library.
pub fn prompt(
    library: &mut Library,
    agents: &AgentLibrary,
    agent: &Agent,
    wishes: &Wishes,
) -> Result<Told, PromptError> {
    let location = agents.agents.location(agent);
    let unsteady = || PromptError::Unsteady(location.clone());
    let source = agents.source(agent).ok_or_else(unsteady)?;
    let own = own_of(agent, &location, &source).ok_or_else(unsteady)?;
    let path = SkillPath::of(
        library.environment(),
        agents.agents.roots.get(agent.root),
        &location,
        &own.agent.skill_path,
    );
    let package = agents.package_of(agent);
    let mut widened = path.library(library);
    let library = widened.as_mut().unwrap_or(library);
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match told(library, &own, &path, package, wishes) {
            Err(error @ PromptError::Unsteady(_)) => last = Some(error),
            done => {
                return done.map(|mut told| {
                    // What is wrong with its file or its overrides is a warning about its prompt too.
                    let of_settings = agents.agents.concerning(agent);
                    let own = agent.diagnostics.iter().chain(of_settings);
                    let own = own.filter(|finding| finding.severity != Severity::Info);
                    let others = stood_in_for(agents, agent, wishes);
                    let said = others.into_iter().chain(own.cloned());
                    told.prompt.warnings.splice(0..0, said);
                    told
                });
            }
        }
    }
    Err(last.unwrap_or_else(unsteady))
}

/// What is said of those of its name that go before an agent and cannot be used.
fn stood_in_for(agents: &AgentLibrary, agent: &Agent, wishes: &Wishes) -> Vec<Diagnostic> {
    let mut all = agents.agents.agents.iter();
    let at = all.position(|known| (known.root, known.id()) == (agent.root, agent.id()));
    let asked = wishes.asked.as_deref().unwrap_or(&agent.name);
    at.map_or_else(Vec::new, |at| {
        agents.agents.entries().stand_in_findings(at, asked)
    })
}

/// One attempt.
fn told(
    library: &mut Library,
    own: &Own<'_>,
    path: &SkillPath,
    package: Option<&Path>,
    wishes: &Wishes,
) -> Result<Told, PromptError> {
    let snapshot = library.load();
    let settings = library.last_settings().cloned().unwrap_or_default();
    let mut first = path.folders.clone();
    first.extend(
        package
            .into_iter()
            .flat_map(|folder| library.roots_of_package(folder)),
    );
    let mut chosen = prompt::choose_near(&snapshot, &own.agent.skills, &first);
    chosen.warnings.extend(path.findings.iter().cloned());
    let read = match own.agent.skill_injection {
        SkillInjection::Full => read(library, &snapshot, &chosen.skills)?,
        SkillInjection::Light => Vec::new(),
    };
    let budget = wishes
        .budget
        .unwrap_or(number(settings.limits.preload_chars.value));
    let mut made = prompt::assemble(&snapshot, own, &chosen, &read, budget);
    let instructions = project_instructions(library, &settings, own, wishes, &mut made);
    if own.agent.inherit_skills {
        inherit_catalog(library, &settings, &snapshot, &mut made)?;
    }
    made.put_base(own, wishes.base.as_ref(), &instructions);
    Ok(Told {
        prompt: made,
        snapshot,
    })
}

fn number(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// Reads the files of skills as the snapshot judged them.
pub(crate) fn read(
    library: &Library,
    snapshot: &Snapshot,
    skills: &[usize],
) -> Result<Vec<Read>, PromptError> {
    let one = |at: usize| {
        let skill = snapshot.skills.get(at)?;
        let bytes = library.source(snapshot, skill)?;
        let digest = Digest::of(&bytes);
        let text = String::from_utf8(bytes).ok()?;
        let body = text.get(skill.content.parsed().body_offset..)?.to_owned();
        Some(Read {
            skill: at,
            body,
            digest,
        })
    };
    let unsteady = |at: usize| {
        let skill = snapshot.skills.get(at);
        PromptError::Unsteady(
            skill.map_or_else(PathBuf::new, |skill| snapshot.location(&skill.place)),
        )
    };
    let skills = skills.iter().copied();
    skills
        .map(|at| one(at).ok_or_else(|| unsteady(at)))
        .collect()
}

/// Adds the project's instructions if the agent inherits them, and gives them back for whoever compares.
fn project_instructions(
    library: &Library,
    settings: &Settings,
    own: &Own<'_>,
    wishes: &Wishes,
    made: &mut Prompt,
) -> Vec<Instructions> {
    let inherited = own.agent.inherit_project_context;
    let is_cut_out = own.agent.system_prompt_mode == PromptMode::Append && wishes.base.is_some();
    if !inherited && !is_cut_out {
        return Vec::new();
    }
    let limits = &settings.limits;
    let found = instructions::find(library.environment(), limits.file_bytes.value);
    if inherited {
        made.warnings.extend(found.findings);
        made.add_instructions(&found.files, number(limits.instruction_chars.value));
    }
    found.files
}

/// Adds the catalog without the skills that the agent was given by name.
fn inherit_catalog(
    library: &Library,
    settings: &Settings,
    snapshot: &Snapshot,
    made: &mut Prompt,
) -> Result<(), PromptError> {
    let environment = library.environment();
    let Some(index_dir) = catalog_files::index_dir(environment) else {
        let message = "the catalog was left out: there is no cache folder for its index files";
        made.warnings
            .push(Diagnostic::new(Code::PromptPartial, message));
        return Ok(());
    };
    let budget = Budget::chars(
        number(settings.limits.prompt_chars.value),
        number(settings.limits.prompt_skills.value),
    );
    let usage = std::collections::BTreeMap::new();
    let exclude = [made.active.as_slice(), &made.listed].concat();
    let told = catalog::catalog(
        snapshot,
        &catalog::Request {
            style: Style::Xml,
            budget,
            home: environment.home.as_deref(),
            index_dir: &index_dir,
            pinned: &settings.pinned.value,
            usage: &usage,
            expanded: &[],
            exclude: &exclude,
        },
    );
    catalog_files::write_index(&index_dir, &told.index)?;
    made.add_catalog(&told.text);
    Ok(())
}
