//! Trying a child: is it a skill folder, a group, or in the way?

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::listing::{self, GroupListing, SKILL_FILE};
use super::names::ChildName;
use super::queue::{GroupFolder, ListedGroup, ThreadRole, ThreadTurn, WalkJob, WalkQueue};
use super::reading::{ProbeResult, open_and_read, unfit};
use super::{
    FileLayout, IgnoreFile, LinkRule, ProbeOrder, SharedWalk, ThreadOutput, VisitedFile, Visitor,
    WalkProblem, WalkTrouble, WalkedContent, WalkedFile,
};
use crate::beneath;
use crate::stamp::FileFacts;

const CHUNK: usize = 256;

/// A folder this small is never shared between threads.
const SMALL: usize = 64;

/// An ignore file larger than this is not one.
const MAX_IGNORE_BYTES: usize = 64 * 1024;

pub(super) struct WalkWorker<'a, V: Visitor> {
    pub(super) shared: &'a SharedWalk<'a, V>,
    queue: &'a WalkQueue,
    pub(super) output: ThreadOutput<V::Item>,
    buffer: Vec<u8>,
    path: Vec<u8>,
    joined: String,
    hint: usize,
    /// The files that the present job has found.
    pub(super) run: Vec<WalkedFile<V::Item>>,
}

impl<'a, V: Visitor> WalkWorker<'a, V> {
    pub(super) fn new(
        shared: &'a SharedWalk<'a, V>,
        queue: &'a WalkQueue,
        output: ThreadOutput<V::Item>,
    ) -> Self {
        Self {
            shared,
            queue,
            output,
            buffer: Vec::new(),
            path: Vec::new(),
            joined: String::new(),
            hint: 0,
            run: Vec::new(),
        }
    }

    /// Works until the queue is closed.
    pub(super) fn help(&mut self) {
        let mut turn = ThreadTurn::First;
        while let Some(job) = self.queue.next(turn, ThreadRole::Helper) {
            self.work(job);
            turn = ThreadTurn::Finished;
        }
    }

    pub(super) fn work(&mut self, job: WalkJob) {
        match job {
            WalkJob::Open(group) => self.open(group),
            WalkJob::Probe { listed, children } => {
                for child in children.filter_map(|index| listed.children.get(index)) {
                    self.probe(&listed.folder, &listed.group, child);
                }
            }
        }
        let run = std::mem::take(&mut self.run);
        self.output.runs.push(run);
    }

    /// Opens a folder as a group, lists it, and queues its children.
    fn open(&mut self, group: GroupFolder) {
        let options = self.shared.options;
        let path = if group.path.is_empty() {
            "."
        } else {
            &group.path
        };
        let Ok(path) = CString::new(path) else { return };
        self.output.counts.folder_opens += 1;
        let folder = match beneath::open_folder(self.shared.root.as_fd(), &path, options.links) {
            Ok(folder) => folder,
            Err(errno) => return self.open_failed(group, &path, errno),
        };
        match beneath::facts_of_open(folder.as_fd()) {
            Ok(facts) => {
                let first_visit = self
                    .shared
                    .walked
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(facts.stamp.id);
                if !first_visit {
                    return self.problem(group.path, WalkTrouble::Loop);
                }
            }
            Err(errno) => return self.problem(group.path, WalkTrouble::Error(errno.to_string())),
        }
        match listing::list(folder.as_fd(), options.max_entries, &options.layout) {
            Ok(listing) => self.listed(folder, group, listing),
            Err(errno) => self.problem(group.path, WalkTrouble::Error(errno.to_string())),
        }
    }

    fn listed(&mut self, folder: OwnedFd, group: GroupFolder, listing: GroupListing) {
        if listing.cut {
            self.output.limits.entries.push(group.path.clone());
        }
        self.output.folders.push(group.path.clone());
        if let Some(only) = &self.shared.options.only {
            for file in only.iter().filter_map(|name| listing.markdown.find(name)) {
                self.flat(&folder, file.name);
            }
            return;
        }
        // The probe missed, yet an entry of that name is here: a link that leads nowhere.
        if group.depth > 0
            && listing.skill_entry == Some(FileType::Symlink)
            && self.shared.options.layout.stop_at_skill
        {
            let target = link_target(folder.as_fd(), SKILL_FILE);
            self.problem(
                join(&group.path, "SKILL.md"),
                WalkTrouble::BrokenLink(target),
            );
        }
        for name in listing.wrong_case {
            self.problem(join(&group.path, &name), WalkTrouble::WrongCase(name));
        }
        for name in listing.unprintable {
            self.problem(join(&group.path, &name), WalkTrouble::UnprintableName);
        }
        for name in listing.ignore_files {
            self.read_ignore_file(&folder, &group.path, name);
        }
        if group.depth == 0 && self.shared.options.layout.flat_files {
            for file in listing.markdown.iter() {
                self.flat(&folder, file.name);
            }
        }
        // Two threads in one folder wait for each other in the kernel, so a folder of ordinary size is
        // one thread's: probing 10,000 skills in 100 groups takes a third less time this way.
        let size = listing.children.len();
        if size <= SMALL || (size <= CHUNK && self.queue.cost_waiting() > 0) {
            for child in listing.children.iter() {
                self.probe(&folder, &group, child);
            }
            return;
        }
        let listed = Arc::new(ListedGroup {
            folder,
            group,
            children: listing.children,
        });
        let chunk = if size > CHUNK { CHUNK } else { SMALL };
        let mut end = size;
        while end > 0 {
            // Pushed last to first: the stack then gives the first names first.
            let start = end.saturating_sub(chunk);
            self.queue.push(WalkJob::Probe {
                listed: Arc::clone(&listed),
                children: start..end,
            });
            end = start;
        }
    }

    fn probe(&mut self, folder: &OwnedFd, group: &GroupFolder, child: ChildName<'_>) {
        let Ok(name) = child.name.to_str() else {
            return;
        };
        let mut path = std::mem::take(&mut self.joined);
        join_into(&mut path, &group.path, name);
        let through_link = group.through_link || child.is_link;
        let tried = self.try_skill(folder, &path, child, through_link);
        let is_skill = tried == ChildOutcome::Skill;
        let descends = match tried {
            ChildOutcome::Skill => !self.shared.options.layout.stop_at_skill,
            ChildOutcome::NoSkill => true,
            ChildOutcome::NoFolder | ChildOutcome::InTheWay => false,
        };
        // Below a skill folder there may be further skills and there need not be, so a limit says nothing.
        let is_beyond = is_skill && group.depth + 1 > self.shared.options.max_depth;
        if descends && !is_beyond {
            let group = GroupFolder {
                path: path.clone(),
                depth: group.depth + 1,
                through_link,
            };
            self.descend(group, child.is_link);
        }
        self.joined = path;
    }

    /// Tries the skill file of a child at a path below the root; keeps it, or what stands in the way.
    pub(super) fn try_skill(
        &mut self,
        folder: &OwnedFd,
        path: &str,
        child: ChildName<'_>,
        through_link: bool,
    ) -> ChildOutcome {
        let Ok(name) = child.name.to_str() else {
            return ChildOutcome::InTheWay;
        };
        match self.try_child(folder, path, name, child.is_link) {
            Ok(attempt) => {
                self.meet(attempt, path, FileLayout::Folder, through_link);
                return ChildOutcome::Skill;
            }
            Err(Errno::NOENT) => return ChildOutcome::NoSkill,
            // A link to a plain file, or a file where the listing could not tell.
            Err(Errno::NOTDIR) => return ChildOutcome::NoFolder,
            Err(Errno::XDEV | Errno::LOOP) => {
                let (entry, name) = escaping_entry(folder, path, child.name);
                self.problem(entry, self.link_trouble(folder.as_fd(), &name));
            }
            Err(errno) => {
                self.problem(
                    join(path, "SKILL.md"),
                    WalkTrouble::Error(errno.to_string()),
                );
            }
        }
        ChildOutcome::InTheWay
    }

    /// Looks at, or opens and reads, a child's skill file.
    fn try_child(
        &mut self,
        folder: &OwnedFd,
        path: &str,
        name: &str,
        is_link: bool,
    ) -> Result<ProbedFile<V::Item>, Errno> {
        let links = self.shared.options.links;
        // The kernel can only keep a path below the folder it starts from: the root where links are contained.
        let (base, start) = match links {
            LinkRule::Contain => (self.shared.root.as_fd(), path),
            LinkRule::Follow => (folder.as_fd(), name),
        };
        let mut buffer = std::mem::take(&mut self.path);
        let file = skill_file_in(start, &mut buffer);
        let tried = match self.shared.options.probe {
            ProbeOrder::Open => self.open_and_read(base, file).map(ProbedFile::Read),
            ProbeOrder::Stat if links == LinkRule::Contain && !is_link => self
                .facts_in_real_folder(folder, name, base, file)
                .map(ProbedFile::Looked),
            ProbeOrder::Stat => self.facts_of(base, file).map(ProbedFile::Looked),
        };
        self.path = buffer;
        tried
    }

    /// In a real folder only the last entry can be a link, and only then is the costlier look needed.
    fn facts_in_real_folder(
        &mut self,
        folder: &OwnedFd,
        name: &str,
        base: BorrowedFd<'_>,
        file: &CStr,
    ) -> Result<FileFacts, Errno> {
        self.output.counts.stats += 1;
        let mut buffer = Vec::with_capacity(name.len() + 10);
        let facts = beneath::facts_unfollowed(folder.as_fd(), skill_file_in(name, &mut buffer))?;
        if facts.kind == FileType::Symlink {
            self.facts_of(base, file)
        } else {
            Ok(facts)
        }
    }

    fn descend(&mut self, group: GroupFolder, is_link: bool) {
        if group.depth > self.shared.options.max_depth {
            self.output.limits.depth.push(group.path);
            return;
        }
        let mut groups = self
            .shared
            .groups
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if is_link {
            groups.linked.push(group);
        } else {
            groups.plain.push(group);
        }
    }

    fn keep(
        &mut self,
        tried: ProbeResult<V::Item>,
        path: &str,
        place: FileLayout,
        through_link: bool,
    ) {
        let found = WalkedFile {
            path: path.into(),
            layout: place,
            stamp: tried.stamp,
            links: tried.links,
            through_link,
            content: tried.content,
        };
        self.run.push(found);
    }

    fn flat(&mut self, folder: &OwnedFd, name: &CStr) {
        let Some(stem) = name.to_str().ok().and_then(|name| name.strip_suffix(".md")) else {
            return;
        };
        if stem.is_empty() {
            return;
        }
        let outcome = match self.shared.options.probe {
            ProbeOrder::Open => self
                .open_and_read(folder.as_fd(), name)
                .map(ProbedFile::Read),
            ProbeOrder::Stat => self.facts_of(folder.as_fd(), name).map(ProbedFile::Looked),
        };
        match outcome {
            // A folder or pipe called `x.md` is no skill.
            Ok(attempt) if attempt.is_no_file() => {}
            Ok(attempt) => self.meet(attempt, stem, FileLayout::Flat, false),
            Err(errno @ (Errno::NOENT | Errno::XDEV | Errno::LOOP)) => {
                let target = link_target(folder.as_fd(), name);
                let leaves = errno == Errno::XDEV;
                let trouble = if leaves {
                    WalkTrouble::Escape(target)
                } else {
                    WalkTrouble::BrokenLink(target)
                };
                self.problem(format!("{stem}.md"), trouble);
            }
            Err(errno) => self.problem(format!("{stem}.md"), WalkTrouble::Error(errno.to_string())),
        }
    }

    pub(super) fn open_failed(&mut self, group: GroupFolder, path: &CStr, errno: Errno) {
        let root = self.shared.root.as_fd();
        let trouble = match errno {
            // Not a folder after all, or gone since it was listed.
            Errno::NOTDIR => return,
            Errno::NOENT if !group.through_link => return,
            Errno::NOENT => WalkTrouble::BrokenLink(link_target(root, path)),
            Errno::XDEV | Errno::LOOP => self.link_trouble(root, path),
            other => WalkTrouble::Error(other.to_string()),
        };
        self.problem(group.path, trouble);
    }

    fn link_trouble(&self, folder: BorrowedFd<'_>, name: &CStr) -> WalkTrouble {
        let target = link_target(folder, name);
        match self.shared.options.links {
            LinkRule::Contain => WalkTrouble::Escape(target),
            LinkRule::Follow => WalkTrouble::BrokenLink(target),
        }
    }

    fn read_ignore_file(&mut self, folder: &OwnedFd, path: &str, name: &'static str) {
        let Ok(c_name) = CString::new(name) else {
            return;
        };
        let Ok(file) = beneath::open_file(folder.as_fd(), &c_name, self.shared.options.links)
        else {
            return;
        };
        self.buffer.clear();
        self.buffer.resize(MAX_IGNORE_BYTES, 0);
        if let Ok(length) = rustix::io::read(&file, &mut self.buffer) {
            let text =
                String::from_utf8_lossy(self.buffer.get(..length).unwrap_or_default()).into_owned();
            self.output.ignore_files.push(IgnoreFile {
                folder: path.to_owned(),
                name,
                text,
            });
        }
    }

    pub(super) fn problem(&mut self, path: String, trouble: WalkTrouble) {
        self.output.problems.push(WalkProblem { path, trouble });
    }

    pub(super) fn facts_of(
        &mut self,
        base: BorrowedFd<'_>,
        file: &CStr,
    ) -> Result<FileFacts, Errno> {
        self.output.counts.stats += 1;
        beneath::facts_of(base, file, self.shared.options.links)
    }

    fn meet(
        &mut self,
        attempt: ProbedFile<V::Item>,
        path: &str,
        place: FileLayout,
        through_link: bool,
    ) {
        let facts = match attempt {
            ProbedFile::Read(tried) => return self.keep(tried, path, place, through_link),
            ProbedFile::Looked(facts) => facts,
        };
        if let Some(trouble) = unfit(&facts, self.shared.options.max_bytes) {
            return self.keep(
                ProbeResult::refused(&facts, trouble),
                path,
                place,
                through_link,
            );
        }
        let (visitor, stamp) = (self.shared.visitor, &facts.stamp);
        let sighting = VisitedFile {
            path,
            layout: place,
            stamp,
            links: facts.links,
            through_link,
        };
        if let Some(number) = visitor.recognise(&sighting, &mut self.hint) {
            return self.recognised(number);
        }
        let content = visitor
            .known(stamp, &mut self.hint)
            .map_or(WalkedContent::NotRead, WalkedContent::Item);
        let tried = ProbeResult {
            stamp: Some(facts.stamp),
            links: facts.links,
            content,
        };
        self.keep(tried, path, place, through_link);
    }

    fn recognised(&mut self, number: usize) {
        match self.output.recognised.last_mut() {
            Some(range) if range.end == number => range.end += 1,
            _ => self.output.recognised.push(number..number + 1),
        }
    }

    fn open_and_read(
        &mut self,
        base: BorrowedFd<'_>,
        file: &CStr,
    ) -> Result<ProbeResult<V::Item>, Errno> {
        open_and_read(
            self.shared,
            base,
            file,
            &mut self.buffer,
            &mut self.output.counts,
        )
    }
}

impl<V: Visitor> SharedWalk<'_, V> {
    /// Tries the root's own `SKILL.md`; true when there is one.
    pub(super) fn probe_root(&self, output: &mut ThreadOutput<V::Item>) -> bool {
        let mut buffer = Vec::new();
        match open_and_read(
            self,
            self.root.as_fd(),
            SKILL_FILE,
            &mut buffer,
            &mut output.counts,
        ) {
            Ok(tried) => {
                output.runs.push(vec![WalkedFile {
                    path: Arc::from(""),
                    layout: FileLayout::Root,
                    stamp: tried.stamp,
                    links: tried.links,
                    through_link: false,
                    content: tried.content,
                }]);
                true
            }
            Err(Errno::NOENT) => false,
            Err(errno) => {
                output.problems.push(WalkProblem {
                    path: "SKILL.md".to_owned(),
                    trouble: WalkTrouble::Error(errno.to_string()),
                });
                true
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildOutcome {
    /// It has a skill file, usable or not.
    Skill,
    NoSkill,
    NoFolder,
    /// It cannot be looked into; a problem was noted.
    InTheWay,
}

enum ProbedFile<T> {
    Looked(FileFacts),
    Read(ProbeResult<T>),
}

impl<T> ProbedFile<T> {
    fn is_no_file(&self) -> bool {
        match self {
            Self::Looked(facts) => facts.kind != FileType::RegularFile,
            Self::Read(tried) => matches!(
                tried.content,
                WalkedContent::Refused(WalkTrouble::NotRegular)
            ),
        }
    }
}

pub(super) fn skill_file_in<'b>(folder: &str, buffer: &'b mut Vec<u8>) -> &'b CStr {
    buffer.clear();
    buffer.extend_from_slice(folder.as_bytes());
    buffer.push(b'/');
    buffer.extend_from_slice(SKILL_FILE.to_bytes_with_nul());
    // A name from the kernel has no NUL inside; a path that did would be no path.
    CStr::from_bytes_with_nul(buffer).unwrap_or(c"")
}

/// The link that is to blame: the folder's, or that of the file in it.
fn escaping_entry(folder: &OwnedFd, path: &str, child: &CStr) -> (String, CString) {
    let is_link = beneath::facts_unfollowed(folder.as_fd(), child)
        .is_ok_and(|facts| facts.kind == FileType::Symlink);
    if is_link {
        return (path.to_owned(), child.to_owned());
    }
    let mut file = child.to_bytes().to_vec();
    file.extend_from_slice(b"/SKILL.md");
    (
        join(path, "SKILL.md"),
        CString::new(file).unwrap_or_default(),
    )
}

pub(super) fn link_target(folder: BorrowedFd<'_>, name: &CStr) -> PathBuf {
    rustix::fs::readlinkat(folder, name, Vec::new()).map_or_else(
        |_| PathBuf::new(),
        |target| PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes())),
    )
}

pub(super) fn join(parent: &str, name: &str) -> String {
    let mut path = String::with_capacity(parent.len() + 1 + name.len());
    join_into(&mut path, parent, name);
    path
}

fn join_into(path: &mut String, parent: &str, name: &str) {
    path.clear();
    if !parent.is_empty() {
        path.push_str(parent);
        path.push('/');
    }
    path.push_str(name);
}
