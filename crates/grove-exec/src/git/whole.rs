//! Comparing objects with their names. git reads what is stored under a name without computing the name again, so that
//! somebody who may write in a repository's folder could put another content there.

use std::path::Path;

use super::inspection::GitInput;
use super::repository::Repository;
use super::{Git, GitError, first_line, names};

/// An entry of a comparison of two trees: the kind and the name of the object in the first.
struct Before {
    kind: &'static str,
    name: String,
}

impl Git {
    /// Fails unless a tree, or the tree of a commit, can be compared with another one: every part of it that the comparison
    /// reads is stored under its own name.
    pub fn require_comparable(
        &self,
        folder: &Path,
        before: &str,
        now: &str,
    ) -> Result<(), GitError> {
        let repository = self.repository(folder)?;
        let look = |words: &[&str]| {
            self.inspect(
                &repository,
                folder,
                GitInput {
                    words,
                    ..GitInput::default()
                },
            )
        };
        if first_line(&look(&["cat-file", "-t", before])?) == "commit" {
            self.require_whole(&repository, "commit", before)?;
        }
        let tree = first_line(&look(&["rev-parse", &format!("{before}^{{tree}}")])?);
        self.require_whole(&repository, "tree", &tree)?;
        for Before { kind, name } in self.differing(&repository, &tree, now)? {
            if kind == "tree" {
                self.require_whole(&repository, kind, &name)?;
            }
        }
        Ok(())
    }

    /// Fails unless the files of a working tree are those of its commit, whatever is stored under their names.
    pub fn require_checked_out(
        &self,
        top: &Path,
        commit: &str,
        scratch: &Path,
    ) -> Result<(), GitError> {
        let repository = self.repository(top)?;
        let now = self.tree_now(top, commit, &scratch.join("whole-index"), &[])?;
        // Where a file is written in another form than it is stored in, it may come back as another one.
        for Before { kind, name } in self.differing(&repository, commit, &now)? {
            self.require_whole(&repository, kind, &name)?;
        }
        Ok(())
    }

    /// The objects of a tree that another one does not have in their places.
    fn differing(
        &self,
        repository: &Repository,
        tree: &str,
        other: &str,
    ) -> Result<Vec<Before>, GitError> {
        let asked = GitInput {
            words: &[
                "diff-tree",
                "-r",
                "-t",
                "-z",
                "--raw",
                "--no-renames",
                tree,
                other,
            ],
            ..GitInput::default()
        };
        let listed = names(&self.inspect(repository, &repository.top, asked)?);
        let before = listed.iter().filter_map(|entry| {
            let mut fields = entry.strip_prefix(':')?.split(' ');
            let kind = match fields.next()? {
                "000000" | "160000" => return None,
                "040000" => "tree",
                _ => "blob",
            };
            let name = fields.nth(1)?.to_owned();
            Some(Before { kind, name })
        });
        Ok(before.collect())
    }

    /// Fails unless what is stored under the name of an object has that name.
    fn require_whole(
        &self,
        repository: &Repository,
        kind: &str,
        name: &str,
    ) -> Result<(), GitError> {
        let top = &repository.top;
        let asked = GitInput {
            words: &["cat-file", kind, name],
            ..GitInput::default()
        };
        let stored = self.inspect(repository, top, asked)?;
        let asked = GitInput {
            words: &["hash-object", "--literally", "--stdin", "-t", kind],
            input: Some(&stored),
            ..GitInput::default()
        };
        if first_line(&self.inspect(repository, top, asked)?) == name {
            return Ok(());
        }
        Err(GitError::Exchanged(name.to_owned()))
    }
}
