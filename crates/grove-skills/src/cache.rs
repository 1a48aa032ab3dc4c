//! The memory of the files of one root, in the process and on disk.
//!
//! Files are kept in the order in which a walk meets them, so that the next walk finds most of them
//! where it looks first; the others are found by identity. On disk there is an index in that order and
//! a record a file: the head that every listing needs, and the whole, which is unpacked only when asked
//! for.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use grove_catalog::Digest;
use grove_catalog::content::{PackedSkill, SkillContent, SkillFlags};
use grove_fs::cache_file::{self, CacheRead, CachedBytes};
use grove_fs::probe_walk::FileLayout;
use grove_fs::{FileId, Stamp};
use grove_spec::skill::ParsedSkill;

use crate::trusting::FolderCache;

/// Rises whenever what is read out of a file, or how it is stored, changes.
const VERSION: u32 = 8;
const MAX_CACHE_BYTES: u64 = 1 << 30;
const MAX_CACHE_FILES: usize = 256;

#[derive(Debug, Clone)]
pub(crate) struct CachedFile {
    pub(crate) stamp: Stamp,
    pub(crate) read_at: i64,
    /// The byte limit it was read under: a larger file was cut or refused by it.
    pub(crate) limit: u64,
    pub(crate) content: Arc<SkillContent>,
    /// The place where a walk met it; none before the first walk.
    pub(crate) walk_place: Option<WalkPlace>,
    /// Its bytes, kept where a last good version may have to be given back.
    pub(crate) text: Option<Arc<[u8]>>,
}

#[derive(Debug, Clone)]
pub(crate) struct WalkPlace {
    pub(crate) path: Arc<str>,
    pub(crate) place: FileLayout,
    pub(crate) links: u32,
    pub(crate) through_link: bool,
}

#[derive(Debug, Default)]
pub(crate) struct RootCache {
    memory: Vec<CachedFile>,
    /// The index of `memory` by file identity.
    places: InodeIndex,
    /// The files in `memory` that declare children, in order.
    declaring: Vec<usize>,
    disk: Option<DiskCache>,
    /// Set if the cache file on disk is behind.
    stale: bool,
    /// The content of its skills' folders, where those are pinned.
    pub(crate) folders: FolderCache,
}

impl RootCache {
    /// Reads a root's cache file; the flag says that there was one that could not be used.
    pub(crate) fn load(file: &Path) -> (Self, bool) {
        let mut cache = Self {
            folders: FolderCache::kept_beside(file),
            ..Self::default()
        };
        match cache_file::read(file, VERSION, MAX_CACHE_BYTES) {
            CacheRead::Content(bytes) => cache.disk = DiskCache::new(bytes),
            CacheRead::Absent => {}
            CacheRead::Damaged => cache.stale = true,
        }
        let was_damaged = cache.stale;
        (cache, was_damaged)
    }

    /// A cache that knows nothing, and whose file is not to be believed either.
    pub(crate) fn forgotten() -> Self {
        Self {
            stale: true,
            ..Self::default()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.disk.is_none()
    }

    /// The content of a file that has not changed since it was read; the hint says where to look first.
    pub(crate) fn get(&self, stamp: &Stamp, hint: &mut usize) -> Option<CachedFile> {
        if self.memory.is_empty() {
            return self.disk.as_ref()?.get(stamp, hint);
        }
        self.place_of(stamp, hint)
            .and_then(|at| self.memory.get(at))
            .cloned()
    }

    /// The index in memory of a file that has not changed since it was read.
    pub(crate) fn place_of(&self, stamp: &Stamp, hint: &mut usize) -> Option<usize> {
        let at = match self.memory.get(*hint) {
            Some(expected) if expected.stamp.id == stamp.id => *hint,
            _ if self.memory.is_empty() => return None,
            _ => {
                let ids = self.memory.iter().map(|known| known.stamp.id);
                self.places.find(ids, stamp.id)?
            }
        };
        *hint = at + 1;
        let known = self.memory.get(at)?;
        (known.stamp == *stamp && stamp.settled_before(known.read_at)).then_some(at)
    }

    pub(crate) fn at(&self, place: usize) -> Option<&CachedFile> {
        self.memory.get(place)
    }

    pub(crate) fn in_memory(&self) -> usize {
        self.memory.len()
    }

    /// The files in memory that declare children.
    pub(crate) fn declaring(&self) -> &[usize] {
        &self.declaring
    }

    fn len(&self) -> usize {
        if self.memory.is_empty() {
            self.disk.as_ref().map_or(0, |disk| disk.count)
        } else {
            self.memory.len()
        }
    }

    /// Takes what a walk found, in its order, in place of what was known before.
    ///
    /// Some files count as declaring children although they do not say so now: their last good version does.
    pub(crate) fn replace(
        &mut self,
        all: Vec<CachedFile>,
        any_read: bool,
        also_declaring: &[usize],
    ) {
        let stale = self.stale || any_read || all.len() != self.len();
        let declares = |known: &CachedFile| {
            let keys = known.content.tree_keys();
            keys.is_some_and(|keys| keys.children.is_some())
        };
        *self = Self {
            declaring: (0..all.len())
                .filter(|at| {
                    all.get(*at).is_some_and(declares) || also_declaring.binary_search(at).is_ok()
                })
                .collect(),
            memory: all,
            stale,
            folders: std::mem::take(&mut self.folders),
            ..Self::default()
        };
    }

    /// Writes the cache file if it is behind.
    pub(crate) fn save(&mut self, file: &Path) -> Result<(), grove_fs::FsError> {
        self.folders.save(file)?;
        if !self.stale {
            return Ok(());
        }
        cache_file::write(file, VERSION, &encode(&self.memory))?;
        self.stale = false;
        cache_file::keep_newest(file.parent().unwrap_or(file), MAX_CACHE_FILES);
        Ok(())
    }
}

pub(crate) fn file_for(cache: &Path, root: &Path) -> PathBuf {
    let name = Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
    cache
        .join("skills")
        .join(format!("{}.bin", name.get(..32).unwrap_or(&name)))
}

/// The index of files by identity; made at the first query, which comes when a file is not at the expected place.
#[derive(Debug, Default)]
struct InodeIndex(OnceLock<HashMap<FileId, usize, BuildHasherDefault<InodeHasher>>>);

impl InodeIndex {
    fn find(&self, all: impl Iterator<Item = FileId>, id: FileId) -> Option<usize> {
        let index = || all.enumerate().map(|(at, id)| (id, at)).collect();
        self.0.get_or_init(index).get(&id).copied()
    }
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

/// Columns of the index, eight bytes each.
mod column {
    pub(super) const DEVICE: usize = 0;
    pub(super) const INODE: usize = 1;
    pub(super) const SIZE: usize = 2;
    pub(super) const MTIME: usize = 3;
    pub(super) const CTIME: usize = 4;
    pub(super) const READ_AT: usize = 5;
    /// Start of the record in the low half, its length in the high half.
    pub(super) const RECORD: usize = 6;
    pub(super) const LIMIT: usize = 7;
    pub(super) const COUNT: usize = 8;
}

const ROW: usize = column::COUNT * 8;
/// Flags, fingerprint, whether there is a digest, the digest, lengths of name and description; a
/// length of all ones means none.
const RECORD_HEADER: usize = 1 + 16 + 1 + 32 + 4 + 4;
const NONE: u32 = u32::MAX;

fn encode(all: &[CachedFile]) -> Vec<u8> {
    let mut rows = Vec::with_capacity(all.len() * ROW);
    let mut records = Vec::with_capacity(all.len() * 512);
    let mut count: u32 = 0;
    for known in all {
        let start = records.len();
        if !encode_record(&known.content, &mut records) {
            records.truncate(start);
            continue;
        }
        let Stamp {
            id,
            size,
            mtime,
            ctime,
        } = known.stamp;
        let place = (start as u64) | ((records.len() - start) as u64) << 32;
        for number in [
            id.device,
            id.inode,
            size,
            mtime.cast_unsigned(),
            ctime.cast_unsigned(),
            known.read_at.cast_unsigned(),
            place,
            known.limit,
        ] {
            rows.extend_from_slice(&number.to_le_bytes());
        }
        count += 1;
    }
    let mut out = count.to_le_bytes().to_vec();
    out.append(&mut rows);
    out.append(&mut records);
    out
}

fn encode_record(content: &SkillContent, out: &mut Vec<u8>) -> bool {
    let texts = [content.name(), content.description()];
    out.push(content.flags().to_byte());
    out.extend_from_slice(&content.fingerprint.to_le_bytes());
    out.push(u8::from(content.digest.is_some()));
    out.extend_from_slice(&content.digest.map_or([0; 32], |digest| *digest.as_bytes()));
    for text in texts {
        let length = text.map_or(NONE, |text| text.len() as u32);
        out.extend_from_slice(&length.to_le_bytes());
    }
    for text in texts.into_iter().flatten() {
        out.extend_from_slice(text.as_bytes());
    }
    // Name and description stand before, and are put back when the rest is unpacked.
    let mut rest = content.parsed().clone();
    rest.skill.name = None;
    rest.skill.description = None;
    match postcard::to_stdvec(&rest) {
        Ok(bytes) => {
            out.extend_from_slice(&bytes);
            u32::try_from(out.len()).is_ok()
        }
        Err(_) => false,
    }
}

/// A cache file in memory: rows, then records. Its checksum was good; every access is checked all the same.
#[derive(Debug)]
struct DiskCache {
    bytes: Arc<Vec<u8>>,
    start: usize,
    count: usize,
    /// The rows of the files, by identity.
    places: InodeIndex,
}

impl DiskCache {
    fn new(cached: CachedBytes) -> Option<Self> {
        let CachedBytes { bytes, start } = cached;
        let count = u32::from_le_bytes(bytes.get(start..start + 4)?.try_into().ok()?) as usize;
        let start = start + 4;
        let fits =
            bytes.len() >= start + count.checked_mul(ROW)? && u32::try_from(bytes.len()).is_ok();
        fits.then(|| Self {
            bytes: Arc::new(bytes),
            start,
            count,
            places: InodeIndex::default(),
        })
    }

    fn get(&self, stamp: &Stamp, hint: &mut usize) -> Option<CachedFile> {
        let row = if self.id(*hint) == Some(stamp.id) {
            *hint
        } else {
            let ids = (0..self.count).map_while(|row| self.id(row));
            self.places.find(ids, stamp.id)?
        };
        *hint = row + 1;
        self.known(row, stamp)
    }

    fn id(&self, row: usize) -> Option<FileId> {
        (row < self.count)
            .then(|| {
                Some(FileId {
                    device: self.number(row, column::DEVICE)?,
                    inode: self.number(row, column::INODE)?,
                })
            })
            .flatten()
    }

    fn known(&self, row: usize, stamp: &Stamp) -> Option<CachedFile> {
        let size = self.number(row, column::SIZE)?;
        let times = (
            self.number(row, column::MTIME)?.cast_signed(),
            self.number(row, column::CTIME)?.cast_signed(),
        );
        let read_at = self.number(row, column::READ_AT)?.cast_signed();
        if size != stamp.size
            || times != (stamp.mtime, stamp.ctime)
            || !stamp.settled_before(read_at)
        {
            return None;
        }
        let place = self.number(row, column::RECORD)?;
        let start = self.start + self.count * ROW + (place & 0xffff_ffff) as usize;
        let end = start.checked_add((place >> 32) as usize)?;
        let content = self.content(start, end, size)?;
        Some(CachedFile {
            stamp: *stamp,
            read_at,
            limit: self.number(row, column::LIMIT)?,
            content: Arc::new(content),
            walk_place: None,
            text: None,
        })
    }

    fn content(&self, start: usize, end: usize, size: u64) -> Option<SkillContent> {
        let header = self.bytes.get(start..end)?.get(..RECORD_HEADER)?;
        let flags = SkillFlags::from_byte(*header.first()?);
        let fingerprint = u128::from_le_bytes(header.get(1..17)?.try_into().ok()?);
        let digest = (header.get(17) == Some(&1))
            .then(|| header.get(18..50)?.try_into().ok().map(Digest::from_bytes))
            .flatten();
        let length = |at: usize| Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?));
        let mut at = (start + RECORD_HEADER) as u32;
        let mut take = |length: u32| {
            if length == NONE {
                return Some(None);
            }
            let range = at..at.checked_add(length)?;
            at = range.end;
            Some(Some(range))
        };
        let (name, description) = (take(length(50)?)?, take(length(54)?)?);
        let rest = at..end as u32;
        let packed = PackedSkill {
            bytes: Arc::clone(&self.bytes),
            name,
            description,
            rest,
            unpack,
            flags,
        };
        Some(SkillContent::packed(fingerprint, digest, size, packed))
    }

    fn number(&self, row: usize, column: usize) -> Option<u64> {
        let start = self.start + row * ROW + column * 8;
        Some(u64::from_le_bytes(
            self.bytes.get(start..start + 8)?.try_into().ok()?,
        ))
    }
}

fn unpack(bytes: &[u8]) -> Option<ParsedSkill> {
    postcard::from_bytes(bytes).ok()
}

#[cfg(test)]
mod tests {
    use grove_spec::skill::parse_bytes;

    use super::*;

    fn known(inode: u64, text: &str) -> CachedFile {
        let stamp = Stamp {
            id: FileId { device: 1, inode },
            size: text.len() as u64,
            mtime: 5,
            ctime: 6,
        };
        let digest = inode.is_multiple_of(2).then(|| Digest::of(text.as_bytes()));
        let content = SkillContent::new(
            u128::from(inode) << 70,
            digest,
            stamp.size,
            parse_bytes(text.as_bytes()),
        );
        CachedFile {
            stamp,
            read_at: 1_000_000_000,
            limit: 7 * inode,
            content: Arc::new(content),
            walk_place: None,
            text: None,
        }
    }

    #[test]
    fn what_is_saved_is_found_again_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.bin");
        let all: Vec<CachedFile> = (0..100)
            .map(|n| match n % 3 {
                0 => known(n * 7, &format!("---\nname: n{n}\ndescription: \"x: [y]\"\nmetadata: {{a: {{b: [c]}}}}\n---\n")),
                1 => known(n * 7, &format!("---\ndescription: d{n}: e\nlicense: MIT\n---\n")),
                _ => known(n * 7, "broken"),
            })
            .collect();
        let mut cache = RootCache::default();
        cache.replace(all.clone(), true, &[]);
        cache.save(&file).unwrap();

        let (loaded, damaged) = RootCache::load(&file);
        assert!(!damaged && !loaded.is_empty());
        for (place, one) in all.iter().enumerate() {
            // With any hint the same file is found.
            for mut hint in [place, 0, 99, 5000] {
                let found = loaded.get(&one.stamp, &mut hint).unwrap();
                assert_eq!(found.content.name(), one.content.name());
                assert_eq!(found.content.description(), one.content.description());
                assert_eq!(found.content.flags(), one.content.flags());
                assert_eq!(found.content, one.content);
                assert_eq!(found.limit, one.limit);
                assert_eq!(hint, place + 1);
                assert_eq!(cache.place_of(&one.stamp, &mut hint), Some(place));
            }
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
                assert!(loaded.get(&changed, &mut place.clone()).is_none());
                assert!(cache.get(&changed, &mut place.clone()).is_none());
            }
        }
    }

    #[test]
    fn a_file_written_just_before_it_was_read_is_read_again() {
        let mut cache = RootCache::default();
        let mut fresh = known(1, "---\nname: a\n---\n");
        fresh.stamp.mtime = fresh.read_at - 1;
        let stamp = fresh.stamp;
        cache.replace(vec![fresh], true, &[]);
        assert!(cache.get(&stamp, &mut 0).is_none());
    }

    #[test]
    fn hostile_rows_are_no_rows() {
        let hostile = |row: &[u8]| [&1_u32.to_le_bytes()[..], row].concat();
        for bytes in [
            vec![],
            vec![1, 0, 0, 0],
            vec![255; 4],
            hostile(&[255; ROW]),
            hostile(&[255; ROW + 30]),
        ] {
            if let Some(cache) = DiskCache::new(CachedBytes { bytes, start: 0 }) {
                let stamp = Stamp {
                    id: FileId {
                        device: u64::MAX,
                        inode: u64::MAX,
                    },
                    size: u64::MAX,
                    mtime: -1,
                    ctime: -1,
                };
                assert!(cache.get(&stamp, &mut 0).is_none());
            }
        }
    }
}
