//! The identity of a file, and the stamp that tells if it changed.

use std::path::Path;

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags};
use serde::{Deserialize, Serialize};

use crate::error::FsError;

/// A file's identity: one inode is one file, whatever its paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId {
    pub device: u64,
    pub inode: u64,
}

/// The fields that change whenever content does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    pub id: FileId,
    pub size: u64,
    pub mtime: i64,
    pub ctime: i64,
}

/// Kernels count time in ticks of up to 10 ms, so a write just after a read can leave the same stamp; such a stamp
/// proves nothing.
const TICK_NS: i64 = 20_000_000;

/// Some file systems keep whole seconds, and some every other one.
const COARSE_NS: i64 = 2_000_000_000;

impl Stamp {
    /// Returns true if the file had been left alone long enough before `read_at` for the stamp to be proof.
    pub fn settled_before(&self, read_at: i64) -> bool {
        self.mtime
            .max(self.ctime)
            .saturating_add(self.granularity())
            < read_at
    }

    /// The least time between two changes for their stamps to differ. No program can set a change time, so one without
    /// a fraction of a second is of a file system that keeps none.
    fn granularity(&self) -> i64 {
        match self.ctime % 1_000_000_000 {
            0 => COARSE_NS,
            _ => TICK_NS,
        }
    }
}

/// A stamp with the other facts that one `statx` tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileFacts {
    pub(crate) stamp: Stamp,
    pub(crate) kind: FileType,
    pub(crate) links: u32,
}

pub(crate) fn wanted() -> StatxFlags {
    StatxFlags::TYPE
        | StatxFlags::INO
        | StatxFlags::SIZE
        | StatxFlags::MTIME
        | StatxFlags::CTIME
        | StatxFlags::NLINK
}

impl From<&Statx> for FileFacts {
    fn from(found: &Statx) -> Self {
        let time = |t: rustix::fs::StatxTimestamp| {
            t.tv_sec
                .saturating_mul(1_000_000_000)
                .saturating_add(i64::from(t.tv_nsec))
        };
        let device = (u64::from(found.stx_dev_major) << 32) | u64::from(found.stx_dev_minor);
        Self {
            stamp: Stamp {
                id: FileId {
                    device,
                    inode: found.stx_ino,
                },
                size: found.stx_size,
                mtime: time(found.stx_mtime),
                ctime: time(found.stx_ctime),
            },
            kind: FileType::from_raw_mode(found.stx_mode.into()),
            links: found.stx_nlink,
        }
    }
}

pub fn of_path(path: &Path) -> Result<Stamp, FsError> {
    let found = rustix::fs::statx(rustix::fs::CWD, path, AtFlags::empty(), wanted());
    let found = found.map_err(|errno| FsError::new("look at", path, errno))?;
    Ok(FileFacts::from(&found).stamp)
}

/// A hash of bytes for telling versions of a file apart. Not for trust: collisions can be made.
pub fn fingerprint(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}

/// Now, in nanoseconds since the epoch, for comparison with file times.
pub fn now() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |elapsed| {
            i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_write_is_never_proof() {
        let stamp = |mtime, ctime| Stamp {
            id: FileId {
                device: 1,
                inode: 1,
            },
            size: 0,
            mtime,
            ctime,
        };
        let (read_at, second) = (9_000_000_001, 1_000_000_000);
        for (mtime, ctime, settled) in [
            (0, 1, true),
            (read_at, 1, false),
            (0, read_at, false),
            (read_at - 20_000_000, 1, false),
            (read_at - 20_000_001, 1, true),
            (read_at + 5_000_000_000, 1, false),
            (i64::MAX, 1, false),
            // Whole seconds prove less.
            (0, 8 * second, false),
            (0, 7 * second, true),
            (8 * second, 6 * second, false),
            (7 * second, 6 * second, true),
            // A modification time can be set by any program.
            (8 * second, 7 * second + 1, true),
        ] {
            assert_eq!(
                stamp(mtime, ctime).settled_before(read_at),
                settled,
                "{mtime} {ctime}"
            );
        }
    }
}
