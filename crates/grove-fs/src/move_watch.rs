//! Noticing that a folder was moved, although it may be back.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

use crate::error::FsError;

const EVENTS: WatchFlags = WatchFlags::MOVE_SELF
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::DONT_FOLLOW);
const ACTION: &str = "watch";

/// Folders, and links to folders, that are watched for being moved or removed. A folder's change time does not tell: it is that of
/// new files in it as well.
#[derive(Debug)]
pub struct MoveWatch {
    kernel: OwnedFd,
    folders: HashMap<i32, PathBuf>,
    moved: OnceLock<PathBuf>,
}

impl MoveWatch {
    /// Watches folders from now on; those that are not there are left out. A link is watched itself.
    pub fn begin(folders: impl IntoIterator<Item = PathBuf>) -> Result<Self, FsError> {
        let kernel = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC);
        let kernel = kernel.map_err(|error| FsError::new(ACTION, Path::new("folders"), error))?;
        let mut watched = HashMap::new();
        for folder in folders {
            match add_watch(&kernel, &folder, EVENTS) {
                Ok(number) => {
                    watched.insert(number, folder);
                }
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => return Err(FsError::new(ACTION, &folder, error)),
            }
        }
        Ok(Self {
            kernel,
            folders: watched,
            moved: OnceLock::new(),
        })
    }

    /// The first folder that was moved or removed since the watch began.
    pub fn moved(&self) -> Option<&Path> {
        let mut buffer = [const { MaybeUninit::uninit() }; 4_096];
        let mut events = Reader::new(&self.kernel, &mut buffer);
        while let Ok(event) = events.next() {
            let gone = ReadFlags::MOVE_SELF | ReadFlags::DELETE_SELF | ReadFlags::QUEUE_OVERFLOW;
            if event.events().intersects(gone) {
                let folder = self.folders.get(&event.wd()).cloned();
                self.moved.get_or_init(|| folder.unwrap_or_default());
            }
        }
        self.moved.get().map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn watched(folder: &Path) -> MoveWatch {
        MoveWatch::begin(["a", "a/b", "link", "missing"].map(|name| folder.join(name))).unwrap()
    }

    #[test]
    fn a_folder_that_is_back_was_moved_and_one_with_new_files_was_not() {
        let home = tempfile::tempdir().unwrap();
        let (home, swap) = (home.path(), |from: &Path, to: &Path| {
            fs::rename(from, to).unwrap();
            fs::rename(to, from).unwrap();
        });
        fs::create_dir_all(home.join("a/b")).unwrap();
        symlink("a", home.join("link")).unwrap();
        for (name, is_moved) in [
            ("a", true),
            ("a/b", true),
            ("link", true),
            ("a/b/file", false),
        ] {
            fs::write(home.join("a/b/file"), "x").unwrap();
            let watch = watched(home);
            fs::write(home.join("a/new"), "x").unwrap();
            assert_eq!(watch.moved(), None);
            swap(&home.join(name), &home.join("aside"));
            let expected = is_moved.then(|| home.join(name));
            assert_eq!(watch.moved(), expected.as_deref());
            // It stays known.
            assert_eq!(watch.moved(), expected.as_deref());
        }
    }
}
