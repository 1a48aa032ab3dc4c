//! Whole folders that a command moves or removes: every entry is kept, and nothing goes that was not. Paths are those
//! of the folders themselves, without links; one that appears on the way is an error.

use std::path::{Path, PathBuf};

use super::{MAX_BYTES, PathAfter, PathContent, UndoRecording, content_at};
use crate::error::FsError;
use crate::file_place::FilePlace;

const MAX_ENTRIES: usize = 20_000;

impl UndoRecording {
    /// Removes a folder with everything in it. What appears in it meanwhile stays, and that is an error.
    pub fn remove_tree(&self, folder: &Path) -> Result<(), FsError> {
        let tree = tree(folder)?;
        let changes: Vec<(&Path, PathAfter<'_>)> = tree
            .iter()
            .map(|(path, _, _)| (&**path, PathAfter::Nothing))
            .collect();
        self.keep(&changes)?;
        for (path, there, content) in tree.iter().rev() {
            let spot = FilePlace::unlinked(path)?;
            let is_gone = match there {
                PathContent::File { .. } => spot.remove_same(content)?,
                PathContent::Folder { .. } => spot.remove_folder().map(|()| true)?,
                _ => spot.remove_it().map(|()| true)?,
            };
            if !is_gone {
                let error = std::io::Error::other("another program changed it just now");
                return Err(FsError::new("remove", path, error));
            }
        }
        Ok(())
    }

    pub fn rename_tree(&self, from: &Path, to: &Path) -> Result<(), FsError> {
        let tree = tree(from)?;
        let mut changes: Vec<(PathBuf, PathAfter<'_>)> = Vec::new();
        for (path, there, content) in &tree {
            let below = path.strip_prefix(from).unwrap_or(path);
            let new = if below.as_os_str().is_empty() {
                to.to_path_buf()
            } else {
                to.join(below)
            };
            let after = match there {
                PathContent::File { .. } => PathAfter::File(content),
                PathContent::Link(target) => PathAfter::Link(target),
                _ => PathAfter::Folder,
            };
            changes.extend([(path.clone(), PathAfter::Nothing), (new, after)]);
        }
        let changes: Vec<(&Path, PathAfter<'_>)> = changes
            .iter()
            .map(|(path, after)| (&**path, *after))
            .collect();
        self.keep(&changes)?;
        FilePlace::unlinked(from)?.rename_new(&FilePlace::unlinked(to)?)
    }
}

/// A folder and everything in it, each folder before what is in it, with the contents of files.
fn tree(folder: &Path) -> Result<Vec<(PathBuf, PathContent, Vec<u8>)>, FsError> {
    let too_large = |path: &Path| Err(super::too_large(path));
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    let mut bytes = 0;
    while let Some(path) = open.pop() {
        let (there, content) = content_at(&path)?;
        if matches!(there, PathContent::Folder { .. }) {
            let fail = |error: std::io::Error| FsError::new("list", &path, error);
            for entry in std::fs::read_dir(&path).map_err(fail)? {
                open.push(entry.map_err(fail)?.path());
            }
        }
        bytes += content.len() as u64;
        if bytes > MAX_BYTES || found.len() + open.len() > MAX_ENTRIES {
            return too_large(folder);
        }
        found.push((path, there, content));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}
