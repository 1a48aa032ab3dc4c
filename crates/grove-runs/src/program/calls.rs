//! What a program tells of its calls, as the facts that the built-in engine records of its own.
//!
//! A program tells of a call when it has begun, so that nothing can keep it from that; what it tells comes into the journal
//! in the order in which it was told. Calls of the runtime's own tools are the bridge's to record.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use grove_exec::{CallEffect, Program, ProgramEvent, StopTokens, now};
use grove_model::Secret;
use grove_plan::{Attempt, Call, CallId, CallOutcome, Fact};
use grove_store::{Appended, Draft, Store, StoreError};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::attempt_log::{AttemptLog, LogLine};
use crate::native::{about, body};
use crate::tools::Toolbox;

/// A result longer than this is cut.
const MOST_RESULT: usize = 256 << 10;

/// Records the calls of one attempt.
pub(super) struct CallRecorder {
    pub(super) store: Arc<Store>,
    pub(super) run: String,
    pub(super) of: Attempt,
    pub(super) epoch: u32,
    pub(super) program: &'static Program,
    pub(super) toolbox: Arc<Toolbox>,
    /// Keys that the program has, which its tools may print.
    pub(super) secrets: Vec<Secret>,
    pub(super) log: Arc<AttemptLog>,
    pub(super) stop: StopTokens,
    /// Told when something else is to be done for the run.
    pub(super) news: UnboundedSender<String>,
    /// Calls that have not ended.
    pub(super) open: HashMap<String, OpenCall>,
}

/// A call that has not ended.
pub(super) struct OpenCall {
    tool: String,
    of_runtime: bool,
}

impl CallRecorder {
    /// Takes a call or its end; gives back any other event.
    pub(super) fn take(&mut self, event: ProgramEvent) -> Option<ProgramEvent> {
        match event {
            ProgramEvent::ToolStart {
                id,
                tool,
                input,
                of_runtime,
            } => {
                self.log.write(&LogLine::ToolStart {
                    tool: tool.clone(),
                    about: about(&input),
                });
                if !of_runtime {
                    self.called(&id, &tool, &input);
                }
                self.open.insert(id, OpenCall { tool, of_runtime });
            }
            ProgramEvent::ToolEnd {
                id,
                failed,
                result,
                goes_on,
            } => {
                let open = self.open.remove(&id);
                let is_ours = open.as_ref().is_some_and(|open| !open.of_runtime);
                let tool = open.map(|open| open.tool).unwrap_or_default();
                self.log.write(&LogLine::ToolEnd { tool, failed });
                if is_ours {
                    let result = self.masked(bounded(result));
                    self.returned(id, result, (failed, goes_on));
                }
            }
            other => return Some(other),
        }
        None
    }

    fn called(&self, id: &str, tool: &str, input: &Value) {
        let text = self.masked(input.to_string());
        let input = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let writes = !matches!(self.program.effect(tool, &input), CallEffect::Other);
        let (arguments, artifacts) = body(input);
        let call = Call {
            id: CallId(id.to_owned()),
            tool: tool.to_owned(),
            arguments,
            writes,
            observed: true,
        };
        let (of, epoch) = (self.of.clone(), self.epoch);
        self.record(Fact::Called { of, epoch, call }, artifacts);
    }

    fn returned(&self, id: String, result: String, (is_error, goes_on): (bool, bool)) {
        let (content, artifacts) = body(Value::String(result));
        let fact = Fact::Returned {
            of: self.of.clone(),
            epoch: self.epoch,
            call: CallId(id),
            outcome: CallOutcome {
                content,
                is_error,
                goes_on,
            },
        };
        self.record(fact, artifacts);
    }

    fn masked(&self, text: String) -> String {
        let text = self.toolbox.masked_text(text);
        let secrets = self.secrets.iter();
        secrets.fold(text, |text, secret| secret.masked(&text))
    }

    /// Hands a fact to the journal, which keeps the order.
    fn record(&self, fact: Fact, artifacts: Vec<Vec<u8>>) {
        let draft = Draft {
            fact,
            artifacts,
            at: now(),
        };
        let (stop, news, run) = (self.stop.clone(), self.news.clone(), self.run.clone());
        // What is refused is a call that is told twice, or that of a child which is not ours: its end says that.
        let done = move |appended: Result<Appended, StoreError>| {
            let Ok(appended) = appended else {
                return;
            };
            if appended.is_stopping {
                stop.tell(false);
            }
            if !appended.step.opened.is_empty() {
                let _ = news.send(run);
            }
            for other in appended.others {
                let _ = news.send(other);
            }
        };
        let _ = self.store.append_then(&self.run, draft, done);
    }
}

/// A result with no more of it than is kept.
fn bounded(mut result: String) -> String {
    if result.len() > MOST_RESULT {
        let bytes = result.len();
        result.truncate(result.floor_char_boundary(MOST_RESULT));
        let _ = write!(result, "\n[cut: {MOST_RESULT} of {bytes} bytes]");
    }
    result
}
