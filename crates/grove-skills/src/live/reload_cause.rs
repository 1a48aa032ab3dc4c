//! The reasons why a library looked again.

use std::path::{Path, PathBuf};

use grove_spec::words;

words! {
    /// The event that happened, or seemed to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    #[expect(missing_docs, reason = "the words of `as_str` say it")]
    pub enum ReloadEvent {
        Edited = "edited",
        Appeared = "appeared",
        Removed = "removed",
        RootAppeared = "root appeared",
        RootRemoved = "root removed",
        RootChanged = "root changed",
        ProgramAppeared = "program appeared",
        ProgramRemoved = "program removed",
        ProgramChanged = "program changed",
        Configuration = "configuration",
        Trust = "trust",
        Project = "project",
        Overflow = "overflow",
        Poll = "poll",
        Asked = "asked",
        Watching = "watching",
    }
}

/// One reason for looking again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadCause {
    /// The kind of event.
    pub what: ReloadEvent,
    /// The place of the event, if it had one.
    pub path: Option<PathBuf>,
}

/// The most places that are reported; more would only repeat that much happened.
const MAX_CAUSES: usize = 16;

/// Reasons, each once, in the order they were met.
#[derive(Debug, Default)]
pub(super) struct ReloadCauses {
    all: Vec<ReloadCause>,
}

impl ReloadCauses {
    pub(super) fn of(what: ReloadEvent) -> Self {
        let mut causes = Self::default();
        causes.add(ReloadCause { what, path: None });
        causes
    }

    /// Adds a reason; those without a place are few and are always kept.
    pub(super) fn add(&mut self, cause: ReloadCause) {
        let has_room = cause.path.is_none() || self.all.len() < MAX_CAUSES;
        if has_room && !self.all.contains(&cause) {
            self.all.push(cause);
        }
    }

    pub(super) fn add_at(&mut self, what: ReloadEvent, path: &Path) {
        if self.all.len() < MAX_CAUSES {
            let path = Some(path.to_path_buf());
            self.add(ReloadCause { what, path });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn into_vec(self) -> Vec<ReloadCause> {
        self.all
    }
}
