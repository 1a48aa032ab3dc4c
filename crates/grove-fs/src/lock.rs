//! Locks between processes: one holder at a time, a bounded wait, gone with the process that held it.
//!
//! A lock is on a file of its own beside what it protects, because what it protects is replaced by renaming.
//! The file is empty and stays: removing it would let two processes hold locks on two files of one name.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::error::FsError;

const PAUSE: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub struct Lock {
    /// The kernel gives the lock up when this is closed.
    _file: File,
}

impl Lock {
    pub fn beside(path: &Path) -> PathBuf {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.with_file_name(format!(".{name}.lock"))
    }

    /// Takes the lock on a file's lock file, waiting at most so long. The folder must be there.
    pub fn take(path: &Path, wait: Duration) -> Result<Self, FsError> {
        let lock_file = Self::beside(path);
        let fail = |error: std::io::Error| FsError::new("lock", &lock_file, error);
        // A link or a pipe that another process put there must not be followed or waited for.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let file = File::options()
            .read(true)
            .append(true)
            .create(true)
            .custom_flags(flags)
            .mode(0o600)
            .open(&lock_file)
            .map_err(fail)?;
        let deadline = Instant::now() + wait;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(std::fs::TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(PAUSE);
                }
                Err(std::fs::TryLockError::WouldBlock) => {
                    let message = format!("another process has held it for {wait:?}");
                    return Err(fail(std::io::Error::other(message)));
                }
                Err(std::fs::TryLockError::Error(error)) => return Err(fail(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_a_bounded_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let held = Lock::take(&path, Duration::ZERO).unwrap();
        let error = Lock::take(&path, Duration::from_millis(20)).unwrap_err();
        assert!(error.source.to_string().contains("another process"));
        drop(held);
        // A process that is just being started may still have the file open.
        assert!(Lock::take(&path, Duration::from_secs(30)).is_ok());
        assert!(Lock::take(&folder.path().join("other"), Duration::ZERO).is_ok());
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("count");
        std::fs::write(&path, "0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let _lock = Lock::take(&path, Duration::from_secs(30)).unwrap();
                        let count: u32 = std::fs::read_to_string(&path).unwrap().parse().unwrap();
                        std::fs::write(&path, (count + 1).to_string()).unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "100");
    }

    #[test]
    fn a_link_in_the_place_of_the_lock_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        std::os::unix::fs::symlink(folder.path().join("victim"), Lock::beside(&path)).unwrap();
        assert!(Lock::take(&path, Duration::ZERO).is_err());
        assert!(!folder.path().join("victim").exists());
    }
}
