//! Every entry of a folder and of the folders below it: what it is, its digest, and a stamp that tells cheaply
//! whether it is still the same.
//!
//! Links are recorded with their targets and never followed. Stamps are taken before content is read, so that a
//! change during a scan shows in the stamp at the next check. An unchanged stamp of a folder proves that no entry
//! was added, removed or renamed in it, so a check lists nothing.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::beneath::{self, LinkRule};
use crate::error::FsError;
use crate::probe_walk::RootFolder;
use crate::stamp::{FileFacts, Stamp};

#[derive(Debug, Clone, Copy)]
pub struct ScanBounds {
    pub max_entries: usize,
    pub max_depth: usize,
    pub max_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderEntry {
    /// Its path below the folder; empty for the folder itself. Bytes that are no text are escaped, and backslashes
    /// too, so that no two names are written alike.
    pub path: String,
    pub content: EntryContent,
    location: CString,
    stamp: EntryStamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryContent {
    File {
        /// The BLAKE3 digest of its bytes; none if it could not be read.
        digest: Option<[u8; 32]>,
        executable: bool,
    },
    Link {
        target: String,
    },
    Folder,
    /// A pipe, a socket or a device.
    Special,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct EntryStamp {
    stamp: Stamp,
    mode: u32,
}

impl EntryStamp {
    fn of(folder: BorrowedFd<'_>, path: &CStr) -> Result<Self, Errno> {
        let wanted = crate::stamp::wanted() | rustix::fs::StatxFlags::MODE;
        let found = rustix::fs::statx(folder, path, AtFlags::SYMLINK_NOFOLLOW, wanted)?;
        Ok(Self {
            stamp: FileFacts::from(&found).stamp,
            mode: found.stx_mode.into(),
        })
    }

    fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderScan {
    /// The folder itself and all entries, those of a folder behind it.
    pub entries: Vec<FolderEntry>,
    /// The reason why not everything could be scanned; what is missing then is not known.
    pub problem: Option<String>,
    started: i64,
}

impl FolderScan {
    /// Returns true if the scan is whole and no entry changed so shortly before it that its stamp proves nothing.
    pub fn is_settled(&self) -> bool {
        let settled = |entry: &FolderEntry| entry.stamp.stamp.settled_before(self.started);
        self.problem.is_none() && self.entries.iter().all(settled)
    }

    /// The digests of files whose stamps are proof.
    fn settled_digests(&self) -> HashMap<(&str, EntryStamp), [u8; 32]> {
        let settled = |entry: &&FolderEntry| entry.stamp.stamp.settled_before(self.started);
        let entries = self.entries.iter().filter(settled);
        let digests = entries.filter_map(|entry| match entry.content {
            EntryContent::File { digest, .. } => Some(((&*entry.path, entry.stamp), digest?)),
            _ => None,
        });
        digests.collect()
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct ScanKnowledge<'a> {
    /// An earlier scan: files with the same settled stamps are not read again.
    pub earlier: Option<&'a FolderScan>,
    /// Files whose digest the caller has read already.
    pub digests: &'a [(&'a str, [u8; 32])],
}

/// Scans a folder below a root, without the folders in it that belong to something else.
pub fn scan(
    root: &RootFolder,
    links: LinkRule,
    folder: &str,
    not_in: &[String],
    bounds: &ScanBounds,
    knowledge: &ScanKnowledge<'_>,
) -> FolderScan {
    let name = if folder.is_empty() { "." } else { folder };
    let mut scanner = Scanner {
        below_root: name.as_bytes(),
        not_in,
        bounds,
        earlier: (knowledge.earlier)
            .map(FolderScan::settled_digests)
            .unwrap_or_default(),
        digests: knowledge.digests,
        bytes_left: bounds.max_bytes,
        scan: FolderScan {
            started: crate::stamp::now(),
            ..FolderScan::default()
        },
    };
    let scanned = match open_top(root, name, links) {
        Ok((top, stamp)) => {
            scanner.push(String::new(), b".", stamp, EntryContent::Folder);
            scanner.folder(top.as_fd(), "", &[], 0)
        }
        Err(error) => Err(format!("{error}: {}", error.source)),
    };
    scanner.scan.problem = scanned.err();
    scanner.scan
}

fn open_top(
    root: &RootFolder,
    name: &str,
    links: LinkRule,
) -> Result<(OwnedFd, EntryStamp), FsError> {
    let fail = |errno: Errno| FsError::new("open", &root.path.join(name), errno);
    let path = CString::new(name).map_err(|_| fail(Errno::INVAL))?;
    let top = beneath::open_folder(root.open()?.as_fd(), &path, links).map_err(fail)?;
    let stamp = EntryStamp::of(top.as_fd(), c".").map_err(fail)?;
    Ok((top, stamp))
}

struct Scanner<'a> {
    below_root: &'a [u8],
    not_in: &'a [String],
    bounds: &'a ScanBounds,
    /// Digests of files by path and settled stamp.
    earlier: HashMap<(&'a str, EntryStamp), [u8; 32]>,
    digests: &'a [(&'a str, [u8; 32])],
    bytes_left: u64,
    scan: FolderScan,
}

impl Scanner<'_> {
    fn push(&mut self, path: String, raw: &[u8], stamp: EntryStamp, content: EntryContent) {
        let location = [self.below_root, raw].join(&b'/');
        // A name from the kernel has no zero in it.
        let location = CString::new(location).unwrap_or_default();
        self.scan.entries.push(FolderEntry {
            path,
            content,
            location,
            stamp,
        });
    }

    fn folder(
        &mut self,
        folder: BorrowedFd<'_>,
        path: &str,
        raw: &[u8],
        depth: usize,
    ) -> Result<(), String> {
        let join = |name: &[u8]| match raw {
            b"" => name.to_vec(),
            raw => [raw, name].join(&b'/'),
        };
        let closed = |errno: Errno| format!("`{path}` cannot be listed: {errno}");
        let mut deeper = Vec::new();
        for name in names(folder, self.bounds.max_entries).map_err(closed)? {
            let raw = join(name.to_bytes());
            let path = path_as_written(&raw);
            if self.not_in.contains(&path) {
                continue;
            }
            if self.scan.entries.len() > self.bounds.max_entries {
                return Err(format!(
                    "it has more than {} entries",
                    self.bounds.max_entries
                ));
            }
            let stamp = EntryStamp::of(folder, &name);
            let stamp = stamp.map_err(|errno| format!("`{path}` cannot be looked at: {errno}"))?;
            let content = self.content(folder, &name, &path, &stamp)?;
            if content == EntryContent::Folder {
                deeper.push((name, path.clone(), raw.clone()));
            }
            self.push(path, &raw, stamp, content);
        }
        for (name, path, raw) in deeper {
            if depth == self.bounds.max_depth {
                return Err(format!("`{path}` lies deeper than {depth} levels"));
            }
            let inner = open_unfollowed(folder, &name, OFlags::DIRECTORY);
            let inner = inner.map_err(|errno| format!("`{path}` cannot be opened: {errno}"))?;
            self.folder(inner.as_fd(), &path, &raw, depth + 1)?;
        }
        Ok(())
    }

    fn content(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        path: &str,
        stamp: &EntryStamp,
    ) -> Result<EntryContent, String> {
        Ok(match stamp.kind() {
            FileType::RegularFile => EntryContent::File {
                digest: self.digest(folder, name, path, stamp)?,
                executable: stamp.mode & 0o111 != 0,
            },
            FileType::Directory => EntryContent::Folder,
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(folder, name, Vec::new());
                let target = target.map_err(|errno| format!("`{path}` cannot be read: {errno}"))?;
                EntryContent::Link {
                    target: path_as_written(target.to_bytes()),
                }
            }
            _ => EntryContent::Special,
        })
    }

    fn digest(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        path: &str,
        stamp: &EntryStamp,
    ) -> Result<Option<[u8; 32]>, String> {
        let mut given = self.digests.iter();
        if let Some((_, digest)) = given.find(|(known, _)| *known == path) {
            return Ok(Some(*digest));
        }
        let too_large = || format!("it has more than {} bytes", self.bounds.max_bytes);
        self.bytes_left = (self.bytes_left.checked_sub(stamp.stamp.size)).ok_or_else(too_large)?;
        if let Some(digest) = self.earlier.get(&(path, *stamp)) {
            return Ok(Some(*digest));
        }
        let Ok(file) = open_unfollowed(folder, name, OFlags::NONBLOCK | OFlags::NOCTTY) else {
            return Ok(None);
        };
        // One byte more tells a file that grew since it was looked at.
        let limit = stamp.stamp.size.saturating_add(1);
        Ok(digest_of(std::fs::File::from(file).take(limit)).ok())
    }
}

fn digest_of(mut file: impl Read) -> std::io::Result<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = file.read(&mut buffer)?;
        let Some(read) = buffer.get(..count).filter(|read| !read.is_empty()) else {
            return Ok(*hasher.finalize().as_bytes());
        };
        hasher.update(read);
    }
}

fn open_unfollowed(folder: BorrowedFd<'_>, name: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(folder, name, flags, Mode::empty(), resolve)
}

/// The names in a folder, sorted; beyond the limit only so many that the caller notices.
fn names(folder: BorrowedFd<'_>, limit: usize) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    beneath::each_entry(folder, |name, _| {
        names.push(name.to_owned());
        if names.len() > limit {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    names.sort_unstable();
    Ok(names)
}

/// A path as text; one that is no text or has a backslash is escaped, so that no two are written alike.
pub fn path_as_written(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if !text.contains('\\') => text.to_owned(),
        _ => name.escape_ascii().to_string(),
    }
}

/// The entries that must be looked at before a second thread is worth its start.
const HELPER_FROM: usize = 512;

/// Tells of each scan if every entry is still as it was and proves it; a root that cannot be opened proves nothing.
pub fn unchanged(root: &RootFolder, scans: &[&FolderScan]) -> Vec<bool> {
    let Ok(root) = root.open() else {
        return vec![false; scans.len()];
    };
    let look = |scans: &[&FolderScan]| -> Vec<bool> {
        let same =
            |entry: &FolderEntry| EntryStamp::of(root.as_fd(), &entry.location) == Ok(entry.stamp);
        let same_scan = |scan: &&FolderScan| scan.is_settled() && scan.entries.iter().all(same);
        scans.iter().map(same_scan).collect()
    };
    let total: usize = scans.iter().map(|scan| scan.entries.len()).sum();
    if total < HELPER_FROM {
        return look(scans);
    }
    let (first, second) = scans.split_at(scans.len() / 2);
    std::thread::scope(|scope| {
        let helper = std::thread::Builder::new().spawn_scoped(scope, || look(second));
        let mut all = look(first);
        // Where no thread can be had, the work is done all the same.
        all.extend(match helper {
            Ok(helper) => helper.join().unwrap_or_else(|_| vec![false; second.len()]),
            Err(_) => look(second),
        });
        all
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use super::*;

    const BOUNDS: ScanBounds = ScanBounds {
        max_entries: 100,
        max_depth: 3,
        max_bytes: 1000,
    };

    fn root(path: &Path) -> RootFolder {
        RootFolder {
            base: Some(path.to_path_buf()),
            path: path.to_path_buf(),
        }
    }

    fn scanned(path: &Path, not_in: &[String], knowledge: &ScanKnowledge<'_>) -> FolderScan {
        scan(
            &root(path),
            LinkRule::Contain,
            "s",
            not_in,
            &BOUNDS,
            knowledge,
        )
    }

    fn tree() -> tempfile::TempDir {
        let base = tempfile::tempdir().unwrap();
        let top = base.path().join("s");
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::create_dir_all(top.join("theirs/x")).unwrap();
        std::fs::write(top.join("a/b/run.sh"), "run").unwrap();
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(top.join("a/b/run.sh"), executable).unwrap();
        std::fs::write(top.join(".hidden"), "text").unwrap();
        symlink("/etc/passwd", top.join("out")).unwrap();
        base
    }

    #[test]
    fn every_entry_is_scanned_and_no_link_is_followed() {
        let base = tree();
        let found = scanned(
            base.path(),
            &["theirs".to_owned()],
            &ScanKnowledge::default(),
        );
        assert_eq!(found.problem, None);
        let file = |text: &[u8], executable| EntryContent::File {
            digest: Some(*blake3::hash(text).as_bytes()),
            executable,
        };
        let all: Vec<_> = found
            .entries
            .iter()
            .map(|it| (&*it.path, &it.content))
            .collect();
        let target = "/etc/passwd".to_owned();
        assert_eq!(
            all,
            [
                ("", &EntryContent::Folder),
                (".hidden", &file(b"text", false)),
                ("a", &EntryContent::Folder),
                ("out", &EntryContent::Link { target }),
                ("a/b", &EntryContent::Folder),
                ("a/b/run.sh", &file(b"run", true)),
            ]
        );
    }

    #[test]
    fn what_goes_beyond_a_bound_is_said() {
        let base = tree();
        for (bounds, said) in [
            (
                ScanBounds {
                    max_entries: 3,
                    ..BOUNDS
                },
                "more than 3 entries",
            ),
            (
                ScanBounds {
                    max_depth: 1,
                    ..BOUNDS
                },
                "deeper than 1 levels",
            ),
            (
                ScanBounds {
                    max_bytes: 6,
                    ..BOUNDS
                },
                "more than 6 bytes",
            ),
        ] {
            let knowledge = ScanKnowledge::default();
            let found = scan(
                &root(base.path()),
                LinkRule::Contain,
                "s",
                &[],
                &bounds,
                &knowledge,
            );
            let problem = found.problem.unwrap_or_default();
            assert!(problem.contains(said), "{problem}");
        }
    }

    /// A scan as if it had begun so long after the last change that its stamps are proof.
    fn settled(mut scan: FolderScan) -> FolderScan {
        scan.started += 1_000_000_000;
        scan
    }

    #[test]
    fn stamps_tell_every_change() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 7] = [
            ("content", |top| {
                std::fs::write(top.join("a/b/run.sh"), "ruN").unwrap();
            }),
            ("mode", |top| {
                let plain = std::fs::Permissions::from_mode(0o644);
                std::fs::set_permissions(top.join("a/b/run.sh"), plain).unwrap();
            }),
            ("added", |top| {
                std::fs::write(top.join("a/b/new"), "").unwrap();
            }),
            ("removed", |top| {
                std::fs::remove_file(top.join(".hidden")).unwrap();
            }),
            ("renamed", |top| {
                std::fs::rename(top.join("a/b"), top.join("a/c")).unwrap();
            }),
            ("linked", |top| {
                std::fs::remove_file(top.join("a/b/run.sh")).unwrap();
                symlink("../../.hidden", top.join("a/b/run.sh")).unwrap();
            }),
            ("time set back", |top| {
                std::fs::write(top.join("a/b/run.sh"), "ruN").unwrap();
                let file = std::fs::File::open(top.join("a/b/run.sh")).unwrap();
                file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1))
                    .unwrap();
            }),
        ];
        for (name, change) in changes {
            let base = tree();
            let fresh = scanned(base.path(), &[], &ScanKnowledge::default());
            assert_eq!(
                unchanged(&root(base.path()), &[&fresh]),
                [false],
                "too fresh to be proof"
            );
            let before = settled(fresh);
            assert_eq!(unchanged(&root(base.path()), &[&before]), [true], "{name}");
            change(&base.path().join("s"));
            assert_eq!(unchanged(&root(base.path()), &[&before]), [false], "{name}");
        }
    }

    #[test]
    fn what_is_known_is_not_read_again() {
        let base = tree();
        let mut before = settled(scanned(base.path(), &[], &ScanKnowledge::default()));
        let mark = [7; 32];
        for entry in &mut before.entries {
            if let EntryContent::File { digest, .. } = &mut entry.content {
                *digest = Some(mark);
            }
        }
        std::fs::write(base.path().join("s/a/b/run.sh"), "other").unwrap();
        let knowledge = ScanKnowledge {
            earlier: Some(&before),
            digests: &[],
        };
        let after = scanned(base.path(), &[], &knowledge);
        let digest = |path: &str| {
            let entry = after
                .entries
                .iter()
                .find(|entry| entry.path == path)
                .unwrap();
            match entry.content {
                EntryContent::File { digest, .. } => digest.unwrap(),
                _ => panic!("{path} is no file"),
            }
        };
        assert_eq!(digest(".hidden"), mark, "its stamp is the same");
        assert_eq!(digest("a/b/run.sh"), *blake3::hash(b"other").as_bytes());
    }

    #[test]
    fn no_two_names_are_written_alike() {
        assert_eq!(path_as_written("ü b".as_bytes()), "ü b");
        assert_eq!(path_as_written(b"\xff"), "\\xff");
        assert_eq!(path_as_written(b"\\xff"), "\\\\xff");
    }
}
