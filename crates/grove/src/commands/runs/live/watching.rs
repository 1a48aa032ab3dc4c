//! `grove runs watch`: runs as they go on, from any terminal. It is a view: closing it stops nothing.

use std::collections::BTreeMap;

use grove_engine::view::RunFilter;
use grove_engine::view::{Event, NodeId};
use grove_skills::Environment;
use grove_spec::text::one_line;

use super::super::following::{POLL, ViewSignals, plain_line};
use super::{LiveView, ViewOptions, ViewerWish, WatchedRun};
use crate::command_error::CommandError;
use crate::commands::Outcome;
use crate::output::{CommandOutput, reader_is_gone};
use grove_engine::RunJournal;

/// Runs that are shown at a time; the number of the others is shown.
const MOST: usize = 24;
const NEWEST: usize = 5;

const MANNER: ViewOptions = ViewOptions {
    is_brief_when_over: false,
    idle: "q closes this view; the runs continue",
    answering: " · Ctrl-C closes this view",
};

/// Shows the runs that are named until they are over, or all of them until the person has seen enough.
pub(in crate::commands::runs) fn watch(
    environment: &Environment,
    runs: &RunJournal,
    named: &[String],
    out: &mut CommandOutput,
) -> Outcome {
    let mut ids: Vec<String> = Vec::new();
    for given in named {
        let id = runs.find(given)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CommandError::internal)?;
    let mut watching = WatchedRuns {
        environment,
        runs,
        is_all: ids.is_empty(),
        watched: Vec::new(),
        has_looked: false,
        more: 0,
        words: BTreeMap::new(),
    };
    for id in ids {
        let run = WatchedRun::new(runs, &id)?;
        watching.watched.push(run);
    }
    runtime.block_on(watching.go_on(out))?;
    Ok(0)
}

struct WatchedRuns<'a> {
    environment: &'a Environment,
    runs: &'a RunJournal,
    is_all: bool,
    watched: Vec<WatchedRun>,
    has_looked: bool,
    more: usize,
    /// The last state of each child that was said to a reader without a terminal.
    words: BTreeMap<String, BTreeMap<NodeId, &'static str>>,
}

impl WatchedRuns<'_> {
    async fn go_on(&mut self, out: &mut CommandOutput) -> Result<(), CommandError> {
        let mut signals = ViewSignals::new()?;
        let mut view = LiveView::at_terminal(
            self.environment,
            ViewOptions {
                is_brief_when_over: self.is_all,
                ..MANNER
            },
        );
        let mut version = None;
        loop {
            let now = self.runs.version()?;
            if version != Some(now) {
                version = Some(now);
                self.take_news(view.is_none(), out)?;
                if let Some(view) = &mut view {
                    view.changed();
                }
            }
            let is_over = !self.is_all && self.watched.iter().all(WatchedRun::is_over);
            let mut shown: Vec<&mut WatchedRun> = self.watched.iter_mut().collect();
            if is_over {
                if let Some(view) = &mut view {
                    view.leave(&shown, out);
                }
                return Ok(());
            }
            let wanted = view.as_mut().map_or_else(Vec::new, |view| {
                view.show(&mut shown, self.more, self.runs, out)
            });
            for wanted in wanted {
                match (wanted, &mut view) {
                    (ViewerWish::Answer { run, node, answer }, Some(view)) => {
                        view.answer(self.runs, &run, &node, answer, out)?;
                    }
                    (_, Some(view)) => {
                        view.leave(&shown, out);
                        return Ok(());
                    }
                    _ => {}
                }
            }
            if view.is_none() && reader_is_gone() {
                return Ok(());
            }
            let is_closed = tokio::select! {
                () = tokio::time::sleep(POLL) => false,
                _ = signals.interrupt.recv() => true,
                _ = signals.terminate.recv() => true,
                _ = signals.hangup.recv() => true,
            };
            if is_closed {
                if let Some(view) = &mut view {
                    let shown: Vec<&mut WatchedRun> = self.watched.iter_mut().collect();
                    view.leave(&shown, out);
                }
                return Ok(());
            }
        }
    }

    fn take_news(&mut self, is_plain: bool, out: &mut CommandOutput) -> Result<(), CommandError> {
        if self.is_all {
            self.find_runs(is_plain)?;
        }
        for run in &mut self.watched {
            let words = self.words.entry(run.id.clone()).or_default();
            run.take_news(self.runs, |run, event| {
                if is_plain {
                    say(run, event, words, out);
                }
            })?;
        }
        out.flush();
        Ok(())
    }

    /// All that go on, the newest first; those that were seen stay until there is no room for them.
    fn find_runs(&mut self, is_plain: bool) -> Result<(), CommandError> {
        let open = RunFilter {
            only_open: true,
            most: Some(MOST),
            ..RunFilter::default()
        };
        let newest = RunFilter {
            most: Some(NEWEST),
            ..RunFilter::default()
        };
        let mut found = self.runs.runs(&open)?;
        // The last runs say more than an empty terminal.
        if !self.has_looked && !is_plain {
            let newest = self.runs.runs(&newest)?;
            found.extend(newest.into_iter().filter(|row| row.ended_at.is_some()));
            found.sort_by(|one, other| other.id.cmp(&one.id));
        }
        self.has_looked = true;
        for row in found.iter().rev() {
            if !self.watched.iter().any(|run| run.id == row.id) {
                let run = WatchedRun::new(self.runs, &row.id)?;
                self.watched.insert(0, run);
            }
        }
        while self.watched.len() > MOST {
            let over = self.watched.iter().rposition(WatchedRun::is_over);
            match over {
                Some(at) => drop(self.watched.remove(at)),
                None => drop(self.watched.pop()),
            }
        }
        self.more = self.runs.count_open()?.saturating_sub(MOST);
        Ok(())
    }
}

/// Prints an event, and each child whose state it changed, in lines.
fn say(
    run: &WatchedRun,
    event: &Event,
    words: &mut BTreeMap<NodeId, &'static str>,
    out: &mut CommandOutput,
) {
    if let Some(line) = plain_line(event) {
        out.line(&format!("{} {}", run.id, line.trim_start()));
    }
    for (id, node) in &run.state.nodes {
        let word = node.execution.shown(node.accepted.is_rejected());
        if words.get(id) == Some(&word) {
            continue;
        }
        words.insert(id.clone(), word);
        let name = run.plan.child(id).map_or("", |child| child.agent.as_str());
        let reason = node.execution.reason();
        let reason = reason.map_or_else(String::new, |why| format!(": {}", one_line(&why)));
        out.line(&format!("{}.{id} {name} {word}{reason}", run.id));
    }
    if run.state.ended == Some(event.at) {
        out.line(&format!("{} {}", run.id, run.state.shown()));
    }
}
