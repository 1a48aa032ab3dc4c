//! Watching real folders: what is noticed, what is left alone, and what cannot be known.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use grove_fs::watch::inotify::Inotify;
use grove_fs::watch::polling::Polling;
use grove_fs::watch::{
    Bell, ChangeKind, ChangeWatcher, FolderInterest, GapReason, WatchEvent, WatchedFolders,
};

/// Far more than the kernel takes to tell, also on a busy machine.
const PLENTY: Duration = Duration::from_secs(20);

struct Bench {
    folder: tempfile::TempDir,
    bell: Arc<Bell>,
    inotify: Inotify,
}

impl Bench {
    fn new(max_watches: usize) -> Self {
        let bell = Arc::new(Bell::new().unwrap());
        Self {
            folder: tempfile::tempdir().unwrap(),
            inotify: Inotify::new(Arc::clone(&bell), max_watches).unwrap(),
            bell,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wanted(&self, folders: &[&str]) -> WatchedFolders {
        let mut wanted = WatchedFolders::default();
        for folder in folders {
            wanted.add(&self.path(folder), &FolderInterest::Everything);
        }
        wanted
    }

    /// Everything until a change is seen at a path.
    fn until(&mut self, path: &str, change: ChangeKind) -> Vec<WatchEvent> {
        let last = WatchEvent {
            path: self.path(path),
            change,
        };
        let start = Instant::now();
        let mut all = Vec::new();
        while !all.contains(&last) {
            assert!(start.elapsed() < PLENTY, "{last:?} was not seen: {all:?}");
            all.extend(self.inotify.wait(PLENTY));
        }
        all
    }
}

fn write(path: &Path) {
    std::fs::write(path, "x").unwrap();
}

#[test]
fn only_what_is_of_interest_is_told() {
    let mut bench = Bench::new(100);
    for folder in ["all", "some", "unwatched"] {
        std::fs::create_dir(bench.path(folder)).unwrap();
    }
    let mut wanted = bench.wanted(&["all"]);
    wanted.add(
        &bench.path("some"),
        &FolderInterest::in_name(OsStr::new("SKILL.md")),
    );
    let coverage = bench.inotify.watch(&wanted);
    assert_eq!((coverage.added, coverage.gaps), (2, vec![]));
    for file in ["unwatched/a", "some/noise", "all/a"] {
        write(&bench.path(file));
    }
    write(&bench.path("some/new"));
    std::fs::rename(bench.path("some/new"), bench.path("some/SKILL.md")).unwrap();
    let seen = bench.until("some/SKILL.md", ChangeKind::Appeared);
    let at = |path: &str, change| WatchEvent {
        path: bench.path(path),
        change,
    };
    assert_eq!(
        seen,
        [
            at("all/a", ChangeKind::Appeared),
            at("all/a", ChangeKind::Written),
            at("some/SKILL.md", ChangeKind::Appeared),
        ]
    );
    assert_eq!(bench.inotify.watch(&wanted).added, 0, "all are watched");
}

/// The watch of a moved folder stays with the folder; the path that it had must not count as watched.
#[test]
fn a_folder_in_the_place_of_a_moved_one_is_watched() {
    let mut bench = Bench::new(100);
    std::fs::create_dir_all(bench.path("top/group/skill")).unwrap();
    let wanted = bench.wanted(&["top", "top/group", "top/group/skill"]);
    bench.inotify.watch(&wanted);
    std::fs::rename(bench.path("top/group"), bench.path("elsewhere")).unwrap();
    std::fs::create_dir_all(bench.path("top/group/skill")).unwrap();
    bench.until("top/group", ChangeKind::Appeared);
    assert!(!bench.inotify.is_whole());
    assert_eq!(bench.inotify.watch(&wanted).added, 2);
    write(&bench.path("elsewhere/skill/old"));
    write(&bench.path("top/group/skill/new"));
    let seen = bench.until("top/group/skill/new", ChangeKind::Written);
    let is_old = |sighting: &WatchEvent| sighting.path.ends_with("old");
    assert!(!seen.iter().any(is_old), "{seen:?}");
}

#[test]
fn two_folders_that_change_places_are_both_watched() {
    let mut bench = Bench::new(100);
    for folder in ["a", "b"] {
        std::fs::create_dir(bench.path(folder)).unwrap();
    }
    let wanted = bench.wanted(&["a", "b"]);
    bench.inotify.watch(&wanted);
    for (from, to) in [("a", "c"), ("b", "a"), ("c", "b")] {
        std::fs::rename(bench.path(from), bench.path(to)).unwrap();
    }
    bench.until("b", ChangeKind::Gone);
    while !bench.inotify.wait(Duration::ZERO).is_empty() {}
    bench.inotify.watch(&wanted);
    write(&bench.path("a/in-a"));
    write(&bench.path("b/in-b"));
    bench.until("b/in-b", ChangeKind::Written);
}

#[test]
fn two_paths_to_one_folder_tell_of_both() {
    let mut bench = Bench::new(100);
    std::fs::create_dir(bench.path("real")).unwrap();
    std::os::unix::fs::symlink("real", bench.path("link")).unwrap();
    let wanted = bench.wanted(&["link", "real"]);
    assert_eq!(bench.inotify.watch(&wanted).added, 2);
    write(&bench.path("real/x"));
    let seen = bench.until("real/x", ChangeKind::Written);
    assert!(
        seen.iter().any(|s| s.path == bench.path("link/x")),
        "{seen:?}"
    );
    bench.inotify.watch(&bench.wanted(&["real"]));
    write(&bench.path("real/y"));
    let seen = bench.until("real/y", ChangeKind::Written);
    assert!(!seen.iter().any(|s| s.path == bench.path("link/y")));
}

#[test]
fn what_is_not_there_yet_is_watched_when_it_comes() {
    let mut bench = Bench::new(100);
    let mut wanted = WatchedFolders::default();
    wanted.add_way_to(&bench.path("a/b/c"));
    wanted.add(&bench.path("a/b/c"), &FolderInterest::Everything);
    bench.inotify.watch(&wanted);
    assert!(bench.inotify.is_whole(), "nothing was lost");
    for (made, path) in [("a", "a"), ("a/b", "a/b"), ("a/b/c", "a/b/c")] {
        std::fs::create_dir(bench.path(made)).unwrap();
        bench.until(path, ChangeKind::Appeared);
        assert!(!bench.inotify.is_whole(), "{made} has to be watched now");
        assert_eq!(bench.inotify.watch(&wanted).added, 1);
    }
    write(&bench.path("a/b/c/SKILL.md"));
    bench.until("a/b/c/SKILL.md", ChangeKind::Written);
    std::fs::remove_dir_all(bench.path("a")).unwrap();
    bench.until("a", ChangeKind::Gone);
    assert!(!bench.inotify.is_whole());
}

#[test]
fn when_watches_run_out_it_is_said_how_many_folders_go_without() {
    let mut bench = Bench::new(2);
    for folder in ["a", "b", "c", "d"] {
        std::fs::create_dir(bench.path(folder)).unwrap();
    }
    let coverage = bench.inotify.watch(&bench.wanted(&["a", "b", "c", "d"]));
    assert_eq!(coverage.added, 2);
    let [gap] = &coverage.gaps[..] else {
        panic!("{coverage:?}")
    };
    assert_eq!(
        (&gap.why, gap.folders, &gap.first),
        (&GapReason::OutOfWatches, 2, &bench.path("c"))
    );
    let coverage = bench.inotify.watch(&bench.wanted(&["c", "d"]));
    assert_eq!((coverage.added, coverage.gaps), (2, vec![]));
}

/// The queue of the kernel really overflows: nobody reads while more is written than it holds.
#[test]
fn an_overflow_is_told_and_everything_is_watched_anew() {
    let mut bench = Bench::new(100);
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    std::fs::create_dir(bench.path("a")).unwrap();
    let wanted = bench.wanted(&["a"]);
    bench.inotify.watch(&wanted);
    for n in 0..=limit / 2 {
        write(&bench.path(&format!("a/{n}")));
    }
    let mut overflows = 0;
    loop {
        let seen = bench.inotify.wait(Duration::ZERO);
        if seen.is_empty() {
            break;
        }
        overflows += seen
            .iter()
            .filter(|sighting| sighting.change == ChangeKind::Overflow)
            .count();
    }
    assert_eq!(overflows, 1);
    assert!(!bench.inotify.is_whole());
    assert_eq!(bench.inotify.watch(&wanted).added, 1);
    assert!(bench.inotify.is_whole());
    write(&bench.path("a/0"));
    bench.until("a/0", ChangeKind::Written);
}

#[test]
fn a_bell_ends_every_wait() {
    let mut bench = Bench::new(1);
    let mut polling = Polling::new(Arc::clone(&bench.bell));
    let watchers: [&mut dyn ChangeWatcher; 2] = [&mut bench.inotify, &mut polling];
    for watcher in watchers {
        bench.bell.ring();
        bench.bell.ring();
        let start = Instant::now();
        assert_eq!(watcher.wait(PLENTY), []);
        assert!(start.elapsed() < PLENTY);
        let wait = Duration::from_millis(10);
        let start = Instant::now();
        assert_eq!(watcher.wait(wait), []);
        assert!(start.elapsed() >= wait, "the bell rang once");
    }
}

#[test]
fn polling_says_that_nothing_is_watched() {
    let bench = Bench::new(1);
    let mut polling = Polling::new(Arc::clone(&bench.bell));
    let coverage = polling.watch(&bench.wanted(&["a", "b"]));
    assert_eq!(coverage.added, 0);
    assert!(matches!(&coverage.gaps[..], [gap] if gap.folders == 2));
}
