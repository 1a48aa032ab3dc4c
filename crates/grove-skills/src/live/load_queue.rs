//! Loads in turn: one under way and one waiting, however many callers ask; and the result of each.
//!
//! No caller waits for others to ask too: a load begins when the library is free, and all who ask while it is under way
//! share the next one.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use grove_fs::watch::Bell;
use grove_spec::{Code, Diagnostic};

use super::difference;
use super::reload_cause::{ReloadCause, ReloadCauses, ReloadEvent};
use crate::library::{Discovery, Library};

/// The publications that are remembered with their reasons for subscribers that are behind.
const REMEMBERED: usize = 64;

/// The state that a live library's thread shares with its callers.
#[derive(Debug)]
pub(super) struct LoadQueue {
    /// Taken for a load as a whole and before `state`, so that snapshots are published in their order.
    library: Mutex<Library>,
    state: Mutex<LoadState>,
    changed: Condvar,
    bell: Option<Arc<Bell>>,
}

#[derive(Debug)]
struct LoadState {
    latest: Discovery,
    begun: u64,
    done: u64,
    /// The number of the latest load that a caller waits for.
    wanted_load: u64,
    sequence: u64,
    published: Instant,
    remembered: VecDeque<(u64, Vec<ReloadCause>)>,
    stopping: bool,
    /// Set when the thread has ended, so that only callers discover.
    has_ended: bool,
}

/// The publications since a subscriber looked, taken together.
pub(super) struct Publications {
    pub(super) sequence: u64,
    pub(super) discovery: Discovery,
    pub(super) why: Vec<ReloadCause>,
    pub(super) published: Instant,
}

impl LoadQueue {
    pub(super) fn new(library: Library, first: Discovery, bell: Option<Arc<Bell>>) -> Self {
        Self {
            library: Mutex::new(library),
            state: Mutex::new(LoadState {
                latest: first,
                begun: 1,
                done: 1,
                wanted_load: 0,
                sequence: 0,
                published: Instant::now(),
                remembered: VecDeque::new(),
                stopping: false,
                has_ended: false,
            }),
            changed: Condvar::new(),
            bell,
        }
    }

    pub(super) fn latest(&self) -> Discovery {
        self.state().latest.clone()
    }

    pub(super) fn loads(&self) -> u64 {
        self.state().done
    }

    pub(super) fn position(&self) -> (u64, Discovery) {
        let state = self.state();
        (state.sequence, state.latest.clone())
    }

    /// Waits for a load that begins after this was called.
    pub(super) fn discover(&self) -> Discovery {
        let wanted = self.request_load();
        self.wait_for_load(wanted)
    }

    fn request_load(&self) -> u64 {
        let mut state = self.state();
        let wanted = state.begun + 1;
        state.wanted_load = state.wanted_load.max(wanted);
        drop(state);
        self.ring();
        wanted
    }

    fn wait_for_load(&self, wanted: u64) -> Discovery {
        let is_waiting = |state: &mut LoadState| state.done < wanted && !state.has_ended;
        let state = self
            .changed
            .wait_while(self.state(), is_waiting)
            .unwrap_or_else(PoisonError::into_inner);
        if state.done >= wanted {
            return state.latest.clone();
        }
        drop(state);
        self.load(|| ReloadCauses::of(ReloadEvent::Asked))
    }

    pub(super) fn wait_for_news(&self, seen: u64, until: Instant) -> Option<Publications> {
        let is_waiting = |state: &mut LoadState| state.sequence <= seen && !state.stopping;
        let left = until.saturating_duration_since(Instant::now());
        let (state, _) = self
            .changed
            .wait_timeout_while(self.state(), left, is_waiting)
            .unwrap_or_else(PoisonError::into_inner);
        if state.sequence <= seen {
            return None;
        }
        let mut why = ReloadCauses::default();
        let missed = state.remembered.iter().filter(|(at, _)| *at > seen);
        missed
            .flat_map(|(_, causes)| causes)
            .for_each(|cause| why.add(cause.clone()));
        Some(Publications {
            sequence: state.sequence,
            discovery: state.latest.clone(),
            why: why.into_vec(),
            published: state.published,
        })
    }

    /// Returns true if a caller waits for a load that has not begun.
    pub(super) fn is_load_requested(&self) -> bool {
        let state = self.state();
        state.wanted_load > state.begun
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.state().stopping
    }

    /// Loads and publishes; the reasons are asked for when the load has begun.
    pub(super) fn load(&self, why: impl FnOnce() -> ReloadCauses) -> Discovery {
        let mut library = self.library();
        self.state().begun += 1;
        let why = why();
        let discovery = library.discover();
        let mut state = self.state();
        state.done += 1;
        let old = state.publish(&discovery, why);
        drop(state);
        self.changed.notify_all();
        // Freeing thousands of skills takes its time, and no caller has to wait for it.
        drop(old);
        discovery
    }

    /// Works with the library between two loads, and publishes what the work loaded.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Library) -> T) -> T {
        let mut library = self.library();
        let done = work(&mut library);
        let old = library.last_discovery().map(|discovery| {
            let mut state = self.state();
            state.publish(discovery, ReloadCauses::of(ReloadEvent::Asked))
        });
        self.changed.notify_all();
        drop(old);
        done
    }

    /// The library itself; nothing is loaded while the guard is held.
    pub(super) fn library(&self) -> MutexGuard<'_, Library> {
        self.library.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stop(&self) {
        self.state().stopping = true;
        self.ring();
        self.changed.notify_all();
    }

    /// Marks the end of the thread; from now on a caller that waits discovers by itself.
    pub(super) fn end(&self) {
        self.state().has_ended = true;
        self.changed.notify_all();
    }

    pub(super) fn mark_unwatched(&self) {
        let message = "no thread could be started to watch files, so changes are seen only on the next request";
        let notice = Diagnostic::new(Code::WatchPolling, message);
        self.library().set_notices(vec![notice]);
        self.load(|| ReloadCauses::of(ReloadEvent::Watching));
    }

    fn state(&self) -> MutexGuard<'_, LoadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }
}

impl LoadState {
    /// Publishes a discovery; tells subscribers if its snapshot says anything else than the one before.
    ///
    /// Returns the discovery before.
    fn publish(&mut self, discovery: &Discovery, why: ReloadCauses) -> Discovery {
        let last = std::mem::replace(&mut self.latest, discovery.clone());
        let (before, now) = (&last.snapshot, &discovery.snapshot);
        let is_news = !Arc::ptr_eq(before, now)
            && (before.version != now.version || difference::findings_differ(before, now));
        if !is_news {
            return last;
        }
        self.sequence += 1;
        self.published = Instant::now();
        if self.remembered.len() == REMEMBERED {
            self.remembered.pop_front();
        }
        self.remembered.push_back((self.sequence, why.into_vec()));
        last
    }
}

/// Tells all who wait when the thread ends, however it ends.
pub(super) struct EndWith(pub(super) Arc<LoadQueue>);

impl Drop for EndWith {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Barrier, mpsc};

    use super::*;
    use crate::{DiscoveryRequest, Environment};

    fn queue() -> Arc<LoadQueue> {
        let nowhere = Path::new(Environment::NOWHERE);
        let environment = Environment::for_home(nowhere.to_owned(), nowhere.to_owned());
        let request = DiscoveryRequest {
            view: crate::DiscoveryView::Folders(Vec::new()),
            ..DiscoveryRequest::default()
        };
        let mut library = Library::living(environment, request);
        let first = library.discover();
        Arc::new(LoadQueue::new(library, first, None))
    }

    /// A load is held open while a hundred ask: none of them may take part in it, since it began before they
    /// asked, and all of them share the next.
    #[test]
    fn a_hundred_that_ask_during_a_load_share_one_more() {
        const CALLERS: usize = 100;
        let queue = queue();
        let first = queue.loads();
        let (began, wait_begun) = mpsc::channel();
        let (go_on, held) = mpsc::channel::<()>();
        let all_asked = Barrier::new(CALLERS + 1);
        std::thread::scope(|scope| {
            let in_flight = scope.spawn(|| {
                queue.load(move || {
                    began.send(()).unwrap();
                    held.recv().unwrap();
                    ReloadCauses::default()
                })
            });
            wait_begun.recv().unwrap();
            for _ in 0..CALLERS {
                scope.spawn(|| {
                    let wanted = queue.request_load();
                    all_asked.wait();
                    queue.wait_for_load(wanted);
                });
            }
            all_asked.wait();
            assert!(queue.is_load_requested());
            go_on.send(()).unwrap();
            in_flight.join().unwrap();
            assert_eq!(queue.loads(), first + 1);
            // The work of a live library's thread.
            while queue.is_load_requested() {
                queue.load(ReloadCauses::default);
            }
        });
        assert_eq!(queue.loads(), first + 2);
    }

    #[test]
    fn without_a_thread_whoever_asks_looks() {
        let queue = queue();
        queue.end();
        let before = queue.loads();
        queue.discover();
        assert_eq!(queue.loads(), before + 1);
    }
}
