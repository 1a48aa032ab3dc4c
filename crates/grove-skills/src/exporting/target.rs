//! The files of an export beside those that are there.
//!
//! Everything is read, written and removed beneath the folder that is exported to, through held descriptors: no link
//! below it is followed, also not one that appears in the moment between a check and a write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use grove_catalog::Digest;
use grove_catalog::hosts::ExportRules;
use grove_fs::atomic::ReplaceOutcome;
use grove_fs::file_place::FilePlace;
use grove_fs::undo::{PathAfter, UndoRecording};
use grove_fs::{FsError, atomic, files};
use grove_spec::{Code, Diagnostic, generated};

use super::record::{self, ExportRecord};
use super::{ExportRequest, ExportResult, ExportedFileState};

const MAX_BYTES: u64 = 64 << 20;
/// Entries of a folder that are looked at for what an earlier export left.
const MAX_ENTRIES: usize = 10_000;

pub(super) struct ExportTarget {
    out: PathBuf,
    agents: String,
    ending: String,
    skills: String,
    files: BTreeMap<String, PlannedFile>,
    agent_files: Vec<String>,
    skill_files: BTreeMap<String, Vec<String>>,
}

/// Addresses of agents and skills that are there but cannot be used as they are: the files made from them stay.
#[derive(Debug, Default)]
pub(super) struct UnusableAddresses {
    pub(super) agents: BTreeSet<String>,
    pub(super) skills: BTreeSet<String>,
}

struct PlannedFile {
    bytes: Vec<u8>,
    is_executable: bool,
}

impl PlannedFile {
    fn of_record(text: String) -> Self {
        Self {
            bytes: text.into_bytes(),
            is_executable: false,
        }
    }
}

impl ExportTarget {
    pub(super) fn new(out: &Path, rules: &ExportRules) -> Self {
        Self {
            out: out.to_path_buf(),
            agents: rules.agents.clone(),
            ending: rules.ending.clone(),
            skills: rules.skills.clone(),
            files: BTreeMap::new(),
            agent_files: Vec::new(),
            skill_files: BTreeMap::new(),
        }
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Returns true if a file at this place would be the one at the location.
    pub(super) fn is_at(&self, path: &str, location: &Path) -> bool {
        match (
            files::canonical(&self.out.join(path)),
            files::canonical(location),
        ) {
            (Ok(there), Ok(location)) => there == location,
            _ => false,
        }
    }

    pub(super) fn put_agent(&mut self, path: String, text: String) {
        self.agent_files.push(path.clone());
        self.put(path, text.into_bytes(), false);
    }

    pub(super) fn put_skill(&mut self, folder: &str, text: String) {
        self.put_resource(folder, "SKILL.md", text.into_bytes(), false);
    }

    pub(super) fn put_resource(
        &mut self,
        folder: &str,
        name: &str,
        bytes: Vec<u8>,
        is_executable: bool,
    ) {
        let path = format!("{folder}/{name}");
        let files = self.skill_files.entry(folder.to_owned()).or_default();
        files.push(path.clone());
        self.put(path, bytes, is_executable);
    }

    fn put(&mut self, path: String, bytes: Vec<u8>, is_executable: bool) {
        let planned = PlannedFile {
            bytes,
            is_executable,
        };
        self.files.insert(path, planned);
    }

    /// Compares with what is there, writes what differs and removes what an earlier export left.
    pub(super) fn settle(
        mut self,
        request: &ExportRequest,
        held: &UnusableAddresses,
        recording: &UndoRecording,
        exported: &mut ExportResult,
    ) -> Result<(), FsError> {
        let mut stale = Vec::new();
        let mut records = self.settled(&mut stale, request, held, exported);
        let agents = std::mem::take(&mut self.agent_files);
        let mut folders: Vec<(String, Vec<String>)> = vec![(self.agents.clone(), agents)];
        folders.extend(std::mem::take(&mut self.skill_files));
        let mut writings = Vec::new();
        for (folder, paths) in folders {
            let mut record = records.remove(&folder).unwrap_or_default();
            let own = self.own_file(&folder);
            let is_closed =
                own.is_some_and(|own| self.state(&own, &record) == ExportedFileState::NotOurs);
            for path in paths {
                let Some(planned) = self.files.get(&path) else {
                    continue;
                };
                let state = if is_closed {
                    ExportedFileState::NotOurs
                } else {
                    self.compare(&path, planned, &record)
                };
                if state == ExportedFileState::NotOurs {
                    if !is_closed || path.ends_with("/SKILL.md") {
                        exported.diagnostics.push(not_ours(&self.out.join(&path)));
                    }
                } else {
                    record.insert(&path, &planned.bytes);
                }
                if matches!(state, ExportedFileState::New | ExportedFileState::Changed) {
                    writings.push((path.clone(), planned));
                }
                exported.files.push((path, state));
            }
            if !is_closed {
                records.insert(folder, record);
            }
        }
        for (folder, record) in &records {
            self.report_record(folder, record, request, exported);
        }
        if !request.is_dry {
            let announced = self.announced(&records, &writings, &stale);
            self.keep(recording, &records, &writings, &stale, &announced)?;
            files::make_folder(&self.out)?;
            for (path, planned) in &announced {
                self.write(path, planned)?;
            }
            for (path, planned) in &writings {
                self.write(path, planned)?;
            }
            for path in &stale {
                self.remove(path)?;
            }
        }
        let state = if request.is_dry {
            ExportedFileState::Stale
        } else {
            ExportedFileState::Removed
        };
        exported
            .files
            .extend(stale.into_iter().map(|path| (path, state)));
        if !request.is_dry {
            for (folder, record) in &records {
                self.settle_record(folder, record)?;
            }
        }
        Ok(())
    }

    /// Keeps the present files for undoing, before anything is written.
    fn keep(
        &self,
        recording: &UndoRecording,
        records: &BTreeMap<String, ExportRecord>,
        writings: &[(String, &PlannedFile)],
        stale: &[String],
        announced: &[(String, PlannedFile)],
    ) -> Result<(), FsError> {
        let settled = records.iter();
        let settled: Vec<(String, Option<String>)> = settled
            .map(|(folder, record)| (ExportRecord::path(folder), record.text()))
            .filter(|(path, _)| self.may_replace_record(path))
            .collect();
        let written = writings.iter().map(|(path, planned)| (path, *planned));
        let announced = announced.iter().map(|(path, planned)| (path, planned));
        let written = announced.chain(written);
        let written = written.map(|(path, planned)| (path, PathAfter::File(&planned.bytes)));
        let removed = stale.iter().map(|path| (path, PathAfter::Nothing));
        let settled = settled.iter().map(|(path, text)| {
            let after = text.as_ref().map(|text| PathAfter::File(text.as_bytes()));
            (path, after.unwrap_or(PathAfter::Nothing))
        });
        let all = written.chain(removed).chain(settled);
        let all: Vec<_> = all
            .map(|(path, after)| (self.out.join(path), after))
            .collect();
        let all: Vec<_> = all.iter().map(|(path, after)| (&**path, *after)).collect();
        recording.keep(&all)
    }

    /// The records with what is about to be written, beside what is there until then.
    fn announced(
        &self,
        records: &BTreeMap<String, ExportRecord>,
        writings: &[(String, &PlannedFile)],
        stale: &[String],
    ) -> Vec<(String, PlannedFile)> {
        let mut announced = Vec::new();
        for (folder, record) in records {
            let below = format!("{folder}/");
            let is_in = |path: &String| path.starts_with(&below);
            let mut written = writings.iter().map(|(path, _)| path).chain(stale);
            if !written.any(is_in) {
                continue;
            }
            let mut both = self.record(folder);
            both.add(record);
            let path = ExportRecord::path(folder);
            if let Some(text) = both.text().filter(|_| self.may_replace_record(&path)) {
                announced.push((path, PlannedFile::of_record(text)));
            }
        }
        announced
    }

    /// Returns true if nothing, or a record, is where a record belongs.
    fn may_replace_record(&self, path: &str) -> bool {
        self.source_of(path).is_some() || matches!(self.read(path), Ok(None))
    }

    /// The records of all folders without what an earlier export left, which goes to `stale`.
    fn settled(
        &self,
        stale: &mut Vec<String>,
        request: &ExportRequest,
        held: &UnusableAddresses,
        exported: &mut ExportResult,
    ) -> BTreeMap<String, ExportRecord> {
        let mut records = BTreeMap::new();
        let mut folders: BTreeSet<String> = self.skill_files.keys().cloned().collect();
        if request.is_whole {
            let names = files::list(&self.out.join(&self.skills), MAX_ENTRIES).unwrap_or_default();
            let names = names.into_iter().filter(|(_, is_folder)| *is_folder);
            folders.extend(names.map(|(name, _)| format!("{}/{name}", self.skills)));
            self.find_copies(&folders, exported);
        }
        let mut agents = self.record(&self.agents);
        let mut is_held = false;
        agents.files.retain(|path, digest| {
            let keeps = self.has(path) || (!request.is_whole && self.is_there(path));
            if !keeps && self.is_there(path) && self.is_from(path, &held.agents) {
                is_held = true;
                return true;
            }
            keeps || self.leave(path, digest, stale, exported)
        });
        records.insert(self.agents.clone(), agents);
        for folder in folders {
            let mut record = self.record(&folder);
            let own = format!("{folder}/SKILL.md");
            // The skills of an agent that cannot be read are not known.
            let is_kept = !self.has(&own) && (is_held || self.is_from(&own, &held.skills));
            record.files.retain(|path, digest| {
                is_kept || self.has(path) || self.leave(path, digest, stale, exported)
            });
            records.insert(folder, record);
        }
        records
    }

    fn record(&self, folder: &str) -> ExportRecord {
        let place = self.existing(&ExportRecord::path(folder));
        let read = place.and_then(|place| place.read(record::MAX_BYTES));
        read.map_or_else(
            |_| ExportRecord::default(),
            |bytes| ExportRecord::read(bytes, folder),
        )
    }

    fn existing(&self, path: &str) -> Result<FilePlace, FsError> {
        FilePlace::existing(&self.out, Path::new(path))
    }

    /// The content of a plain file; none where nothing is. A link on the way is an error.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, FsError> {
        match self.existing(path).and_then(|place| place.read(MAX_BYTES)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_there(&self, path: &str) -> bool {
        !matches!(self.read(path), Ok(None))
    }

    fn source_of(&self, path: &str) -> Option<String> {
        let text = String::from_utf8(self.read(path).ok()??).ok()?;
        generated::source_of(&text).map(str::to_owned)
    }

    fn is_from(&self, path: &str, addresses: &BTreeSet<String>) -> bool {
        let source = self.source_of(path);
        source.is_some_and(|source| addresses.contains(&source))
    }

    /// The file of a skill's folder without which nothing else in it is Grove's.
    fn own_file(&self, folder: &str) -> Option<String> {
        let own = format!("{folder}/SKILL.md");
        (folder != self.agents && self.has(&own)).then_some(own)
    }

    fn state(&self, path: &str, record: &ExportRecord) -> ExportedFileState {
        let planned = self.files.get(path);
        planned.map_or(ExportedFileState::Same, |planned| {
            self.compare(path, planned, record)
        })
    }

    /// Writes a file that is new, or in the place of what was read there a moment ago.
    fn write(&self, path: &str, planned: &PlannedFile) -> Result<(), FsError> {
        let mode = if planned.is_executable { 0o755 } else { 0o644 };
        let place = FilePlace::beneath(&self.out, Path::new(path))?;
        match self.read(path)? {
            None => atomic::create_at(&place, &planned.bytes, Some(mode)),
            Some(before) => {
                match atomic::replace_with_mode(&place, &before, &planned.bytes, mode)? {
                    ReplaceOutcome::Done => Ok(()),
                    ReplaceOutcome::Changed => {
                        let error = std::io::Error::other("another program changed it just now");
                        Err(FsError::new("write", place.path(), error))
                    }
                }
            }
        }
    }

    fn report_record(
        &self,
        folder: &str,
        record: &ExportRecord,
        request: &ExportRequest,
        exported: &mut ExportResult,
    ) {
        let path = ExportRecord::path(folder);
        let state = match record.text() {
            Some(text) => {
                let planned = PlannedFile::of_record(text);
                match self.compare(&path, &planned, &ExportRecord::default()) {
                    ExportedFileState::NotOurs if self.may_replace_record(&path) => {
                        ExportedFileState::Changed
                    }
                    state => state,
                }
            }
            None if self.source_of(&path).is_none() => return,
            None if request.is_dry => ExportedFileState::Stale,
            None => ExportedFileState::Removed,
        };
        if state == ExportedFileState::NotOurs {
            exported.diagnostics.push(not_ours(&self.out.join(&path)));
        }
        exported.files.push((path, state));
    }

    /// Writes what a folder has from now on, and removes a record of nothing.
    fn settle_record(&self, folder: &str, record: &ExportRecord) -> Result<(), FsError> {
        let path = ExportRecord::path(folder);
        if !self.may_replace_record(&path) {
            return Ok(());
        }
        match record.text().map(PlannedFile::of_record) {
            None if self.is_there(&path) => self.remove(&path),
            Some(planned) if !matches!(self.read(&path), Ok(Some(there)) if there == planned.bytes) => {
                self.write(&path, &planned)
            }
            _ => Ok(()),
        }
    }

    fn compare(
        &self,
        path: &str,
        planned: &PlannedFile,
        record: &ExportRecord,
    ) -> ExportedFileState {
        let there = match self.read(path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return ExportedFileState::New,
            Err(_) => return ExportedFileState::NotOurs,
        };
        let mode = self.existing(path).and_then(|place| place.mode());
        let is_executable = mode.is_ok_and(|mode| mode & 0o111 != 0);
        let is_same = there == planned.bytes;
        if is_same && is_executable == planned.is_executable {
            ExportedFileState::Same
        } else if is_same || record.has(path, &there) {
            ExportedFileState::Changed
        } else {
            ExportedFileState::NotOurs
        }
    }

    /// A file of an earlier export that is no part of this one: stale if it is still what was written. Says whether
    /// it stays in the record.
    fn leave(
        &self,
        path: &str,
        digests: &BTreeSet<String>,
        stale: &mut Vec<String>,
        exported: &mut ExportResult,
    ) -> bool {
        match self.read(path) {
            Ok(Some(bytes)) if digests.contains(&Digest::of(&bytes).to_string()) => {
                stale.push(path.to_owned());
                false
            }
            Ok(Some(_)) => {
                let finding = not_ours(&self.out.join(path));
                exported.diagnostics.push(finding);
                true
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// Reports files that carry the mark without being in a record: copies whose makers may not know the mark.
    fn find_copies(&self, folders: &BTreeSet<String>, exported: &mut ExportResult) {
        let names = files::list(&self.out.join(&self.agents), MAX_ENTRIES).unwrap_or_default();
        let names = names.into_iter().filter(|(_, is_folder)| !is_folder);
        let agents = names.map(|(name, _)| (format!("{}/{name}", self.agents), &self.agents));
        let agents = agents.filter(|(path, _)| path.ends_with(&self.ending));
        let skills = folders
            .iter()
            .map(|folder| (format!("{folder}/SKILL.md"), folder));
        for (path, folder) in agents.chain(skills) {
            let is_known = self.has(&path) || self.record(folder).files.contains_key(&path);
            if !is_known && self.source_of(&path).is_some() {
                let finding = not_ours(&self.out.join(&path));
                exported.diagnostics.push(finding.with_help(
                    "if it is yours, remove the comment that says it was generated; otherwise remove the file",
                ));
            }
        }
    }

    /// Removes a file and the folders that are empty without it, up to the host's own.
    fn remove(&self, path: &str) -> Result<(), FsError> {
        if let Some(bytes) = self.read(path)? {
            self.existing(path)?.remove_same(&bytes)?;
        }
        let mut rest = path;
        while let Some((folder, _)) = rest.rsplit_once('/') {
            let is_hosts = [&self.agents, &self.skills]
                .into_iter()
                .any(|own| own == folder);
            if is_hosts || !FilePlace::remove_empty_folder(&self.out, Path::new(folder)) {
                break;
            }
            rest = folder;
        }
        Ok(())
    }
}

fn not_ours(path: &Path) -> Diagnostic {
    let message = "not written by Grove, or changed since, so it was left alone";
    Diagnostic::new(Code::ExportNotOurs, message).in_file(path)
}
