//! The kernel's own notification on Linux.
//!
//! A watch is on a folder, not on a path: a folder that was moved keeps its watch, and two paths to one folder share
//! one. The watches are known here by path, so a path that moves is forgotten with everything below it, and is watched
//! anew when it is asked for again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::inotify::{
    CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch,
};
use rustix::io::Errno;

use super::{
    Bell, ChangeKind, ChangeWatcher, FolderInterest, GapReason, WatchCoverage, WatchEvent,
    WatchedFolders, file_system,
};

/// Entries made, removed, moved, written and closed, or given other permissions; the folder removed or moved.
///
/// Not every single write: one save may be hundreds of them, and the closing tells.
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// The watch of the path is not worth anything any more.
const LOST: ReadFlags = ReadFlags::IGNORED
    .union(ReadFlags::DELETE_SELF)
    .union(ReadFlags::MOVE_SELF)
    .union(ReadFlags::UNMOUNT);

const BUFFER_BYTES: usize = 64 * 1024;
/// Sightings handed out at once; what is left is read in the next wait.
const MAX_SIGHTINGS: usize = 4_096;
/// The pause between portions of events that mean nothing, since some watched folders are shared by all users.
const AFTER_NOISE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Inotify {
    bell: Arc<Bell>,
    kernel: OwnedFd,
    max_watches: usize,
    by_path: BTreeMap<PathBuf, FolderWatch>,
    by_number: HashMap<i32, Vec<PathBuf>>,
    /// The folders that were asked for and were not there: they have to be watched when they appear.
    absent: BTreeSet<PathBuf>,
    buffer: Vec<MaybeUninit<u8>>,
    /// Set if a folder that was asked for last is not watched any more.
    is_torn: bool,
    /// Set if events were lost, so that it is not known which watches are still worth anything.
    overflowed: bool,
}

#[derive(Debug)]
struct FolderWatch {
    number: i32,
    interest: FolderInterest,
    /// The file system, if it keeps changes to itself.
    silent: Option<&'static str>,
}

impl Inotify {
    pub fn new(bell: Arc<Bell>, max_watches: usize) -> Result<Self, Errno> {
        Ok(Self {
            bell,
            kernel: open()?,
            max_watches,
            by_path: BTreeMap::new(),
            by_number: HashMap::new(),
            absent: BTreeSet::new(),
            buffer: vec![MaybeUninit::uninit(); BUFFER_BYTES],
            is_torn: false,
            overflowed: false,
        })
    }

    /// Starts over: which events were lost, and so which watches, cannot be known.
    fn start_over(&mut self) -> Result<(), Errno> {
        self.kernel = open()?;
        self.by_path.clear();
        self.by_number.clear();
        self.overflowed = false;
        Ok(())
    }

    fn add(&mut self, folder: &Path, interest: &FolderInterest) -> Result<&FolderWatch, Errno> {
        if self.by_path.len() >= self.max_watches {
            return Err(Errno::NOSPC);
        }
        let number = add_watch(&self.kernel, folder, EVENTS)?;
        let shared = self.by_number.get(&number).cloned().unwrap_or_default();
        // The folder is watched under another path, which either leads to it too or led to it once.
        for other in shared {
            match add_watch(&self.kernel, &other, EVENTS) {
                Ok(same) if same == number => {}
                Ok(moved) => {
                    self.unlink(&other, number);
                    self.by_number.entry(moved).or_default().push(other.clone());
                    if let Some(watch) = self.by_path.get_mut(&other) {
                        watch.number = moved;
                    }
                }
                Err(_) => {
                    self.unlink(&other, number);
                    self.by_path.remove(&other);
                    self.is_torn = true;
                }
            }
        }
        let paths = self.by_number.entry(number).or_default();
        paths.push(folder.to_path_buf());
        let watch = FolderWatch {
            number,
            interest: interest.clone(),
            silent: file_system::unreliable_file_system(folder),
        };
        Ok(self
            .by_path
            .entry(folder.to_path_buf())
            .insert_entry(watch)
            .into_mut())
    }

    /// Takes a path from its watch; says whether none is left.
    fn unlink(&mut self, path: &Path, number: i32) -> bool {
        let Some(paths) = self.by_number.get_mut(&number) else {
            return false;
        };
        paths.retain(|known| known != path);
        let is_last = paths.is_empty();
        if is_last {
            self.by_number.remove(&number);
        }
        is_last
    }

    fn remove(&mut self, path: &Path) {
        if let Some(watch) = self.by_path.remove(path)
            && self.unlink(path, watch.number)
        {
            // It may have gone with its folder, which is as good.
            let _ = remove_watch(&self.kernel, watch.number);
        }
    }

    fn forget(&mut self, path: &Path) {
        let below = self.by_path.range(path.to_path_buf()..);
        let gone: Vec<PathBuf> = below
            .map(|(known, _)| known.clone())
            .take_while(|known| known.starts_with(path))
            .collect();
        self.is_torn |= !gone.is_empty();
        for known in gone {
            self.remove(&known);
        }
    }

    /// Reads what the kernel noted down; keeps the events that are of interest.
    fn drain(&mut self) -> Vec<WatchEvent> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut noted = Vec::new();
        let mut reader = Reader::new(self.kernel.as_fd(), &mut buffer);
        while noted.len() < MAX_SIGHTINGS || !reader.is_buffer_empty() {
            let Ok(event) = reader.next() else { break };
            let name = event
                .file_name()
                .map(|name| OsStr::from_bytes(name.to_bytes()).to_os_string());
            noted.push((event.wd(), event.events(), name));
        }
        self.buffer = buffer;
        let mut sightings = Vec::new();
        for (number, events, name) in noted {
            self.take_event(number, events, name.as_deref(), &mut sightings);
        }
        sightings
    }

    fn take_event(
        &mut self,
        number: i32,
        events: ReadFlags,
        name: Option<&OsStr>,
        sightings: &mut Vec<WatchEvent>,
    ) {
        if events.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.overflowed = true;
            sightings.push(WatchEvent {
                path: PathBuf::new(),
                change: ChangeKind::Overflow,
            });
            return;
        }
        let change = if events.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            ChangeKind::Appeared
        } else if events.intersects(LOST | ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            ChangeKind::Gone
        } else {
            ChangeKind::Written
        };
        for folder in self.by_number.get(&number).cloned().unwrap_or_default() {
            let Some(name) = name else {
                if events.intersects(LOST) {
                    self.forget(&folder);
                }
                let path = folder;
                sightings.push(WatchEvent { path, change });
                continue;
            };
            let path = folder.join(name);
            let watch = self.by_path.get(&folder);
            let is_wanted = watch.is_some_and(|watch| watch.interest.includes(name));
            if change != ChangeKind::Written {
                // A link that is laid elsewhere leads to other folders by the same paths.
                self.forget(&path);
            }
            if is_wanted {
                self.is_torn |= self.absent.contains(&path);
                sightings.push(WatchEvent { path, change });
            }
        }
    }
}

impl ChangeWatcher for Inotify {
    fn watch(&mut self, wanted: &WatchedFolders) -> WatchCoverage {
        let mut coverage = WatchCoverage::default();
        if self.overflowed
            && let Err(errno) = self.start_over()
        {
            let why = GapReason::NoWatcher(errno.to_string());
            wanted
                .folders
                .keys()
                .for_each(|folder| coverage.add_gap(why.clone(), folder));
            return coverage;
        }
        self.is_torn = false;
        self.absent.clear();
        // First what is not wanted any more: a folder that moved has one watch, and its old path holds it.
        let known = self.by_path.keys();
        let unwanted: Vec<PathBuf> = known
            .filter(|path| !wanted.folders.contains_key(*path))
            .cloned()
            .collect();
        for path in &unwanted {
            self.remove(path);
        }
        let mut is_out = false;
        for (folder, interest) in &wanted.folders {
            if let Some(watch) = self.by_path.get_mut(folder) {
                watch.interest = interest.clone();
                if let Some(name) = watch.silent {
                    coverage.add_gap(GapReason::FileSystem(name), folder);
                }
                continue;
            }
            if is_out {
                coverage.add_gap(GapReason::OutOfWatches, folder);
                continue;
            }
            match self.add(folder, interest) {
                Ok(watch) => {
                    coverage.added += 1;
                    if let Some(name) = watch.silent {
                        coverage.add_gap(GapReason::FileSystem(name), folder);
                    }
                }
                Err(Errno::NOENT | Errno::NOTDIR) => {
                    self.absent.insert(folder.clone());
                }
                Err(Errno::NOSPC | Errno::NOMEM) => {
                    is_out = true;
                    coverage.add_gap(GapReason::OutOfWatches, folder);
                }
                Err(errno) => coverage.add_gap(GapReason::Refused(errno.to_string()), folder),
            }
        }
        coverage
    }

    fn is_whole(&self) -> bool {
        !self.is_torn && !self.overflowed
    }

    fn wait(&mut self, timeout: Duration) -> Vec<WatchEvent> {
        let start = Instant::now();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            let woken = self.bell.wait(Some(self.kernel.as_fd()), left);
            let sightings = if woken.readable {
                self.drain()
            } else {
                Vec::new()
            };
            if woken.rang || !sightings.is_empty() || start.elapsed() >= timeout {
                return sightings;
            }
            let pause = AFTER_NOISE.min(timeout.saturating_sub(start.elapsed()));
            if woken.readable && self.bell.wait(None, pause).rang {
                return sightings;
            }
        }
    }
}

fn open() -> Result<OwnedFd, Errno> {
    init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
}
