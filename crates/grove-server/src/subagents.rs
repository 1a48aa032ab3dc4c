//! The tool `subagent`: the interface to runs that the server needs, and the answers to calls of the tool.
//!
//! The server owns no run. The implementation of [`Subagents`] submits runs to the journal, where a supervisor finds them;
//! this module waits for their results, sends progress and handles cancelled calls. The end of the server ends only the
//! waiting, not the runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grove_spec::text::{one_line, without_controls};
use rmcp::model::{
    CallToolResult, ContentBlock, JsonObject, MetaObject, ProgressNotificationParam, RequestId,
    Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::time::Instant;

use crate::host_facts::HostFacts;

/// The key of `_meta` for the facts of a run for programs, beside the text for models.
const RUN_META: &str = "grove/run";
/// The time between two checks for a new version of the journal.
const POLL: Duration = Duration::from_millis(25);
/// The longest time between two looks at a run even if the journal is unchanged: a look also ensures that the work goes on.
const LOOK: Duration = Duration::from_secs(2);

/// The interface to runs that the server needs.
pub trait Subagents: Send + Sync {
    /// Returns the tool as a host offers it to its model: its name, its purpose, and the schema of its arguments.
    fn tool(&self) -> (&'static str, String, Value);

    /// Does what a call asks for, or returns the run that is to be waited for. It may touch files but does not wait.
    fn call(&self, call: &SubagentCall) -> Result<Called, String>;

    /// Returns the state of a run that is waited for. `is_last` demands an answer even if nothing has happened.
    fn look(&self, awaited: &mut AwaitedRun, is_last: bool) -> Result<Waited, String>;

    /// Handles that the caller who waited for the run has cancelled the call.
    fn cancelled(&self, run: &str);

    /// Returns a number that changes with the journal.
    fn version(&self) -> u64;

    /// Returns a run as a resource: its JSON, and a number that changes when the run does.
    fn resource(&self, run: &str) -> Option<(String, u64)>;
}

/// A call of the tool.
#[derive(Debug, Clone)]
pub struct SubagentCall {
    /// The arguments of the call.
    pub arguments: JsonObject,
    /// The facts about the host that made it.
    pub host: HostFacts,
}

/// The immediate outcome of a call.
#[derive(Debug)]
pub enum Called {
    /// The whole answer to the call.
    Done(SubagentAnswer),
    /// A run that is waited for.
    Awaits(AwaitedRun),
}

/// A run that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedRun {
    /// The id of the run.
    pub run: String,
    /// The token of the run's owner, if the caller gave it or gets it with this answer.
    pub token: Option<String>,
    /// The text above the answer.
    pub preface: String,
    /// The longest time to wait.
    pub limit: Duration,
    /// The number of the last event that was reported to the caller.
    pub told: u64,
    /// True if cancelling the call also stops the run.
    pub stops_with_call: bool,
}

/// The state of a run that is waited for.
#[derive(Debug)]
pub enum Waited {
    /// The run is over, or it waits for an answer from outside.
    Over(SubagentAnswer),
    /// The run goes on; the text is its last event, if one is new.
    GoesOn(Option<String>),
}

/// An answer of the tool `subagent`.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentAnswer {
    /// The text for the model.
    pub text: String,
    /// True if the call failed.
    pub is_error: bool,
    /// The facts for programs.
    pub data: Option<Value>,
}

impl SubagentAnswer {
    /// Returns an answer with this text and nothing else.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
            data: None,
        }
    }

    fn into_result(self) -> CallToolResult {
        let content = vec![ContentBlock::text(
            without_controls(&self.text).into_owned(),
        )];
        let mut result = if self.is_error {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        };
        if let Some(data) = self.data {
            let mut meta = MetaObject::default();
            meta.insert(RUN_META.to_owned(), data);
            result.meta = Some(meta);
        }
        result
    }
}

/// The calls of one connection that are under way.
#[derive(Debug, Default)]
pub(crate) struct UnderWay(Mutex<BTreeMap<String, CallState>>);

/// The progress of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CallState {
    /// The call has begun, and its outcome is not known yet.
    Begun,
    /// The call waits for a run that stops with it.
    Awaits(String),
    /// The caller has cancelled the call.
    Cancelled,
}

impl UnderWay {
    fn calls(&self) -> MutexGuard<'_, BTreeMap<String, CallState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a call as cancelled, and returns the run that stops with it.
    pub(crate) fn cancel(&self, call: &RequestId) -> Option<String> {
        let mut calls = self.calls();
        let state = calls.get_mut(&call.to_string())?;
        match std::mem::replace(state, CallState::Cancelled) {
            CallState::Awaits(run) => Some(run),
            CallState::Begun | CallState::Cancelled => None,
        }
    }

    /// Marks a call as waiting for a run that stops with it. Returns true if it was cancelled before the run was known.
    fn awaits(&self, call: &str, run: &str) -> bool {
        let mut calls = self.calls();
        let state = calls.get_mut(call);
        let is_cancelled = state.as_deref() == Some(&CallState::Cancelled);
        if let Some(state) = state {
            *state = CallState::Awaits(run.to_owned());
        }
        is_cancelled
    }
}

/// A guard that keeps a call under way until it is dropped.
struct Entered<'a> {
    under_way: &'a UnderWay,
    call: String,
}

impl<'a> Entered<'a> {
    fn new(under_way: &'a UnderWay, call: &RequestId) -> Self {
        let call = call.to_string();
        under_way.calls().insert(call.clone(), CallState::Begun);
        Self { under_way, call }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut calls = self.under_way.calls();
        // A cancellation may arrive after this, and it has to find the run here.
        if !matches!(calls.get(&self.call), Some(CallState::Awaits(_))) {
            calls.remove(&self.call);
        }
    }
}

/// Returns the tool as it is listed.
pub(crate) fn tool(subagents: &dyn Subagents) -> Tool {
    let (name, description, schema) = subagents.tool();
    let schema = match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    let annotations = ToolAnnotations::with_title("Delegate to other agents")
        .read_only(false)
        .destructive(true)
        .idempotent(false)
        .open_world(true);
    Tool::new(name, description, schema).with_annotations(annotations)
}

/// Answers a call of the tool.
pub(crate) async fn answer(
    subagents: &Arc<dyn Subagents>,
    under_way: &UnderWay,
    arguments: Option<JsonObject>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let mut arguments = arguments.unwrap_or_default();
    // Some hosts send every parameter, with null for those that were left out.
    arguments.retain(|_, value| !value.is_null());
    let call = SubagentCall {
        host: HostFacts::of(context, &arguments),
        arguments,
    };
    let begun = Instant::now();
    let entered = Entered::new(under_way, &context.id);
    let calling = Arc::clone(subagents);
    // The call is finished even if the client has left: a run that was submitted has to be known by name.
    let called = blocking(move || calling.call(&call)).await?;
    let awaited = match called {
        Ok(Called::Done(answer)) => return Ok(answer.into_result()),
        Ok(Called::Awaits(awaited)) => awaited,
        Err(message) => return Ok(failed(message)),
    };
    let run = awaited.run.clone();
    if awaited.stops_with_call && under_way.awaits(&entered.call, &run) {
        let stopping = Arc::clone(subagents);
        blocking(move || stopping.cancelled(&run)).await?;
    }
    let waited = wait(subagents, awaited, begun, context).await?;
    under_way.calls().remove(&entered.call);
    Ok(waited.map_or_else(failed, SubagentAnswer::into_result))
}

fn failed(message: String) -> CallToolResult {
    let answer = SubagentAnswer {
        text: message,
        is_error: true,
        data: None,
    };
    answer.into_result()
}

async fn wait(
    subagents: &Arc<dyn Subagents>,
    mut awaited: AwaitedRun,
    begun: Instant,
    context: &RequestContext<RoleServer>,
) -> Result<Result<SubagentAnswer, String>, ErrorData> {
    let until = begun + awaited.limit;
    let (mut version, mut last_look) = (None, begun);
    loop {
        let now = Instant::now();
        let is_last = now >= until;
        let news = Some(subagents.version());
        if news != version || is_last || now.duration_since(last_look) >= LOOK {
            (version, last_look) = (news, now);
            let looking = Arc::clone(subagents);
            let mut asked = awaited.clone();
            let looked = blocking(move || {
                let waited = looking.look(&mut asked, is_last);
                waited.map(|waited| (asked, waited))
            });
            match looked.await? {
                Ok((_, Waited::Over(answer))) => return Ok(Ok(answer)),
                Ok((told, Waited::GoesOn(line))) => {
                    awaited = told;
                    if let Some(line) = line {
                        tell_progress(context, awaited.told, &line).await;
                    }
                }
                Err(message) => return Ok(Err(message)),
            }
        }
        tokio::select! {
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the request was cancelled", None));
            }
            () = tokio::time::sleep_until(until.min(Instant::now() + POLL)) => {}
        }
    }
}

/// Sends the progress of a run to a client that asked for it: the number and the text of its last event.
async fn tell_progress(context: &RequestContext<RoleServer>, seq: u64, line: &str) {
    let Some(token) = context.meta.get_progress_token() else {
        return;
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "events are far fewer than a float counts exactly"
    )]
    let param = ProgressNotificationParam::new(token, seq as f64);
    // A client that cannot take the notification still gets its result.
    let _ = context
        .peer
        .notify_progress(param.with_message(one_line(line)))
        .await;
}

async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ErrorData> {
    let done = tokio::task::spawn_blocking(act).await;
    done.map_err(|_| ErrorData::internal_error("the work failed", None))
}
