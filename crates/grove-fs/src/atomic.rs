//! Writing a file so that a reader sees the old content or the new one, never a part.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use crate::abandoned;
use crate::error::FsError;
use crate::file_place::FilePlace;

/// The choice between content that can be made again and content that must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It is checked when read and can be made again.
    Cache,
    Durable,
}

/// Replaces a file, making its folder first if needed.
pub fn write(path: &Path, content: &[u8], durability: Durability) -> Result<(), FsError> {
    write_with_mode(path, content, durability, None)
}

/// Replaces a file that only its owner may read, or whose mode is known.
pub fn write_mode(path: &Path, content: &[u8], mode: u32) -> Result<(), FsError> {
    write_with_mode(path, content, Durability::Durable, Some(mode))
}

/// Makes a file that is not there yet. What is there already is never touched: that is an error whose source says
/// that the file exists. Without a mode it has the usual one.
pub fn create_at(spot: &FilePlace, content: &[u8], mode: Option<u32>) -> Result<(), FsError> {
    put(spot, content, Durability::Durable, mode, &mut place_new)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceOutcome {
    Done,
    Changed,
}

/// Replaces a file that still has the content it was read with, and keeps its mode.
///
/// The comparison is the last thing before the renaming. Processes that agree on a lock lose nothing at all; no file system
/// guards against a program that saves without the lock in the moment between the two.
pub fn replace_at(
    spot: &FilePlace,
    before: &[u8],
    after: &[u8],
) -> Result<ReplaceOutcome, FsError> {
    replace_through(spot, before, after, None, &mut rename_once)
}

/// The same with another mode.
pub fn replace_with_mode(
    spot: &FilePlace,
    before: &[u8],
    after: &[u8],
    mode: u32,
) -> Result<ReplaceOutcome, FsError> {
    replace_through(spot, before, after, Some(mode), &mut rename_once)
}

fn replace_through(
    spot: &FilePlace,
    before: &[u8],
    after: &[u8],
    mode: Option<u32>,
    once: &mut Rename<'_>,
) -> Result<ReplaceOutcome, FsError> {
    if !spot.has_content(before)? {
        return Ok(ReplaceOutcome::Changed);
    }
    let mode = mode.map_or_else(|| spot.mode(), Ok)?;
    let mut outcome = ReplaceOutcome::Done;
    let mut place = |spot: &FilePlace, from: &OsStr| {
        let same = spot.has_content(before).map_err(|error| error.source)?;
        if same {
            retry_rename(spot, from, once)
        } else {
            outcome = ReplaceOutcome::Changed;
            Ok(spot.remove(from)?)
        }
    };
    put(spot, after, Durability::Durable, Some(mode), &mut place)?;
    Ok(outcome)
}

fn write_with_mode(
    path: &Path,
    content: &[u8],
    durability: Durability,
    mode: Option<u32>,
) -> Result<(), FsError> {
    let mut place = |spot: &FilePlace, from: &OsStr| retry_rename(spot, from, &mut rename_once);
    put(&FilePlace::at(path)?, content, durability, mode, &mut place)
}

/// The step that gives a written file its name, after it had one of its own in the same folder. A parameter, so that
/// tests can refuse it.
type Rename<'a> = dyn FnMut(&FilePlace, &OsStr) -> std::io::Result<()> + 'a;

/// Writes a file beside its place and puts it there; what was written is gone when that fails.
fn put(
    spot: &FilePlace,
    content: &[u8],
    durability: Durability,
    mode: Option<u32>,
    place: &mut Rename<'_>,
) -> Result<(), FsError> {
    let fail = |error: std::io::Error| FsError::new("write", spot.path(), error);
    abandoned::clear_once(spot.folder());
    let temporary = TemporaryFile::create(spot, mode).map_err(fail)?;
    let written = temporary
        .write(content, durability, mode)
        .and_then(|()| place(spot, &temporary.name));
    if written.is_err() {
        let _ = spot.remove(&temporary.name);
    }
    written.map_err(fail)?;
    if durability == Durability::Durable {
        let synced = rustix::fs::fsync(spot.folder());
        synced.map_err(|errno| FsError::new("sync", spot.path(), errno))?;
    }
    Ok(())
}

/// A file that is being written, locked as long as its writer lives.
struct TemporaryFile {
    name: OsString,
    file: std::fs::File,
}

impl TemporaryFile {
    fn create(spot: &FilePlace, mode: Option<u32>) -> std::io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Closed to others from the first moment where a mode is wanted; opened up later if it says so.
        let first = Mode::from_raw_mode(if mode.is_some() { 0o600 } else { 0o666 });
        loop {
            let unique = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = abandoned::name(spot.name(), unique);
            let file = std::fs::File::from(rustix::fs::openat(spot.folder(), &name, flags, first)?);
            // A process that clears what dead writers left may have been faster than the lock.
            if file.try_lock().is_ok() && rustix::fs::fstat(&file)?.st_nlink > 0 {
                return Ok(Self { name, file });
            }
        }
    }

    fn write(
        &self,
        content: &[u8],
        durability: Durability,
        mode: Option<u32>,
    ) -> std::io::Result<()> {
        if let Some(mode) = mode {
            let mode = std::fs::Permissions::from_mode(mode);
            self.file.set_permissions(mode)?;
        }
        (&self.file).write_all(content)?;
        if durability == Durability::Durable {
            self.file.sync_all()?;
        }
        Ok(())
    }
}

/// Milliseconds between attempts at a renaming that is refused for a moment.
const WAITS: [u64; 4] = [10, 25, 50, 100];

/// Renames, waiting out what a virus scanner, an indexer or a network share holds for a moment.
fn retry_rename(spot: &FilePlace, from: &OsStr, once: &mut Rename<'_>) -> std::io::Result<()> {
    for wait in WAITS {
        match once(spot, from) {
            Err(error) if is_transient(&error) => std::thread::sleep(Duration::from_millis(wait)),
            done => return done,
        }
    }
    once(spot, from)
}

/// Returns true if a refusal (EBUSY, EPERM, EACCES) may be over in a moment.
fn is_transient(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ResourceBusy};
    matches!(error.kind(), ResourceBusy | PermissionDenied)
}

fn rename_once(spot: &FilePlace, from: &OsStr) -> std::io::Result<()> {
    let folder = spot.folder();
    Ok(rustix::fs::renameat(folder, from, folder, spot.name())?)
}

fn place_new(spot: &FilePlace, from: &OsStr) -> std::io::Result<()> {
    use rustix::fs::{AtFlags, RenameFlags, linkat, renameat_with};
    use rustix::io::Errno;
    let mut once = |spot: &FilePlace, from: &OsStr| {
        let (folder, name) = (spot.folder(), spot.name());
        match renameat_with(folder, from, folder, name, RenameFlags::NOREPLACE) {
            // Not every file system can rename so; a second name is refused likewise where one is taken.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(folder, from, folder, name, AtFlags::empty())?;
                Ok(spot.remove(from)?)
            }
            done => Ok(done?),
        }
    };
    retry_rename(spot, from, &mut once)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(path: &Path, content: &[u8], mode: Option<u32>) -> Result<(), FsError> {
        create_at(&FilePlace::at(path)?, content, mode)
    }

    fn replace(path: &Path, before: &[u8], after: &[u8]) -> Result<ReplaceOutcome, FsError> {
        replace_at(&FilePlace::at(path)?, before, after)
    }
    use crate::files;

    #[test]
    fn readers_see_one_whole_version_under_a_thousand_rewrites() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/file");
        write(&path, &vec![b'a'; 100_000], Durability::Cache).unwrap();
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4_u8)
                .map(|n| {
                    scope.spawn({
                        let path = &path;
                        move || {
                            (0..250).for_each(|_| {
                                write(path, &vec![b'a' + n; 100_000], Durability::Cache).unwrap();
                            });
                        }
                    })
                })
                .collect();
            while !writers
                .iter()
                .all(std::thread::ScopedJoinHandle::is_finished)
            {
                let seen = std::fs::read(&path).unwrap();
                assert!(seen.len() == 100_000 && seen.iter().all(|b| *b == seen[0]));
            }
        });
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }

    #[test]
    fn a_failed_write_names_the_path_and_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = write(&folder.path().join("x"), b"1", Durability::Durable)
            .and_then(|()| write(&folder.path().join("x/y"), b"2", Durability::Cache));
        assert!(error.unwrap_err().to_string().contains('x'));
        assert_eq!(std::fs::read(folder.path().join("x")).unwrap(), b"1");
    }

    use rustix::io::Errno;

    /// A rename that is refused a few times first.
    fn refusing(
        errno: Errno,
        times: usize,
        calls: &mut usize,
    ) -> impl FnMut(&FilePlace, &OsStr) -> std::io::Result<()> {
        move |spot, from| {
            *calls += 1;
            if *calls <= times {
                Err(errno.into())
            } else {
                rename_once(spot, from)
            }
        }
    }

    /// The place of a file, by its path and beneath the folder that it is in.
    fn places(path: &Path) -> [FilePlace; 2] {
        let (base, name) = (path.parent().unwrap(), path.file_name().unwrap());
        [
            FilePlace::at(path).unwrap(),
            FilePlace::beneath(base, Path::new(name)).unwrap(),
        ]
    }

    fn entries(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_rename_that_is_refused_for_a_moment_is_tried_again() {
        for errno in [Errno::PERM, Errno::BUSY, Errno::ACCESS] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x");
            for place in places(&path) {
                std::fs::write(&path, "old").unwrap();
                let mut calls = 0;
                let mut refuse = refusing(errno, 2, &mut calls);
                let done = replace_through(&place, b"old", b"new", None, &mut refuse);
                drop(refuse);
                assert_eq!(done.unwrap(), ReplaceOutcome::Done, "{errno}");
                assert_eq!(std::fs::read(&path).unwrap(), b"new");
                assert_eq!(entries(folder.path()), ["x"], "no temporary file is left");
                assert_eq!(calls, 3);
            }
        }
    }

    #[test]
    fn a_rename_that_stays_refused_or_has_no_place_fails_and_leaves_nothing() {
        for (errno, attempts) in [(Errno::NOENT, 1), (Errno::BUSY, WAITS.len() + 1)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x");
            std::fs::write(&path, "old").unwrap();
            for place in places(&path) {
                let mut calls = 0;
                let mut refuse = refusing(errno, usize::MAX, &mut calls);
                let error = replace_through(&place, b"old", b"new", None, &mut refuse).unwrap_err();
                drop(refuse);
                assert!(error.to_string().contains('x'));
                assert_eq!(calls, attempts, "{errno}");
                assert_eq!(std::fs::read(&path).unwrap(), b"old");
                assert_eq!(entries(folder.path()), ["x"]);
            }
        }
    }

    #[test]
    fn what_somebody_else_wrote_in_the_meantime_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "theirs").unwrap();
        assert_eq!(
            replace(&path, b"old", b"new").unwrap(),
            ReplaceOutcome::Changed
        );
        // The same size is not the same content.
        assert_eq!(
            replace(&path, b"thairs", b"new").unwrap(),
            ReplaceOutcome::Changed
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        assert_eq!(entries(folder.path()), ["x"]);
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for mode in [0o600, 0o640, 0o755] {
            std::fs::write(&path, "old").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            replace(&path, b"old", b"new").unwrap();
            assert_eq!(files::mode(&path).unwrap(), mode);
        }
    }

    #[test]
    fn a_new_file_never_takes_the_place_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/x");
        create(&path, b"first", None).unwrap();
        let error = create(&path, b"second", None).unwrap_err();
        assert_eq!(error.source.kind(), std::io::ErrorKind::AlreadyExists);
        std::os::unix::fs::symlink("nowhere", folder.path().join("deep/link")).unwrap();
        assert!(create(&folder.path().join("deep/link"), b"third", None).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        assert_eq!(entries(&folder.path().join("deep")), ["link", "x"]);
    }
}
