//! Showing a run while it goes on, and its result when it is over.

use std::time::{Duration, Instant};

use grove_plan::{
    Body, Event, Execution, Fact, NodeId, Plan, RunView, State, StopReason, Wish, advance,
};
use grove_runs::{about, wake};
use grove_spec::text::one_line;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::progress::{Keys, Progress};
use super::{Runs, line_of};
use crate::command_error::CommandError;
use crate::commands::Outcome;
use crate::output::Output;

/// How often the journal is asked whether something is new.
const POLL: Duration = Duration::from_millis(15);
/// How often it is looked whether somebody does the work.
const WORK_CHECK: Duration = Duration::from_secs(2);

/// How a run is followed.
pub(super) struct Following<'a> {
    pub(super) runs: &'a Runs,
    pub(super) run: &'a str,
    pub(super) surroundings: &'a str,
    pub(super) json: bool,
    /// Seconds that are waited at most.
    pub(super) timeout: Option<u64>,
    /// Columns of the terminal.
    pub(super) width: usize,
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
            let note = format!("run {run} goes on; `grove runs wait {run}` waits for it");
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
        let plan = runs.store.load(run)?.plan;
        let (mut state, mut version, mut interrupted) = (State::default(), None, 0_u32);
        let mut last_check = Instant::now();
        let is_shown = !self.json;
        let mut progress = is_shown
            .then_some(self.width)
            .and_then(Progress::at_terminal);
        let keys = progress.as_ref().and_then(|_| Keys::of_terminal());
        loop {
            let now = runs.store.data_version()?;
            if version != Some(now) {
                version = Some(now);
                self.take_news(&plan, &mut state, progress.as_mut(), out)?;
            }
            let is_over = state.ended.is_some() || state.run().is_waiting();
            let is_late = until.is_some_and(|until| Instant::now() >= until);
            let detaches = keys.as_ref().is_some_and(Keys::detaches);
            if is_over || is_late || detaches {
                if let Some(progress) = &mut progress {
                    progress.clear(out);
                }
                return Ok(match (is_over, detaches) {
                    (true, _) => Left::Over,
                    (false, true) => Left::Detached,
                    (false, false) => Left::TimeUp,
                });
            }
            if let Some(progress) = &mut progress {
                progress.show(&runs.places, run, (&plan, &state), out);
            }
            if last_check.elapsed() > WORK_CHECK {
                last_check = Instant::now();
                runs.ensure(self.surroundings, run)?;
            }
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                _ = signals.interrupt.recv() => {
                    interrupted += 1;
                    runs.wish(run, Wish::Stop { now: interrupted > 1 })?;
                    wake(&runs.places, self.surroundings, run);
                    if let Some(progress) = &mut progress {
                        progress.clear(out);
                    }
                    out.note(if interrupted > 1 { "ending it now" } else { "stopping; once more ends it now" });
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
        plan: &Plan,
        state: &mut State,
        mut progress: Option<&mut Progress>,
        out: &mut Output,
    ) -> Result<(), CommandError> {
        for event in self.runs.store.events_after(self.run, state.seq)? {
            advance(plan, state, &event).map_err(CommandError::internal)?;
            if self.json {
                out.json_line(&event);
            } else if let Some(progress) = &mut progress {
                progress.changed();
            }
            let is_plain = !self.json && progress.is_none();
            if let Some(line) = plain_line(&event).filter(|_| is_plain) {
                out.note(&line);
            }
            out.flush();
        }
        Ok(())
    }
}

/// What a view is told by the system: that its person wants the run to stop, or that the person is gone.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> Result<Self, CommandError> {
        let of = |kind| signal(kind).map_err(CommandError::internal);
        Ok(Self {
            interrupt: of(SignalKind::interrupt())?,
            terminate: of(SignalKind::terminate())?,
            hangup: of(SignalKind::hangup())?,
        })
    }
}

/// What whoever does not look at a terminal is told of an event.
fn plain_line(event: &Event) -> Option<String> {
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
        (None, Some(node)) => format!("`grove runs resume {}.{}` lets it go on", view.id, node.id),
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
