//! The watcher where nothing notices changes: the caller is woken when its time is over, and looks.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Bell, ChangeWatcher, GapReason, WatchCoverage, WatchEvent, WatchGap, WatchedFolders};

#[derive(Debug)]
pub struct Polling {
    bell: Arc<Bell>,
}

impl Polling {
    /// Waits for time and this bell alone.
    pub fn new(bell: Arc<Bell>) -> Self {
        Self { bell }
    }
}

impl ChangeWatcher for Polling {
    fn watch(&mut self, wanted: &WatchedFolders) -> WatchCoverage {
        let gap = wanted.folders.keys().next().map(|first| WatchGap {
            why: GapReason::NoWatcher("changes cannot be watched".to_owned()),
            folders: wanted.len(),
            first: PathBuf::clone(first),
        });
        WatchCoverage {
            gaps: gap.into_iter().collect(),
            ..WatchCoverage::default()
        }
    }

    fn is_whole(&self) -> bool {
        true
    }

    fn wait(&mut self, timeout: Duration) -> Vec<WatchEvent> {
        self.bell.wait(None, timeout);
        Vec::new()
    }
}
