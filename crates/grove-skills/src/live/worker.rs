//! The thread of a live library: waits until something happened and it is quiet again, discovers, and watches what
//! there is then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use grove_fs::watch::{self, Bell, ChangeWatcher, GapReason, WatchEvent, WatchGap};
use grove_spec::{Code, Diagnostic};

use super::LiveOptions;
use super::load_queue::{EndWith, LoadQueue};
use super::places::{self, WatchedPlaces};
use super::reload_cause::{ReloadCause, ReloadCauses, ReloadEvent};

/// The looks in a row that newly watched folders may cause at once; after them it waits for quiet as always.
const AT_ONCE: u32 = 3;
/// The kernel's queue is read in this many portions before a discovery; what is left waits for the next.
const PORTIONS: u32 = 16;
/// Discovering takes at most one part in this many of the time when it is done by the clock.
const POLL_SHARE: u32 = 10;

pub(super) struct LiveWorker {
    queue: Arc<LoadQueue>,
    options: LiveOptions,
    notify: Box<dyn ChangeWatcher>,
    /// The reason why nothing can be watched at all.
    unwatched: Option<GapReason>,
    gaps: Vec<WatchGap>,
    places: WatchedPlaces,
    shape: Option<u128>,
    happened: ReloadCauses,
    /// The times of the first and the last event since it looked.
    unrest: Option<(Instant, Instant)>,
    /// The number of discoveries in a row that were needed because folders are newly watched.
    at_once: u32,
    looked: Instant,
    took: Duration,
}

impl LiveWorker {
    pub(super) fn new(queue: Arc<LoadQueue>, bell: &Arc<Bell>, options: LiveOptions) -> Self {
        let (notify, unwatched) = watch::best(bell, options.max_watches);
        Self {
            queue,
            options,
            notify,
            unwatched,
            gaps: Vec::new(),
            places: WatchedPlaces::default(),
            shape: None,
            happened: ReloadCauses::default(),
            unrest: None,
            at_once: 0,
            looked: Instant::now(),
            took: Duration::ZERO,
        }
    }

    pub(super) fn run(mut self) {
        let _end = EndWith(Arc::clone(&self.queue));
        self.watch();
        while !self.queue.is_stopping() {
            let left = self.due().saturating_duration_since(Instant::now());
            if self.queue.is_load_requested() || left.is_zero() {
                self.discover();
                self.watch();
            } else {
                let sightings = self.notify.wait(left);
                self.note(&sightings);
            }
        }
    }

    /// The time of the next discovery if nothing happens until then.
    fn due(&self) -> Instant {
        match self.unrest {
            Some((first, last)) => {
                (last + self.options.quiet).min(first + self.options.longest_wait)
            }
            None if self.is_blind() => self.looked + self.options.poll.max(self.took * POLL_SHARE),
            None => self.looked + self.options.verify,
        }
    }

    /// Returns true if something may happen unnoticed.
    fn is_blind(&self) -> bool {
        self.unwatched.is_some() || !self.gaps.is_empty()
    }

    fn note(&mut self, sightings: &[WatchEvent]) {
        if sightings.is_empty() {
            return;
        }
        for sighting in sightings {
            if self.places.is_new_link(sighting) {
                self.shape = None;
            }
            for what in self.places.meanings(sighting) {
                if what == ReloadEvent::Overflow {
                    self.happened.add(ReloadCause { what, path: None });
                } else {
                    self.happened.add_at(what, &sighting.path);
                }
            }
        }
        let now = Instant::now();
        let first = self.unrest.map_or(now, |(first, _)| first);
        self.unrest = Some((first, now));
    }

    fn discover(&mut self) {
        let start = Instant::now();
        let queue = Arc::clone(&self.queue);
        let is_asked = queue.is_load_requested();
        queue.load(|| {
            // Events that were noted down until now are seen by this discovery.
            for _ in 0..PORTIONS {
                let sightings = self.notify.wait(Duration::ZERO);
                if sightings.is_empty() {
                    break;
                }
                self.note(&sightings);
            }
            self.unrest = None;
            let happened = std::mem::take(&mut self.happened);
            match (happened.is_empty(), is_asked) {
                (false, _) => happened,
                (true, true) => ReloadCauses::of(ReloadEvent::Asked),
                (true, false) => ReloadCauses::of(ReloadEvent::Poll),
            }
        });
        self.looked = Instant::now();
        self.took = self.looked.duration_since(start);
    }

    /// Watches what the library depends on now, if that is not what is watched already.
    fn watch(&mut self) {
        let queue = Arc::clone(&self.queue);
        let mut library = queue.library();
        let shape = places::shape(&library);
        if self.shape == Some(shape) && self.notify.is_whole() {
            self.at_once = 0;
            return;
        }
        self.shape = Some(shape);
        self.places = WatchedPlaces::of(&library);
        let coverage = self.notify.watch(&self.places.wanted(&library));
        let has_news = coverage.gaps != self.gaps;
        if has_news {
            self.gaps = coverage.gaps;
            library.set_notices(self.notices());
        }
        if has_news || coverage.added > 0 {
            self.discover_soon();
        } else {
            self.at_once = 0;
        }
    }

    /// Looks once more, at once if that was not done over and over.
    fn discover_soon(&mut self) {
        let now = Instant::now();
        self.at_once += 1;
        let since = if self.at_once <= AT_ONCE {
            now.checked_sub(self.options.longest_wait).unwrap_or(now)
        } else {
            now
        };
        self.unrest.get_or_insert((since, since));
        self.happened.add(ReloadCause {
            what: ReloadEvent::Watching,
            path: None,
        });
    }

    fn notices(&self) -> Vec<Diagnostic> {
        match &self.unwatched {
            Some(why) => vec![notice(why, None)],
            None => self
                .gaps
                .iter()
                .map(|gap| notice(&gap.why, Some(gap)))
                .collect(),
        }
    }
}

/// The notice that Grove polls for changes, and why.
fn notice(why: &GapReason, gap: Option<&WatchGap>) -> Diagnostic {
    let folders = gap.map_or_else(String::new, |gap| match gap.folders {
        1 => "1 folder".to_owned(),
        count => format!("{count} folders"),
    });
    let (message, help) = match why {
        GapReason::NoWatcher(error) => (
            format!("changes cannot be watched ({error}), so Grove polls for them instead"),
            Some("raise fs.inotify.max_user_instances, or end programs that watch files"),
        ),
        GapReason::OutOfWatches => (
            format!(
                "the system allows no more watches, so Grove polls for changes in {folders} instead"
            ),
            Some("raise fs.inotify.max_user_watches"),
        ),
        GapReason::FileSystem(name) => (
            format!(
                "the file system {name} does not report every change, so Grove also polls for changes in {folders}"
            ),
            None,
        ),
        GapReason::Refused(error) => (
            format!(
                "changes in {folders} cannot be watched ({error}), so Grove polls for them instead"
            ),
            Some("check the permissions of the folder"),
        ),
    };
    let mut notice = Diagnostic::new(Code::WatchPolling, message);
    if let Some(gap) = gap {
        notice = notice.in_file(&gap.first);
    }
    match help {
        Some(help) => notice.with_help(help),
        None => notice,
    }
}
