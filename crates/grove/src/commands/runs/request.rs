//! From what was typed to a child with everything found about it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use grove_model::Providers;
use grove_plan::{Limits, Request as RunRequest, TreeLimits, parse_request};
use grove_runs::{ChildRequest, Recording, SubmitError};
use grove_skills::prompt::{PromptOptions, prompt};
use grove_skills::{Environment, Library, LookAgain as _, Parts, Request};
use grove_spec::Diagnostic;
use serde_json::Value;

use crate::args::RunArgs;
use crate::command_error::CommandError;
use crate::commands::{agents, input_text, prompt::require_usable};

/// Bytes of a request or a schema that are read.
const MAX_REQUEST: u64 = 4 << 20;
/// The model of a recording that nobody named.
const RECORDED: &str = "recorded/model";

/// A child that can be submitted.
pub(super) struct ResolvedChild {
    pub(super) request: ChildRequest,
    pub(super) warnings: Vec<Diagnostic>,
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
    variables: &BTreeMap<String, String>,
    surroundings: &str,
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
    let (address, agent, made) = library.look_until_steady(|look| {
        let all = &look.snapshot.agents;
        let agent = agents::find(all, &asked.agent)?;
        require_usable(all, agent)?;
        let made = prompt(&look.snapshot, &look.sources, agent, &options)?;
        Ok::<_, CommandError>((all.address(agent), agent.clone(), made))
    })?;
    made.write_index()?;
    let file = agent.file();
    let recording = recording(environment, arguments);
    let models = models_of(
        &asked,
        file.and_then(|file| file.model.as_deref()),
        recording.as_ref(),
        variables,
    )?;
    let readable = made
        .prompt
        .blocks
        .iter()
        .filter_map(|block| block.source.as_ref()?.parent().map(PathBuf::from));
    Ok(ResolvedChild {
        warnings: made.prompt.warnings.clone(),
        request: ChildRequest {
            agent: agent.name.clone(),
            address,
            task: asked.task,
            prompt: made.prompt.text.clone(),
            tools: file.and_then(|file| file.tools.clone()),
            models,
            fallback_after_writes: false,
            folder,
            readable: readable.collect(),
            limits: Limits::default(),
            tree: TreeLimits {
                timeout_ms: asked.timeout_ms,
                max_tokens: asked.max_tokens,
            },
            output_schema: asked.output_schema,
            submit_key: asked.submit_key,
            background: asked.background,
            recording,
            surroundings: surroundings.to_owned(),
        },
    })
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

/// The model, by the order in which one is chosen; what to do when there is none.
fn models_of(
    asked: &RunRequest,
    of_agent: Option<&str>,
    recording: Option<&Recording>,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<String>, CommandError> {
    let named = asked.model.as_deref().or(of_agent);
    if matches!(recording, Some(Recording::Replay { .. })) {
        return Ok(vec![named.unwrap_or(RECORDED).to_owned()]);
    }
    let providers = Providers::new(Vec::new(), variables);
    if providers.ready().next().is_none() {
        return Err(
            CommandError::finding("there is no provider to ask a model of").hints([
                "set ANTHROPIC_API_KEY, and ANTHROPIC_BASE_URL for another address".to_owned(),
                "or play a recording with --replay FILE".to_owned(),
            ]),
        );
    }
    let Some(name) = named else {
        return Err(CommandError::usage("no model is named")
            .hint("give --model anthropic/ID, or `model:` in the agent's file"));
    };
    let found = providers.find(name, None);
    let found = found.map_err(|error| CommandError::usage(error.to_string()))?;
    Ok(vec![found.name()])
}
