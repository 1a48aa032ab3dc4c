//! The order for a run as it is typed: words, options and files.

use std::path::Path;

use grove_engine::RunOrder;
use grove_engine::view::Recording;
use grove_skills::Environment;
use grove_spec::money::millionths;
use serde_json::Value;

use super::typed_texts::TypedTexts;
use super::words;
use crate::args::RunArgs;
use crate::command_error::CommandError;
use crate::commands::input_text;

const MAX_REQUEST: u64 = 4 << 20;

pub(super) fn order(
    environment: &Environment,
    arguments: &RunArgs,
) -> Result<RunOrder, CommandError> {
    let read_json = |path: &Path, what: &str| -> Result<Value, CommandError> {
        let read = input_text::read(environment, path, MAX_REQUEST, what)?;
        serde_json::from_str(&read.text)
            .map_err(|error| CommandError::usage(format!("{what} is not JSON: {error}")))
    };
    let order = match &arguments.request {
        Some(file) => RunOrder::of_json(&read_json(file, "the request")?)?,
        None => typed(arguments, TypedTexts::read(environment, arguments)?)?,
    };
    let mut order = RunOrder {
        max_tasks: arguments.max_tasks,
        recording: recording(environment, arguments),
        include_changes: arguments.include_changes,
        accept: arguments.accept.clone(),
        verify: arguments.verify.clone(),
        approve: arguments.approve.clone(),
        ..order
    };
    let request = &mut order.request;
    request.model = arguments.model.clone().or(request.model.take());
    request.engine = arguments.engine.clone().or(request.engine.take());
    request.cwd = arguments.cwd.clone().or(request.cwd.take());
    request.timeout_ms = arguments
        .timeout
        .map(|it| it.saturating_mul(1_000))
        .or(request.timeout_ms);
    request.max_tokens = arguments.max_tokens.or(request.max_tokens);
    if let Some(amount) = arguments.max_cost {
        let cost = millionths(amount);
        request.max_cost = Some(
            cost.ok_or_else(|| CommandError::usage("`--max-cost` must be an amount above zero"))?,
        );
    }
    if let Some(session) = &arguments.fork {
        request.context = Some(format!("fork:{session}"));
    }
    request.session_dir = arguments.session_dir.clone().or(request.session_dir.take());
    request.concurrency = arguments.concurrency.or(request.concurrency);
    request.worktree = arguments.worktree.then_some(true).or(request.worktree);
    request.base_ref = arguments.base_ref.clone().or(request.base_ref.take());
    request.background |= arguments.background;
    if let Some(file) = &arguments.schema {
        request.output_schema = Some(read_json(file, "the schema")?);
    }
    Ok(order)
}

fn typed(arguments: &RunArgs, texts: TypedTexts) -> Result<RunOrder, CommandError> {
    let grammar = "`grove run AGENT \"task\"`, `… '->' AGENT`, `… , AGENT \"task\"`";
    let TypedTexts { words, items } = texts;
    if let Some(name) = &arguments.chain {
        let [task] = words.as_slice() else {
            let message = "a saved chain takes one task";
            return Err(
                CommandError::usage(message).hint("`grove run --chain NAME \"task\"`, in quotes")
            );
        };
        return Ok(RunOrder::of_saved_chain(name, task));
    }
    let typed = words::parse(&words);
    let mut typed = typed.map_err(|error| error.hint(format!("as {grammar}")))?;
    if let Some(items) = items {
        let typed = typed.for_each(items);
        let hint = "`grove run AGENT \"Look at {item}\" --each FILES`";
        typed.map_err(|error| error.hint(hint))?;
    }
    RunOrder::of_steps(typed.steps, typed.task, typed.is_chain)
}

fn recording(environment: &Environment, arguments: &RunArgs) -> Option<Recording> {
    let replay = arguments.replay.as_ref().map(|file| Recording::Replay {
        file: environment.working.join(file),
        strict: arguments.strict,
    });
    let record = arguments.record.as_ref();
    replay.or_else(|| record.map(|file| Recording::Record(environment.working.join(file))))
}
