//! Showing a run while it goes on, and its result when it is over.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use grove_plan::{Event, Execution, Fact, NodeId, RunView, StopReason, Wish};
use grove_runs::wake;
use tokio::signal::unix::{SignalKind, signal};

use super::{Runs, line_of, supervise};
use crate::command_error::CommandError;
use crate::commands::Outcome;
use crate::output::Output;

/// How often the journal is asked whether something is new.
const POLL: Duration = Duration::from_millis(15);
/// How often it is looked whether somebody does the work.
const WORK_CHECK: Duration = Duration::from_secs(2);

/// Follows a run to its end. Interrupted once it is told to stop and its result is waited for; twice it is ended.
pub(super) fn follow(
    runs: &Runs,
    run: &str,
    surroundings: &str,
    json: bool,
    timeout: Option<u64>,
    out: &mut Output,
) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CommandError::internal)?;
    let is_over = runtime.block_on(show_until_over(runs, run, surroundings, json, timeout, out))?;
    let loaded = runs.store.load(run)?;
    let view = runs.view(&loaded);
    if !is_over {
        out.note(&format!(
            "run {run} goes on; `grove runs wait {run}` waits for it"
        ));
        return Ok(7);
    }
    if json {
        out.json_line(&view);
    } else {
        print_result(&view, out);
    }
    // Whoever has read it has it: a result that could not be written stays unacknowledged.
    if out.flush() {
        runs.wish(run, Wish::Acknowledge)?;
    }
    Ok(exit_code(&loaded.state.run()))
}

async fn show_until_over(
    runs: &Runs,
    run: &str,
    surroundings: &str,
    json: bool,
    timeout: Option<u64>,
    out: &mut Output,
) -> Result<bool, CommandError> {
    let mut interrupts = signal(SignalKind::interrupt()).map_err(CommandError::internal)?;
    let until = timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let (mut seen, mut version, mut interrupted) = (0, None, 0_u32);
    let mut last_check = Instant::now();
    let shows_progress = !json && std::io::stderr().is_terminal();
    loop {
        let now = runs.store.data_version()?;
        if version != Some(now) {
            version = Some(now);
            for event in runs.store.events_after(run, seen)? {
                seen = event.seq;
                if json {
                    out.json_line(&event);
                } else if shows_progress || is_worth_a_line(&event) {
                    out.note(&line_of(&event));
                }
                out.flush();
            }
            if runs.store.load(run)?.state.ended.is_some() {
                return Ok(true);
            }
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(false);
        }
        if last_check.elapsed() > WORK_CHECK {
            last_check = Instant::now();
            supervise::ensure(&runs.places, surroundings, run)?;
        }
        tokio::select! {
            () = tokio::time::sleep(POLL) => {}
            _ = interrupts.recv() => {
                interrupted += 1;
                runs.wish(run, Wish::Stop { now: interrupted > 1 })?;
                wake(&runs.places, surroundings, run);
                out.note(if interrupted > 1 { "ending it now" } else { "stopping; once more ends it now" });
                out.flush();
            }
        }
    }
}

/// What people see who do not look at a terminal.
fn is_worth_a_line(event: &Event) -> bool {
    matches!(
        event.fact,
        Fact::Gone { .. }
            | Fact::Wanted {
                wish: Wish::Stop { .. },
                ..
            }
    )
}

fn print_result(view: &RunView, out: &mut Output) {
    if let Some(result) = &view.result {
        out.text(result);
        if !result.ends_with('\n') {
            out.line("");
        }
    }
    let nodes = view
        .nodes
        .iter()
        .filter(|node| node.id != NodeId::whole_run());
    let tries: usize = nodes.map(|node| node.attempts.len()).sum();
    let reason = view
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {reason}"));
    out.note(&format!(
        "grove: run {} {}{reason}; {}, {} tokens in, {} out",
        view.id,
        view.state,
        super::super::counted(tries, "try"),
        view.usage.input,
        view.usage.output,
    ));
}

/// The exit code that a run's end means.
fn exit_code(state: &Execution) -> u8 {
    use grove_plan::Cause;
    match state {
        Execution::Complete => 0,
        Execution::Failed(Cause::Limit { .. } | Cause::TimedOut { .. }) => 6,
        Execution::Stopped(StopReason::Wanted { .. }) => 130,
        _ => 1,
    }
}
