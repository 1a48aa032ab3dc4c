//! Everything in a folder, and everything below it, within bounds.

use std::ops::ControlFlow;

use rustix::fs::{FileType, SeekFrom};
use rustix::io::Errno;

use crate::beneath;
use crate::error::FsError;
use crate::held_folder::HeldFolder;
use crate::probe_walk::LinkRule;

/// One entry of a folder, as it is there: links are not followed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedEntry {
    pub path: String,
    pub kind: ListedKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListedKind {
    Folder,
    /// A regular file, and no link.
    File,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    pub entries: Vec<ListedEntry>,
    pub is_cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListingBounds {
    pub entries: usize,
    /// Levels of folders below the first.
    pub depth: usize,
}

/// The entries of one folder. Names that are not UTF-8 are left out.
pub fn entries(folder: &HeldFolder, most: usize) -> Result<Listing, FsError> {
    let fail = |errno: Errno| FsError::new("list", folder.path(), errno);
    let descriptor = folder.descriptor();
    rustix::fs::seek(descriptor, SeekFrom::Start(0)).map_err(fail)?;
    let mut listing = Listing::default();
    let listed = beneath::each_entry(descriptor, |name, kind| {
        let Ok(path) = name.to_str() else {
            return ControlFlow::Continue(());
        };
        if listing.entries.len() == most {
            listing.is_cut = true;
            return ControlFlow::Break(());
        }
        listing.entries.push(ListedEntry {
            path: path.to_owned(),
            kind: match kind {
                FileType::Directory => ListedKind::Folder,
                FileType::RegularFile => ListedKind::File,
                FileType::Symlink => ListedKind::Link,
                _ => ListedKind::Other,
            },
        });
        ControlFlow::Continue(())
    });
    listed.map_err(fail)?;
    listing.entries.sort();
    Ok(listing)
}

/// Everything below a folder that `enters` lets in, level by level. Links are named and not followed; a folder that
/// cannot be opened is named and not entered.
pub fn below(
    folder: &HeldFolder,
    bounds: ListingBounds,
    enters: impl Fn(&str, ListedKind) -> bool,
) -> Result<Listing, FsError> {
    let mut all = entries(folder, bounds.entries)?;
    all.entries.retain(|entry| enters(&entry.path, entry.kind));
    let mut level: Vec<String> = folders_of(&all.entries);
    for _ in 0..bounds.depth {
        let mut next = Vec::new();
        for path in level {
            let left = bounds.entries.saturating_sub(all.entries.len());
            let opened = folder.folder(&path, LinkRule::Contain);
            let Ok(inner) = opened.and_then(|inner| entries(&inner, left)) else {
                continue;
            };
            all.is_cut |= inner.is_cut;
            let found = inner.entries.into_iter().map(|entry| ListedEntry {
                path: format!("{path}/{}", entry.path),
                ..entry
            });
            let found: Vec<ListedEntry> = found.filter(|it| enters(&it.path, it.kind)).collect();
            next.extend(folders_of(&found));
            all.entries.extend(found);
        }
        level = next;
    }
    all.is_cut |= !level.is_empty();
    all.entries.sort();
    Ok(all)
}

fn folders_of(entries: &[ListedEntry]) -> Vec<String> {
    let folders = entries.iter().filter(|it| it.kind == ListedKind::Folder);
    folders.map(|it| it.path.clone()).collect()
}
