//! Agents as prompts: what an agent is told, for a host to give to a model.
//!
//! Agents are looked for when somebody asks for prompts, not before: most clients never do.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use grove_catalog::Digest;
use grove_catalog::agents::Agent;
use grove_skills::agents::AgentLibrary;
use grove_skills::prompt::{PromptError, Told, Wishes, prompt};
use grove_skills::{Environment, Library};
use grove_spec::Diagnostic;
use grove_spec::text::{one_line, without_controls};
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptResult, JsonObject, MetaObject, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::{Value, json};

/// In front of an agent's name; the name of no other prompt begins so.
pub(crate) const PREFIX: &str = "agent:";
/// The one argument of an agent.
const TASK: &str = "task";
/// Where warnings about a prompt are.
const WARNINGS: &str = "grove/warnings";

/// Where agents are looked for, and those that were seen last.
#[derive(Debug)]
pub(crate) struct AgentShelf {
    environment: Environment,
    /// Exactly these folders; none means everywhere.
    folders: Vec<PathBuf>,
    seen: Mutex<Option<Seen>>,
}

/// Agents as they were seen.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) library: Arc<AgentLibrary>,
    /// Differs when anything about an agent that is offered does.
    pub(crate) digest: Digest,
}

impl AgentShelf {
    /// A shelf for agents of these folders.
    pub(crate) fn new(environment: Environment, folders: Vec<PathBuf>) -> Self {
        Self {
            environment,
            folders,
            seen: Mutex::default(),
        }
    }

    /// Whether somebody has asked for agents.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.seen().is_some()
    }

    /// Looks for agents.
    pub(crate) fn look(&self) -> Seen {
        let library = Arc::new(AgentLibrary::load(&self.environment, &self.folders));
        let digest = digest_of(&library);
        let seen = Seen { library, digest };
        *self.seen() = Some(seen.clone());
        seen
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Option<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest_of(library: &AgentLibrary) -> Digest {
    let mut all = String::new();
    for (name, agent) in offered(library) {
        all.push_str(&name);
        let content = agent.content.as_ref().map(|content| content.digest);
        all.push_str(&content.map_or_else(String::new, |digest| format!("\n{digest}\n")));
    }
    Digest::of(all.as_bytes())
}

/// The agents that are used, by the name of their prompt. What is not trusted, not readable or switched off is
/// not offered, and of several of one name the one that is used.
pub(crate) fn offered(library: &AgentLibrary) -> BTreeMap<String, &Agent> {
    let usable = |agent: &&Agent| agent.state.is_offered();
    let agents = library.agents.agents.iter().filter(usable);
    agents
        .map(|agent| (format!("{PREFIX}{}", one_line(&agent.name)), agent))
        .collect()
}

/// An agent as an entry of a list.
pub(crate) fn entry(name: &str, agent: &Agent) -> Prompt {
    let task = PromptArgument::new(TASK)
        .with_description("what the agent is to do")
        .with_required(false);
    Prompt::new(name, agent.description().map(one_line), Some(vec![task]))
}

/// What an agent is told, exactly as `grove prompt` prints it, and then its task.
pub(crate) fn get(
    library: &mut Library,
    agents: &AgentLibrary,
    agent: &Agent,
    given: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let task = task(given)?;
    let Told { prompt: told, .. } =
        prompt(library, agents, agent, &Wishes::default()).map_err(|error| refusal(&error))?;
    let text = without_controls(&told.text).into_owned();
    let mut messages = vec![PromptMessage::new_text(Role::User, text)];
    messages.extend(task.map(|task| PromptMessage::new_text(Role::User, task)));
    let mut result = GetPromptResult::new(messages);
    if let Some(description) = agent.description() {
        result = result.with_description(one_line(description));
    }
    result.meta = warnings_meta(&told.warnings);
    Ok(result)
}

/// Warnings about a prompt, for the host and not for the model: what they quote may be a stranger's.
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

fn task(given: Option<&JsonObject>) -> Result<Option<String>, ErrorData> {
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

fn refusal(error: &PromptError) -> ErrorData {
    ErrorData::internal_error(format!("{error}; ask again"), None)
}
