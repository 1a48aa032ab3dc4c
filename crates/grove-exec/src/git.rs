//! Working trees of git repositories: made, captured as a patch that was shown to apply, removed.
//!
//! Nothing of the repository's or the person's runs: hooks, file system monitors, external diffs, text conversions and
//! filters are off. An index beside the repository's own is used, so that nothing in it changes.

mod bounded_command;
mod working_tree;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use bounded_command::finish;
pub use working_tree::{Bringing, CapturedSubmodule, CapturedTree};

/// Bytes that one command prints.
const MOST_OUTPUT: u64 = 256 << 20;
/// What is off whatever the configuration says.
const OFF: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.quotePath=false",
    "commit.gpgSign=false",
    "submodule.recurse=false",
    "diff.external=",
    "gc.auto=0",
];

/// Why something could not be done with a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("git cannot be started: {0}")]
    NotThere(String),
    /// It said no.
    #[error("git {command}: {message}")]
    Failed {
        /// What it was asked.
        command: String,
        /// What it said.
        message: String,
    },
    /// What was captured is not what there is.
    #[error("the patch does not lead to the same files")]
    NotTheSame,
}

/// A folder in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryPlace {
    /// The top folder of the working tree.
    pub top: PathBuf,
    /// The folder below it.
    pub below: PathBuf,
    /// The commit that is checked out.
    pub head: String,
}

/// git, with the environment that it sees.
#[derive(Debug, Clone)]
pub struct Git {
    environment: Vec<(String, String)>,
}

impl Git {
    /// With this environment and no other.
    pub fn new(environment: Vec<(String, String)>) -> Self {
        Self { environment }
    }

    /// Where in which repository a folder is; none when it is in no repository with a commit.
    pub fn place(&self, folder: &Path) -> Result<Option<RepositoryPlace>, GitError> {
        let ask = |question: &[&str]| self.line(folder, question);
        match ask(&["rev-parse", "--show-toplevel"]) {
            Ok(top) => {
                let below = ask(&["rev-parse", "--show-prefix"])?;
                let head = ask(&["rev-parse", "--verify", "-q", "HEAD^{commit}"]);
                Ok(head.ok().map(|head| RepositoryPlace {
                    top: top.into(),
                    below: below.into(),
                    head,
                }))
            }
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The folders of the repository that a folder is in: the top of its working tree, and where commits are kept.
    /// Nothing when it is in none.
    pub fn folders(&self, folder: &Path) -> Vec<PathBuf> {
        let words = ["rev-parse", "--path-format=absolute"];
        let words = [&words[..], &["--show-toplevel", "--git-common-dir"]].concat();
        let said = self.run(folder, &words, &[], None).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        said.lines().map(PathBuf::from).collect()
    }

    /// The files that are not as they are in the commit, a few of them.
    pub fn changes(&self, top: &Path) -> Result<Vec<String>, GitError> {
        let listed = self.run(top, &["status", "--porcelain", "-z"], &[], None)?;
        let entries = listed.split(|byte| *byte == 0).filter(|it| !it.is_empty());
        let names =
            entries.map(|it| String::from_utf8_lossy(it.get(3..).unwrap_or(it)).into_owned());
        Ok(names.take(20).collect())
    }

    /// A commit of everything in a working tree as it is now, which nothing else knows of.
    pub fn snapshot(&self, top: &Path, scratch: &Path) -> Result<String, GitError> {
        let tree = self.tree_now(top, "HEAD", &scratch.join("snapshot-index"), &[])?;
        self.commit(top, &tree)
    }

    fn commit(&self, top: &Path, tree: &str) -> Result<String, GitError> {
        let author = [
            ("GIT_AUTHOR_NAME", "grove"),
            ("GIT_AUTHOR_EMAIL", "grove@localhost"),
            ("GIT_COMMITTER_NAME", "grove"),
            ("GIT_COMMITTER_EMAIL", "grove@localhost"),
        ];
        let words = ["commit-tree", tree, "-p", "HEAD", "-m", "working tree"];
        let made = self.run(top, &words, &author, None)?;
        Ok(first_line(&made))
    }

    /// The tree of everything in a folder's working tree as it is now, but for what is `apart`, by path from the top; none
    /// where there is no repository with a commit.
    pub fn tree(
        &self,
        folder: &Path,
        scratch: &Path,
        apart: &[String],
    ) -> Result<Option<String>, GitError> {
        match self.place(folder)? {
            Some(place) => {
                let index = scratch.join("look-index");
                self.tree_now(&place.top, "HEAD", &index, apart).map(Some)
            }
            None => Ok(None),
        }
    }

    /// The change from one tree to another.
    pub fn patch(&self, folder: &Path, base: &str, tree: &str) -> Result<Vec<u8>, GitError> {
        self.patch_below(folder, base, tree, Path::new(""))
    }

    /// The same with names that begin with a folder.
    fn patch_below(
        &self,
        folder: &Path,
        base: &str,
        tree: &str,
        below: &Path,
    ) -> Result<Vec<u8>, GitError> {
        let [source, target] = ["--src-prefix=a/", "--dst-prefix=b/"].map(|prefix| {
            let below = below.to_string_lossy();
            let end = if below.is_empty() { "" } else { "/" };
            format!("{prefix}{below}{end}")
        });
        let words = [
            "diff-tree",
            "-r",
            "-p",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            &source,
            &target,
            base,
            tree,
        ];
        self.run(folder, &words, &[], None)
    }

    /// The files that are not the same in two trees, from the top folder.
    pub fn changed(&self, folder: &Path, base: &str, tree: &str) -> Result<Vec<String>, GitError> {
        let words = [
            "diff-tree",
            "-r",
            "--name-only",
            "-z",
            "--no-renames",
            base,
            tree,
        ];
        Ok(names(&self.run(folder, &words, &[], None)?))
    }

    /// The files that are staged.
    pub fn staged(&self, folder: &Path) -> Result<Vec<String>, GitError> {
        let words = [
            "diff",
            "--cached",
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
        ];
        Ok(names(&self.run(folder, &words, &[], None)?))
    }

    /// Which of these paths are files in a tree.
    pub fn files_in(
        &self,
        folder: &Path,
        tree: &str,
        paths: &[String],
    ) -> Result<Vec<String>, GitError> {
        let mut words = vec![
            "ls-tree",
            "-r",
            "-z",
            "--full-name",
            "--full-tree",
            "--name-only",
            tree,
            "--",
        ];
        words.extend(paths.iter().map(String::as_str));
        let found = names(&self.run(folder, &words, &[], None)?);
        Ok(found
            .into_iter()
            .filter(|name| paths.contains(name))
            .collect())
    }

    /// A commit of a tree in which some files are as they were in another, which nothing else knows of.
    pub fn with_files_of(
        &self,
        folder: &Path,
        tree: &str,
        base: &str,
        files: &[String],
        scratch: &Path,
    ) -> Result<String, GitError> {
        let index = scratch.join("pinned-index");
        let index = index.to_string_lossy();
        let with_index = [("GIT_INDEX_FILE", &*index)];
        self.run(folder, &["read-tree", tree], &with_index, None)?;
        let mut words = vec!["ls-tree", "-r", "-z", "--full-tree", base, "--"];
        words.extend(files.iter().map(String::as_str));
        let mut entries = self.run(folder, &words, &[], None)?;
        let known = names(&entries);
        // One that was not there before is not there.
        for file in files {
            if !known
                .iter()
                .any(|entry| entry.ends_with(&format!("\t{file}")))
            {
                entries.extend(format!("0 {}\t{file}\0", "0".repeat(40)).into_bytes());
            }
        }
        let words = ["update-index", "-z", "--index-info"];
        self.run(folder, &words, &with_index, Some(&entries))?;
        let made = first_line(&self.run(folder, &["write-tree"], &with_index, None)?);
        self.commit(folder, &made)
    }

    /// Puts a patch into a working tree by a three-way merge, or as it is where files are changed. Its names begin with
    /// the folder `below`. The files that are in conflict afterwards.
    pub fn apply(
        &self,
        folder: &Path,
        patch: &[u8],
        below: &Path,
    ) -> Result<Vec<String>, GitError> {
        if patch.is_empty() {
            return Ok(Vec::new());
        }
        let strip = strip(below);
        let words = [
            "apply",
            "--3way",
            "--binary",
            "--whitespace=nowarn",
            &strip,
            "-",
        ];
        let applied = self.run(folder, &words, &[], Some(patch));
        let names = self.unmerged(folder)?;
        match applied {
            // Files that are changed and not committed are in the way of a merge, but not of a patch that fits.
            Err(error) if names.is_empty() => {
                let words = ["apply", "--binary", "--whitespace=nowarn", &strip, "-"];
                let fits = self.run(folder, &words, &[], Some(patch));
                fits.map(|_| names).map_err(|_| error)
            }
            _ => Ok(names),
        }
    }

    /// The files of a working tree that are in conflict.
    pub fn unmerged(&self, folder: &Path) -> Result<Vec<String>, GitError> {
        let words = [
            "diff",
            "--name-only",
            "--diff-filter=U",
            "-z",
            "--no-ext-diff",
        ];
        Ok(names(&self.run(folder, &words, &[], None)?))
    }

    /// Whether all that a patch does is done in a working tree already. Its names begin with the folder `below`.
    pub fn has_patch(&self, folder: &Path, patch: &[u8], below: &Path) -> bool {
        let strip = strip(below);
        let words = ["apply", "--reverse", "--check", "--binary", &strip, "-"];
        patch.is_empty() || self.run(folder, &words, &[], Some(patch)).is_ok()
    }

    /// The filters that the configuration names, whoever wrote it: a child can write that of a submodule.
    fn filters(&self, folder: &Path) -> BTreeSet<String> {
        let words = [
            "config",
            "--null",
            "--name-only",
            "--get-regexp",
            "^filter\\.",
        ];
        let listed = self.run(folder, &words, &[], None).unwrap_or_default();
        let names = names(&listed).into_iter().filter_map(|name| {
            let (filter, _) = name.strip_prefix("filter.")?.rsplit_once('.')?;
            Some(filter.to_owned())
        });
        names.collect()
    }

    fn line(&self, folder: &Path, words: &[&str]) -> Result<String, GitError> {
        self.run(folder, words, &[], None)
            .map(|bytes| first_line(&bytes))
    }

    fn run(
        &self,
        folder: &Path,
        words: &[&str],
        variables: &[(&str, &str)],
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, GitError> {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder);
        git.args(OFF.iter().flat_map(|setting| ["-c", setting]));
        // Also commands of which nobody would expect it, such as `write-tree`, look at files through filters.
        if words.first() != Some(&"config") {
            for filter in self.filters(folder) {
                for off in ["clean=", "smudge=", "process=", "required=false"] {
                    git.arg("-c").arg(format!("filter.{filter}.{off}"));
                }
            }
        }
        git.args(words);
        git.env_clear();
        git.envs(self.environment.iter().cloned());
        git.envs([("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")]);
        git.envs(variables.iter().copied());
        let name = words.first().copied().unwrap_or_default();
        finish(git, name, input, MOST_OUTPUT)
    }
}

/// What git lists with a zero byte after each.
fn names(listed: &[u8]) -> Vec<String> {
    let entries = listed.split(|byte| *byte == 0).filter(|it| !it.is_empty());
    entries
        .map(|it| String::from_utf8_lossy(it).into_owned())
        .collect()
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().next().unwrap_or_default().to_owned()
}

/// How a patch is read whose names begin with a folder.
fn strip(below: &Path) -> String {
    format!("-p{}", below.components().count() + 1)
}
