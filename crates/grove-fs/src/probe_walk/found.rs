//! The result of a walk: files, obstacles, and the limits that were met.

use std::path::PathBuf;
use std::sync::Arc;

use crate::stamp::Stamp;

/// The folders below its own that a file declares to hold files of its kind.
///
/// They are in its folder or in the folder `skills` there, and nowhere deeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclaredFolders {
    /// Every folder that has such a file.
    Every,
    /// The folders of these names.
    Named(Vec<String>),
}

/// A file as a walk sees it.
#[derive(Debug)]
pub struct VisitedFile<'a> {
    /// Its path, as in [`WalkedFile::path`].
    pub path: &'a str,
    /// The layout that it has.
    pub layout: FileLayout,
    /// The stamp of the file.
    pub stamp: &'a Stamp,
    /// The number of its hard links.
    pub links: u32,
    /// Set if a link leads to it.
    pub through_link: bool,
}

/// The layout in which a file was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileLayout {
    /// The root's own file, `<root>/SKILL.md`.
    Root,
    /// A flat file, `<root>/<name>.md`.
    Flat,
    /// A file in a folder, `<root>/…/<name>/SKILL.md`.
    Folder,
}

/// A file that was found.
#[derive(Debug)]
pub struct WalkedFile<T> {
    /// The folder's path below the root with `/`; the file's stem for a flat file; empty for the root's own.
    pub path: Arc<str>,
    /// The layout that it has.
    pub layout: FileLayout,
    /// Its stamp, if it could be looked at.
    pub stamp: Option<Stamp>,
    /// The number of the file's hard links.
    pub links: u32,
    /// Set if its folder or itself is a link.
    pub through_link: bool,
    /// The item that it became, or the reason why not.
    pub content: WalkedContent<T>,
}

/// The result of a found file.
#[derive(Debug)]
pub enum WalkedContent<T> {
    /// It was read, or is known.
    Item(T),
    /// Not read because of the candidate limit.
    NotRead,
    /// It cannot be read.
    Refused(WalkTrouble),
}

/// An obstacle that a walk met.
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
    /// A folder that was walked already.
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

/// A limit that was reached, with what it left out.
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

/// The numbers of kernel calls by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the operation of the same name")]
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

/// An ignore file met on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoreFile {
    /// The folder it is in, below the root.
    pub folder: String,
    /// The name of the file.
    pub name: &'static str,
    /// The text of the file.
    pub text: String,
}

/// The result of a walk.
#[derive(Debug)]
pub struct WalkResult<T> {
    /// Every file that was met before was met again as it was, and no other: nothing is listed then.
    pub unchanged: bool,
    /// Everything found, sorted by path.
    pub found: Vec<WalkedFile<T>>,
    /// Everything in the way, sorted by path.
    pub problems: Vec<WalkProblem>,
    /// The limits that were reached.
    pub limits: LimitsHit,
    /// Ignore files, sorted by folder.
    pub ignore_files: Vec<IgnoreFile>,
    /// The folders that were looked in, below the root, sorted: an entry that appears in one may be one file more.
    pub folders: Vec<String>,
    /// The kernel calls that it cost.
    pub counts: CallCounts,
}
