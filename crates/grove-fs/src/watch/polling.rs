//! The watcher where nothing notices changes: the caller is woken when its time is over, and looks.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Bell, Coverage, Gap, Notify, Sighting, Wanted, WhyNot};

/// Watches nothing and says so.
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

impl Notify for Polling {
    fn watch(&mut self, wanted: &Wanted) -> Coverage {
        let gap = wanted.folders.keys().next().map(|first| Gap {
            why: WhyNot::NoWatcher("changes cannot be watched".to_owned()),
            folders: wanted.len(),
            first: PathBuf::clone(first),
        });
        Coverage {
            gaps: gap.into_iter().collect(),
            ..Coverage::default()
        }
    }

    fn is_whole(&self) -> bool {
        true
    }

    fn wait(&mut self, timeout: Duration) -> Vec<Sighting> {
        self.bell.wait(None, timeout);
        Vec::new()
    }
}
