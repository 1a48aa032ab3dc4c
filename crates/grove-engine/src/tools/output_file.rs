//! The whole output of a command that is too long for a model, in a file that the child may read.

use std::path::{Path, PathBuf};

use grove_fs::append::AppendedFile;
use grove_model::{SHORTEST_MASKED, Secret};

/// The most bytes of an output that the model gets in full, without a file.
const MOST_WITHOUT: usize = 48 << 10;
/// The most bytes of a file, which are also the most that the child can read of it.
const MOST: u64 = 8 << 20;
const MASK: &[u8] = b"***";

/// An output while it comes. Secrets are struck out before anything is written, even if one comes in several pieces.
pub(super) struct OutputFile<'a> {
    folder: &'a Path,
    secrets: Vec<&'a [u8]>,
    /// The bytes that are not written yet: all of a short output, and as many as may be the beginning of a secret.
    held: Vec<u8>,
    file: Option<(AppendedFile, PathBuf)>,
}

impl<'a> OutputFile<'a> {
    pub(super) fn new(folder: &'a Path, secrets: &'a [Secret]) -> Self {
        let secrets = secrets.iter().map(|secret| secret.reveal().as_bytes());
        Self {
            folder,
            secrets: secrets.filter(|it| it.len() >= SHORTEST_MASKED).collect(),
            held: Vec::new(),
            file: None,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        if self.file.is_some() || self.held.len() > MOST_WITHOUT {
            let longest = self.secrets.iter().map(|secret| secret.len()).max();
            self.write(longest.map_or(0, |longest| longest - 1));
        }
    }

    /// Writes the rest; returns the file, if there is one.
    pub(super) fn finish(mut self) -> Option<PathBuf> {
        self.file.as_ref()?;
        self.write(0);
        self.file.map(|(_, path)| path)
    }

    /// Writes all but so many bytes. An error is not reported: a file that cannot be made is not named to the model.
    fn write(&mut self, keep: usize) {
        for secret in &self.secrets {
            while let Some(at) = position(&self.held, secret) {
                self.held
                    .splice(at..at + secret.len(), MASK.iter().copied());
            }
        }
        if self.file.is_none() {
            let n = grove_fs::files::list(self.folder, usize::MAX).map_or(0, |names| names.len());
            let path = self.folder.join(format!("{n}.txt"));
            self.file = AppendedFile::open(&path, MOST)
                .ok()
                .map(|file| (file, path));
        }
        let rest = self.held.split_off(self.held.len().saturating_sub(keep));
        if let Some((file, _)) = &mut self.file {
            let _ = file.append(&self.held);
        }
        self.held = rest;
    }
}

fn position(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_is_whole_in_its_file_without_secrets_and_a_short_one_has_none() {
        let secrets = [Secret::new("sk-marker-1234")];
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("outputs");
        let text = "0123456789 sk-marker-1234 ".repeat(3_000);
        for chunk in [1_000, 4_096, 49_153, text.len()] {
            let mut output = OutputFile::new(&folder, &secrets);
            for part in text.as_bytes().chunks(chunk) {
                output.push(part);
            }
            let path = output.finish().unwrap();
            let written = grove_fs::files::read_bounded(&path, MOST).unwrap();
            let expected = text.replace("sk-marker-1234", "***");
            assert!(written == expected.as_bytes(), "{chunk}");
        }
        let mut short = OutputFile::new(&folder, &secrets);
        short.push(b"a few words");
        assert_eq!(short.finish(), None);
    }
}
