//! Reading what was found: one open, one stat of the open file, one read.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::{
    CallCounts, FileLayout, LinkedFiles, SharedWalk, Visitor, WalkTrouble, WalkedContent,
    WalkedFile,
};
use crate::beneath;
use crate::stamp::FileFacts;

const CHUNK: usize = 64;

pub(super) struct ProbeResult<T> {
    pub(super) stamp: Option<crate::stamp::Stamp>,
    pub(super) links: u32,
    pub(super) content: WalkedContent<T>,
}

impl<T> ProbeResult<T> {
    pub(super) fn refused(facts: &FileFacts, trouble: WalkTrouble) -> Self {
        // A folder has a link from each folder in it, which says nothing.
        let is_file = facts.kind == FileType::RegularFile;
        Self {
            stamp: Some(facts.stamp),
            links: if is_file { facts.links } else { 1 },
            content: WalkedContent::Refused(trouble),
        }
    }
}

pub(super) fn unfit(facts: &FileFacts, max_bytes: u64) -> Option<WalkTrouble> {
    if facts.kind != FileType::RegularFile {
        return Some(WalkTrouble::NotRegular);
    }
    (facts.stamp.size > max_bytes).then_some(WalkTrouble::TooLarge(facts.stamp.size))
}

/// One open, one stat of the open file, one read: what is hashed and parsed is what was checked.
pub(super) fn open_and_read<V: Visitor>(
    shared: &SharedWalk<'_, V>,
    base: BorrowedFd<'_>,
    file: &CStr,
    buffer: &mut Vec<u8>,
    counts: &mut CallCounts,
) -> Result<ProbeResult<V::Item>, Errno> {
    counts.file_opens += 1;
    let opened = match beneath::open_file(base, file, shared.options.links) {
        Ok(opened) => opened,
        // A socket cannot be opened, and so is not a file.
        Err(Errno::NXIO) => {
            return Ok(ProbeResult {
                stamp: None,
                links: 1,
                content: WalkedContent::Refused(WalkTrouble::NotRegular),
            });
        }
        Err(errno @ (Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP)) => {
            counts.file_opens -= 1;
            return Err(errno);
        }
        Err(errno) => {
            return Ok(ProbeResult {
                stamp: None,
                links: 1,
                content: WalkedContent::Refused(WalkTrouble::Error(errno.to_string())),
            });
        }
    };
    counts.stats += 1;
    let facts = beneath::facts_of_open(opened.as_fd())?;
    if let Some(trouble) = unfit(&facts, shared.options.max_bytes) {
        return Ok(ProbeResult::refused(&facts, trouble));
    }
    if facts.stamp.id.device != shared.device && beneath::is_pseudo(opened.as_fd()) {
        return Ok(ProbeResult::refused(&facts, WalkTrouble::Pseudo));
    }
    let content = match read_whole(&opened, &facts, shared.options.max_bytes, buffer, counts) {
        Ok(length) => WalkedContent::Item(
            shared
                .visitor
                .read(&facts.stamp, buffer.get(..length).unwrap_or_default()),
        ),
        Err(trouble) => WalkedContent::Refused(trouble),
    };
    Ok(ProbeResult {
        stamp: Some(facts.stamp),
        links: facts.links,
        content,
    })
}

/// Reads a file in one call when it does not grow: one byte more than its size is asked for, so a
/// short answer proves the end.
pub(crate) fn read_whole(
    file: &OwnedFd,
    facts: &FileFacts,
    max_bytes: u64,
    buffer: &mut Vec<u8>,
    counts: &mut CallCounts,
) -> Result<usize, WalkTrouble> {
    let size = usize::try_from(facts.stamp.size).unwrap_or(usize::MAX);
    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    if buffer.len() <= size {
        buffer.resize(size.saturating_add(4096), 0);
    }
    let mut length = 0;
    loop {
        counts.file_reads += 1;
        let target = buffer.get_mut(length..).unwrap_or_default();
        let room = target.len();
        match rustix::io::read(file, target) {
            Ok(0) => return Ok(length),
            Ok(read) => {
                length += read;
                if length > limit {
                    return Err(WalkTrouble::TooLarge(length as u64));
                }
                if read < room && length >= size {
                    return Ok(length);
                }
                if length == buffer.len() {
                    buffer.resize(length.saturating_add(65_536), 0);
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(WalkTrouble::Error(errno.to_string())),
        }
    }
}

/// Refuses the skill files that are links where these do not count.
///
/// A probe follows links and so cannot tell; only a rule that asks for more than following costs a second system call.
pub(super) fn refuse_links<V: Visitor>(
    shared: &SharedWalk<'_, V>,
    found: &mut [WalkedFile<V::Item>],
) -> CallCounts {
    let mut counts = CallCounts::default();
    let rule = shared.options.layout.linked_files;
    if rule == LinkedFiles::Follow {
        return counts;
    }
    for found in found {
        let file = file_below_root(found);
        counts.stats += 1;
        let is_link = beneath::facts_unfollowed(shared.root.as_fd(), &file)
            .is_ok_and(|facts| facts.kind == FileType::Symlink);
        if !is_link {
            continue;
        }
        let reason = match rule {
            LinkedFiles::Inside if stays_in_its_folder(shared.path, &file) => continue,
            LinkedFiles::Inside => "it is a link that leads out of its folder",
            LinkedFiles::Skip | LinkedFiles::Follow => "it is a link",
        };
        // The facts so far are those of the file that the link leads to, which may be another skill's.
        found.stamp = None;
        found.links = 1;
        found.content = WalkedContent::Refused(WalkTrouble::Error(reason.to_owned()));
    }
    counts
}

/// Returns true if a link in a folder leads to something in that folder, however it is written.
fn stays_in_its_folder(root: &Path, file: &CStr) -> bool {
    let link = root.join(OsStr::from_bytes(file.to_bytes()));
    let folder = link.parent().unwrap_or(root).canonicalize();
    let target = link.canonicalize();
    matches!((folder, target), (Ok(folder), Ok(target)) if target.starts_with(&folder))
}

/// Reads what was only looked at so far, on two threads when there is enough of it.
pub(super) fn read_pending<V: Visitor>(
    shared: &SharedWalk<'_, V>,
    found: &mut [WalkedFile<V::Item>],
) -> CallCounts {
    let pending: Vec<usize> = found
        .iter()
        .enumerate()
        .filter(|(_, f)| matches!(f.content, WalkedContent::NotRead))
        .map(|(index, _)| index)
        .collect();
    if pending.is_empty() {
        return CallCounts::default();
    }
    let next = AtomicUsize::new(0);
    let paths: Vec<CString> = pending
        .iter()
        .filter_map(|index| found.get(*index))
        .map(file_below_root)
        .collect();
    let read_some = || {
        let (mut done, mut buffer, mut counts) = (Vec::new(), Vec::new(), CallCounts::default());
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            let Some(chunk) = paths.get(start..).filter(|rest| !rest.is_empty()) else {
                return (done, counts);
            };
            for (offset, path) in chunk.iter().take(CHUNK).enumerate() {
                let tried =
                    open_and_read(shared, shared.root.as_fd(), path, &mut buffer, &mut counts);
                done.push((start + offset, tried));
            }
        }
    };
    let (done, counts) = std::thread::scope(|scope| {
        let thread = || std::thread::Builder::new().spawn_scoped(scope, read_some);
        // Where no thread can be had, the first one reads everything.
        let second = (paths.len() > CHUNK).then(thread).and_then(Result::ok);
        let mut all = read_some();
        if let Some((done, counts)) = second.and_then(|handle| handle.join().ok()) {
            all.0.extend(done);
            all.1 += counts;
        }
        all
    });
    for (at, tried) in done {
        let Some(slot) = pending.get(at).and_then(|index| found.get_mut(*index)) else {
            continue;
        };
        match tried {
            Ok(tried) => {
                slot.stamp = tried.stamp;
                slot.links = tried.links;
                slot.content = tried.content;
            }
            // Gone or replaced since it was looked at.
            Err(errno) => {
                slot.content = WalkedContent::Refused(WalkTrouble::Error(errno.to_string()));
            }
        }
    }
    counts
}

fn file_below_root<T>(found: &WalkedFile<T>) -> CString {
    let path = match found.layout {
        FileLayout::Root => "SKILL.md".to_owned(),
        FileLayout::Flat => format!("{}.md", found.path),
        FileLayout::Folder => format!("{}/SKILL.md", found.path),
    };
    CString::new(path).unwrap_or_default()
}
