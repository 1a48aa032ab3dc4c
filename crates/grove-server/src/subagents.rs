//! The tool `subagent`: calls of it are answered by the engine.
//!
//! The server owns no run. The engine submits them to the journal, where a supervisor finds them; the server waits for
//! their results, tells of progress and hears cancelled calls. Ending the server ends nothing but the waiting.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grove_engine::view::subagent_tool::{self, Caller};
use grove_engine::{AwaitedRun, Called, Engine, SubagentAnswer, SubagentCall, Waited};
use grove_spec::text::{one_line, without_controls};
use rmcp::model::{
    CallToolResult, ContentBlock, JsonObject, MetaObject, ProgressNotificationParam, RequestId,
    Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::time::Instant;

use crate::host_facts::host_facts;

/// The key of `_meta` for the facts of a run for programs, beside the text for models.
const RUN_META: &str = "grove/run";
/// The time between two checks for a new version of the journal.
const POLL: Duration = Duration::from_millis(25);
/// The longest time between two checks of a run even if the journal is unchanged: a check also ensures that the work goes on.
const RUN_CHECK: Duration = Duration::from_secs(2);

fn into_result(answer: &SubagentAnswer) -> CallToolResult {
    let content = vec![ContentBlock::text(
        without_controls(&answer.text()).into_owned(),
    )];
    let mut result = if answer.is_error() {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    if let Some(data) = answer.data() {
        let mut meta = MetaObject::default();
        meta.insert(RUN_META.to_owned(), data);
        result.meta = Some(meta);
    }
    result
}

#[derive(Debug, Default)]
pub(crate) struct RunningCalls(Mutex<BTreeMap<String, CallProgress>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum CallProgress {
    Begun,
    /// The call waits for a run that stops with it.
    Awaits(String),
    Cancelled,
}

impl RunningCalls {
    fn calls(&self) -> MutexGuard<'_, BTreeMap<String, CallProgress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a call as cancelled, and returns the run that stops with it.
    pub(crate) fn cancel(&self, call: &RequestId) -> Option<String> {
        let mut calls = self.calls();
        let state = calls.get_mut(&call.to_string())?;
        match std::mem::replace(state, CallProgress::Cancelled) {
            CallProgress::Awaits(run) => Some(run),
            CallProgress::Begun | CallProgress::Cancelled => None,
        }
    }

    /// Marks a call as waiting for a run that stops with it. Returns true if it was cancelled before the run was known.
    fn awaits(&self, call: &str, run: &str) -> bool {
        let mut calls = self.calls();
        let state = calls.get_mut(call);
        let is_cancelled = state.as_deref() == Some(&CallProgress::Cancelled);
        if let Some(state) = state {
            *state = CallProgress::Awaits(run.to_owned());
        }
        is_cancelled
    }
}

/// A guard that keeps a call under way until it is dropped.
struct RunningCall<'a> {
    under_way: &'a RunningCalls,
    call: String,
}

impl<'a> RunningCall<'a> {
    fn new(under_way: &'a RunningCalls, call: &RequestId) -> Self {
        let call = call.to_string();
        under_way.calls().insert(call.clone(), CallProgress::Begun);
        Self { under_way, call }
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let mut calls = self.under_way.calls();
        // A cancellation may arrive after this, and it has to find the run here.
        if !matches!(calls.get(&self.call), Some(CallProgress::Awaits(_))) {
            calls.remove(&self.call);
        }
    }
}

pub(crate) fn tool() -> Tool {
    let caller = Caller::Host;
    let (name, description) = (subagent_tool::SUBAGENT, subagent_tool::description(caller));
    let schema = subagent_tool::schema(caller);
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

pub(crate) async fn answer(
    engine: &Arc<Engine>,
    under_way: &RunningCalls,
    arguments: Option<JsonObject>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let mut arguments = arguments.unwrap_or_default();
    // Some hosts send every parameter, with null for those that were left out.
    arguments.retain(|_, value| !value.is_null());
    let call = SubagentCall {
        host: host_facts(context, &arguments),
        arguments,
    };
    let begun = Instant::now();
    let entered = RunningCall::new(under_way, &context.id);
    let calling = Arc::clone(engine);
    // What was begun is finished, even if no client listens any more: a run that was submitted has to be known by name.
    let called = blocking(move || calling.subagent(&call)).await?;
    let awaited = match called {
        Called::Done(answer) => return Ok(into_result(&answer)),
        Called::Awaits(awaited) => awaited,
    };
    let run = awaited.run.clone();
    if awaited.stops_with_call && under_way.awaits(&entered.call, &run) {
        let stopping = Arc::clone(engine);
        blocking(move || stopping.cancel_awaited(&run)).await?;
    }
    let waited = wait(engine, awaited, begun, context).await?;
    under_way.calls().remove(&entered.call);
    Ok(into_result(&waited))
}

async fn wait(
    engine: &Arc<Engine>,
    mut awaited: AwaitedRun,
    begun: Instant,
    context: &RequestContext<RoleServer>,
) -> Result<Box<SubagentAnswer>, ErrorData> {
    let until = begun + awaited.limit;
    let (mut version, mut last_look) = (None, begun);
    loop {
        let now = Instant::now();
        let is_last = now >= until;
        let news = Some(engine.version());
        if news != version || is_last || now.duration_since(last_look) >= RUN_CHECK {
            (version, last_look) = (news, now);
            let looking = Arc::clone(engine);
            let mut asked = awaited.clone();
            let looked = blocking(move || {
                let waited = looking.look_at_awaited(&mut asked, is_last);
                (asked, waited)
            });
            match looked.await? {
                (_, Waited::Over(answer)) => return Ok(answer),
                (told, Waited::GoesOn(line)) => {
                    awaited = told;
                    if let Some(line) = line {
                        send_progress(context, awaited.told, &line).await;
                    }
                }
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
async fn send_progress(context: &RequestContext<RoleServer>, seq: u64, line: &str) {
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
