//! The content of a skill's folder, and the changes in it since it was recorded.
//!
//! Files count by digest and executable bit, links by their target, folders as such. A pin of an entry is a line of
//! words: the digest if there is one, the kinds that the file counts as, and one word for the entry's form.

use std::collections::BTreeMap;

use crate::digest::Digest;

/// Returns the words of a pin, without the target of a link, which may be any text.
pub(crate) fn words_of(pin: &str) -> &str {
    pin.split_once(LINK).map_or(pin, |(words, _)| words)
}

/// The contents of skills' folders, by the folder's path below the root.
pub type SkillFolders = BTreeMap<String, FolderContent>;

/// The content of one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderContent {
    /// Its entries by path below it; the folder itself under the empty path.
    pub entries: BTreeMap<String, FolderContentEntry>,
    /// The reason why not everything is known, if so.
    pub problem: Option<String>,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderContentEntry {
    /// A regular file; without a digest if it cannot be read.
    File {
        /// The digest of its bytes.
        digest: Option<Digest>,
        /// Set if it may be executed.
        executable: bool,
    },
    /// A symbolic link to any target.
    Link {
        /// The target as it is written.
        target: String,
    },
    /// A folder, recorded without a digest.
    Folder,
    /// A pipe, a socket or a device.
    Special,
}

const FILE: &str = "file";
const EXECUTABLE: &str = "executable";
const FOLDER: &str = "folder";
const SPECIAL: &str = "special";
/// A link's target is the rest of the line.
const LINK: &str = "link -> ";

impl FolderContentEntry {
    /// Returns the words for the entry's form, which stand behind the digest in a pin.
    pub fn words(&self) -> String {
        match self {
            Self::File { executable, .. } if *executable => EXECUTABLE.to_owned(),
            Self::File { .. } => FILE.to_owned(),
            Self::Link { target } => format!("{LINK}{target}"),
            Self::Folder => FOLDER.to_owned(),
            Self::Special => SPECIAL.to_owned(),
        }
    }

    /// Returns the whole pin of an entry that counts only as a part of its folder.
    pub fn pin(&self) -> String {
        match self {
            Self::File { digest, .. } => {
                let digest = digest.map(|digest| digest.to_string());
                format!("{} {}", digest.unwrap_or_default(), self.words())
            }
            other => other.words(),
        }
    }

    /// Returns the entry that a pin is of; none if the file was not recorded as part of a skill's folder.
    pub fn of_pin(pin: &str) -> Option<Self> {
        if let Some((_, target)) = pin.split_once(LINK) {
            let target = target.to_owned();
            return Some(Self::Link { target });
        }
        let words = pin;
        let digest = words.split(' ').next().unwrap_or_default().parse().ok();
        let has = |wanted: &str| words.split(' ').any(|word| word == wanted);
        if has(FOLDER) {
            Some(Self::Folder)
        } else if has(SPECIAL) {
            Some(Self::Special)
        } else if has(FILE) || has(EXECUTABLE) {
            let executable = has(EXECUTABLE);
            Some(Self::File { digest, executable })
        } else {
            None
        }
    }

    fn change_from(&self, before: &Self) -> Option<&'static str> {
        match (before, self) {
            (_, Self::File { digest: None, .. }) => Some("cannot be read"),
            (
                Self::File {
                    digest: old,
                    executable: was,
                },
                Self::File {
                    digest: new,
                    executable: is,
                },
            ) => match (old == new, was, is) {
                (false, ..) => Some("changed"),
                (true, false, true) => Some("became executable"),
                (true, true, false) => Some("is no longer executable"),
                (true, ..) => None,
            },
            (before, now) if before == now => None,
            (Self::Link { .. }, Self::Link { .. }) => Some("became a link to something else"),
            (_, Self::Link { .. }) => Some("became a link"),
            (_, Self::Folder) => Some("became a folder"),
            (_, Self::File { .. }) => Some("became a file"),
            (_, Self::Special) => Some("became a device, a pipe or a socket"),
        }
    }
}

impl FolderContent {
    /// Returns the differences: the path of each changed entry and what happened to it, in order of paths.
    pub fn changes_since(
        &self,
        before: &BTreeMap<String, FolderContentEntry>,
    ) -> Vec<(String, &'static str)> {
        let gone = before
            .keys()
            .filter(|path| !self.entries.contains_key(*path));
        let gone = gone.map(|path| (path.clone(), "was removed"));
        let now = self.entries.iter().filter_map(|(path, entry)| {
            let what = match before.get(path) {
                None => "was added",
                Some(before) => entry.change_from(before)?,
            };
            Some((path.clone(), what))
        });
        let mut all: Vec<_> = gone.chain(now).collect();
        all.sort_unstable();
        all
    }

    /// Returns the file that a path in the folder leads to, through links that stay in the folder.
    pub fn file_at(&self, path: &str) -> Option<&FolderContentEntry> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            match self.link_on(&path) {
                Some(further) => path = further?,
                None => return self.entries.get(&path),
            }
        }
        None
    }

    /// Returns the path with its first link resolved, if there is one; the inner value is none if the link leads out.
    #[expect(
        clippy::option_option,
        reason = "no link and a link that leads out are two answers"
    )]
    fn link_on(&self, path: &str) -> Option<Option<String>> {
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([path.len()]);
        let mut parts = ends.filter_map(|end| path.split_at_checked(end));
        parts.find_map(|(part, rest)| match self.entries.get(part) {
            Some(FolderContentEntry::Link { target }) => {
                let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder);
                Some(joined(folder, target).map(|led| format!("{led}{rest}")))
            }
            _ => None,
        })
    }
}

const MAX_LINKS: usize = 16;

/// Returns a link's target from its folder; none if it leads out of the outermost one.
fn joined(folder: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, executable: bool) -> FolderContentEntry {
        FolderContentEntry::File {
            digest: Some(Digest::of(text.as_bytes())),
            executable,
        }
    }

    fn link(target: &str) -> FolderContentEntry {
        FolderContentEntry::Link {
            target: target.to_owned(),
        }
    }

    #[test]
    fn a_pin_says_what_an_entry_was() {
        for entry in [
            file("x", false),
            file("x", true),
            link("a -> b link -> c"),
            FolderContentEntry::Folder,
            FolderContentEntry::Special,
        ] {
            assert_eq!(FolderContentEntry::of_pin(&entry.pin()), Some(entry));
        }
        let digest = Digest::of(b"x");
        assert_eq!(
            FolderContentEntry::of_pin(&format!("{digest} agents")),
            None
        );
        assert_eq!(
            FolderContentEntry::of_pin(&format!("{digest} skills executable")),
            Some(file("x", true))
        );
        let linked = format!("{digest} skills {}", link("SKILL.txt").words());
        assert_eq!(FolderContentEntry::of_pin(&linked), Some(link("SKILL.txt")));
    }

    #[test]
    fn every_difference_is_named() {
        let unreadable = FolderContentEntry::File {
            digest: None,
            executable: false,
        };
        for (before, now, what) in [
            (Some(file("a", false)), Some(file("a", false)), None),
            (
                Some(file("a", false)),
                Some(file("b", false)),
                Some("changed"),
            ),
            (
                Some(file("a", false)),
                Some(file("a", true)),
                Some("became executable"),
            ),
            (
                Some(file("a", true)),
                Some(file("a", false)),
                Some("is no longer executable"),
            ),
            (None, Some(file("a", false)), Some("was added")),
            (Some(file("a", false)), None, Some("was removed")),
            (
                Some(file("a", false)),
                Some(link("x")),
                Some("became a link"),
            ),
            (
                Some(link("y")),
                Some(link("x")),
                Some("became a link to something else"),
            ),
            (Some(link("y")), Some(link("y")), None),
            (
                Some(link("y")),
                Some(file("a", false)),
                Some("became a file"),
            ),
            (
                Some(file("a", false)),
                Some(FolderContentEntry::Folder),
                Some("became a folder"),
            ),
            (
                Some(unreadable.clone()),
                Some(unreadable),
                Some("cannot be read"),
            ),
        ] {
            let named =
                |entry: Option<FolderContentEntry>| entry.map(|entry| ("p".to_owned(), entry));
            let content = FolderContent {
                entries: named(now.clone()).into_iter().collect(),
                problem: None,
            };
            let changes = content.changes_since(&named(before.clone()).into_iter().collect());
            let expected: Vec<_> = what
                .map(|what| ("p".to_owned(), what))
                .into_iter()
                .collect();
            assert_eq!(changes, expected, "{before:?} {now:?}");
        }
    }

    #[test]
    fn a_path_is_followed_through_links_that_stay_inside() {
        let entries = [
            ("a/x", file("x", false)),
            ("near", link("a/x")),
            ("a/up", link("../near")),
            ("folder", link("./a")),
            ("out", link("../a/x")),
            ("absolute", link("/a/x")),
            ("loop", link("loop")),
        ];
        let content = FolderContent {
            entries: entries.map(|(path, it)| (path.to_owned(), it)).into(),
            problem: None,
        };
        for (path, is_found) in [
            ("a/x", true),
            ("near", true),
            ("a/up", true),
            ("folder/x", true),
            ("folder/up", true),
            ("out", false),
            ("absolute", false),
            ("loop", false),
            ("missing", false),
        ] {
            assert_eq!(content.file_at(path).is_some(), is_found, "{path}");
        }
    }
}
