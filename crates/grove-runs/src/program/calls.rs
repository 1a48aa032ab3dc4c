//! Records the calls that a program reports, as the facts that the built-in engine records of its own.
//!
//! A program reports a call when it has begun, so that it cannot be refused any more; reports come into the journal in the
//! order in which they came. Calls of the runtime's own tools are recorded by the bridge.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;

use grove_exec::{CallEffect, Program, ProgramEvent, StopTokens, now};
use grove_model::Secret;
use grove_plan::{Attempt, Call, CallId, CallOutcome, Fact};
use grove_store::{Appended, NewEvent, Store, StoreError};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::attempt_log::{AttemptLog, LogLine};
use crate::native::{about, body};
use crate::tools::Toolbox;

/// The most bytes of a result; a longer one is cut.
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
    /// Receives the id of a run for which something else is to be done.
    pub(super) news: UnboundedSender<String>,
    pub(super) open: OpenCalls,
}

/// Calls that have not ended. A program passes on the names that its model gives, which may be the same for all: of
/// calls with one name the first that began is the first that ends.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    made: u64,
    by_name: HashMap<String, VecDeque<OpenCall>>,
}

/// A call that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OpenCall {
    id: CallId,
    tool: String,
    of_runtime: bool,
}

impl OpenCalls {
    /// Takes note of a call, and returns its name in the journal.
    fn begin(&mut self, given: &str, tool: &str, of_runtime: bool) -> CallId {
        self.made += 1;
        let id = CallId(format!("call-{}", self.made));
        let call = OpenCall {
            id: id.clone(),
            tool: tool.to_owned(),
            of_runtime,
        };
        let same = self.by_name.entry(given.to_owned()).or_default();
        same.push_back(call);
        id
    }

    fn end(&mut self, given: &str) -> Option<OpenCall> {
        let same = self.by_name.get_mut(given)?;
        let call = same.pop_front();
        if same.is_empty() {
            self.by_name.remove(given);
        }
        call
    }
}

impl CallRecorder {
    /// Takes a call or its end; returns any other event.
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
                let ours = self.open.begin(&id, &tool, of_runtime);
                if !of_runtime {
                    self.called((ours, id), &tool, &input);
                }
            }
            ProgramEvent::ToolEnd {
                id,
                failed,
                result,
                goes_on,
            } => {
                let open = self.open.end(&id);
                let tool = open.as_ref().map(|open| open.tool.clone());
                let tool = tool.unwrap_or_default();
                self.log.write(&LogLine::ToolEnd { tool, failed });
                if let Some(open) = open.filter(|open| !open.of_runtime) {
                    let result = self.masked(bounded(result));
                    self.returned(open.id, result, (failed, goes_on));
                }
            }
            other => return Some(other),
        }
        None
    }

    fn called(&self, (id, given): (CallId, String), tool: &str, input: &Value) {
        let text = self.masked(input.to_string());
        let input = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let writes = !matches!(self.program.effect(tool, &input), CallEffect::Other);
        let (arguments, artifacts) = body(input);
        let call = Call {
            id,
            given: Some(given),
            tool: tool.to_owned(),
            arguments,
            writes,
            observed: true,
        };
        let (of, epoch) = (self.of.clone(), self.epoch);
        self.record(Fact::Called { of, epoch, call }, artifacts);
    }

    fn returned(&self, call: CallId, result: String, (is_error, goes_on): (bool, bool)) {
        let (content, artifacts) = body(Value::String(result));
        let fact = Fact::Returned {
            of: self.of.clone(),
            epoch: self.epoch,
            call,
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
        let draft = NewEvent {
            fact,
            artifacts,
            at: now(),
        };
        let (stop, news, run) = (self.stop.clone(), self.news.clone(), self.run.clone());
        // The journal refuses a call that is reported twice, or one of a child that is not ours: the child's end reports that.
        let done = move |appended: Result<Appended, StoreError>| {
            let Ok(appended) = appended else {
                return;
            };
            if appended.is_stopping {
                stop.stop(false);
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

/// Returns a result without the part that is too long to keep.
fn bounded(mut result: String) -> String {
    if result.len() > MOST_RESULT {
        let bytes = result.len();
        result.truncate(result.floor_char_boundary(MOST_RESULT));
        let _ = write!(result, "\n[cut: {MOST_RESULT} of {bytes} bytes]");
    }
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn calls_with_one_name_are_several_and_end_in_their_order() {
        let mut open = OpenCalls::default();
        for (begins, name, expected) in [
            (true, "same", "call-1"),
            (true, "same", "call-2"),
            (false, "same", "call-1"),
            (true, "bridge-0", "call-3"),
            (false, "same", "call-2"),
            (true, "same", "call-4"),
            (false, "same", "call-4"),
            (false, "same", ""),
            (false, "never", ""),
            (true, "", "call-5"),
            (false, "", "call-5"),
            (false, "bridge-0", "call-3"),
        ] {
            let id = if begins {
                Some(open.begin(name, "bash", false))
            } else {
                open.end(name).map(|call| call.id)
            };
            assert_eq!(id.map_or_else(String::new, |id| id.0), expected, "{name}");
        }
        assert!(open.by_name.is_empty());
    }

    proptest! {
        #[test]
        fn every_call_has_its_own_name_and_its_own_end(names in proptest::collection::vec("[ab]?", 1..12)) {
            let mut open = OpenCalls::default();
            let begun: Vec<CallId> = names.iter().map(|name| open.begin(name, "t", false)).collect();
            let mut ended: Vec<CallId> = names.iter().map(|name| open.end(name).unwrap().id).collect();
            prop_assert_eq!(&begun, &ended);
            ended.dedup();
            prop_assert_eq!(ended.len(), names.len());
        }
    }
}
