//! Tells when a person may have to look after a child, whatever drives it: its model is silent, a tool takes long, its edits
//! fail. There is one notice of each, until the child has done something again.

use std::time::Duration;

use grove_plan::{Attention, AttentionLimits};
use tokio::time::Instant;

use crate::attempt_log::{AttemptLog, LogLine};
use crate::tools::ToolRow;

/// The last signs of life of a child.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Activity {
    /// The time of the last sign of life.
    last: Instant,
    tools: u32,
    /// The number of edits that failed since the last one that did not.
    failing_edits: u64,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            last: Instant::now(),
            tools: 0,
            failing_edits: 0,
        }
    }
}

impl Activity {
    pub(crate) fn touch(&mut self) {
        self.last = Instant::now();
    }

    pub(crate) fn see(&mut self, line: &LogLine) {
        self.touch();
        match line {
            LogLine::ToolStart { .. } => self.tools = self.tools.saturating_add(1),
            LogLine::ToolEnd { tool, failed } => {
                self.tools = self.tools.saturating_sub(1);
                if is_edit(tool) {
                    self.failing_edits = if *failed { self.failing_edits + 1 } else { 0 };
                }
            }
            _ => {}
        }
    }

    /// Returns the silence after which a person is told, and what the person is told.
    fn patience(&self, limits: &AttentionLimits) -> (Duration, Attention) {
        let (after_ms, why) = if self.tools == 0 {
            let after_ms = limits.model_ms;
            (after_ms, Attention::SilentModel { after_ms })
        } else {
            let after_ms = limits.tool_ms;
            (after_ms, Attention::LongTool { after_ms })
        };
        (Duration::from_millis(after_ms), why)
    }
}

/// Returns true if a tool changes a file, in the words of any host.
pub(crate) fn is_edit(tool: &str) -> bool {
    ToolRow::by_name(tool).is_some_and(|row| matches!(row.name, "edit" | "write"))
}

/// Waits for a child, and gives notice when a person may have to look after it.
pub(crate) async fn watched<T, N: Future<Output = ()>>(
    work: impl Future<Output = T>,
    log: &AttemptLog,
    limits: Option<&AttentionLimits>,
    notice: impl Fn(Attention) -> N,
) -> T {
    let mut work = std::pin::pin!(work);
    let Some(limits) = limits else {
        return work.await;
    };
    let (mut noticed, mut edits_seen) = (None, 0);
    loop {
        let seen = log.activity();
        let (patience, why) = seen.patience(limits);
        let until = if noticed == Some(seen.last) {
            // This silence was noticed already, but another one may follow it.
            Instant::now() + patience
        } else {
            seen.last + patience
        };
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep_until(until) => {
                let is_silent = log.activity().last == seen.last;
                if is_silent && noticed.replace(seen.last) != Some(seen.last) {
                    notice(why).await;
                }
            }
            () = log.edited() => {
                let count = log.activity().failing_edits;
                if count > edits_seen && count.is_multiple_of(limits.failing_edits) {
                    notice(Attention::FailingEdits { count }).await;
                }
                edits_seen = count;
            }
        }
    }
}
