//! A library that stays up to date: it watches, discovers again when something happened, and tells its subscribers.
//!
//! ```no_run
//! use std::time::Duration;
//! use grove_skills::live::LiveLibrary;
//! use grove_skills::{Environment, DiscoveryRequest};
//!
//! let environment = Environment::for_home("/home/me".into(), "/home/me/project".into());
//! let library = LiveLibrary::start(environment, DiscoveryRequest::default());
//! let mut subscription = library.subscribe();
//! let now = library.snapshot(); // every file was looked at after this was called
//! while let Some(update) = subscription.next(Duration::from_secs(60)) {
//!     let _ = (update.version, update.added, update.removed, update.changed, update.why);
//! }
//! # let _ = now;
//! ```
//!
//! Watching only says when to discover. The truth is what [`Library::load`] finds, and a caller that needs it for a turn
//! asks for [`LiveLibrary::snapshot`], which discovers. However many ask, one load is under way and one is waiting at most.
//! No subscriber can hold up the looking: it takes what there is when it comes.

mod difference;
mod load_queue;
mod places;
mod reload_cause;
mod worker;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use grove_catalog::Digest;
use grove_catalog::snapshot::Snapshot;
use grove_fs::watch::Bell;
use grove_spec::Diagnostic;

use crate::environment::Environment;
use crate::library::{Discovery, Library, Rediscover};
use crate::request::{DiscoveryParts, DiscoveryRequest};
use load_queue::LoadQueue;
pub use reload_cause::{ReloadCause, ReloadEvent};
use worker::LiveWorker;

/// The times and bounds that a live library keeps to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveOptions {
    /// The time without events after which the events before it are published.
    pub quiet: Duration,
    /// The longest wait for such a time.
    pub longest_wait: Duration,
    /// The longest time between two discoveries while some changes cannot be noticed.
    pub poll: Duration,
    /// The longest time between two discoveries although everything is watched: a link may lead to an unwatched place.
    pub verify: Duration,
    /// The most folders that are watched.
    pub max_watches: usize,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            longest_wait: Duration::from_millis(500),
            poll: Duration::from_secs(1),
            verify: Duration::from_secs(30),
            max_watches: 200_000,
        }
    }
}

/// A library on a thread of its own.
#[derive(Debug)]
pub struct LiveLibrary {
    queue: Arc<LoadQueue>,
    thread: Option<JoinHandle<()>>,
}

impl LiveLibrary {
    /// Looks for the first time, and watches from then on.
    pub fn start(environment: Environment, request: DiscoveryRequest) -> Self {
        Self::start_with(environment, request, LiveOptions::default())
    }

    /// The same with other times.
    pub fn start_with(
        environment: Environment,
        request: DiscoveryRequest,
        options: LiveOptions,
    ) -> Self {
        let mut library = Library::living(environment, request);
        let first = library.discover();
        let bell = Bell::new().ok().map(Arc::new);
        let queue = Arc::new(LoadQueue::new(library, first, bell.clone()));
        let thread = bell.and_then(|bell| {
            let worker = LiveWorker::new(Arc::clone(&queue), &bell, options);
            let builder = std::thread::Builder::new().name("grove-live".to_owned());
            builder.spawn(move || worker.run()).ok()
        });
        if thread.is_none() {
            // No thread will discover: every question does, and the snapshot says so.
            queue.end();
            queue.mark_unwatched();
        }
        Self { queue, thread }
    }

    /// The discovery for a turn: everything in it was looked at after this was called. A caller that asks while others wait
    /// shares the load that they wait for, if it has not begun.
    pub fn discover(&self) -> Discovery {
        self.queue.discover()
    }

    /// The snapshot for a turn.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.discover().snapshot
    }

    /// The last snapshot, without another discovery.
    pub fn latest(&self) -> Arc<Snapshot> {
        self.latest_discovery().snapshot
    }

    /// The last discovery, without another.
    pub fn latest_discovery(&self) -> Discovery {
        self.queue.latest()
    }

    /// The number of times that the library was walked.
    pub fn loads(&self) -> u64 {
        self.queue.loads()
    }

    /// Subscribes to changes from now on.
    pub fn subscribe(&self) -> Subscription {
        let (seen, discovery) = self.queue.position();
        Subscription {
            queue: Arc::clone(&self.queue),
            seen,
            base: discovery.snapshot,
        }
    }

    /// Works with the library itself, between two loads. What the work loads is published.
    pub fn with<T>(&self, work: impl FnOnce(&mut Library) -> T) -> T {
        self.queue.with(work)
    }
}

impl Rediscover for &LiveLibrary {
    fn rediscover(&mut self) -> Discovery {
        self.discover()
    }

    fn forget_files(&mut self) {
        self.with(Rediscover::forget_files);
    }
}

impl Drop for LiveLibrary {
    fn drop(&mut self) {
        self.queue.stop();
        if let Some(thread) = self.thread.take() {
            // At most one load is still under way.
            let _ = thread.join();
        }
    }
}

/// The changes since a subscriber's last update.
#[derive(Debug, Clone)]
pub struct LibraryUpdate {
    /// The snapshot as it is now.
    pub snapshot: Arc<Snapshot>,
    /// The kinds that were looked for.
    pub parts: DiscoveryParts,
    /// Its version; the same as before when only findings are new.
    pub version: u64,
    /// The digest of the snapshot.
    pub digest: Digest,
    /// Addresses of skills that were not there.
    pub added: Vec<String>,
    /// Addresses of skills that are not there any more.
    pub removed: Vec<String>,
    /// Addresses of skills with another content, state or name.
    pub changed: Vec<String>,
    /// The reasons for looking, as far as they are remembered.
    pub why: Vec<ReloadCause>,
    /// Findings that are new.
    pub findings: Vec<Diagnostic>,
    /// The time at which the snapshot was published.
    pub published: Instant,
}

/// Takes updates, each with everything since the one before.
#[derive(Debug)]
pub struct Subscription {
    queue: Arc<LoadQueue>,
    seen: u64,
    base: Arc<Snapshot>,
}

impl Subscription {
    /// The snapshot that the next update is measured from.
    pub fn base(&self) -> &Arc<Snapshot> {
        &self.base
    }

    /// Returns true if the library will never publish again.
    pub fn is_over(&self) -> bool {
        self.queue.is_stopping()
    }

    /// Waits for an update; none when the time is over or the library will never publish again.
    pub fn next(&mut self, timeout: Duration) -> Option<LibraryUpdate> {
        let news = self
            .queue
            .wait_for_news(self.seen, Instant::now() + timeout)?;
        let snapshot = Arc::clone(&news.discovery.snapshot);
        let difference = difference::between(&self.base, &snapshot);
        let findings = difference::new_findings(&self.base, &snapshot);
        self.seen = news.sequence;
        self.base = Arc::clone(&snapshot);
        Some(LibraryUpdate {
            parts: news.discovery.request.parts,
            version: snapshot.version,
            digest: snapshot.digest,
            snapshot,
            added: difference.added,
            removed: difference.removed,
            changed: difference.changed,
            why: news.why,
            findings,
            published: news.published,
        })
    }
}
