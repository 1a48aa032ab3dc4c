//! The place of a file that is written: its folder, held open, and its name in it.
//!
//! Everything is done relative to the folder. Once it is held, a process that moves folders or puts links in their
//! place cannot lead a writing elsewhere.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::beneath;
use crate::error::FsError;
use crate::files;

#[derive(Debug)]
pub struct FilePlace {
    folder: OwnedFd,
    name: OsString,
    path: PathBuf,
    follows: bool,
}

impl FilePlace {
    /// A place wherever links lead, its folder made if needed.
    pub fn at(path: &Path) -> Result<Self, FsError> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let open = || rustix::fs::open(folder, FOLDER, Mode::empty());
        let opened = match open() {
            Err(Errno::NOENT) => {
                let made = std::fs::create_dir_all(folder);
                made.map_err(|error| FsError::new("create", folder, error))?;
                open()
            }
            opened => opened,
        };
        Ok(Self {
            folder: opened.map_err(|errno| FsError::new("open", folder, errno))?,
            name: path.file_name().unwrap_or_default().to_owned(),
            path: path.to_path_buf(),
            follows: true,
        })
    }

    /// A place below a folder to which no link leads, its folder made if needed: a link anywhere below the base
    /// is an error, and one in place of the file is never read or written through.
    pub fn beneath(base: &Path, below: &Path) -> Result<Self, FsError> {
        Self::below(base, below, MissingFolder::Make)
    }

    /// The same where nothing is made: a folder that is not there is an error that says so.
    pub fn existing(base: &Path, below: &Path) -> Result<Self, FsError> {
        Self::below(base, below, MissingFolder::Leave)
    }

    fn below(base: &Path, below: &Path, missing: MissingFolder) -> Result<Self, FsError> {
        let path = base.join(below);
        let opened = rustix::fs::open(base, FOLDER, Mode::empty());
        let folder = opened.map_err(|errno| FsError::new("open", &path, errno))?;
        Self::from_folder(folder, path, below, missing)
    }

    /// The place with this whole path, below a folder that is open.
    pub(crate) fn in_folder(folder: OwnedFd, path: PathBuf, below: &Path) -> Result<Self, FsError> {
        Self::from_folder(folder, path, below, MissingFolder::Make)
    }

    fn from_folder(
        mut folder: OwnedFd,
        path: PathBuf,
        below: &Path,
        missing: MissingFolder,
    ) -> Result<Self, FsError> {
        let fail = |errno: Errno| FsError::new("open", &path, errno);
        for part in below.parent().unwrap_or(Path::new("")) {
            folder = enter(folder.as_fd(), part, missing).map_err(fail)?;
        }
        let name = below.file_name().ok_or_else(|| fail(Errno::INVAL))?;
        Ok(Self {
            name: name.to_owned(),
            folder,
            path,
            follows: false,
        })
    }

    /// A place by its whole path, in a folder that is there: a link anywhere on the way is an error.
    pub fn unlinked(path: &Path) -> Result<Self, FsError> {
        let fail = |errno: Errno| FsError::new("open", path, errno);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(fail(Errno::INVAL));
        };
        let resolve = ResolveFlags::NO_SYMLINKS;
        let folder = rustix::fs::openat2(rustix::fs::CWD, folder, FOLDER, Mode::empty(), resolve);
        Ok(Self {
            folder: folder.map_err(fail)?,
            name: name.to_owned(),
            path: path.to_path_buf(),
            follows: false,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn has_content(&self, content: &[u8]) -> Result<bool, FsError> {
        let fail = |errno: Errno| FsError::new("read", &self.path, errno);
        let file = match self.open() {
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(false),
            opened => opened.map_err(fail)?,
        };
        let facts = beneath::facts_of_open(file.as_fd()).map_err(fail)?;
        let size = content.len() as u64;
        if facts.kind != FileType::RegularFile || facts.stamp.size != size {
            return Ok(false);
        }
        Ok(files::read_open(file.into(), &self.path, size)? == content)
    }

    pub fn read(&self, limit: u64) -> Result<Vec<u8>, FsError> {
        let file = self.open();
        let file = file.map_err(|errno| FsError::new("read", &self.path, errno))?;
        files::read_open(file.into(), &self.path, limit)
    }

    /// Gives the file another name, in the folder of another place, where nothing has that name.
    pub fn rename_new(&self, to: &Self) -> Result<(), FsError> {
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        let (from, into) = (&self.folder, &to.folder);
        let renamed = match rustix::fs::renameat_with(from, &self.name, into, &to.name, flags) {
            // Not every file system can; a second name is refused likewise where one is taken.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(from, &self.name, into, &to.name, AtFlags::empty())
                    .and_then(|()| self.remove(&self.name))
            }
            renamed => renamed,
        };
        renamed.map_err(|errno| FsError::new("write", &to.path, errno))
    }

    pub fn remove_empty_folder(base: &Path, below: &Path) -> bool {
        let place = Self::existing(base, below);
        place.is_ok_and(|place| {
            rustix::fs::unlinkat(&place.folder, &place.name, AtFlags::REMOVEDIR).is_ok()
        })
    }

    /// Removes a file or a link, whatever is in it.
    pub(crate) fn remove_it(&self) -> Result<(), FsError> {
        let removed = self.remove(&self.name);
        removed.map_err(|errno| FsError::new("remove", &self.path, errno))
    }

    pub(crate) fn remove_folder(&self) -> Result<(), FsError> {
        let removed = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::REMOVEDIR);
        removed.map_err(|errno| FsError::new("remove", &self.path, errno))
    }

    pub(crate) fn make_link(&self, target: &Path) -> Result<(), FsError> {
        let made = rustix::fs::symlinkat(target, &self.folder, &self.name);
        made.map_err(|errno| FsError::new("create", &self.path, errno))
    }

    /// Makes a folder, or gives one that is there these permission bits.
    pub(crate) fn make_folder(&self, mode: u32) -> Result<(), FsError> {
        let fail = |errno: Errno| FsError::new("create", &self.path, errno);
        match rustix::fs::mkdirat(&self.folder, &self.name, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(fail(errno)),
        }
        let folder = enter(self.folder.as_fd(), &self.name, MissingFolder::Leave).map_err(fail)?;
        rustix::fs::fchmod(&folder, Mode::from_raw_mode(mode)).map_err(fail)
    }

    pub fn mode(&self) -> Result<u32, FsError> {
        let fail = |errno: Errno| FsError::new("look at", &self.path, errno);
        let file = self.open().map_err(fail)?;
        let found = rustix::fs::fstat(&file).map_err(fail)?;
        Ok(found.st_mode & 0o7777)
    }

    /// Removes a plain file, no link, that has exactly this content; says whether it did.
    pub fn remove_same(&self, content: &[u8]) -> Result<bool, FsError> {
        let fail = |errno: Errno| FsError::new("remove", &self.path, errno);
        let name = CString::new(self.name.as_bytes()).map_err(|_| fail(Errno::INVAL))?;
        let own = beneath::facts_unfollowed(self.folder.as_fd(), &name);
        let is_plain = own.is_ok_and(|facts| facts.kind == FileType::RegularFile);
        if !is_plain || !self.has_content(content)? {
            return Ok(false);
        }
        self.remove(&self.name).map_err(fail)?;
        Ok(true)
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    pub(crate) fn remove(&self, name: &OsStr) -> Result<(), Errno> {
        rustix::fs::unlinkat(&self.folder, name, AtFlags::empty())
    }

    fn open(&self) -> Result<OwnedFd, Errno> {
        let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        flags.set(OFlags::NOFOLLOW, !self.follows);
        rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())
    }
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingFolder {
    Make,
    Leave,
}

/// Opens a folder in a folder, made if needed, unless it is a link or leads elsewhere.
fn enter(folder: BorrowedFd<'_>, name: &OsStr, missing: MissingFolder) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let open = || rustix::fs::openat2(folder, name, FOLDER, Mode::empty(), resolve);
    match open() {
        Err(Errno::NOENT) if missing == MissingFolder::Make => {
            match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
                // Another process makes it at the same moment.
                Ok(()) | Err(Errno::EXIST) => open(),
                Err(errno) => Err(errno),
            }
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::atomic::{self, ReplaceOutcome};

    #[test]
    fn no_link_below_the_base_is_followed_to_a_place() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base");
        std::fs::create_dir_all(base.join("real")).unwrap();
        std::fs::create_dir(folder.path().join("out")).unwrap();
        symlink("../out", base.join("far")).unwrap();
        symlink("real", base.join("near")).unwrap();
        for (below, is_place) in [
            ("real/x", true),
            ("new/deep/x", true),
            ("x", true),
            ("far/x", false),
            ("near/x", false),
            ("far/new/x", false),
            ("../out/x", false),
            ("real/..", false),
        ] {
            let place = FilePlace::beneath(&base, Path::new(below));
            assert_eq!(place.is_ok(), is_place, "{below}");
        }
        assert_eq!(
            std::fs::read_dir(folder.path().join("out"))
                .unwrap()
                .count(),
            0
        );
    }

    #[test]
    fn a_link_put_in_the_place_of_a_held_folder_leads_no_writing_away() {
        let folder = tempfile::tempdir().unwrap();
        let (base, out) = (folder.path().join("base"), folder.path().join("out"));
        std::fs::create_dir_all(base.join("in")).unwrap();
        std::fs::create_dir(&out).unwrap();
        for name in ["kept", "gone"] {
            std::fs::write(base.join("in").join(name), "old").unwrap();
            std::fs::write(out.join(name), "old").unwrap();
        }
        let places = ["new", "kept", "gone"]
            .map(|name| FilePlace::beneath(&base, &Path::new("in").join(name)).unwrap());
        std::fs::rename(base.join("in"), base.join("moved")).unwrap();
        symlink(&out, base.join("in")).unwrap();
        let [new, kept, gone] = &places;
        atomic::create_at(new, b"new", None).unwrap();
        assert_eq!(
            atomic::replace_at(kept, b"old", b"new").unwrap(),
            ReplaceOutcome::Done
        );
        assert!(gone.remove_same(b"old").unwrap());
        let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).ok();
        for (name, in_moved, in_out) in [
            ("new", Some("new"), None),
            ("kept", Some("new"), Some("old")),
            ("gone", None, Some("old")),
        ] {
            assert_eq!(
                read(&base.join("moved"), name).as_deref(),
                in_moved,
                "{name}"
            );
            assert_eq!(read(&out, name).as_deref(), in_out, "{name}");
        }
    }

    #[test]
    fn a_link_in_the_place_of_the_file_is_neither_read_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base");
        std::fs::create_dir(&base).unwrap();
        std::fs::write(folder.path().join("out"), "old").unwrap();
        symlink("../out", base.join("x")).unwrap();
        let place = FilePlace::beneath(&base, Path::new("x")).unwrap();
        assert!(!place.has_content(b"old").unwrap());
        assert!(!place.remove_same(b"old").unwrap());
        assert_eq!(
            atomic::replace_at(&place, b"old", b"new").unwrap(),
            ReplaceOutcome::Changed
        );
        assert!(atomic::create_at(&place, b"new", None).is_err());
        assert_eq!(std::fs::read(folder.path().join("out")).unwrap(), b"old");
        // Elsewhere a link is what the user wants.
        let followed = FilePlace::at(&base.join("x")).unwrap();
        assert!(followed.has_content(b"old").unwrap());
    }
}
