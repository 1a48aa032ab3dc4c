//! Changes taken back, and made again. Undoing a change writes first what redoing it needs, so that a kill in between
//! leaves both records, and either can be carried out: paths that are as they are to be already are taken for done.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{
    KeptPath, MAX_BYTES, PathContent, StagedEntries, UNCHANGED, UNDONE, UndoRecord, content_at,
    file_name, numbers, read, take_lock, write,
};
use crate::atomic::{self, ReplaceOutcome};
use crate::error::FsError;
use crate::file_place::FilePlace;
use crate::files;
use crate::lock::Lock;

/// A change that can be taken back, or one that was undone and can be made again.
#[derive(Debug)]
pub struct UndoableChange {
    file: PathBuf,
    /// The record from which this can itself be taken back.
    opposite: PathBuf,
    /// The note of a command that changed nothing.
    unchanged: PathBuf,
    record: UndoRecord,
    contents: Vec<u8>,
    _lock: Lock,
}

#[derive(Debug, Clone)]
pub struct RememberedChange {
    pub command: String,
    pub age: Duration,
    pub files: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("{} was changed since", .0.display())]
    ChangedSince(PathBuf),
    #[error("{} is not a record of a change, or a later version wrote it", .0.display())]
    Unreadable(PathBuf),
    #[error(transparent)]
    Fs(#[from] FsError),
}

pub fn remembered(state: &Path) -> Result<Vec<RememberedChange>, UndoError> {
    let folder = state.join(super::FOLDER);
    let mut all = Vec::new();
    for number in numbers(&folder)?.into_iter().rev() {
        let file = folder.join(file_name(number));
        all.push(RememberedChange::of(&file, &read(&file)?.0));
    }
    Ok(all)
}

impl RememberedChange {
    fn of(file: &Path, record: &UndoRecord) -> Self {
        let is_folder = |there: &PathContent| matches!(there, PathContent::Folder { .. });
        let is_file = |kept: &&KeptPath| {
            let mut all = std::iter::once(&kept.before).chain(&kept.after);
            !all.any(is_folder)
        };
        Self {
            command: record.command.clone(),
            age: age(file),
            files: record.paths.values().filter(is_file).count(),
        }
    }
}

impl UndoableChange {
    /// The last change that is remembered, if there is one. Nothing else changes anything until it is dropped.
    pub fn last(state: &Path) -> Result<Option<Self>, UndoError> {
        let folder = state.join(super::FOLDER);
        Self::find(&folder, &folder, |numbers| numbers.last().copied())
    }

    pub fn last_undone(state: &Path) -> Result<Option<Self>, UndoError> {
        let folder = state.join(super::FOLDER);
        let undone = folder.join(UNDONE);
        Self::find(&folder, &undone, |numbers| numbers.first().copied())
    }

    fn find(
        folder: &Path,
        of_records: &Path,
        choose: impl Fn(&[u64]) -> Option<u64>,
    ) -> Result<Option<Self>, UndoError> {
        if !files::is_folder(of_records) {
            return Ok(None);
        }
        let lock = take_lock(folder)?;
        let Some(number) = choose(&numbers(of_records)?) else {
            return Ok(None);
        };
        let undone = folder.join(UNDONE);
        let other = if of_records == folder {
            &*undone
        } else {
            folder
        };
        let file = of_records.join(file_name(number));
        let (record, contents) = read(&file)?;
        Ok(Some(Self {
            file,
            opposite: other.join(file_name(number)),
            unchanged: folder.join(UNCHANGED),
            record,
            contents,
            _lock: lock,
        }))
    }

    pub fn command(&self) -> &str {
        &self.record.command
    }

    pub fn age(&self) -> Duration {
        age(&self.file)
    }

    /// The command that came after it and changed nothing, in words.
    pub fn unchanged_since(&self) -> Option<String> {
        let command = files::read_bounded(&self.unchanged, 4096).ok()?;
        Some(String::from_utf8_lossy(&command).into_owned())
    }

    pub fn staged(&self) -> &[StagedEntries] {
        &self.record.staged
    }

    /// The files and links that would be different, if each path still is what was made of it.
    pub fn check(&self) -> Result<Vec<PathBuf>, UndoError> {
        let files = self.different()?;
        let files = files.iter().filter(|one| one.is_file());
        Ok(files.map(|one| one.path.to_path_buf()).collect())
    }

    /// Makes every path what it was, if each still is what was made of it; gives the files and links that are different
    /// now. The record stays until it is forgotten.
    ///
    /// Everything is looked at before anything is changed. After a kill in between it can be done again.
    pub fn put_back(&self) -> Result<Vec<PathBuf>, UndoError> {
        let different = self.different()?;
        self.write_opposite(&different)?;
        // A new entry needs the one in its place gone first, and folders are there before what is in them.
        for ChangedPath {
            path, kept, there, ..
        } in different.iter().rev()
        {
            if !there.is_like(&kept.before) && !is_file(&kept.before, there) {
                remove_made(path, there)?;
            }
        }
        let mut done = Vec::new();
        for one in &different {
            self.put_back_one(one)?;
            if one.is_file() {
                done.push(one.path.to_path_buf());
            }
        }
        Ok(done)
    }

    /// Removes the record of a change that is taken back, and the note of a command that changed nothing since.
    pub fn forget(self) -> Result<(), UndoError> {
        files::remove(&self.file)?;
        files::remove(&self.unchanged)?;
        Ok(())
    }

    fn different(&self) -> Result<Vec<ChangedPath<'_>>, UndoError> {
        let mut different = Vec::new();
        for (path, kept) in &self.record.paths {
            let (there, content) = content_at(path)?;
            let is_ours = kept.after.iter().any(|after| after.is_like(&there));
            if !is_ours && !there.is_like(&kept.before) {
                return Err(UndoError::ChangedSince(path.clone()));
            }
            if files::without_links_above(path)? != *path {
                return Err(UndoError::ChangedSince(path.clone()));
            }
            if there != kept.before {
                different.push(ChangedPath {
                    path,
                    kept,
                    there,
                    content,
                });
            }
        }
        Ok(different)
    }

    /// Writes the record of the way back. One that is there already was written before a kill and is the whole of it.
    /// Too much to be kept is no reason against taking the change back.
    fn write_opposite(&self, different: &[ChangedPath<'_>]) -> Result<(), UndoError> {
        let bytes: usize = different.iter().map(|one| one.content.len()).sum();
        if files::is_there(&self.opposite) || bytes as u64 > MAX_BYTES {
            return Ok(());
        }
        let mut record = UndoRecord::new(&self.record.command);
        let mut contents = Vec::new();
        for one in different {
            let kept = KeptPath {
                before: one.there.clone(),
                after: vec![one.kept.before.clone()],
                at: contents.len(),
            };
            contents.extend(&one.content);
            record.paths.insert(one.path.to_path_buf(), kept);
        }
        let staged = self.record.staged.iter();
        record.staged.extend(staged.map(StagedEntries::reversed));
        if let Some(folder) = self.opposite.parent() {
            files::make_folder(folder)?;
        }
        write(&self.opposite, &record, &contents)?;
        Ok(())
    }

    fn put_back_one(&self, one: &ChangedPath<'_>) -> Result<(), UndoError> {
        let ChangedPath {
            path, kept, there, ..
        } = one;
        if matches!(kept.before, PathContent::Nothing | PathContent::Other) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            files::make_folder(folder)?;
        }
        let spot = FilePlace::unlinked(path)?;
        match &kept.before {
            PathContent::Nothing | PathContent::Other => {}
            PathContent::Folder { mode } => spot.make_folder(*mode)?,
            PathContent::Link(target) => spot.make_link(target)?,
            PathContent::File { size, mode, .. } => {
                let content = self.contents.get(kept.at..kept.at + size);
                let content = content.ok_or_else(|| UndoError::Unreadable(self.file.clone()))?;
                if is_file(&kept.before, there) {
                    let now = spot.read(MAX_BYTES)?;
                    match atomic::replace_with_mode(&spot, &now, content, *mode)? {
                        ReplaceOutcome::Done => {}
                        ReplaceOutcome::Changed => {
                            return Err(UndoError::ChangedSince(path.to_path_buf()));
                        }
                    }
                } else {
                    atomic::create_at(&spot, content, Some(*mode))?;
                }
            }
        }
        Ok(())
    }
}

impl StagedEntries {
    fn reversed(&self) -> Self {
        Self {
            before: self.after.clone(),
            after: self.before.clone(),
            ..self.clone()
        }
    }
}

struct ChangedPath<'a> {
    path: &'a Path,
    kept: &'a KeptPath,
    there: PathContent,
    content: Vec<u8>,
}

impl ChangedPath<'_> {
    fn is_file(&self) -> bool {
        let is_folder = |there: &PathContent| matches!(there, PathContent::Folder { .. });
        !is_folder(&self.there) && !is_folder(&self.kept.before)
    }
}

fn age(file: &Path) -> Duration {
    let facts = std::fs::metadata(file);
    let written = facts.and_then(|facts| facts.modified());
    let written = written.unwrap_or_else(|_| SystemTime::now());
    written.elapsed().unwrap_or_default()
}

fn is_file(before: &PathContent, there: &PathContent) -> bool {
    matches!(
        (before, there),
        (PathContent::File { .. }, PathContent::File { .. })
    )
}

/// Removes what a command made. A folder in which something was put since stays.
fn remove_made(path: &Path, there: &PathContent) -> Result<(), FsError> {
    match there {
        PathContent::File { .. } | PathContent::Link(_) => FilePlace::unlinked(path)?.remove_it(),
        PathContent::Folder { .. } => {
            let _ = FilePlace::unlinked(path)?.remove_folder();
            Ok(())
        }
        PathContent::Nothing | PathContent::Other => Ok(()),
    }
}
