//! The built-in engine: a loop over a model API, as a task.

mod compaction;
mod conversation;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grove_exec::{StopTokens, now};
use grove_model::{
    Block, ModelAnswer, ModelError, ModelEvent, ModelRequest, StopKind, Thinking, ToolChoice,
};
use grove_plan::{
    Attempt, Body, Call, CallId, CallOutcome, Cause, EffectId, EffectKind, Ending, Fact, Finish,
    Limits, ModelFailure, NodeId, Outcome, Output, Question, ReviewVerdict, Turn, Usage,
};
use grove_spec::Digest;
use grove_store::{Appended, Draft, LoadedRun, Store, StoreError};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use crate::attempt_log::{AttemptLog, LogLine};
use crate::models::ModelSource;
use crate::places::RunPlaces;
use crate::told::{self, Told};
use crate::tools::{CONTACT_SUPERVISOR, ToolResult, Toolbox, WorkFolder};
use compaction::Window;
pub(crate) use conversation::asked_for;
use conversation::{Conversation, PendingCall};

/// A body longer than this is an artifact of its own.
const MOST_INLINE: usize = 32 << 10;
/// Values that do not meet the schema before a child has failed.
pub(crate) const MOST_SCHEMA_TRIES: usize = 3;
/// What a model is told of a call that was begun before a crash.
const UNKNOWN_OUTCOME: &str =
    "outcome unknown: the call was begun, and nobody saw how it ended; look before you repeat it";
/// Messages that were recorded come at once; one that does not is heard later.
const LONGEST_WAIT_FOR_MESSAGES: Duration = Duration::from_secs(2);
/// Of what a tool is given, in a log.
const MOST_ABOUT: usize = 120;

/// One child while it is driven.
pub(crate) struct NativeChild {
    pub(crate) store: Arc<Store>,
    pub(crate) run: String,
    pub(crate) of: Attempt,
    pub(crate) epoch: u32,
    pub(crate) model: ModelSource,
    pub(crate) toolbox: Toolbox,
    pub(crate) limits: Limits,
    /// How many tokens the model can read, if that is known.
    pub(crate) context: Option<u64>,
    pub(crate) log: AttemptLog,
    /// Cancelled when the child is to stop.
    pub(crate) stop: StopTokens,
    /// What it is told while it works.
    pub(crate) inbox: Inbox,
    /// Told when something else is to be done for the run.
    pub(crate) news: UnboundedSender<String>,
}

/// What a child is told while it works, until it hears it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inbox {
    messages: Arc<Mutex<Vec<SentMessage>>>,
    came: Arc<Notify>,
    /// How many the journal says were sent and not heard.
    sent: Arc<AtomicUsize>,
}

/// One message, of an effect that this process holds.
#[derive(Debug)]
pub(crate) struct SentMessage {
    pub(crate) effect: EffectId,
    pub(crate) epoch: u32,
    pub(crate) message: Digest,
    /// Dropped when the message was heard, or cannot be any more.
    pub(crate) _done: tokio::sync::oneshot::Sender<()>,
}

impl Inbox {
    pub(crate) fn put(&self, message: SentMessage) {
        self.messages().push(message);
        self.came.notify_one();
    }

    /// Takes note of how many were sent.
    fn expect(&self, sent: usize) {
        self.sent.store(sent, Ordering::Relaxed);
    }

    /// Gives what was sent: waits until it is there, but not for ever.
    async fn take(&self) -> Vec<SentMessage> {
        let wanted = self.sent.swap(0, Ordering::Relaxed);
        let all = async {
            while self.messages().len() < wanted {
                self.came.notified().await;
            }
        };
        let _ = tokio::time::timeout(LONGEST_WAIT_FOR_MESSAGES, all).await;
        std::mem::take(&mut *self.messages())
    }

    fn messages(&self) -> MutexGuard<'_, Vec<SentMessage>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of looking at a call.
enum Settled {
    /// The model is told this.
    Result(ToolResult),
    /// The child is to stop.
    Stop,
    /// The child waits for an answer.
    Asks(Question),
}

/// A child is not driven on: somebody else has it, or the journal is gone, and whatever we would say is not asked for.
pub(crate) struct NotOurs;

impl From<StoreError> for NotOurs {
    fn from(_: StoreError) -> Self {
        Self
    }
}

impl NativeChild {
    /// Drives the child until it ends, from its journal on.
    pub(crate) async fn drive(&self, loaded: &LoadedRun, told: Told) -> Result<ChildEnd, NotOurs> {
        let window = Window::new(self.context);
        let mut conversation = match Conversation::of(&self.store, loaded, &self.of, (told, window))
        {
            Ok(conversation) => conversation,
            Err(message) => return Ok(ChildEnd::failed(Cause::Input { message })),
        };
        // What was sent to it and not heard before a crash is heard before its next step.
        let is_sent = |effect: &&EffectId| effect.kind == EffectKind::Send && effect.of == self.of;
        let sent = loaded.state.open.keys().filter(is_sent).count();
        self.inbox.expect(sent);
        // What it was given before a crash it may read after it.
        for name in conversation.skills_given() {
            let _ = self.toolbox.skill(name);
        }
        // What requests took that were too long.
        let mut lost = Usage::default();
        loop {
            for call in conversation.pending_calls() {
                let made = conversation.calls_begun();
                let result = match self.settle_call(&call, made).await? {
                    Settled::Result(result) => result,
                    Settled::Stop => return Ok(conversation.end(Finish::Interrupted)),
                    Settled::Asks(question) => {
                        return Ok(conversation.end(Finish::Asked(question)));
                    }
                };
                conversation.add_result(&call, &result);
                if conversation.structured().is_some() {
                    break;
                }
            }
            self.listen(&mut conversation).await?;
            if let Some(finish) = self.finished(&conversation) {
                return Ok(conversation.end(finish));
            }
            if self.stop.is_told() {
                return Ok(conversation.end(Finish::Interrupted));
            }
            let overhead = self.tools_bytes();
            if let Some(turns) = conversation.too_long(overhead) {
                self.compact(&mut conversation, turns).await?;
            }
            let mut answer = match self.ask(&conversation).await {
                Ok(answer) => answer,
                Err((error, partial)) => {
                    // What is known of the window may be wrong, or nothing.
                    let is_too_long = error.failure() == Some(ModelFailure::ContextTooLong);
                    if let Some(turns) = conversation.half().filter(|_| is_too_long) {
                        if let ModelError::Provider(error) = &error {
                            lost += error.usage;
                        }
                        self.compact(&mut conversation, turns).await?;
                        continue;
                    }
                    let mut end = conversation.end(finish_of(&error));
                    if !partial.is_empty() {
                        end.text = partial;
                    }
                    if let ModelError::Provider(error) = error {
                        end.lost = error.usage;
                    }
                    end.lost += std::mem::take(&mut lost);
                    return Ok(end);
                }
            };
            answer.lost += std::mem::take(&mut lost);
            self.record_turn(&answer).await?;
            conversation.add_turn(answer.blocks, &answer.stop, &answer.usage);
        }
    }

    /// Tells the turns before a cut in short from now on. The cut is recorded first, so that it is the same after a crash.
    async fn compact(&self, conversation: &mut Conversation, turns: u64) -> Result<(), NotOurs> {
        let fact = Fact::Compacted {
            of: self.of.clone(),
            epoch: self.epoch,
            turns,
        };
        self.append(fact, Vec::new()).await?;
        let text = format!("the first {turns} turns are told in short from now on");
        self.log.write(&LogLine::Note { text });
        conversation.compact(turns);
        Ok(())
    }

    /// What the tools take of a request.
    fn tools_bytes(&self) -> usize {
        let tools = serde_json::to_vec(&self.toolbox.definitions());
        tools.map_or(0, |bytes| bytes.len())
    }

    /// Hears what it was told meanwhile. That is recorded first, so that it is heard at the same place after a crash.
    async fn listen(&self, conversation: &mut Conversation) -> Result<(), NotOurs> {
        for sent in self.inbox.take().await {
            let bytes = self.store.artifact(&sent.message)?.unwrap_or_default();
            let fact = Fact::Answered {
                effect: sent.effect.clone(),
                epoch: sent.epoch,
                outcome: Outcome::Sent {
                    message: sent.message,
                },
            };
            self.append(fact, Vec::new()).await?;
            conversation.hear(String::from_utf8_lossy(&bytes).into_owned());
        }
        Ok(())
    }

    /// How the child has ended, if it has: by what the journal says, so that it is the same after a crash.
    fn finished(&self, conversation: &Conversation) -> Option<Finish> {
        if conversation.structured().is_some() {
            return Some(Finish::Answered);
        }
        if let Some(message) = conversation.wrong_values(MOST_SCHEMA_TRIES) {
            return Some(Finish::Failed(Cause::Schema { message }));
        }
        // Whatever it says after it had come to a limit is its summing up.
        let turns = conversation.turns();
        let before = turns.checked_sub(1)?;
        let calls_before = conversation.calls_wanted_before_last();
        if let Some(limit) = self.limits.reached(before, calls_before) {
            return Some(Finish::Failed(limit));
        }
        conversation.is_answered().then_some(Finish::Answered)
    }

    /// Asks the model; when it fails, what it had said by then is given back.
    async fn ask(&self, conversation: &Conversation) -> Result<ModelAnswer, (ModelError, String)> {
        let limit = self
            .limits
            .reached(conversation.turns(), conversation.calls_wanted());
        let (messages, tool_choice) = match &limit {
            Some(limit) => (conversation.messages_to_sum_up(limit), ToolChoice::None),
            None => (conversation.messages(), ToolChoice::Auto),
        };
        let request = ModelRequest {
            model: self.model.id.clone(),
            system: conversation.system().to_owned(),
            messages,
            // A conversation in which tools were called has to say which there are, also when none may be called.
            tools: self.toolbox.definitions(),
            tool_choice,
            max_output_tokens: conversation.window().output(),
            thinking: self.model.thinking.unwrap_or(Thinking::Off),
        };
        let mut said = String::new();
        let mut on_event = |event: ModelEvent| match event {
            ModelEvent::TextDelta { text, .. } => {
                said.push_str(&text);
                self.log.write(&LogLine::Text { text });
            }
            ModelEvent::ThinkingDelta { text, .. } => self.log.write(&LogLine::Thinking { text }),
            ModelEvent::Retrying {
                failure, message, ..
            } => {
                let text = format!("asking again after {failure}: {message}");
                self.log.write(&LogLine::Note { text });
            }
            ModelEvent::Warning { message } => self.log.write(&LogLine::Note { text: message }),
            _ => {}
        };
        let asked = self
            .model
            .client
            .ask(&request, &mut on_event, &self.stop.soft)
            .await;
        asked.map_err(|error| (error, said))
    }

    async fn record_turn(&self, answer: &ModelAnswer) -> Result<(), NotOurs> {
        let mut usage = answer.usage;
        usage += answer.lost;
        let blocks = serde_json::to_value(&answer.blocks).unwrap_or_default();
        let (content, artifacts) = body(blocks);
        let stop = serde_json::to_value(&answer.stop).ok();
        let stop = stop.and_then(|stop| stop.as_str().map(str::to_owned));
        let turn = Turn {
            content,
            usage,
            stop: stop.unwrap_or_else(|| format!("{:?}", answer.stop)),
            added: None,
        };
        let fact = Fact::Turned {
            of: self.of.clone(),
            epoch: self.epoch,
            turn,
        };
        let appended = self.append(fact, artifacts).await?;
        self.heed(&appended);
        Ok(())
    }

    /// A limit that this very event reached stops the child before its next request.
    fn heed(&self, appended: &Appended) {
        let is_stop = |effect: &EffectId| effect.kind == EffectKind::Stop && effect.of == self.of;
        if appended.step.opened.iter().any(is_stop) {
            self.stop.tell(false);
        }
        if !appended.step.opened.is_empty() {
            let _ = self.news.send(self.run.clone());
        }
    }

    /// Runs a call, or says what is known of one that may have run. None when the child is to stop.
    async fn settle_call(&self, call: &PendingCall, made: u64) -> Result<Settled, NotOurs> {
        let question = call
            .question()
            .filter(|_| self.toolbox.allows(CONTACT_SUPERVISOR));
        if call.may_have_run {
            if let Some(question) = question {
                return Ok(Settled::Asks(question));
            }
            // To look at a value changes nothing, so it is looked at again.
            let result = match self.toolbox.structured(&call.name, &call.input) {
                Some(result) => result,
                None => ToolResult::of(Err(UNKNOWN_OUTCOME.to_owned())),
            };
            self.record_result(call, &result).await?;
            return Ok(Settled::Result(result));
        }
        if self.stop.is_told() {
            return Ok(Settled::Stop);
        }
        let most = self.limits.max_tool_calls;
        if let Some(most) = most.filter(|most| made >= *most) {
            // Nothing is recorded: after a crash it is refused again.
            let text = format!("not run: {most} tool calls may be made, and they were");
            return Ok(Settled::Result(ToolResult::of(Err(text))));
        }
        let (arguments, artifacts) = body(call.input.clone());
        let fact = Fact::Called {
            of: self.of.clone(),
            epoch: self.epoch,
            call: Call {
                id: CallId(call.id.clone()),
                tool: call.name.clone(),
                arguments,
                writes: self.toolbox.writes(&call.name),
            },
        };
        self.append(fact, artifacts).await?;
        let about = about(&call.input);
        let tool = call.name.clone();
        self.log.write(&LogLine::ToolStart { tool, about });
        if let Some(question) = question {
            return Ok(Settled::Asks(question));
        }
        let run = self.toolbox.run(&call.name, &call.input, &self.stop);
        let mut result = run.await;
        let is_warned = self.limits.warn_tool_calls == Some(made + 1);
        if let Some(most) = most.filter(|_| is_warned) {
            let left = most.saturating_sub(made + 1);
            let _ = write!(result.text, "\n[{left} more tool calls may be made]");
        }
        let (tool, failed) = (call.name.clone(), result.is_error);
        self.log.write(&LogLine::ToolEnd { tool, failed });
        self.record_result(call, &result).await?;
        Ok(Settled::Result(result))
    }

    async fn record_result(&self, call: &PendingCall, result: &ToolResult) -> Result<(), NotOurs> {
        let (content, artifacts) = body(Value::String(result.text.clone()));
        let fact = Fact::Returned {
            of: self.of.clone(),
            epoch: self.epoch,
            call: CallId(call.id.clone()),
            outcome: CallOutcome {
                content,
                is_error: result.is_error,
            },
        };
        self.append(fact, artifacts).await.map(drop)
    }

    async fn append(&self, fact: Fact, artifacts: Vec<Vec<u8>>) -> Result<Appended, NotOurs> {
        let draft = Draft {
            fact,
            artifacts,
            at: now(),
        };
        let appended = append(&self.store, &self.run, draft).await?;
        let unheard = appended.unheard.iter().filter(|of| **of == self.of);
        self.inbox.expect(unheard.count());
        Ok(appended)
    }
}

/// How a child ended, as its driver saw it.
pub(crate) struct ChildEnd {
    finish: Finish,
    /// Its last words.
    pub(crate) text: String,
    /// The value that met the schema.
    pub(crate) structured: Option<Value>,
    /// What it found, where it was to look at another's work.
    pub(crate) review: Option<ReviewVerdict>,
    /// What the last request took, if it came to no answer.
    lost: Usage,
    /// The file that its answer was written to.
    path: Option<String>,
}

impl ChildEnd {
    pub(crate) fn failed(cause: Cause) -> Self {
        Self::of(Finish::Failed(cause), String::new())
    }

    /// An end with the last words.
    pub(crate) fn of(finish: Finish, text: String) -> Self {
        Self {
            finish,
            text,
            structured: None,
            review: None,
            lost: Usage::default(),
            path: None,
        }
    }

    /// The same with the value that it gave as data.
    pub(crate) fn with_value(mut self, value: Option<Value>) -> Self {
        self.structured = value;
        self
    }

    /// Writes the answer to the file that it was to be written to, unless the child did so itself.
    pub(crate) fn write_output(&mut self, path: &str, work: &WorkFolder) {
        if self.finish != Finish::Answered {
            return;
        }
        let is_written = work.read(path).is_ok();
        if is_written || work.write(path, self.text.as_bytes()).is_ok() {
            self.path = Some(path.to_owned());
        }
    }

    /// The ending, and the texts that it names.
    pub(crate) fn recorded(self) -> (Ending, Vec<Vec<u8>>) {
        let structured = self.structured.as_ref();
        let structured = structured.map(|value| serde_json::to_vec(value).unwrap_or_default());
        // A child that gave data and no words has given its result all the same.
        let text = match (&structured, self.text.trim().is_empty()) {
            (Some(bytes), true) => Some(bytes.clone()),
            (None, true) => None,
            (_, false) => Some(self.text.into_bytes()),
        };
        let output = Output {
            text: text.as_deref().map(Digest::of),
            structured: structured.as_deref().map(Digest::of),
            path: self.path,
            review: self.review,
        };
        let ending = Ending {
            finish: self.finish,
            output,
            lost: self.lost,
        };
        (ending, text.into_iter().chain(structured).collect())
    }
}

/// Tools whose calls say nothing to a child that is forked from the one that made them.
const PARENTS_ONLY: [&str; 2] = ["subagent", CONTACT_SUPERVISOR];

/// Why nothing can be forked from a session.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The run has no such child, or it has not begun.
    #[error("there is no session `{0}`")]
    NoSession(String),
    /// Nothing was answered in it yet.
    #[error("session `{0}` has no answer yet that a fork could begin after")]
    NoLeaf(String),
    /// It is an agent program's own, or it cannot be read.
    #[error("session `{session}` cannot be read: {why}")]
    NotReadable {
        /// Which.
        session: String,
        /// Why.
        why: String,
    },
}

/// The conversation of a child so far, for one that is forked from it.
pub fn history(
    store: &Store,
    places: &RunPlaces,
    run: &LoadedRun,
    node: &NodeId,
) -> Result<Vec<Value>, ForkError> {
    let session = format!("{}.{node}", run.id);
    let attempts = run.state.nodes.get(node).map(|node| node.attempts.len());
    let n = attempts.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    let child = run.plan.child(node).filter(|_| n > 0);
    let Some(child) = child else {
        return Err(ForkError::NoSession(session));
    };
    let not_readable = |why: String| ForkError::NotReadable {
        session: session.clone(),
        why,
    };
    if child.engine != "native" {
        let why = format!("engine `{}` keeps it", child.engine);
        return Err(not_readable(why));
    }
    let node = node.clone();
    let of = Attempt { node, n };
    // An attempt that began has what it was told in the journal.
    let nothing = |_: &NodeId| String::new();
    let told = told::of_attempt(store, places, run, &of, &nothing).map_err(&not_readable)?;
    let told = (told.told, Window::new(None));
    let conversation = Conversation::of(store, run, &of, told).map_err(&not_readable)?;
    let messages = conversation.for_fork(&PARENTS_ONLY);
    let messages = messages.ok_or_else(|| ForkError::NoLeaf(session.clone()))?;
    let values = messages.iter().map(serde_json::to_value);
    let values: Result<Vec<Value>, _> = values.collect();
    values.map_err(|error| not_readable(error.to_string()))
}

/// Records a fact without holding up the runtime.
pub(crate) async fn append(store: &Store, run: &str, draft: Draft) -> Result<Appended, StoreError> {
    let (done, waiting) = tokio::sync::oneshot::channel();
    store.append_then(run, draft, move |result| {
        let _ = done.send(result);
    })?;
    waiting.await.map_err(|_| StoreError::Closed)?
}

fn finish_of(error: &ModelError) -> Finish {
    match (error, error.failure()) {
        (ModelError::Cancelled, _) => Finish::Interrupted,
        (error, Some(failure)) => Finish::Failed(Cause::Model {
            failure,
            message: error.to_string(),
        }),
        (error, None) => Finish::Failed(Cause::Input {
            message: error.to_string(),
        }),
    }
}

/// A value in the event, or beside it when it is long.
pub(crate) fn body(value: Value) -> (Body, Vec<Vec<u8>>) {
    let bytes = serde_json::to_vec(&value).unwrap_or_default();
    if bytes.len() <= MOST_INLINE {
        return (Body::Inline(value), Vec::new());
    }
    (Body::Artifact(Digest::of(&bytes)), vec![bytes])
}

/// What a tool is given, in short: the first text of it, up to its first line end.
pub fn about(input: &Value) -> String {
    let values = input.as_object().into_iter().flatten();
    let first = values.map(|(_, value)| value).find_map(Value::as_str);
    let line = first.unwrap_or_default().lines().next().unwrap_or_default();
    let end = line.floor_char_boundary(MOST_ABOUT);
    line.get(..end).unwrap_or_default().to_owned()
}

/// Whether an answer waits for its calls.
pub(crate) fn calls_of(blocks: &[Block]) -> impl Iterator<Item = (&String, &String, &Value)> {
    blocks.iter().filter_map(|block| match block {
        Block::ToolUse { id, name, input } => Some((id, name, input)),
        _ => None,
    })
}

/// Whether a model that ended so would say more if asked again.
pub(crate) fn goes_on(stop: &StopKind) -> bool {
    matches!(stop, StopKind::Pause)
}
