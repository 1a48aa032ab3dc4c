//! From tasks to children with everything found about them: agents, prompts, engines, models, limits.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use grove_catalog::root::Source;
use grove_exec::Program;
use grove_plan::{AttentionLimits, AuthorFacts, Control, Limits, NodeId, PlannedTask};
use grove_runs::{
    Above, ChildRequest, ListRequest, Recording, WantedModels, choose, choose_for_program,
    choose_recorded,
};
use grove_skills::prompt::{AgentPrompt, PromptOptions, prompt_at};
use grove_skills::run_rules::RunRules;
use grove_skills::{Environment, Library, Look};
use grove_spec::agent::{Agent as AgentFile, OutputFile, OutputMode, foreign_runner};
use grove_spec::chain::{OnEmpty, Task};
use grove_spec::config::Settings;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};

use super::approving::Approving;
use super::forks::{Forked, Launch};
use super::schema_files::SavedChain;
use super::without_write;
use super::worktree_plans::{PlannedWorktree, Worktrees};
use crate::engines;
use crate::entries::{self, require_usable};
use crate::error::EngineError;
use crate::model_settings::ModelSettings;
use crate::order::RunOrder;
use crate::skill_values::variables_of;
use crate::told::prompt_parts;

/// The note about a commit to begin from where there is no working tree.
pub(crate) const NO_TREE: &str = "`baseRef` has no effect without a working tree (`worktree`)";
/// The file in which a child says how far it is.
const PROGRESS: &str = "progress.md";

/// Finds the children of one run.
pub(crate) struct ChildResolver<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) look: &'a Look,
    pub(crate) models: &'a ModelSettings,
    pub(crate) order: &'a RunOrder,
    /// The rules for runs in settings of other hosts.
    pub(crate) rules: RunRules,
    /// The conversation from which the run is asked for.
    pub(crate) launch: Launch<'a>,
    /// The conversation that children begin with, once it is known.
    pub(crate) forked: &'a OnceCell<Forked>,
    /// The folder in which the run was asked for.
    pub(crate) folder: &'a Path,
    /// The files that answers are written to, with the step of each.
    pub(crate) outputs: RefCell<BTreeSet<(NodeId, PathBuf)>>,
    /// Looks from other folders that children work in.
    pub(crate) looks: RefCell<BTreeMap<PathBuf, Look>>,
    /// Versions of programs, by their files.
    pub(crate) versions: RefCell<BTreeMap<PathBuf, Option<String>>>,
    /// The chain that the request names.
    pub(crate) saved_chain: Option<SavedChain>,
    /// The approvals of the person.
    pub(crate) approving: &'a Approving<'a>,
    /// The child that asks, where one does.
    pub(crate) above: Option<&'a Above>,
    /// The commits that working trees begin from, so that all of a run begin alike.
    pub(crate) worktrees: &'a Worktrees,
}

/// A child that can be submitted, and what people should know about it.
pub(crate) struct FoundChild {
    pub(crate) request: ChildRequest,
    pub(crate) prompt: AgentPrompt,
    pub(crate) warnings: Vec<Diagnostic>,
    pub(crate) notes: Vec<String>,
    /// The limit that its agent sets for a run as a whole.
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) background: Option<bool>,
}

impl ChildResolver<'_> {
    /// Finds everything about one child. The skills in its catalog are ordered by the tasks.
    pub(crate) fn child(
        &self,
        planned: &PlannedTask<'_>,
        tasks: Vec<String>,
    ) -> Result<FoundChild, EngineError> {
        let (look, asked, task) = (self.look, &self.order.request, planned.task);
        let settings = &look.world.settings.settings;
        let all = &look.snapshot.agents;
        let agent = entries::find(all.entries(), &task.agent)?;
        require_usable(all, agent)?;
        self.require_readable_limits(&[&agent.name, &all.address(agent)])?;
        let options = PromptOptions {
            asked: Some(task.agent.clone()),
            skills: task.skills.clone(),
            tasks,
            ..PromptOptions::default()
        };
        let folder = self.folder_of(planned)?;
        let place = self.look_in(&folder);
        let made = prompt_at(look.into(), agent, &options, (&place).into())?;
        let usual = AgentFile::default();
        let file = agent.file().unwrap_or(&usual);
        let engine = task.engine.clone().or_else(|| asked.engine.clone());
        let of_agent = all.roots.get(agent.root).map(|root| root.source);
        let is_asked = engine.is_some();
        if let Some(runner) = foreign_runner(file).filter(|_| !is_asked && file.engine.is_none()) {
            let message = format!(
                "agent `{}` has `runner: {runner}`, which Grove does not start",
                agent.name
            );
            let hint =
                "choose what runs it in its place with `--engine`, or with `engine:` in its file";
            return Err(EngineError::usage(message).hint(hint));
        }
        let engine = engine
            .or_else(|| file.engine.as_ref().map(ToString::to_string))
            .or_else(|| settings.run_engine.value.clone())
            .or_else(|| self.above.map(|above| above.engine.clone()));
        if let Some(command) = engine.as_deref().filter(|it| it.starts_with(Program::ACP)) {
            self.require_own_command(command, is_asked, of_agent)?;
        }
        let providers = self.models.providers();
        let has_recording = self.order.recording.is_some();
        let engine = engines::choose(
            self.environment,
            &providers,
            engine.as_deref(),
            has_recording,
        )?;
        if engine.program.is_some() {
            require_no_values(&place, &made, &engine.name)?;
        }
        let schema = self.schema(task)?;
        if let Some(message) = engine.refusal(has_recording, schema.is_some()) {
            let hint = "choose `--engine native` for that";
            return Err(EngineError::usage(message).hint(hint));
        }
        let (history, fresh) = self.history_for(&agent.name, file, &engine)?;
        let wanted = WantedModels {
            named: asked
                .model
                .as_deref()
                .or(task.model.as_deref())
                .or(file.model.as_deref()),
            parent: self.parent_model(),
            configured: settings
                .run_model
                .value
                .as_deref()
                .or(self.rules.usual.model.as_deref()),
            fallbacks: &file.fallback_models,
            thinking: file
                .thinking
                .as_deref()
                .or(self.rules.usual.thinking.as_deref()),
            is_below: self.above.is_some(),
        };
        let chosen = match (Program::named(&engine.name), &self.order.recording) {
            (Some(program), _) => choose_for_program(&providers, &wanted, program, &engine.name),
            (None, Some(Recording::Replay { .. })) => Ok(choose_recorded(&wanted)),
            (None, _) => choose(&providers, &wanted),
        };
        let chosen = chosen.map_err(|error| self.models.refused(error))?;
        let is_asked = asked.model.is_some() || task.model.is_some();
        let outside = self.require_scope(&agent.name, &chosen.names, is_asked)?;
        let mut notes = chosen.notes;
        notes.extend(outside);
        notes.extend(engine.note.clone());
        let program_version = self.version(engine.program.as_deref());
        let program = Program::named(&engine.name).filter(|program| !program.tried.is_empty());
        if let (Some(program), Some(version)) = (program, &program_version)
            && program.tried != version
        {
            let (title, tried) = (program.title, program.tried);
            notes.push(format!(
                "{title} {version} is not the tested version, {tried}"
            ));
        }
        notes.extend(not_used(&agent.name, file));
        notes.extend(fresh);
        let can_write =
            grove_runs::can_write(made.prompt.tools.as_deref(), &made.prompt.denied_tools);
        let mut files = FilesTold::of(task, file, planned.inputs.is_none().then_some(&folder));
        if files.progress.is_some() && !can_write {
            let note = format!(
                "`{}` cannot write, so it keeps no progress file",
                agent.name
            );
            notes.push(note);
            files.progress = None;
        }
        notes.extend(self.make_unique(&mut files.output, "writes to", planned, &folder));
        notes.extend(self.make_unique(
            &mut files.progress,
            "keeps its progress in",
            planned,
            &folder,
        ));
        files.require_output(&agent.name, &folder)?;
        let is_named = task.output.is_some() && asked.chain_name.is_none();
        if let Some(above) = self.above.filter(|_| is_named && files.output.is_some())
            && !above.powers().can_write()
        {
            return Err(without_write("`output`"));
        }
        let is_overridden = agent
            .overridden
            .iter()
            .any(|set| set.field.as_str() == "acceptance");
        let author = AuthorFacts {
            can_write,
            role: file.acceptance_role.clone(),
            background: asked.background || file.background.unwrap_or_default(),
            fan_out: false,
            reviewer: settings.run_reviewer.value.clone(),
            can_go_on: Program::named(&engine.name).is_none_or(|program| program.can.resume),
            not_observed: engine.not_observed(),
        };
        let contract = match &planned.inputs {
            Some(inputs) if inputs.reviews.is_some() => None,
            _ => self.contract(task, file, of_agent.filter(|_| !is_overridden), &author)?,
        };
        if let Some(contract) = contract.as_ref().filter(|it| !it.reasons.is_empty()) {
            let (level, reasons) = (contract.level_word(), contract.reasons.join(", "));
            notes.push(format!(
                "acceptance of `{}` is {level}: {reasons}",
                agent.name
            ));
        }
        let (tree, is_base_named) = self.worktree(planned, &folder, &mut notes)?;
        let mut warnings = made.prompt.warnings.clone();
        // A child has no host's prompt that an agent's text could follow: what is stored is all that it is told.
        warnings.retain(|it| it.code != Code::PromptPartial || it.file.is_none());
        Ok(FoundChild {
            warnings,
            notes,
            timeout_ms: file.timeout_ms,
            background: file.background,
            request: ChildRequest {
                id: planned.id.clone(),
                after: planned.after.clone(),
                group: planned.group.clone(),
                label: task.label.clone(),
                inputs: planned.inputs.clone(),
                agent: agent.name.clone(),
                address: all.address(agent),
                task: format!("{}{}", files.lines(), planned.text),
                output: files.output.clone(),
                file_only: files.file_only,
                prompt: made.prompt.text.clone(),
                prompt_parts: prompt_parts(&made.prompt),
                history: history.to_vec(),
                tools: made.prompt.tools.clone(),
                skills: made.prompt.active.clone(),
                denied_tools: made.prompt.denied_tools.clone(),
                engine: engine.name,
                program: engine.program,
                program_version,
                models: chosen.names,
                model_facts: chosen.facts,
                fallback_after_writes: file.fallback_after_writes,
                readable: readable(&made),
                location_aliases: location_aliases(&made),
                setup_hook_text: tree.as_ref().and_then(|tree| tree.hook_text.clone()),
                worktree: tree.map(|tree| tree.plan),
                is_base_named,
                folder,
                limits: Limits {
                    attention: attention(asked.control.as_ref(), settings),
                    ..limits(file, settings)
                },
                output_schema: schema,
                contract,
                reviews: None,
                list: self.list_of(planned)?,
            },
            prompt: made,
        })
    }

    /// Returns what a look from a folder finds; each folder is looked at once.
    fn look_in(&self, folder: &Path) -> Look {
        if folder == self.folder {
            return self.look.clone();
        }
        let mut known = self.looks.borrow_mut();
        let look = || {
            let there = Environment {
                working: folder.to_path_buf(),
                ..self.environment.clone()
            };
            Library::new(there, (*self.look.request).clone()).look()
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
        of_agent: Option<Source>,
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

    /// The working tree of a child, and whether its step names the commit that it begins from.
    fn worktree(
        &self,
        planned: &PlannedTask<'_>,
        folder: &Path,
        notes: &mut Vec<String>,
    ) -> Result<(Option<PlannedWorktree>, bool), EngineError> {
        let (task, group) = (planned.task, planned.settings);
        let wants = task.worktree.or(group.and_then(|group| group.worktree));
        let wants = wants.or(self.order.request.worktree).unwrap_or_default();
        let of_group = group.and_then(|group| group.base_ref.as_deref());
        let of_step = task.base_ref.as_deref().or(of_group);
        let named = of_step.or(self.order.request.base_ref.as_deref());
        if !wants {
            notes.extend(of_step.map(|_| NO_TREE.to_owned()));
            return Ok((None, false));
        }
        let planned = self.worktrees.plan(self, folder, named)?;
        Ok((Some(planned), of_step.is_some()))
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

    /// The list whose items a child runs for.
    fn list_of(&self, planned: &PlannedTask<'_>) -> Result<Option<ListRequest>, EngineError> {
        let Some(list) = &planned.list else {
            return Ok(None);
        };
        let (expand, collect) = (&list.said.expand, &list.said.collect);
        let schema = collect.output_schema.as_ref();
        let item = planned.inputs.as_ref().and_then(|it| it.item.clone());
        Ok(Some(ListRequest {
            from: list.from.clone(),
            items: expand.items.clone(),
            path: expand.path.clone(),
            item: item.unwrap_or_default(),
            key: expand.key.clone(),
            max_items: list.max_items,
            fail_if_empty: expand.on_empty == Some(OnEmpty::Fail),
            schema: schema.map(|schema| self.read_schema(schema)).transpose()?,
        }))
    }
}

/// Refuses secret values for a program, since no process masks what the program's own tools print.
fn require_no_values(look: &Look, made: &AgentPrompt, engine: &str) -> Result<(), EngineError> {
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

/// The least of the limits that there are.
pub(crate) fn least<const N: usize>(limits: [Option<u64>; N]) -> Option<u64> {
    limits.into_iter().flatten().min()
}

/// The files that a child is told of: those that it reads first, and the one that its answer is written to.
struct FilesTold {
    reads: Vec<String>,
    output: Option<String>,
    /// True if the children after it are told of the file alone.
    file_only: bool,
    /// The file in which it says how far it is.
    progress: Option<String>,
}

impl FilesTold {
    /// Reads the task's files, else the agent's. In a chain a relative path is below the folder that its steps share;
    /// elsewhere it is below the child's folder, and of what an agent usually reads only what is there is told.
    fn of(task: &Task, file: &AgentFile, folder: Option<&PathBuf>) -> Self {
        let placed = |path: &String| {
            if folder.is_none() && !Path::new(path).is_absolute() && !path.starts_with('{') {
                format!("{{chain_dir}}/{path}")
            } else {
                path.clone()
            }
        };
        let output = match task.output.as_ref().or(file.output.as_ref()) {
            Some(OutputFile::File(path)) => Some(placed(path)),
            Some(OutputFile::None) | None => None,
        };
        let is_there = |path: &&String| {
            folder.is_none_or(|folder| grove_fs::files::is_there(&folder.join(path)))
        };
        let usual = file.default_reads.iter().filter(is_there);
        Self {
            reads: match &task.reads {
                Some(reads) => reads.iter().map(placed).collect(),
                None => usual.map(placed).collect(),
            },
            output,
            file_only: task.output_mode.or(file.output_mode) == Some(OutputMode::FileOnly),
            progress: task
                .progress
                .unwrap_or(file.default_progress)
                .then(|| placed(&PROGRESS.to_owned())),
        }
    }

    /// Refuses a child that writes to a file alone and names none, or whose file it cannot write.
    fn require_output(&self, agent: &str, folder: &Path) -> Result<(), EngineError> {
        let Some(output) = &self.output else {
            let message = format!("`{agent}` has `outputMode: file-only` but no output file");
            let error = EngineError::usage(message).hint("name one as `output`");
            return if self.file_only { Err(error) } else { Ok(()) };
        };
        let whole = grove_fs::files::plain(&folder.join(output));
        if output.starts_with('{') || whole.starts_with(folder) {
            return Ok(());
        }
        let message = format!("`output` of `{agent}` is outside the folder it works in: {output}");
        let hint = "name a file below that folder, or take the answer from the run";
        Err(EngineError::usage(message).hint(hint))
    }

    /// The lines above the task.
    fn lines(&self) -> String {
        let mut lines = String::new();
        if !self.reads.is_empty() {
            let _ = writeln!(lines, "[Read from: {}]", self.reads.join(", "));
        }
        if let Some(output) = &self.output {
            let _ = writeln!(lines, "[Write to: {output}]");
        }
        if let Some(progress) = &self.progress {
            let _ = writeln!(lines, "[Progress: keep {progress} current]");
        }
        if !lines.is_empty() {
            lines.push('\n');
        }
        lines
    }
}

/// Returns the limits of one child, by its file and by the configuration.
fn limits(file: &AgentFile, settings: &Settings) -> Limits {
    let turns = file.turn_budget.as_ref();
    let calls = file.tool_budget.as_ref();
    Limits {
        max_execution_time_ms: least([
            file.max_execution_time_ms,
            settings.run_max_execution_time_ms.value,
        ]),
        max_tokens: file.max_tokens,
        tool_timeout_ms: least([file.tool_timeout_ms, settings.run_tool_timeout_ms.value]),
        model_idle_ms: settings.run_model_idle_ms.value,
        max_subagent_depth: file.max_subagent_depth,
        max_turns: turns.map(|budget| budget.max_turns),
        max_tool_calls: calls.and_then(|budget| budget.hard),
        warn_tool_calls: calls.and_then(|budget| budget.soft),
        attention: None,
    }
}

/// Returns the limits after which a person may have to look after a child, by the request and by the configuration.
fn attention(control: Option<&Control>, settings: &Settings) -> Option<AttentionLimits> {
    let usual = Control::default();
    let asked = control.unwrap_or(&usual);
    let is_on = asked.enabled.unwrap_or(settings.run_attention.value);
    let has_channel = asked
        .notify_channels
        .as_ref()
        .is_none_or(|it| !it.is_empty());
    (is_on && has_channel).then(|| AttentionLimits {
        model_ms: asked
            .needs_attention_after_ms
            .map_or(settings.run_attention_ms.value, NonZeroU64::get),
        tool_ms: asked
            .tool_needs_attention_after_ms
            .map_or(settings.run_tool_attention_ms.value, NonZeroU64::get),
        failing_edits: asked
            .failed_tool_attempts_before_attention
            .map_or(settings.run_failing_edits.value, NonZeroU64::get)
            .max(1),
    })
}

/// Fields of an agent's file that have no effect on a run, a sentence each.
fn not_used(name: &str, file: &AgentFile) -> Vec<String> {
    let budget = file.tool_budget.as_ref();
    let fields = [
        (
            budget.is_some_and(|budget| budget.block.is_some()),
            "toolBudget.block",
            "at its limit a child may call no tool, and sums up",
        ),
        (
            file.completion_guard.is_some(),
            "completionGuard",
            "words in an answer decide nothing; `acceptance` says when work counts",
        ),
    ];
    let given = fields.into_iter().filter(|field| field.0);
    let notes =
        given.map(|(_, field, why)| format!("`{field}` of agent `{name}` has no effect: {why}"));
    notes.collect()
}

/// Returns the paths that a child may read outside its work folder: its skills and their index files.
fn readable(made: &AgentPrompt) -> Vec<PathBuf> {
    let skills = made.skill_folders.iter().cloned();
    skills.chain(made.index_files()).collect()
}

/// Returns the names that stand for folders in the locations of a child's catalog.
fn location_aliases(made: &AgentPrompt) -> BTreeMap<String, PathBuf> {
    let aliases = made.location_aliases.iter();
    aliases
        .map(|alias| (alias.name.clone(), alias.folder.clone()))
        .collect()
}

/// Returns true if the person or the machine's administrator wrote it.
pub(crate) const fn is_own(source: Source) -> bool {
    matches!(source, Source::User | Source::Managed | Source::Bundled)
}
