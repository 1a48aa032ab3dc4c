//! Which project folders the user has trusted, and the content that was seen when they did.
//!
//! One file per folder, so that two processes granting different folders never meet. A grant names
//! the folder by canonical path, device and inode; a damaged grant is no grant.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::atomic::{self, Durability};
use crate::error::FsError;
use crate::files;
use crate::stamp::FileId;

const VERSION: u32 = 1;
const MAX_GRANT_BYTES: u64 = 64 * 1024 * 1024;

/// A folder that the user trusts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    version: u32,
    /// The canonical path of the folder.
    pub path: PathBuf,
    /// The folder itself, so that another one put in its place has no trust.
    pub folder: FileId,
    /// Changed content is trusted without being seen: for folders one writes oneself.
    pub follow: bool,
    /// The digest of each file when it was seen, by path below the folder.
    pub pins: BTreeMap<String, String>,
}

/// What covers a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// A grant for it or for a folder above it.
    Granted(Arc<Grant>),
    /// No grant.
    None,
    /// A grant whose file is damaged; it counts as none.
    Damaged(PathBuf),
    /// A grant for a folder that was at this path and is not there any more.
    Moved(PathBuf),
}

/// The folder with the grants. Each grant is read once: whoever looks again makes another store.
#[derive(Debug)]
pub struct TrustStore {
    folder: PathBuf,
    /// The grants that were read by their files; none where one is damaged.
    known: Mutex<BTreeMap<PathBuf, Option<Arc<Grant>>>>,
}

impl TrustStore {
    /// The store in a folder, which need not exist.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            known: Mutex::default(),
        }
    }

    /// A grant for a folder as it is now.
    pub fn grant_for(path: &Path, follow: bool) -> Result<Grant, FsError> {
        let canonical = files::canonical(path)?;
        let folder = files::identity(&canonical)?;
        Ok(Grant {
            version: VERSION,
            path: canonical,
            folder,
            follow,
            pins: BTreeMap::new(),
        })
    }

    /// Finds the nearest grant that covers a folder given by its canonical path.
    pub fn covering(&self, canonical: &Path) -> Lookup {
        let mut problem = Lookup::None;
        for ancestor in canonical.ancestors() {
            match self.at(ancestor) {
                Lookup::None => {}
                // A damaged grant may have been narrower than one above it, so the search ends here.
                decided @ (Lookup::Granted(_) | Lookup::Damaged(_)) => return decided,
                trouble => {
                    if problem == Lookup::None {
                        problem = trouble;
                    }
                }
            }
        }
        problem
    }

    /// Stores a grant.
    pub fn store(&self, grant: &Grant) -> Result<(), FsError> {
        self.known().clear();
        let path = self.file_of(&grant.path);
        let text = serde_json::to_vec_pretty(grant)
            .map_err(|error| FsError::new("write", &path, std::io::Error::other(error)))?;
        atomic::write(&path, &text, Durability::Durable)
    }

    /// Takes a grant back; says whether there was one.
    pub fn revoke(&self, canonical: &Path) -> Result<bool, FsError> {
        self.known().clear();
        let path = self.file_of(canonical);
        let was_there = files::is_there(&path);
        files::remove(&path)?;
        Ok(was_there)
    }

    /// All sound grants, by path.
    pub fn grants(&self) -> Vec<Arc<Grant>> {
        let names = files::list(&self.folder, 100_000).unwrap_or_default();
        let mut grants: Vec<Arc<Grant>> = names
            .iter()
            .filter_map(|(name, _)| self.read(self.folder.join(name)))
            .collect();
        grants.sort_by(|a, b| a.path.cmp(&b.path));
        grants
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Option<Arc<Grant>>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, canonical: &Path) -> Lookup {
        let file = self.file_of(canonical);
        if !files::is_there(&file) {
            return Lookup::None;
        }
        match self.read(file.clone()) {
            Some(grant) if grant.path != canonical => Lookup::Damaged(file),
            Some(grant) if files::identity(canonical).ok() != Some(grant.folder) => {
                Lookup::Moved(grant.path.clone())
            }
            Some(grant) => Lookup::Granted(grant),
            None => Lookup::Damaged(file),
        }
    }

    fn read(&self, file: PathBuf) -> Option<Arc<Grant>> {
        let read = |file: &PathBuf| {
            let bytes = files::read_bounded(file, MAX_GRANT_BYTES).ok()?;
            let grant: Grant = serde_json::from_slice(&bytes).ok()?;
            (grant.version == VERSION).then(|| Arc::new(grant))
        };
        let mut known = self.known();
        let grant = known.entry(file).or_insert_with_key(read);
        grant.clone()
    }

    fn file_of(&self, canonical: &Path) -> PathBuf {
        self.folder.join(format!(
            "{:032x}.json",
            xxh3_128(canonical.as_os_str().as_encoded_bytes())
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_covers_the_tree_below_and_nothing_else() {
        let state = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let base = files::canonical(work.path()).unwrap();
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        std::fs::create_dir_all(base.join("c")).unwrap();
        std::os::unix::fs::symlink(base.join("a"), base.join("link")).unwrap();
        let store = TrustStore::new(state.path().join("trust"));
        assert_eq!(store.covering(&base.join("a")), Lookup::None);
        let grant = TrustStore::grant_for(&base.join("link"), false).unwrap();
        assert_eq!(grant.path, base.join("a"), "a link's grant is its target's");
        store.store(&grant).unwrap();
        assert_eq!(
            store.covering(&base.join("a/b")),
            Lookup::Granted(Arc::new(grant.clone()))
        );
        assert_eq!(store.covering(&base.join("c")), Lookup::None);
        assert_eq!(store.covering(&base), Lookup::None);
        assert_eq!(store.grants(), [Arc::new(grant)]);

        std::fs::rename(base.join("a"), base.join("old")).unwrap();
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        let store = TrustStore::new(state.path().join("trust"));
        assert_eq!(
            store.covering(&base.join("a/b")),
            Lookup::Moved(base.join("a")),
            "another folder in its place"
        );
        assert!(store.revoke(&base.join("a")).unwrap());
        assert!(!store.revoke(&base.join("a")).unwrap());
        assert_eq!(store.covering(&base.join("a/b")), Lookup::None);
    }

    #[test]
    fn a_damaged_grant_fails_closed() {
        let state = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let base = files::canonical(work.path()).unwrap();
        let store = TrustStore::new(state.path().to_path_buf());
        store
            .store(&TrustStore::grant_for(&base, true).unwrap())
            .unwrap();
        let file = store.file_of(&base);
        let good = std::fs::read(&file).unwrap();
        for bad in [
            &b""[..],
            b"{}",
            b"null",
            &good[..good.len() / 2],
            b"{\"version\":1}",
        ] {
            std::fs::write(&file, bad).unwrap();
            let store = TrustStore::new(state.path().to_path_buf());
            assert_eq!(store.covering(&base), Lookup::Damaged(file.clone()));
        }
        let other = String::from_utf8(good)
            .unwrap()
            .replace(base.to_str().unwrap(), "/somewhere/else");
        std::fs::write(&file, other).unwrap();
        let store = TrustStore::new(state.path().to_path_buf());
        assert_eq!(
            store.covering(&base),
            Lookup::Damaged(file.clone()),
            "a grant for another path"
        );
    }
}
