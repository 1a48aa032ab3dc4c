//! What exports wrote into a folder: a line with digest and path for each file.
//!
//! A file is Grove's if it is what a record says, and nobody else's: a mark in it can be copied along with it.

use std::collections::BTreeMap;
use std::path::Path;

use grove_catalog::Digest;
use grove_fs::files;
use grove_spec::generated;

/// The name of a record in its folder.
pub(super) const NAME: &str = ".grove-export";
/// The largest record that is read.
const MAX_BYTES: u64 = 8 << 20;

/// Files below a folder by their paths from where is exported to, with the digest of each.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) files: BTreeMap<String, String>,
}

impl Record {
    pub(super) fn path(folder: &str) -> String {
        format!("{folder}/{NAME}")
    }

    /// The record of a folder; an empty one where there is none.
    pub(super) fn read(out: &Path, folder: &str) -> Self {
        let text = files::read_bounded(&out.join(Self::path(folder)), MAX_BYTES).ok();
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(text) = text.filter(|text| generated::is_marked(text)) else {
            return Self::default();
        };
        let below = format!("{folder}/");
        // A record that somebody changed must not lead out of the folder.
        let stays =
            |path: &str| path.starts_with(&below) && !path.split('/').any(|part| part == "..");
        let lines = text.lines().skip(1).filter_map(|line| line.split_once(' '));
        let files = lines.filter(|(_, path)| stays(path));
        Self {
            files: files
                .map(|(digest, path)| (path.to_owned(), digest.to_owned()))
                .collect(),
        }
    }

    /// Whether bytes are those that were written to a path.
    pub(super) fn has(&self, path: &str, bytes: &[u8]) -> bool {
        let digest = self.files.get(path);
        digest.is_some_and(|digest| *digest == Digest::of(bytes).to_string())
    }

    pub(super) fn insert(&mut self, path: &str, bytes: &[u8]) {
        let digest = Digest::of(bytes).to_string();
        self.files.insert(path.to_owned(), digest);
    }

    /// As it is written; nothing where it has nothing.
    pub(super) fn text(&self) -> Option<String> {
        if self.files.is_empty() {
            return None;
        }
        let mark = generated::mark("what the files that it lists were made from");
        let lines = self.files.iter();
        let lines = lines.map(|(path, digest)| format!("{digest} {path}"));
        let lines: Vec<String> = std::iter::once(mark).chain(lines).collect();
        Some(format!("{}\n", lines.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_is_written_and_leads_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::default();
        assert_eq!(record.text(), None);
        record.insert("a/s/SKILL.md", b"one");
        record.insert("a/s/x y.md", b"two");
        files::make_folder(&folder.path().join("a/s")).unwrap();
        let text = record.text().unwrap();
        let file = folder.path().join("a/s").join(NAME);
        grove_fs::atomic::write_mode(&file, text.as_bytes(), 0o644).unwrap();
        assert_eq!(Record::read(folder.path(), "a/s"), record);
        assert!(record.has("a/s/x y.md", b"two") && !record.has("a/s/x y.md", b"one"));

        let more = "0 a/s/../../x\n0 b/s/x\n0 a/s\n";
        grove_fs::atomic::write_mode(&file, format!("{text}{more}").as_bytes(), 0o644).unwrap();
        assert_eq!(Record::read(folder.path(), "a/s"), record);
    }
}
