//! Reading parts of a file that is replaced and never changed in place.
//!
//! An open one stays what it was when another process puts a new one in its place.

use std::fs::File;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::error::FsError;

/// A regular file of which parts are read.
#[derive(Debug)]
pub struct RangedFile {
    file: File,
    size: u64,
}

impl RangedFile {
    /// Opens a file; none when there is none.
    pub fn open(path: &Path) -> Result<Option<Self>, FsError> {
        let fail = |error: std::io::Error| FsError::new("read", path, error);
        let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = match std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(nonblock)
            .open(path)
        {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            done => done.map_err(fail)?,
        };
        let metadata = file.metadata().map_err(fail)?;
        if !metadata.is_file() {
            return Err(fail(std::io::Error::other("not a regular file")));
        }
        Ok(Some(Self {
            file,
            size: metadata.len(),
        }))
    }

    /// Its size when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Some of its bytes; none when it does not have them all.
    pub fn read(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let end = offset.checked_add(length as u64)?;
        if end > self.size {
            return None;
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_nothing_beyond_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        assert!(RangedFile::open(&path).unwrap().is_none());
        assert!(RangedFile::open(folder.path()).is_err());
        std::fs::write(&path, b"0123456789").unwrap();
        let file = RangedFile::open(&path).unwrap().unwrap();
        assert_eq!(file.size(), 10);
        assert_eq!(file.read(2, 3).unwrap(), b"234");
        assert_eq!(file.read(8, 3), None);
        assert_eq!(file.read(u64::MAX, 3), None);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, b"other").unwrap();
        assert_eq!(file.read(0, 2).unwrap(), b"01", "the old file stays open");
    }
}
