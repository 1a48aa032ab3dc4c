//! Files that a writer left behind when it was killed.
//!
//! A writer holds a lock on its temporary file, which the kernel gives up with the process, wherever that ran. So a
//! temporary file that can be locked has no writer, and the next process that writes into the folder removes it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RawDir};

const MAX_ENTRIES: usize = 20_000;

pub(crate) fn name(file: &OsStr, unique: u32) -> OsString {
    let file = file.to_string_lossy();
    OsString::from(format!(".{file}.{}.{unique}.tmp", std::process::id()))
}

/// Returns true if a name is one that [`name`] gives: `.file.1234.0.tmp`.
fn is_temporary(name: &[u8]) -> bool {
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let mut parts = name.rsplit(|b| *b == b'.');
    parts.next() == Some(b"tmp")
        && parts.next().is_some_and(is_number)
        && parts.next().is_some_and(is_number)
        && name.first() == Some(&b'.')
}

/// Clears a folder the first time that this process writes into it; failures do not matter.
pub(crate) fn clear_once(folder: BorrowedFd<'_>) {
    static CLEARED: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());
    let Ok(found) = rustix::fs::fstat(folder) else {
        return;
    };
    let is_first = {
        let mut cleared = CLEARED.lock().unwrap_or_else(PoisonError::into_inner);
        cleared.insert((found.st_dev, found.st_ino))
    };
    if is_first {
        clear(folder);
    }
}

fn clear(folder: BorrowedFd<'_>) {
    // The folder is listed through a descriptor of its own: the other one may be one that cannot be.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(listed) = rustix::fs::openat(folder, ".", flags, Mode::empty()) else {
        return;
    };
    let mut buffer = [MaybeUninit::<u8>::uninit(); 16 * 1024];
    let mut entries = RawDir::new(&listed, &mut buffer);
    let mut seen = 0;
    while let Some(Ok(entry)) = entries.next() {
        seen += 1;
        if seen > MAX_ENTRIES {
            return;
        }
        let name = entry.file_name();
        if !is_temporary(name.to_bytes()) {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else {
            continue;
        };
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn what_a_dead_writer_left_is_cleared_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let held = std::fs::File::open(folder.path()).unwrap();
        let mine = name("a.md".as_ref(), 7).into_string().unwrap();
        assert!(is_temporary(mine.as_bytes()));
        let kept = [
            ".notes.tmp",
            "a.md.1.2.tmp",
            ".a.1.x.tmp",
            ".a.md.1.2.tmp~",
            "a.md",
        ];
        for other in kept {
            assert!(!is_temporary(other.as_bytes()), "{other}");
            std::fs::write(folder.path().join(other), "x").unwrap();
        }
        let alive = folder.path().join(".a.md.2.0.tmp");
        let living = std::fs::File::create(&alive).unwrap();
        living.lock().unwrap();
        std::fs::write(folder.path().join(&mine), "x").unwrap();
        clear(held.as_fd());
        assert!(!folder.path().join(&mine).exists());
        assert!(alive.exists());
        drop(living);
        clear(held.as_fd());
        let names = std::fs::read_dir(folder.path()).unwrap();
        assert_eq!(names.count(), kept.len());
    }
}
