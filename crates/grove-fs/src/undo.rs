//! The files as they were before a command changed them, so that the last change can be taken back.
//!
//! Each command that writes keeps one record: before it writes a file it names the file, what is there, and what will
//! be. A record is one file, replaced as a whole and synced before the writing begins. A command that is killed in
//! between leaves files as they were or as they were to be, and undoing takes both for what they are. Any other state
//! is a later change, and then nothing is undone. Records are bounded in number and size; the oldest go.

mod reverting;
mod trees;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::error::FsError;
use crate::files;
use crate::lock::Lock;

pub use reverting::{RememberedChange, UndoError, UndoableChange, remembered};

const FOLDER: &str = "undo";
const MAX_RECORDS: usize = 50;
/// The bytes that may be kept, of one change and of all.
const MAX_BYTES: u64 = 128 << 20;
/// The bytes of a record's head, which says what the rest is.
const MAX_HEAD: u64 = 32 << 20;
const VERSION: u32 = 2;
/// The version before staged entries.
const OLDEST_VERSION: u32 = 1;
const UNDONE: &str = "undone";
/// The file that names the last command, where it changed nothing.
const UNCHANGED: &str = "unchanged";
/// The longest wait for another command that changes something.
const WAIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy)]
pub enum PathAfter<'a> {
    File(&'a [u8]),
    Link(&'a Path),
    Folder,
    Nothing,
    /// An entry that another program makes, which is looked at once that has ended.
    Unknown,
}

/// The entries that git has staged for some paths of a repository, before a change and after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedEntries {
    pub repository: PathBuf,
    pub paths: Vec<String>,
    /// The entries before, in the form in which git lists them.
    pub before: String,
    pub after: String,
}

/// The record of one command, begun when it keeps something for the first time.
#[derive(Debug)]
pub struct UndoRecording {
    /// The folder of records; none where there is no state folder, and then nothing is kept.
    folder: Option<PathBuf>,
    /// The command, in words; empty for one that only looks.
    command: String,
    begun: Mutex<Option<BegunRecord>>,
}

#[derive(Debug)]
struct BegunRecord {
    file: PathBuf,
    record: UndoRecord,
    contents: Vec<u8>,
    _lock: Lock,
}

/// The head of a record: what is known of each path. The contents of files follow it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct UndoRecord {
    version: u32,
    command: String,
    paths: BTreeMap<PathBuf, KeptPath>,
    #[serde(default)]
    staged: Vec<StagedEntries>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptPath {
    before: PathContent,
    /// Everything that the command made of it, one after the other.
    after: Vec<PathContent>,
    /// The start of a file's earlier content among the contents of the record.
    at: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum PathContent {
    Nothing,
    File {
        digest: String,
        size: usize,
        mode: u32,
    },
    Link(PathBuf),
    Folder {
        mode: u32,
    },
    /// A pipe, a socket or a device.
    Other,
}

impl PathContent {
    /// Returns true if it is the same but for permissions.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { digest, .. }, Self::File { digest: theirs, .. }) => digest == theirs,
            (Self::Folder { .. }, Self::Folder { .. }) => true,
            _ => self == other,
        }
    }

    fn of_file(content: &[u8]) -> Self {
        Self::File {
            digest: digest(content),
            size: content.len(),
            mode: 0,
        }
    }

    /// The entry that will be there; none while that is not known.
    fn of(after: PathAfter<'_>) -> Option<Self> {
        match after {
            PathAfter::File(content) => Some(Self::of_file(content)),
            PathAfter::Link(target) => Some(Self::Link(target.to_path_buf())),
            PathAfter::Folder => Some(Self::Folder { mode: 0 }),
            PathAfter::Nothing => Some(Self::Nothing),
            PathAfter::Unknown => None,
        }
    }
}

impl UndoRecording {
    /// The record of a command that is about to change something. Nothing is written before something is kept.
    pub fn new(state: Option<&Path>, command: impl Into<String>) -> Self {
        Self {
            folder: state.map(|state| state.join(FOLDER)),
            command: command.into(),
            begun: Mutex::new(None),
        }
    }

    pub fn can_be_kept(state: &Path) -> bool {
        take_lock(&state.join(FOLDER)).is_ok()
    }

    /// Keeps the entries at these paths before they are changed to those named. Folders that will be made on the way
    /// are kept too, so that they go again.
    pub fn keep(&self, changes: &[(&Path, PathAfter<'_>)]) -> Result<(), FsError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let mut begun = lock(&self.begun);
        let begun = match &mut *begun {
            Some(begun) => begun,
            none => none.insert(BegunRecord::new(folder, &self.command)?),
        };
        for (path, after) in changes {
            let path = files::without_links_above(path)?;
            if !matches!(after, PathAfter::Nothing) {
                let above = path.ancestors().skip(1);
                for missing in above.take_while(|folder| !files::is_there(folder)) {
                    begun.keep(missing.to_path_buf(), PathAfter::Folder)?;
                }
            }
            begun.keep(path, *after)?;
        }
        begun.write()
    }

    /// Completes the record of what another program changed: what it left at the paths that were kept for it, and what
    /// git has staged. Until then such a change cannot be undone.
    pub fn settle(&self, staged: Vec<StagedEntries>) -> Result<(), FsError> {
        let mut begun = lock(&self.begun);
        let Some(begun) = &mut *begun else {
            return Ok(());
        };
        for (path, kept) in &mut begun.record.paths {
            if kept.after.is_empty() {
                kept.after.push(content_at(path)?.0);
            }
        }
        begun.record.staged.extend(staged);
        begun.write()
    }
}

impl Drop for UndoRecording {
    /// A record of a command that changed nothing is no record. That command is named, since the change that is the
    /// last one then is an older one.
    fn drop(&mut self) {
        let Some(folder) = &self.folder else { return };
        let has_changed = match lock(&self.begun).take() {
            None => false,
            Some(begun) => {
                let is_as_before = begun.record.is_as_before().unwrap_or(false);
                if is_as_before {
                    let _ = files::remove(&begun.file);
                }
                !is_as_before
            }
        };
        let file = folder.join(UNCHANGED);
        let has_older = || numbers(folder).is_ok_and(|numbers| !numbers.is_empty());
        if has_changed {
            let _ = files::remove(&file);
        } else if !self.command.is_empty() && has_older() {
            let _ = atomic::write_mode(&file, self.command.as_bytes(), 0o600);
        }
    }
}

impl BegunRecord {
    fn new(folder: &Path, command: &str) -> Result<Self, FsError> {
        let lock = take_lock(folder)?;
        let last = numbers(folder)?.pop().unwrap_or(0);
        Ok(Self {
            file: folder.join(file_name(last + 1)),
            record: UndoRecord::new(command),
            contents: Vec::new(),
            _lock: lock,
        })
    }

    fn keep(&mut self, path: PathBuf, after: PathAfter<'_>) -> Result<(), FsError> {
        let after = PathContent::of(after);
        if let Some(kept) = self.record.paths.get_mut(&path) {
            kept.after.extend(after);
            return Ok(());
        }
        let (before, content) = content_at(&path)?;
        if before == PathContent::Other {
            let error = std::io::Error::other("it is no file, link or folder");
            return Err(FsError::new("keep for undoing", &path, error));
        }
        let at = self.contents.len();
        self.contents.extend(content);
        if self.contents.len() as u64 > MAX_BYTES {
            return Err(too_large(&path));
        }
        let kept = KeptPath {
            before,
            after: after.into_iter().collect(),
            at,
        };
        self.record.paths.insert(path, kept);
        Ok(())
    }

    /// Writes the record. A change that was undone before cannot be redone on top of this one.
    fn write(&self) -> Result<(), FsError> {
        write(&self.file, &self.record, &self.contents)?;
        let Some(folder) = self.file.parent() else {
            return Ok(());
        };
        files::remove_folder(&folder.join(UNDONE))?;
        keep_newest(folder)
    }
}

impl UndoRecord {
    fn new(command: &str) -> Self {
        Self {
            version: VERSION,
            command: command.to_owned(),
            paths: BTreeMap::new(),
            staged: Vec::new(),
        }
    }
}

fn write(file: &Path, record: &UndoRecord, contents: &[u8]) -> Result<(), FsError> {
    let fail = |error: serde_json::Error| FsError::new("write", file, error);
    let mut bytes = serde_json::to_vec(record).map_err(fail)?;
    if bytes.len() as u64 > MAX_HEAD {
        return Err(too_large(file));
    }
    bytes.push(b'\n');
    bytes.extend(contents);
    atomic::write_mode(file, &bytes, 0o600)
}

/// Removes the oldest records until the rest is within the bounds.
fn keep_newest(folder: &Path) -> Result<(), FsError> {
    let mut left = (MAX_RECORDS, MAX_BYTES + MAX_HEAD);
    for number in numbers(folder)?.into_iter().rev() {
        let file = folder.join(file_name(number));
        let size = files::size(&file)?;
        let is_first = left.0 == MAX_RECORDS;
        match (left.0.checked_sub(1), left.1.checked_sub(size)) {
            (Some(records), Some(bytes)) => left = (records, bytes),
            _ if is_first => left = (MAX_RECORDS - 1, 0),
            _ => {
                left = (0, 0);
                files::remove(&file)?;
            }
        }
    }
    Ok(())
}

/// The content that a file had before the earliest of a row of commands of one name, each of which found it as the last
/// one left it. None where that is not known; an inner none where there was no file.
pub fn original(
    state: &Path,
    command: &str,
    path: &Path,
    now: &[u8],
) -> Result<Option<Option<Vec<u8>>>, FsError> {
    let folder = state.join(FOLDER);
    let path = files::without_links_above(path)?;
    let mut found: Option<Option<Vec<u8>>> = None;
    let mut expected = PathContent::of_file(now);
    for number in numbers(&folder)?.into_iter().rev() {
        let Ok((record, contents)) = read(&folder.join(file_name(number))) else {
            continue;
        };
        let kept = record.paths.get(&path);
        let Some(kept) = kept.filter(|_| record.command == command) else {
            continue;
        };
        if !kept.after.iter().any(|after| after.is_like(&expected)) {
            break;
        }
        found = match &kept.before {
            PathContent::File { size, .. } => contents
                .get(kept.at..kept.at + size)
                .map(|it| Some(it.to_vec())),
            PathContent::Nothing => Some(None),
            _ => None,
        };
        expected = kept.before.clone();
    }
    Ok(found)
}

impl UndoRecord {
    fn is_as_before(&self) -> Result<bool, FsError> {
        for (path, kept) in &self.paths {
            if content_at(path)?.0 != kept.before {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn read(file: &Path) -> Result<(UndoRecord, Vec<u8>), UndoError> {
    let bytes = files::read_bounded(file, MAX_BYTES + MAX_HEAD)?;
    let unreadable = || UndoError::Unreadable(file.to_path_buf());
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or_else(unreadable)?;
    let head = bytes.get(..end).unwrap_or_default();
    let record: UndoRecord = serde_json::from_slice(head).map_err(|_| unreadable())?;
    if !(OLDEST_VERSION..=VERSION).contains(&record.version) {
        return Err(unreadable());
    }
    let contents = bytes.get(end + 1..).unwrap_or_default();
    let is_whole = |kept: &KeptPath| match &kept.before {
        PathContent::File {
            digest: known,
            size,
            ..
        } => {
            let content = contents.get(kept.at..kept.at.saturating_add(*size));
            content.is_some_and(|content| digest(content) == *known)
        }
        _ => true,
    };
    if !record.paths.values().all(is_whole) {
        return Err(unreadable());
    }
    Ok((record, contents.to_vec()))
}

/// The entry at a path, with the content of a file. Links are not followed.
fn content_at(path: &Path) -> Result<(PathContent, Vec<u8>), FsError> {
    let fail = |error: std::io::Error| FsError::new("look at", path, error);
    let found = match std::fs::symlink_metadata(path).map_err(fail) {
        Err(error) if error.is_not_found() => return Ok((PathContent::Nothing, Vec::new())),
        found => found?,
    };
    let mode = found.permissions().mode() & 0o7777;
    let there = if found.is_file() {
        let content = files::read_bounded(path, MAX_BYTES)?;
        let (digest, size) = (digest(&content), content.len());
        return Ok((PathContent::File { digest, size, mode }, content));
    } else if found.is_symlink() {
        PathContent::Link(std::fs::read_link(path).map_err(fail)?)
    } else if found.is_dir() {
        PathContent::Folder { mode }
    } else {
        PathContent::Other
    };
    Ok((there, Vec::new()))
}

fn numbers(folder: &Path) -> Result<Vec<u64>, FsError> {
    if !files::is_folder(folder) {
        return Ok(Vec::new());
    }
    let names = files::list(folder, usize::MAX)?.into_iter();
    let mut numbers: Vec<u64> = names.filter_map(|(name, _)| name.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn file_name(number: u64) -> String {
    format!("{number:010}")
}

fn digest(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

fn too_large(path: &Path) -> FsError {
    let error = std::io::Error::other("it is too large to keep for undoing");
    FsError::new("keep for undoing", path, error)
}

fn take_lock(folder: &Path) -> Result<Lock, FsError> {
    files::make_folder(folder)?;
    Lock::take(&folder.join("record"), WAIT)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Place {
        folder: tempfile::TempDir,
    }

    fn revert(change: Option<UndoableChange>) -> Result<Vec<PathBuf>, UndoError> {
        let Some(change) = change else {
            return Ok(Vec::new());
        };
        let files = change.put_back()?;
        change.forget()?;
        Ok(files)
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("own")).unwrap();
            Self { folder }
        }

        fn state(&self) -> PathBuf {
            self.folder.path().join("state")
        }

        fn own(&self, path: &str) -> PathBuf {
            self.folder.path().join("own").join(path)
        }

        fn write(&self, path: &str, content: &[u8]) {
            let recording = UndoRecording::new(Some(&self.state()), format!("write {path}"));
            let file = self.own(path);
            recording
                .keep(&[(&file, PathAfter::File(content))])
                .unwrap();
            atomic::write(&file, content, atomic::Durability::Cache).unwrap();
        }

        fn undo(&self) -> Result<Vec<PathBuf>, UndoError> {
            revert(UndoableChange::last(&self.state())?)
        }

        fn redo(&self) -> Result<Vec<PathBuf>, UndoError> {
            revert(UndoableChange::last_undone(&self.state())?)
        }

        /// Every path with what is there.
        fn all(&self) -> BTreeMap<PathBuf, PathContent> {
            let mut all = BTreeMap::new();
            let mut open = vec![self.folder.path().join("own")];
            while let Some(folder) = open.pop() {
                for entry in fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    let there = content_at(&path).unwrap().0;
                    if matches!(there, PathContent::Folder { .. }) {
                        open.push(path.clone());
                    }
                    all.insert(path, there);
                }
            }
            all
        }
    }

    #[test]
    fn changes_are_taken_back_one_after_the_other_and_the_last_first() {
        let place = Place::new();
        fs::write(place.own("a"), "one").unwrap();
        fs::set_permissions(place.own("a"), fs::Permissions::from_mode(0o640)).unwrap();
        let first = place.all();
        place.write("a", b"two");
        fs::set_permissions(place.own("a"), fs::Permissions::from_mode(0o600)).unwrap();
        let second = place.all();
        place.write("deep/er/b", b"new");
        assert_eq!(place.undo().unwrap(), [place.own("deep/er/b")]);
        assert_eq!(place.all(), second, "also the folders are gone");
        assert_eq!(place.undo().unwrap(), [place.own("a")]);
        assert_eq!(place.all(), first);
        assert!(UndoableChange::last(&place.state()).unwrap().is_none());
    }

    #[test]
    fn what_was_undone_can_be_redone_in_order_until_something_else_changes() {
        let place = Place::new();
        fs::write(place.own("a"), "one").unwrap();
        fs::set_permissions(place.own("a"), fs::Permissions::from_mode(0o750)).unwrap();
        let mut states = vec![place.all()];
        place.write("a", b"two");
        states.push(place.all());
        place.write("deep/er/b", b"new");
        states.push(place.all());
        let recording = UndoRecording::new(Some(&place.state()), "tree");
        recording.remove_tree(&place.own("deep")).unwrap();
        drop(recording);
        states.push(place.all());
        for n in (0..3).rev() {
            place.undo().unwrap();
            assert_eq!(place.all(), states[n], "undone to {n}");
        }
        assert!(UndoableChange::last(&place.state()).unwrap().is_none());
        for (n, state) in states.iter().enumerate().skip(1) {
            place.redo().unwrap();
            assert_eq!(place.all(), *state, "redone to {n}");
        }
        assert!(
            UndoableChange::last_undone(&place.state())
                .unwrap()
                .is_none()
        );
        place.undo().unwrap();
        assert_eq!(place.all(), states[2]);
        place.write("c", b"other");
        assert!(
            UndoableChange::last_undone(&place.state())
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn undoing_that_was_killed_can_be_finished_or_redone() {
        for redoes in [false, true] {
            let place = Place::new();
            fs::write(place.own("a"), "old").unwrap();
            let before = place.all();
            place.write("a", b"new");
            let after = place.all();
            let change = UndoableChange::last(&place.state()).unwrap().unwrap();
            // Killed before the record is forgotten: both ways are open.
            change.put_back().unwrap();
            drop(change);
            assert_eq!(place.all(), before);
            if redoes {
                place.redo().unwrap();
                assert_eq!(place.all(), after);
            }
            place.undo().unwrap();
            assert_eq!(place.all(), before);
            place.redo().unwrap();
            assert_eq!(place.all(), after);
        }
    }

    #[test]
    fn what_another_program_made_of_a_file_is_known_once_it_is_settled() {
        for is_settled in [true, false] {
            let place = Place::new();
            fs::write(place.own("a"), "one").unwrap();
            let before = place.all();
            let recording = UndoRecording::new(Some(&place.state()), "merge");
            let (a, b) = (place.own("a"), place.own("deep/b"));
            let changes = [(&*a, PathAfter::Unknown), (&*b, PathAfter::Unknown)];
            recording.keep(&changes).unwrap();
            fs::write(&a, "merged").unwrap();
            fs::create_dir(place.own("deep")).unwrap();
            fs::write(&b, "made").unwrap();
            let staged = StagedEntries {
                repository: place.own(""),
                paths: vec!["a".to_owned()],
                before: "1".to_owned(),
                after: "2".to_owned(),
            };
            if is_settled {
                recording.settle(vec![staged.clone()]).unwrap();
            }
            drop(recording);
            if is_settled {
                let change = UndoableChange::last(&place.state()).unwrap().unwrap();
                assert_eq!(change.staged(), [staged]);
                drop(change);
                assert_eq!(place.undo().unwrap(), [a, b]);
                assert_eq!(place.all(), before);
                let change = UndoableChange::last_undone(&place.state())
                    .unwrap()
                    .unwrap();
                let staged = &change.staged()[0];
                assert_eq!((&*staged.before, &*staged.after), ("2", "1"));
            } else {
                assert!(matches!(place.undo(), Err(UndoError::ChangedSince(_))));
            }
        }
    }

    #[test]
    fn a_command_that_changed_nothing_since_is_named_until_something_is_undone() {
        let place = Place::new();
        drop(UndoRecording::new(Some(&place.state()), "first"));
        place.write("a", b"1");
        place.write("b", b"1");
        let since = || {
            let change = UndoableChange::last(&place.state()).unwrap().unwrap();
            change.unchanged_since()
        };
        assert_eq!(since(), None);
        drop(UndoRecording::new(Some(&place.state()), ""));
        assert_eq!(since(), None, "one that only looks");
        drop(UndoRecording::new(Some(&place.state()), "apply x"));
        assert_eq!(since().as_deref(), Some("apply x"));
        place.undo().unwrap();
        assert_eq!(since(), None);
        drop(UndoRecording::new(Some(&place.state()), "apply x"));
        place.write("b", b"1");
        assert_eq!(since(), None);
        let all = remembered(&place.state()).unwrap();
        let all: Vec<_> = all.iter().map(|it| (&*it.command, it.files)).collect();
        assert_eq!(all, [("write b", 1), ("write a", 1)]);
    }

    #[test]
    fn what_somebody_changed_since_stays_with_everything_else_of_that_change() {
        let place = Place::new();
        let recording = UndoRecording::new(Some(&place.state()), "two");
        let (a, b) = (place.own("a"), place.own("b"));
        let changes = [(&*a, PathAfter::File(b"1")), (&*b, PathAfter::File(b"1"))];
        recording.keep(&changes).unwrap();
        fs::write(&a, "1").unwrap();
        fs::write(&b, "mine").unwrap();
        drop(recording);
        let before = place.all();
        let error = place.undo().unwrap_err();
        assert!(matches!(error, UndoError::ChangedSince(path) if path == b));
        assert_eq!(place.all(), before);
        // Put right, it can be done.
        fs::write(&b, "1").unwrap();
        assert_eq!(place.undo().unwrap(), [a, b]);
    }

    #[test]
    fn a_command_that_was_killed_at_any_point_is_taken_back_as_far_as_it_came() {
        for done in 0..=2 {
            let place = Place::new();
            fs::write(place.own("a"), "old").unwrap();
            fs::create_dir(place.own("gone")).unwrap();
            fs::write(place.own("gone/x"), b"\xff\n").unwrap();
            std::os::unix::fs::symlink("nowhere", place.own("gone/link")).unwrap();
            let before = place.all();
            let recording = UndoRecording::new(Some(&place.state()), "three");
            let paths = ["a", "gone", "gone/x", "gone/link"].map(|path| place.own(path));
            let mut changes: Vec<(&Path, PathAfter<'_>)> = Vec::new();
            changes.extend(paths.iter().map(|path| (&**path, PathAfter::Nothing)));
            changes[0].1 = PathAfter::File(b"new");
            recording.keep(&changes).unwrap();
            if done > 0 {
                fs::write(place.own("a"), "new").unwrap();
                fs::remove_file(place.own("gone/x")).unwrap();
            }
            if done > 1 {
                fs::remove_dir_all(place.own("gone")).unwrap();
            }
            // Killed: nothing is dropped, but its lock is.
            if let Some(begun) = lock(&recording.begun).take() {
                drop(begun);
            }
            let undone = place.undo().unwrap();
            assert_eq!(undone.len(), [0, 2, 3][done]);
            assert_eq!(place.all(), before, "{done}");
        }
    }

    #[test]
    fn a_command_that_changed_nothing_is_not_remembered_and_two_writings_are_one_change() {
        let place = Place::new();
        place.write("a", b"1");
        let recording = UndoRecording::new(Some(&place.state()), "back and forth");
        let file = place.own("a");
        recording.keep(&[(&file, PathAfter::File(b"2"))]).unwrap();
        fs::write(&file, "2").unwrap();
        recording.keep(&[(&file, PathAfter::File(b"1"))]).unwrap();
        fs::write(&file, "1").unwrap();
        drop(recording);
        let last = UndoableChange::last(&place.state()).unwrap().unwrap();
        assert_eq!(last.command(), "write a");
    }

    #[test]
    fn records_are_bounded_closed_to_others_and_refused_when_damaged() {
        let place = Place::new();
        for n in 0..MAX_RECORDS + 3 {
            place.write("a", n.to_string().as_bytes());
        }
        let folder = place.state().join(FOLDER);
        let all = numbers(&folder).unwrap();
        assert_eq!((all.len(), all[0]), (MAX_RECORDS, 4));
        let last = folder.join(file_name(all[MAX_RECORDS - 1]));
        assert_eq!(files::mode(&last).unwrap(), 0o600);
        let good = fs::read(&last).unwrap();
        for bad in [&good[..good.len() - 1], b"{}\n", b""] {
            fs::write(&last, bad).unwrap();
            let error = place.undo().unwrap_err();
            assert!(matches!(error, UndoError::Unreadable(path) if path == last));
        }
    }

    #[test]
    fn a_link_put_in_the_way_since_leads_nothing_elsewhere() {
        let place = Place::new();
        fs::create_dir(place.own("in")).unwrap();
        fs::write(place.own("in/a"), "old").unwrap();
        place.write("in/a", b"new");
        fs::rename(place.own("in"), place.own("moved")).unwrap();
        std::os::unix::fs::symlink("moved", place.own("in")).unwrap();
        assert!(matches!(place.undo(), Err(UndoError::ChangedSince(_))));
        assert_eq!(fs::read(place.own("moved/a")).unwrap(), b"new");
    }

    #[test]
    fn a_folder_that_was_moved_or_removed_is_back_with_modes_links_and_empty_folders() {
        let place = Place::new();
        fs::create_dir_all(place.own("s/empty")).unwrap();
        fs::set_permissions(place.own("s/empty"), fs::Permissions::from_mode(0o750)).unwrap();
        fs::write(place.own("s/run"), "#!").unwrap();
        fs::set_permissions(place.own("s/run"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("/nowhere", place.own("s/link")).unwrap();
        let before = place.all();
        let recording = || UndoRecording::new(Some(&place.state()), "tree");
        recording()
            .rename_tree(&place.own("s"), &place.own("t"))
            .unwrap();
        assert!(!place.own("s").exists() && place.own("t/run").exists());
        let between = place.all();
        recording().remove_tree(&place.own("t")).unwrap();
        assert!(place.all().is_empty());
        place.undo().unwrap();
        assert_eq!(place.all(), between);
        place.undo().unwrap();
        assert_eq!(place.all(), before);
        // A name that is taken stays whose it is.
        fs::create_dir(place.own("t")).unwrap();
        assert!(
            recording()
                .rename_tree(&place.own("s"), &place.own("t"))
                .is_err()
        );
        assert!(UndoableChange::last(&place.state()).unwrap().is_none());
    }

    #[test]
    fn the_original_is_that_of_the_first_of_a_row_of_commands() {
        let place = Place::new();
        let file = place.own("a");
        let now = |content: &[u8]| original(&place.state(), "write a", &file, content).unwrap();
        assert_eq!(now(b"0"), None);
        fs::write(&file, "0").unwrap();
        place.write("a", b"1");
        place.write("a", b"2");
        place.write("b", b"1");
        assert_eq!(now(b"2"), Some(Some(b"0".to_vec())));
        assert_eq!(now(b"3"), None);
        assert_eq!(
            original(&place.state(), "write b", &place.own("b"), b"1").unwrap(),
            Some(None)
        );
    }
}
