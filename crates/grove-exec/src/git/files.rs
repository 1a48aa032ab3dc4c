//! The few files that are read and written without git. Reading is bounded and never waits for a pipe.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};

use super::GitError;

/// Reads a regular file of at most `most` bytes; none for anything else.
pub(super) fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let found = rustix::fs::fstat(&file).ok()?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    let mut file = std::fs::File::from(file).take(most + 1);
    file.read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

pub(super) fn read_line(path: &Path) -> Option<String> {
    let bytes = read(path, 64 << 10)?;
    let text = String::from_utf8(bytes).ok()?;
    text.lines().next().map(|line| line.trim_end().to_owned())
}

pub(super) fn write_new(path: &Path, content: &[u8]) -> Result<(), GitError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o644);
    let file = rustix::fs::open(path, flags, mode).map_err(|error| failed(path, error))?;
    let written = std::fs::File::from(file).write_all(content);
    written.map_err(|error| GitError::File {
        path: path.to_path_buf(),
        why: error.to_string(),
    })
}

/// Writes a file in place of the one that is there; a link is replaced and not followed.
pub(super) fn write_over(path: &Path, content: &[u8], mode: u32) -> Result<(), GitError> {
    let beside = with_ending(path, ".grove-new");
    remove(&beside);
    write_new(&beside, content)?;
    let mode = rustix::fs::chmod(&beside, Mode::from_raw_mode(mode));
    mode.map_err(|error| failed(&beside, error))?;
    rustix::fs::rename(&beside, path).map_err(|error| failed(path, error))
}

/// Renames a file by adding an ending, and replaces an earlier file of that name.
pub(super) fn put_aside(path: &Path, ending: &str) -> Result<(), GitError> {
    let aside = with_ending(path, ending);
    rustix::fs::rename(path, &aside).map_err(|error| failed(path, error))
}

pub(super) fn remove(path: &Path) {
    let _ = rustix::fs::unlink(path);
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Makes a folder that only this user can enter. Returns false if something is there already.
pub(super) fn make_own_folder(path: &Path) -> Result<bool, GitError> {
    make_with_mode(path, 0o700)
}

/// Makes a folder. Returns false if something is there already.
pub(super) fn make_folder(path: &Path) -> Result<bool, GitError> {
    make_with_mode(path, 0o777)
}

fn make_with_mode(path: &Path, mode: u32) -> Result<bool, GitError> {
    match rustix::fs::mkdir(path, Mode::from_raw_mode(mode)) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::EXIST) => Ok(false),
        Err(error) => Err(failed(path, error)),
    }
}

pub(super) fn link(target: &Path, path: &Path) -> Result<(), GitError> {
    rustix::fs::symlink(target, path).map_err(|error| failed(path, error))
}

pub(super) fn names(folder: &Path, most: usize) -> Vec<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty());
    let Some(entries) = opened.and_then(rustix::fs::Dir::new).ok() else {
        return Vec::new();
    };
    let entries = entries.filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    let names = names.filter(|name| name != "." && name != "..");
    let mut names: Vec<String> = names.take(most).collect();
    names.sort();
    names
}

/// The names in a folder with their kinds, at most `most`, sorted.
pub(super) fn entries(folder: &Path, most: usize) -> Vec<(OsString, FileType)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty());
    let Some(entries) = opened.and_then(rustix::fs::Dir::new).ok() else {
        return Vec::new();
    };
    let entries = entries.filter_map(Result::ok);
    let entries = entries.filter(|entry| ![c".", c".."].contains(&entry.file_name()));
    let entries = entries.map(|entry| {
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        let kind = match entry.file_type() {
            // Not every file system tells it here.
            FileType::Unknown => kind(&folder.join(&name)),
            known => known,
        };
        (name, kind)
    });
    let mut entries: Vec<(OsString, FileType)> = entries.take(most).collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    entries
}

fn kind(path: &Path) -> FileType {
    let found = rustix::fs::lstat(path);
    found.map_or(FileType::Unknown, |it| FileType::from_raw_mode(it.st_mode))
}

/// The target of a link.
pub(super) fn target(path: &Path) -> Option<PathBuf> {
    let target = rustix::fs::readlink(path, Vec::new()).ok()?;
    Some(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// The data by which a file is told from another one, or from itself with another content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    size: i64,
    /// The time of its last change, in seconds and nanoseconds.
    changed: (i64, u64),
}

/// The stamp of a regular file to which a path leads.
pub(super) fn stamp(path: &Path) -> Option<Stamp> {
    let found = rustix::fs::stat(path).ok()?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    is_file.then_some(Stamp {
        inode: found.st_ino,
        size: found.st_size,
        changed: (found.st_ctime, found.st_ctime_nsec),
    })
}

/// Removes a folder with its content, as far as that is possible. Links in it are not followed.
pub(super) fn remove_folder(path: &Path) {
    for name in names(path, usize::MAX) {
        let inner = path.join(name);
        let is_link = rustix::fs::readlink(&inner, Vec::new()).is_ok();
        if !is_link && is_folder(&inner) {
            remove_folder(&inner);
        } else {
            let _ = rustix::fs::unlink(&inner);
        }
    }
    let _ = rustix::fs::rmdir(path);
}

pub(super) fn is_folder(path: &Path) -> bool {
    let found = rustix::fs::stat(path);
    found.is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory)
}

/// Returns true if something has this name, also a link that leads nowhere.
pub(super) fn is_there(path: &Path) -> bool {
    rustix::fs::lstat(path).is_ok()
}

pub(super) fn owner(path: &Path) -> Option<u32> {
    rustix::fs::stat(path).ok().map(|found| found.st_uid)
}

/// The user who owns a name; for a link the owner of the link itself.
pub(super) fn owner_of_name(path: &Path) -> Option<u32> {
    let found = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
    found.ok().map(|found| found.st_uid)
}

/// The path with all links resolved, by asking the kernel for what it opened.
pub(super) fn real(path: &Path) -> Option<PathBuf> {
    let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&opened));
    target(Path::new(&name))
}

fn failed(path: &Path, error: rustix::io::Errno) -> GitError {
    GitError::File {
        path: path.to_path_buf(),
        why: error.to_string(),
    }
}
