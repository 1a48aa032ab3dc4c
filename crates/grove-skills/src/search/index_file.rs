//! The index on disk: one file per set of roots, read and replaced whole.

use std::path::{Path, PathBuf};

use grove_catalog::Digest;
use grove_catalog::search::SearchIndex;
use grove_fs::atomic::{self, Durability};
use grove_fs::{FsError, cache_file, files};

use super::SearchedSkills;

const MAX_BYTES: u64 = 1 << 30;
const MAX_FILES: usize = 64;

/// The file for the roots of a discovery; none without a cache folder.
pub(super) fn path(skills: SearchedSkills<'_>) -> Option<PathBuf> {
    let SearchedSkills {
        snapshot, world, ..
    } = skills;
    let folder = world.environment.cache.as_deref()?;
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
pub(super) fn open(file: Option<&Path>) -> (Option<SearchIndex>, bool) {
    let Some(file) = file.filter(|file| files::is_there(file)) else {
        return (None, false);
    };
    let bytes = files::read_bounded(file, MAX_BYTES);
    let index = bytes.ok().and_then(SearchIndex::open);
    let is_damaged = index.is_none();
    (index, is_damaged)
}

pub(super) fn write(file: &Path, bytes: &[u8]) -> Result<(), FsError> {
    let is_new = !files::is_there(file);
    atomic::write(file, bytes, Durability::Cache)?;
    if let Some(folder) = file.parent().filter(|_| is_new) {
        cache_file::keep_newest(folder, MAX_FILES);
    }
    Ok(())
}
