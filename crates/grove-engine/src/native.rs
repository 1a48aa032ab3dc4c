//! The built-in engine: a loop over a model API, as a task.

mod calls;
mod compaction;
mod conversation;
mod fork;

use std::sync::Arc;

use grove_model::{
    MessageBlock, ModelAnswer, ModelError, ModelEvent, ModelRequest, StopKind, Thinking, ToolChoice,
};
use grove_plan::{Cause, EffectId, EffectKind, Fact, Finish, ModelFailure, Outcome, Turn, Usage};
use serde_json::Value;

use crate::attempt_log::LogLine;
use crate::child_end::ChildEnd;
use crate::driving::{DrivenChild, Driver, Driving, NotOurs, StoredBody};
use crate::models::ModelSource;
use compaction::{Window, bytes_of};
use conversation::Conversation;
pub(crate) use conversation::{asked_for, asked_for_data};
pub(crate) use fork::{history, no_session};

/// The number of values that miss the schema after which a child has failed.
pub(crate) const MOST_SCHEMA_TRIES: usize = 3;
/// The most bytes of a tool's input in a log.
const MOST_ABOUT: usize = 120;

/// The built-in engine for one attempt.
pub(crate) struct NativeLoop {
    pub(crate) model: ModelSource,
    /// The number of tokens that the model can read, if that is known.
    pub(crate) context: Option<u64>,
}

impl Driver for NativeLoop {
    fn drive<'a>(&'a self, driven: &'a Arc<DrivenChild>) -> Driving<'a> {
        Box::pin(async move {
            let looped = LoopedChild {
                driven,
                model: &self.model,
                window: Window::new(self.context),
            };
            looped.run().await
        })
    }
}

/// A child whose model is asked, and its calls are run, until it has ended.
struct LoopedChild<'a> {
    driven: &'a DrivenChild,
    model: &'a ModelSource,
    window: Window,
}

/// A request that brought no answer.
struct FailedRequest {
    error: ModelError,
    /// The words that the model had said by then.
    said: String,
}

impl LoopedChild<'_> {
    /// Drives the child until it ends, from the state in its journal.
    async fn run(&self) -> Result<ChildEnd, NotOurs> {
        let DrivenChild {
            run, of, toolbox, ..
        } = self.driven;
        let told = self.driven.told.clone();
        let made = Conversation::of(&self.driven.store, run, of, told, self.window);
        let mut conversation = match made {
            Ok(conversation) => conversation,
            Err(error) => return Ok(ChildEnd::failed(Cause::input(error))),
        };
        // A message that was sent and not read before a crash is read before the next step.
        let is_sent = |effect: &&EffectId| effect.kind == EffectKind::Send && effect.of == *of;
        let sent = run.state.open.keys().filter(is_sent).count();
        self.driven.inbox.expect(sent);
        // The child may read the folders of skills that it was given before a crash.
        for name in conversation.skills_given() {
            let _ = toolbox.skill(name);
        }
        let tools = bytes_of(&toolbox.definitions());
        loop {
            if let Some(finish) = self.settle_calls(&mut conversation).await? {
                return Ok(conversation.end(finish));
            }
            self.listen(&mut conversation).await?;
            if let Some(finish) = self.finished(&conversation) {
                return Ok(conversation.end(finish));
            }
            if self.driven.stop.is_stopped() {
                return Ok(conversation.end(Finish::Interrupted));
            }
            if let Some(turns) = conversation.too_long(tools) {
                self.compact(&mut conversation, turns).await?;
            }
            let answer = match self.ask(&conversation).await {
                Ok(answer) => answer,
                Err(FailedRequest { error, said }) => {
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
                    if !said.is_empty() {
                        end.text = said;
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
            of: self.driven.of.clone(),
            epoch: self.driven.epoch,
            turns,
        };
        self.driven.record(fact, Vec::new()).await?;
        let text = format!("the first {turns} turns are told in short from now on");
        self.driven.note(text);
        conversation.compact(turns);
        Ok(())
    }

    /// Reads the messages that came meanwhile. They are recorded first, so that they are read at the same place after a crash.
    async fn listen(&self, conversation: &mut Conversation) -> Result<(), NotOurs> {
        for sent in self.driven.inbox.take().await {
            let bytes = self.driven.store.artifact(&sent.message)?;
            let fact = Fact::Answered {
                effect: sent.effect.clone(),
                epoch: sent.epoch,
                outcome: Outcome::Sent {
                    message: sent.message,
                },
            };
            self.driven.record(fact, Vec::new()).await?;
            let words = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default());
            conversation.hear(words.into_owned());
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
        if let Some(limit) = self.driven.child.limits.reached(before, calls_before) {
            return Some(Finish::Failed(limit));
        }
        conversation.is_answered().then_some(Finish::Answered)
    }

    async fn ask(&self, conversation: &Conversation) -> Result<ModelAnswer, FailedRequest> {
        let DrivenChild { log, toolbox, .. } = self.driven;
        let limits = &self.driven.child.limits;
        let limit = limits.reached(conversation.turns(), conversation.calls_wanted());
        let (messages, tool_choice) = match &limit {
            Some(limit) => (conversation.messages_to_sum_up(limit), ToolChoice::None),
            None => (conversation.messages(), ToolChoice::Auto),
        };
        let request = ModelRequest {
            model: self.model.id.clone(),
            system: conversation.system().to_owned(),
            messages,
            // A conversation in which tools were called has to name the tools, also when none may be called.
            tools: toolbox.definitions(),
            tool_choice,
            max_output_tokens: self.window.output(),
            thinking: self.model.thinking.unwrap_or(Thinking::Off),
        };
        let mut said = String::new();
        // The tokens of the try under way, and those that are recorded for the tries before it.
        let (mut used, mut wasted) = (Usage::default(), Usage::default());
        let mut on_event = |event: ModelEvent| match event {
            ModelEvent::TextDelta { text, .. } => {
                said.push_str(&text);
                log.write(&LogLine::Text { text });
            }
            ModelEvent::ThinkingDelta { text, .. } => log.write(&LogLine::Thinking { text }),
            ModelEvent::Retrying {
                failure, message, ..
            } => {
                self.driven
                    .note(format!("asking again after {failure}: {message}"));
                let lost = std::mem::take(&mut used);
                if !lost.is_nothing() {
                    // The next request may be one too many.
                    self.driven.record_now(self.driven.wasted(lost));
                    wasted += lost;
                }
            }
            ModelEvent::Usage { usage } => {
                used = usage;
                log.touch();
            }
            ModelEvent::Warning { message } => self.driven.note(message),
            _ => log.touch(),
        };
        let asked = self
            .model
            .client
            .ask(&request, &mut on_event, &self.driven.stop.soft)
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
                Err(FailedRequest { error, said })
            }
        }
    }

    async fn record_waste(&self, usage: Usage) -> Result<(), NotOurs> {
        if !usage.is_nothing() {
            let fact = self.driven.wasted(usage);
            self.driven.record(fact, Vec::new()).await?;
        }
        Ok(())
    }

    async fn record_turn(&self, answer: &ModelAnswer) -> Result<(), NotOurs> {
        let mut usage = answer.usage;
        usage += answer.lost;
        let stored = StoredBody::of(serde_json::to_value(&answer.blocks).unwrap_or_default());
        let fact = self.driven.turned(Turn {
            content: stored.body,
            usage,
            stop: answer.stop.word().to_owned(),
            added: None,
        });
        self.driven.record(fact, stored.artifacts).await.map(drop)
    }
}

fn finish_of(error: &ModelError) -> Finish {
    match (error, error.failure()) {
        (ModelError::Cancelled, _) => Finish::Interrupted,
        (error, Some(failure)) => Finish::Failed(Cause::Model {
            failure,
            message: error.to_string(),
        }),
        (error, None) => Finish::Failed(Cause::input(error)),
    }
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

/// A call as a model made it.
#[derive(Clone, Copy)]
pub(crate) struct GivenCall<'a> {
    /// The model's name for it.
    pub(crate) id: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) input: &'a Value,
}

pub(crate) fn calls_of(blocks: &[MessageBlock]) -> impl Iterator<Item = GivenCall<'_>> {
    blocks.iter().filter_map(|block| match block {
        MessageBlock::ToolUse { id, name, input } => Some(GivenCall {
            id,
            tool: name,
            input,
        }),
        _ => None,
    })
}

/// Returns true if a model that stopped for this reason says more when it is asked again.
pub(crate) fn goes_on(stop: &StopKind) -> bool {
    matches!(stop, StopKind::Pause)
}
