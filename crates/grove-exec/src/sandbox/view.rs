//! A view of the file system of the process's own, in which nothing outside some folders can be changed: neither modes,
//! owners and times nor attributes, which the rules on files do not cover.
//!
//! Root may have one; every other user needs a user namespace for it, in which they keep their id, so that git and other
//! programs find files that belong to them.
//!
//! Such a process also shares no memory, queues and semaphores by a number or a name with processes outside.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use crate::processes::{MOST_READ, read_proc};

/// The reason why there is no such view. The process may be half in one: it must not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ViewError {
    #[error("the kernel refuses a view of the file system of its own")]
    Namespace(#[source] Errno),
    /// There are more mounts than are read.
    #[error("the mounts of this system are too many to be listed")]
    Unlisted,
    /// A mount cannot be made read-only.
    #[error("{path} cannot be made read-only")]
    Mount {
        path: PathBuf,
        #[source]
        source: Errno,
    },
}

struct MountPoint {
    path: PathBuf,
    /// The flags that a remount must keep.
    flags: MountFlags,
    is_read_only: bool,
}

/// Gives this process a view in which only the writable folders can be changed, except the guarded paths in them.
pub(super) fn restrict(writable: &[PathBuf], guarded: &[PathBuf]) -> Result<(), ViewError> {
    enter_namespace().map_err(ViewError::Namespace)?;
    let root = Path::new("/");
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change(root, private).map_err(|source| failed(root, source))?;
    let is_below = |path: &PathBuf, folder: &PathBuf| path != folder && path.starts_with(folder);
    let is_inside = |path: &PathBuf| writable.iter().any(|folder| is_below(path, folder));
    let is_named = |path: &PathBuf| writable.contains(path);
    let guarded = guarded
        .iter()
        .filter(|path| is_inside(path) && !is_named(path));
    let guarded: Vec<&PathBuf> = guarded.collect();
    for path in writable.iter().chain(guarded.iter().copied()) {
        match mount_bind_recursive(path, path) {
            // A path that is not there cannot be written to either.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
            Err(source) => return Err(failed(path, source)),
        }
    }
    for mount in mount_points()? {
        let length = |paths: &mut dyn Iterator<Item = &PathBuf>| {
            let above = paths.filter(|path| mount.path.starts_with(path));
            above.map(|path| path.components().count()).max()
        };
        let open = length(&mut writable.iter());
        let closed = length(&mut guarded.iter().copied());
        if mount.is_read_only || open > closed {
            continue;
        }
        let flags = mount.flags | MountFlags::BIND | MountFlags::RDONLY;
        match mount_remount(&mount.path, flags, c"") {
            // Another mount lies above this one, so that no path leads to it.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::INVAL) => {}
            Err(source) => return Err(failed(&mount.path, source)),
        }
    }
    Ok(())
}

fn failed(path: &Path, source: Errno) -> ViewError {
    ViewError::Mount {
        path: path.to_path_buf(),
        source,
    }
}

fn enter_namespace() -> Result<(), Errno> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    // Memory, queues and semaphores that processes share by a number or a name are in a namespace, too.
    let own = UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    match unshare(own) {
        // Root without the power over mounts would lose its power over files of others in a user namespace.
        Err(Errno::PERM) if user != 0 => {}
        other => return other,
    }
    unshare(UnshareFlags::NEWUSER | own)?;
    write_proc("/proc/self/setgroups", "deny")?;
    write_proc("/proc/self/uid_map", &format!("{user} {user} 1"))?;
    write_proc("/proc/self/gid_map", &format!("{group} {group} 1"))
}

#[expect(
    deprecated,
    reason = "the other form is unsafe because of shared tables of descriptors, and this process has one thread"
)]
fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    rustix::thread::unshare(flags)
}

fn write_proc(path: &str, text: &str) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty())?;
    rustix::io::write(file, text.as_bytes()).map(drop)
}

fn mount_points() -> Result<Vec<MountPoint>, ViewError> {
    let listing = read_proc("/proc/self/mountinfo").unwrap_or_default();
    if listing.is_empty() || listing.len() >= MOST_READ {
        return Err(ViewError::Unlisted);
    }
    let lines = listing.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(mount_point).collect())
}

/// Reads a line of the kernel's list: its fifth field is the path, its sixth the options.
fn mount_point(line: &[u8]) -> Option<MountPoint> {
    let mut fields = line.split(|byte| *byte == b' ');
    let path = unescaped(fields.nth(4)?);
    let options: Vec<&[u8]> = fields.next()?.split(|byte| *byte == b',').collect();
    let mut flags = MountFlags::empty();
    for (name, flag) in [
        ("nosuid", MountFlags::NOSUID),
        ("nodev", MountFlags::NODEV),
        ("noexec", MountFlags::NOEXEC),
    ] {
        if options.contains(&name.as_bytes()) {
            flags |= flag;
        }
    }
    Some(MountPoint {
        path: PathBuf::from(OsStr::from_bytes(&path)),
        flags,
        is_read_only: options.contains(&b"ro".as_slice()),
    })
}

/// A path of the list, in which blanks and the like are a backslash and three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = match escaped {
            Some(_) => after.get(3..).unwrap_or_default(),
            None => after,
        };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_is_read_with_its_blanks_and_flags() {
        let line =
            br"36 35 98:0 /mnt1 /mnt\0402\134x ro,nosuid,noatime master:1 - ext3 /dev/root rw";
        let mount = mount_point(line).unwrap();
        assert_eq!(mount.path, Path::new(r"/mnt 2\x"));
        assert_eq!(mount.flags, MountFlags::NOSUID);
        assert!(mount.is_read_only);
        let other = mount_point(b"1 0 0:1 / / rw,nodev,noexec - tmpfs t rw").unwrap();
        assert_eq!(other.flags, MountFlags::NODEV | MountFlags::NOEXEC);
        assert!(!other.is_read_only);
        assert!(mount_point(b"").is_none());
    }
}
