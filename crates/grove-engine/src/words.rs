//! Runs in words: the same lines for terminals and for models.

use std::fmt::Write as _;

use crate::native::about;
use grove_plan::{
    Body, CallOutcome, Check, CheckResult, Event, Fact, FoundFile, REJECTED, RunView, Wish,
};
use grove_spec::duration::in_words;
use grove_spec::text::{counted, first_names, grouped, one_line};
use grove_store::RunRow;
use serde_json::{Value, json};

use crate::patches::AppliedRun;

/// The most bytes of a tool's result in a line of a log.
const MOST_OF_RESULT: usize = 120;
/// The words for a patch that was applied without a merge.
const UNSTAGED: &str = "not staged, since files have changes of yours";

/// A run in lines: its children and their attempts. Its answer is not among them.
pub fn show_lines(view: &RunView) -> Vec<String> {
    let mut out = Vec::new();
    let reason = view
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {}", one_line(reason)));
    out.push(format!("run {} {}{reason}", view.id, view.shown()));
    for node in &view.nodes {
        let engine = match node.engine.as_str() {
            "native" => String::new(),
            engine => {
                let version = node.program_version.as_ref();
                let version = version.map_or_else(String::new, |it| format!(" {it}"));
                format!(" by {engine}{version}")
            }
        };
        let items = node.items.map_or_else(String::new, |count| {
            format!(" for {}", counted(count, "item"))
        });
        out.push(format!(
            "  {} {}{engine}{items} ({})",
            node.id,
            node.agent,
            node.shown()
        ));
        for attempt in &node.attempts {
            // A question has a line of its own.
            let reason = attempt
                .reason
                .as_ref()
                .filter(|_| attempt.state != "asking");
            let reason = reason.map_or_else(String::new, |why| format!(" ({})", one_line(why)));
            out.push(format!(
                "    try {} with {}: {}{reason}, {}, {}, {}",
                attempt.n,
                attempt.model,
                attempt.state,
                counted(attempt.turns as usize, "answer"),
                counted(attempt.tool_calls, "tool call"),
                tokens_in_words(attempt.tokens),
            ));
            for run in &attempt.delegated {
                out.push(format!(
                    "      asked for run {run}: `grove runs show {run}`"
                ));
            }
        }
        if node.state == "asking" {
            let question = node.reason.as_deref().unwrap_or_default();
            out.push(format!("    asks: {}", one_line(question)));
        }
        match (&node.rejected, node.acceptance) {
            (Some(why), _) => {
                out.push(format!("    {REJECTED}: {}", one_line(why)));
                if !node.checks.is_empty() {
                    let run = &view.id;
                    out.push(format!("    what it printed: `grove runs ledger {run}`"));
                }
            }
            (None, "none") => {}
            (None, level) => out.push(format!("    {level}")),
        }
        if let Some(patch) = &node.patch {
            let files = usize::try_from(patch.files).unwrap_or(usize::MAX);
            let (run, id) = (&view.id, &node.id);
            out.push(if files == 0 {
                "    changed no file".to_owned()
            } else {
                let files = counted(files, "file");
                format!("    changed {files}: `grove runs diff {run}.{id}`")
            });
        }
        if let Some(tree) = &node.worktree {
            let why = tree.kept.as_deref().unwrap_or("in use");
            out.push(format!("    working tree {}: {why}", tree.path.display()));
        }
        if let Some(why) = &node.not_proven_ended {
            out.push(format!("    not proven to have ended: {}", one_line(why)));
        }
    }
    if let Some(delivered) = &view.on_complete {
        out.push(format!("  on_complete {}", delivered.end));
    }
    out
}

/// The reason why a command of a contract saw files as they were before the child.
pub const PROTECTED: &str = "no child changes what its work is checked with; `protect` in a request says which files that are";

/// A command of a contract in a line, with the way in which it ended.
pub fn check_line(check: &Check, result: Option<&CheckResult>) -> String {
    let Some(result) = result else {
        return format!("{} `{}` was not run", check.id, check.line());
    };
    format!(
        "{} `{}` {} after {}",
        check.id,
        check.line(),
        result.end,
        in_words(result.milliseconds),
    )
}

/// The way in which a command of a contract ran, a line each: its sandbox, the files that it saw as they were
/// before the child, and those of the work that it changed, though it was to judge them.
pub fn check_facts(result: &CheckResult) -> Vec<String> {
    let mut lines = vec![format!("sandbox: {}", result.sandbox)];
    let files = [
        ("as before the child", &result.as_before),
        ("changed the work", &result.changed),
    ];
    let named = files.into_iter().filter(|(_, files)| !files.is_empty());
    lines.extend(named.map(|(what, files)| format!("{what}: {}", one_line(&first_names(files)))));
    lines
}

/// The one number of tokens that people are shown: those that limits count.
pub fn tokens_in_words(tokens: u64) -> String {
    match usize::try_from(tokens).unwrap_or(usize::MAX) {
        1 => "1 token".to_owned(),
        several => format!("{} tokens", grouped(several)),
    }
}

/// The first line of a result after a colon, as far as it is short.
fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = one_line(line.unwrap_or_default().trim());
    let end = line.floor_char_boundary(MOST_OF_RESULT);
    match line.get(..end).unwrap_or_default() {
        "" => String::new(),
        kept if kept.len() < line.len() => format!(": {kept}…"),
        kept => format!(": {kept}"),
    }
}

/// An event in a line.
pub fn event_line(event: &Event) -> String {
    let what = match &event.fact {
        Fact::Submitted { .. } => "submitted".to_owned(),
        Fact::Leased {
            effect,
            epoch,
            holder,
        } => {
            format!("{effect} taken by process {} (epoch {epoch})", holder.pid)
        }
        Fact::Told { of, .. } => format!("{of} gets the message that was put together for it"),
        Fact::Found { of, file, .. } => match file {
            FoundFile::Absent => format!("{of} has no answer file yet"),
            FoundFile::There { .. } => format!("{of} finds an earlier answer file"),
        },
        Fact::Noticed { of, why, .. } => format!("{of} may need attention: {why}"),
        Fact::Compacted { of, turns, .. } => {
            format!("{of} its first {turns} turns were summarised")
        }
        Fact::Turned { of, turn, .. } => format!(
            "{of} the model answered: {}, {}",
            tokens_in_words(turn.usage.counted()),
            turn.stop
        ),
        Fact::Wasted { of, usage, .. } => format!(
            "{of} a request failed: {}",
            tokens_in_words(usage.counted())
        ),
        Fact::Delegated { of, run, .. } => format!("{of} asked for run {run}"),
        Fact::Used { of, usage, .. } => format!(
            "{of} a run below it used {}",
            tokens_in_words(usage.counted())
        ),
        Fact::Called { of, call, .. } => match &call.arguments {
            Body::Inline(arguments) => format!("{of} calls {}: {}", call.tool, about(arguments)),
            Body::Artifact(_) => format!("{of} calls {}", call.tool),
        },
        Fact::Returned {
            of, call, outcome, ..
        } => {
            let how = match outcome {
                CallOutcome { is_error: true, .. } => "failed",
                CallOutcome { goes_on: true, .. } => "goes on",
                _ => "returned",
            };
            let said = match &outcome.content {
                Body::Inline(Value::String(text)) => first_line(text),
                _ => String::new(),
            };
            format!("{of} call {} {how}{said}", call.0)
        }
        Fact::Answered { effect, .. } => format!("{effect} done"),
        Fact::Gone { effect, why, .. } => format!("{effect} lost its holder: {why}"),
        Fact::Wanted { by, wish, .. } => match wish {
            Wish::Stop { now: true } => format!("{by} asked it to end now"),
            Wish::Stop { now: false } => format!("{by} asked it to stop"),
            Wish::StopChild { node, now: true } => format!("{by} asked {node} to end now"),
            Wish::StopChild { node, now: false } => format!("{by} asked {node} to stop"),
            Wish::Discard { node } => format!("{by} discarded the patch of {node}"),
            Wish::Acknowledge => format!("{by} collected the result"),
            Wish::Pause { node: Some(node) } => format!("{by} asked {node} to pause"),
            Wish::Pause { node: None } => format!("{by} asked it to pause"),
            Wish::Resume { node, .. } => format!("{by} asked {node} to continue"),
            Wish::Steer { node, .. } => format!("{by} sent {node} a message"),
            Wish::Answer { node, .. } => format!("{by} answered {node}"),
        },
        Fact::Fired { timer } => format!("{timer} fired"),
    };
    format!("{:>4} {}", event.seq, one_line(&what))
}

/// A run of a list as data.
pub fn row_json(row: &RunRow) -> Value {
    json!({
        "id": row.id,
        "title": row.title,
        "folder": row.folder,
        "state": row.state,
        "reason": row.reason,
        "submittedAt": row.submitted_at,
        "endedAt": row.ended_at,
        "tokens": row.tokens,
        "acknowledged": row.acknowledged,
        "parent": row.parent,
    })
}

/// Runs in lines with tabs between what is said of each.
pub(crate) fn list_lines(rows: &[RunRow]) -> String {
    let mut out = String::new();
    for row in rows {
        let (id, tokens, title) = (&row.id, row.tokens, one_line(&row.title));
        let _ = writeln!(out, "{id}\t{}\t{tokens}\t{title}", row_state(row));
    }
    out
}

/// The state of a run of a list, with its reason.
pub fn row_state(row: &RunRow) -> String {
    match &row.reason {
        Some(reason) => format!("{}: {}", row.shown(), one_line(reason)),
        None => row.shown().to_owned(),
    }
}

/// The patches that were applied, a line or more for each, and the next step.
pub fn applied_lines(applied: &AppliedRun) -> Vec<String> {
    let mut lines = Vec::new();
    for patch in &applied.patches {
        if patch.was_there {
            lines.push(format!("{}: already applied", patch.title));
            continue;
        }
        let files = counted(usize::try_from(patch.files).unwrap_or(usize::MAX), "file");
        let staged = if patch.is_staged { "staged" } else { UNSTAGED };
        lines.push(format!("{}: {files} changed and {staged}", patch.title));
        let conflicts = patch.conflicts.iter();
        lines.extend(conflicts.map(|file| format!("  conflict in {file}")));
    }
    lines
}

/// The next step after patches were applied.
pub fn after_applying(applied: &AppliedRun) -> Option<String> {
    if applied.has_conflicts() {
        let left = match applied.left {
            0 => String::new(),
            1 => "; 1 patch is not applied yet".to_owned(),
            left => format!("; {left} patches are not applied yet"),
        };
        return Some(format!("resolve the conflicts{left}"));
    }
    let is_changed = applied.patches.iter().any(|patch| patch.files != 0);
    is_changed.then(|| "`grove undo` takes it back".to_owned())
}
