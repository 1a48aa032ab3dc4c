//! Files that only grow, up to a bound.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::FsError;

/// A file that is written to at its end.
#[derive(Debug)]
pub struct AppendedFile {
    file: File,
    path: PathBuf,
    left: u64,
}

impl AppendedFile {
    /// Opens a file that is the user's alone, making it and its folders. `most` is how long it may become.
    pub fn open(path: &Path, most: u64) -> Result<Self, FsError> {
        let fail = |error: std::io::Error| FsError::new("open", path, error);
        if let Some(folder) = path.parent() {
            crate::files::make_folder(folder)?;
        }
        // A link or a pipe that somebody put there must not be followed or waited for.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let file = File::options()
            .append(true)
            .create(true)
            .custom_flags(flags)
            .mode(0o600)
            .open(path)
            .map_err(fail)?;
        let size = file.metadata().map_err(fail)?.len();
        Ok(Self {
            file,
            path: path.to_path_buf(),
            left: most.saturating_sub(size),
        })
    }

    /// Adds bytes in one write; nothing once the file is as long as it may be.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), FsError> {
        let length = bytes.len() as u64;
        if length > self.left {
            self.left = 0;
            return Ok(());
        }
        self.left -= length;
        let written = self.file.write_all(bytes);
        written.map_err(|error| FsError::new("write", &self.path, error))
    }

    /// The file as the stream of a process.
    pub fn into_stdio(self) -> std::process::Stdio {
        self.file.into()
    }
}

/// A file that somebody else appends lines to, read as it grows.
#[derive(Debug)]
pub struct GrowingFile {
    file: File,
    /// The beginning of a line whose end has not come.
    rest: Vec<u8>,
}

/// As much of a file is read at a time.
const PORTION: u64 = 1 << 20;

impl GrowingFile {
    /// Opens a file; none when it is not there yet.
    pub fn open(path: &Path) -> Option<Self> {
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path);
        let rest = Vec::new();
        file.ok().map(|file| Self { file, rest })
    }

    /// The whole lines that came since the last time, some of them when there are many.
    pub fn lines(&mut self) -> Vec<String> {
        let mut read = (&self.file).take(PORTION);
        // What cannot be read now may be read the next time.
        let _ = read.read_to_end(&mut self.rest);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        let rest = self.rest.split_off(end + 1);
        let whole = std::mem::replace(&mut self.rest, rest);
        String::from_utf8_lossy(&whole)
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_given_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/log");
        assert!(GrowingFile::open(&path).is_none());
        let mut written = AppendedFile::open(&path, 20).unwrap();
        let mut read = GrowingFile::open(&path).unwrap();
        written.append(b"one\ntw").unwrap();
        assert_eq!(read.lines(), ["one"]);
        assert_eq!(read.lines(), Vec::<String>::new());
        written.append(b"o\nthree\n").unwrap();
        assert_eq!(read.lines(), ["two", "three"]);
        written.append(b"beyond the bound\n").unwrap();
        assert_eq!(read.lines(), Vec::<String>::new());
    }
}
