//! Working trees of git repositories: made, captured as a patch that was shown to apply, removed.
//!
//! Nothing of the repository's or the person's runs: hooks, file system monitors, external diffs, text conversions and
//! filters are off. An index beside the repository's own is used, so that nothing in it changes.

use std::io::{Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// One command of git takes no longer.
const LIMIT: Duration = Duration::from_mins(5);
/// Bytes that one command prints.
const MOST_OUTPUT: u64 = 256 << 20;
/// Bytes of new files that version control ignores and that are kept.
const MOST_IGNORED: u64 = 32 << 20;
/// Of what git says when it fails.
const MOST_SAID: usize = 400;
/// What is off whatever the configuration says.
const OFF: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.quotePath=false",
    "commit.gpgSign=false",
    "submodule.recurse=false",
    "diff.external=",
    "filter.lfs.smudge=",
    "filter.lfs.clean=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "gc.auto=0",
];

/// Held while a repository's list of working trees changes: `git worktree prune` takes one away that another `git` is
/// adding in the same moment.
static ADMINISTERING: Mutex<()> = Mutex::new(());

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

/// What was done in a working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedTree {
    /// A patch for the commit that the tree began with.
    pub patch: Vec<u8>,
    /// How many files it changes.
    pub files: u64,
    /// New files that version control ignores, as a tar archive.
    pub ignored: Option<Vec<u8>>,
    /// What is in neither.
    pub left: Option<String>,
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
        let tree = self.tree_now(top, "HEAD", &scratch.join("snapshot-index"))?;
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

    /// Makes a working tree at a commit, with a patch put in. There is nothing at its place.
    pub fn make(
        &self,
        repository: &Path,
        base: &str,
        folder: &Path,
        patch: Option<&[u8]>,
    ) -> Result<(), GitError> {
        let path = folder.to_string_lossy();
        // Once for a place that is known and gone, twice for one that a killed git left locked.
        let words = [
            "worktree", "add", "--force", "--force", "--detach", "-q", &path, base,
        ];
        let alone = ADMINISTERING.lock();
        let added = self.run(repository, &words, &[], None);
        drop(alone);
        added?;
        if let Some(patch) = patch.filter(|patch| !patch.is_empty()) {
            let words = ["apply", "--whitespace=nowarn", "--binary", "-"];
            self.run(folder, &words, &[], Some(patch))?;
        }
        Ok(())
    }

    /// What was done in a working tree since a commit.
    pub fn capture(
        &self,
        folder: &Path,
        base: &str,
        scratch: &Path,
    ) -> Result<CapturedTree, GitError> {
        let index = scratch.join("capture-index");
        let tree = self.tree_now(folder, base, &index)?;
        let patch = self.patch(folder, base, &tree)?;
        let files = self.changed(folder, base, &tree)?.len() as u64;
        // Shown to apply: the commit and the patch come to the very files that there are.
        let check = scratch.join("check-index");
        let check = check.to_string_lossy();
        let with_check = [("GIT_INDEX_FILE", &*check)];
        self.run(folder, &["read-tree", base], &with_check, None)?;
        if !patch.is_empty() {
            let words = ["apply", "--cached", "--binary", "--whitespace=nowarn", "-"];
            self.run(folder, &words, &with_check, Some(&patch))?;
        }
        let applied = self.run(folder, &["write-tree"], &with_check, None)?;
        if first_line(&applied) != tree {
            return Err(GitError::NotTheSame);
        }
        let mut captured = CapturedTree {
            patch,
            files,
            ..CapturedTree::default()
        };
        captured.left = self.populated_repositories(folder, &tree)?;
        self.take_ignored(folder, &index, &mut captured)?;
        Ok(captured)
    }

    /// The tree of everything in a folder's working tree as it is now; none where there is no repository with a commit.
    pub fn tree(&self, folder: &Path, scratch: &Path) -> Result<Option<String>, GitError> {
        match self.place(folder)? {
            Some(place) => {
                let index = scratch.join("look-index");
                self.tree_now(&place.top, "HEAD", &index).map(Some)
            }
            None => Ok(None),
        }
    }

    /// The change from one tree to another.
    pub fn patch(&self, folder: &Path, base: &str, tree: &str) -> Result<Vec<u8>, GitError> {
        let words = [
            "diff-tree",
            "-r",
            "-p",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
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

    /// Removes a working tree, and what the repository knows of it.
    pub fn remove(&self, repository: &Path, folder: &Path) -> Result<(), GitError> {
        let path = folder.to_string_lossy();
        let words = ["worktree", "remove", "--force", "--force", &path];
        let _alone = ADMINISTERING.lock();
        // One that is not there, or that nobody knows of, is no working tree to remove.
        let removed = self.run(repository, &words, &[], None);
        self.run(repository, &["worktree", "prune"], &[], None)?;
        match removed {
            Err(error @ GitError::NotThere(_)) => Err(error),
            _ => Ok(()),
        }
    }

    /// Puts a patch into a working tree by a three-way merge, or as it is where files are changed. The files that are in conflict afterwards.
    pub fn apply(&self, folder: &Path, patch: &[u8]) -> Result<Vec<String>, GitError> {
        if patch.is_empty() {
            return Ok(Vec::new());
        }
        let words = ["apply", "--3way", "--binary", "--whitespace=nowarn", "-"];
        let applied = self.run(folder, &words, &[], Some(patch));
        let words = [
            "diff",
            "--name-only",
            "--diff-filter=U",
            "-z",
            "--no-ext-diff",
        ];
        let unmerged = self.run(folder, &words, &[], None)?;
        let names = names(&unmerged);
        match applied {
            // Files that are changed and not committed are in the way of a merge, but not of a patch that fits.
            Err(error) if names.is_empty() => {
                let words = ["apply", "--binary", "--whitespace=nowarn", "-"];
                let fits = self.run(folder, &words, &[], Some(patch));
                fits.map(|_| names).map_err(|_| error)
            }
            _ => Ok(names),
        }
    }

    /// The tree of everything in a working tree as it is now.
    fn tree_now(&self, folder: &Path, base: &str, index: &Path) -> Result<String, GitError> {
        let index = index.to_string_lossy();
        let with_index = [("GIT_INDEX_FILE", &*index)];
        let top = self.line(folder, &["rev-parse", "--show-toplevel"])?;
        let top = Path::new(&top);
        self.run(top, &["read-tree", base], &with_index, None)?;
        self.run(top, &["add", "-A", "--", "."], &with_index, None)?;
        let tree = self.run(top, &["write-tree"], &with_index, None)?;
        Ok(first_line(&tree))
    }

    /// Repositories inside a working tree in which something may have been done: a patch does not have it.
    fn populated_repositories(
        &self,
        folder: &Path,
        tree: &str,
    ) -> Result<Option<String>, GitError> {
        let listed = self.run(folder, &["ls-tree", "-r", "-z", tree], &[], None)?;
        let entries = listed.split(|byte| *byte == 0);
        let links = entries.filter(|entry| entry.starts_with(b"160000 "));
        for link in links {
            let link = String::from_utf8_lossy(link);
            let Some((_, name)) = link.split_once('\t') else {
                continue;
            };
            let inner = folder.join(name);
            let top = self.line(&inner, &["rev-parse", "--show-toplevel"]).ok();
            if top.is_some_and(|top| Path::new(&top) == inner) {
                return Ok(Some(format!(
                    "the repository {name} inside it may have been changed"
                )));
            }
        }
        Ok(None)
    }

    fn take_ignored(
        &self,
        folder: &Path,
        index: &Path,
        captured: &mut CapturedTree,
    ) -> Result<(), GitError> {
        let index = index.to_string_lossy();
        let words = ["ls-files", "-z", "-o", "-i", "--exclude-standard"];
        let names = self.run(folder, &words, &[("GIT_INDEX_FILE", &*index)], None)?;
        if names.is_empty() {
            return Ok(());
        }
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(folder);
        tar.args(["--null", "--verbatim-files-from", "-T", "-", "-cf", "-"]);
        match finish(tar, "tar", Some(&names), MOST_IGNORED) {
            Ok(archive) if (archive.len() as u64) < MOST_IGNORED => {
                captured.ignored = Some(archive);
            }
            Ok(_) => {
                let bound = MOST_IGNORED >> 20;
                let why = format!("its ignored files are more than {bound} MiB");
                captured.left.get_or_insert(why);
            }
            Err(error) => {
                let why = format!("its ignored files cannot be archived: {error}");
                captured.left.get_or_insert(why);
            }
        }
        Ok(())
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
        git.args(words);
        git.env_clear();
        git.envs(self.environment.iter().cloned());
        git.envs([("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")]);
        git.envs(variables.iter().copied());
        let name = words.first().copied().unwrap_or_default();
        finish(git, name, input, MOST_OUTPUT)
    }
}

/// Runs a program to its end, within bounds of time and output.
fn finish(
    mut command: Command,
    name: &str,
    input: Option<&[u8]>,
    most: u64,
) -> Result<Vec<u8>, GitError> {
    command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn();
    let mut child = child.map_err(|error| GitError::NotThere(error.to_string()))?;
    let pid = child.id();
    let (done, ended) = channel::<()>();
    let read = std::thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                end_group(pid);
            }
        });
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        scope.spawn(move || {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                let _ = stdin.write_all(input);
            }
        });
        let said = scope.spawn(move || {
            let mut said = Vec::new();
            if let Some(stderr) = stderr {
                let _ = stderr.take(64 << 10).read_to_end(&mut said);
            }
            said
        });
        let output = read_all(&mut child, most);
        if output.len() as u64 >= most {
            end_group(pid);
        }
        let status = child.wait();
        drop(done);
        (output, said.join().unwrap_or_default(), status)
    });
    let (output, said, status) = read;
    let is_full = output.len() as u64 >= most;
    if is_full || status.as_ref().is_ok_and(ExitStatus::success) {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&said);
    let mut message: String = said.trim().chars().take(MOST_SAID).collect();
    if let Some(signal) = status.ok().and_then(|status| status.signal()) {
        let before = if message.is_empty() { "" } else { "; " };
        message = format!("{message}{before}it was ended by signal {signal}");
    }
    Err(GitError::Failed {
        command: name.to_owned(),
        message,
    })
}

fn read_all(child: &mut Child, most: u64) -> Vec<u8> {
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = stdout.take(most).read_to_end(&mut output);
    }
    output
}

fn end_group(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
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
