//! An agent's prompt, from a snapshot and the files behind it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use grove_catalog::Digest;
use grove_catalog::agents::{Agent, Agents};
use grove_catalog::catalog::{
    self, CatalogBudget, CatalogStyle, IndexFile, LocationAlias, TaskOrder,
};
use grove_catalog::prompt::{
    self, BasePrompt, InstructionFile, Prompt, PromptAgent, PromptPartKind, PromptSkill,
};
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_fs::FsError;
use grove_spec::agent::{AgentFormat, PromptMode, SkillInjection};
use grove_spec::config::{CatalogOrder, Settings};
use grove_spec::{Code, Diagnostic, Severity};

use crate::catalog_files;
use crate::instructions;
use crate::library::{Discovery, StaleRead};
use crate::search::SearchedSkills;
use crate::sources::{SkillFiles, Sources};
use crate::world::World;

/// The reasons for having no prompt.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A file is not the one that was looked at.
    #[error("{} changed while it was read", .0.display())]
    FileChanged(PathBuf),
}

impl StaleRead for PromptError {
    fn is_stale(&self) -> bool {
        matches!(self, Self::FileChanged(_))
    }
}

/// The options for a prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptOptions {
    /// Characters that the skills may take; none means what the settings say.
    pub budget: Option<usize>,
    /// The prompt of the program that runs the agent.
    pub base: Option<BasePrompt>,
    /// The agent as it was asked for; none means by its name.
    pub asked: Option<String>,
    /// Skills in place of those that the agent names.
    pub skills: Option<Vec<String>>,
    /// The tasks of the children that share the prompt, which decide the order of the catalog that it inherits.
    pub tasks: Vec<String>,
}

/// A prompt, and the files that it leads to.
#[derive(Debug)]
pub struct AgentPrompt {
    /// The prompt of the agent.
    pub prompt: Prompt,
    /// Folders and files of the skills that the prompt tells of, and nothing else.
    pub skill_folders: Vec<PathBuf>,
    /// The short beginnings of locations in the inherited catalog, with what they stand for.
    pub location_aliases: Vec<LocationAlias>,
    index: Vec<IndexFile>,
    index_dir: PathBuf,
}

impl AgentPrompt {
    /// The files that the prompt leads to.
    pub fn index_files(&self) -> impl Iterator<Item = PathBuf> {
        let files = self.index.iter();
        files.map(|file| self.index_dir.join(&file.name))
    }

    /// Writes the files that the prompt leads to, if they are not there.
    pub fn write_index(&self) -> Result<(), FsError> {
        catalog_files::write_index(&self.index_dir, &self.index)
    }
}

/// The definition of an agent by its own file, or by settings that replace its text.
pub(crate) fn prompt_agent<'a>(
    agent: &'a Agent,
    format: AgentFormat,
    location: &'a Path,
    source: &'a str,
) -> Option<PromptAgent<'a>> {
    let content = agent.content.as_ref()?;
    let mut overridden = agent.overridden.iter();
    let skills = overridden.find(|set| set.field.as_str() == "skills");
    let own = PromptAgent {
        name: &agent.name,
        agent: &content.parsed.agent,
        format,
        file: content.rest.as_ref().map_or(location, |rest| &rest.path),
        digest: content
            .rest
            .as_ref()
            .map_or(content.digest, |rest| rest.digest),
        body: content.parsed.body(source)?,
        named_in: skills.map_or(location, |set| &set.origin.file),
    };
    Some(match &agent.own_text {
        Some(other) => PromptAgent {
            file: &other.file,
            digest: other.digest,
            body: &other.text,
            ..own
        },
        None => own,
    })
}

/// The skills and agents that were found from one folder.
#[derive(Debug, Clone, Copy)]
pub struct PromptPlace<'a> {
    /// The skills and agents.
    pub snapshot: &'a Snapshot,
    /// The files behind them.
    pub sources: &'a Sources,
}

impl<'a> From<&'a Discovery> for PromptPlace<'a> {
    fn from(discovery: &'a Discovery) -> Self {
        Self {
            snapshot: &discovery.snapshot,
            sources: &discovery.sources,
        }
    }
}

/// Puts an agent's prompt together. Nothing is walked and nothing is written.
pub fn prompt(
    snapshot: &Snapshot,
    sources: &Sources,
    agent: &Agent,
    options: &PromptOptions,
) -> Result<AgentPrompt, PromptError> {
    let place = PromptPlace { snapshot, sources };
    prompt_at(place, agent, options, place)
}

/// The same for an agent of one discovery that works where another was made: the skills and the project's instructions
/// are those of the place.
pub fn prompt_at(
    found: PromptPlace<'_>,
    agent: &Agent,
    options: &PromptOptions,
    place: PromptPlace<'_>,
) -> Result<AgentPrompt, PromptError> {
    let PromptPlace { snapshot, sources } = found;
    let agents = &snapshot.agents;
    let location = agents.location(agent);
    let unsteady = || PromptError::FileChanged(location.clone());
    let source = sources.agents.read(agent).ok_or_else(unsteady)?;
    let format = sources.agents.format_of(agent);
    let own = prompt_agent(agent, format, &location, &source).ok_or_else(unsteady)?;
    let path = sources.skill_path(&location);
    // The folders that an agent brings are known where the agent was found.
    let (skills, files) = match path {
        Some(path) if !place.sources.has_skills_of(path) => {
            sources.skills_with(snapshot, Some(path))
        }
        path => place.sources.skills_with(place.snapshot, path),
    };
    let named = options.skills.as_deref();
    let chosen = choose(skills, files, sources, (agent, named), &location);
    let read = match own.agent.skill_injection {
        SkillInjection::Full => read(files, skills, &chosen.skills)?,
        SkillInjection::Light => Vec::new(),
    };
    let world = place.sources.world();
    let settings = &world.settings.settings;
    let limits = &settings.limits;
    let budget = options.budget.unwrap_or(limits.preload_chars.count());
    let mut made = AgentPrompt {
        prompt: prompt::assemble(skills, &own, &chosen, &read, budget),
        skill_folders: Vec::new(),
        location_aliases: Vec::new(),
        index: Vec::new(),
        index_dir: PathBuf::new(),
    };
    let instructions = project_instructions(world, &own, options, &mut made.prompt);
    if own.agent.inherit_skills {
        let task = has_task_order(settings, options).then(|| {
            let searched = SearchedSkills {
                snapshot: skills,
                files,
                world,
            };
            let (order, findings) = place.sources.order_of(searched, &options.tasks);
            made.prompt.warnings.extend(findings);
            order
        });
        inherit_catalog(world, skills, task.as_ref(), &mut made);
    }
    made.skill_folders = skill_folders(skills, &made);
    made.prompt
        .put_base(&own, options.base.as_ref(), &instructions);
    // A fault of its file or its overrides is a warning about its prompt too.
    let of_agent = agent
        .diagnostics
        .iter()
        .chain(agents.override_findings(agent));
    let of_agent = of_agent.filter(|finding| finding.severity != Severity::Info);
    let others = unusable_namesakes(agents, agent, options).into_iter();
    let said = others.chain(of_agent.cloned());
    made.prompt.warnings.splice(0..0, said);
    Ok(made)
}

/// The skills that an agent names: first those that it brings, then those of its package, then the usual ones.
pub(crate) fn choose(
    skills: &Snapshot,
    files: &SkillFiles,
    sources: &Sources,
    (agent, named): (&Agent, Option<&[String]>),
    location: &Path,
) -> prompt::ChosenSkills {
    let path = sources.skill_path(location);
    let mut first = path.map_or_else(Vec::new, |path| path.folders.clone());
    let package = sources.agents.package_of(agent);
    first.extend(
        package
            .into_iter()
            .flat_map(|it| files.roots_of_package(it)),
    );
    let of_file = agent.file().map_or(&[][..], |file| &file.skills);
    let names = named.unwrap_or(of_file);
    let mut chosen = prompt::choose_near(skills, names, &first);
    let findings = path.into_iter().flat_map(|path| &path.findings);
    chosen.warnings.extend(findings.cloned());
    chosen
}

/// Findings about agents of its name that go before an agent and cannot be used.
fn unusable_namesakes(agents: &Agents, agent: &Agent, options: &PromptOptions) -> Vec<Diagnostic> {
    let mut all = agents.all.iter();
    let at = all.position(|known| (known.root, known.id()) == (agent.root, agent.id()));
    let asked = options.asked.as_deref().unwrap_or(&agent.name);
    at.map_or_else(Vec::new, |at| agents.entries().stand_in_findings(at, asked))
}

pub(crate) fn read(
    files: &SkillFiles,
    snapshot: &Snapshot,
    skills: &[usize],
) -> Result<Vec<PromptSkill>, PromptError> {
    let one = |at: usize| {
        let skill = snapshot.skills.get(at)?;
        let bytes = files.read(skill)?;
        let digest = Digest::of(&bytes);
        let text = String::from_utf8(bytes).ok()?;
        let body = text.get(skill.content.parsed().body_offset..)?.to_owned();
        Some(PromptSkill {
            skill: at,
            body,
            digest,
        })
    };
    let unsteady = |at: usize| {
        let skill = snapshot.skills.get(at);
        PromptError::FileChanged(
            skill.map_or_else(PathBuf::new, |skill| snapshot.location(&skill.place)),
        )
    };
    let skills = skills.iter().copied();
    skills
        .map(|at| one(at).ok_or_else(|| unsteady(at)))
        .collect()
}

/// Adds the project's instructions if the agent inherits them, and gives them back for comparison with the base prompt.
fn project_instructions(
    world: &World,
    own: &PromptAgent<'_>,
    options: &PromptOptions,
    made: &mut Prompt,
) -> Vec<InstructionFile> {
    let inherited = own.agent.inherit_project_context;
    let is_cut_out = own.agent.system_prompt_mode == PromptMode::Append && options.base.is_some();
    if !inherited && !is_cut_out {
        return Vec::new();
    }
    let limits = &world.settings.settings.limits;
    let found = instructions::find(world, limits.file_bytes.value);
    if inherited {
        made.warnings.extend(found.findings);
        made.add_instructions(&found.files, limits.instruction_chars.count());
    }
    found.files
}

/// The folders of the skills that a prompt tells of: those that it has whole or lists, and those of its catalog, which
/// names everything that a model may invoke. A skill that is one file has no folder of its own.
fn skill_folders(skills: &Snapshot, made: &AgentPrompt) -> Vec<PathBuf> {
    let Prompt { active, listed, .. } = &made.prompt;
    let mut blocks = made.prompt.blocks.iter();
    let has_catalog = blocks.any(|block| block.kind == PromptPartKind::Catalog);
    let is_told = |skill: &&Skill| {
        let address = skills.address(skill);
        let is_in_catalog = has_catalog && skill.model_invocable();
        is_in_catalog || active.contains(&address) || listed.contains(&address)
    };
    let told = skills.skills.iter().filter(is_told);
    let folder = |skill: &Skill| {
        let file = skills.location(&skill.place);
        match (file.file_name(), file.parent()) {
            (Some(name), Some(folder)) if name == "SKILL.md" => folder.to_path_buf(),
            _ => file,
        }
    };
    told.map(folder).collect()
}

/// Returns true if the catalog of a prompt is ordered by the tasks.
fn has_task_order(settings: &Settings, options: &PromptOptions) -> bool {
    settings.catalog_order.value == CatalogOrder::Task && !options.tasks.is_empty()
}

/// Adds the catalog without the skills that the agent was given by name.
fn inherit_catalog(
    world: &World,
    skills: &Snapshot,
    task: Option<&TaskOrder>,
    made: &mut AgentPrompt,
) {
    let settings = &world.settings.settings;
    let environment = &world.environment;
    let Some(index_dir) = catalog_files::index_dir(environment) else {
        let message = "the catalog was left out: there is no cache folder for its index files";
        let finding = Diagnostic::new(Code::PromptPartial, message);
        return made.prompt.warnings.push(finding);
    };
    let limits = &settings.limits;
    let budget = CatalogBudget::chars(limits.prompt_chars.count(), limits.prompt_skills.count());
    let exclude = [made.prompt.active.as_slice(), &made.prompt.listed].concat();
    let catalog = catalog::catalog(
        skills,
        &catalog::CatalogRequest {
            style: CatalogStyle::Xml,
            budget,
            home: environment.home.as_deref(),
            index_dir: &index_dir,
            pinned: &settings.pinned.value,
            usage: &BTreeMap::new(),
            expanded: &[],
            exclude: &exclude,
            task,
        },
    );
    made.prompt.add_catalog(&catalog.text);
    made.index = catalog.index;
    made.location_aliases = catalog.location_aliases;
    made.index_dir = index_dir;
}
