//! The view of runs while they go on: frames at the bottom of a terminal, and keys.
//!
//! A frame is a function of the journal, the logs of attempts, the time and the size of the terminal; nothing of a run
//! depends on it.

mod child_line;
mod frame;
mod keys;
mod line;
mod screen;
mod watching;

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use grove_engine::now;
use grove_engine::view::ChildWish;
use grove_engine::view::NodeId;
use grove_skills::Environment;

use crate::command_error::CommandError;
use crate::output::{CommandOutput, notes_terminal};

use frame::{FrameFooter, FrameSize, ShownRun, asking_children, frame};
use grove_engine::{RunJournal, WatchedRun};
use keys::{AnswerPrompt, KeyOutcome, TerminalKeys};
use screen::FrameScreen;
pub(super) use watching::watch;

const FRAME: Duration = Duration::from_millis(40);
const LOGS: Duration = Duration::from_millis(120);
/// A frame is not older than this: its times go on.
const TICK: Duration = Duration::from_secs(1);

/// The manner of a view: what its keys do beside answering, and what it shows.
pub(super) struct ViewOptions {
    /// True if no more than the heading of a run that is over is shown.
    pub(super) is_brief_when_over: bool,
    /// The line of keys while no child is being answered.
    pub(super) idle: &'static str,
    /// The other keys while a child is being answered.
    pub(super) answering: &'static str,
}

pub(super) enum ViewerWish {
    Leave,
    Answer {
        run: String,
        node: NodeId,
        answer: String,
    },
}

pub(super) struct LiveView<'a> {
    environment: &'a Environment,
    manner: ViewOptions,
    screen: FrameScreen,
    keys: Option<TerminalKeys>,
    prompt: AnswerPrompt,
    drawn: Option<Instant>,
    logs_read: Option<Instant>,
    is_stale: bool,
}

impl<'a> LiveView<'a> {
    /// None without a terminal.
    pub(super) fn at_terminal(environment: &'a Environment, manner: ViewOptions) -> Option<Self> {
        std::io::stderr().is_terminal().then(|| Self {
            environment,
            manner,
            screen: FrameScreen::default(),
            keys: TerminalKeys::of_terminal(),
            prompt: AnswerPrompt::default(),
            drawn: None,
            logs_read: None,
            is_stale: true,
        })
    }

    /// Returns true if a person can answer here.
    pub(super) fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    pub(super) fn changed(&mut self) {
        self.is_stale = true;
    }

    fn size(&self) -> FrameSize {
        let (columns, rows) = notes_terminal(&self.environment.variables);
        FrameSize { columns, rows }
    }

    /// Draws what there is, when it is time to; returns the wishes of the person.
    pub(super) fn show(
        &mut self,
        runs: &mut [&mut WatchedRun],
        more_runs: usize,
        journal: &RunJournal,
        out: &mut CommandOutput,
    ) -> Vec<ViewerWish> {
        let size = self.size();
        let at = now();
        if self.logs_read.is_none_or(|read| read.elapsed() >= LOGS) {
            self.logs_read = Some(Instant::now());
            for run in runs.iter_mut() {
                self.is_stale |= run.read_logs(journal, size.rows, at);
            }
        }
        let struck = self
            .keys
            .as_mut()
            .map_or_else(Vec::new, TerminalKeys::struck);
        let age = self.drawn.map(|drawn| drawn.elapsed());
        let is_old = age.is_none_or(|age| age >= TICK || (self.is_stale && age >= FRAME));
        if struck.is_empty() && !is_old {
            return Vec::new();
        }
        let shown: Vec<ShownRun<'_>> = runs
            .iter()
            .map(|run| ShownRun {
                id: &run.id,
                title: &run.title,
                live: run.live(at),
                is_brief: self.manner.is_brief_when_over && run.is_over(),
            })
            .collect();
        let asking = asking_children(&shown);
        let mut wanted = Vec::new();
        if self.keys.is_some() {
            self.prompt.settle(&asking);
        }
        for key in struck {
            match self.prompt.strike(key, &asking) {
                Some(KeyOutcome::Leave) => wanted.push(ViewerWish::Leave),
                Some(KeyOutcome::Answer { run, node, answer }) => {
                    wanted.push(ViewerWish::Answer { run, node, answer });
                }
                None => {}
            }
        }
        let answer = self.prompt.shown(&asking);
        let hint = match (answer, asking.len()) {
            _ if self.keys.is_none() => String::new(),
            (Some(_), 1) => format!("Enter answers · Esc postpones it{}", self.manner.answering),
            (Some(_), _) => {
                let more = self.manner.answering;
                format!("Enter answers · Tab: the next question · Esc postpones it{more}")
            }
            (None, 0) => self.manner.idle.to_owned(),
            (None, _) => format!("a answers · {}", self.manner.idle),
        };
        let footer = FrameFooter {
            hint: &hint,
            answer,
            more_runs,
        };
        // The last column stays free: a terminal may go to the next row behind it.
        let room = FrameSize {
            columns: size.columns - 1,
            rows: size.rows.saturating_sub(1).max(1),
        };
        let lines = frame(&shown, &footer, room);
        self.screen.show(lines, size.columns, out);
        self.drawn = Some(Instant::now());
        self.is_stale = false;
        wanted
    }

    /// Takes the frame away, so that something else can be written.
    pub(super) fn clear(&mut self, out: &mut CommandOutput) {
        let columns = self.size().columns;
        self.screen.clear(columns, out);
        self.drawn = None;
        self.is_stale = true;
    }

    /// Takes the frame away and leaves the state of every child, as lines.
    pub(super) fn leave(&mut self, runs: &[&mut WatchedRun], out: &mut CommandOutput) {
        self.clear(out);
        let size = self.size();
        let at = now();
        let shown: Vec<ShownRun<'_>> = runs
            .iter()
            .map(|run| ShownRun {
                id: &run.id,
                title: &run.title,
                live: run.live(at),
                is_brief: self.manner.is_brief_when_over && run.is_over(),
            })
            .collect();
        let room = FrameSize {
            columns: size.columns - 1,
            rows: size.rows.saturating_sub(1).max(1),
        };
        for line in frame(&shown, &FrameFooter::default(), room) {
            out.painted_note(&line.text);
            out.exact_note(b"\n");
        }
        out.flush();
    }

    /// Records an answer, as `grove runs answer` does; one that comes too late is said.
    pub(super) fn answer(
        &mut self,
        runs: &RunJournal,
        run: &str,
        node: &NodeId,
        answer: String,
        out: &mut CommandOutput,
    ) -> Result<(), CommandError> {
        let given = format!("{run}.{node}");
        let wish = ChildWish::Answer(answer);
        if let Err(error) = runs.want(&given, wish) {
            self.clear(out);
            out.note(&error.message());
            out.flush();
        }
        self.is_stale = true;
        Ok(())
    }
}
