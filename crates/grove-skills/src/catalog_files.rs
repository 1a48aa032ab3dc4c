//! The files around a catalog: index files that its text leads to, and texts to compare later ones with.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use grove_catalog::catalog::{Catalog, IndexFile};
use grove_fs::atomic::{self, Durability};
use grove_fs::{FsError, cache_file, files};

use crate::environment::Environment;

/// Texts that are kept for `since`; older ones are forgotten.
const KEPT_TEXTS: usize = 100;

/// Index files that are kept; a large library has a few hundred.
const KEPT_INDEX_FILES: usize = 20_000;

/// A text that is larger was not written by us.
const LARGEST_TEXT: u64 = 16 << 20;

/// Where index files are when nobody says otherwise; none without a cache folder.
pub fn index_dir(environment: &Environment) -> Option<PathBuf> {
    Some(environment.cache.as_ref()?.join("index"))
}

/// Writes the index files that are not there yet. A file's name is the digest of its text, so what is
/// there is right.
pub fn write_index(folder: &Path, index: &[IndexFile]) -> Result<(), FsError> {
    if index.is_empty() {
        return Ok(());
    }
    let there: BTreeSet<String> = files::list(folder, KEPT_INDEX_FILES * 2)
        .map(|names| names.into_iter().map(|(name, _)| name).collect())
        .unwrap_or_default();
    let missing: Vec<&IndexFile> = index
        .iter()
        .filter(|file| !there.contains(&file.name))
        .collect();
    if there.len() + missing.len() > KEPT_INDEX_FILES {
        cache_file::keep_newest(folder, KEPT_INDEX_FILES.saturating_sub(missing.len()));
        // Old files that this catalog needs may be among those that went.
        return write_all(folder, index.iter());
    }
    write_all(folder, missing.into_iter())
}

fn write_all<'a>(folder: &Path, index: impl Iterator<Item = &'a IndexFile>) -> Result<(), FsError> {
    for file in index {
        atomic::write(
            &folder.join(&file.name),
            file.text.as_bytes(),
            Durability::Cache,
        )?;
    }
    Ok(())
}

/// Keeps a catalog's text under its digest, so that a later one can be compared with it.
pub fn keep_text(environment: &Environment, catalog: &Catalog) -> Result<(), FsError> {
    let Some(path) = text_file(environment, &catalog.digest.to_string()) else {
        return Ok(());
    };
    if files::is_file(&path) {
        return Ok(());
    }
    atomic::write(&path, catalog.text.as_bytes(), Durability::Cache)?;
    if let Some(folder) = path.parent() {
        cache_file::keep_newest(folder, KEPT_TEXTS);
    }
    Ok(())
}

/// The text of the catalog with a digest, if it is still known.
pub fn kept_text(environment: &Environment, digest: &str) -> Option<String> {
    let bytes = files::read_bounded(&text_file(environment, digest)?, LARGEST_TEXT).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    (grove_catalog::Digest::of(text.as_bytes()).to_string() == digest).then_some(text)
}

fn text_file(environment: &Environment, digest: &str) -> Option<PathBuf> {
    let plain = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
    let folder = environment.cache.as_ref()?.join("catalogs");
    plain.then(|| folder.join(format!("{digest}.txt")))
}
