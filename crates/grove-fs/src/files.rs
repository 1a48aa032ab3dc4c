//! Plain questions about paths, each with an error that names the path.

use std::io::Read as _;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Component, Path, PathBuf};

use crate::error::FsError;
use crate::stamp::FileId;

pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, FsError> {
    let fail = |error: std::io::Error| FsError::new("read", path, error);
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(nonblock)
        .open(path)
        .map_err(fail)?;
    read_open(file, path, limit)
}

pub(crate) fn read_open(file: std::fs::File, path: &Path, limit: u64) -> Result<Vec<u8>, FsError> {
    let fail = |error: std::io::Error| FsError::new("read", path, error);
    let metadata = file.metadata().map_err(fail)?;
    if !metadata.is_file() {
        return Err(fail(std::io::Error::other("not a regular file")));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(limit)).unwrap_or(0) + 1);
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > limit {
        return Err(fail(std::io::Error::other(format!(
            "larger than {limit} bytes"
        ))));
    }
    Ok(bytes)
}

pub fn canonical(path: &Path) -> Result<PathBuf, FsError> {
    std::fs::canonicalize(path).map_err(|error| FsError::new("resolve", path, error))
}

/// Returns true if no link is on the way to what is at a path.
pub fn is_unlinked(path: &Path) -> bool {
    canonical(path).is_ok_and(|real| real == path)
}

/// Returns true if a folder that is there is another one or lies below it, whatever links lead there.
pub fn is_below(folder: &Path, top: &Path) -> bool {
    canonical(folder)
        .and_then(|folder| Ok(folder.starts_with(canonical(top)?)))
        .unwrap_or_default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderIdentity {
    pub id: FileId,
    /// The time at which it was made, in nanoseconds, where the file system knows it.
    pub born: Option<i64>,
}

pub fn identity(path: &Path) -> Result<FileId, FsError> {
    folder_identity(path).map(|found| found.id)
}

pub fn folder_identity(path: &Path) -> Result<FolderIdentity, FsError> {
    let metadata = metadata_of(path)?;
    // The same split of the device number as `statx` gives, so that both sides compare equal.
    let device = metadata.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let born = metadata.created().ok();
    let born = born.and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok());
    Ok(FolderIdentity {
        id: FileId {
            device: (u64::from(major) << 32) | u64::from(minor),
            inode: metadata.ino(),
        },
        born: born.and_then(|since| i64::try_from(since.as_nanos()).ok()),
    })
}

/// Reads a regular file of at most `limit` bytes that is the user's alone; none where it, its folder or the one above
/// may be written by another user, or one of the folders further up be replaced.
pub(crate) fn read_own(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FsError> {
    for (above, part) in path.ancestors().enumerate() {
        let metadata = metadata_of(part)?;
        let is_sticky = metadata.mode() & 0o1000 != 0;
        let others = match above {
            0..=OWN_FOLDERS => 0o022,
            // In a sticky folder all users have files of their own.
            _ if is_sticky => 0,
            _ => 0o002,
        };
        if may_be_changed_by_others(&metadata, others) {
            return Ok(None);
        }
    }
    read_bounded(path, limit).map(Some)
}

/// Returns true if the target of a path belongs to another user, or may be written by all.
pub fn belongs_to_others(path: &Path) -> Result<bool, FsError> {
    Ok(may_be_changed_by_others(&metadata_of(path)?, 0o002))
}

/// Returns true if another user may change it: its owner, or those whom its mode lets write. Root trusts all files.
fn may_be_changed_by_others(metadata: &std::fs::Metadata, writers: u32) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let is_own = user == 0 || [0, user].contains(&metadata.uid());
    !is_own || metadata.mode() & writers != 0
}

/// The number of folders above a file of the user's alone that are Grove's own.
const OWN_FOLDERS: usize = 2;

/// Makes the folder of a file that is the user's alone, and keeps others from writing into it and the one above.
pub(crate) fn make_own_folder(file: &Path) -> Result<(), FsError> {
    let folders: Vec<&Path> = file.ancestors().skip(1).take(OWN_FOLDERS).collect();
    let folder = folders.first().copied().unwrap_or(file);
    let fail = |error: std::io::Error| FsError::new("create", folder, error);
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder);
    made.map_err(fail)?;
    for own in folders {
        let mode = mode(own)?;
        if mode & 0o022 != 0 {
            let closed = std::fs::Permissions::from_mode(mode & !0o022);
            std::fs::set_permissions(own, closed).map_err(fail)?;
        }
    }
    Ok(())
}

/// Makes a folder of Grove's own that is the user's alone. One that is there is left as it is.
pub fn make_closed_folder(path: &Path) -> Result<(), FsError> {
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    made.map_err(|error| FsError::new("create", path, error))
}

/// Keeps all but its owner from a file or folder, if it is there and the user's own. Others' are left as they are.
pub fn close(path: &Path) -> Result<(), FsError> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(FsError::new("look at", path, error)),
    };
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    let mode = metadata.mode() & 0o7777;
    let is_open = mode & 0o077 != 0;
    if !is_own || metadata.is_symlink() || !is_open {
        return Ok(());
    }
    let closed = std::fs::Permissions::from_mode(mode & !0o077);
    let closed = std::fs::set_permissions(path, closed);
    closed.map_err(|error| FsError::new("change the mode of", path, error))
}

/// Makes an empty file that is the user's alone, unless one is there.
pub fn make_closed_file(path: &Path) -> Result<(), FsError> {
    let made = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(FsError::new("create", path, error))
        }
        _ => Ok(()),
    }
}

/// Returns true if a file system is mounted at a path; false where that is not known.
pub fn is_mount_root(path: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::TYPE);
    found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

fn metadata_of(path: &Path) -> Result<std::fs::Metadata, FsError> {
    std::fs::metadata(path).map_err(|error| FsError::new("look at", path, error))
}

pub fn mode(path: &Path) -> Result<u32, FsError> {
    Ok(metadata_of(path)?.mode() & 0o7777)
}

pub fn size(path: &Path) -> Result<u64, FsError> {
    Ok(metadata_of(path)?.len())
}

pub fn is_folder(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

pub fn is_file(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

pub fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

/// The target that a link names, from its own folder, whether or not anything is there.
pub fn link_target(path: &Path) -> Result<PathBuf, FsError> {
    let target = std::fs::read_link(path).map_err(|error| FsError::new("read", path, error))?;
    Ok(path.parent().unwrap_or(path).join(target))
}

/// The targets of the links on the way to a path, one after the other: any of them may change.
pub fn link_targets(path: &Path) -> Vec<PathBuf> {
    const MOST: usize = 40;
    let mut targets: Vec<PathBuf> = Vec::new();
    let mut whole = path.to_path_buf();
    'links: while targets.len() < MOST {
        for part in whole.ancestors() {
            if let (Ok(target), Ok(below)) = (link_target(part), whole.strip_prefix(part)) {
                whole = plain(&target.join(below));
                targets.push(whole.clone());
                continue 'links;
            }
        }
        break;
    }
    targets
}

/// A path without `.` and `..`, by how it is written: links are not looked at.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Returns true if anything is at a path, a dangling link included.
pub fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

pub fn may_read(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()
}

/// A path whose folders are no links, also where some of them are not there yet; its last part is left as it is.
pub fn without_links_above(path: &Path) -> Result<PathBuf, FsError> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(path.to_path_buf());
    };
    match canonical(folder) {
        Err(error) if error.is_not_found() && !is_link(folder) => {
            Ok(without_links_above(folder)?.join(name))
        }
        real => Ok(real?.join(name)),
    }
}

pub fn make_folder(path: &Path) -> Result<(), FsError> {
    std::fs::create_dir_all(path).map_err(|error| FsError::new("create", path, error))
}

/// Makes a pipe with a name that only this user can open, in place of what an earlier process left there.
pub fn make_pipe(path: &Path) -> Result<(), FsError> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    remove(path)?;
    let made = mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0);
    made.map_err(|error| FsError::new("create", path, error))
}

/// Removes a file; one that is not there is as good as removed.
pub fn remove(path: &Path) -> Result<(), FsError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(FsError::new("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// The bytes that may still be written to the file system of a folder; none where it does not say.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Removes a folder with everything in it; one that is not there is as good as removed. Links in it are not followed.
pub fn remove_folder(path: &Path) -> Result<(), FsError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(FsError::new("remove", path, error))
        }
        _ => Ok(()),
    }
}

pub fn remove_empty_folder(path: &Path) -> Result<(), FsError> {
    std::fs::remove_dir(path).map_err(|error| FsError::new("remove", path, error))
}

/// The names in a folder with whether each leads to a folder, sorted, at most `limit`.
pub fn list(path: &Path, limit: usize) -> Result<Vec<(String, bool)>, FsError> {
    let entries = std::fs::read_dir(path).map_err(|error| FsError::new("list", path, error))?;
    let mut names: Vec<(String, bool)> = entries
        .take(limit)
        .filter_map(Result::ok)
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                entry.file_type().is_ok_and(|kind| kind.is_dir()),
            )
        })
        .collect();
    names.sort();
    Ok(names)
}
