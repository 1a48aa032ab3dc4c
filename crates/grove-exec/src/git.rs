//! git, used in two ways only. To *look* at a tree, git gets a repository folder that Grove made and no protocol, so that
//! nothing that a repository names can run. To *fetch*, it gets one address, that address's protocol, and an empty
//! repository.
//!
//! Making a working tree, capturing it as a patch that was checked to apply, and removing it are looks too. They use an
//! index beside the repository's own, so that nothing in it changes.

mod bounded_command;
mod fetch;
mod files;
mod guard;
mod inspection;
mod merging;
mod repository;
mod settings;
mod whole;
mod working_tree;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bounded_command::finish;
use grove_plan::KnownFiles;
pub use guard::GuardedRepository;
pub use merging::MergedPatches;
use repository::Repository;
use settings::GitSettings;
pub use working_tree::{CapturedSubmodule, CapturedTree, LinkOrCopy, SubmoduleFiles};

/// The most bytes that one command may print.
const MOST_OUTPUT: u64 = 256 << 20;
const MOST_CHANGES: usize = 20;
/// A failure to do something with a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    #[error("git cannot be started: {0}")]
    NotThere(String),
    #[error("git {command}: {message}")]
    Failed { command: String, message: String },
    #[error("{}: {why}", .path.display())]
    File { path: PathBuf, why: String },
    #[error("{} is in no git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("the repository {} belongs to another user; `git config --global --add safe.directory {}` allows it", .0.display(), .0.display())]
    NotOwned(PathBuf),
    #[error("the repository has {0}, which is not known here")]
    UnknownForm(String),
    #[error("nothing is fetched from {0}: {1}")]
    Address(String, &'static str),
    /// A submodule cannot be compared with its commit.
    #[error("the submodule {0} has no repository of its own any more")]
    NoSubmodule(String),
    /// Another content is stored under the name of an object.
    #[error("the content of the object {0} was exchanged in the repository")]
    Exchanged(String),
    /// The patch of a working tree does not lead to the files that are there.
    #[error("the patch does not lead to the same files")]
    NotTheSame,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryPlace {
    pub top: PathBuf,
    /// The folder below it.
    pub below: PathBuf,
    /// The commit that is checked out.
    pub head: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppliedPatch {
    pub conflicts: Vec<String>,
    /// Set if the patch was merged, which stages it; a patch that was applied without a merge is not staged.
    pub is_staged: bool,
}

#[derive(Debug, Clone)]
pub struct Git {
    environment: Vec<(String, String)>,
    /// The `GIT_` variables, of which only the folders count at which the search for a repository stops.
    ceilings: Vec<(String, String)>,
    person: Arc<OnceLock<GitSettings>>,
}

impl Git {
    /// Creates a git with this environment and no other. Of its `GIT_` variables only the ceiling folders count.
    pub fn new(environment: Vec<(String, String)>) -> Self {
        let is_gits = |(name, _): &(String, String)| name.starts_with("GIT_");
        let (of_git, environment) = environment.into_iter().partition(is_gits);
        Self {
            environment,
            ceilings: of_git,
            person: Arc::default(),
        }
    }

    fn person(&self) -> Result<&GitSettings, GitError> {
        if self.person.get().is_none() {
            let read = GitSettings::of_person(&self.environment)?;
            let _ = self.person.set(read);
        }
        let nothing: &GitSettings = const { &GitSettings::NONE };
        Ok(self.person.get().unwrap_or(nothing))
    }

    /// The repository that a folder is in, if the person may use it.
    fn repository(&self, folder: &Path) -> Result<Repository, GitError> {
        let none = || GitError::NoRepository(folder.to_path_buf());
        let mut found = Repository::find(folder, &self.ceilings).ok_or_else(none)?;
        if !found.belongs_to(&self.users()) && !self.is_safe(&found.top)? {
            return Err(GitError::NotOwned(found.top));
        }
        found.settings = self.settings_of(&found)?;
        if !found.is_linked() && found.settings.is_on("core.bare") {
            return Err(none());
        }
        Ok(found)
    }

    /// The users whose repositories count as the person's own: with `sudo` also the user who called it.
    fn users(&self) -> Vec<u32> {
        let user = rustix::process::geteuid().as_raw();
        let asked = self.environment.iter().find(|(name, _)| name == "SUDO_UID");
        let asked = asked.and_then(|(_, id)| id.parse().ok());
        let asked = asked.filter(|_| user == 0);
        std::iter::once(user).chain(asked).collect()
    }

    /// Returns true if the person's configuration says that a repository of another user is safe.
    fn is_safe(&self, top: &Path) -> Result<bool, GitError> {
        let mut is_safe = false;
        for named in self.person()?.all("safe.directory") {
            is_safe = match named {
                "" => false,
                "*" => true,
                _ => is_safe || names_folder(named, top),
            };
        }
        Ok(is_safe)
    }

    /// Returns the repository and the place in it of a folder; none if it is in no repository with a commit.
    pub fn place(&self, folder: &Path) -> Result<Option<RepositoryPlace>, GitError> {
        let repository = match self.repository(folder) {
            Ok(repository) => repository,
            Err(GitError::NoRepository(_) | GitError::NotOwned(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let below = files::real(folder).unwrap_or_else(|| folder.to_path_buf());
        let below = below.strip_prefix(&repository.top).map(Path::to_path_buf);
        match self.line(folder, &["rev-parse", "--verify", "-q", "HEAD^{commit}"]) {
            Ok(head) => Ok(Some(RepositoryPlace {
                top: repository.top,
                below: below.unwrap_or_default(),
                head,
            })),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The folders of the repository that a folder is in: the top of its working tree, unless the home folder lies in it, and
    /// the folder with its commits if the repository knows the tree. Empty if it is in none.
    pub fn folders(&self, folder: &Path) -> Vec<PathBuf> {
        let Ok(repository) = self.repository(folder) else {
            return Vec::new();
        };
        let home = self.environment.iter().find(|(name, _)| name == "HOME");
        let home = home.and_then(|(_, home)| files::real(Path::new(home)));
        let is_home = home.is_some_and(|home| home.starts_with(&repository.top));
        let commits = repository.has_this_tree().then_some(repository.common);
        let top = (!is_home).then_some(repository.top);
        top.into_iter().chain(commits).collect()
    }

    /// The first few files that differ from the commit.
    pub fn changes(&self, top: &Path) -> Result<Vec<String>, GitError> {
        let words = ["status", "--porcelain", "-z", "--ignore-submodules=dirty"];
        let listed = self.run(top, &words, &[], None)?;
        let entries = listed.split(|byte| *byte == 0).filter(|it| !it.is_empty());
        let names =
            entries.map(|it| String::from_utf8_lossy(it.get(3..).unwrap_or(it)).into_owned());
        let mut names: Vec<String> = names.take(MOST_CHANGES).collect();
        // git itself would look into submodules with another git, which obeys their configuration.
        for (path, inner) in self.submodules(top)? {
            let changed = self.changes(&inner)?;
            names.extend(changed.iter().map(|name| format!("{path}/{name}")));
        }
        names.truncate(MOST_CHANGES);
        Ok(names)
    }

    /// Makes a commit of everything in a working tree as it is now; no branch refers to it.
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

    /// The tree of everything in a folder's working tree as it is now, except the paths in `apart`, which are given from the
    /// top; none if there is no repository with a commit.
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

    pub fn patch(&self, folder: &Path, base: &str, tree: &str) -> Result<Vec<u8>, GitError> {
        self.patch_below(folder, base, tree, Path::new(""))
    }

    /// The change from one tree to another, with names that begin with the folder `below`.
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

    /// The files that differ between two trees, by path from the top folder.
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

    pub fn staged(&self, folder: &Path) -> Result<Vec<String>, GitError> {
        let words = [
            "diff",
            "--cached",
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--ignore-submodules=dirty",
        ];
        Ok(names(&self.run(folder, &words, &[], None)?))
    }

    /// The files of a tree, and the targets of its links.
    pub fn files_of(&self, folder: &Path, tree: &str) -> Result<KnownFiles, GitError> {
        let words = ["ls-tree", "-r", "-z", "--full-tree", tree];
        let listed = names(&self.run(folder, &words, &[], None)?);
        let entries = listed.iter().filter_map(|entry| entry.split_once('\t'));
        let entries: Vec<(&str, &str)> = entries.collect();
        let links = entries.iter().filter_map(|(form, path)| {
            let blob = form.strip_prefix("120000 blob ")?;
            Some((blob, (*path).to_owned()))
        });
        let (blobs, links): (Vec<&str>, Vec<String>) = links.unzip();
        let targets = self.small_texts(folder, &blobs)?;
        Ok(KnownFiles {
            names: entries.iter().map(|(_, path)| (*path).to_owned()).collect(),
            links: links.into_iter().zip(targets).collect(),
        })
    }

    /// The texts of blobs, in their order.
    fn small_texts(&self, folder: &Path, blobs: &[&str]) -> Result<Vec<String>, GitError> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        let asked = blobs.join("\n").into_bytes();
        let words = ["cat-file", "--batch=%(objectsize)"];
        let printed = self.run(folder, &words, &[], Some(&asked))?;
        let mut texts = Vec::with_capacity(blobs.len());
        let mut rest = printed.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (size, after) = rest.split_at(end);
            // What is not there has a word in the place of its size, and nothing after it.
            let size = String::from_utf8_lossy(size).parse::<usize>().ok();
            let text = size
                .and_then(|size| after.get(1..=size))
                .unwrap_or_default();
            texts.push(String::from_utf8_lossy(text).into_owned());
            let next = size.map_or(1, |size| size + 2);
            rest = after.get(next..).unwrap_or_default();
        }
        Ok(texts)
    }

    /// Makes a commit of `tree` in which some files are as in `base`; no branch refers to it.
    pub fn with_files_of(
        &self,
        folder: &Path,
        tree: &str,
        base: &str,
        files: &[String],
        scratch: &Path,
    ) -> Result<String, GitError> {
        if let Some(file) = files
            .iter()
            .find(|file| file.contains(char::REPLACEMENT_CHARACTER))
        {
            return Err(GitError::File {
                path: folder.join(file),
                why: "its name is not UTF-8".to_owned(),
            });
        }
        let index = scratch.join("pinned-index");
        let index = index.to_string_lossy();
        let with_index = [("GIT_INDEX_FILE", &*index)];
        self.run(folder, &["read-tree", tree], &with_index, None)?;
        let mut words = vec!["ls-tree", "-r", "-z", "--full-tree", base, "--"];
        words.extend(files.iter().map(String::as_str));
        let mut entries = self.run(folder, &words, &[], None)?;
        let known = names(&entries);
        // A file that `base` does not have is removed from the index.
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
        let made =
            first_line(&self.run(folder, &["write-tree", "--missing-ok"], &with_index, None)?);
        self.commit(folder, &made)
    }

    /// Puts a patch into a working tree by a three-way merge, or without one where changed files are in the way. The names
    /// in it begin with the folder `below`.
    pub fn apply(
        &self,
        folder: &Path,
        patch: &[u8],
        below: &Path,
    ) -> Result<AppliedPatch, GitError> {
        let staged = |conflicts| AppliedPatch {
            conflicts,
            is_staged: true,
        };
        if patch.is_empty() {
            return Ok(staged(Vec::new()));
        }
        // A three-way merge needs an index that agrees with the files, also with those that were rewritten unchanged. The
        // command fails if some files differ, which is no failure here.
        let _ = self.run(folder, &["update-index", "-q", "--refresh"], &[], None);
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
        let conflicts = self.unmerged(folder)?;
        match applied {
            // Changed files without a commit are in the way of a merge, but not of a patch that fits.
            Err(error) if conflicts.is_empty() => {
                let words = ["apply", "--binary", "--whitespace=nowarn", &strip, "-"];
                let fits = self.run(folder, &words, &[], Some(patch));
                let unstaged = AppliedPatch {
                    conflicts,
                    is_staged: false,
                };
                fits.map(|_| unstaged).map_err(|_| error)
            }
            _ => Ok(staged(conflicts)),
        }
    }

    /// The paths that a patch changes. The names in it begin with the folder `below`.
    pub fn paths_of(
        &self,
        folder: &Path,
        patch: &[u8],
        below: &Path,
    ) -> Result<Vec<String>, GitError> {
        if patch.is_empty() {
            return Ok(Vec::new());
        }
        let words = ["apply", "--numstat", "-z", &strip(below), "-"];
        let listed = names(&self.run(folder, &words, &[], Some(patch))?);
        let path = |line: &String| line.splitn(3, '\t').nth(2).map(str::to_owned);
        Ok(listed.iter().filter_map(path).collect())
    }

    /// The entries of the index for some paths below the top folder, in the form in which git lists them.
    pub fn staged_entries(&self, top: &Path, paths: &[String]) -> Result<String, GitError> {
        let listed = names(&self.run(top, &["ls-files", "--stage", "-z"], &[], None)?);
        let is_asked = |entry: &&String| {
            let path = entry.split_once('\t').map(|(_, path)| path);
            path.is_some_and(|path| paths.iter().any(|asked| asked == path))
        };
        let entries = listed.iter().filter(is_asked);
        Ok(entries.flat_map(|entry| [entry, "\0"]).collect())
    }

    /// Replaces the index entries of some paths by entries in the form of [`Self::staged_entries`].
    pub fn stage_entries(
        &self,
        top: &Path,
        paths: &[String],
        entries: &str,
    ) -> Result<(), GitError> {
        let paths: String = paths.iter().flat_map(|path| [path, "\0"]).collect();
        let words = ["update-index", "--force-remove", "-z", "--stdin"];
        self.run(top, &words, &[], Some(paths.as_bytes()))?;
        let words = ["update-index", "-z", "--index-info"];
        self.run(top, &words, &[], Some(entries.as_bytes()))?;
        Ok(())
    }

    /// The files of a working tree that are in conflict.
    pub fn unmerged(&self, folder: &Path) -> Result<Vec<String>, GitError> {
        let listed =
            names(&self.run(folder, &["ls-files", "-u", "-z", "--full-name"], &[], None)?);
        let listed = listed.iter().filter_map(|entry| entry.split_once('\t'));
        let mut names: Vec<String> = listed.map(|(_, name)| name.to_owned()).collect();
        names.dedup();
        Ok(names)
    }

    /// Returns true if a working tree has the whole change of a patch already. Its names begin with the folder `below`.
    pub fn has_patch(&self, folder: &Path, patch: &[u8], below: &Path) -> bool {
        let strip = strip(below);
        let words = ["apply", "--reverse", "--check", "--binary", &strip, "-"];
        patch.is_empty() || self.run(folder, &words, &[], Some(patch)).is_ok()
    }

    fn line(&self, folder: &Path, words: &[&str]) -> Result<String, GitError> {
        self.run(folder, words, &[], None)
            .map(|bytes| first_line(&bytes))
    }
}

/// The entries of a git listing, which ends each with a zero byte.
fn names(listed: &[u8]) -> Vec<String> {
    let entries = listed.split(|byte| *byte == 0).filter(|it| !it.is_empty());
    entries
        .map(|it| String::from_utf8_lossy(it).into_owned())
        .collect()
}

/// The path of a submodule, from its entry in a listing of a tree or an index.
fn submodule_of(entry: &str) -> Option<&str> {
    let (form, path) = entry.split_once('\t')?;
    form.starts_with("160000 ").then_some(path)
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().next().unwrap_or_default().to_owned()
}

/// Returns true if a `safe.directory` names a folder: the folder itself, or with `/*` at its end all below it.
fn names_folder(named: &str, folder: &Path) -> bool {
    let real = |path: &str| files::real(Path::new(path));
    match named.strip_suffix("/*") {
        Some(above) => real(above).is_some_and(|above| folder.starts_with(above)),
        None => real(named).as_deref() == Some(folder),
    }
}

/// The `-p` option with which git reads a patch whose names begin with a folder.
fn strip(below: &Path) -> String {
    format!("-p{}", below.components().count() + 1)
}
