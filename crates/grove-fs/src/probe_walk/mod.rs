//! The probe walk: finds files of one name without opening the folders they are in.
//!
//! A group folder is listed once; then `<child>/SKILL.md` is tried relative to its descriptor, and
//! only on a miss is the child opened as a group. Not opening skill folders is worth more than any
//! parallelism. Work is shared by two threads in chunks of names; a chunk holds its folder's
//! descriptor, so descriptors stay few however wide the tree is.
//!
//! Folders reached through links are walked last and in order, so that the result does not depend on
//! which path to a folder was found first.

mod declared;
mod found;
mod listing;
mod names;
mod options;
mod probe;
mod queue;
mod reading;

use std::collections::{BTreeSet, HashSet};
use std::ffi::CString;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub use crate::beneath::LinkRule;
use crate::error::FsError;
use crate::stamp::{FileId, Stamp};
pub use found::{
    CallCounts, DeclaredFolders, FileLayout, IgnoreFile, LimitsHit, VisitedFile, WalkProblem,
    WalkResult, WalkTrouble, WalkedContent, WalkedFile,
};
pub(crate) use listing::is_printable;
pub use options::{AcceptedLayouts, LinkedFiles, ProbeOrder, WalkOptions};
use probe::WalkWorker;
use queue::{GroupFolder, ThreadRole, ThreadTurn, WalkQueue};
pub(crate) use reading::read_whole;

/// A keeper of files that knows some already and reads new ones. It is called from two threads.
pub trait Visitor: Sync {
    type Item: Send;

    /// The item for a file that has not changed since it was read.
    ///
    /// The hint is the visitor's own: a number kept for each thread from one call to the next. Files of
    /// a folder come in order, so it can say where to look first.
    fn known(&self, stamp: &Stamp, hint: &mut usize) -> Option<Self::Item>;

    /// The number of a file that is exactly as the visitor met it before: same path, same stamp.
    ///
    /// Numbers count the files of one walk in its order, so a walk that meets them all again costs
    /// nothing but looking.
    fn recognise(&self, _sighting: &VisitedFile<'_>, _hint: &mut usize) -> Option<usize> {
        None
    }

    fn recall(&self, _number: usize) -> Option<WalkedFile<Self::Item>> {
        None
    }

    /// The number of files that were met before.
    fn met_before(&self) -> usize {
        0
    }

    /// The folders that a file declares below its own; most declare nothing.
    fn declares(&self, _found: &WalkedFile<Self::Item>) -> Option<DeclaredFolders> {
        None
    }

    /// The numbers of the files met before that declare something, in order.
    fn declaring(&self) -> &[usize] {
        &[]
    }

    /// The item for the bytes of a file.
    fn read(&self, stamp: &Stamp, bytes: &[u8]) -> Self::Item;
}

/// A root to walk: a folder, and for a contained root the folder it must lie in.
#[derive(Debug, Clone)]
pub struct RootFolder {
    /// The folder that a contained root's own path must not leave.
    pub base: Option<PathBuf>,
    pub path: PathBuf,
}

impl RootFolder {
    /// Opens the root, beneath its base if it has one.
    pub(crate) fn open(&self) -> Result<OwnedFd, FsError> {
        let fail = |errno: rustix::io::Errno| FsError::new("open", &self.path, errno);
        let (start, below, links) = match &self.base {
            Some(base) => (
                base.as_path(),
                self.path.strip_prefix(base).unwrap_or(&self.path),
                LinkRule::Contain,
            ),
            None => (self.path.as_path(), Path::new("."), LinkRule::Follow),
        };
        let flags = rustix::fs::OFlags::RDONLY
            | rustix::fs::OFlags::DIRECTORY
            | rustix::fs::OFlags::CLOEXEC;
        let start = rustix::fs::open(start, flags, rustix::fs::Mode::empty()).map_err(fail)?;
        if links == LinkRule::Follow || below.as_os_str().is_empty() {
            return Ok(start);
        }
        let below = CString::new(below.as_os_str().as_encoded_bytes())
            .map_err(|_| fail(rustix::io::Errno::INVAL))?;
        crate::beneath::open_folder(start.as_fd(), &below, links).map_err(fail)
    }
}

/// Reads one file below a root as the walk would: beneath the root's descriptor, regular, bounded.
pub fn read_below(
    root: &RootFolder,
    links: LinkRule,
    path: &str,
    max_bytes: u64,
) -> Result<Vec<u8>, FsError> {
    let whole = root.path.join(path);
    let fail = |errno: rustix::io::Errno| FsError::new("read", &whole, errno);
    let name = CString::new(path).map_err(|_| fail(rustix::io::Errno::INVAL))?;
    let folder = root.open()?;
    let file = crate::beneath::open_file(folder.as_fd(), &name, links).map_err(fail)?;
    crate::files::read_open(file.into(), &whole, max_bytes)
}

/// Reads one file in a folder below a root. The folder is found as the walk finds it; below the folder no path and no
/// link leads out of it, whatever the rule for links in the root is.
pub fn read_in_folder(
    root: &RootFolder,
    links: LinkRule,
    folder: &str,
    path: &str,
    max_bytes: u64,
) -> Result<Vec<u8>, FsError> {
    let whole = root.path.join(folder).join(path);
    let fail = |errno: rustix::io::Errno| FsError::new("read", &whole, errno);
    let name = |text: &str| CString::new(text).map_err(|_| fail(rustix::io::Errno::INVAL));
    let root = root.open()?;
    let folder = name(if folder.is_empty() { "." } else { folder })?;
    let folder = crate::beneath::open_folder(root.as_fd(), &folder, links).map_err(fail)?;
    let file = crate::beneath::open_file(folder.as_fd(), &name(path)?, LinkRule::Contain);
    crate::files::read_open(file.map_err(fail)?.into(), &whole, max_bytes)
}

/// Walks a root. An error means that the root itself could not be opened.
pub fn walk<V: Visitor>(
    root: &RootFolder,
    options: &WalkOptions,
    visitor: &V,
) -> Result<WalkResult<V::Item>, FsError> {
    let root_fd = root.open()?;
    let device = crate::beneath::facts_of_open(root_fd.as_fd())
        .map_err(|errno| FsError::new("look at", &root.path, errno))?
        .stamp
        .id
        .device;
    let shared = SharedWalk {
        root: root_fd,
        path: &root.path,
        device,
        options,
        visitor,
        walked: Mutex::default(),
        groups: Mutex::default(),
    };
    let mut total = ThreadOutput::default();
    let is_whole = options.only.is_none();
    let has_root_file = is_whole && options.layout.root_file && shared.probe_root(&mut total);
    if has_root_file && options.layout.stop_at_skill {
        return Ok(total.finish(&shared));
    }
    let queue = WalkQueue::new();
    std::thread::scope(|scope| {
        let mut walker = WalkWorker::new(&shared, &queue, std::mem::take(&mut total));
        let mut helper = None;
        let mut levels = PendingLevels::new(options.max_folders);
        while let Some(level) = levels.next(&shared, &mut walker.output.limits) {
            queue.start_level(level);
            let mut turn = ThreadTurn::First;
            loop {
                if helper.is_none() && queue.cost_waiting() >= HELPER_FROM {
                    let help = || {
                        let mut worker = WalkWorker::new(&shared, &queue, ThreadOutput::default());
                        worker.help();
                        worker.output
                    };
                    helper = Some(std::thread::Builder::new().spawn_scoped(scope, help));
                }
                let Some(job) = queue.next(turn, ThreadRole::Walker) else {
                    break;
                };
                walker.work(job);
                turn = ThreadTurn::Finished;
            }
        }
        queue.close();
        total = walker.output;
        // Where no thread could be had, the first one has walked everything.
        if let Some(output) = helper.and_then(|handle| handle.ok()?.join().ok()) {
            total.absorb(output);
        }
    });
    Ok(total.finish(&shared))
}

/// The probes that must be waiting before a second thread is worth its start.
const HELPER_FROM: usize = 32;

struct PendingLevels {
    started: bool,
    folders_left: usize,
    behind_links: BTreeSet<GroupFolder>,
}

impl PendingLevels {
    fn new(max_folders: usize) -> Self {
        Self {
            started: false,
            folders_left: max_folders,
            behind_links: BTreeSet::new(),
        }
    }

    /// The next level: the groups found in the last one, or else the first group behind a link.
    fn next<V>(
        &mut self,
        shared: &SharedWalk<'_, V>,
        limits: &mut LimitsHit,
    ) -> Option<Vec<GroupFolder>> {
        if !self.started {
            self.started = true;
            return Some(vec![GroupFolder {
                path: String::new(),
                depth: 0,
                through_link: false,
            }]);
        }
        let mut found = shared.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let mut level = std::mem::take(&mut found.plain);
        self.behind_links.extend(std::mem::take(&mut found.linked));
        drop(found);
        if level.is_empty() {
            // One after another: which path names a folder must not depend on timing.
            level.push(self.behind_links.pop_first()?);
        }
        // The limit takes the first in order, level by level, so that it too is the same every time.
        level.sort_unstable();
        let beyond = level.split_off(self.folders_left.min(level.len()));
        self.folders_left -= level.len();
        limits
            .folders
            .extend(beyond.into_iter().map(|group| group.path));
        Some(level)
    }
}

struct SharedWalk<'a, V> {
    root: OwnedFd,
    /// The root's path, for the rare question of where a link leads.
    path: &'a Path,
    /// The root's device; what lies on another one may not be a real file system.
    device: u64,
    options: &'a WalkOptions,
    visitor: &'a V,
    /// Identities of the folders walked, against loops.
    walked: Mutex<HashSet<FileId>>,
    /// The next level, as far as it is known.
    groups: Mutex<FoundGroups>,
}

/// Children that are no skills.
#[derive(Default)]
struct FoundGroups {
    plain: Vec<GroupFolder>,
    linked: Vec<GroupFolder>,
}

struct ThreadOutput<T> {
    /// The files that were found, a run for each folder, each in order.
    runs: Vec<Vec<WalkedFile<T>>>,
    /// Numbers of the files that the visitor recognised.
    recognised: Vec<Range<usize>>,
    problems: Vec<WalkProblem>,
    limits: LimitsHit,
    ignore_files: Vec<IgnoreFile>,
    folders: Vec<String>,
    counts: CallCounts,
}

impl<T> Default for ThreadOutput<T> {
    fn default() -> Self {
        Self {
            runs: Vec::new(),
            recognised: Vec::new(),
            problems: Vec::new(),
            limits: LimitsHit::default(),
            ignore_files: Vec::new(),
            folders: Vec::new(),
            counts: CallCounts::default(),
        }
    }
}

impl<T: Send> ThreadOutput<T> {
    fn absorb(&mut self, other: Self) {
        self.runs.extend(other.runs);
        self.recognised.extend(other.recognised);
        self.problems.extend(other.problems);
        self.limits.depth.extend(other.limits.depth);
        self.limits.entries.extend(other.limits.entries);
        self.ignore_files.extend(other.ignore_files);
        self.folders.extend(other.folders);
        self.counts += other.counts;
    }

    /// Returns true if exactly the files that the visitor knows were met.
    fn is_unchanged<V: Visitor<Item = T>>(&mut self, shared: &SharedWalk<'_, V>) -> bool {
        self.recognised.sort_unstable_by_key(|range| range.start);
        let mut next = 0;
        for range in &self.recognised {
            if range.start != next {
                return false;
            }
            next = range.end;
        }
        next > 0 && next == shared.visitor.met_before() && next <= shared.options.max_candidates
    }

    /// The recognised files, to be listed like everything else.
    fn recalled<V: Visitor<Item = T>>(&mut self, shared: &SharedWalk<'_, V>) -> Vec<WalkedFile<T>> {
        // In order, since what is met in order need not be sorted afterwards.
        self.recognised.sort_unstable_by_key(|range| range.start);
        // With room for the few that come besides: thousands are not moved for them.
        let mut recalled = Vec::with_capacity(self.recognised() + FEW);
        let numbers = std::mem::take(&mut self.recognised).into_iter().flatten();
        recalled.extend(numbers.filter_map(|number| shared.visitor.recall(number)));
        recalled
    }

    fn recognised(&self) -> usize {
        self.recognised.iter().map(Range::len).sum()
    }

    /// Reads the first of the files that were found, as many as may be read, and names the rest.
    fn take_candidates<V: Visitor<Item = T>>(
        &mut self,
        shared: &SharedWalk<'_, V>,
        found: &mut [WalkedFile<T>],
        limit: usize,
    ) {
        let (kept, beyond) = found.split_at_mut(limit.min(found.len()));
        for beyond in beyond {
            beyond.content = WalkedContent::NotRead;
            self.limits.candidates.push(beyond.path.to_string());
        }
        self.counts += reading::refuse_links(shared, kept);
        self.counts += reading::read_pending(shared, kept);
    }

    /// Sorts, applies the candidate limit, reads what is left to read, and looks for what that declares.
    fn finish<V: Visitor<Item = T>>(mut self, shared: &SharedWalk<'_, V>) -> WalkResult<T> {
        let limit = shared.options.max_candidates;
        let mut found = joined(std::mem::take(&mut self.runs));
        // Files that were only met again are left alone as long as it may turn out that nothing changed.
        if self.recognised() > limit || !found.is_empty() {
            found = merged(self.recalled(shared), found);
        }
        self.take_candidates(shared, &mut found, limit);
        let n_walked = found.len();
        declared::follow(shared, &mut self, &mut found);
        let unchanged = found.is_empty() && self.is_unchanged(shared);
        if !unchanged {
            let mut recalled = self.recalled(shared);
            self.counts += reading::refuse_links(shared, &mut recalled);
            if !recalled.is_empty() || found.len() > n_walked {
                found = merged(recalled, joined(vec![found]));
            }
        }
        self.problems.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.problems.dedup();
        for names in [
            &mut self.limits.depth,
            &mut self.limits.folders,
            &mut self.limits.entries,
        ] {
            names.sort_unstable();
        }
        self.ignore_files
            .sort_unstable_by(|a, b| a.folder.cmp(&b.folder).then(a.name.cmp(b.name)));
        self.folders.sort_unstable();
        self.folders.dedup();
        WalkResult {
            unchanged,
            found,
            problems: self.problems,
            limits: self.limits,
            ignore_files: self.ignore_files,
            folders: self.folders,
            counts: self.counts,
        }
    }
}

/// The most files for which putting each in its place is less work than comparing all the others with one another.
const FEW: usize = 64;

fn merged<T>(mut many: Vec<WalkedFile<T>>, few: Vec<WalkedFile<T>>) -> Vec<WalkedFile<T>> {
    if many.is_empty() {
        return few;
    }
    if few.len() > FEW {
        return joined(vec![many, few]);
    }
    for found in few {
        let at = many.partition_point(|other| in_order(other, &found).is_lt());
        many.insert(at, found);
    }
    many
}

fn in_order<T>(a: &WalkedFile<T>, b: &WalkedFile<T>) -> std::cmp::Ordering {
    a.path.cmp(&b.path).then(a.layout.cmp(&b.layout))
}

fn joined<T>(mut runs: Vec<Vec<WalkedFile<T>>>) -> Vec<WalkedFile<T>> {
    runs.retain(|run| !run.is_empty());
    runs.sort_by(|a, b| match (a.first(), b.first()) {
        (Some(a), Some(b)) => in_order(a, b),
        _ => std::cmp::Ordering::Equal,
    });
    let mut found: Vec<WalkedFile<T>> = Vec::with_capacity(runs.iter().map(Vec::len).sum());
    for run in runs {
        found.extend(run);
    }
    // Runs overlap only where a folder holds skills and groups side by side.
    if !found.is_sorted_by(|a, b| in_order(a, b).is_le()) {
        found.sort_by(in_order);
    }
    found
}
