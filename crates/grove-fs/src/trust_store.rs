//! The project folders that the user has trusted, and the content that was seen when they did.
//!
//! One file per folder, so that two processes granting different folders never meet. A grant names the folder by
//! canonical path, device, inode and birth time. It is the user's alone: a damaged grant, or one that others may write,
//! is no grant, and one that a later version wrote is left alone.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::atomic;
use crate::error::FsError;
use crate::files::{self, FolderIdentity};
use crate::stamp::{self, FileId, Stamp};

/// Version 1 pinned skill files without their folders and did not know birth times; it is read, and what it lacks is
/// missing from its pins.
const VERSION: u32 = 2;
const MAX_GRANT_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of the files by which a working tree and its repository know one another.
const MAX_GIT_LINE: u64 = 8 * 1024;
const WORKING_TREES: &str = "worktrees";

/// The record of each file as it was seen, by path below the granted folder.
pub type Pins = BTreeMap<String, String>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    version: u32,
    pub path: PathBuf,
    /// The folder itself, so that another one put in its place has no trust.
    pub folder: FileId,
    /// The time at which the folder was made, in nanoseconds, where it is known: inode numbers are used again.
    #[serde(default)]
    born: Option<i64>,
    /// Changed content is trusted without being seen: for folders one writes oneself.
    pub follow: bool,
    /// The record of each file as it was seen, by path below the folder.
    pub pins: Arc<Pins>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantLookup {
    /// A grant for it or for a folder above it.
    Granted(Grant),
    None,
    Refused(PathBuf, GrantRefusal),
    /// A grant for a folder that was at this path and is not there any more.
    Moved(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantRefusal {
    Damaged,
    /// Another user may write the file or its folders.
    NotOwn,
    /// A later version of Grove wrote it, in this format.
    Newer(u32),
}

/// The folder with the grants. Clones share what was read.
#[derive(Debug, Clone)]
pub struct TrustStore {
    folder: PathBuf,
    known: Arc<Mutex<HashMap<PathBuf, KnownGrant>>>,
    /// The number of the discovery that asks; what was read in it is not read again.
    generation: u64,
}

#[derive(Debug)]
struct KnownGrant {
    look: u64,
    read_at: i64,
    stamp: Stamp,
    grant: Result<Grant, GrantRefusal>,
}

impl TrustStore {
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            known: Arc::default(),
            generation: 0,
        }
    }

    /// Returns the store for the next discovery, which reads again whatever may have changed since the one before.
    #[must_use]
    pub fn next_generation(&self) -> Self {
        Self {
            generation: self.generation + 1,
            ..self.clone()
        }
    }

    pub fn grant_for(path: &Path, follow: bool) -> Result<Grant, FsError> {
        let canonical = files::canonical(path)?;
        let FolderIdentity { id, born } = files::folder_identity(&canonical)?;
        Ok(Grant {
            version: VERSION,
            path: canonical,
            folder: id,
            born,
            follow,
            pins: Arc::default(),
        })
    }

    /// Finds the nearest grant that covers a folder given by its canonical path. A working tree that Grove made has that of
    /// the repository it belongs to, for what is as it was seen there.
    pub fn covering(&self, canonical: &Path) -> GrantLookup {
        match self.covering_itself(canonical) {
            GrantLookup::None => self
                .of_working_tree(canonical)
                .map_or(GrantLookup::None, GrantLookup::Granted),
            found => found,
        }
    }

    fn of_working_tree(&self, canonical: &Path) -> Option<Grant> {
        let trees = files::canonical(&self.folder.parent()?.join(WORKING_TREES)).ok()?;
        let mut below = canonical.strip_prefix(&trees).ok()?.components();
        let (run, node) = (below.next()?, below.next()?);
        let tree = trees.join(run).join(node);
        let repository = repository_of(&tree)?;
        // Joined part by part: an empty rest would leave a slash at the end, and grants are found by the letters of a path.
        let same: PathBuf = repository.components().chain(below).collect();
        let GrantLookup::Granted(grant) = self.covering_itself(&same) else {
            return None;
        };
        let (path, pins) = if let Ok(inside) = grant.path.strip_prefix(&repository) {
            (tree.join(inside), grant.pins)
        } else {
            let prefix = repository.strip_prefix(&grant.path).ok()?;
            let prefix = format!("{}/", prefix.to_str()?);
            let pins = grant.pins.iter().filter_map(|(path, pin)| {
                let path = path.strip_prefix(&prefix)?;
                Some((path.to_owned(), pin.clone()))
            });
            (tree, Arc::new(pins.collect()))
        };
        // A change that a child makes in its tree was seen by no person, whatever is followed in the repository.
        let grant = Self::grant_for(&path, false).ok()?;
        Some(Grant { pins, ..grant })
    }

    fn covering_itself(&self, canonical: &Path) -> GrantLookup {
        let mut problem = GrantLookup::None;
        for ancestor in canonical.ancestors() {
            match self.at(ancestor) {
                GrantLookup::None => {}
                // A refused grant may have been narrower than one above it, so the search ends here.
                decided @ (GrantLookup::Granted(_) | GrantLookup::Refused(..)) => return decided,
                trouble => {
                    if problem == GrantLookup::None {
                        problem = trouble;
                    }
                }
            }
        }
        problem
    }

    /// Stores a grant, unless a later version of Grove wrote the one that is there.
    pub fn store(&self, grant: &Grant) -> Result<(), FsError> {
        let path = self.file_of(&grant.path);
        let fail = |reason: String| FsError::new("write", &path, std::io::Error::other(reason));
        let there = files::read_bounded(&path, MAX_GRANT_BYTES).unwrap_or_default();
        if let Some(version) = version_of(&there).filter(|version| *version > VERSION) {
            return Err(fail(format!(
                "a later version of Grove wrote it (format {version})"
            )));
        }
        let text = serde_json::to_vec(grant).map_err(|error| fail(error.to_string()))?;
        files::make_own_folder(&path)?;
        atomic::write_mode(&path, &text, 0o600)
    }

    /// Takes a grant back; says whether there was one.
    pub fn revoke(&self, canonical: &Path) -> Result<bool, FsError> {
        let path = self.file_of(canonical);
        let was_there = files::is_there(&path);
        files::remove(&path)?;
        Ok(was_there)
    }

    pub fn grants(&self) -> Vec<Grant> {
        let names = files::list(&self.folder, 100_000).unwrap_or_default();
        let is_grant = |name: &str| Path::new(name).extension().is_some_and(|it| it == "json");
        let mut grants: Vec<Grant> = names
            .iter()
            .filter(|(name, _)| is_grant(name))
            .filter_map(|(name, _)| {
                let file = self.folder.join(name);
                self.read_once(&file, stamp::of_path(&file).ok()?).ok()
            })
            .collect();
        grants.sort_by(|a, b| a.path.cmp(&b.path));
        grants
    }

    fn at(&self, canonical: &Path) -> GrantLookup {
        let file = self.file_of(canonical);
        let grant = match stamp::of_path(&file) {
            Err(error) if error.is_not_found() => return GrantLookup::None,
            Err(_) => Err(GrantRefusal::Damaged),
            Ok(stamp) => self.read_once(&file, stamp),
        };
        match grant {
            Ok(grant) if grant.path != canonical => {
                GrantLookup::Refused(file, GrantRefusal::Damaged)
            }
            Ok(grant) if !grant.is_in_place() => GrantLookup::Moved(grant.path),
            Ok(grant) => GrantLookup::Granted(grant),
            Err(why) => GrantLookup::Refused(file, why),
        }
    }

    /// Reads a grant unless the same file was read before.
    fn read_once(&self, file: &Path, stamp: Stamp) -> Result<Grant, GrantRefusal> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = known.get(file);
        if let Some(earlier) = earlier
            && earlier.stamp == stamp
            && (earlier.look == self.generation || stamp.settled_before(earlier.read_at))
        {
            return earlier.grant.clone();
        }
        let (read_at, mut grant) = (stamp::now(), read(file));
        // The same pins stay the same object, so that comparing them is done at once.
        let earlier = earlier.and_then(|earlier| earlier.grant.as_ref().ok());
        if let (Ok(new), Some(old)) = (&mut grant, earlier)
            && new.pins == old.pins
        {
            new.pins = Arc::clone(&old.pins);
        }
        let shared = grant.clone();
        known.insert(
            file.to_path_buf(),
            KnownGrant {
                look: self.generation,
                read_at,
                stamp,
                grant,
            },
        );
        shared
    }

    fn file_of(&self, canonical: &Path) -> PathBuf {
        self.folder.join(format!(
            "{:032x}.json",
            xxh3_128(canonical.as_os_str().as_encoded_bytes())
        ))
    }
}

impl Grant {
    /// Returns true if the folder at its path is the one that was granted, by device, inode and birth.
    pub fn is_in_place(&self) -> bool {
        files::folder_identity(&self.path).is_ok_and(|now| {
            let same_birth = match (self.born, now.born) {
                (Some(then), Some(now)) => then == now,
                _ => true,
            };
            now.id == self.folder && same_birth
        })
    }
}

/// The top folder of the repository that a working tree beside it belongs to, if both say so: a child that works in the
/// tree can write what the tree says.
fn repository_of(tree: &Path) -> Option<PathBuf> {
    let line = |file: &Path| {
        let bytes = files::read_bounded(file, MAX_GIT_LINE).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        Some(text.trim_end().to_owned())
    };
    let own = tree.join(".git");
    let kept = line(&own)?;
    let kept = files::canonical(Path::new(kept.strip_prefix("gitdir: ")?)).ok()?;
    let back = files::canonical(Path::new(&line(&kept.join("gitdir"))?)).ok()?;
    let (trees, git) = (kept.parent()?, kept.parent()?.parent()?);
    let is_so = back == own && trees.ends_with("worktrees") && git.ends_with(".git");
    git.parent().filter(|_| is_so).map(Path::to_path_buf)
}

fn read(file: &Path) -> Result<Grant, GrantRefusal> {
    let bytes = files::read_own(file, MAX_GRANT_BYTES);
    let bytes = bytes.map_err(|_| GrantRefusal::Damaged)?;
    let bytes = bytes.ok_or(GrantRefusal::NotOwn)?;
    if let Some(version) = version_of(&bytes).filter(|version| *version > VERSION) {
        return Err(GrantRefusal::Newer(version));
    }
    let grant = serde_json::from_slice(&bytes).ok();
    let grant = grant.filter(|grant: &Grant| grant.version > 0);
    grant.ok_or(GrantRefusal::Damaged)
}

fn version_of(bytes: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct GrantVersion {
        version: u32,
    }
    let read: GrantVersion = serde_json::from_slice(bytes).ok()?;
    Some(read.version)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// The answer of a store that has read nothing before.
    fn ask(store: &TrustStore, folder: &Path) -> GrantLookup {
        TrustStore::new(store.folder.clone()).covering(folder)
    }

    #[test]
    fn one_look_reads_a_grant_once_and_the_next_sees_what_changed() {
        let state = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let base = files::canonical(work.path()).unwrap();
        let store = TrustStore::new(state.path().to_path_buf());
        store
            .store(&TrustStore::grant_for(&base, false).unwrap())
            .unwrap();
        let GrantLookup::Granted(first) = store.covering(&base) else {
            panic!("it was granted");
        };
        let GrantLookup::Granted(again) = store.covering(&base) else {
            panic!("it was granted");
        };
        assert!(Arc::ptr_eq(&first.pins, &again.pins));
        store
            .store(&TrustStore::grant_for(&base, true).unwrap())
            .unwrap();
        let next = store.next_generation().covering(&base);
        assert!(matches!(next, GrantLookup::Granted(grant) if grant.follow));
    }

    #[test]
    fn a_working_tree_has_the_pins_of_its_repository_and_of_no_other() {
        let home = tempfile::tempdir().unwrap();
        let base = files::canonical(home.path()).unwrap();
        let store = TrustStore::new(base.join("state/trust"));
        let kept = base.join("all/repository/.git/worktrees/1-0");
        let tree = base.join("state/worktrees/run/1-0");
        std::fs::create_dir_all(&kept).unwrap();
        std::fs::create_dir_all(tree.join("sub")).unwrap();
        let says = |file: &Path, text: &str| std::fs::write(file, text).unwrap();
        says(&tree.join(".git"), &format!("gitdir: {}\n", kept.display()));
        let grant = |folder: &str, pin: &str| {
            let grant = TrustStore::grant_for(&base.join(folder), true).unwrap();
            let pins = Arc::new(Pins::from([(pin.to_owned(), "digest".to_owned())]));
            store.store(&Grant { pins, ..grant }).unwrap();
        };
        grant("all/repository", "sub/a");
        assert_eq!(
            ask(&store, &tree),
            GrantLookup::None,
            "the repository does not say so"
        );
        says(&kept.join("gitdir"), &format!("{}/.git\n", tree.display()));
        for folder in [tree.clone(), tree.join("sub")] {
            let GrantLookup::Granted(found) = ask(&store, &folder) else {
                panic!("{} is trusted", folder.display());
            };
            assert_eq!((&found.path, found.follow), (&tree, false));
            assert!(found.pins.contains_key("sub/a"));
        }
        // Of a grant for a folder above, what is in the repository.
        store.revoke(&base.join("all/repository")).unwrap();
        grant("all", "repository/sub/b");
        let GrantLookup::Granted(found) = ask(&store, &tree) else {
            panic!("it is trusted");
        };
        assert_eq!(found.pins.keys().collect::<Vec<_>>(), ["sub/b"]);
        says(&tree.join(".git"), "gitdir: /nowhere\n");
        assert_eq!(ask(&store, &tree), GrantLookup::None);
    }

    #[test]
    fn a_grant_covers_the_tree_below_and_nothing_else() {
        let state = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let base = files::canonical(work.path()).unwrap();
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        std::fs::create_dir_all(base.join("c")).unwrap();
        std::os::unix::fs::symlink(base.join("a"), base.join("link")).unwrap();
        let store = TrustStore::new(state.path().join("trust"));
        assert_eq!(ask(&store, &base.join("a")), GrantLookup::None);
        let grant = TrustStore::grant_for(&base.join("link"), false).unwrap();
        assert_eq!(grant.path, base.join("a"), "a link's grant is its target's");
        store.store(&grant).unwrap();
        assert_eq!(
            ask(&store, &base.join("a/b")),
            GrantLookup::Granted(grant.clone())
        );
        assert_eq!(ask(&store, &base.join("c")), GrantLookup::None);
        assert_eq!(ask(&store, &base), GrantLookup::None);
        assert_eq!(store.grants(), [grant]);

        std::fs::rename(base.join("a"), base.join("old")).unwrap();
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        assert_eq!(
            ask(&store, &base.join("a/b")),
            GrantLookup::Moved(base.join("a")),
            "another folder in its place"
        );
        assert!(store.revoke(&base.join("a")).unwrap());
        assert!(!store.revoke(&base.join("a")).unwrap());
        assert_eq!(ask(&store, &base.join("a/b")), GrantLookup::None);
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
        let text = String::from_utf8(good.clone()).unwrap();
        let later = text
            .replacen("\"version\":2", "\"version\":99", 1)
            .into_bytes();
        for bad in [
            &b""[..],
            b"{}",
            b"null",
            &good[..good.len() / 2],
            b"{\"version\":1}",
            &later,
        ] {
            std::fs::write(&file, bad).unwrap();
            let why = if bad == later {
                GrantRefusal::Newer(99)
            } else {
                GrantRefusal::Damaged
            };
            assert_eq!(ask(&store, &base), GrantLookup::Refused(file.clone(), why));
        }
        let other = String::from_utf8(good)
            .unwrap()
            .replace(base.to_str().unwrap(), "/somewhere/else");
        std::fs::write(&file, other).unwrap();
        assert_eq!(
            ask(&store, &base),
            GrantLookup::Refused(file.clone(), GrantRefusal::Damaged),
            "a grant for another path"
        );
        std::fs::write(&file, &later).unwrap();
        let grant = TrustStore::grant_for(&base, true).unwrap();
        let error = store.store(&grant).unwrap_err();
        assert!(error.source.to_string().contains("a later version"));
        assert_eq!(std::fs::read(&file).unwrap(), later, "it is left alone");
    }

    #[test]
    fn a_grant_is_the_users_alone_and_of_one_folder() {
        let state = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let base = files::canonical(work.path()).unwrap();
        let store = TrustStore::new(state.path().to_path_buf());
        let grant = TrustStore::grant_for(&base, false).unwrap();
        store.store(&grant).unwrap();
        let file = store.file_of(&base);
        assert_eq!(files::mode(&file).unwrap(), 0o600);
        assert_eq!(ask(&store, &base), GrantLookup::Granted(grant.clone()));
        for (mode, counts) in [(0o644, true), (0o620, false), (0o602, false), (0o600, true)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let granted = matches!(ask(&store, &base), GrantLookup::Granted(_));
            assert_eq!(granted, counts, "{mode:o}");
        }
        for (mode, counts) in [(0o755, true), (0o775, false), (0o707, false), (0o700, true)] {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(state.path(), mode.clone()).unwrap();
            let expected = if counts {
                GrantLookup::Granted(grant.clone())
            } else {
                GrantLookup::Refused(file.clone(), GrantRefusal::NotOwn)
            };
            assert_eq!(ask(&store, &base), expected, "{mode:?}");
        }
        // Granting anew closes the folder again.
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(state.path(), open).unwrap();
        store.store(&grant).unwrap();
        assert_eq!(files::mode(state.path()).unwrap(), 0o755);
        let born = grant.born.expect("this file system knows birth times");
        let other = Grant {
            born: Some(born + 1),
            ..grant.clone()
        };
        store.store(&other).unwrap();
        assert_eq!(ask(&store, &base), GrantLookup::Moved(base.clone()));
        // An earlier version did not know.
        let text = serde_json::to_string(&grant).unwrap();
        let old = text.replacen("\"version\":2", "\"version\":1", 1);
        let old = old.replacen(&format!("\"born\":{born},"), "", 1);
        std::fs::write(&file, old).unwrap();
        assert!(matches!(ask(&store, &base), GrantLookup::Granted(_)));
    }
}
