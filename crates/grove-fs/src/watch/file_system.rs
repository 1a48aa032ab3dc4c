//! The file systems that keep changes to themselves.

use std::path::Path;

/// The name of a folder's file system if it does not tell of every change: those that others write to from
/// elsewhere, and those that lay folders over one another.
pub(super) fn unreliable_file_system(folder: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(folder).ok()?.f_type;
    // The numbers are 32 bits wide whatever the field is.
    name_of((kind.cast_unsigned() & 0xffff_ffff) as u32)
}

fn name_of(kind: u32) -> Option<&'static str> {
    Some(match kind {
        0x6969 => "nfs",
        0x517b => "smb",
        0xff53_4d42 => "cifs",
        0xfe53_4d42 => "smb2",
        0x6573_5546 => "fuse",
        0x794c_7630 => "overlay",
        0x0102_1997 => "9p",
        0x00c3_6400 => "ceph",
        0x5346_414f => "afs",
        0x786f_4256 => "vboxsf",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernel() {
        // From include/uapi/linux/magic.h; ext4, btrfs, xfs and tmpfs tell of everything.
        for (kind, name) in [
            (0x6969, Some("nfs")),
            (0x6573_5546, Some("fuse")),
            (0x794c_7630, Some("overlay")),
            (0xef53, None),
            (0x9123_683e, None),
            (0x5846_5342, None),
            (0x0102_1994, None),
        ] {
            assert_eq!(name_of(kind), name, "{kind:x}");
        }
        assert_eq!(unreliable_file_system(Path::new("/proc")), None);
        assert_eq!(unreliable_file_system(Path::new("/nonexistent")), None);
    }
}
