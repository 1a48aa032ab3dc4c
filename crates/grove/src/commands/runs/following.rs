//! Showing a run while it goes on, and its result when it is over.

use std::path::Path;
use std::time::{Duration, Instant};

use grove_engine::view::{
    Event, Execution, Fact, NodeView, REJECTED, RunView, StopReason, Wish, Woken,
};
use grove_skills::Environment;
use grove_spec::money;
use grove_spec::text::one_line;
use tokio::signal::unix::{Signal, SignalKind, signal};

use grove_engine::WatchedRun;

use super::live::{LiveView, ViewOptions, ViewerWish};
use crate::command_error::CommandError;
use crate::commands::{Outcome, counted};
use crate::output::CommandOutput;
use grove_engine::RunJournal;
use grove_engine::words::{event_line, tokens_in_words};

/// The time between two questions to the journal whether something is new.
pub(super) const POLL: Duration = Duration::from_millis(15);
const WORK_CHECK: Duration = Duration::from_secs(2);
/// With fewer bytes on its disk the journal cannot grow: a transaction writes some pages of 4 KiB beside it.
const LEAST_ROOM: u64 = 64 << 10;

const MANNER: ViewOptions = ViewOptions {
    is_brief_when_over: false,
    idle: "d leaves it in the background; Ctrl-C stops the run",
    answering: " · Ctrl-C stops the run",
};

pub(super) struct FollowedRun<'a> {
    pub(super) environment: &'a Environment,
    pub(super) runs: &'a RunJournal,
    pub(super) run: &'a str,
    pub(super) surroundings: &'a str,
    pub(super) json: bool,
    /// Seconds that are waited at most.
    pub(super) timeout: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FollowEnd {
    Over,
    TimeUp,
    LeftInBackground,
    Terminated,
    HungUp,
}

impl FollowEnd {
    /// Returns the exit code. It is never 0 for a run that goes on, since that has no result yet; for a signal it is the
    /// code that shells use.
    fn exit_code(self) -> u8 {
        match self {
            Self::Over => 0,
            Self::TimeUp | Self::LeftInBackground => 7,
            Self::HungUp => 129,
            Self::Terminated => 143,
        }
    }
}

impl FollowedRun<'_> {
    /// Follows a run to its end. Interrupted once it is told to stop and its result is waited for; twice it is ended.
    pub(super) fn follow(&self, out: &mut CommandOutput) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(CommandError::internal)?;
        let left = runtime.block_on(self.show_until_over(out))?;
        let (runs, run) = (self.runs, self.run);
        if left != FollowEnd::Over {
            let note = format!("run {run} continues; `grove runs wait {run}` waits for it");
            out.note(&note);
            return Ok(left.exit_code());
        }
        let loaded = runs.load(run)?;
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
        // A result counts as read once it is written; one that could not be written stays unacknowledged.
        if out.flush() {
            runs.wish(run, Wish::Acknowledge)?;
        }
        Ok(match view.acceptance {
            REJECTED if state == Execution::Complete => 5,
            _ => exit_code(&state),
        })
    }

    async fn show_until_over(&self, out: &mut CommandOutput) -> Result<FollowEnd, CommandError> {
        let mut signals = ViewSignals::new()?;
        let mut watched = WatchedRun::new(self.runs, self.run)?;
        let mut view = if self.json {
            None
        } else {
            LiveView::at_terminal(self.environment, MANNER)
        };
        let left = self.go_on(&mut signals, &mut watched, &mut view, out).await;
        // Nothing of the view may stand where something else is written, however it ended.
        if let Some(view) = &mut view {
            // One child is in the line that says how the run ended.
            if matches!(left, Ok(FollowEnd::Over))
                && watched.is_over()
                && watched.state.nodes.keys().nth(1).is_some()
            {
                view.leave(&[&mut watched], out);
            } else {
                view.clear(out);
            }
        }
        left
    }

    async fn go_on(
        &self,
        signals: &mut ViewSignals,
        watched: &mut WatchedRun,
        view: &mut Option<LiveView<'_>>,
        out: &mut CommandOutput,
    ) -> Result<FollowEnd, CommandError> {
        let (runs, run) = (self.runs, self.run);
        let until = self.timeout;
        let until = until.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let (mut version, mut interrupted) = (None, 0_u32);
        let (mut last_check, mut last_news) = (Instant::now(), Instant::now());
        let mut disk = JournalDisk::default();
        let mut is_silent = false;
        loop {
            let now = runs.version()?;
            if version != Some(now) {
                version = Some(now);
                last_news = Instant::now();
                self.take_news(watched, view.as_mut(), out)?;
            }
            let is_waiting = watched.state.run().is_waiting();
            let can_answer = view.as_ref().is_some_and(LiveView::has_keys);
            let is_asking = matches!(watched.state.run(), Execution::Asking(_));
            // A person at the terminal is asked; every other caller is told how to answer.
            if watched.is_over() || (is_waiting && !(is_asking && can_answer)) {
                return Ok(FollowEnd::Over);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(if is_waiting {
                    FollowEnd::Over
                } else {
                    FollowEnd::TimeUp
                });
            }
            if let Some(view) = view {
                for wanted in view.show(&mut [&mut *watched], 0, runs, out) {
                    match wanted {
                        ViewerWish::Leave if is_waiting => return Ok(FollowEnd::Over),
                        ViewerWish::Leave => return Ok(FollowEnd::LeftInBackground),
                        ViewerWish::Answer { run, node, answer } => {
                            view.answer(runs, &run, &node, answer, out)?;
                        }
                    }
                }
            }
            if last_check.elapsed() > WORK_CHECK && !is_waiting {
                last_check = Instant::now();
                let is_quiet = last_news.elapsed() > WORK_CHECK;
                if let Some(note) = disk.note(runs.places().folder(), is_quiet) {
                    say(view.as_mut(), &note, out);
                }
                let woken = runs.ensure(self.surroundings, run)?;
                if woken == Woken::Unanswered && !is_silent {
                    say(view.as_mut(), &runs.note_of_silence(run)?, out);
                }
                is_silent = woken == Woken::Unanswered;
            }
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                _ = signals.interrupt.recv() => {
                    interrupted += 1;
                    runs.wish(run, Wish::Stop { now: interrupted > 1 })?;
                    runs.wake(self.surroundings, run);
                    let note = if interrupted > 1 { "ending it now" } else { "stopping; press again to end it now" };
                    say(view.as_mut(), note, out);
                }
                _ = signals.terminate.recv() => return Ok(FollowEnd::Terminated),
                _ = signals.hangup.recv() => return Ok(FollowEnd::HungUp),
            }
        }
    }

    /// Takes in what happened since the last time.
    fn take_news(
        &self,
        watched: &mut WatchedRun,
        mut view: Option<&mut LiveView<'_>>,
        out: &mut CommandOutput,
    ) -> Result<(), CommandError> {
        watched.take_news(self.runs, |_, event| {
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

/// A note above the view, which is drawn anew below it.
fn say(view: Option<&mut LiveView<'_>>, note: &str, out: &mut CommandOutput) {
    if let Some(view) = view {
        view.clear(out);
    }
    out.note(note);
    out.flush();
}

/// The disk of the journal, as long as a run is waited for: while it is full nothing can be recorded, and nothing goes on.
#[derive(Debug, Default)]
struct JournalDisk {
    is_full: bool,
}

impl JournalDisk {
    /// Returns a note, once each time the disk becomes full or not full. A disk is of no interest while the run goes on.
    fn note(&mut self, folder: &Path, is_quiet: bool) -> Option<String> {
        let free = grove_fs::files::free_bytes(folder);
        let is_full = is_quiet && free.is_some_and(|free| free < LEAST_ROOM);
        if is_full == self.is_full {
            return None;
        }
        self.is_full = is_full;
        let folder = folder.display();
        Some(if is_full {
            format!("the disk of {folder} is full: the run continues when there is room again")
        } else {
            format!("there is room in {folder} again")
        })
    }
}

/// The signals to a view: that its person wants the run to stop, or that the person is gone.
pub(super) struct ViewSignals {
    pub(super) interrupt: Signal,
    pub(super) terminate: Signal,
    pub(super) hangup: Signal,
}

impl ViewSignals {
    pub(super) fn new() -> Result<Self, CommandError> {
        let of = |kind| signal(kind).map_err(CommandError::internal);
        Ok(Self {
            interrupt: of(SignalKind::interrupt())?,
            terminate: of(SignalKind::terminate())?,
            hangup: of(SignalKind::hangup())?,
        })
    }
}

/// Returns an event in words for a reader without a terminal.
pub(super) fn plain_line(event: &Event) -> Option<String> {
    let line = event_line(event);
    match &event.fact {
        Fact::Called { .. } | Fact::Gone { .. } | Fact::Fired { .. } | Fact::Noticed { .. } => {
            Some(line)
        }
        Fact::Wanted { wish, .. } => matches!(wish, Wish::Stop { .. }).then_some(line),
        _ => None,
    }
}

fn print_result(view: &RunView, out: &mut CommandOutput) {
    if let Some(result) = &view.answer {
        out.child_text(result);
    }
    let reason = view
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {}", one_line(reason)));
    let rejected = view.nodes.iter().find_map(|node| node.rejected.as_ref());
    let acceptance = match (view.acceptance, rejected) {
        (_, Some(why)) => format!(": {}", one_line(why)),
        ("none", None) => String::new(),
        (word, None) => format!(", {word}"),
    };
    out.note(&format!(
        "grove: run {} {}{reason}{acceptance}; {}",
        view.id,
        view.shown(),
        spent(view),
    ));
    for node in &view.nodes {
        if let Some(path) = &node.output.path {
            out.note(&format!("grove: {}: its answer is in {path}", node.id));
        }
        for (what, line) in node.remarks() {
            out.note(&format!("grove: {}: {what}: {}", node.id, one_line(line)));
        }
    }
    let changes = |node: &NodeView| node.patch.as_ref().is_some_and(|patch| patch.files > 0);
    if view.nodes.iter().any(changes) {
        let id = &view.id;
        let apply = match view.shown() {
            "complete" => format!(", `grove runs apply {id}` makes them here"),
            _ => String::new(),
        };
        out.note(&format!(
            "grove: files were changed in working trees: `grove runs diff {id}` shows the changes{apply}"
        ));
    }
}

/// Returns the number of children and of tries, where it is not one for each, and what they used.
fn spent(view: &RunView) -> String {
    let tries = view.nodes.iter().map(|node| node.attempts.len());
    let tries: Vec<usize> = tries.filter(|tries| *tries > 0).collect();
    let (children, tries) = (tries.len(), tries.iter().sum());
    let of_children = (children > 1).then(|| format!("{children} children"));
    let of_tries = (tries > children).then(|| counted(tries, "try"));
    let cost = view.cost.filter(|cost| *cost > 0.0);
    let cost = cost.map(|cost| format!("cost {}", money::in_words(cost)));
    let parts = [
        of_children,
        of_tries,
        Some(tokens_in_words(view.tokens())),
        cost,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the command with which a run goes on that waits for a person.
pub(super) fn how_to_go_on(view: &RunView) -> String {
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

fn exit_code(state: &Execution) -> u8 {
    use grove_engine::view::Cause;
    match state {
        Execution::Complete => 0,
        Execution::Failed(Cause::Limit { .. } | Cause::TimedOut { .. }) => 6,
        Execution::Paused(_) | Execution::Asking(_) => 7,
        Execution::Stopped(StopReason::Wanted { .. } | StopReason::WantedOfChild { .. }) => 130,
        _ => 1,
    }
}
