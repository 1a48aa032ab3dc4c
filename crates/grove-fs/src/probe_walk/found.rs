//! The result of a walk: files, obstacles, and the limits that were met.

use std::path::PathBuf;
use std::sync::Arc;

use crate::stamp::Stamp;

/// The folders below its own that a file declares to hold files of its kind.
///
/// They are in its folder or in the folder `skills` there, and nowhere deeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclaredFolders {
    Every,
    Named(Vec<String>),
}

#[derive(Debug)]
pub struct VisitedFile<'a> {
    pub path: &'a str,
    pub layout: FileLayout,
    pub stamp: &'a Stamp,
    /// The number of its hard links.
    pub links: u32,
    /// Set if a link leads to it.
    pub through_link: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileLayout {
    /// The root's own file, `<root>/SKILL.md`.
    Root,
    /// A flat file, `<root>/<name>.md`.
    Flat,
    /// A file in a folder, `<root>/…/<name>/SKILL.md`.
    Folder,
}

#[derive(Debug)]
pub struct WalkedFile<T> {
    /// The folder's path below the root with `/`; the file's stem for a flat file; empty for the root's own.
    pub path: Arc<str>,
    pub layout: FileLayout,
    pub stamp: Option<Stamp>,
    /// The number of the file's hard links.
    pub links: u32,
    /// Set if its folder or itself is a link.
    pub through_link: bool,
    /// The item that it became, or the reason why not.
    pub content: WalkedContent<T>,
}

#[derive(Debug)]
pub enum WalkedContent<T> {
    Item(T),
    NotRead,
    Refused(WalkTrouble),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalkTrouble {
    /// Larger than the limit, by its size.
    TooLarge(u64),
    /// A folder, pipe, socket or device.
    NotRegular,
    /// A file of `/proc` or the like.
    Pseudo,
    /// A link that leaves a contained root, by where it leads.
    Escape(PathBuf),
    /// A link that leads nowhere, by where it leads.
    BrokenLink(PathBuf),
    /// The kernel said no, or the layout.
    Error(String),
    /// A name with control characters, or not UTF-8.
    UnprintableName,
    Loop,
    /// Declared folders that are there twice: `skills/<name>` is read, `<name>` beside it is not.
    Twins(Vec<String>),
    /// The file declares children deeper than [`WalkOptions::max_levels`], which were not looked for.
    TooDeep,
    /// `skill.md` in another case, as found.
    WrongCase(String),
}

/// Something to say about a path below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkProblem {
    /// The path below the root, made printable.
    pub path: String,
    /// The obstacle at the path.
    pub trouble: WalkTrouble,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitsHit {
    /// Files named and not read: candidate limit.
    pub candidates: Vec<String>,
    /// Folders deeper than the depth limit.
    pub depth: Vec<String>,
    /// Folders not opened because of the folder limit.
    pub folders: Vec<String>,
    /// Folders with more entries than are looked at.
    pub entries: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCounts {
    pub file_opens: u64,
    pub file_reads: u64,
    pub stats: u64,
    pub folder_opens: u64,
}

impl std::ops::AddAssign for CallCounts {
    fn add_assign(&mut self, other: Self) {
        self.file_opens += other.file_opens;
        self.file_reads += other.file_reads;
        self.stats += other.stats;
        self.folder_opens += other.folder_opens;
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoreFile {
    pub folder: String,
    pub name: &'static str,
    pub text: String,
}

#[derive(Debug)]
pub struct WalkResult<T> {
    /// Every file that was met before was met again as it was, and no other: nothing is listed then.
    pub unchanged: bool,
    pub found: Vec<WalkedFile<T>>,
    pub problems: Vec<WalkProblem>,
    pub limits: LimitsHit,
    pub ignore_files: Vec<IgnoreFile>,
    /// The folders that were looked in, below the root, sorted: an entry that appears in one may be one file more.
    pub folders: Vec<String>,
    pub counts: CallCounts,
}
