//! Cache files: a header with format, version and checksum around bytes that the caller defines.
//!
//! A file that is damaged, cut short or of another version reads as absent. Writers replace the
//! whole file, so several processes can share one.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use xxhash_rust::xxh3::xxh3_64;

use crate::atomic::{self, Durability};
use crate::error::FsError;
use crate::files;

const MAGIC: [u8; 8] = *b"grovecch";
const HEADER: usize = 8 + 4 + 8 + 8;

#[derive(Debug)]
pub enum CacheRead {
    Content(CachedBytes),
    Absent,
    Damaged,
}

/// The bytes of a cache file, of which the content is all from `start` on. They are handed over as they
/// were read: moving megabytes by a header's length costs more than remembering it.
#[derive(Debug)]
pub struct CachedBytes {
    pub bytes: Vec<u8>,
    pub start: usize,
}

pub fn read(path: &Path, version: u32, limit: u64) -> CacheRead {
    match files::read_bounded(path, limit) {
        Ok(bytes) => {
            if is_sound(&bytes, version) {
                CacheRead::Content(CachedBytes {
                    bytes,
                    start: HEADER,
                })
            } else {
                CacheRead::Damaged
            }
        }
        Err(error) if error.is_not_found() => CacheRead::Absent,
        Err(_) => CacheRead::Damaged,
    }
}

pub fn write(path: &Path, version: u32, content: &[u8]) -> Result<(), FsError> {
    let mut bytes = Vec::with_capacity(HEADER + content.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&xxh3_64(content).to_le_bytes());
    bytes.extend_from_slice(content);
    atomic::write(path, &bytes, Durability::Cache)
}

/// Removes the oldest files of a cache folder beyond a number; failures do not matter.
pub fn keep_newest(folder: &Path, count: usize) {
    forget(folder, count, Duration::ZERO, |_| true);
}

/// Removes the oldest files beyond a number among those with a name of ours, but none younger than `kept_for`;
/// failures do not matter.
pub fn forget(folder: &Path, count: usize, kept_for: Duration, is_ours: impl Fn(&str) -> bool) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .take(100_000)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(&is_ours))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    if files.len() <= count {
        return;
    }
    files.sort();
    let too_many = files.len() - count;
    for (written, old) in files.iter().take(too_many) {
        if written.elapsed().is_ok_and(|age| age >= kept_for) {
            let _ = std::fs::remove_file(old);
        }
    }
}

fn is_sound(bytes: &[u8], version: u32) -> bool {
    let Some((header, content)) = bytes.split_at_checked(HEADER) else {
        return false;
    };
    let field = |range: std::ops::Range<usize>| header.get(range).unwrap_or_default();
    field(0..8) == MAGIC
        && field(8..12) == version.to_le_bytes()
        && field(12..20) == (content.len() as u64).to_le_bytes()
        && field(20..28) == xxh3_64(content).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damage_reads_as_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        assert!(matches!(read(&path, 1, 1000), CacheRead::Absent));
        write(&path, 1, b"content").unwrap();
        assert!(
            matches!(read(&path, 1, 1000), CacheRead::Content(CachedBytes { bytes, start }) if bytes[start..] == *b"content")
        );
        assert!(matches!(read(&path, 2, 1000), CacheRead::Damaged));
        assert!(matches!(read(&path, 1, 10), CacheRead::Damaged));
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            assert!(
                matches!(read(&path, 1, 1000), CacheRead::Damaged),
                "bit flipped at {at}"
            );
            std::fs::write(&path, &good[..at]).unwrap();
            assert!(
                matches!(read(&path, 1, 1000), CacheRead::Damaged),
                "cut at {at}"
            );
        }
    }
}
