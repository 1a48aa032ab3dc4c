//! The folders below a granted one in which a person may work and meet what a project brings.
//!
//! Bounded, because a project may be as large as it likes; what was not searched is named. Hidden folders and
//! `node_modules` are not searched: people do not work there, and a person who does grants trust from there. Links are
//! not followed: a working folder is known by its real path.

use std::collections::BTreeSet;
use std::path::Path;

use grove_fs::files;

/// The folder levels below the granted folder that are searched.
const MAX_DEPTH: usize = 6;
const MAX_FOLDERS: usize = 2_000;
const MAX_ENTRIES: usize = 100_000;

/// The result of a search, by path below the folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NestedFolders {
    /// Folders that hold one of the names.
    pub(super) holders: Vec<String>,
    pub(super) not_searched: Vec<String>,
}

/// Searches a folder and those below it, level by level, for entries of these names.
pub(super) fn search(folder: &Path, names: &BTreeSet<String>) -> NestedFolders {
    let mut nested = NestedFolders::default();
    let mut level = vec![String::new()];
    let mut folders_left = MAX_FOLDERS;
    for _ in 0..=MAX_DEPTH {
        let beyond = level.split_off(folders_left.min(level.len()));
        folders_left -= level.len();
        nested.not_searched.extend(beyond);
        let mut next = Vec::new();
        for path in level {
            next.extend(nested.search_folder(folder, &path, names));
        }
        level = next;
    }
    nested.not_searched.extend(level);
    nested.not_searched.sort();
    nested
}

impl NestedFolders {
    fn search_folder(
        &mut self,
        folder: &Path,
        path: &str,
        names: &BTreeSet<String>,
    ) -> Vec<String> {
        let entries = files::list(&folder.join(path), MAX_ENTRIES).unwrap_or_else(|_| {
            self.not_searched.push(path.to_owned());
            Vec::new()
        });
        if entries.len() == MAX_ENTRIES {
            self.not_searched.push(path.to_owned());
        }
        if entries.iter().any(|(name, _)| names.contains(name)) {
            self.holders.push(path.to_owned());
        }
        let is_searched = |name: &str| !name.starts_with('.') && name != "node_modules";
        entries
            .into_iter()
            .filter(|(name, is_folder)| *is_folder && is_searched(name))
            .map(|(name, _)| match path {
                "" => name,
                above => format!("{above}/{name}"),
            })
            .collect()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test makes folders")]
mod tests {
    use super::*;

    fn tree(folders: impl IntoIterator<Item = String>) -> tempfile::TempDir {
        let base = tempfile::tempdir().unwrap();
        for folder in folders {
            std::fs::create_dir_all(base.path().join(folder)).unwrap();
        }
        base
    }

    fn search_for_agents(base: &tempfile::TempDir) -> NestedFolders {
        search(base.path(), &BTreeSet::from([".agents".to_owned()]))
    }

    #[test]
    fn searched_are_the_folders_somebody_works_in() {
        let base = tree(
            [
                ".agents",
                "a/b/.agents",
                "a/.hidden/x/.agents",
                "a/node_modules/x/.agents",
                ".git/x/.agents",
                "c/.other",
                "1/2/3/4/5/6/.agents",
                "1/2/3/4/5/6/7/.agents",
            ]
            .map(str::to_owned),
        );
        std::os::unix::fs::symlink(base.path().join("a"), base.path().join("z")).unwrap();
        assert_eq!(
            search_for_agents(&base),
            NestedFolders {
                holders: ["", "a/b", "1/2/3/4/5/6"].map(str::to_owned).to_vec(),
                not_searched: vec!["1/2/3/4/5/6/7".to_owned()],
            }
        );
    }

    #[test]
    fn the_first_folders_in_order_are_searched() {
        let count = MAX_FOLDERS + 5;
        let base = tree((0..count).map(|number| format!("{number:05}/.agents")));
        let nested = search_for_agents(&base);
        // The granted folder itself is the first.
        assert_eq!(nested.holders.len(), MAX_FOLDERS - 1);
        let beyond: Vec<String> = (MAX_FOLDERS - 1..count)
            .map(|number| format!("{number:05}"))
            .collect();
        assert_eq!(nested.not_searched, beyond);
    }
}
