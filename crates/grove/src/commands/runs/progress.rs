//! What a person sees of a run that goes on: one line that is written over, and the keys that are heeded meanwhile.

use std::io::{IsTerminal as _, Stdin};
use std::time::{Duration, Instant};

use grove_plan::{Attempt, Execution, Plan, State};
use grove_runs::{AttemptTail, LogLine, RunPlaces};
use grove_spec::text::visible;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

use crate::output::Output;

/// How often the line is written.
const EVERY: Duration = Duration::from_millis(200);
/// Writes over the line.
const CLEAR: &[u8] = b"\r\x1b[K";
/// Of what is done now.
const MOST_DOING: usize = 60;

/// The line.
pub(super) struct Progress {
    width: usize,
    began: Instant,
    changed: Instant,
    written: Option<Instant>,
    doing: String,
    tail: Option<(Attempt, AttemptTail)>,
}

impl Progress {
    /// A line when somebody sits at a terminal.
    pub(super) fn at_terminal(width: usize) -> Option<Self> {
        std::io::stderr().is_terminal().then(|| Self {
            width,
            began: Instant::now(),
            changed: Instant::now(),
            written: None,
            doing: "waits for its turn".to_owned(),
            tail: None,
        })
    }

    /// Takes note that something happened.
    pub(super) fn changed(&mut self) {
        self.changed = Instant::now();
    }

    /// Writes the line anew if it is time to.
    pub(super) fn show(
        &mut self,
        places: &RunPlaces,
        run: &str,
        (plan, state): (&Plan, &State),
        out: &mut Output,
    ) {
        self.read_log(places, run, state);
        if self.written.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.written = Some(Instant::now());
        let line = self.line(plan, state);
        out.exact_note(CLEAR);
        out.exact_note(line.as_bytes());
        out.flush();
    }

    /// Takes the line away, so that something else can be written.
    pub(super) fn clear(&mut self, out: &mut Output) {
        if self.written.take().is_some() {
            out.exact_note(CLEAR);
        }
    }

    fn read_log(&mut self, places: &RunPlaces, run: &str, state: &State) {
        let running = state.nodes.iter().find_map(|(id, node)| {
            let n = u32::try_from(node.attempts.len()).ok()?;
            let is_running = node.execution == Execution::Running;
            let node = id.clone();
            is_running.then_some(Attempt { node, n })
        });
        let Some(attempt) = running else { return };
        if self.tail.as_ref().is_none_or(|(of, _)| *of != attempt) {
            let tail = AttemptTail::of(places, run, &attempt);
            self.tail = Some((attempt, tail));
            "asks the model".clone_into(&mut self.doing);
        }
        let lines = self.tail.as_mut().map(|(_, tail)| tail.lines());
        for line in lines.unwrap_or_default() {
            self.changed = Instant::now();
            self.doing = match line {
                LogLine::Text { .. } => "answers".to_owned(),
                LogLine::Thinking { .. } => "thinks".to_owned(),
                LogLine::ToolStart { tool, about } => format!("{tool} {about}"),
                LogLine::ToolEnd { .. } => "asks the model".to_owned(),
                LogLine::Note { text } => text,
            };
        }
    }

    fn line(&self, plan: &Plan, state: &State) -> String {
        let agents: Vec<&str> = plan
            .nodes
            .iter()
            .filter_map(|node| plan.child(&node.id))
            .map(|child| child.agent.as_str())
            .collect();
        let doing: String = visible(&self.doing).chars().take(MOST_DOING).collect();
        let doing = if state.stop.is_some() {
            "stops".to_owned()
        } else {
            doing.trim_end().to_owned()
        };
        let line = format!(
            "{}: {doing} · {} tokens · {} · last sign {} ago · Ctrl-C stops, d detaches",
            visible(&agents.join(", ")),
            state.spent.counted(),
            time(self.began.elapsed()),
            time(self.changed.elapsed()),
        );
        line.chars().take(self.width.saturating_sub(1)).collect()
    }
}

/// `5 s`, `3:05`.
fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        return format!("{seconds} s");
    }
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// The keys of a terminal, each as it is struck; the terminal is as it was when this is dropped.
pub(super) struct Keys {
    input: Stdin,
    before: Termios,
}

impl Keys {
    /// None when nobody sits there, or when the terminal is another one's for now.
    pub(super) fn of_terminal() -> Option<Self> {
        let input = std::io::stdin();
        if !(input.is_terminal() && std::io::stderr().is_terminal()) {
            return None;
        }
        let is_ours = tcgetpgrp(&input).ok()? == rustix::process::getpgrp();
        let before = tcgetattr(&input).ok().filter(|_| is_ours)?;
        let mut each_key = before.clone();
        each_key.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Now, &each_key).ok()?;
        Some(Self { input, before })
    }

    /// Whether the key for detaching was struck.
    pub(super) fn detaches(&self) -> bool {
        let mut sources = [PollFd::new(&self.input, PollFlags::IN)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let is_there = poll(&mut sources, Some(&at_once)).is_ok_and(|n| n > 0);
        if !is_there {
            return false;
        }
        let mut struck = [0; 64];
        let n = rustix::io::read(&self.input, &mut struck).unwrap_or(0);
        let struck = struck.get(..n).unwrap_or_default();
        struck.contains(&b'd')
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.input, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (seconds, expected) in [(0, "0 s"), (59, "59 s"), (60, "1:00"), (605, "10:05")] {
            assert_eq!(time(Duration::from_secs(seconds)), expected);
        }
    }
}
