//! What a walk finds: files, what stood in the way, and which limits were met.

use std::path::PathBuf;
use std::sync::Arc;

use crate::stamp::Stamp;

/// Which folders below its own a file declares to hold files of its kind.
///
/// They are in its folder or in the folder `skills` there, and nowhere deeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Below {
    /// Every folder that has such a file.
    Every,
    /// The folders of these names.
    Named(Vec<String>),
}

/// A file as a walk sees it.
#[derive(Debug)]
pub struct Sighting<'a> {
    /// Its path, as in [`Found::path`].
    pub path: &'a str,
    /// Which layout.
    pub place: Place,
    /// Its stamp.
    pub stamp: &'a Stamp,
    /// How many hard links it has.
    pub links: u32,
    /// Whether a link leads to it.
    pub through_link: bool,
}

/// Where a file was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// `<root>/SKILL.md`.
    Root,
    /// `<root>/<name>.md`.
    Flat,
    /// `<root>/…/<name>/SKILL.md`.
    Folder,
}

/// A file that was found.
#[derive(Debug)]
pub struct Found<T> {
    /// The folder's path below the root with `/`; the file's stem for a flat file; empty for the root's own.
    pub path: Arc<str>,
    /// Which layout.
    pub place: Place,
    /// Its stamp, if it could be looked at.
    pub stamp: Option<Stamp>,
    /// How many hard links the file has.
    pub links: u32,
    /// Whether its folder or itself is a link.
    pub through_link: bool,
    /// What it became, or why not.
    pub content: Content<T>,
}

/// What became of a found file.
#[derive(Debug)]
pub enum Content<T> {
    /// Read, or known.
    Item(T),
    /// Not read because of the candidate limit.
    NotRead,
    /// It cannot be read.
    Refused(Trouble),
}

/// What stood in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
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
    /// What the file declares lies deeper than [`WalkOptions::max_levels`] and was not looked for.
    TooDeep,
    /// `skill.md` in another case, as found.
    WrongCase(String),
}

/// Something to say about a path below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The path below the root, made printable.
    pub path: String,
    /// What stood in the way.
    pub trouble: Trouble,
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

/// How often the kernel was asked for what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the operation of the same name")]
pub struct Counts {
    pub file_opens: u64,
    pub file_reads: u64,
    pub stats: u64,
    pub folder_opens: u64,
}

impl std::ops::AddAssign for Counts {
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
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
}

/// The result of a walk.
#[derive(Debug)]
pub struct Walk<T> {
    /// Every file that was met before was met again as it was, and no other: nothing is listed then.
    pub unchanged: bool,
    /// Everything found, sorted by path.
    pub found: Vec<Found<T>>,
    /// Everything in the way, sorted by path.
    pub problems: Vec<Problem>,
    /// The limits that were reached.
    pub limits: LimitsHit,
    /// Ignore files, sorted by folder.
    pub ignore_files: Vec<IgnoreFile>,
    /// The folders that were looked in, below the root, sorted: whatever appears in them may be one file more.
    pub folders: Vec<String>,
    /// The bill.
    pub counts: Counts,
}
