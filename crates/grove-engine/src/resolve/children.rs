//! From tasks to the nodes of a plan, with everything found about their children: agents, prompts, engines, models, limits.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use grove_catalog::agents::Agent;
use grove_catalog::root::RootSource;
use grove_exec::Program;
use grove_fs::files;
use grove_plan::{
    AuthorFacts, Child, FanOut, Inputs, Limits, Node, NodeId, Place, PlannedTask, Work,
    WorktreePlan,
};
use grove_skills::prompt::{AgentPrompt, PromptOptions, prompt_at};
use grove_skills::run_rules::RunRules;
use grove_skills::{Discovery, Environment, Library};
use grove_spec::agent::{AgentFile, foreign_runner};
use grove_spec::chain::{ChainTask, OnEmpty};
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic, Digest};
use serde_json::Value;

use super::approving::Approving;
use super::child_limits;
use super::child_tools::{ChosenTools, ListedTools, of_reviewer};
use super::files_told::FilesTold;
use super::forks::{Forked, Launch};
use super::schema_files::SavedChain;
use super::without_write;
use super::worktree_plans::{PlannedWorktree, Worktrees};
use crate::calling_child::CallingChild;
use crate::engine::Engine;
use crate::engines::{self, ChosenEngine};
use crate::entries::{self, require_usable};
use crate::error::EngineError;
use crate::evidence::review_schema;
use crate::model_choice::{
    ChosenModels, WantedModels, choose, choose_for_program, choose_recorded,
};
use crate::model_settings::ModelSettings;
use crate::models::Recording;
use crate::order::RunOrder;
use crate::skill_values::variables_of;
use crate::told::{Boundary, Told};
use crate::tools::{CONTACT_SUPERVISOR, SUBAGENT};

/// The note about a commit to begin from where there is no working tree.
pub(crate) const NO_TREE: &str = "`baseRef` has no effect without a working tree (`worktree`)";
/// The message for a reviewer until the work is there that it looks at.
const REVIEW: &str = "Review.";

/// Finds the children of one run.
pub(crate) struct ChildResolver<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) look: &'a Discovery,
    pub(crate) models: &'a ModelSettings,
    pub(crate) order: &'a RunOrder,
    /// The rules for runs in settings of other hosts.
    pub(crate) rules: RunRules,
    /// The conversation from which the run is asked for.
    pub(crate) launch: Launch<'a>,
    /// The conversation that children begin with, once it is known.
    pub(crate) forked: &'a OnceCell<Forked>,
    pub(crate) folder: &'a Path,
    /// The files that answers are written to, with the step of each.
    pub(crate) outputs: RefCell<BTreeSet<(NodeId, PathBuf)>>,
    /// Looks from other folders that children work in.
    pub(crate) looks: RefCell<BTreeMap<PathBuf, Discovery>>,
    pub(crate) versions: RefCell<BTreeMap<PathBuf, Option<String>>>,
    /// The chain that the request names.
    pub(crate) saved_chain: Option<SavedChain>,
    pub(crate) approving: &'a Approving<'a>,
    pub(crate) above: Option<&'a CallingChild>,
    /// The engine, whose journal has the conversations that children are forked from.
    pub(crate) engine: &'a Engine,
    /// The commits that working trees begin from, so that all of a run begin alike.
    pub(crate) worktrees: &'a Worktrees,
    /// The texts that the plan names by digest.
    pub(crate) texts: RefCell<BTreeMap<Digest, Vec<u8>>>,
}

/// A node whose child can be started, and what people should know about it.
pub(crate) struct ResolvedNode {
    pub(crate) node: Node,
    pub(crate) prompt: AgentPrompt,
    pub(crate) warnings: Vec<Diagnostic>,
    pub(crate) notes: Vec<String>,
    /// The limit that its agent sets for a run as a whole.
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) background: Option<bool>,
    /// True if its step names the commit that its working tree begins from.
    pub(crate) is_base_named: bool,
}

/// An agent that a task names, with its prompt in the folder where its child works.
struct NamedAgent<'a> {
    agent: &'a Agent,
    file: Cow<'a, AgentFile>,
    address: String,
    source: Option<RootSource>,
    folder: PathBuf,
    look: Discovery,
    prompt: AgentPrompt,
}

impl NamedAgent<'_> {
    /// The paths that a child may read outside its work folder: its skills and their index files.
    fn readable(&self) -> Vec<PathBuf> {
        let skills = self.prompt.skill_folders.iter().cloned();
        skills.chain(self.prompt.index_files()).collect()
    }

    /// The names that stand for folders in the locations of its catalog.
    fn location_aliases(&self) -> BTreeMap<String, PathBuf> {
        let aliases = self.prompt.location_aliases.iter();
        aliases
            .map(|alias| (alias.name.clone(), alias.folder.clone()))
            .collect()
    }

    /// The place of the child, with what its paths lead to now.
    fn place(&self, worktree: Option<WorktreePlan>) -> Place {
        let real = |path: &Path| files::canonical(path).unwrap_or_else(|_| path.to_path_buf());
        let readable = self.readable();
        let linked = readable.iter();
        let linked = linked.map(|path| (files::plain(path), real(path)));
        Place {
            folder: real(&self.folder),
            linked: linked.filter(|(path, real)| path != real).collect(),
            readable,
            location_aliases: self.location_aliases(),
            worktree,
        }
    }

    /// The findings about its prompt. A child has no host's prompt that an agent's text could follow: what is stored is
    /// all that it is told.
    fn warnings(&self) -> Vec<Diagnostic> {
        let warnings = self.prompt.prompt.warnings.iter();
        let is_meant = |it: &&Diagnostic| it.code != Code::PromptPartial || it.file.is_none();
        warnings.filter(is_meant).cloned().collect()
    }
}

impl<'a> ChildResolver<'a> {
    /// Finds everything about the child of a task. The skills in its catalog are ordered by the tasks.
    pub(crate) fn node(
        &self,
        planned: &PlannedTask<'_>,
        tasks: Vec<String>,
    ) -> Result<ResolvedNode, EngineError> {
        let folder = self.folder_of(planned)?;
        let named = self.agent(planned.task, tasks, folder)?;
        let engine = self.engine(planned.task, &named)?;
        let schema = self.schema(planned.task)?;
        let mut notes = Vec::new();
        let tools = self.tools(&named, &engine, named.prompt.prompt.tools.clone())?;
        let mut files = self.files(planned, &named, tools.tools.can_write, &mut notes)?;
        let author = self.author_facts(&named, &engine, tools.tools.can_write);
        let contract = self.contract(
            planned.task,
            &named.file,
            named.source_of_acceptance(),
            &author,
        )?;
        if let Some(contract) = contract.as_ref().filter(|it| !it.reasons.is_empty()) {
            let (level, reasons) = (contract.level_word(), contract.reasons.join(", "));
            notes.push(format!(
                "acceptance of `{}` is {level}: {reasons}",
                named.name()
            ));
        }
        let tree = self.worktree(planned, &named.folder, &mut notes)?;
        let making = ChildParts {
            label: planned.task.label.clone(),
            model: planned.task.model.clone(),
            inputs: planned.inputs.clone(),
            message: format!("{}{}", files.lines(), planned.text),
            output: files.output.take(),
            file_only: files.file_only,
            schema,
            contract,
            tree: tree.planned,
        };
        let child = self.child(&named, &engine, tools, making, &mut notes)?;
        let work = self.work(planned, child)?;
        Ok(ResolvedNode {
            node: Node {
                id: planned.id.clone(),
                after: planned.after.clone(),
                group: planned.group.clone(),
                reviews: None,
                work,
            },
            warnings: named.warnings(),
            notes,
            timeout_ms: named.file.timeout_ms,
            background: named.file.background,
            prompt: named.prompt,
            is_base_named: tree.is_base_named,
        })
    }

    /// Finds the reviewer of a child's work: another child with a context of its own, in the same folder, with tools that
    /// change nothing. It gives a verdict in a form of its own.
    pub(crate) fn reviewer(
        &self,
        author: &ResolvedNode,
    ) -> Result<Option<ResolvedNode>, EngineError> {
        let of = author.node.child();
        let Some(review) = of.contract.as_ref().and_then(|it| it.review.as_ref()) else {
            return Ok(None);
        };
        let task = ChainTask {
            agent: review.agent.clone(),
            ..ChainTask::default()
        };
        let named = self.agent(&task, Vec::new(), of.place.folder.clone())?;
        if named.address == of.address {
            let message = format!("`{}` would review its own work", of.agent);
            return Err(EngineError::usage(message).hint("name another agent in `review.agent`"));
        }
        let engine = self.engine(&task, &named)?;
        let mut notes = Vec::new();
        let listed = of_reviewer(named.prompt.prompt.tools.clone());
        let tools = self.tools(&named, &engine, listed)?;
        let id = &author.node.id;
        let making = ChildParts {
            label: Some(format!("review of {id}")),
            inputs: Some(Inputs {
                reviews: Some(id.clone()),
                ..Inputs::default()
            }),
            message: REVIEW.to_owned(),
            schema: engine.program.is_none().then(review_schema),
            ..ChildParts::default()
        };
        let child = self.child(&named, &engine, tools, making, &mut notes)?;
        Ok(Some(ResolvedNode {
            node: Node {
                id: id.reviewer(),
                after: Vec::new(),
                group: None,
                reviews: Some(id.clone()),
                work: Work::Child(Box::new(child)),
            },
            warnings: named.warnings(),
            notes,
            timeout_ms: named.file.timeout_ms,
            background: named.file.background,
            prompt: named.prompt,
            is_base_named: false,
        }))
    }

    fn agent(
        &self,
        task: &ChainTask,
        tasks: Vec<String>,
        folder: PathBuf,
    ) -> Result<NamedAgent<'a>, EngineError> {
        let look = self.look;
        let all = &look.snapshot.agents;
        let agent = entries::find(all.entries(), &task.agent)?;
        require_usable(all, agent)?;
        let address = all.address(agent);
        self.require_readable_limits(&[&agent.name, &address])?;
        let options = PromptOptions {
            asked: Some(task.agent.clone()),
            skills: task.skills.clone(),
            tasks,
            ..PromptOptions::default()
        };
        let place = self.look_in(&folder);
        let prompt = prompt_at(look.into(), agent, &options, (&place).into())?;
        let file = agent.file();
        Ok(NamedAgent {
            agent,
            file: file.map_or_else(|| Cow::Owned(AgentFile::default()), Cow::Borrowed),
            address,
            source: all.roots.get(agent.root).map(|root| root.source),
            folder,
            look: place,
            prompt,
        })
    }

    /// The engine of a child: that of its task, else of the request, its agent, the configuration, the child that asks.
    fn engine(
        &self,
        task: &ChainTask,
        named: &NamedAgent<'_>,
    ) -> Result<ChosenEngine, EngineError> {
        let (file, asked) = (&named.file, &self.order.request);
        let engine = task.engine.clone().or_else(|| asked.engine.clone());
        let is_asked = engine.is_some();
        if let Some(runner) = foreign_runner(file).filter(|_| !is_asked && file.engine.is_none()) {
            let message = format!(
                "agent `{}` has `runner: {runner}`, which Grove does not start",
                named.name()
            );
            let hint =
                "choose what runs it in its place with `--engine`, or with `engine:` in its file";
            return Err(EngineError::usage(message).hint(hint));
        }
        let configured = &self.look.world.settings.settings.run_engine.value;
        let engine = engine
            .or_else(|| file.engine.as_ref().map(ToString::to_string))
            .or_else(|| configured.clone())
            .or_else(|| self.above.map(|above| above.engine.clone()));
        if let Some(command) = engine.as_deref().filter(|it| it.starts_with(Program::ACP)) {
            self.require_own_command(command, is_asked, named.source)?;
        }
        let has_recording = self.order.recording.is_some();
        let providers = self.models.providers();
        let chosen = engines::choose(
            self.environment,
            &providers,
            engine.as_deref(),
            has_recording,
        )?;
        if chosen.program.is_some() {
            require_no_values(&named.look, &named.prompt, &chosen.name)?;
        }
        Ok(chosen)
    }

    /// The models of a child, which are in the scopes of its settings.
    fn models(
        &self,
        named: &NamedAgent<'_>,
        task_model: Option<&str>,
        engine: &ChosenEngine,
    ) -> Result<ChosenModels, EngineError> {
        let (file, asked) = (&named.file, &self.order.request);
        let usual = &self.rules.usual;
        let configured = &self.look.world.settings.settings.run_model.value;
        let of_request = asked.model.as_deref().or(task_model);
        let wanted = WantedModels {
            named: of_request.or(file.model.as_deref()),
            parent: self.parent_model(),
            configured: configured.as_deref().or(usual.model.as_deref()),
            fallbacks: &file.fallback_models,
            thinking: file.thinking.as_deref().or(usual.thinking.as_deref()),
            is_below: self.above.is_some(),
        };
        let providers = self.models.providers();
        let chosen = match (Program::named(&engine.name), &self.order.recording) {
            (Some(program), _) => choose_for_program(&providers, &wanted, program, &engine.name),
            (None, Some(Recording::Replay { .. })) => Ok(choose_recorded(&wanted)),
            (None, _) => choose(&providers, &wanted),
        };
        let mut chosen = chosen.map_err(|error| self.models.refused(error))?;
        let outside = self.require_scope(named.name(), &chosen.names, of_request.is_some())?;
        chosen.notes.extend(outside);
        Ok(chosen)
    }

    fn tools(
        &self,
        named: &NamedAgent<'_>,
        engine: &ChosenEngine,
        listed: Option<Vec<String>>,
    ) -> Result<ChosenTools, EngineError> {
        let servers: Vec<String> = self.models.mcp.iter().map(|it| it.name.clone()).collect();
        let tools = ListedTools {
            agent: named.name(),
            listed,
            denied: &named.prompt.prompt.denied_tools,
            engine: &engine.name,
            servers: &servers,
        };
        let powers = self.above.map(CallingChild::powers);
        tools.choose(powers.as_ref())
    }

    /// The files that a child is told of, with names that no sibling has.
    fn files(
        &self,
        planned: &PlannedTask<'_>,
        named: &NamedAgent<'_>,
        can_write: bool,
        notes: &mut Vec<String>,
    ) -> Result<FilesTold, EngineError> {
        let (task, folder) = (planned.task, &named.folder);
        let mut files = FilesTold::of(
            task,
            &named.file,
            planned.inputs.is_none().then_some(folder),
        );
        if files.progress.is_some() && !can_write {
            let agent = named.name();
            notes.push(format!(
                "`{agent}` cannot write, so it keeps no progress file"
            ));
            files.progress = None;
        }
        notes.extend(self.make_unique(&mut files.output, "writes to", planned, folder));
        notes.extend(self.make_unique(
            &mut files.progress,
            "keeps its progress in",
            planned,
            folder,
        ));
        files.require_output(named.name(), folder)?;
        let is_named = task.output.is_some() && self.order.request.chain_name.is_none();
        if let Some(above) = self.above.filter(|_| is_named && files.output.is_some())
            && !above.powers().can_write()
        {
            return Err(without_write("`output`"));
        }
        Ok(files)
    }

    fn author_facts(
        &self,
        named: &NamedAgent<'_>,
        engine: &ChosenEngine,
        can_write: bool,
    ) -> AuthorFacts {
        let settings = &self.look.world.settings.settings;
        AuthorFacts {
            can_write,
            role: named.file.acceptance_role.clone(),
            background: self.order.request.background || named.file.background.unwrap_or_default(),
            fan_out: false,
            reviewer: settings.run_reviewer.value.clone(),
            can_go_on: Program::named(&engine.name).is_none_or(|program| program.can.resume),
            not_observed: engine.not_observed(),
        }
    }

    /// Puts a child together, and stores the texts that it names.
    fn child(
        &self,
        named: &NamedAgent<'_>,
        engine: &ChosenEngine,
        tools: ChosenTools,
        parts: ChildParts,
        notes: &mut Vec<String>,
    ) -> Result<Child, EngineError> {
        let has_recording = self.order.recording.is_some();
        if let Some(message) = engine.refusal(has_recording, parts.schema.is_some()) {
            let hint = "choose `--engine native` for that";
            return Err(EngineError::usage(message).hint(hint));
        }
        let (file, settings) = (&named.file, &self.look.world.settings.settings);
        let (history, fresh) = self.history_for(named.name(), file, engine)?;
        let models = self.models(named, parts.model.as_deref(), engine)?;
        let version = self.version(engine.program.as_deref());
        notes.extend(models.notes);
        notes.extend(engine.note.clone());
        notes.extend(untested_version(engine, version.as_deref()));
        notes.extend(child_limits::not_used(named.name(), file));
        notes.extend(fresh);
        notes.extend(tools.notes);
        let has = |name: &str| tools.tools.allowed.iter().any(|tool| tool == name);
        let boundary = Boundary {
            has_schema: parts.schema.is_some(),
            can_ask: has(CONTACT_SUPERVISOR),
            can_delegate: has(SUBAGENT),
            contract: parts.contract.as_ref(),
        };
        let told = Told::new(&named.prompt.prompt, &parts.message, &boundary, history);
        let schema = parts.schema.as_ref();
        let schema = schema
            .map(|schema| self.stored_schema(schema))
            .transpose()?;
        let tree = parts.tree;
        if let Some(text) = tree.as_ref().and_then(|tree| tree.hook_text.clone()) {
            self.stored(text);
        }
        let task = || self.stored(self.order.request.task.clone().into_bytes());
        Ok(Child {
            agent: named.name().to_owned(),
            address: named.address.clone(),
            label: parts.label,
            told: self.stored(told.to_bytes()),
            inputs: parts.inputs.map(|inputs| Inputs {
                task: Some(task()),
                ..inputs
            }),
            engine: engine.name.clone(),
            program: engine.program.clone(),
            program_version: version,
            models: models.names,
            model_facts: models.facts,
            fallback_after_writes: file.fallback_after_writes,
            tools: tools.tools,
            skills: named.prompt.prompt.active.clone(),
            place: named.place(tree.map(|tree| tree.plan)),
            limits: Limits {
                attention: child_limits::attention(self.order.request.control.as_ref(), settings),
                ..child_limits::of(file, settings)
            },
            schema,
            output: parts.output,
            file_only: parts.file_only,
            contract: parts.contract,
        })
    }

    /// Keeps a text for the journal, and returns its digest.
    pub(crate) fn stored(&self, bytes: Vec<u8>) -> Digest {
        let digest = Digest::of(&bytes);
        self.texts.borrow_mut().insert(digest, bytes);
        digest
    }

    /// Keeps a schema that can be checked against.
    fn stored_schema(&self, schema: &Value) -> Result<Digest, EngineError> {
        crate::data_check::look_at(schema).map_err(|fault| {
            let message = format!("`outputSchema` is not a JSON Schema that is taken: {fault}");
            EngineError::usage(message).hint("correct the schema")
        })?;
        Ok(self.stored(serde_json::to_vec(schema).unwrap_or_default()))
    }

    /// Returns what a look from a folder finds; each folder is looked at once.
    fn look_in(&self, folder: &Path) -> Discovery {
        if folder == self.folder {
            return self.look.clone();
        }
        let mut known = self.looks.borrow_mut();
        let look = || {
            let there = Environment {
                working: folder.to_path_buf(),
                ..self.environment.clone()
            };
            Library::new(there, (*self.look.request).clone()).discover()
        };
        known
            .entry(folder.to_path_buf())
            .or_insert_with(look)
            .clone()
    }

    /// The version of a program; looked for once.
    fn version(&self, file: Option<&Path>) -> Option<String> {
        let file = file?;
        if let Some(known) = self.versions.borrow().get(file) {
            return known.clone();
        }
        let version = engines::version_of(self.environment, file);
        let mut known = self.versions.borrow_mut();
        known.insert(file.to_path_buf(), version.clone());
        version
    }

    /// Returns the folder that a child works in: its task's, else its step's, else the one where the run was asked for.
    fn folder_of(&self, planned: &PlannedTask<'_>) -> Result<PathBuf, EngineError> {
        let of_group = planned.settings.and_then(|settings| settings.cwd.as_ref());
        let folder = match planned.task.cwd.as_ref().or(of_group) {
            Some(folder) => self.folder.join(folder),
            None => self.folder.to_path_buf(),
        };
        if !grove_fs::files::is_folder(&folder) {
            let message = format!("there is no folder {}", folder.display());
            return Err(EngineError::usage(message));
        }
        if let Some(above) = self.above {
            above.require_folder(&folder)?;
        }
        Ok(folder)
    }

    /// A command that is an engine is run as it is, so it has to be the person's own: asked for, or in an agent of theirs.
    fn require_own_command(
        &self,
        command: &str,
        is_asked: bool,
        of_agent: Option<RootSource>,
    ) -> Result<(), EngineError> {
        let is_strange = if is_asked {
            let of_chain = self.order.request.chain_name.is_some();
            self.order.is_by_model
                || (of_chain && !self.saved_chain.as_ref().is_some_and(SavedChain::is_own))
        } else {
            !of_agent.is_some_and(is_own)
        };
        if !is_strange {
            return Ok(());
        }
        let message = format!(
            "engine `{}` is a command that you did not write",
            one_line(command)
        );
        let hint = "read it, and give it with `--engine` if you want to run it";
        Err(EngineError::usage(message).hint(hint))
    }

    fn worktree(
        &self,
        planned: &PlannedTask<'_>,
        folder: &Path,
        notes: &mut Vec<String>,
    ) -> Result<TreeOfChild, EngineError> {
        let (task, group) = (planned.task, planned.settings);
        let wants = task.worktree.or(group.and_then(|group| group.worktree));
        let wants = wants.or(self.order.request.worktree).unwrap_or_default();
        let of_group = group.and_then(|group| group.base_ref.as_deref());
        let of_step = task.base_ref.as_deref().or(of_group);
        let named = of_step.or(self.order.request.base_ref.as_deref());
        if !wants {
            notes.extend(of_step.map(|_| NO_TREE.to_owned()));
            return Ok(TreeOfChild::default());
        }
        Ok(TreeOfChild {
            planned: Some(self.worktrees.plan(self, folder, named)?),
            is_base_named: of_step.is_some(),
        })
    }

    /// Siblings never share a file: the name of a later one gets the id of its node.
    fn make_unique(
        &self,
        file: &mut Option<String>,
        what: &str,
        planned: &PlannedTask<'_>,
        folder: &Path,
    ) -> Option<String> {
        if let (Some(output), Some(list)) = (file.as_mut(), &planned.list) {
            let item = planned.inputs.as_ref()?.item.as_deref()?;
            let speaks = output.contains(&format!("{{{item}"));
            if !speaks && list.max_items > 1 {
                *output = with_end_of_name(output, &format!("{{{item}#key}}"))?;
            }
            return None;
        }
        let (output, group) = (file.as_mut()?, planned.group.as_ref()?);
        let path = folder.join(&*output);
        if self.outputs.borrow_mut().insert((group.clone(), path)) {
            return None;
        }
        *output = with_end_of_name(output, planned.id.as_str())?;
        Some(format!(
            "step {} {what} {output}, because another step has the same file",
            planned.id
        ))
    }

    /// The work of a node: the child of its task, or that child for each item of a list.
    fn work(&self, planned: &PlannedTask<'_>, child: Child) -> Result<Work, EngineError> {
        let Some(list) = &planned.list else {
            return Ok(Work::Child(Box::new(child)));
        };
        let (expand, collect) = (&list.said.expand, &list.said.collect);
        let schema = match &collect.output_schema {
            Some(schema) => Some(self.stored_schema(&self.read_schema(schema)?)?),
            None => None,
        };
        let item = planned.inputs.as_ref().and_then(|it| it.item.clone());
        let items = expand.items.as_ref();
        Ok(Work::FanOut(Box::new(FanOut {
            from: list.from.clone(),
            items: items.map(|items| self.stored(serde_json::to_vec(items).unwrap_or_default())),
            path: expand.path.clone(),
            item: item.unwrap_or_default(),
            key: expand.key.clone(),
            max_items: list.max_items,
            fail_if_empty: expand.on_empty == Some(OnEmpty::Fail),
            schema,
            child,
            reviewer: None,
        })))
    }
}

impl NamedAgent<'_> {
    fn name(&self) -> &str {
        &self.agent.name
    }

    /// The source of its file's acceptance; none if settings replaced that.
    fn source_of_acceptance(&self) -> Option<RootSource> {
        let mut overridden = self.agent.overridden.iter();
        let is_overridden = overridden.any(|set| set.field.as_str() == "acceptance");
        self.source.filter(|_| !is_overridden)
    }
}

/// The parts of a child that its task decides.
#[derive(Default)]
struct ChildParts {
    label: Option<String>,
    model: Option<String>,
    inputs: Option<Inputs>,
    message: String,
    output: Option<String>,
    file_only: bool,
    schema: Option<Value>,
    contract: Option<grove_plan::Contract>,
    tree: Option<PlannedWorktree>,
}

/// The working tree of a child, if it has one of its own.
#[derive(Default)]
struct TreeOfChild {
    planned: Option<PlannedWorktree>,
    is_base_named: bool,
}

/// A note about a program in another version than the one that was tested.
fn untested_version(engine: &ChosenEngine, version: Option<&str>) -> Option<String> {
    let program = Program::named(&engine.name).filter(|program| !program.tried.is_empty())?;
    let version = version.filter(|version| *version != program.tried)?;
    let (title, tried) = (program.title, program.tried);
    Some(format!(
        "{title} {version} is not the tested version, {tried}"
    ))
}

/// Refuses secret values for a program, since no process masks what the program's own tools print.
fn require_no_values(
    look: &Discovery,
    made: &AgentPrompt,
    engine: &str,
) -> Result<(), EngineError> {
    let snapshot = &look.snapshot;
    for (at, skill) in snapshot.skills.iter().enumerate() {
        let has_values = || !variables_of(look, at).is_empty();
        if made.prompt.active.contains(&snapshot.address(skill)) && has_values() {
            let message = format!(
                "skill `{}` has values that engine `{engine}` cannot keep from being printed",
                skill.name()
            );
            return Err(EngineError::usage(message).hint("choose `--engine native` for that"));
        }
    }
    Ok(())
}

/// A path whose file name says more: `report.md` is `report-2.1.md`.
fn with_end_of_name(path: &str, more: &str) -> Option<String> {
    let old = Path::new(path);
    let stem = old.file_stem()?.to_string_lossy();
    let end = old
        .extension()
        .map_or_else(String::new, |end| format!(".{}", end.to_string_lossy()));
    let name = format!("{stem}-{more}{end}");
    Some(old.with_file_name(name).to_string_lossy().into_owned())
}

/// Returns true if the person or the machine's administrator wrote it.
pub(crate) const fn is_own(source: RootSource) -> bool {
    matches!(
        source,
        RootSource::User | RootSource::Managed | RootSource::Bundled
    )
}
