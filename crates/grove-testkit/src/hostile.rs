//! The hostile cases: folders of skills, agents, packages and run states that somebody made to do harm, or that a
//! disk or an editor broke.
//!
//! Each is a file of rows in the folder `hostile`, since git holds no links, sockets and odd names, and nothing that
//! looks for skills in this repository is to find them. All payloads are inert: reserved domains, addresses for
//! documentation, and `touch` of marker files.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde::Deserialize;

/// One thing in the folder of a case; paths count from that folder.
#[derive(Debug, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase", deny_unknown_fields)]
enum Row {
    File {
        file: String,
        content: Vec<Piece>,
        #[serde(default)]
        executable: bool,
    },
    Link {
        link: String,
        to: String,
    },
    /// A second name of a file whose row stands before.
    HardLink {
        hard_link: String,
        to: String,
    },
    Socket {
        socket: String,
    },
    Folder {
        folder: String,
    },
    /// Empty folders whose names end with the numbers from 1 to `count`.
    Folders {
        folders: String,
        count: usize,
    },
}

/// A part of what a file holds.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Piece {
    Text(String),
    Repeated { repeat: String, times: usize },
    Bytes { hex: String },
}

/// Makes all cases in the folder `dest`, each in a folder with its name. Takes seconds: share one copy among the
/// tests of a file.
pub fn build(dest: &Path) -> io::Result<()> {
    for (name, rows) in cases()? {
        let folder = dest.join(name);
        for row in &rows {
            row.make_in(&folder)?;
        }
    }
    Ok(())
}

/// What the files of all cases hold.
pub fn contents() -> io::Result<Vec<Vec<u8>>> {
    let mut contents = Vec::new();
    for row in cases()?.into_iter().flat_map(|(_, rows)| rows) {
        if let Row::File { content, .. } = row {
            contents.push(bytes(&content)?);
        }
    }
    Ok(contents)
}

/// The cases with their names, sorted.
fn cases() -> io::Result<Vec<(String, Vec<Row>)>> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default();
        let text = fs::read_to_string(&path)?;
        let rows = text.lines().map(serde_json::from_str).collect();
        let rows: Result<Vec<Row>, serde_json::Error> = rows;
        let rows = rows.map_err(|error| invalid(&format!("{}: {error}", path.display())))?;
        cases.push((name.to_string_lossy().into_owned(), rows));
    }
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(cases)
}

impl Row {
    fn make_in(&self, case: &Path) -> io::Result<()> {
        match self {
            Self::File {
                file,
                content,
                executable,
            } => {
                let place = place(case, file)?;
                fs::write(&place, bytes(content)?)?;
                let mode = if *executable { 0o755 } else { 0o644 };
                fs::set_permissions(&place, fs::Permissions::from_mode(mode))
            }
            Self::Link { link, to } => symlink(to, place(case, link)?),
            Self::HardLink { hard_link, to } => {
                fs::hard_link(case.join(to), place(case, hard_link)?)
            }
            Self::Socket { socket } => {
                let mode = Mode::from_raw_mode(0o755);
                // Binding one would need a path of at most 107 bytes.
                mknodat(CWD, place(case, socket)?, FileType::Socket, mode, 0)?;
                Ok(())
            }
            Self::Folder { folder } => fs::create_dir_all(case.join(folder)),
            Self::Folders { folders, count } => (1..=*count)
                .try_for_each(|number| fs::create_dir_all(case.join(format!("{folders}{number}")))),
        }
    }
}

/// A path in the folder of a case, in a folder that is there.
fn place(case: &Path, relative: &str) -> io::Result<PathBuf> {
    let place = case.join(relative);
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    Ok(place)
}

fn bytes(pieces: &[Piece]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => bytes.extend_from_slice(text.as_bytes()),
            Piece::Repeated { repeat, times } => {
                bytes.extend_from_slice(repeat.repeat(*times).as_bytes());
            }
            Piece::Bytes { hex } => {
                for digits in hex.as_bytes().chunks(2) {
                    let digits = str::from_utf8(digits).unwrap_or_default();
                    let byte = u8::from_str_radix(digits, 16);
                    bytes.push(byte.map_err(|_| invalid(&format!("`{digits}` in {hex}")))?);
                }
            }
        }
    }
    Ok(bytes)
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    use std::process::Command;
    use std::time::Duration;

    use super::*;
    use crate::need::Need;
    use crate::{needs, process, shared};

    /// Making 5,000 folders one by one takes seconds, and minutes where others keep the disk busy.
    const LIMIT: Duration = Duration::from_mins(10);

    /// What is below a folder: kind, mode, number of names and content of each.
    fn tree(root: &Path) -> BTreeMap<PathBuf, (String, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let about = fs::symlink_metadata(&path).unwrap();
                let kind = about.file_type();
                let relative = path.strip_prefix(root).unwrap().to_owned();
                let (shown, content) = if kind.is_dir() {
                    folders.push(path);
                    ("folder".to_owned(), Vec::new())
                } else if kind.is_symlink() {
                    let to = fs::read_link(&path).unwrap();
                    ("link".to_owned(), to.into_os_string().into_encoded_bytes())
                } else if kind.is_socket() {
                    ("socket".to_owned(), Vec::new())
                } else {
                    let is_executable = about.mode() & 0o100 != 0;
                    let shown = format!("file {is_executable} {}", about.nlink());
                    (shown, fs::read(&path).unwrap())
                };
                found.insert(relative, (shown, content));
            }
        }
        found
    }

    #[test]
    fn the_cases_have_what_a_repository_cannot_hold() {
        let folder = tempfile::tempdir().unwrap();
        build(folder.path()).unwrap();
        let found = tree(folder.path());
        let kind = |path: &str| found[Path::new(path)].0.as_str();
        assert_eq!(
            kind("a01-symlink-skill-dir-escape/root/.agents/skills/evil"),
            "link"
        );
        assert_eq!(
            kind("a09-socket-skillmd/root/.agents/skills/sock/SKILL.md"),
            "socket"
        );
        let hard = "a13-hardlink-outside/root/.agents/skills/hl/SKILL.md";
        assert_eq!(kind(hard), "file false 2");
        assert_eq!(kind("a29-toctou-ancestor-aba/race.sh"), "file true 1");
        let is_expectation = |path: &&PathBuf| path.ends_with("expect.json");
        assert_eq!(found.keys().filter(is_expectation).count(), 83);
        assert!(found.len() > 5_000);
    }

    /// The folder beside the repository has the cases as they were first written, with a script for the rest.
    #[test]
    fn the_cases_are_those_that_were_written_first() {
        needs![HostileOriginals, Python];
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
        build(&ours).unwrap();
        shared::copy_writable(&Need::HostileOriginals.path(), &theirs).unwrap();
        let mut make = Command::new("bash");
        make.arg("make.sh").current_dir(&theirs);
        let made = process::capture(&mut make, LIMIT).unwrap();
        made.require_success("make.sh").unwrap();
        for beside in ["make.sh", "README.md", "index.jsonl"] {
            fs::remove_file(theirs.join(beside)).unwrap();
        }
        let (ours, theirs) = (tree(&ours), tree(&theirs));
        let paths: Vec<&PathBuf> = ours.keys().collect();
        assert_eq!(paths, theirs.keys().collect::<Vec<_>>());
        for (path, expected) in &theirs {
            assert!(ours[path] == *expected, "{}", path.display());
        }
    }

    #[test]
    fn a_row_that_cannot_be_meant_is_refused() {
        for row in [
            r#"{"file": "a", "contents": []}"#,
            r#"{"folder": "a", "to": "b"}"#,
        ] {
            assert!(serde_json::from_str::<Row>(row).is_err(), "{row}");
        }
    }
}
