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
mod listing;
mod names;
mod probe;
mod queue;
mod reading;

use std::collections::{BTreeSet, HashSet};
use std::ffi::CString;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub use crate::beneath::Links;
use crate::error::FsError;
use crate::stamp::{FileId, Stamp};
pub(crate) use listing::is_printable;
use probe::Worker;
use queue::{Group, Queue, Role, Turn};
pub(crate) use reading::read_whole;

/// What to look for, and how far.
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// What links may do.
    pub links: Links,
    /// How files are probed.
    pub probe: Probe,
    /// Which layouts count.
    pub layout: Layout,
    /// Files at the top of the root, by name: nothing but these is looked for.
    pub only: Option<Vec<String>>,
    /// How many files are read; the rest are named.
    pub max_candidates: usize,
    /// How large a file may be.
    pub max_bytes: u64,
    /// How many group levels lie above a skill folder at most.
    pub max_depth: usize,
    /// How many folders are opened at most.
    pub max_folders: usize,
    /// How many entries of one folder are looked at.
    pub max_entries: usize,
    /// How many levels of declared folders there are, the folder that nobody declared included.
    pub max_levels: usize,
}

/// Whether a probe looks first or opens at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// Look first: right when most files are known or many will not be read.
    Stat,
    /// Open at once: right when every file has to be read anyway.
    Open,
}

/// Which layouts count as skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// A `SKILL.md` in the root itself counts, and ends the walk if a skill folder does.
    pub root_file: bool,
    /// `<root>/<name>.md` counts.
    pub flat_files: bool,
    /// Nothing below a skill folder is looked at, but for what its file declares.
    pub stop_at_skill: bool,
    /// What a skill file declares below its own folder is looked for, if a skill folder ends the walk.
    pub declared: bool,
    /// Folders called `node_modules` are looked in like others.
    pub node_modules: bool,
    /// What becomes of a skill file that is itself a link.
    pub linked_files: LinkedFiles,
    /// Ignore files of these names are collected from every folder walked.
    pub ignore_files: &'static [&'static str],
}

impl Layout {
    /// Everything Grove itself understands.
    pub const ALL: Self = Self {
        root_file: true,
        flat_files: true,
        stop_at_skill: true,
        declared: true,
        node_modules: false,
        linked_files: LinkedFiles::Follow,
        ignore_files: &[],
    };
}

/// What becomes of a skill file that is itself a link. All but the first cost one look more a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkedFiles {
    /// It is read as far as the root's links may lead.
    Follow,
    /// It is refused.
    Skip,
    /// It is refused unless it leads to a file in the skill's own folder.
    Inside,
}

/// Who knows files already and reads new ones. Called from two threads.
pub trait Visitor: Sync {
    /// What a file becomes.
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
    fn recognise(&self, _sighting: &Sighting<'_>, _hint: &mut usize) -> Option<usize> {
        None
    }

    /// What was met under a number.
    fn recall(&self, _number: usize) -> Option<Found<Self::Item>> {
        None
    }

    /// How many files were met before.
    fn met_before(&self) -> usize {
        0
    }

    /// What a file declares below its own folder; most declare nothing.
    fn declares(&self, _found: &Found<Self::Item>) -> Option<Below> {
        None
    }

    /// The numbers of the files met before that declare something, in order.
    fn declaring(&self) -> &[usize] {
        &[]
    }

    /// The item for the bytes of a file.
    fn read(&self, stamp: &Stamp, bytes: &[u8]) -> Self::Item;
}

/// Which folders below its own a file declares to hold files of its kind.
///
/// They are in its folder or in the folder `skills` there, and nowhere deeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Below {
    /// Every folder that has such a file.
    Every,
    /// The folders of these names.
    Named(Vec<String>),
}

/// A file as a walk sees it.
#[derive(Debug)]
pub struct Sighting<'a> {
    /// Its path, as in [`Found::path`].
    pub path: &'a str,
    /// Which layout.
    pub place: Place,
    /// Its stamp.
    pub stamp: &'a Stamp,
    /// How many hard links it has.
    pub links: u32,
    /// Whether a link leads to it.
    pub through_link: bool,
}

/// Where a file was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// `<root>/SKILL.md`.
    Root,
    /// `<root>/<name>.md`.
    Flat,
    /// `<root>/…/<name>/SKILL.md`.
    Folder,
}

/// A file that was found.
#[derive(Debug)]
pub struct Found<T> {
    /// The folder's path below the root with `/`; the file's stem for a flat file; empty for the root's own.
    pub path: Arc<str>,
    /// Which layout.
    pub place: Place,
    /// Its stamp, if it could be looked at.
    pub stamp: Option<Stamp>,
    /// How many hard links the file has.
    pub links: u32,
    /// Whether its folder or itself is a link.
    pub through_link: bool,
    /// What it became, or why not.
    pub content: Content<T>,
}

/// What became of a found file.
#[derive(Debug)]
pub enum Content<T> {
    /// Read, or known.
    Item(T),
    /// Not read because of the candidate limit.
    NotRead,
    /// It cannot be read.
    Refused(Trouble),
}

/// What stood in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Larger than the limit.
    TooLarge {
        /// Its size.
        size: u64,
    },
    /// A folder, pipe, socket or device.
    NotRegular,
    /// A file of `/proc` or the like.
    Pseudo,
    /// A link that leaves a contained root.
    Escape {
        /// Where the link leads.
        target: PathBuf,
    },
    /// A link that leads nowhere.
    BrokenLink {
        /// Where the link leads.
        target: PathBuf,
    },
    /// The kernel said no, or the layout.
    Error(String),
    /// A name with control characters, or not UTF-8.
    UnprintableName,
    /// A folder that was walked already.
    Loop,
    /// Declared folders that are there twice: `skills/<name>` is read, `<name>` beside it is not.
    Twins {
        /// Their names.
        names: Vec<String>,
    },
    /// What the file declares lies deeper than [`WalkOptions::max_levels`] and was not looked for.
    TooDeep,
    /// `skill.md` in another case.
    WrongCase {
        /// The name as found.
        name: String,
    },
}

/// Something to say about a path below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The path below the root, made printable.
    pub path: String,
    /// What stood in the way.
    pub trouble: Trouble,
}

/// A limit that was reached, with what it left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitsHit {
    /// Files named and not read: candidate limit.
    pub candidates: Vec<String>,
    /// Folders deeper than the depth limit.
    pub depth: Vec<String>,
    /// Folders not opened because of the folder limit.
    pub folders: Vec<String>,
    /// Folders with more entries than are looked at.
    pub entries: Vec<String>,
}

/// How often the kernel was asked for what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the operation of the same name")]
pub struct Counts {
    pub file_opens: u64,
    pub file_reads: u64,
    pub stats: u64,
    pub folder_opens: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.file_opens += other.file_opens;
        self.file_reads += other.file_reads;
        self.stats += other.stats;
        self.folder_opens += other.folder_opens;
    }
}

/// An ignore file met on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoreFile {
    /// The folder it is in, below the root.
    pub folder: String,
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
}

/// The result of a walk.
#[derive(Debug)]
pub struct Walk<T> {
    /// Every file that was met before was met again as it was, and no other: nothing is listed then.
    pub unchanged: bool,
    /// Everything found, sorted by path.
    pub found: Vec<Found<T>>,
    /// Everything in the way, sorted by path.
    pub problems: Vec<Problem>,
    /// The limits that were reached.
    pub limits: LimitsHit,
    /// Ignore files, sorted by folder.
    pub ignore_files: Vec<IgnoreFile>,
    /// The folders that were looked in, below the root, sorted: whatever appears in them may be one file more.
    pub folders: Vec<String>,
    /// The bill.
    pub counts: Counts,
}

/// A root to walk: a folder, and for a contained root the folder it must lie in.
#[derive(Debug, Clone)]
pub struct RootFolder {
    /// The folder that a contained root's own path must not leave.
    pub base: Option<PathBuf>,
    /// The root.
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
                Links::Contain,
            ),
            None => (self.path.as_path(), Path::new("."), Links::Follow),
        };
        let flags = rustix::fs::OFlags::RDONLY
            | rustix::fs::OFlags::DIRECTORY
            | rustix::fs::OFlags::CLOEXEC;
        let start = rustix::fs::open(start, flags, rustix::fs::Mode::empty()).map_err(fail)?;
        if links == Links::Follow || below.as_os_str().is_empty() {
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
    links: Links,
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

/// Reads one file in a folder below a root. The folder is found as the walk finds it; below the folder no
/// path and no link leads out of it, whoever owns the root.
pub fn read_in_folder(
    root: &RootFolder,
    links: Links,
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
    let file = crate::beneath::open_file(folder.as_fd(), &name(path)?, Links::Contain);
    crate::files::read_open(file.map_err(fail)?.into(), &whole, max_bytes)
}

/// Walks a root. An error means that the root itself could not be opened.
pub fn walk<V: Visitor>(
    root: &RootFolder,
    options: &WalkOptions,
    visitor: &V,
) -> Result<Walk<V::Item>, FsError> {
    let root_fd = root.open()?;
    let device = crate::beneath::look_at(root_fd.as_fd())
        .map_err(|errno| FsError::new("look at", &root.path, errno))?
        .stamp
        .id
        .device;
    let shared = Shared {
        root: root_fd,
        path: &root.path,
        device,
        options,
        visitor,
        walked: Mutex::default(),
        groups: Mutex::default(),
    };
    let mut total = Output::default();
    let is_whole = options.only.is_none();
    let has_root_file = is_whole && options.layout.root_file && shared.probe_root(&mut total);
    if has_root_file && options.layout.stop_at_skill {
        return Ok(total.finish(&shared));
    }
    let queue = Queue::new();
    std::thread::scope(|scope| {
        let mut walker = Worker::new(&shared, &queue, std::mem::take(&mut total));
        let mut helper = None;
        let mut levels = Levels::new(options.max_folders);
        while let Some(level) = levels.next(&shared, &mut walker.output.limits) {
            queue.start_level(level);
            let mut turn = Turn::First;
            loop {
                if helper.is_none() && queue.cost_waiting() >= HELPER_FROM {
                    helper = Some(scope.spawn(|| {
                        let mut worker = Worker::new(&shared, &queue, Output::default());
                        worker.help();
                        worker.output
                    }));
                }
                let Some(job) = queue.next(turn, Role::Walker) else {
                    break;
                };
                walker.work(job);
                turn = Turn::Finished;
            }
        }
        queue.close();
        total = walker.output;
        if let Some(output) = helper.and_then(|handle| handle.join().ok()) {
            total.absorb(output);
        }
    });
    Ok(total.finish(&shared))
}

/// How many probes must be waiting before a second thread is worth its start.
const HELPER_FROM: usize = 32;

/// The groups still to be walked, level by level.
struct Levels {
    started: bool,
    folders_left: usize,
    behind_links: BTreeSet<Group>,
}

impl Levels {
    fn new(max_folders: usize) -> Self {
        Self {
            started: false,
            folders_left: max_folders,
            behind_links: BTreeSet::new(),
        }
    }

    /// The next level: the groups found in the last one, or else the first group behind a link.
    fn next<V>(&mut self, shared: &Shared<'_, V>, limits: &mut LimitsHit) -> Option<Vec<Group>> {
        if !self.started {
            self.started = true;
            return Some(vec![Group {
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

/// What both threads see.
struct Shared<'a, V> {
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
    plain: Vec<Group>,
    linked: Vec<Group>,
}

/// What one thread has gathered.
struct Output<T> {
    /// What was found, a run for each folder, each in order.
    runs: Vec<Vec<Found<T>>>,
    /// Numbers of the files that the visitor recognised.
    recognised: Vec<Range<usize>>,
    problems: Vec<Problem>,
    limits: LimitsHit,
    ignore_files: Vec<IgnoreFile>,
    folders: Vec<String>,
    counts: Counts,
}

impl<T> Default for Output<T> {
    fn default() -> Self {
        Self {
            runs: Vec::new(),
            recognised: Vec::new(),
            problems: Vec::new(),
            limits: LimitsHit::default(),
            ignore_files: Vec::new(),
            folders: Vec::new(),
            counts: Counts::default(),
        }
    }
}

impl<T: Send> Output<T> {
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

    /// Whether exactly the files that the visitor knows were met.
    fn is_unchanged<V: Visitor<Item = T>>(&mut self, shared: &Shared<'_, V>) -> bool {
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

    /// What was recognised, to be listed like everything else.
    fn recalled<V: Visitor<Item = T>>(&mut self, shared: &Shared<'_, V>) -> Vec<Found<T>> {
        // In order, since what is met in order need not be sorted afterwards.
        self.recognised.sort_unstable_by_key(|range| range.start);
        let numbers = std::mem::take(&mut self.recognised).into_iter().flatten();
        numbers
            .filter_map(|number| shared.visitor.recall(number))
            .collect()
    }

    /// How many files were recognised.
    fn recognised(&self) -> usize {
        self.recognised.iter().map(Range::len).sum()
    }

    /// Reads the first of what was found, as many as may be read, and names the rest.
    fn take_candidates<V: Visitor<Item = T>>(
        &mut self,
        shared: &Shared<'_, V>,
        found: &mut [Found<T>],
        limit: usize,
    ) {
        let (kept, beyond) = found.split_at_mut(limit.min(found.len()));
        for beyond in beyond {
            beyond.content = Content::NotRead;
            self.limits.candidates.push(beyond.path.to_string());
        }
        self.counts += reading::refuse_links(shared, kept);
        self.counts += reading::read_pending(shared, kept);
    }

    /// Sorts, applies the candidate limit, reads what is left to read, and looks for what that declares.
    fn finish<V: Visitor<Item = T>>(mut self, shared: &Shared<'_, V>) -> Walk<T> {
        let limit = shared.options.max_candidates;
        let mut found = joined(std::mem::take(&mut self.runs));
        // What was only met again is left alone as long as it may turn out that nothing changed.
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
        Walk {
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

/// So few that putting each in its place is less work than comparing all the others with one another.
const FEW: usize = 64;

/// Two lists in order as one.
fn merged<T>(mut many: Vec<Found<T>>, few: Vec<Found<T>>) -> Vec<Found<T>> {
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

fn in_order<T>(a: &Found<T>, b: &Found<T>) -> std::cmp::Ordering {
    a.path.cmp(&b.path).then(a.place.cmp(&b.place))
}

/// All runs as one list in order.
fn joined<T>(mut runs: Vec<Vec<Found<T>>>) -> Vec<Found<T>> {
    runs.retain(|run| !run.is_empty());
    runs.sort_by(|a, b| match (a.first(), b.first()) {
        (Some(a), Some(b)) => in_order(a, b),
        _ => std::cmp::Ordering::Equal,
    });
    let mut found: Vec<Found<T>> = Vec::with_capacity(runs.iter().map(Vec::len).sum());
    for run in runs {
        found.extend(run);
    }
    // Runs overlap only where a folder holds skills and groups side by side.
    if !found.is_sorted_by(|a, b| in_order(a, b).is_le()) {
        found.sort_by(in_order);
    }
    found
}
