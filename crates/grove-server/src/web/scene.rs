//! A run as its pages show it: the fold of its journal, its picture at a moment, and the reader of the page.

use std::collections::BTreeMap;

use grove_engine::view::history::ChildHistory;
use grove_engine::view::{LiveChild, LiveRun, NodeId, Times};
use grove_engine::{EngineError, RunJournal, WatchedRun};

use super::plots::PlotChoice;
use super::viewer::Viewer;

/// A run while a page of it is written.
pub(super) struct Scene<'a> {
    pub(super) journal: &'a RunJournal,
    pub(super) run: &'a WatchedRun,
    pub(super) live: LiveRun<'a>,
    pub(super) viewer: Viewer<'a>,
    /// The choice of what the picture of its spending shows.
    pub(super) plots: PlotChoice,
    /// The place of each child among all, by its id.
    places: BTreeMap<NodeId, usize>,
}

impl<'a> Scene<'a> {
    /// The scene of a run for a reader.
    pub(super) fn of(journal: &'a RunJournal, run: &'a WatchedRun, viewer: Viewer<'a>) -> Self {
        let live = run.live(viewer.now(run.last_event_at));
        let ids = live.children().map(|child| child.id.clone());
        let places = ids.enumerate().map(|(at, id)| (id, at)).collect();
        Self {
            journal,
            run,
            live,
            viewer,
            plots: PlotChoice::default(),
            places,
        }
    }

    /// The same scene with a choice of its picture.
    pub(super) const fn with_plots(mut self, plots: PlotChoice) -> Self {
        self.plots = plots;
        self
    }

    /// A child by its id.
    pub(super) fn child(&self, id: &NodeId) -> Option<&LiveChild<'a>> {
        let at = *self.places.get(id)?;
        self.live.children().nth(at)
    }

    /// The course of a child, once something happened to it.
    pub(super) fn history(&self, id: &NodeId) -> Option<&'a ChildHistory> {
        self.run.history.child(id)
    }

    /// The time of the run's last event.
    pub(super) fn last(&self) -> Times {
        self.run.last_event_at
    }

    /// The time at which it was submitted, in milliseconds since 1970.
    pub(super) fn began(&self) -> u64 {
        self.run.state.submitted.map_or(0, |at| at.wall)
    }

    /// The time of its end, or now, in milliseconds since 1970.
    pub(super) fn until(&self) -> u64 {
        let ended = self.run.state.ended;
        let until = ended.unwrap_or_else(|| self.viewer.now(self.last()));
        until.wall.max(self.began())
    }

    /// Returns true while it goes on and the reader can see it.
    pub(super) fn goes_on(&self) -> bool {
        self.viewer.is_live() && self.run.state.ended.is_none()
    }

    /// Returns the text of an artifact, where there is one.
    pub(super) fn text(&self, digest: &grove_spec::Digest) -> Option<String> {
        self.journal.text(digest)
    }
}

/// The result of writing a page.
pub(super) type Written<T> = Result<T, EngineError>;
