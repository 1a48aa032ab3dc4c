//! The built-in engine: a loop over a model API, as a task.

mod conversation;

use std::sync::Arc;

use grove_exec::now;
use grove_model::{
    Block, ModelAnswer, ModelError, ModelEvent, ModelRequest, StopKind, Thinking, ToolChoice,
};
use grove_plan::{
    Attempt, Body, Call, CallId, CallOutcome, Cause, EffectId, EffectKind, Ending, Fact, Finish,
    Outcome, Output, Turn,
};
use grove_spec::Digest;
use grove_store::{Appended, Draft, Store, StoreError};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::attempt_log::{AttemptLog, LogLine};
use crate::models::ModelSource;
use crate::tools::{STRUCTURED_OUTPUT, ToolResult, Toolbox};
use conversation::{Conversation, PendingCall};

/// A body longer than this is an artifact of its own.
const MOST_INLINE: usize = 32 << 10;
/// Tokens of one answer.
const MOST_OUTPUT_TOKENS: u32 = 16_384;
/// Values that do not meet the schema before a child has failed.
const MOST_SCHEMA_TRIES: usize = 3;
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
    pub(crate) log: AttemptLog,
    /// Cancelled when the child is to stop.
    pub(crate) stop: CancellationToken,
    /// Told when something else is to be done for the run.
    pub(crate) news: UnboundedSender<String>,
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
    pub(crate) async fn drive(&self) -> Result<(Ending, Vec<Vec<u8>>), NotOurs> {
        let loaded = self.store.load(&self.run)?;
        let mut conversation = match Conversation::of(&self.store, &loaded, &self.of) {
            Ok(conversation) => conversation,
            Err(message) => {
                return Ok(ended(Finish::Failed(Cause::Input { message }), "", None));
            }
        };
        let mut wrong_values = 0;
        loop {
            for call in conversation.pending_calls() {
                let result = self.settle_call(&call).await?;
                let Some(result) = result else {
                    return Ok(ended(Finish::Interrupted, &conversation.last_text(), None));
                };
                if result.structured.is_some() {
                    return Ok(ended(
                        Finish::Answered,
                        &conversation.last_text(),
                        result.structured,
                    ));
                }
                if call.name == STRUCTURED_OUTPUT && result.is_error {
                    wrong_values += 1;
                    if wrong_values >= MOST_SCHEMA_TRIES {
                        let cause = Cause::Schema {
                            message: result.text,
                        };
                        return Ok(ended(
                            Finish::Failed(cause),
                            &conversation.last_text(),
                            None,
                        ));
                    }
                }
                conversation.add_result(&call, &result);
            }
            if conversation.is_answered() {
                return Ok(ended(Finish::Answered, &conversation.last_text(), None));
            }
            if self.stop.is_cancelled() {
                return Ok(ended(Finish::Interrupted, &conversation.last_text(), None));
            }
            let asked = self.ask(&conversation).await;
            let answer = match asked {
                Ok(answer) => answer,
                Err((error, partial)) => {
                    let text = if partial.is_empty() {
                        conversation.last_text()
                    } else {
                        partial
                    };
                    return Ok(ended(finish_of(&error), &text, None));
                }
            };
            self.record_turn(&answer).await?;
            conversation.add_turn(answer.blocks, &answer.stop);
        }
    }

    /// Asks the model; when it fails, what it had said by then is given back.
    async fn ask(&self, conversation: &Conversation) -> Result<ModelAnswer, (ModelError, String)> {
        let request = ModelRequest {
            model: self.model.id.clone(),
            system: conversation.system().to_owned(),
            messages: conversation.messages(),
            tools: self.toolbox.definitions(),
            tool_choice: ToolChoice::default(),
            max_output_tokens: MOST_OUTPUT_TOKENS,
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
            .ask(&request, &mut on_event, &self.stop)
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
            self.stop.cancel();
        }
        if !appended.step.opened.is_empty() {
            let _ = self.news.send(self.run.clone());
        }
    }

    /// Runs a call, or says what is known of one that may have run. None when the child is to stop.
    async fn settle_call(&self, call: &PendingCall) -> Result<Option<ToolResult>, NotOurs> {
        if call.may_have_run {
            let text = "outcome unknown: the call was begun, and nobody saw how it ended; look before you repeat it";
            let result = ToolResult::of(Err(text.to_owned()));
            self.record_result(call, &result).await?;
            return Ok(Some(result));
        }
        if self.stop.is_cancelled() {
            return Ok(None);
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
        let mut ignore = |_: &[u8]| {};
        let result = self
            .toolbox
            .run(&call.name, &call.input, &self.stop, &mut ignore)
            .await;
        let (tool, failed) = (call.name.clone(), result.is_error);
        self.log.write(&LogLine::ToolEnd { tool, failed });
        self.record_result(call, &result).await?;
        Ok(Some(result))
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
        Ok(append(&self.store, &self.run, draft).await?)
    }
}

/// How a child ended, and the texts that the ending names.
fn ended(finish: Finish, text: &str, structured: Option<Value>) -> (Ending, Vec<Vec<u8>>) {
    let structured = structured.map(|value| serde_json::to_vec(&value).unwrap_or_default());
    // A child that gave data and no words has given its result all the same.
    let text = match (&structured, text.is_empty()) {
        (Some(bytes), true) => String::from_utf8_lossy(bytes).into_owned(),
        _ => text.to_owned(),
    };
    let text = (!text.trim().is_empty()).then(|| text.into_bytes());
    let output = Output {
        text: text.as_deref().map(Digest::of),
        structured: structured.as_deref().map(Digest::of),
    };
    let artifacts = text.into_iter().chain(structured).collect();
    (Ending { finish, output }, artifacts)
}

/// Records a fact without holding up the runtime.
pub(crate) async fn append(store: &Store, run: &str, draft: Draft) -> Result<Appended, StoreError> {
    let (done, waiting) = tokio::sync::oneshot::channel();
    store.append_then(run, draft, move |result| {
        let _ = done.send(result);
    })?;
    waiting.await.map_err(|_| StoreError::Closed)?
}

/// The outcome of a start.
pub(crate) fn ending_fact(effect: &EffectId, epoch: u32, ending: Ending) -> Fact {
    Fact::Answered {
        effect: effect.clone(),
        epoch,
        outcome: Outcome::Ended(ending),
    }
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
fn body(value: Value) -> (Body, Vec<Vec<u8>>) {
    let bytes = serde_json::to_vec(&value).unwrap_or_default();
    if bytes.len() <= MOST_INLINE {
        return (Body::Inline(value), Vec::new());
    }
    (Body::Artifact(Digest::of(&bytes)), vec![bytes])
}

/// What a tool is given, in short.
fn about(input: &Value) -> String {
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
