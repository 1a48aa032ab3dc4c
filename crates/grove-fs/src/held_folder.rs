//! A folder that is held open: what is in it is found relative to it, and where its content came from elsewhere
//! the kernel refuses every path that leads out.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, SeekFrom};
use rustix::io::Errno;

use crate::beneath::{self, LinkRule};
use crate::error::FsError;
use crate::file_place::FilePlace;
use crate::files;
use crate::probe_walk::{RootFolder, is_printable};

#[derive(Debug)]
pub struct HeldFolder {
    folder: OwnedFd,
    path: PathBuf,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderNames {
    /// Folders and links, which may lead to folders; hidden ones are left out. Sorted.
    pub names: Vec<String>,
    pub is_cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    Folder,
    /// A regular file, directly or through links.
    File,
    /// A pipe, a socket or a device.
    Other,
}

impl HeldFolder {
    /// Opens a folder, wherever links lead.
    pub fn open(path: &Path) -> Result<Self, FsError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| FsError::new("open", path, errno))?;
        Ok(Self {
            folder,
            path: path.to_path_buf(),
        })
    }

    /// Opens a folder to which no link leads.
    pub fn unlinked(path: &Path) -> Result<Self, FsError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let links = ResolveFlags::NO_SYMLINKS;
        let folder = rustix::fs::openat2(CWD, path, flags, Mode::empty(), links)
            .map_err(|errno| FsError::new("open", path, errno))?;
        Ok(Self {
            folder,
            path: path.to_path_buf(),
        })
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Opens a root as a walk does: beneath its base if it has one.
    pub fn of_root(root: &RootFolder) -> Result<Self, FsError> {
        Ok(Self {
            folder: root.open()?,
            path: root.path.clone(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a folder in it; an empty path is the folder itself.
    pub fn folder(&self, below: &str, links: LinkRule) -> Result<Self, FsError> {
        let path = self.path.join(below);
        let fail = |errno: Errno| FsError::new("open", &path, errno);
        let name = beneath::c_path(below).map_err(fail)?;
        let folder = beneath::open_folder(self.folder.as_fd(), &name, links).map_err(fail)?;
        Ok(Self { folder, path })
    }

    /// The kind of entry that a path in it leads to, without opening that; an empty path is the folder itself.
    pub fn entry(&self, below: &str, links: LinkRule) -> Result<PathKind, FsError> {
        let path = self.path.join(below);
        let fail = |errno: Errno| FsError::new("look at", &path, errno);
        let name = beneath::c_path(below).map_err(fail)?;
        let facts = beneath::facts_of(self.folder.as_fd(), &name, links).map_err(fail)?;
        Ok(match facts.kind {
            FileType::Directory => PathKind::Folder,
            FileType::RegularFile => PathKind::File,
            _ => PathKind::Other,
        })
    }

    pub fn read(&self, below: &str, links: LinkRule, limit: u64) -> Result<Vec<u8>, FsError> {
        let path = self.path.join(below);
        let fail = |errno: Errno| FsError::new("read", &path, errno);
        let name = beneath::c_path(below).map_err(fail)?;
        let file = beneath::open_file(self.folder.as_fd(), &name, links).map_err(fail)?;
        files::read_open(file.into(), &path, limit)
    }

    /// The place of a file in it, to which no link leads; its folders are made if needed.
    pub fn spot(&self, below: &Path) -> Result<FilePlace, FsError> {
        let path = self.path.join(below);
        let folder = self.folder.try_clone();
        let folder = folder.map_err(|error| FsError::new("open", &path, error))?;
        FilePlace::in_folder(folder, path, below)
    }

    /// The folders in it, of the first `limit` entries.
    pub fn folder_names(&self, limit: usize) -> Result<FolderNames, FsError> {
        let fail = |errno: Errno| FsError::new("list", &self.path, errno);
        // A folder that was listed before stands at its end.
        rustix::fs::seek(&self.folder, SeekFrom::Start(0)).map_err(fail)?;
        let (mut found, mut seen) = (FolderNames::default(), 0);
        let listed = beneath::each_entry(self.descriptor(), |name, kind| {
            if name.to_bytes().first() == Some(&b'.') {
                return ControlFlow::Continue(());
            }
            seen += 1;
            if seen > limit {
                found.is_cut = true;
                return ControlFlow::Break(());
            }
            let may_be_folder = matches!(
                kind,
                FileType::Directory | FileType::Symlink | FileType::Unknown
            );
            if let Ok(name) = name.to_str()
                && may_be_folder
                && is_printable(name.as_bytes())
            {
                found.names.push(name.to_owned());
            }
            ControlFlow::Continue(())
        });
        listed.map_err(fail)?;
        found.names.sort_unstable();
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_leads_out_is_refused_where_it_must_stay() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("in/deep")).unwrap();
        std::fs::create_dir(folder.path().join("out")).unwrap();
        std::fs::write(folder.path().join("out/file"), "secret").unwrap();
        std::fs::write(root.join("in/file"), "text").unwrap();
        symlink("in", root.join("near")).unwrap();
        symlink("../out", root.join("far")).unwrap();
        let held = HeldFolder::unlinked(&root).unwrap();
        assert!(HeldFolder::unlinked(&root.join("near")).is_err());
        assert!(held.spot(Path::new("in/new/file")).is_ok());
        for path in ["near/file", "far/file", "../out/file"] {
            assert!(held.spot(Path::new(path)).is_err(), "{path}");
        }
        for (path, contained) in [
            ("in", true),
            ("near", true),
            ("far", false),
            ("../out", false),
        ] {
            let file = format!("{path}/file");
            assert!(held.folder(path, LinkRule::Follow).is_ok(), "{path}");
            assert!(held.read(&file, LinkRule::Follow, 100).is_ok(), "{path}");
            let inside = held.folder(path, LinkRule::Contain);
            assert_eq!(inside.is_ok(), contained, "{path}");
            for (name, kind) in [(path, PathKind::Folder), (&file, PathKind::File)] {
                assert_eq!(held.entry(name, LinkRule::Follow).unwrap(), kind);
                let seen = held.entry(name, LinkRule::Contain).ok();
                assert_eq!(seen, contained.then_some(kind), "{name}");
            }
            let read = held.read(&file, LinkRule::Contain, 100);
            assert_eq!(read.is_ok(), contained, "{path}");
            if let Err(error) = read {
                assert!(error.leads_out(), "{path}");
            }
        }
        // Held at its own folder, a link to a folder beside it leads out.
        let inner = held.folder("in", LinkRule::Contain).unwrap();
        assert!(inner.folder("deep", LinkRule::Contain).is_ok());
        assert!(inner.folder("../near", LinkRule::Contain).is_err());
        assert!(held.read("in/file", LinkRule::Contain, 3).is_err());
    }

    #[test]
    fn folders_and_links_are_named_in_order_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a", ".hidden", "odd\nname"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("file"), "").unwrap();
        symlink("b", folder.path().join("c")).unwrap();
        let held = HeldFolder::open(folder.path()).unwrap();
        let found = held.folder_names(100).unwrap();
        assert_eq!(found.names, ["a", "b", "c"]);
        assert!(!found.is_cut);
        assert!(held.folder_names(2).unwrap().is_cut);
    }
}
