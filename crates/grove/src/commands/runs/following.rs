//! Showing a run while it goes on, and its result when it is over.

use std::time::{Duration, Instant};

use grove_plan::{Body, Event, Execution, Fact, NodeId, RunView, StopReason, Wish};
use grove_runs::{about, wake};
use grove_skills::Environment;
use grove_spec::text::one_line;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::live::{LiveView, Manner, Wanted, WatchedRun};
use super::{Runs, line_of};
use crate::command_error::CommandError;
use crate::commands::Outcome;
use crate::output::Output;

/// How often the journal is asked whether something is new.
pub(super) const POLL: Duration = Duration::from_millis(15);
/// How often it is looked whether somebody does the work.
const WORK_CHECK: Duration = Duration::from_secs(2);

const MANNER: Manner = Manner {
    is_brief_when_over: false,
    idle: "d detaches; Ctrl-C stops the run",
    answering: " · Ctrl-C stops the run",
};

/// How a run is followed.
pub(super) struct Following<'a> {
    pub(super) environment: &'a Environment,
    pub(super) runs: &'a Runs,
    pub(super) run: &'a str,
    pub(super) surroundings: &'a str,
    pub(super) json: bool,
    /// Seconds that are waited at most.
    pub(super) timeout: Option<u64>,
}

/// Why a run is not followed any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Over,
    TimeUp,
    /// Whoever followed it went away.
    Detached,
}

impl Following<'_> {
    /// Follows a run to its end. Interrupted once it is told to stop and its result is waited for; twice it is ended.
    pub(super) fn follow(&self, out: &mut Output) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(CommandError::internal)?;
        let left = runtime.block_on(self.show_until_over(out))?;
        let (runs, run) = (self.runs, self.run);
        if left != Left::Over {
            let note = format!("run {run} continues; `grove runs wait {run}` waits for it");
            out.note(&note);
            return Ok(if left == Left::Detached { 0 } else { 7 });
        }
        let loaded = runs.store.load(run)?;
        let view = runs.view(&loaded);
        if self.json {
            out.json_line(&view);
        } else {
            print_result(&view, out);
        }
        let state = loaded.state.run();
        if state.is_waiting() {
            if !self.json {
                out.note(&how_to_go_on(&view));
            }
            return Ok(exit_code(&state));
        }
        // Whoever has read it has it: a result that could not be written stays unacknowledged.
        if out.flush() {
            runs.wish(run, Wish::Acknowledge)?;
        }
        Ok(match view.acceptance {
            "rejected" if state == Execution::Complete => 5,
            _ => exit_code(&state),
        })
    }

    async fn show_until_over(&self, out: &mut Output) -> Result<Left, CommandError> {
        let (runs, run) = (self.runs, self.run);
        let mut signals = Signals::new()?;
        let until = self.timeout;
        let until = until.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let mut watched = WatchedRun::new(&runs.store, run)?;
        let (mut version, mut interrupted) = (None, 0_u32);
        let mut last_check = Instant::now();
        let mut view = if self.json {
            None
        } else {
            LiveView::at_terminal(self.environment, MANNER)
        };
        loop {
            let now = runs.store.data_version()?;
            if version != Some(now) {
                version = Some(now);
                self.take_news(&mut watched, view.as_mut(), out)?;
            }
            let is_waiting = watched.state.run().is_waiting();
            let can_answer = view.as_ref().is_some_and(LiveView::has_keys);
            let is_asking = matches!(watched.state.run(), Execution::Asking(_));
            // Whoever sits there is asked; everybody else is told how to answer.
            let is_over = watched.is_over() || (is_waiting && !(is_asking && can_answer));
            let is_late = until.is_some_and(|until| Instant::now() >= until);
            let mut detaches = false;
            if !is_over
                && !is_late
                && let Some(view) = &mut view
            {
                for wanted in view.show(&mut [&mut watched], 0, &runs.places, out) {
                    match wanted {
                        Wanted::Leave => detaches = true,
                        Wanted::Answer { run, node, answer } => {
                            view.answer(runs, &run, &node, answer, out)?;
                        }
                    }
                }
            }
            if is_over || is_late || detaches {
                if let Some(view) = &mut view {
                    // One child is in the line that says how the run ended.
                    if is_over && watched.plan.nodes.len() > 1 {
                        view.leave(&[&mut watched], out);
                    } else {
                        view.clear(out);
                    }
                }
                return Ok(match (is_over || is_waiting, detaches) {
                    (true, _) => Left::Over,
                    (false, true) => Left::Detached,
                    (false, false) => Left::TimeUp,
                });
            }
            if last_check.elapsed() > WORK_CHECK && !is_waiting {
                last_check = Instant::now();
                runs.ensure(self.surroundings, run)?;
            }
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                _ = signals.interrupt.recv() => {
                    interrupted += 1;
                    runs.wish(run, Wish::Stop { now: interrupted > 1 })?;
                    wake(&runs.places, self.surroundings, run);
                    if let Some(view) = &mut view {
                        view.clear(out);
                    }
                    out.note(if interrupted > 1 { "ending it now" } else { "stopping; press again to end it now" });
                    out.flush();
                }
                _ = signals.terminate.recv() => return Ok(Left::Detached),
                _ = signals.hangup.recv() => return Ok(Left::Detached),
            }
        }
    }

    /// Takes in what happened since the last time.
    fn take_news(
        &self,
        watched: &mut WatchedRun,
        mut view: Option<&mut LiveView<'_>>,
        out: &mut Output,
    ) -> Result<(), CommandError> {
        watched.take_news(&self.runs.store, |_, event| {
            if self.json {
                out.json_line(event);
            } else if let Some(view) = &mut view {
                view.changed();
            } else if let Some(line) = plain_line(event) {
                out.note(&line);
            }
            out.flush();
        })
    }
}

/// What a view is told by the system: that its person wants the run to stop, or that the person is gone.
pub(super) struct Signals {
    pub(super) interrupt: Signal,
    pub(super) terminate: Signal,
    pub(super) hangup: Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, CommandError> {
        let of = |kind| signal(kind).map_err(CommandError::internal);
        Ok(Self {
            interrupt: of(SignalKind::interrupt())?,
            terminate: of(SignalKind::terminate())?,
            hangup: of(SignalKind::hangup())?,
        })
    }
}

/// What whoever does not look at a terminal is told of an event.
pub(super) fn plain_line(event: &Event) -> Option<String> {
    let line = line_of(event);
    match &event.fact {
        Fact::Called { call, .. } => Some(match &call.arguments {
            Body::Inline(arguments) => format!("{line}: {}", about(arguments)),
            Body::Artifact(_) => line,
        }),
        Fact::Gone { .. } | Fact::Fired { .. } | Fact::Noticed { .. } => Some(line),
        Fact::Wanted { wish, .. } => matches!(wish, Wish::Stop { .. }).then_some(line),
        _ => None,
    }
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
    let rejected = view.nodes.iter().find_map(|node| node.rejected.as_ref());
    let acceptance = match (view.acceptance, rejected) {
        (_, Some(why)) => format!(", rejected: {why}"),
        ("none", None) => String::new(),
        (word, None) => format!(", {word}"),
    };
    out.note(&format!(
        "grove: run {} {}{reason}{acceptance}; {}, {} tokens in, {} out",
        view.id,
        view.state,
        super::super::counted(tries, "try"),
        view.usage.input,
        view.usage.output,
    ));
    for node in &view.nodes {
        if let Some(path) = &node.output.path {
            out.note(&format!("grove: {}: its answer is in {path}", node.id));
        }
        for (what, line) in node.remarks() {
            out.note(&format!("grove: {}: {what}: {}", node.id, one_line(line)));
        }
    }
}

/// What to type so that a run goes on that waits for somebody.
fn how_to_go_on(view: &RunView) -> String {
    let of = |state: &str| view.nodes.iter().find(|node| node.state == state);
    match (of("asking"), of("paused")) {
        (Some(node), _) => format!(
            "answer with `grove runs answer {}.{} \"…\"`",
            view.id, node.id
        ),
        (None, Some(node)) => format!("`grove runs resume {}.{}` continues it", view.id, node.id),
        (None, None) => format!("`grove runs show {}` says why", view.id),
    }
}

/// The exit code that a run's end means.
fn exit_code(state: &Execution) -> u8 {
    use grove_plan::Cause;
    match state {
        Execution::Complete => 0,
        Execution::Failed(Cause::Limit { .. } | Cause::TimedOut { .. }) => 6,
        Execution::Paused(_) | Execution::Asking(_) => 7,
        Execution::Stopped(StopReason::Wanted { .. }) => 130,
        _ => 1,
    }
}
