//! Listing one folder: the children to probe, the files that count, and other facts worth knowing.

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

use grove_spec::hidden_text;
use grove_spec::text::has_controls;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::AcceptedLayouts;
use super::names::SortedNames;
use crate::beneath;

pub(super) const SKILL_FILE: &CStr = c"SKILL.md";

#[derive(Default)]
pub(super) struct GroupListing {
    /// Folders and links to probe, sorted.
    pub(super) children: SortedNames,
    /// Plain files and links whose name ends in `.md`, sorted.
    pub(super) markdown: SortedNames,
    /// An entry named `SKILL.md` that is a link or a folder: a probe that missed has a reason.
    pub(super) skill_entry: Option<FileType>,
    /// Entries that are `SKILL.md` in another case.
    pub(super) wrong_case: Vec<String>,
    pub(super) unprintable: Vec<String>,
    pub(super) ignore_files: Vec<&'static str>,
    pub(super) cut: bool,
}

pub(super) fn list(
    folder: BorrowedFd<'_>,
    max_entries: usize,
    layout: &AcceptedLayouts,
) -> Result<GroupListing, Errno> {
    let mut listing = GroupListing::default();
    let mut seen = 0;
    beneath::each_entry(folder, |name, kind| {
        let bytes = name.to_bytes();
        seen += 1;
        if seen > max_entries {
            listing.cut = true;
            return ControlFlow::Break(());
        }
        let mut ignore_names = layout.ignore_files.iter();
        if let Some(known) = ignore_names.find(|known| known.as_bytes() == bytes) {
            listing.ignore_files.push(known);
        }
        if bytes != b"node_modules" || layout.node_modules {
            listing.take(name, kind);
        }
        ControlFlow::Continue(())
    })?;
    listing.children.sort();
    listing.markdown.sort();
    listing.unprintable.sort_unstable();
    Ok(listing)
}

impl GroupListing {
    fn take(&mut self, name: &CStr, kind: FileType) {
        let bytes = name.to_bytes();
        if bytes == SKILL_FILE.to_bytes() {
            self.skill_entry = Some(kind);
            return;
        }
        if bytes.first() == Some(&b'.') {
            return;
        }
        let is_folder = matches!(
            kind,
            FileType::Directory | FileType::Symlink | FileType::Unknown
        );
        let is_markdown = matches!(
            kind,
            FileType::RegularFile | FileType::Symlink | FileType::Unknown
        ) && bytes.ends_with(b".md");
        if bytes.eq_ignore_ascii_case(SKILL_FILE.to_bytes()) {
            self.wrong_case
                .push(String::from_utf8_lossy(bytes).into_owned());
            return;
        }
        if !(is_folder || is_markdown) {
            return;
        }
        if !is_printable(bytes) {
            self.unprintable
                .push(String::from_utf8_lossy(bytes).into_owned());
            return;
        }
        if is_markdown {
            self.markdown.push(name, kind == FileType::Symlink);
        }
        if is_folder && !(is_markdown && kind == FileType::Symlink) {
            self.children.push(name, kind == FileType::Symlink);
        }
    }
}

/// Returns true if a name can be shown to a person and a model: UTF-8 without control characters and without any that
/// people do not see.
pub(crate) fn is_printable(bytes: &[u8]) -> bool {
    if bytes.is_ascii() {
        return !bytes.iter().any(u8::is_ascii_control);
    }
    std::str::from_utf8(bytes).is_ok_and(|name| {
        !name.contains(['\n', '\t']) && !has_controls(name) && hidden_text::find(name).is_empty()
    })
}
