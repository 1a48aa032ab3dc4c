//! From what was typed to a child with everything found about it.

use std::path::PathBuf;

use grove_catalog::prompt::BlockKind;
use grove_catalog::snapshot::Snapshot;
use grove_plan::{Limits, Request as RunRequest, TreeLimits, parse_request};
use grove_runs::{ChildRequest, Recording, SubmitError};
use grove_skills::prompt::{AgentPrompt, PromptOptions, prompt};
use grove_skills::{Environment, Library, LookAgain as _, Parts, Request};
use grove_spec::Diagnostic;
use grove_spec::agent::{Agent as AgentFile, ContextMode};
use grove_spec::config::Settings;
use serde_json::Value;

use super::model_settings::{ModelSettings, WantedModels};
use crate::args::RunArgs;
use crate::command_error::CommandError;
use crate::commands::{agents, engines, input_text, prompt::require_usable};

/// Bytes of a request or a schema that are read.
const MAX_REQUEST: u64 = 4 << 20;

/// A child that can be submitted.
pub(super) struct ResolvedChild {
    pub(super) request: ChildRequest,
    pub(super) warnings: Vec<Diagnostic>,
    /// What people should know about how it is run.
    pub(super) notes: Vec<String>,
}

impl From<SubmitError> for CommandError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Refused { message, help } => Self::usage(message).hint(help),
            SubmitError::Store(error) => error.into(),
        }
    }
}

/// Finds the agent, its prompt and its model.
pub(super) fn resolve(
    environment: &Environment,
    arguments: &RunArgs,
) -> Result<ResolvedChild, CommandError> {
    let asked = asked_for(environment, arguments)?;
    let folder = match &asked.cwd {
        Some(folder) => environment.working.join(folder),
        None => environment.working.clone(),
    };
    if !grove_fs::files::is_folder(&folder) {
        let message = format!("there is no folder {}", folder.display());
        return Err(CommandError::usage(message));
    }
    let there = Environment {
        working: folder.clone(),
        ..environment.clone()
    };
    let request = Request {
        parts: Parts::PROMPTS,
        ..Request::default()
    };
    let mut library = Library::new(there, request);
    let options = PromptOptions {
        asked: Some(asked.agent.clone()),
        ..PromptOptions::default()
    };
    let (look, address, agent, made) = library.look_until_steady(|look| {
        let all = &look.snapshot.agents;
        let agent = agents::find(all, &asked.agent)?;
        require_usable(all, agent)?;
        let made = prompt(&look.snapshot, &look.sources, agent, &options)?;
        Ok::<_, CommandError>((look.clone(), all.address(agent), agent.clone(), made))
    })?;
    made.write_index()?;
    let settings = &look.world.settings.settings;
    let usual = AgentFile::default();
    let file = agent.file().unwrap_or(&usual);
    let recording = recording(environment, arguments);
    let models = ModelSettings::of(environment, settings);
    let engine = engines::choose(
        environment,
        &models.providers(),
        asked
            .engine
            .clone()
            .or_else(|| file.engine.as_ref().map(ToString::to_string))
            .or_else(|| settings.run_engine.value.clone())
            .as_deref(),
        recording.is_some(),
    )?;
    if engine.program.is_some() && (recording.is_some() || asked.output_schema.is_some()) {
        let message = format!("engine `{}` takes no recording and no schema", engine.name);
        return Err(CommandError::usage(message).hint("choose `--engine native` for that"));
    }
    let wanted = WantedModels {
        named: asked
            .model
            .as_deref()
            .or(file.model.as_deref())
            .or(settings.run_model.value.as_deref()),
        fallbacks: &file.fallback_models,
        thinking: file.thinking.as_deref(),
    };
    let chosen = match engine.program {
        Some(_) => models.choose_for_program(&wanted),
        None => models.choose(&wanted, recording.as_ref())?,
    };
    let mut notes = chosen.notes;
    notes.extend(engine.note);
    notes.extend(not_used(&agent.name, file));
    Ok(ResolvedChild {
        warnings: made.prompt.warnings.clone(),
        notes,
        request: ChildRequest {
            agent: agent.name.clone(),
            address,
            task: asked.task,
            prompt: made.prompt.text.clone(),
            tools: made.prompt.tools.clone(),
            engine: engine.name,
            program: engine.program,
            models: chosen.names,
            fallback_after_writes: file.fallback_after_writes,
            readable: readable(&look.snapshot, &made),
            folder,
            limits: limits(file, settings),
            tree: TreeLimits {
                timeout_ms: least([
                    asked.timeout_ms,
                    file.timeout_ms,
                    settings.run_timeout_ms.value,
                ]),
                max_tokens: least([asked.max_tokens, settings.run_max_tokens.value]),
            },
            output_schema: asked.output_schema,
            submit_key: asked.submit_key,
            background: asked.background
                || file.background.unwrap_or(settings.run_in_background.value),
            recording,
            surroundings: models.surroundings(),
        },
    })
}

/// The least of the limits that there are.
fn least<const N: usize>(limits: [Option<u64>; N]) -> Option<u64> {
    limits.into_iter().flatten().min()
}

/// What one child may spend, by its file and by the configuration.
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
        max_turns: turns.map(|budget| budget.max_turns),
        max_tool_calls: calls.and_then(|budget| budget.hard),
        warn_tool_calls: calls.and_then(|budget| budget.soft),
    }
}

/// Fields of an agent that mean something for a run and are not heeded yet, in one sentence.
fn not_used(name: &str, file: &AgentFile) -> Option<String> {
    let block = file.tool_budget.as_ref();
    let block = block.is_some_and(|budget| budget.block.is_some());
    let fields = [
        ("acceptance", file.acceptance.is_some()),
        ("defaultReads", !file.default_reads.is_empty()),
        ("defaultProgress", file.default_progress),
        ("output", file.output.is_some()),
        ("toolBudget.block", block),
        (
            "defaultContext: fork",
            file.default_context == Some(ContextMode::Fork),
        ),
    ];
    let unused = fields.iter().filter(|(_, is_set)| *is_set);
    let unused: Vec<String> = unused.map(|(field, _)| format!("`{field}`")).collect();
    (!unused.is_empty()).then(|| {
        format!(
            "{} of agent `{name}` has no effect on a run yet",
            unused.join(", ")
        )
    })
}

/// What a child may read outside its work folder: its skills and their index files.
fn readable(snapshot: &Snapshot, made: &AgentPrompt) -> Vec<PathBuf> {
    let prompt = &made.prompt;
    let has_catalog = prompt
        .blocks
        .iter()
        .any(|block| block.kind == BlockKind::Catalog);
    let is_told =
        |address: &String| prompt.active.contains(address) || prompt.listed.contains(address);
    let skills = snapshot.skills.iter().filter(|skill| {
        let is_in_catalog = has_catalog && skill.state.is_offered();
        is_in_catalog || is_told(&snapshot.address(skill))
    });
    let folders = skills.map(|skill| {
        let file = snapshot.location(&skill.place);
        match (file.file_name(), file.parent()) {
            // A skill that is one file has no folder of its own.
            (Some(name), Some(folder)) if name == "SKILL.md" => folder.to_path_buf(),
            _ => file,
        }
    });
    folders.chain(made.index_files()).collect()
}

/// What was asked for, typed or in a file.
fn asked_for(environment: &Environment, arguments: &RunArgs) -> Result<RunRequest, CommandError> {
    let read_json = |path: &std::path::Path, what: &str| -> Result<Value, CommandError> {
        let read = input_text::read(environment, path, MAX_REQUEST, what)?;
        serde_json::from_str(&read.text)
            .map_err(|error| CommandError::usage(format!("{what} is no JSON: {error}")))
    };
    let mut asked = match &arguments.request {
        Some(file) => {
            let value = read_json(file, "the request")?;
            parse_request(&value).map_err(|findings| {
                let messages: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
                let hints = findings.iter().map(|it| it.help_text().to_owned());
                CommandError::usage(messages.join("; ")).hints(hints.collect::<Vec<_>>())
            })?
        }
        None => RunRequest {
            agent: arguments.agent.clone().unwrap_or_default(),
            task: arguments.task.clone().unwrap_or_default(),
            ..RunRequest::default()
        },
    };
    if asked.task.trim().is_empty() {
        return Err(CommandError::usage("the task is empty").hint("say what the agent is to do"));
    }
    asked.model = arguments.model.clone().or(asked.model);
    asked.engine = arguments.engine.clone().or(asked.engine);
    asked.cwd = arguments.cwd.clone().or(asked.cwd);
    asked.timeout_ms = arguments
        .timeout
        .map(|it| it.saturating_mul(1_000))
        .or(asked.timeout_ms);
    asked.max_tokens = arguments.max_tokens.or(asked.max_tokens);
    asked.background |= arguments.background;
    if let Some(file) = &arguments.schema {
        asked.output_schema = Some(read_json(file, "the schema")?);
    }
    Ok(asked)
}

fn recording(environment: &Environment, arguments: &RunArgs) -> Option<Recording> {
    let replay = arguments.replay.as_ref().map(|file| Recording::Replay {
        file: environment.working.join(file),
        strict: arguments.strict,
    });
    let record = arguments.record.as_ref();
    replay.or_else(|| record.map(|file| Recording::Record(environment.working.join(file))))
}
