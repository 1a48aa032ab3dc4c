//! The texts of pinned files as they were trusted, so that a later review can show what changed in them.
//!
//! Kept by digest in the state folder, readable by the user alone. Settings are never kept: any line of theirs may be a
//! secret. A file whose text is not kept is only said to have changed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use grove_catalog::Digest;
use grove_fs::{FsError, atomic, cache_file, files};

const MAX_TEXT: u64 = 256 * 1024;
const MAX_BYTES: usize = 32 << 20;
const MAX_TEXTS: usize = 20_000;

pub(super) struct SeenTexts {
    folder: PathBuf,
}

impl SeenTexts {
    pub(super) fn new(state: &Path) -> Self {
        Self {
            folder: state.join("trusted-texts"),
        }
    }

    pub(super) fn get(&self, digest: &str) -> Option<String> {
        text_of(&self.file_of(digest)?, digest)
    }

    pub(super) fn keep<'a>(
        &self,
        all: impl Iterator<Item = (PathBuf, &'a str)>,
    ) -> Result<(), FsError> {
        let mut bytes_left = MAX_BYTES;
        for (path, digest) in all {
            let Some(file) = self.file_of(digest).filter(|file| !files::is_there(file)) else {
                continue;
            };
            if let Some(text) = text_of(&path, digest)
                && let Some(left) = bytes_left.checked_sub(text.len())
            {
                bytes_left = left;
                atomic::write_mode(&file, text.as_bytes(), 0o600)?;
            }
        }
        cache_file::forget(&self.folder, MAX_TEXTS, Duration::ZERO, |_| true);
        Ok(())
    }

    fn file_of(&self, digest: &str) -> Option<PathBuf> {
        let digest: Digest = digest.parse().ok()?;
        Some(self.folder.join(digest.to_string()))
    }
}

/// The text of a file if it is a text and has the digest, which proves the file whatever path leads to it.
pub(super) fn text_of(file: &Path, digest: &str) -> Option<String> {
    let bytes = files::read_bounded(file, MAX_TEXT).ok()?;
    let is_same = Digest::of(&bytes).to_string() == digest;
    String::from_utf8(bytes).ok().filter(|_| is_same)
}
