//! The record of files that exports wrote into a folder, or are about to write: a line with digest and path for each.
//!
//! A file is Grove's if it is what a record says, and for no other reason: a mark in it can be copied along with it.
//! Before anything is written a record has what is there and what will be, so that an export that is killed in between
//! leaves no file unrecorded.

use std::collections::{BTreeMap, BTreeSet};

use grove_catalog::Digest;
use grove_spec::generated;

pub(super) const NAME: &str = ".grove-export";
pub(super) const MAX_BYTES: u64 = 8 << 20;

/// Files below a folder by their paths from the target of the export, with the digests that each may have.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ExportRecord {
    pub(super) files: BTreeMap<String, BTreeSet<String>>,
}

impl ExportRecord {
    pub(super) fn path(folder: &str) -> String {
        format!("{folder}/{NAME}")
    }

    /// The record of a folder from its text; an empty one where that is none.
    pub(super) fn read(bytes: Vec<u8>, folder: &str) -> Self {
        let text = String::from_utf8(bytes).ok();
        let Some(text) = text.filter(|text| generated::is_marked(text)) else {
            return Self::default();
        };
        let below = format!("{folder}/");
        // A record that was changed by hand must not lead out of the folder.
        let stays =
            |path: &str| path.starts_with(&below) && !path.split('/').any(|part| part == "..");
        let lines = text.lines().skip(1).filter_map(|line| line.split_once(' '));
        let mut record = Self::default();
        for (digest, path) in lines.filter(|(_, path)| stays(path)) {
            let digests = record.files.entry(path.to_owned()).or_default();
            digests.insert(digest.to_owned());
        }
        record
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (path, digests) in &other.files {
            let known = self.files.entry(path.clone()).or_default();
            known.extend(digests.iter().cloned());
        }
    }

    pub(super) fn has(&self, path: &str, bytes: &[u8]) -> bool {
        let digests = self.files.get(path);
        digests.is_some_and(|digests| digests.contains(&Digest::of(bytes).to_string()))
    }

    pub(super) fn insert(&mut self, path: &str, bytes: &[u8]) {
        let digest = Digest::of(bytes).to_string();
        self.files.insert(path.to_owned(), [digest].into());
    }

    /// The text of its file; none where it lists nothing.
    pub(super) fn text(&self) -> Option<String> {
        if self.files.is_empty() {
            return None;
        }
        let mark = generated::mark("what the files that it lists were made from");
        let lines = self.files.iter();
        let lines = lines.flat_map(|(path, digests)| {
            digests.iter().map(move |digest| format!("{digest} {path}"))
        });
        let lines: Vec<String> = std::iter::once(mark).chain(lines).collect();
        Some(format!("{}\n", lines.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_is_written_and_leads_nowhere_else() {
        let mut record = ExportRecord::default();
        assert_eq!(record.text(), None);
        record.insert("a/s/SKILL.md", b"one");
        record.insert("a/s/x y.md", b"two");
        let text = record.text().unwrap();
        assert_eq!(ExportRecord::read(text.clone().into_bytes(), "a/s"), record);
        assert!(record.has("a/s/x y.md", b"two") && !record.has("a/s/x y.md", b"one"));

        let more = "0 a/s/../../x\n0 b/s/x\n0 a/s\n";
        assert_eq!(
            ExportRecord::read(format!("{text}{more}").into_bytes(), "a/s"),
            record
        );

        let mut next = ExportRecord::default();
        next.insert("a/s/x y.md", b"one");
        record.add(&next);
        let read = ExportRecord::read(record.text().unwrap().into_bytes(), "a/s");
        assert!(read.has("a/s/x y.md", b"two") && read.has("a/s/x y.md", b"one"));
    }
}
