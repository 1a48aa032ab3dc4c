//! Writing a file so that a reader sees the old content or the new one, never a part.

use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::error::FsError;
use crate::files;

/// Whether the content must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It is checked when read and can be made again.
    Cache,
    /// It must not be lost.
    Durable,
}

/// Replaces a file, making its folder first if needed.
pub fn write(path: &Path, content: &[u8], durability: Durability) -> Result<(), FsError> {
    write_with_mode(path, content, durability, None)
}

/// Replaces a file that nobody but its owner may read, or whose mode is known.
pub fn write_mode(path: &Path, content: &[u8], mode: u32) -> Result<(), FsError> {
    write_with_mode(path, content, Durability::Durable, Some(mode))
}

/// Makes a file that is not there yet, and its folder if needed. What is there already is never touched: that
/// is an error whose source says that the file exists. Without a mode it has the usual one.
pub fn create(path: &Path, content: &[u8], mode: Option<u32>) -> Result<(), FsError> {
    put(path, content, Durability::Durable, mode, &mut place_new)
}

/// Whether a file was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// It has the new content.
    Done,
    /// It is not what it was thought to be, and stays as it is.
    Changed,
}

/// Replaces a file that still has the content it was read with, and keeps its mode.
///
/// The look is the last thing before the renaming. Processes that agree on a lock lose nothing at all;
/// somebody else's save in the moment between the two is what no file system guards against.
pub fn replace(path: &Path, before: &[u8], after: &[u8]) -> Result<Replaced, FsError> {
    replace_through(path, before, after, &mut rename_once)
}

fn replace_through(
    path: &Path,
    before: &[u8],
    after: &[u8],
    once: &mut Rename<'_>,
) -> Result<Replaced, FsError> {
    if !files::has_content(path, before)? {
        return Ok(Replaced::Changed);
    }
    let mode = files::mode(path)?;
    let mut outcome = Replaced::Done;
    let mut place = |from: &Path, to: &Path| {
        let same = files::has_content(to, before).map_err(|error| error.source)?;
        if same {
            patiently(from, to, once)
        } else {
            outcome = Replaced::Changed;
            std::fs::remove_file(from)
        }
    };
    put(path, after, Durability::Durable, Some(mode), &mut place)?;
    Ok(outcome)
}

fn write_with_mode(
    path: &Path,
    content: &[u8],
    durability: Durability,
    mode: Option<u32>,
) -> Result<(), FsError> {
    let mut place = |from: &Path, to: &Path| patiently(from, to, &mut rename_once);
    put(path, content, durability, mode, &mut place)
}

/// How a file that is written gets its name. A parameter, so that tests can refuse it.
type Rename<'a> = dyn FnMut(&Path, &Path) -> std::io::Result<()> + 'a;

/// Writes a file beside its place and puts it there; what was written is gone when that fails.
fn put(
    path: &Path,
    content: &[u8],
    durability: Durability,
    mode: Option<u32>,
    place: &mut Rename<'_>,
) -> Result<(), FsError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| FsError::new("create", folder, error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unique = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!(".{name}.{}.{unique}.tmp", std::process::id()));
    let written = write_temporary(&temporary, content, durability, mode)
        .and_then(|()| place(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.map_err(|error| FsError::new("write", path, error))?;
    if durability == Durability::Durable {
        let folder_file =
            std::fs::File::open(folder).map_err(|error| FsError::new("open", folder, error))?;
        folder_file
            .sync_all()
            .map_err(|error| FsError::new("sync", folder, error))?;
    }
    Ok(())
}

fn write_temporary(
    path: &Path,
    content: &[u8],
    durability: Durability,
    mode: Option<u32>,
) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    if mode.is_some() {
        // Closed to others from the first moment; opened up below if the mode says so.
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    if let Some(mode) = mode {
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    file.write_all(content)?;
    if durability == Durability::Durable {
        file.sync_all()?;
    }
    Ok(())
}

/// Milliseconds between attempts at a renaming that is refused for a moment.
const WAITS: [u64; 4] = [10, 25, 50, 100];

/// Renames, waiting out what a virus scanner, an indexer or a network share holds for a moment.
fn patiently(from: &Path, to: &Path, once: &mut Rename<'_>) -> std::io::Result<()> {
    for wait in WAITS {
        match once(from, to) {
            Err(error) if may_pass(&error) => std::thread::sleep(Duration::from_millis(wait)),
            done => return done,
        }
    }
    once(from, to)
}

/// Whether a refusal (EBUSY, EPERM, EACCES) may be over in a moment.
fn may_pass(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ResourceBusy};
    matches!(error.kind(), ResourceBusy | PermissionDenied)
}

fn rename_once(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::rename(from, to)
}

/// Gives a file its name if nothing has that name.
fn place_new(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    let mut once =
        |from: &Path, to: &Path| match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Not every file system can rename so; a second name is refused likewise where one is taken.
            Err(Errno::INVAL | Errno::NOSYS) => {
                std::fs::hard_link(from, to).and_then(|()| std::fs::remove_file(from))
            }
            done => done.map_err(std::io::Error::from),
        };
    patiently(from, to, &mut once)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    ) -> impl FnMut(&Path, &Path) -> std::io::Result<()> {
        move |from, to| {
            *calls += 1;
            if *calls <= times {
                Err(errno.into())
            } else {
                std::fs::rename(from, to)
            }
        }
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
            std::fs::write(&path, "old").unwrap();
            let mut calls = 0;
            let done = replace_through(&path, b"old", b"new", &mut refusing(errno, 2, &mut calls));
            assert_eq!(done.unwrap(), Replaced::Done, "{errno}");
            assert_eq!(std::fs::read(&path).unwrap(), b"new");
            assert_eq!(entries(folder.path()), ["x"], "no temporary file is left");
            assert_eq!(calls, 3);
        }
    }

    #[test]
    fn a_rename_that_stays_refused_or_has_no_place_fails_and_leaves_nothing() {
        for (errno, attempts) in [(Errno::NOENT, 1), (Errno::BUSY, WAITS.len() + 1)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x");
            std::fs::write(&path, "old").unwrap();
            let mut calls = 0;
            let mut refuse = refusing(errno, usize::MAX, &mut calls);
            let error = replace_through(&path, b"old", b"new", &mut refuse).unwrap_err();
            drop(refuse);
            assert!(error.to_string().contains('x'));
            assert_eq!(calls, attempts, "{errno}");
            assert_eq!(std::fs::read(&path).unwrap(), b"old");
            assert_eq!(entries(folder.path()), ["x"]);
        }
    }

    #[test]
    fn what_somebody_else_wrote_in_the_meantime_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "theirs").unwrap();
        assert_eq!(replace(&path, b"old", b"new").unwrap(), Replaced::Changed);
        // The same size is not the same content.
        assert_eq!(
            replace(&path, b"thairs", b"new").unwrap(),
            Replaced::Changed
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
