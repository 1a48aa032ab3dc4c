//! The runs that are looked at: each is folded once, and every page and stream of it sees the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use grove_engine::{Engine, EngineError, RunJournal, RunSummary, WatchedRun};
use tokio::sync::watch;

/// The time between two questions to the journal whether something is new, while a page is open.
const POLL: Duration = Duration::from_millis(20);
/// The time between two questions while no page is open.
const IDLE_POLL: Duration = Duration::from_millis(200);
/// The time between two readings of the logs of children at work.
const LOG_READING: Duration = Duration::from_millis(400);
/// The most children whose logs are read.
const MOST_LOGS: usize = 64;
/// The most runs that are kept; the one that was looked at longest ago goes first.
const MOST_KEPT: usize = 24;

/// A run that is looked at.
struct KeptRun {
    run: Arc<Mutex<FoldedRun>>,
    /// Set once its journal was read.
    is_folded: Arc<AtomicBool>,
    last_look: Instant,
}

/// A run with the moments at which it was last brought up to date.
struct FoldedRun {
    run: WatchedRun,
    version: Option<u64>,
    last_logs: Option<Instant>,
}

/// The runs of an engine.
pub(super) struct WatchedRuns {
    engine: Arc<Engine>,
    kept: Mutex<BTreeMap<String, KeptRun>>,
    /// The version of the journal, for streams that wait for news.
    version: watch::Sender<u64>,
    /// The number of streams that wait for news.
    streams: AtomicUsize,
    /// The last time at which a browser was there.
    last_browser: Mutex<Instant>,
    /// Runs that are to be folded before they are opened.
    to_fold: Mutex<BTreeSet<String>>,
}

impl WatchedRuns {
    /// Starts a thread that asks the journal for news until this is dropped.
    pub(super) fn start(engine: Arc<Engine>) -> std::io::Result<Arc<Self>> {
        let runs = Arc::new(Self {
            engine,
            kept: Mutex::default(),
            version: watch::Sender::new(0),
            streams: AtomicUsize::new(0),
            last_browser: Mutex::new(Instant::now()),
            to_fold: Mutex::default(),
        });
        let watched = Arc::downgrade(&runs);
        named_thread("news").spawn(move || ask_for_news(&watched))?;
        let watched = Arc::downgrade(&runs);
        named_thread("fold").spawn(move || fold_ahead(&watched))?;
        Ok(runs)
    }

    /// The engine whose runs are watched.
    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The journal, opened anew if it was removed.
    pub(super) fn journal(&self) -> Result<Arc<RunJournal>, EngineError> {
        self.engine.journal()
    }

    /// Notes that a browser is there.
    pub(super) fn seen(&self) {
        let mut last = self
            .last_browser
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last = Instant::now();
    }

    /// The time since a browser was last there.
    pub(super) fn idle_for(&self) -> Duration {
        if self.streams.load(Ordering::Relaxed) > 0 {
            return Duration::ZERO;
        }
        let last = self
            .last_browser
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        last.elapsed()
    }

    /// Acts on a run as it is now, by its whole id.
    pub(super) fn with<T>(
        &self,
        id: &str,
        act: impl FnOnce(&RunJournal, &mut WatchedRun) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let journal = self.journal()?;
        let (folded, is_folded) = self.folded(&journal, id)?;
        let mut folded = folded.lock().unwrap_or_else(PoisonError::into_inner);
        // The version is asked before the events, so that events in between are found the next time.
        let version = journal.version()?;
        if folded.version != Some(version) {
            folded.run.take_news(&journal, |_, _| {})?;
            folded.version = Some(version);
            is_folded.store(true, Ordering::Relaxed);
        }
        let is_late = folded
            .last_logs
            .is_none_or(|last| last.elapsed() >= LOG_READING);
        if is_late && !folded.run.is_over() {
            folded.last_logs = Some(Instant::now());
            folded
                .run
                .read_logs(&journal, MOST_LOGS, grove_engine::now());
        }
        act(&journal, &mut folded.run)
    }

    /// Returns a run in short; none if it was not looked at yet. It is then folded, and streams hear of it.
    pub(super) fn summary(&self, id: &str) -> Option<RunSummary> {
        let is_folded = |kept: &KeptRun| kept.is_folded.load(Ordering::Relaxed);
        if !self.kept().get(id).is_some_and(is_folded) {
            let mut to_fold = self.to_fold.lock().unwrap_or_else(PoisonError::into_inner);
            to_fold.insert(id.to_owned());
            return None;
        }
        let now = grove_engine::now();
        let summary = self.with(id, |_, run| Ok(WatchedRun::summary(&run.live(now))));
        // A run that was pruned meanwhile has none.
        summary.ok()
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<String, KeptRun>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folded(
        &self,
        journal: &RunJournal,
        id: &str,
    ) -> Result<(Arc<Mutex<FoldedRun>>, Arc<AtomicBool>), EngineError> {
        if let Some(kept) = self.kept().get_mut(id) {
            kept.last_look = Instant::now();
            return Ok((Arc::clone(&kept.run), Arc::clone(&kept.is_folded)));
        }
        let run = Arc::new(Mutex::new(FoldedRun {
            run: WatchedRun::new(journal, id)?,
            version: None,
            last_logs: None,
        }));
        let mut kept = self.kept();
        if kept.len() >= MOST_KEPT {
            let oldest = kept.iter().min_by_key(|(_, kept)| kept.last_look);
            let oldest = oldest.map(|(id, _)| id.clone());
            oldest.map(|id| kept.remove(&id));
        }
        // Of two that were made at once the first is kept.
        let entry = kept.entry(id.to_owned()).or_insert(KeptRun {
            run,
            is_folded: Arc::default(),
            last_look: Instant::now(),
        });
        Ok((Arc::clone(&entry.run), Arc::clone(&entry.is_folded)))
    }

    /// Returns a receiver of the versions of the journal, for as long as a stream needs it.
    pub(super) fn news(self: &Arc<Self>) -> News {
        self.streams.fetch_add(1, Ordering::Relaxed);
        News {
            runs: Arc::clone(self),
            version: self.version.subscribe(),
        }
    }
}

/// News of the journal for one stream.
pub(super) struct News {
    runs: Arc<WatchedRuns>,
    version: watch::Receiver<u64>,
}

impl News {
    /// Waits until something was recorded, at most so long.
    pub(super) async fn wait(&mut self, most: Duration) {
        let _ = tokio::time::timeout(most, self.version.changed()).await;
    }
}

impl Drop for News {
    fn drop(&mut self) {
        self.runs.seen();
        self.runs.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Folds runs of the list, so that no page of them waits for it.
fn fold_ahead(runs: &Weak<WatchedRuns>) {
    while let Some(runs) = runs.upgrade() {
        let next = {
            let mut to_fold = runs.to_fold.lock().unwrap_or_else(PoisonError::into_inner);
            to_fold.pop_first()
        };
        if let Some(id) = next
            && runs.with(&id, |_, _| Ok(())).is_ok()
        {
            runs.version.send_modify(|_| {});
            continue;
        }
        drop(runs);
        std::thread::sleep(IDLE_POLL);
    }
}

fn named_thread(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_owned())
}

fn ask_for_news(runs: &Weak<WatchedRuns>) {
    while let Some(runs) = runs.upgrade() {
        let is_idle = runs.streams.load(Ordering::Relaxed) == 0;
        if !is_idle && let Ok(version) = runs.journal().and_then(|journal| journal.version()) {
            runs.version.send_if_modified(|known| {
                let is_new = *known != version;
                *known = version;
                is_new
            });
        }
        drop(runs);
        std::thread::sleep(if is_idle { IDLE_POLL } else { POLL });
    }
}
