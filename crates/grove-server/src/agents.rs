//! Agents as prompts: the assembled prompt of an agent, for a host to give to a model.

use std::collections::BTreeMap;
use std::path::PathBuf;

use grove_catalog::agents::{Agent, Agents};
use grove_catalog::entry::Entry as _;
use grove_skills::Discovery;
use grove_skills::prompt::{PromptError, PromptOptions, prompt};
use grove_spec::Diagnostic;
use grove_spec::text::{one_line, without_controls};
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptResult, JsonObject, MetaObject, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::{Value, json};

use crate::served_library::ServedLibrary;

/// The prefix of an agent's name; the name of no other prompt begins so.
pub(crate) const PREFIX: &str = "agent:";
const TASK: &str = "task";
const WARNINGS: &str = "grove/warnings";

/// Returns the agents that are offered, by the name of their prompt. An agent that is not trusted, not readable or
/// switched off is not offered, and of several of one name only the one that is used.
pub(crate) fn offered(agents: &Agents) -> BTreeMap<String, &Agent> {
    let usable = |agent: &&Agent| agent.state.is_offered();
    let agents = agents.all.iter().filter(usable);
    agents
        .map(|agent| (format!("{PREFIX}{}", one_line(&agent.name)), agent))
        .collect()
}

pub(crate) fn entry(name: &str, agent: &Agent) -> Prompt {
    let task = task_argument("what the agent should do");
    Prompt::new(name, agent.description().map(one_line), Some(vec![task]))
}

pub(crate) fn task_argument(description: &str) -> PromptArgument {
    let task = PromptArgument::new(TASK).with_description(description);
    task.with_required(false)
}

/// Returns the prompt of an agent, exactly as `grove prompt` prints it, and then its task.
pub(crate) fn get(
    library: &ServedLibrary,
    discovery: &Discovery,
    name: &str,
    given: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let task = task(given)?;
    let make = |discovery: &Discovery| {
        let agents = &discovery.snapshot.agents;
        let gone = || PromptError::FileChanged(PathBuf::from(name));
        let at = agents.find(name).map_err(|_| gone())?;
        let agent = agents.all.get(at).ok_or_else(gone)?;
        let options = PromptOptions::default();
        let made = prompt(&discovery.snapshot, &discovery.sources, agent, &options)?;
        Ok::<_, PromptError>((made, agent.description().map(one_line)))
    };
    let made = library.fresh_from(discovery, make);
    let (made, description) = made.map_err(|error| refusal(&error))?;
    made.write_index().map_err(|error| refusal(&error))?;
    let text = without_controls(&made.prompt.text).into_owned();
    let mut messages = vec![PromptMessage::new_text(Role::User, text)];
    messages.extend(task.map(|task| PromptMessage::new_text(Role::User, task)));
    let mut result = GetPromptResult::new(messages);
    if let Some(description) = description {
        result = result.with_description(description);
    }
    result.meta = warnings_meta(&made.prompt.warnings);
    Ok(result)
}

/// Returns warnings about a prompt, for the host and not for the model: they may quote a stranger's text.
pub(crate) fn warnings_meta(warnings: &[Diagnostic]) -> Option<MetaObject> {
    if warnings.is_empty() {
        return None;
    }
    let warnings = warnings.iter().map(|warning| {
        json!({
            "code": warning.code.as_str(),
            "severity": warning.severity.as_str(),
            "message": one_line(&warning.message),
            "help": one_line(warning.help_text()),
            "file": warning.file.as_ref().map(|file| one_line(&file.to_string_lossy())),
        })
    });
    let mut meta = JsonObject::new();
    meta.insert(WARNINGS.to_owned(), Value::Array(warnings.collect()));
    Some(MetaObject(meta))
}

pub(crate) fn task(given: Option<&JsonObject>) -> Result<Option<String>, ErrorData> {
    let invalid = |message: String| Err(ErrorData::invalid_params(message, None));
    let mut task = None;
    for (name, value) in given.into_iter().flatten() {
        match (name.as_str(), value) {
            (TASK, Value::String(text)) => {
                let text = without_controls(text).trim().to_owned();
                task = Some(text).filter(|text| !text.is_empty());
            }
            (TASK, Value::Null) => {}
            (TASK, _) => return invalid(format!("the argument `{TASK}` is not text")),
            (other, _) => {
                return invalid(format!("there is no argument `{}`", one_line(other)));
            }
        }
    }
    Ok(task)
}

fn refusal(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::internal_error(format!("{error}; ask again"), None)
}
