//! The limits of one child, and the fields of its agent that have no effect on a run.

use std::num::NonZeroU64;

use grove_plan::{AttentionLimits, Control, Limits};
use grove_spec::agent::AgentFile;
use grove_spec::config::Settings;

/// Half an hour for a child whose caller waits, two hours for one in the background.
pub(crate) const fn usual_time_ms(background: bool) -> u64 {
    let minutes = if background { 120 } else { 30 };
    minutes * 60 * 1_000
}

pub(crate) fn least<const N: usize>(limits: [Option<u64>; N]) -> Option<u64> {
    limits.into_iter().flatten().min()
}

/// Returns the limits of one child, by its file and by the configuration.
pub(crate) fn of(file: &AgentFile, settings: &Settings) -> Limits {
    let turns = file.turn_budget.as_ref();
    let calls = file.tool_budget.as_ref();
    Limits {
        max_execution_time_ms: least([
            file.max_execution_time_ms,
            settings.run_max_execution_time_ms.value,
        ]),
        max_tokens: file.max_tokens,
        tool_timeout_ms: least([file.tool_timeout_ms, settings.run_tool_timeout_ms.value]),
        model_idle_ms: settings.run_model_idle_ms.value,
        max_subagent_depth: file.max_subagent_depth,
        max_turns: turns.map(|budget| budget.max_turns),
        max_tool_calls: calls.and_then(|budget| budget.hard),
        warn_tool_calls: calls.and_then(|budget| budget.soft),
        attention: None,
    }
}

/// Returns the limits after which a person may have to look after a child, by the request and by the configuration.
pub(crate) fn attention(control: Option<&Control>, settings: &Settings) -> Option<AttentionLimits> {
    let usual = Control::default();
    let asked = control.unwrap_or(&usual);
    let is_on = asked.enabled.unwrap_or(settings.run_attention.value);
    let has_channel = asked
        .notify_channels
        .as_ref()
        .is_none_or(|it| !it.is_empty());
    (is_on && has_channel).then(|| AttentionLimits {
        model_ms: asked
            .needs_attention_after_ms
            .map_or(settings.run_attention_ms.value, NonZeroU64::get),
        tool_ms: asked
            .tool_needs_attention_after_ms
            .map_or(settings.run_tool_attention_ms.value, NonZeroU64::get),
        failing_edits: asked
            .failed_tool_attempts_before_attention
            .map_or(settings.run_failing_edits.value, NonZeroU64::get)
            .max(1),
    })
}

/// Fields of an agent's file that have no effect on a run, a sentence each.
pub(crate) fn not_used(name: &str, file: &AgentFile) -> Vec<String> {
    let budget = file.tool_budget.as_ref();
    let fields = [
        (
            budget.is_some_and(|budget| budget.block.is_some()),
            "toolBudget.block",
            "at its limit a child may call no tool, and sums up",
        ),
        (
            file.completion_guard.is_some(),
            "completionGuard",
            "words in an answer decide nothing; `acceptance` says when work counts",
        ),
    ];
    let given = fields.into_iter().filter(|field| field.0);
    let notes =
        given.map(|(_, field, why)| format!("`{field}` of agent `{name}` has no effect: {why}"));
    notes.collect()
}
