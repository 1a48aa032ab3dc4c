//! Opening and looking at paths below a held folder.
//!
//! In a contained root the kernel itself refuses every path that leaves the root, so there is no
//! moment between a check and its use. Elsewhere links are followed. Opens never block and never
//! take a terminal.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;

use crate::stamp::{FileFacts, wanted};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkRule {
    /// Lead anywhere: the root belongs to the user.
    Follow,
    /// Lead only to places below the root: its content came from elsewhere.
    Contain,
}

pub(crate) fn open_file(
    root: BorrowedFd<'_>,
    path: &CStr,
    links: LinkRule,
) -> Result<OwnedFd, Errno> {
    open(
        root,
        path,
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
        links,
    )
}

pub(crate) fn open_folder(
    root: BorrowedFd<'_>,
    path: &CStr,
    links: LinkRule,
) -> Result<OwnedFd, Errno> {
    open(
        root,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        links,
    )
}

/// The facts about the target of a path, without opening it for reading.
pub(crate) fn facts_of(
    root: BorrowedFd<'_>,
    path: &CStr,
    links: LinkRule,
) -> Result<FileFacts, Errno> {
    match links {
        LinkRule::Follow => {
            let found = rustix::fs::statx(root, path, AtFlags::empty(), wanted())?;
            Ok(FileFacts::from(&found))
        }
        // `statx` cannot be told to stay below a folder; an open by path can, and reads nothing.
        LinkRule::Contain => {
            facts_of_open(open(root, path, OFlags::PATH | OFlags::CLOEXEC, links)?.as_fd())
        }
    }
}

/// The facts about a path's own last entry; links in its last part are not followed.
pub(crate) fn facts_unfollowed(folder: BorrowedFd<'_>, path: &CStr) -> Result<FileFacts, Errno> {
    let found = rustix::fs::statx(folder, path, AtFlags::SYMLINK_NOFOLLOW, wanted())?;
    Ok(FileFacts::from(&found))
}

pub(crate) fn facts_of_open(file: BorrowedFd<'_>) -> Result<FileFacts, Errno> {
    let found = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted())?;
    Ok(FileFacts::from(&found))
}

/// Returns true if a file lies in a file system that the kernel makes up: `/proc`, `/sys` and their kin.
pub(crate) fn is_pseudo(file: BorrowedFd<'_>) -> bool {
    const PROC: u64 = 0x9fa0;
    const SYS: u64 = 0x6265_6572;
    const DEBUG: u64 = 0x6462_6720;
    const CGROUP: u64 = 0x0027_e0eb;
    const CGROUP2: u64 = 0x6367_7270;
    const SECURITY: u64 = 0x7363_6673;
    const DEVPTS: u64 = 0x1cd1;
    rustix::fs::fstatfs(file).is_ok_and(|fs| {
        #[expect(clippy::cast_sign_loss, reason = "magic numbers are bit patterns")]
        let magic = fs.f_type as u64;
        [PROC, SYS, DEBUG, CGROUP, CGROUP2, SECURITY, DEVPTS].contains(&magic)
    })
}

/// A path below a held folder as the kernel takes it; an empty one is the folder itself.
pub(crate) fn c_path(below: &str) -> Result<CString, Errno> {
    let path = if below.is_empty() { "." } else { below };
    CString::new(path).map_err(|_| Errno::INVAL)
}

/// Hands over the entries of an open folder but for itself and the one above, until the caller has enough.
pub(crate) fn each_entry(
    folder: BorrowedFd<'_>,
    mut take: impl FnMut(&CStr, FileType) -> ControlFlow<()>,
) -> Result<(), Errno> {
    let mut buffer = [MaybeUninit::<u8>::uninit(); 16 * 1024];
    let mut raw = RawDir::new(folder, &mut buffer);
    while let Some(entry) = raw.next() {
        let entry = entry?;
        let name = entry.file_name();
        let is_itself = matches!(name.to_bytes(), b"." | b"..");
        if !is_itself && take(name, entry.file_type()).is_break() {
            break;
        }
    }
    Ok(())
}

fn open(
    root: BorrowedFd<'_>,
    path: &CStr,
    flags: OFlags,
    links: LinkRule,
) -> Result<OwnedFd, Errno> {
    match links {
        LinkRule::Follow => rustix::fs::openat(root, path, flags, Mode::empty()),
        LinkRule::Contain => {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            // EAGAIN means that something was renamed while the kernel resolved the path.
            for _ in 0..8 {
                match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
                    Err(Errno::AGAIN) => {}
                    done => return done,
                }
            }
            Err(Errno::AGAIN)
        }
    }
}
