//! The files of an export beside those that are there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use grove_catalog::Digest;
use grove_catalog::hosts::ExportRules;
use grove_fs::{FsError, atomic, files};
use grove_spec::{Code, Diagnostic, generated};

use super::{ExportRequest, Exported, FileState};

/// In a skill's folder, what else Grove wrote there: a line with digest and path for each file.
const RECORD: &str = ".grove-export";
/// The largest file that is compared.
const MAX_BYTES: u64 = 64 << 20;
/// Entries of a folder that are looked at for what an earlier export left.
const MAX_ENTRIES: usize = 10_000;

pub(super) struct Target {
    out: PathBuf,
    agents: String,
    ending: String,
    skills: String,
    files: BTreeMap<String, Planned>,
    /// Folders of skills.
    folders: BTreeSet<String>,
}

struct Planned {
    bytes: Vec<u8>,
    is_executable: bool,
    /// The skill's folder for what cannot carry the mark.
    folder: Option<String>,
}

impl Target {
    pub(super) fn new(out: &Path, rules: &ExportRules) -> Self {
        Self {
            out: out.to_path_buf(),
            agents: rules.agents.clone(),
            ending: rules.ending.clone(),
            skills: rules.skills.clone(),
            files: BTreeMap::new(),
            folders: BTreeSet::new(),
        }
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Whether a file at this place would be the one that is there.
    pub(super) fn is_at(&self, path: &str, location: &Path) -> bool {
        match (
            files::canonical(&self.out.join(path)),
            files::canonical(location),
        ) {
            (Ok(there), Ok(location)) => there == location,
            _ => false,
        }
    }

    pub(super) fn put_marked(&mut self, path: String, text: String) {
        self.files.insert(
            path,
            Planned {
                bytes: text.into_bytes(),
                is_executable: false,
                folder: None,
            },
        );
    }

    pub(super) fn put_skill(&mut self, folder: String, text: String) {
        self.put_marked(format!("{folder}/SKILL.md"), text);
        self.folders.insert(folder);
    }

    pub(super) fn put_resource(
        &mut self,
        folder: &str,
        name: &str,
        bytes: Vec<u8>,
        is_executable: bool,
    ) {
        self.files.insert(
            format!("{folder}/{name}"),
            Planned {
                bytes,
                is_executable,
                folder: Some(folder.to_owned()),
            },
        );
    }

    /// Compares with what is there, writes what differs and removes what an earlier export left.
    pub(super) fn settle(
        mut self,
        request: &ExportRequest,
        exported: &mut Exported,
    ) -> Result<(), FsError> {
        self.add_records();
        let mut stale = Vec::new();
        let mut closed = BTreeSet::new();
        let mut known = BTreeMap::new();
        for folder in &self.folders {
            if self.is_somebody_elses(&format!("{folder}/SKILL.md")) {
                closed.insert(folder.clone());
                continue;
            }
            let record = self.record(folder);
            let left = record.iter().filter(|(path, _)| !self.has(path));
            for (path, digest) in left {
                self.leave(path, digest, &mut stale, exported);
            }
            known.extend(record);
        }
        if request.is_whole {
            self.find_stale(&mut stale, exported);
        }
        let is_closed = |path: &str| {
            let mut closed = closed.iter();
            closed.any(|folder| {
                let rest = path.strip_prefix(folder.as_str());
                rest.is_some_and(|rest| rest.starts_with('/'))
            })
        };
        for (path, planned) in &self.files {
            let state = if is_closed(path) {
                FileState::NotOurs
            } else {
                self.compare(path, planned, &known)
            };
            if state == FileState::NotOurs && (!is_closed(path) || path.ends_with("/SKILL.md")) {
                exported.diagnostics.push(not_ours(&self.out.join(path)));
            }
            let is_written = matches!(state, FileState::New | FileState::Changed);
            if is_written && !request.is_dry {
                let mode = if planned.is_executable { 0o755 } else { 0o644 };
                atomic::write_mode(&self.out.join(path), &planned.bytes, mode)?;
            }
            exported.files.push((path.clone(), state));
        }
        for path in stale {
            if !request.is_dry {
                self.remove(&path)?;
            }
            exported.files.push((path, FileState::Stale));
        }
        Ok(())
    }

    /// Adds to each skill's folder the record of what cannot carry the mark.
    fn add_records(&mut self) {
        let mut records: BTreeMap<String, String> = BTreeMap::new();
        for (path, planned) in &self.files {
            if let Some(folder) = &planned.folder {
                let line = format!("{} {path}\n", Digest::of(&planned.bytes));
                records.entry(folder.clone()).or_default().push_str(&line);
            }
        }
        for (folder, lines) in records {
            let text = format!("{}\n{lines}", generated::mark("the skill's own folder"));
            self.put_marked(format!("{folder}/{RECORD}"), text);
        }
    }

    /// The files beside a skill's own that an earlier export wrote, with the digest of each.
    fn record(&self, folder: &str) -> BTreeMap<String, String> {
        let path = format!("{folder}/{RECORD}");
        let Some(text) = self.marked_text(&path) else {
            return BTreeMap::new();
        };
        let below = format!("{folder}/");
        let lines = text.lines().skip(1).filter_map(|line| line.split_once(' '));
        // A record that somebody changed must not lead out of the folder.
        let stays =
            |path: &str| path.starts_with(&below) && !path.split('/').any(|part| part == "..");
        lines
            .filter(|(_, path)| stays(path))
            .map(|(digest, path)| (path.to_owned(), digest.to_owned()))
            .chain([(path.clone(), Digest::of(text.as_bytes()).to_string())])
            .collect()
    }

    /// The text of a file that carries the mark.
    fn marked_text(&self, path: &str) -> Option<String> {
        if self.is_through_link(path) {
            return None;
        }
        let bytes = files::read_bounded(&self.out.join(path), MAX_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        generated::is_marked(&text).then_some(text)
    }

    /// Whether something stands at a place that does not carry the mark.
    fn is_somebody_elses(&self, path: &str) -> bool {
        let whole = self.out.join(path);
        (files::is_there(&whole) || files::is_link(&whole)) && self.marked_text(path).is_none()
    }

    /// Whether the way to a file, or the file itself, is a link: what is written there would be elsewhere.
    fn is_through_link(&self, path: &str) -> bool {
        let mut way = self.out.clone();
        path.split('/').any(|part| {
            way.push(part);
            files::is_link(&way)
        })
    }

    fn compare(
        &self,
        path: &str,
        planned: &Planned,
        known: &BTreeMap<String, String>,
    ) -> FileState {
        let whole = self.out.join(path);
        if self.is_through_link(path) {
            return FileState::NotOurs;
        }
        let there = match files::read_bounded(&whole, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return FileState::New,
            Err(_) => return FileState::NotOurs,
        };
        let is_executable = files::mode(&whole).is_ok_and(|mode| mode & 0o111 != 0);
        if there == planned.bytes && is_executable == planned.is_executable {
            return FileState::Same;
        }
        let is_marked = || std::str::from_utf8(&there).is_ok_and(generated::is_marked);
        let is_ours = match &planned.folder {
            Some(_) => {
                there == planned.bytes
                    || known
                        .get(path)
                        .is_some_and(|digest| *digest == Digest::of(&there).to_string())
            }
            None => is_marked(),
        };
        if is_ours {
            FileState::Changed
        } else {
            FileState::NotOurs
        }
    }

    /// A file of an earlier export that is no part of this one: stale if it is still what was written.
    fn leave(&self, path: &str, digest: &str, stale: &mut Vec<String>, exported: &mut Exported) {
        let whole = self.out.join(path);
        if self.is_through_link(path) {
            return;
        }
        match files::read_bounded(&whole, MAX_BYTES) {
            Ok(bytes) if Digest::of(&bytes).to_string() == digest => stale.push(path.to_owned()),
            Ok(_) => exported.diagnostics.push(not_ours(&whole)),
            Err(_) => {}
        }
    }

    /// Agents and skills that an earlier export made and this one does not.
    fn find_stale(&self, stale: &mut Vec<String>, exported: &mut Exported) {
        let names = |folder: &str| files::list(&self.out.join(folder), MAX_ENTRIES);
        for (name, is_folder) in names(&self.agents).unwrap_or_default() {
            let path = format!("{}/{name}", self.agents);
            let is_agent = !is_folder && name.ends_with(&self.ending) && !self.has(&path);
            if is_agent && self.marked_text(&path).is_some() {
                stale.push(path);
            }
        }
        for (name, is_folder) in names(&self.skills).unwrap_or_default() {
            let folder = format!("{}/{name}", self.skills);
            let path = format!("{folder}/SKILL.md");
            if !is_folder || self.has(&path) || self.marked_text(&path).is_none() {
                continue;
            }
            for (path, digest) in self.record(&folder) {
                self.leave(&path, &digest, stale, exported);
            }
            stale.push(path);
        }
    }

    /// Removes a file and the folders that are empty without it, up to the host's own.
    fn remove(&self, path: &str) -> Result<(), FsError> {
        files::remove(&self.out.join(path))?;
        let mut rest = path;
        while let Some((folder, _)) = rest.rsplit_once('/') {
            let is_hosts = [&self.agents, &self.skills]
                .into_iter()
                .any(|own| own == folder);
            if is_hosts || !files::remove_empty_folder(&self.out.join(folder)) {
                break;
            }
            rest = folder;
        }
        Ok(())
    }
}

fn not_ours(path: &Path) -> Diagnostic {
    let message = "not written by Grove, or changed since, and so left alone";
    Diagnostic::new(Code::ExportNotOurs, message).in_file(path)
}
