//! The names of the files in a folder and below, without opening one of them.
//!
//! Level by level and sorted, so that the result does not depend on the file system's order. Links to
//! folders are not descended, and a link to a file counts only if it stays in the folder.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::beneath::{self, LinkRule};
use crate::error::FsError;
use crate::probe_walk::{RootFolder, is_printable};

#[derive(Debug, Clone, Copy)]
pub struct NamesOptions<'a> {
    /// Folder levels below the folder that are opened.
    pub max_depth: usize,
    pub max_entries: usize,
    /// Entries whose names are read in all; beyond, nothing is known of them.
    pub max_read: usize,
    /// Folders, by path below the folder, that belong to something else and are not entered.
    pub not_in: &'a BTreeSet<String>,
    pub except: &'a [&'a str],
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FileNames {
    /// Paths of regular files below the folder. One that ends in a slash is a folder too deep to be opened.
    pub names: Vec<String>,
    pub not_seen: usize,
    pub uncounted: bool,
    /// Links that lead out of the folder or nowhere.
    pub links_out: usize,
    /// Entries that are there and not among the names, the first of them, each with the reason.
    pub left_out: Vec<(String, LeftOutReason)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutReason {
    /// Its name begins with a dot, or is `node_modules`.
    Hidden,
    Name,
    LinkOut,
    LinkToFolder,
    Special,
    Closed,
}

impl LeftOutReason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hidden => "hidden files and `node_modules` are not looked at",
            Self::Name => "its name is not text on one line",
            Self::LinkOut => "it is a link that leads out of the folder or nowhere",
            Self::LinkToFolder => "it is a link to a folder",
            Self::Special => "it is neither a file nor a folder",
            Self::Closed => "it cannot be opened",
        }
    }
}

const MAX_LEFT_OUT: usize = 100;

impl FileNames {
    fn leave_out(&mut self, name: String, why: LeftOutReason) {
        if self.left_out.len() < MAX_LEFT_OUT {
            self.left_out.push((name, why));
        }
    }
}

/// Lists the files in a folder below a root and further down. Hidden entries and `node_modules` do not count.
pub fn below(
    root: &RootFolder,
    links: LinkRule,
    folder: &str,
    options: &NamesOptions<'_>,
) -> Result<FileNames, FsError> {
    let whole = root.path.join(folder);
    let fail = |errno: Errno| FsError::new("list", &whole, errno);
    let root = root.open()?;
    let name = beneath::c_path(folder).map_err(fail)?;
    let top = beneath::open_folder(root.as_fd(), &name, links).map_err(fail)?;
    let mut walk = NameWalk {
        top: top.as_fd(),
        options,
        looked: 0,
        read: 0,
        found: FileNames::default(),
    };
    let mut level = vec![String::new()];
    for depth in 0..=options.max_depth {
        let mut deeper = Vec::new();
        for path in level {
            // A folder that cannot be opened below the top has nothing to name.
            match walk.folder(&path, &mut deeper) {
                Err(errno) if path.is_empty() => return Err(fail(errno)),
                Err(_) => walk.found.leave_out(path, LeftOutReason::Closed),
                Ok(()) => {}
            }
        }
        if depth == options.max_depth {
            let too_deep = deeper.iter().map(|path| format!("{path}/"));
            walk.found.names.extend(too_deep);
            break;
        }
        level = deeper;
    }
    Ok(walk.found)
}

struct NameWalk<'a> {
    top: BorrowedFd<'a>,
    options: &'a NamesOptions<'a>,
    looked: usize,
    read: usize,
    found: FileNames,
}

impl NameWalk<'_> {
    fn folder(&mut self, path: &str, deeper: &mut Vec<String>) -> Result<(), Errno> {
        let name = beneath::c_path(path)?;
        let folder = beneath::open_folder(self.top, &name, LinkRule::Contain)?;
        for (name, kind) in self.entries(path, folder.as_fd())? {
            let Ok(text) = name.to_str().map(str::to_owned) else {
                continue;
            };
            let below = if path.is_empty() {
                text.clone()
            } else {
                format!("{path}/{text}")
            };
            if path.is_empty() && self.options.except.contains(&text.as_str()) {
                continue;
            }
            if self.looked >= self.options.max_entries {
                self.found.not_seen += 1;
                continue;
            }
            self.looked += 1;
            let kind = match kind {
                FileType::Unknown => beneath::facts_unfollowed(folder.as_fd(), &name)?.kind,
                known => known,
            };
            match kind {
                FileType::RegularFile => self.found.names.push(below),
                FileType::Directory if !self.options.not_in.contains(&below) => deeper.push(below),
                FileType::Symlink => self.link(below),
                FileType::Directory => {}
                // An entry that is neither a file nor a folder cannot be read.
                _ => self.found.leave_out(below, LeftOutReason::Special),
            }
        }
        Ok(())
    }

    fn link(&mut self, below: String) {
        let Ok(path) = CString::new(below.as_str()) else {
            return;
        };
        match beneath::facts_of(self.top, &path, LinkRule::Contain) {
            Ok(facts) if facts.kind == FileType::RegularFile => self.found.names.push(below),
            Ok(_) => self.found.leave_out(below, LeftOutReason::LinkToFolder),
            Err(_) => {
                self.found.links_out += 1;
                self.found.leave_out(below, LeftOutReason::LinkOut);
            }
        }
    }

    fn entries(
        &mut self,
        path: &str,
        folder: BorrowedFd<'_>,
    ) -> Result<Vec<(CString, FileType)>, Errno> {
        let shown = |name: &CStr| {
            let slash = if path.is_empty() { "" } else { "/" };
            format!("{path}{slash}{}", name.to_string_lossy().escape_debug())
        };
        let (mut all, mut left_out) = (Vec::new(), Vec::new());
        beneath::each_entry(folder, |name, kind| {
            let mut leave_out = |why: LeftOutReason| {
                if left_out.len() < MAX_LEFT_OUT {
                    left_out.push((shown(name), why));
                }
            };
            if !counts(name) {
                leave_out(LeftOutReason::Hidden);
                return ControlFlow::Continue(());
            }
            self.read += 1;
            if self.read > self.options.max_read {
                self.found.uncounted = true;
                return ControlFlow::Break(());
            }
            if is_printable(name.to_bytes()) {
                all.push((name.to_owned(), kind));
            } else {
                self.found.not_seen += 1;
                leave_out(LeftOutReason::Name);
            }
            ControlFlow::Continue(())
        })?;
        left_out.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (name, why) in left_out {
            self.found.leave_out(name, why);
        }
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    }
}

fn counts(name: &CStr) -> bool {
    let bytes = name.to_bytes();
    bytes.first() != Some(&b'.') && bytes != b"node_modules"
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn names(root: &Path, folder: &str, options: &NamesOptions<'_>) -> FileNames {
        let root = RootFolder {
            base: None,
            path: root.to_path_buf(),
        };
        below(&root, LinkRule::Follow, folder, options).unwrap()
    }

    fn put(root: &Path, path: &str) {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }

    fn options(not_in: &BTreeSet<String>) -> NamesOptions<'_> {
        NamesOptions {
            max_depth: 4,
            max_entries: 500,
            max_read: 20_000,
            not_in,
            except: &["SKILL.md"],
        }
    }

    #[test]
    fn files_are_named_level_by_level_and_nothing_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        for path in [
            "s/SKILL.md",
            "s/z.md",
            "s/a/SKILL.md",
            "s/a/b/c/d/five.md",
            "s/a/b/c/d/e/six.md",
            "s/.hidden",
            "s/.git/config",
            "s/node_modules/x/y",
            "s/child/SKILL.md",
            "outside.md",
        ] {
            put(top, path);
        }
        let link =
            |target: &str, at: &str| std::os::unix::fs::symlink(target, top.join(at)).unwrap();
        link("z.md", "s/inside.md");
        link("../outside.md", "s/out.md");
        link("/etc", "s/etc");
        link("a", "s/again");
        link("nowhere", "s/dangling");
        link(".", "s/a/loop");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            top.join("s/pipe"),
            FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        put(top, "s/bad\u{7}name");
        let not_in = BTreeSet::from(["child".to_owned()]);
        let found = names(top, "s", &options(&not_in));
        assert_eq!(
            found,
            FileNames {
                names: [
                    "inside.md",
                    "z.md",
                    "a/SKILL.md",
                    "a/b/c/d/five.md",
                    "a/b/c/d/e/"
                ]
                .map(str::to_owned)
                .to_vec(),
                not_seen: 1,
                uncounted: false,
                links_out: 3,
                left_out: [
                    (".git", LeftOutReason::Hidden),
                    (".hidden", LeftOutReason::Hidden),
                    ("bad\\u{7}name", LeftOutReason::Name),
                    ("node_modules", LeftOutReason::Hidden),
                    ("again", LeftOutReason::LinkToFolder),
                    ("dangling", LeftOutReason::LinkOut),
                    ("etc", LeftOutReason::LinkOut),
                    ("out.md", LeftOutReason::LinkOut),
                    ("pipe", LeftOutReason::Special),
                    ("a/loop", LeftOutReason::LinkToFolder),
                ]
                .map(|(name, why)| (name.to_owned(), why))
                .to_vec(),
            }
        );
    }

    #[test]
    fn a_wide_folder_is_bounded_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..700 {
            put(folder.path(), &format!("s/f{n:03}"));
        }
        let none = BTreeSet::new();
        let found = names(folder.path(), "s", &options(&none));
        assert_eq!(
            (found.names.len(), found.not_seen, found.uncounted),
            (500, 200, false)
        );
        assert_eq!(
            found.names[499], "f499",
            "the first in order, whatever the file system's"
        );
        let few = NamesOptions {
            max_read: 600,
            ..options(&none)
        };
        let found = names(folder.path(), "s", &few);
        assert_eq!((found.not_seen, found.uncounted), (100, true));
    }

    #[test]
    fn a_contained_root_is_not_left() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "elsewhere/x.md");
        std::fs::create_dir(folder.path().join("root")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", folder.path().join("root/s")).unwrap();
        let root = RootFolder {
            base: None,
            path: folder.path().join("root"),
        };
        let none = BTreeSet::new();
        assert!(below(&root, LinkRule::Contain, "s", &options(&none)).is_err());
        assert_eq!(
            below(&root, LinkRule::Follow, "s", &options(&none))
                .unwrap()
                .names,
            ["x.md"]
        );
    }
}
