//! The calls of a model. Each is recorded before and after it runs; those that only look run side by side.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use grove_plan::{Call, Finish, Question};

use super::conversation::{Conversation, PendingCall};
use super::{LoopedChild, about};
use crate::attempt_log::LogLine;
use crate::driving::{NotOurs, StoredBody, StoredOutcome};
use crate::tools::{CONTACT_SUPERVISOR, ToolCall, ToolResult};

/// The result for the model of a call that was begun before a crash.
pub(super) const UNKNOWN_OUTCOME: &str =
    "outcome unknown: the call was begun, and nobody saw how it ended; look before you repeat it";
/// The most calls that run side by side.
const MOST_AT_ONCE: usize = 8;

/// The outcome of one call.
enum Settled {
    /// The model gets this result.
    Result(ToolResult),
    Stop,
    /// The child waits for an answer.
    Asks(Question),
}

impl LoopedChild<'_> {
    /// Settles the calls of the last answer in their order; those that only look and stand beside one another run at the
    /// same time. Returns the end of the child, if it ended.
    pub(super) async fn settle_calls(
        &self,
        conversation: &mut Conversation,
    ) -> Result<Option<Finish>, NotOurs> {
        let pending = conversation.pending_calls();
        let mut rest = pending.as_slice();
        while !rest.is_empty() {
            let looks = rest.iter().take_while(|call| self.only_looks(call));
            let (together, later) = rest.split_at(looks.count().clamp(1, MOST_AT_ONCE));
            rest = later;
            let made = conversation.calls_begun();
            let settling = together.iter().zip(made..);
            let settling = settling.map(|(call, made)| self.settle_call(call, made));
            let all = all(settling.collect()).await;
            for (call, settled) in together.iter().zip(all) {
                match settled? {
                    Settled::Result(result) => conversation.add_result(call, &result),
                    Settled::Stop => return Ok(Some(Finish::Interrupted)),
                    Settled::Asks(question) => return Ok(Some(Finish::Asked(question))),
                }
            }
            if conversation.structured().is_some() {
                break;
            }
        }
        Ok(None)
    }

    /// Returns true if a call that is to begin changes nothing, so that its order among others like it does not matter.
    fn only_looks(&self, call: &PendingCall) -> bool {
        !call.may_have_run && self.driven.toolbox.only_looks(&call.name)
    }

    /// Runs a call, or returns what is known of one that may have run.
    async fn settle_call(&self, call: &PendingCall, made: u64) -> Result<Settled, NotOurs> {
        let question = call
            .question()
            .filter(|_| self.driven.toolbox.allows(CONTACT_SUPERVISOR));
        if call.may_have_run {
            if let Some(question) = question {
                return Ok(Settled::Asks(question));
            }
            // Checking a value changes nothing, so it is checked again.
            let looked = self
                .driven
                .toolbox
                .structured(&call.name, &call.input, &self.driven.stop);
            let result = match looked.await {
                Some(result) => result,
                // The run that it asked for is there, or is asked for now.
                None if self.driven.toolbox.delegates(&call.name) => self.run_tool(call).await,
                None => ToolResult::failed(UNKNOWN_OUTCOME),
            };
            self.record_result(call, &result).await?;
            return Ok(Settled::Result(result));
        }
        if self.driven.stop.is_stopped() {
            return Ok(Settled::Stop);
        }
        let most = self.driven.child.limits.max_tool_calls;
        if let Some(most) = most.filter(|most| made >= *most) {
            // The refusal is not recorded: after a crash the call is refused again.
            let text = format!("not run: {most} tool calls may be made, and they were");
            return Ok(Settled::Result(ToolResult::failed(text)));
        }
        let stored = StoredBody::of(call.input.clone());
        let fact = self.driven.called(Call {
            id: call.id.clone(),
            given: Some(call.given.clone()),
            tool: call.name.clone(),
            arguments: stored.body,
            writes: self.driven.toolbox.writes(&call.name),
            observed: false,
        });
        self.driven.record(fact, stored.artifacts).await?;
        let about = about(&call.input);
        let tool = call.name.clone();
        self.driven.log.write(&LogLine::ToolStart { tool, about });
        if let Some(question) = question {
            return Ok(Settled::Asks(question));
        }
        let mut result = self.run_tool(call).await;
        let is_warned = self.driven.child.limits.warn_tool_calls == Some(made + 1);
        if let Some(most) = most.filter(|_| is_warned) {
            let left = most.saturating_sub(made + 1);
            let _ = write!(result.text, "\n[{left} more tool calls may be made]");
        }
        let (tool, failed) = (call.name.clone(), result.is_error);
        self.driven.log.write(&LogLine::ToolEnd { tool, failed });
        self.record_result(call, &result).await?;
        Ok(Settled::Result(result))
    }

    /// Runs a tool; one that looks at files runs on a thread, beside the others.
    async fn run_tool(&self, call: &PendingCall) -> ToolResult {
        if !self.driven.toolbox.looks_at_files(&call.name) {
            let made = ToolCall {
                name: &call.name,
                arguments: &call.input,
                stop: &self.driven.stop,
                id: Some(&call.id),
            };
            return self.driven.toolbox.run(made).await;
        }
        let toolbox = Arc::clone(&self.driven.toolbox);
        let (name, input) = (call.name.clone(), call.input.clone());
        let looked = tokio::task::spawn_blocking(move || toolbox.look(&name, &input));
        let looked = looked.await;
        looked.unwrap_or_else(|error| ToolResult::failed(error.to_string()))
    }

    async fn record_result(&self, call: &PendingCall, result: &ToolResult) -> Result<(), NotOurs> {
        let stored = StoredOutcome::of(result.text.clone(), result.is_error, false);
        let fact = self.driven.returned(call.id.clone(), stored.outcome);
        self.driven.record(fact, stored.artifacts).await.map(drop)
    }
}

/// Waits for all futures, and returns their outputs in order.
async fn all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, done) in futures.iter_mut().zip(&mut done) {
            if done.is_none()
                && let Poll::Ready(output) = future.as_mut().poll(context)
            {
                *done = Some(output);
            }
        }
        if done.iter().all(Option::is_some) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}
