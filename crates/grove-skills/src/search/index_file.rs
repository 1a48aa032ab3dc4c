//! The index on disk: one file per set of roots, replaced whole, read in parts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use grove_catalog::Digest;
use grove_catalog::search::{Index, Piece, Source, checksum};
use grove_fs::atomic::{self, Durability};
use grove_fs::ranged_file::RangedFile;
use grove_fs::{FsError, cache_file};

use crate::library::Look;

const MAX_BYTES: u64 = 4 << 30;
const MAX_FILES: usize = 64;
/// Parts of a file that stay in memory; beyond, all are forgotten.
const MAX_KEPT: usize = 64 << 20;

/// Where the bytes of an index are.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// Made by this process.
    Memory(Vec<u8>),
    /// In a file.
    File(PartsOfFile),
}

/// A file with the parts that were read and found sound.
#[derive(Debug)]
pub(crate) struct PartsOfFile {
    file: RangedFile,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    parts: HashMap<u64, Arc<[u8]>>,
    bytes: usize,
}

impl Source for Bytes {
    fn size(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.size(),
            Self::File(parts) => parts.file.size(),
        }
    }

    fn read(&self, offset: u64, length: usize, check: u32) -> Option<Piece<'_>> {
        match self {
            Self::Memory(bytes) => bytes.read(offset, length, check),
            Self::File(parts) => parts.part(offset, length, check).map(Piece::Shared),
        }
    }

    fn head(&self, length: usize) -> Option<Vec<u8>> {
        match self {
            Self::Memory(bytes) => bytes.head(length),
            Self::File(parts) => parts.file.read(0, length),
        }
    }
}

impl PartsOfFile {
    fn part(&self, offset: u64, length: usize, check: u32) -> Option<Arc<[u8]>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.parts.get(&offset)
            && known.len() == length
        {
            return Some(Arc::clone(known));
        }
        let bytes = self.file.read(offset, length)?;
        if checksum(&bytes) != check {
            return None;
        }
        let part: Arc<[u8]> = bytes.into();
        if kept.bytes.saturating_add(length) > MAX_KEPT {
            *kept = Kept::default();
        }
        kept.bytes += length;
        kept.parts.insert(offset, Arc::clone(&part));
        Some(part)
    }
}

/// The file for the roots of a look; none without a cache folder.
pub(super) fn path(look: &Look) -> Option<PathBuf> {
    let snapshot = &look.snapshot;
    let folder = look.world.environment.cache.as_deref()?;
    let mut roots = Vec::new();
    for root in &snapshot.roots {
        roots.extend_from_slice(root.path.as_os_str().as_encoded_bytes());
        roots.push(0);
    }
    let name = Digest::of(&roots).to_string();
    let name: String = name.chars().filter(char::is_ascii_hexdigit).collect();
    let name = name.get(..32).unwrap_or(&name);
    Some(folder.join("search").join(format!("{name}.index")))
}

/// Opens the index in a file; the flag says that there was one that cannot be used.
pub(super) fn open(file: Option<&Path>) -> (Option<Index<Bytes>>, bool) {
    let Some(file) = file else {
        return (None, false);
    };
    match RangedFile::open(file) {
        Ok(None) => (None, false),
        Ok(Some(file)) if file.size() <= MAX_BYTES => {
            let parts = PartsOfFile {
                file,
                kept: Mutex::default(),
            };
            let index = Index::open(Bytes::File(parts));
            let damaged = index.is_none();
            (index, damaged)
        }
        Ok(Some(_)) | Err(_) => (None, true),
    }
}

/// Puts an index in place of another.
pub(super) fn write(file: &Path, bytes: &[u8]) -> Result<(), FsError> {
    let is_new = !grove_fs::files::is_there(file);
    atomic::write(file, bytes, Durability::Cache)?;
    if let Some(folder) = file.parent().filter(|_| is_new) {
        cache_file::keep_newest(folder, MAX_FILES);
    }
    Ok(())
}
