//! Files that only grow, up to a bound.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::error::FsError;

const LONGEST_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct AppendedFile {
    file: File,
    path: PathBuf,
    left: u64,
}

impl AppendedFile {
    /// Opens a file that is the user's alone, making it and its folders. `most` is the length that it may reach.
    pub fn open(path: &Path, most: u64) -> Result<Self, FsError> {
        let fail = |error: std::io::Error| FsError::new("open", path, error);
        if let Some(folder) = path.parent() {
            crate::files::make_folder(folder)?;
        }
        let file = own_file().open(path).map_err(fail)?;
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

    pub fn into_stdio(self) -> std::process::Stdio {
        self.file.into()
    }
}

/// A file that another process appends lines to, read as it grows.
#[derive(Debug)]
pub struct GrowingFile {
    file: File,
    /// The beginning of a line whose end has not come.
    rest: Vec<u8>,
    /// Set if the bytes up to the next end of a line belong to a line whose beginning is not read.
    is_inside_line: bool,
}

const PORTION: u64 = 1 << 20;

impl GrowingFile {
    /// Opens a file; none when it is not there yet.
    pub fn open(path: &Path) -> Option<Self> {
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path);
        let rest = Vec::new();
        file.ok().map(|file| Self {
            file,
            rest,
            is_inside_line: false,
        })
    }

    /// The same, from the first line on that begins in its last bytes.
    pub fn open_near_end(path: &Path, most: u64) -> Option<Self> {
        let mut opened = Self::open(path)?;
        let size = opened.file.metadata().map_or(0, |about| about.len());
        if let Some(start) = size.checked_sub(most).filter(|start| *start > 0) {
            // The byte before tells whether a line begins there.
            opened.file.seek(SeekFrom::Start(start - 1)).ok()?;
            opened.is_inside_line = true;
        }
        Some(opened)
    }

    /// The time since it was last written to, in milliseconds.
    pub fn age_ms(&self) -> u64 {
        let written = self.file.metadata().and_then(|about| about.modified());
        let age = written.ok().and_then(|at| at.elapsed().ok());
        age.map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
    }

    /// The whole lines that came since the last time, some of them when there are many.
    pub fn lines(&mut self) -> Vec<String> {
        let mut read = (&self.file).take(PORTION);
        // Bytes that cannot be read now may be read the next time.
        let _ = read.read_to_end(&mut self.rest);
        if self.is_inside_line {
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            self.is_inside_line = end.is_none();
            let passed = end.map_or(self.rest.len(), |end| end + 1);
            self.rest.drain(..passed);
        }
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

/// Gives a file that only grows the content that it should have: it is cut off before the first line that differs, and
/// what is missing is added. One process at a time does so.
pub fn complete(path: &Path, wanted: &[u8]) -> Result<(), FsError> {
    let fail = |error: std::io::Error| FsError::new("write", path, error);
    if let Some(folder) = path.parent() {
        crate::files::make_folder(folder)?;
    }
    let _lock = crate::lock::Lock::take(path, LONGEST_WAIT)?;
    let mut file = own_file().read(true).open(path).map_err(fail)?;
    let mut there = Vec::new();
    let most = (wanted.len() as u64).saturating_add(1);
    std::io::Read::by_ref(&mut file)
        .take(most)
        .read_to_end(&mut there)
        .map_err(fail)?;
    let pairs = there.iter().zip(wanted);
    let same = pairs.take_while(|(there, wanted)| there == wanted).count();
    let begun = there.get(..same).unwrap_or_default();
    let whole = begun.iter().rposition(|byte| *byte == b'\n');
    let kept = whole.map_or(0, |at| at + 1);
    let size = file.metadata().map_err(fail)?.len();
    if size > kept as u64 {
        file.set_len(kept as u64).map_err(fail)?;
    }
    let missing = wanted.get(kept..).unwrap_or_default();
    if !missing.is_empty() {
        file.write_all(missing).map_err(fail)?;
    }
    file.sync_data().map_err(fail)
}

/// The options to open a file that is the user's alone and grows at its end.
fn own_file() -> OpenOptions {
    // A link or a pipe that another process put there must not be followed or waited for.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let mut options = File::options();
    options
        .append(true)
        .create(true)
        .custom_flags(flags)
        .mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_completed_from_every_point_at_which_its_writer_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let wanted = b"{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n";
        for cut in 0..=wanted.len() {
            std::fs::write(&path, &wanted[..cut]).unwrap();
            complete(&path, wanted).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), wanted, "cut at {cut}");
        }
        // Bytes that another process wrote behind it or into it go.
        for wrong in [
            &b"{\"a\":1}\nx\n{\"c\":3}\n"[..],
            b"no\n",
            &[&wanted[..], b"more\n"].concat(),
        ] {
            std::fs::write(&path, wrong).unwrap();
            complete(&path, wanted).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), wanted);
        }
        // The counter-case: what is right is not written again.
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        complete(&path, wanted).unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().modified().unwrap(),
            before
        );
    }

    #[test]
    fn of_a_long_file_the_last_whole_lines_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "one\ntwo\nthree\nfo").unwrap();
        let expected = |most: u64| match most {
            ..8 => vec![],
            8..12 => vec!["three"],
            12..16 => vec!["two", "three"],
            _ => vec!["one", "two", "three"],
        };
        for most in 2..20 {
            let mut read = GrowingFile::open_near_end(&path, most).unwrap();
            assert_eq!(read.lines(), expected(most), "{most}");
            let mut written = AppendedFile::open(&path, 99).unwrap();
            written.append(b"ur\n").unwrap();
            assert_eq!(read.lines(), ["four"], "{most}");
            std::fs::write(&path, "one\ntwo\nthree\nfo").unwrap();
        }
    }

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
