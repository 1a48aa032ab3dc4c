//! The order for a run: a request as it was read, with what the caller decides beside it.

use std::path::PathBuf;

use crate::models::Recording;
use grove_plan::{Request, parse_request};
use grove_spec::Diagnostic;
use grove_spec::chain::{self, ChainStep};
use serde_json::Value;

use crate::error::EngineError;

/// A request for a run, with what its caller decides.
#[derive(Debug, Clone, Default)]
pub struct RunOrder {
    /// The request, in the format `grove.request/1`.
    pub request: Request,
    /// Its steps; none for a saved chain, whose steps are in a file.
    pub steps: Option<Vec<ChainStep>>,
    /// True if its steps can name one another's answers.
    pub is_chain: bool,
    /// The largest number of tasks in a step; none for the configuration's.
    pub max_tasks: Option<u64>,
    /// True if a model wrote the request. Its words lead to no file outside the folder and start no program.
    pub is_by_model: bool,
    /// The model of the host's conversation, used where nothing else names one.
    pub parent_model: Option<String>,
    /// The name of the client that asks; none for a person and for a child.
    pub client: Option<String>,
    /// The id of the host's conversation.
    pub session: Option<String>,
    /// The recording of model answers to write or to replay.
    pub recording: Option<Recording>,
    /// True if working trees begin with the files as they are now instead of a commit.
    pub include_changes: bool,
    /// The level of acceptance that a person typed.
    pub accept: Option<String>,
    /// Commands that a person typed, each of which has to succeed afterwards.
    pub verify: Vec<String>,
    /// Digests of commands and programs that a person approves with this run.
    pub approve: Vec<String>,
}

impl RunOrder {
    /// Reads a request in JSON. All mistakes in it are in the error.
    pub fn of_json(value: &Value) -> Result<Self, EngineError> {
        let request = parse_request(value).map_err(|findings| all_wrong(&findings))?;
        let steps = request.steps().map_err(|findings| all_wrong(&findings))?;
        Ok(Self {
            is_chain: request.chain.is_some() || request.chain_name.is_some(),
            request,
            steps,
            ..Self::default()
        })
    }

    /// An order for a saved chain.
    pub fn of_saved_chain(name: &str, task: &str) -> Self {
        Self {
            request: Request {
                chain_name: Some(name.to_owned()),
                task: task.to_owned(),
                ..Request::default()
            },
            is_chain: true,
            ..Self::default()
        }
    }

    /// An order for steps in sequence; `task` is `{task}` in their texts.
    pub fn of_steps(
        steps: Vec<ChainStep>,
        task: String,
        is_chain: bool,
    ) -> Result<Self, EngineError> {
        if is_chain {
            let wrong = chain::wrong_references(&steps);
            if !wrong.is_empty() {
                return Err(all_wrong(&wrong));
            }
        }
        Ok(Self {
            request: Request {
                task,
                ..Request::default()
            },
            steps: Some(steps),
            is_chain,
            ..Self::default()
        })
    }

    /// An order for one agent and its task.
    pub fn of_task(agent: &str, task: &str) -> Self {
        let step = chain::ChainTask {
            agent: agent.to_owned(),
            task: Some(task.to_owned()),
            ..chain::ChainTask::default()
        };
        Self {
            request: Request {
                task: task.to_owned(),
                ..Request::default()
            },
            steps: Some(vec![ChainStep::One(Box::new(step))]),
            ..Self::default()
        }
    }

    /// The same order with a folder to work in.
    #[must_use]
    pub fn in_folder(mut self, folder: PathBuf) -> Self {
        self.request.cwd = Some(folder);
        self
    }
}

/// One error of several findings.
pub(crate) fn all_wrong(findings: &[Diagnostic]) -> EngineError {
    let messages: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
    let hints = findings.iter().map(|it| it.help_text().to_owned());
    EngineError::usage(messages.join("; ")).hints(hints.collect::<Vec<_>>())
}
