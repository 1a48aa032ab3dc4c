//! Taking old runs away.

use grove_exec::now;
use grove_skills::{DiscoveryParts, DiscoveryRequest, World};
use grove_store::{RunFilter, RunRow};

use crate::error::EngineError;
use crate::journal::RunJournal;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// Days after which a result that its owner has not acknowledged is taken away like any other.
const UNACKNOWLEDGED_DAYS: u64 = 30;

/// The runs that were taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunedRuns {
    /// The number of runs that were deleted.
    pub runs: usize,
    /// The number of artifacts that were deleted.
    pub artifacts: usize,
    /// The runs that were kept because working trees of them are left.
    pub kept: Vec<String>,
}

impl RunJournal {
    /// Takes away runs that ended so many days ago, by default as many as the configuration says. Results that their owners
    /// have not acknowledged stay for a month, unless `unacknowledged` is set.
    pub fn prune(
        &self,
        days: Option<u64>,
        unacknowledged: bool,
    ) -> Result<PrunedRuns, EngineError> {
        if self.is_child() {
            let message = "a child does not take runs away";
            return Err(EngineError::usage(message));
        }
        let days = days.unwrap_or_else(|| self.keep_days());
        let at = now();
        let filter = RunFilter {
            ended_before: Some(at.wall.saturating_sub(days.saturating_mul(DAY_MS))),
            most: Some(usize::MAX),
            ..RunFilter::default()
        };
        let old = self.store.runs(&filter)?;
        let long_ago = at.wall.saturating_sub(UNACKNOWLEDGED_DAYS * DAY_MS);
        let may_go = |run: &RunRow| {
            let is_old = run.ended_at.is_some_and(|ended| ended <= long_ago);
            // A run whose end is still being delivered is not over.
            let outbox = self.store.outbox_of(&run.id);
            let is_quiet = outbox.is_ok_and(|rows| rows.is_empty());
            is_quiet && (run.acknowledged || unacknowledged || is_old)
        };
        // A working tree that was left holds work that is nowhere else.
        let (kept, ids): (Vec<String>, Vec<String>) = old
            .into_iter()
            .filter(may_go)
            .map(|run| run.id)
            .partition(|id| grove_fs::files::is_there(&self.places.worktrees(id)));
        let pruned = self.store.prune(ids.clone(), at)?;
        for id in &ids {
            grove_fs::files::remove_folder(&self.places.of_run(id))?;
        }
        Ok(PrunedRuns {
            runs: pruned.runs,
            artifacts: pruned.artifacts,
            kept,
        })
    }

    fn keep_days(&self) -> u64 {
        let nothing = DiscoveryRequest {
            parts: DiscoveryParts::NOTHING,
            ..DiscoveryRequest::default()
        };
        let world = World::find(&std::sync::Arc::new(self.environment.clone()), &nothing);
        world.settings.settings.run_keep_days.value
    }
}
