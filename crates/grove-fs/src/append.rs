//! Files that only grow, up to a bound.

use std::fs::File;
use std::io::Write as _;
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
