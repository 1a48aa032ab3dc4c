//! What is known about the files of one root, in memory and on disk.
//!
//! On disk it is an index sorted by file identity, so that one read and a binary search find a file,
//! and records that are decoded only when asked for.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::Digest;
use grove_catalog::snapshot::Content;
use grove_fs::cache_file::{self, Cached};
use grove_fs::{FileId, Stamp};
use grove_spec::skill::Parsed;
use serde::{Deserialize, Serialize};

/// Rises whenever what is read out of a file, or how it is stored, changes.
const VERSION: u32 = 1;
const MAX_CACHE_BYTES: u64 = 1 << 30;
const MAX_CACHE_FILES: usize = 256;
const ROW: usize = 56;

/// A file's content and when it was read.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) stamp: Stamp,
    pub(crate) read_at: i64,
    pub(crate) content: Arc<Content>,
}

/// The files of one root.
#[derive(Debug, Default)]
pub(crate) struct RootCache {
    memory: HashMap<FileId, Known, BuildHasherDefault<InodeHasher>>,
    disk: Option<DiskCache>,
    /// Whether the file on disk is behind.
    stale: bool,
}

/// Inode numbers are spread well enough for one multiplication.
#[derive(Debug, Default)]
pub(crate) struct InodeHasher(u64);

impl Hasher for InodeHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }
}

#[derive(Serialize, Deserialize)]
struct Record<P> {
    digest: Option<Digest>,
    parsed: P,
}

impl RootCache {
    /// Reads a root's cache file; the flag says that there was one that could not be used.
    pub(crate) fn load(file: &Path) -> (Self, bool) {
        match cache_file::read(file, VERSION, MAX_CACHE_BYTES) {
            Cached::Content(bytes) => (
                Self {
                    disk: DiskCache::new(bytes),
                    ..Self::default()
                },
                false,
            ),
            Cached::Absent => (Self::default(), false),
            Cached::Damaged => (
                Self {
                    stale: true,
                    ..Self::default()
                },
                true,
            ),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.disk.is_none()
    }

    /// The content of a file that has not changed since it was read.
    pub(crate) fn get(&self, stamp: &Stamp) -> Option<Known> {
        if let Some(known) = self.memory.get(&stamp.id) {
            return (known.stamp == *stamp && stamp.settled_before(known.read_at))
                .then(|| known.clone());
        }
        self.disk.as_ref()?.get(stamp)
    }

    /// Takes the place of what was known before; says whether anything differs from it.
    pub(crate) fn replace(&mut self, all: Vec<Known>, any_read: bool) {
        let count = all.len();
        let before = if self.memory.is_empty() {
            self.disk.as_ref().map_or(0, DiskCache::len)
        } else {
            self.memory.len()
        };
        self.memory = all
            .into_iter()
            .map(|known| (known.stamp.id, known))
            .collect();
        self.disk = None;
        self.stale |= any_read || count != before;
    }

    /// Writes the cache file if it is behind.
    pub(crate) fn save(&mut self, file: &Path) -> Result<(), grove_fs::FsError> {
        if !self.stale {
            return Ok(());
        }
        let mut all: Vec<&Known> = self.memory.values().collect();
        all.sort_unstable_by_key(|known| known.stamp.id);
        let written = cache_file::write(file, VERSION, &encode(&all));
        if written.is_ok() {
            self.stale = false;
            cache_file::keep_newest(file.parent().unwrap_or(file), MAX_CACHE_FILES);
        }
        written
    }
}

/// The file in which a root's cache is kept.
pub(crate) fn file_for(cache: &Path, root: &Path) -> PathBuf {
    let name = Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
    cache
        .join("skills")
        .join(format!("{}.bin", name.get(..32).unwrap_or(&name)))
}

fn encode(all: &[&Known]) -> Vec<u8> {
    let mut index = Vec::with_capacity(all.len() * ROW);
    let mut records = Vec::new();
    let mut count = 0_u32;
    for known in all {
        let record = Record {
            digest: known.content.digest,
            parsed: &known.content.parsed,
        };
        let Ok(bytes) = postcard::to_stdvec(&record) else {
            continue;
        };
        let Stamp {
            id,
            size,
            mtime,
            ctime,
        } = known.stamp;
        for number in [
            id.device,
            id.inode,
            size,
            mtime.cast_unsigned(),
            ctime.cast_unsigned(),
            known.read_at.cast_unsigned(),
        ] {
            index.extend_from_slice(&number.to_le_bytes());
        }
        index.extend_from_slice(&(records.len() as u32).to_le_bytes());
        index.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        records.extend_from_slice(&bytes);
        count += 1;
    }
    let mut out = count.to_le_bytes().to_vec();
    out.append(&mut index);
    out.append(&mut records);
    out
}

/// A cache file in memory. Its checksum was good; every access is checked all the same.
#[derive(Debug)]
struct DiskCache {
    bytes: Vec<u8>,
    count: usize,
}

impl DiskCache {
    fn new(bytes: Vec<u8>) -> Option<Self> {
        let count = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        (bytes.len() >= 4 + count.checked_mul(ROW)?).then_some(Self { bytes, count })
    }

    fn len(&self) -> usize {
        self.count
    }

    fn get(&self, stamp: &Stamp) -> Option<Known> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = usize::midpoint(low, high);
            let id = FileId {
                device: self.number(middle, 0)?,
                inode: self.number(middle, 1)?,
            };
            match id.cmp(&stamp.id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.known(middle, stamp),
            }
        }
        None
    }

    fn known(&self, row: usize, stamp: &Stamp) -> Option<Known> {
        let times = (
            self.number(row, 3)?.cast_signed(),
            self.number(row, 4)?.cast_signed(),
        );
        let read_at = self.number(row, 5)?.cast_signed();
        if self.number(row, 2)? != stamp.size
            || times != (stamp.mtime, stamp.ctime)
            || !stamp.settled_before(read_at)
        {
            return None;
        }
        let place = self.number(row, 6)?;
        let start = 4 + self.count * ROW + (place & 0xffff_ffff) as usize;
        let bytes = self
            .bytes
            .get(start..start.checked_add((place >> 32) as usize)?)?;
        let Record { digest, parsed } = postcard::from_bytes::<Record<Parsed>>(bytes).ok()?;
        Some(Known {
            stamp: *stamp,
            read_at,
            content: Arc::new(Content {
                digest,
                size: stamp.size,
                parsed,
            }),
        })
    }

    fn number(&self, row: usize, column: usize) -> Option<u64> {
        let start = 4 + row * ROW + column * 8;
        Some(u64::from_le_bytes(
            self.bytes.get(start..start + 8)?.try_into().ok()?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use grove_spec::skill::parse_bytes;

    use super::*;

    fn known(inode: u64, text: &str) -> Known {
        let stamp = Stamp {
            id: FileId { device: 1, inode },
            size: text.len() as u64,
            mtime: 5,
            ctime: 6,
        };
        let content = Content {
            digest: Some(Digest::of(text.as_bytes())),
            size: stamp.size,
            parsed: parse_bytes(text.as_bytes()),
        };
        Known {
            stamp,
            read_at: 1_000_000_000,
            content: Arc::new(content),
        }
    }

    #[test]
    fn what_is_saved_is_found_again_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.bin");
        let all: Vec<Known> = (0..100).map(|n| known(n * 7, &format!("---\nname: n{n}\ndescription: \"x: [y]\"\nmetadata: {{a: {{b: [c]}}}}\n---\n"))).collect();
        let mut cache = RootCache::default();
        cache.replace(all.clone(), true);
        cache.save(&file).unwrap();

        let (loaded, damaged) = RootCache::load(&file);
        assert!(!damaged && !loaded.is_empty());
        for one in &all {
            assert_eq!(
                loaded.get(&one.stamp).map(|k| k.content),
                Some(Arc::clone(&one.content))
            );
            for changed in [
                Stamp {
                    size: 1,
                    ..one.stamp
                },
                Stamp {
                    mtime: 7,
                    ..one.stamp
                },
                Stamp {
                    ctime: 7,
                    ..one.stamp
                },
                Stamp {
                    id: FileId {
                        device: 2,
                        ..one.stamp.id
                    },
                    ..one.stamp
                },
                Stamp {
                    id: FileId {
                        inode: one.stamp.id.inode + 1,
                        ..one.stamp.id
                    },
                    ..one.stamp
                },
            ] {
                assert!(loaded.get(&changed).is_none());
                assert!(cache.get(&changed).is_none());
            }
        }
    }

    #[test]
    fn a_file_written_just_before_it_was_read_is_read_again() {
        let mut cache = RootCache::default();
        let mut fresh = known(1, "---\nname: a\n---\n");
        fresh.stamp.mtime = fresh.read_at - 1;
        let stamp = fresh.stamp;
        cache.replace(vec![fresh], true);
        assert!(cache.get(&stamp).is_none());
    }

    #[test]
    fn hostile_rows_are_no_rows() {
        for bytes in [
            vec![],
            vec![1, 0, 0, 0],
            vec![255; 4],
            [vec![1, 0, 0, 0], vec![255; ROW]].concat(),
        ] {
            if let Some(cache) = DiskCache::new(bytes) {
                let stamp = Stamp {
                    id: FileId {
                        device: u64::MAX,
                        inode: u64::MAX,
                    },
                    size: u64::MAX,
                    mtime: -1,
                    ctime: -1,
                };
                assert!(cache.get(&stamp).is_none());
            }
        }
    }
}
