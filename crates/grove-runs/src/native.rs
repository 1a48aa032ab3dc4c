//! The built-in engine: a loop over a model API, as a task.

mod calls;
mod child_end;
mod compaction;
mod conversation;
mod fork;
mod inbox;

use std::sync::Arc;

use grove_exec::StopTokens;
use grove_model::{
    MessageBlock, ModelAnswer, ModelError, ModelEvent, ModelRequest, StopKind, Thinking, ToolChoice,
};
use grove_plan::{
    Attempt, Body, Cause, EffectId, EffectKind, Fact, Finish, Limits, ModelFailure, Outcome, Turn,
    Usage,
};
use grove_spec::Digest;
use grove_store::{Appended, LoadedRun, NewEvent, Store, StoreError};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::attempt_log::{AttemptLog, LogLine};
use crate::models::ModelSource;
use crate::supervisor::{blocking, draft};
use crate::told::Told;
use crate::tools::Toolbox;
pub(crate) use child_end::{AnswerFile, ChildEnd};
use compaction::Window;
use conversation::Conversation;
pub(crate) use conversation::{asked_for, asked_for_data};
pub use fork::{ForkError, history};
pub(crate) use inbox::{Inbox, SentMessage};

/// A longer body becomes an artifact of its own.
const MOST_INLINE: usize = 32 << 10;
/// The number of values that miss the schema after which a child has failed.
pub(crate) const MOST_SCHEMA_TRIES: usize = 3;
/// The most bytes of a tool's input in a log.
const MOST_ABOUT: usize = 120;

/// A child while it is driven.
pub(crate) struct NativeChild {
    pub(crate) store: Arc<Store>,
    pub(crate) run: String,
    pub(crate) of: Attempt,
    pub(crate) epoch: u32,
    pub(crate) model: ModelSource,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) limits: Limits,
    /// The number of tokens that the model can read, if that is known.
    pub(crate) context: Option<u64>,
    pub(crate) log: Arc<AttemptLog>,
    /// Cancelled when the child is to stop.
    pub(crate) stop: StopTokens,
    /// The messages that it is sent while it works.
    pub(crate) inbox: Inbox,
    /// Receives the id of a run for which something else is to be done.
    pub(crate) news: UnboundedSender<String>,
}

/// The reason to stop driving a child: another process has it, or the journal is gone, so that no more facts about it count.
pub(crate) struct NotOurs;

impl From<StoreError> for NotOurs {
    fn from(_: StoreError) -> Self {
        Self
    }
}

impl NativeChild {
    /// Drives the child until it ends, from the state in its journal.
    pub(crate) async fn drive(&self, loaded: &LoadedRun, told: Told) -> Result<ChildEnd, NotOurs> {
        let window = Window::new(self.context);
        let mut conversation = match Conversation::of(&self.store, loaded, &self.of, (told, window))
        {
            Ok(conversation) => conversation,
            Err(message) => return Ok(ChildEnd::failed(Cause::Input { message })),
        };
        // A message that was sent and not read before a crash is read before the next step.
        let is_sent = |effect: &&EffectId| effect.kind == EffectKind::Send && effect.of == self.of;
        let sent = loaded.state.open.keys().filter(is_sent).count();
        self.inbox.expect(sent);
        // The child may read the folders of skills that it was given before a crash.
        for name in conversation.skills_given() {
            let _ = self.toolbox.skill(name);
        }
        loop {
            if let Some(finish) = self.settle_calls(&mut conversation).await? {
                return Ok(conversation.end(finish));
            }
            self.listen(&mut conversation).await?;
            if let Some(finish) = self.finished(&conversation) {
                return Ok(conversation.end(finish));
            }
            if self.stop.is_stopped() {
                return Ok(conversation.end(Finish::Interrupted));
            }
            let overhead = self.tools_bytes();
            if let Some(turns) = conversation.too_long(overhead) {
                self.compact(&mut conversation, turns).await?;
            }
            let answer = match self.ask(&conversation).await {
                Ok(answer) => answer,
                Err((error, partial)) => {
                    // The known size of the window may be wrong, or not known.
                    let is_too_long = error.failure() == Some(ModelFailure::ContextTooLong);
                    if let Some(turns) = conversation.half().filter(|_| is_too_long) {
                        if let ModelError::Provider(error) = &error {
                            self.record_waste(error.usage).await?;
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
                    return Ok(end);
                }
            };
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

    /// Returns the bytes of the tools in a request.
    fn tools_bytes(&self) -> usize {
        let tools = serde_json::to_vec(&self.toolbox.definitions());
        tools.map_or(0, |bytes| bytes.len())
    }

    /// Reads the messages that came meanwhile. They are recorded first, so that they are read at the same place after a crash.
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

    /// Returns how the child has ended, if it has: by what the journal says, so that it is the same after a crash.
    fn finished(&self, conversation: &Conversation) -> Option<Finish> {
        if conversation.structured().is_some() {
            return Some(Finish::Answered);
        }
        if let Some(message) = conversation.wrong_values(MOST_SCHEMA_TRIES) {
            return Some(Finish::Failed(Cause::Schema { message }));
        }
        // An answer after the limit was reached is the child's summing up.
        let turns = conversation.turns();
        let before = turns.checked_sub(1)?;
        let calls_before = conversation.calls_wanted_before_last();
        if let Some(limit) = self.limits.reached(before, calls_before) {
            return Some(Finish::Failed(limit));
        }
        conversation.is_answered().then_some(Finish::Answered)
    }

    /// Asks the model; if it fails, the words that it had said by then are returned with the error.
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
            // A conversation in which tools were called has to name the tools, also when none may be called.
            tools: self.toolbox.definitions(),
            tool_choice,
            max_output_tokens: conversation.window().output(),
            thinking: self.model.thinking.unwrap_or(Thinking::Off),
        };
        let mut said = String::new();
        // The tokens of the try under way, and those that are recorded for the tries before it.
        let (mut used, mut wasted) = (Usage::default(), Usage::default());
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
                let lost = std::mem::take(&mut used);
                if !lost.is_nothing() {
                    blocking(|| self.waste(lost));
                    wasted += lost;
                }
            }
            ModelEvent::Usage { usage } => {
                used = usage;
                self.log.touch();
            }
            ModelEvent::Warning { message } => self.log.write(&LogLine::Note { text: message }),
            _ => self.log.touch(),
        };
        let asked = self
            .model
            .client
            .ask(&request, &mut on_event, &self.stop.soft)
            .await;
        let left = |lost: Usage| {
            if wasted.is_nothing() {
                lost
            } else {
                lost.since(&wasted)
            }
        };
        match asked {
            Ok(mut answer) => {
                answer.lost = left(answer.lost);
                Ok(answer)
            }
            Err(mut error) => {
                if let ModelError::Provider(error) = &mut error {
                    error.usage = left(error.usage);
                }
                Err((error, said))
            }
        }
    }

    /// Records the usage of a request that failed, before it is made again: the next request may be one too many.
    fn waste(&self, usage: Usage) {
        let appended = self
            .store
            .append(&self.run, draft(self.wasted(usage), Vec::new()));
        match appended {
            Ok(appended) => self.heed(&appended),
            // Another process drives this child, or none does.
            Err(_) => self.stop.stop(true),
        }
    }

    async fn record_waste(&self, usage: Usage) -> Result<(), NotOurs> {
        if !usage.is_nothing() {
            self.append(self.wasted(usage), Vec::new()).await?;
        }
        Ok(())
    }

    fn wasted(&self, usage: Usage) -> Fact {
        Fact::Wasted {
            of: self.of.clone(),
            epoch: self.epoch,
            usage,
        }
    }

    async fn record_turn(&self, answer: &ModelAnswer) -> Result<(), NotOurs> {
        let mut usage = answer.usage;
        usage += answer.lost;
        let blocks = serde_json::to_value(&answer.blocks).unwrap_or_default();
        let (content, artifacts) = body(blocks);
        let turn = Turn {
            content,
            usage,
            stop: answer.stop.word().to_owned(),
            added: None,
        };
        let fact = Fact::Turned {
            of: self.of.clone(),
            epoch: self.epoch,
            turn,
        };
        self.append(fact, artifacts).await.map(drop)
    }

    /// Stops the child before its next request when a limit was reached, by this child or by another.
    fn heed(&self, appended: &Appended) {
        if appended.is_stopping {
            self.stop.stop(false);
        }
        for other in &appended.others {
            let _ = self.news.send(other.clone());
        }
        if !appended.step.opened.is_empty() {
            let _ = self.news.send(self.run.clone());
        }
    }

    async fn append(&self, fact: Fact, artifacts: Vec<Vec<u8>>) -> Result<Appended, NotOurs> {
        let appended = append(&self.store, &self.run, draft(fact, artifacts)).await?;
        self.heed(&appended);
        let unheard = appended.unheard.iter().filter(|of| **of == self.of);
        self.inbox.expect(unheard.count());
        Ok(appended)
    }
}

/// Records a fact without holding up the runtime.
pub(crate) async fn append(
    store: &Store,
    run: &str,
    draft: NewEvent,
) -> Result<Appended, StoreError> {
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

/// Returns a value in the event, or beside it if it is long.
pub(crate) fn body(value: Value) -> (Body, Vec<Vec<u8>>) {
    let bytes = serde_json::to_vec(&value).unwrap_or_default();
    if bytes.len() <= MOST_INLINE {
        return (Body::Inline(value), Vec::new());
    }
    (Body::Artifact(Digest::of(&bytes)), vec![bytes])
}

/// The fields that say best what a call is about, in the words of our tools and of other programs'.
const TELLING: [&str; 7] = [
    "command",
    "cmd",
    "path",
    "file_path",
    "pattern",
    "name",
    "agent",
];

/// Returns a tool's input in short: its command or file, else the first text of it, up to its first line end.
pub fn about(input: &Value) -> String {
    let telling = TELLING.iter().filter_map(|key| input.get(key));
    let values = input.as_object().into_iter().flatten();
    let mut texts = telling.chain(values.map(|(_, value)| value));
    let first = texts.find_map(Value::as_str);
    let line = first.unwrap_or_default().lines().next().unwrap_or_default();
    let end = line.floor_char_boundary(MOST_ABOUT);
    line.get(..end).unwrap_or_default().to_owned()
}

/// Returns the calls of an answer: the model's name, the tool and the arguments.
pub(crate) fn calls_of(
    blocks: &[MessageBlock],
) -> impl Iterator<Item = (&String, &String, &Value)> {
    blocks.iter().filter_map(|block| match block {
        MessageBlock::ToolUse { id, name, input } => Some((id, name, input)),
        _ => None,
    })
}

/// Returns true if a model that stopped for this reason says more when it is asked again.
pub(crate) fn goes_on(stop: &StopKind) -> bool {
    matches!(stop, StopKind::Pause)
}
