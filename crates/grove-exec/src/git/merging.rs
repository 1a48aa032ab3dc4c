//! Merging the work of several children: patches on top of one another in an index beside the repository's own, each by a
//! three-way merge. No file of the repository changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::inspection::GitInput;
use super::repository::Repository;
use super::{Git, GitError, files, first_line, names};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedPatches {
    Tree(String),
    Conflict {
        /// The index of that patch.
        at: usize,
        /// The indexes of the patches before it that changed these files.
        with: Vec<usize>,
        files: Vec<String>,
    },
}

/// An index in which patches are put on top of one another.
struct PatchMerge<'a> {
    git: &'a Git,
    repository: Repository,
    index: String,
    scratch: &'a Path,
    /// The number of attempts to put a patch in, which names the scratch folders.
    times: usize,
}

impl PatchMerge<'_> {
    fn run(&self, words: &[&str], input: Option<&[u8]>) -> Result<Vec<u8>, GitError> {
        let with_index = [("GIT_INDEX_FILE", &*self.index)];
        let asked = GitInput {
            words,
            variables: &with_index,
            input,
        };
        self.git
            .inspect(&self.repository, &self.repository.top, asked)
    }

    fn put_in(&mut self, patch: &[u8], more: &[String]) -> Result<(), GitError> {
        // Even where only the index is meant, git writes a file that is new on both sides into the working tree. So it gets
        // an empty folder as its working tree, a new one each time.
        let tree = self.scratch.join(format!("tree-{}", self.times));
        self.times += 1;
        files::make_folder(&tree)?;
        let work_tree = tree.to_string_lossy();
        let variables = [
            ("GIT_INDEX_FILE", &*self.index),
            ("GIT_WORK_TREE", &*work_tree),
        ];
        let words = [
            "apply",
            "--cached",
            "--3way",
            "--binary",
            "--whitespace=nowarn",
        ];
        let words = words.into_iter().chain(more.iter().map(String::as_str));
        let words: Vec<&str> = words.chain(["-"]).collect();
        let asked = GitInput {
            words: &words,
            variables: &variables,
            input: Some(patch),
        };
        self.git.inspect(&self.repository, &tree, asked).map(|_| ())
    }

    /// Puts in the changes of a patch other than removals of files that are removed already.
    fn put_in_rest(&mut self, patch: &[u8]) -> Result<(), GitError> {
        let gone = self.removed_already(patch)?;
        if gone.is_empty() {
            return Err(GitError::NotTheSame);
        }
        if self.files_of(patch)?.iter().all(|file| gone.contains(file)) {
            return Ok(());
        }
        let without = gone
            .iter()
            .map(|name| format!("--exclude={}", pattern(name)));
        let without: Vec<String> = without.collect();
        self.put_in(patch, &without)
    }

    fn removed_already(&self, patch: &[u8]) -> Result<BTreeSet<String>, GitError> {
        let summary = self.run(&["apply", "--summary", "-"], Some(patch))?;
        let summary = String::from_utf8_lossy(&summary).into_owned();
        let removed = summary.lines().filter_map(|line| {
            let (_, name) = line.strip_prefix(" delete mode ")?.split_once(' ')?;
            Some(name.to_owned())
        });
        let there = names(&self.run(&["ls-files", "-z"], None)?);
        Ok(removed.filter(|name| !there.contains(name)).collect())
    }

    fn unfit(&mut self, patch: &[u8], files: Vec<String>) -> Result<Vec<String>, GitError> {
        let gone = self.removed_already(patch)?;
        let mut unfit = Vec::new();
        for file in files.iter().filter(|file| !gone.contains(*file)) {
            let only = [format!("--include={}", pattern(file))];
            if self.put_in(patch, &only).is_err() {
                unfit.push(file.clone());
            }
        }
        Ok(if unfit.is_empty() { files } else { unfit })
    }

    fn unmerged(&self) -> Result<Vec<String>, GitError> {
        let listed = names(&self.run(&["ls-files", "-u", "-z"], None)?);
        // The listing has an entry for every side of a conflict.
        let files = listed.iter().filter_map(|entry| entry.split_once('\t'));
        let files: BTreeSet<String> = files.map(|(_, file)| file.to_owned()).collect();
        Ok(files.into_iter().collect())
    }

    fn files_of(&self, patch: &[u8]) -> Result<Vec<String>, GitError> {
        let listed = names(&self.run(&["apply", "--numstat", "-z", "-"], Some(patch))?);
        let files = listed
            .iter()
            .filter_map(|entry| entry.splitn(3, '\t').nth(2));
        Ok(files.map(str::to_owned).collect())
    }
}

impl Git {
    /// Puts patches on top of a commit, in their order. `scratch` is an empty folder.
    pub fn merged(
        &self,
        repository: &Path,
        base: &str,
        patches: &[Vec<u8>],
        scratch: &Path,
    ) -> Result<MergedPatches, GitError> {
        let mut merging = PatchMerge {
            git: self,
            repository: self.repository(repository)?,
            index: scratch.join("merge-index").to_string_lossy().into_owned(),
            scratch,
            times: 0,
        };
        merging.run(&["read-tree", base], None)?;
        let mut changed: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, patch) in patches.iter().enumerate() {
            if patch.is_empty() {
                continue;
            }
            let names = merging.files_of(patch)?;
            if let Err(error) = merging.put_in(patch, &[]) {
                let unmerged = merging.unmerged()?;
                if !unmerged.is_empty() || merging.put_in_rest(patch).is_err() {
                    let is_of_both = |file: &String| changed.contains_key(file);
                    let files = if unmerged.is_empty() {
                        let both = names.into_iter().filter(is_of_both).collect();
                        merging.unfit(patch, both)?
                    } else {
                        unmerged
                    };
                    return conflict(at, files, &changed).ok_or(error);
                }
            }
            for name in names {
                changed.entry(name).or_default().push(at);
            }
        }
        let tree = merging.run(&["write-tree"], None)?;
        Ok(MergedPatches::Tree(first_line(&tree)))
    }

    /// Makes a commit of a tree on top of another, to which no branch refers. The same tree on top of the same commit gives
    /// the same commit.
    pub fn commit_on(
        &self,
        repository: &Path,
        base: &str,
        tree: &str,
        message: &str,
    ) -> Result<String, GitError> {
        let words = ["show", "-s", "--format=%cd", "--date=raw", base];
        let date = self.line(repository, &words)?;
        let author = [
            ("GIT_AUTHOR_NAME", "grove"),
            ("GIT_AUTHOR_EMAIL", "grove@localhost"),
            ("GIT_AUTHOR_DATE", &*date),
            ("GIT_COMMITTER_NAME", "grove"),
            ("GIT_COMMITTER_EMAIL", "grove@localhost"),
            ("GIT_COMMITTER_DATE", &*date),
        ];
        let words = ["commit-tree", tree, "-p", base, "-m", message];
        let made = self.run(repository, &words, &author, None)?;
        Ok(first_line(&made))
    }

    pub fn commit_named(&self, repository: &Path, name: &str) -> Result<String, GitError> {
        let commit = format!("{name}^{{commit}}");
        let words = ["rev-parse", "--verify", "-q", "--end-of-options", &commit];
        self.line(repository, &words)
    }
}

/// Returns the conflict of a patch that does not fit those before it; none if no other patch changed these files.
fn conflict(
    at: usize,
    files: Vec<String>,
    changed: &BTreeMap<String, Vec<usize>>,
) -> Option<MergedPatches> {
    let with = files.iter().filter_map(|file| changed.get(file)).flatten();
    let with: BTreeSet<usize> = with.copied().collect();
    let with: Vec<usize> = with.into_iter().collect();
    (!with.is_empty()).then_some(MergedPatches::Conflict { at, with, files })
}

/// Returns a pattern that matches this path only.
fn pattern(path: &str) -> String {
    let letters = path.chars().map(|c| match c {
        '*' | '?' | '[' | '\\' => format!("\\{c}"),
        other => other.to_string(),
    });
    letters.collect()
}
