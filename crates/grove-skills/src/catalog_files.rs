//! The files around a catalog: index files that its text leads to, and records to compare later ones with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use grove_catalog::catalog::{Catalog, IndexFile, KnownSkills};
use grove_fs::atomic::{self, Durability};
use grove_fs::{FsError, cache_file, files};

use crate::environment::Environment;

/// Records that are kept for `since`; older ones are forgotten.
const KEPT_RECORDS: usize = 100;

/// Index files that are kept; a large library has a few hundred.
const KEPT_INDEX_FILES: usize = 20_000;

/// A conversation that goes on longer than this without a new catalog is none.
const READ_FOR: Duration = Duration::from_hours(24 * 7);

const LARGEST_RECORD: u64 = 16 << 20;

/// The folder for index files unless the caller names another; none without a cache folder.
pub fn index_dir(environment: &Environment) -> Option<PathBuf> {
    Some(environment.cache.as_ref()?.join("index"))
}

/// Writes the index files that are missing or lack the text whose digest is their name; a length proves nothing.
pub fn write_index(folder: &Path, index: &[IndexFile]) -> Result<(), FsError> {
    for file in index {
        let path = folder.join(&file.name);
        if !has_text(&path, &file.text) {
            atomic::write(&path, file.text.as_bytes(), Durability::Cache)?;
        }
    }
    Ok(())
}

/// Forgets index files of the cache folder that are too old to be read any more; other files in it are not Grove's.
/// Call it for the folder of [`index_dir`] alone: a folder that the caller named is the caller's own.
pub fn forget_old_index(folder: &Path) {
    let ours = |name: &str| {
        let digits = name.strip_suffix(".md");
        digits.is_some_and(|digits| {
            digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit())
        })
    };
    cache_file::forget(folder, KEPT_INDEX_FILES, READ_FOR, ours);
}

/// Keeps which skills a catalog stands for under its digest, so that a later one can be compared with it.
pub fn keep_known(
    environment: &Environment,
    catalog: &Catalog,
    known: &KnownSkills,
) -> Result<(), FsError> {
    let Some(path) = record_file(environment, &catalog.digest.to_string()) else {
        return Ok(());
    };
    let text = known.to_text();
    if has_text(&path, &text) {
        return Ok(());
    }
    atomic::write(&path, text.as_bytes(), Durability::Cache)?;
    if let Some(folder) = path.parent() {
        cache_file::keep_newest(folder, KEPT_RECORDS);
    }
    Ok(())
}

/// The skills that the catalog with a digest stands for, if they are still known.
pub fn kept_known(environment: &Environment, digest: &str) -> Option<KnownSkills> {
    let bytes = files::read_bounded(&record_file(environment, digest)?, LARGEST_RECORD).ok()?;
    KnownSkills::parse(std::str::from_utf8(&bytes).ok()?)
}

fn has_text(path: &Path, text: &str) -> bool {
    let there = files::read_bounded(path, text.len() as u64);
    there.is_ok_and(|there| there == text.as_bytes())
}

fn record_file(environment: &Environment, digest: &str) -> Option<PathBuf> {
    let plain = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
    let folder = environment.cache.as_ref()?.join("catalogs");
    plain.then(|| folder.join(format!("{digest}.skills")))
}
