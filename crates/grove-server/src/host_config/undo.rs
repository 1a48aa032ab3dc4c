//! What is kept for undoing: the file as it was, and the digest of what was made of it.

use std::path::{Path, PathBuf};

use grove_catalog::Digest;
use grove_fs::{FsError, atomic, files};
use serde::{Deserialize, Serialize};

use super::MAX_BYTES;

#[derive(Serialize, Deserialize)]
struct Record {
    path: String,
    /// The digest of the file after the server was entered.
    after: String,
    /// Whether there was a file before.
    existed: bool,
}

/// Remembers a file before it is changed; gives where.
pub(super) fn keep(
    state: &Path,
    path: &Path,
    before: Option<&str>,
    after: &str,
) -> Result<Option<PathBuf>, FsError> {
    let (record, backup) = places(state, path);
    let digest = Digest::of(after.as_bytes()).to_string();
    // Entered a second time, the file before is not the one to go back to.
    if let (Some(known), Some(before)) = (read(&record), before)
        && known.after == Digest::of(before.as_bytes()).to_string()
    {
        let known = Record {
            after: digest,
            ..known
        };
        write(&record, &known)?;
        return Ok(known.existed.then_some(backup));
    }
    let made = Record {
        path: path.to_string_lossy().into_owned(),
        after: digest,
        existed: before.is_some(),
    };
    if let Some(before) = before {
        atomic::write_mode(&backup, before.as_bytes(), 0o600)?;
    }
    write(&record, &made)?;
    Ok(before.map(|_| backup))
}

/// What a file was before.
pub(super) enum Before {
    /// There was none.
    Nothing,
    /// This.
    Text(String),
    /// It changed since, or nothing is remembered.
    Unknown,
}

/// The file as it was before, if what is there now is what was made of it.
pub(super) fn original(state: &Path, path: &Path, now: &str) -> Before {
    let (record, backup) = places(state, path);
    let digest = Digest::of(now.as_bytes()).to_string();
    match read(&record).filter(|known| known.after == digest) {
        None => Before::Unknown,
        Some(Record { existed: false, .. }) => Before::Nothing,
        Some(_) => {
            let bytes = files::read_bounded(&backup, MAX_BYTES).ok();
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            text.map_or(Before::Unknown, Before::Text)
        }
    }
}

/// Forgets a file that was put back.
pub(super) fn forget(state: &Path, path: &Path) -> Result<(), FsError> {
    let (record, backup) = places(state, path);
    for file in [record, backup] {
        match files::remove(&file) {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn places(state: &Path, path: &Path) -> (PathBuf, PathBuf) {
    let digest = Digest::of(path.as_os_str().as_encoded_bytes()).to_string();
    let name = digest.get(..16).unwrap_or(&digest);
    let folder = state.join("mcp-install");
    (
        folder.join(format!("{name}.json")),
        folder.join(format!("{name}.backup")),
    )
}

fn read(record: &Path) -> Option<Record> {
    let bytes = files::read_bounded(record, 1 << 16).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn write(path: &Path, record: &Record) -> Result<(), FsError> {
    let text = serde_json::to_vec(record).unwrap_or_default();
    atomic::write_mode(path, &text, 0o600)
}
