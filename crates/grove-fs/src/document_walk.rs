//! Documents of a kind in a folder and below: found by name, read beneath the root, bounded.
//!
//! Level by level and sorted, so that limits take the first in order whatever the file system says. Hidden
//! folders are never entered, nor folders that belong to something else: by name, or because of what is in them.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::beneath::{self, LinkRule};
use crate::error::FsError;
use crate::probe_walk::{
    CallCounts, LimitsHit, RootFolder, WalkProblem, WalkTrouble, is_printable, read_whole,
};
use crate::stamp::Stamp;

const CHUNK: usize = 32;

#[derive(Debug, Clone, Copy)]
pub struct DocumentOptions<'a> {
    pub links: LinkRule,
    pub wanted: fn(&str) -> bool,
    /// Set if hidden files and folders count.
    pub hidden: bool,
    /// Names of folders that are never entered.
    pub never: &'a [&'a str],
    /// The names of entries that make a folder below the root something of its own, which is left out.
    pub foreign: &'a [&'a str],
    /// Folders, by path below the root, that are looked at elsewhere.
    pub not_in: &'a [&'a str],
    /// Folder levels below the root.
    pub max_depth: usize,
    pub max_folders: usize,
    pub max_entries: usize,
    pub max_files: usize,
    pub max_bytes: u64,
}

#[derive(Debug)]
pub struct WalkedDocument<T> {
    pub path: String,
    /// The file's identity and version, if it could be opened.
    pub stamp: Option<Stamp>,
    /// The number of its hard links.
    pub links: u32,
    pub content: Result<T, WalkTrouble>,
}

#[derive(Debug)]
pub struct Documents<T> {
    pub found: Vec<WalkedDocument<T>>,
    /// Everything else in the way, sorted by path.
    pub problems: Vec<WalkProblem>,
    pub limits: LimitsHit,
    /// The folders that were opened, by path below the root.
    pub folders: Vec<String>,
}

pub trait DocumentReader: Sync {
    type Item: Send;

    /// Returns true if some files may be known, so that each is looked at before it is opened.
    fn knows_any(&self) -> bool {
        false
    }

    /// The item that is known of a file with this stamp.
    fn known(&self, _path: &str, _stamp: &Stamp) -> Option<Self::Item> {
        None
    }

    fn read(&self, path: &str, bytes: &[u8]) -> Self::Item;
}

/// Walks a root and gives the bytes of each file that counts and is not known to the reader, once, from two threads
/// when there are many.
///
/// An error means that the root itself could not be opened.
pub fn walk<R: DocumentReader>(
    root: &RootFolder,
    options: &DocumentOptions<'_>,
    read: &R,
) -> Result<Documents<R::Item>, FsError> {
    let folder = root.open()?;
    let mut walk = DocumentWalker {
        root: folder.as_fd(),
        options,
        entered: BTreeSet::new(),
        files: Vec::new(),
        problems: Vec::new(),
        limits: LimitsHit::default(),
        folders: Vec::new(),
    };
    walk.folders();
    walk.files.sort_unstable();
    let beyond = walk
        .files
        .split_off(options.max_files.min(walk.files.len()));
    walk.limits.candidates = beyond;
    let files = std::mem::take(&mut walk.files);
    let opened = OpenRoot::new(root, walk.root, options)?;
    let found = opened.documents(files, read);
    walk.problems.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Documents {
        found,
        problems: walk.problems,
        limits: walk.limits,
        folders: walk.folders,
    })
}

/// Reads files that are named by their paths below a root, as a walk would read them.
pub fn read_files<R: DocumentReader>(
    root: &RootFolder,
    options: &DocumentOptions<'_>,
    files: &[String],
    read: &R,
) -> Result<Documents<R::Item>, FsError> {
    let folder = root.open()?;
    let opened = OpenRoot::new(root, folder.as_fd(), options)?;
    Ok(Documents {
        found: opened.documents(files.to_vec(), read),
        problems: Vec::new(),
        limits: LimitsHit::default(),
        folders: Vec::new(),
    })
}

struct DocumentWalker<'a> {
    root: BorrowedFd<'a>,
    options: &'a DocumentOptions<'a>,
    entered: BTreeSet<(u64, u64)>,
    files: Vec<String>,
    problems: Vec<WalkProblem>,
    limits: LimitsHit,
    folders: Vec<String>,
}

/// The entries of a folder that count, with the flag of a foreign one.
#[derive(Default)]
struct DocumentListing {
    entries: Vec<(CString, FileType)>,
    is_foreign: bool,
}

impl DocumentWalker<'_> {
    fn folders(&mut self) {
        let mut level = vec![String::new()];
        let mut left = self.options.max_folders;
        for depth in 0..=self.options.max_depth {
            let beyond = level.split_off(left.min(level.len()));
            left -= level.len();
            self.limits.folders.extend(beyond);
            let mut deeper = Vec::new();
            for path in level {
                if let Err(errno) = self.folder(&path, &mut deeper) {
                    self.problem(path, WalkTrouble::Error(errno.to_string()));
                }
            }
            deeper.sort_unstable();
            level = deeper;
            if depth == self.options.max_depth {
                self.limits.depth.append(&mut level);
            }
        }
    }

    fn folder(&mut self, path: &str, deeper: &mut Vec<String>) -> Result<(), Errno> {
        let name = beneath::c_path(path)?;
        let folder = beneath::open_folder(self.root, &name, self.options.links)?;
        let id = beneath::facts_of_open(folder.as_fd())?.stamp.id;
        if !self.entered.insert((id.device, id.inode)) {
            self.problem(path.to_owned(), WalkTrouble::Loop);
            return Ok(());
        }
        self.folders.push(path.to_owned());
        let listing = self.list(folder.as_fd(), path)?;
        if listing.is_foreign && !path.is_empty() {
            return Ok(());
        }
        for (name, kind) in listing.entries {
            let Ok(text) = name.to_str() else { continue };
            let below = match path {
                "" => text.to_owned(),
                path => format!("{path}/{text}"),
            };
            let kind = match kind {
                FileType::Symlink | FileType::Unknown => match self.follow(&below) {
                    Some(kind) => kind,
                    None => continue,
                },
                known => known,
            };
            match kind {
                FileType::Directory => {
                    let options = self.options;
                    let others =
                        options.never.contains(&text) || options.not_in.contains(&below.as_str());
                    if !others {
                        deeper.push(below);
                    }
                }
                _ if (self.options.wanted)(text) => self.files.push(below),
                _ => {}
            }
        }
        Ok(())
    }

    fn list(&mut self, folder: BorrowedFd<'_>, path: &str) -> Result<DocumentListing, Errno> {
        let mut listing = DocumentListing::default();
        let mut seen = 0;
        beneath::each_entry(folder, |name, kind| {
            let bytes = name.to_bytes();
            seen += 1;
            if seen > self.options.max_entries {
                self.limits.entries.push(path.to_owned());
                return ControlFlow::Break(());
            }
            let mut foreign = self.options.foreign.iter();
            listing.is_foreign |= foreign.any(|mark| mark.as_bytes() == bytes);
            if bytes.first() == Some(&b'.') && !self.options.hidden {
                // Hidden.
            } else if is_printable(bytes) {
                listing.entries.push((name.to_owned(), kind));
            } else if kind == FileType::Directory || bytes.ends_with(b".md") {
                let shown = String::from_utf8_lossy(bytes).into_owned();
                self.problem(shown, WalkTrouble::UnprintableName);
            }
            ControlFlow::Continue(())
        })?;
        listing.entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(listing)
    }

    /// The kind of entry that a link leads to, if it may be followed; otherwise the link is reported.
    fn follow(&mut self, path: &str) -> Option<FileType> {
        let name = CString::new(path).ok()?;
        match beneath::facts_of(self.root, &name, self.options.links) {
            Ok(facts) => Some(facts.kind),
            Err(errno) => {
                let trouble = match errno {
                    Errno::XDEV | Errno::LOOP => WalkTrouble::Escape(self.target(&name)),
                    Errno::NOENT => WalkTrouble::BrokenLink(self.target(&name)),
                    other => WalkTrouble::Error(other.to_string()),
                };
                self.problem(path.to_owned(), trouble);
                None
            }
        }
    }

    fn target(&self, link: &CStr) -> PathBuf {
        let read = rustix::fs::readlinkat(self.root, link, Vec::new());
        read.map_or_else(
            |_| PathBuf::new(),
            |target| PathBuf::from(OsStr::from_bytes(target.to_bytes())),
        )
    }

    fn problem(&mut self, path: String, trouble: WalkTrouble) {
        self.problems.push(WalkProblem { path, trouble });
    }
}

struct OpenRoot<'a> {
    root: BorrowedFd<'a>,
    device: u64,
    options: &'a DocumentOptions<'a>,
}

impl<'a> OpenRoot<'a> {
    fn new(
        root: &RootFolder,
        folder: BorrowedFd<'a>,
        options: &'a DocumentOptions<'a>,
    ) -> Result<Self, FsError> {
        let look = |errno: Errno| FsError::new("look at", &root.path, errno);
        let facts = beneath::facts_of_open(folder).map_err(look)?;
        Ok(Self {
            root: folder,
            device: facts.stamp.id.device,
            options,
        })
    }

    /// Reads files on two threads, each of which takes some at a time; their order stays.
    fn documents<R: DocumentReader>(
        &self,
        files: Vec<String>,
        read: &R,
    ) -> Vec<WalkedDocument<R::Item>> {
        let mut chunks = Vec::with_capacity(files.len() / CHUNK + 1);
        let mut files = files.into_iter().peekable();
        while files.peek().is_some() {
            chunks.push(files.by_ref().take(CHUNK).collect::<Vec<String>>());
        }
        let is_much = chunks.len() > 1;
        let waiting = Mutex::new(chunks.into_iter().enumerate());
        let some = || {
            let (mut done, mut buffer) = (Vec::new(), Vec::new());
            loop {
                let next = waiting
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .next();
                let Some((at, chunk)) = next else { return done };
                let chunk = chunk.into_iter();
                let documents = chunk.map(|path| self.document(path, &mut buffer, read));
                done.push((at, documents.collect::<Vec<_>>()));
            }
        };
        let mut done = std::thread::scope(|scope| {
            let thread = || std::thread::Builder::new().spawn_scoped(scope, some);
            // Where no thread can be had, the first one reads everything.
            let second = is_much.then(thread).and_then(Result::ok);
            let mut done = some();
            match second.map(std::thread::ScopedJoinHandle::join) {
                Some(Ok(others)) => done.extend(others),
                // A panic there is passed on: a part of the files must not be taken for all.
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => {}
            }
            done
        });
        done.sort_unstable_by_key(|(at, _)| *at);
        done.into_iter()
            .flat_map(|(_, documents)| documents)
            .collect()
    }

    fn document<R: DocumentReader>(
        &self,
        path: String,
        buffer: &mut Vec<u8>,
        read: &R,
    ) -> WalkedDocument<R::Item> {
        let mut document = WalkedDocument {
            stamp: None,
            links: 1,
            content: Err(WalkTrouble::NotRegular),
            path,
        };
        if read.knows_any() && self.is_known(&mut document, read) {
            return document;
        }
        document.content = match self.bytes(&mut document, buffer) {
            Ok(length) => {
                let bytes = buffer.get(..length).unwrap_or_default();
                Ok(read.read(&document.path, bytes))
            }
            Err(trouble) => Err(trouble),
        };
        document
    }

    /// Takes the known item of a file that has not changed; the file is not opened.
    fn is_known<R: DocumentReader>(
        &self,
        document: &mut WalkedDocument<R::Item>,
        read: &R,
    ) -> bool {
        let Ok(name) = CString::new(document.path.as_str()) else {
            return false;
        };
        let Ok(facts) = beneath::facts_of(self.root, &name, self.options.links) else {
            return false;
        };
        let Some(item) = read.known(&document.path, &facts.stamp) else {
            return false;
        };
        document.stamp = Some(facts.stamp);
        document.links = facts.links;
        document.content = Ok(item);
        true
    }

    /// One open, one stat of the open file, one read: what is hashed and parsed is what was checked.
    fn bytes<T>(
        &self,
        document: &mut WalkedDocument<T>,
        buffer: &mut Vec<u8>,
    ) -> Result<usize, WalkTrouble> {
        let error = |errno: Errno| WalkTrouble::Error(errno.to_string());
        let name =
            CString::new(document.path.as_str()).map_err(|_| WalkTrouble::UnprintableName)?;
        let file = match beneath::open_file(self.root, &name, self.options.links) {
            // A socket cannot be opened, and so is not a file.
            Err(Errno::NXIO) => return Err(WalkTrouble::NotRegular),
            opened => opened.map_err(error)?,
        };
        let facts = beneath::facts_of_open(file.as_fd()).map_err(error)?;
        document.stamp = Some(facts.stamp);
        if facts.kind != FileType::RegularFile {
            return Err(WalkTrouble::NotRegular);
        }
        document.links = facts.links;
        let limit = self.options.max_bytes;
        if facts.stamp.size > limit {
            return Err(WalkTrouble::TooLarge(facts.stamp.size));
        }
        if facts.stamp.id.device != self.device && beneath::is_pseudo(file.as_fd()) {
            return Err(WalkTrouble::Pseudo);
        }
        read_whole(&file, &facts, limit, buffer, &mut CallCounts::default())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn put(root: &Path, path: &str) {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, path).unwrap();
    }

    fn options(links: LinkRule) -> DocumentOptions<'static> {
        DocumentOptions {
            links,
            wanted: |name| name.strip_suffix(".md").is_some() && name != "SKILL.md",
            hidden: false,
            never: &["node_modules", "skills"],
            foreign: &[".git", "SKILL.md"],
            not_in: &["elsewhere"],
            max_depth: 2,
            max_folders: 100,
            max_entries: 100,
            max_files: 100,
            max_bytes: 100,
        }
    }

    fn look(root: &Path, options: &DocumentOptions<'_>) -> Documents<String> {
        look_knowing(root, options, None)
    }

    /// Looks with a reader to whom every file with one stamp is known.
    fn look_knowing(
        root: &Path,
        options: &DocumentOptions<'_>,
        known: Option<Stamp>,
    ) -> Documents<String> {
        struct Texts(Option<Stamp>);

        impl DocumentReader for Texts {
            type Item = String;

            fn knows_any(&self) -> bool {
                self.0.is_some()
            }

            fn known(&self, path: &str, stamp: &Stamp) -> Option<String> {
                (self.0 == Some(*stamp)).then(|| format!("known {path}"))
            }

            fn read(&self, _: &str, bytes: &[u8]) -> String {
                String::from_utf8_lossy(bytes).into_owned()
            }
        }

        let root = RootFolder {
            base: None,
            path: root.to_path_buf(),
        };
        walk(&root, options, &Texts(known)).unwrap()
    }

    #[test]
    fn a_file_that_is_known_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "a.md");
        put(folder.path(), "b.md");
        for links in [LinkRule::Follow, LinkRule::Contain] {
            let options = options(links);
            let first = look(folder.path(), &options);
            let known = first.found[0].stamp;
            let again = look_knowing(folder.path(), &options, known);
            let contents = again.found.iter().map(|it| it.content.as_ref().unwrap());
            assert_eq!(contents.collect::<Vec<_>>(), ["known a.md", "b.md"]);
            let stamps = |all: &Documents<String>| {
                let all = all.found.iter();
                all.map(|it| (it.stamp, it.links)).collect::<Vec<_>>()
            };
            assert_eq!(stamps(&again), stamps(&first));
        }
    }

    fn names(documents: &Documents<String>) -> Vec<&str> {
        documents
            .found
            .iter()
            .map(|document| document.path.as_str())
            .collect()
    }

    #[test]
    fn what_is_somebody_elses_is_not_entered() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "SKILL.md",
            "b.md",
            "a/c.md",
            "a/b/d.md",
            "a/b/c/deep.md",
            "note.txt",
            ".hidden/x.md",
            "node_modules/x.md",
            "a/skills/x.md",
            "elsewhere/x.md",
            "project/.git",
            "project/x.md",
            "project/sub/x.md",
            "skill/SKILL.md",
            "skill/x.md",
        ] {
            put(folder.path(), path);
        }
        let found = look(folder.path(), &options(LinkRule::Follow));
        assert_eq!(names(&found), ["a/b/d.md", "a/c.md", "b.md"]);
        assert_eq!(found.found[1].content, Ok("a/c.md".to_owned()));
        assert_eq!(found.limits.depth, ["a/b/c"]);
        assert_eq!(found.problems, []);
    }

    #[test]
    fn limits_take_the_first_in_order_and_name_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..5 {
            put(folder.path(), &format!("{n}.md"));
        }
        std::fs::write(folder.path().join("0.md"), "x".repeat(101)).unwrap();
        let few = DocumentOptions {
            max_files: 3,
            ..options(LinkRule::Follow)
        };
        let found = look(folder.path(), &few);
        assert_eq!(names(&found), ["0.md", "1.md", "2.md"]);
        assert_eq!(found.limits.candidates, ["3.md", "4.md"]);
        assert_eq!(found.found[0].content, Err(WalkTrouble::TooLarge(101)));
    }

    #[test]
    fn links_lead_where_the_root_lets_them() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "outside/x.md");
        put(folder.path(), "root/in/y.md");
        let root = folder.path().join("root");
        symlink("../outside", root.join("out")).unwrap();
        symlink("../outside/x.md", root.join("x.md")).unwrap();
        symlink("in", root.join("twice")).unwrap();
        symlink("nowhere", root.join("lost.md")).unwrap();
        let own = look(&root, &options(LinkRule::Follow));
        assert_eq!(names(&own), ["in/y.md", "out/x.md", "x.md"]);
        let said = |found: &Documents<String>| -> Vec<String> {
            found
                .problems
                .iter()
                .map(|problem| problem.path.clone())
                .collect()
        };
        assert_eq!(said(&own), ["lost.md", "twice"]);
        let contained = look(&root, &options(LinkRule::Contain));
        assert_eq!(names(&contained), ["in/y.md"]);
        assert_eq!(said(&contained), ["lost.md", "out", "twice", "x.md"]);
    }
}
