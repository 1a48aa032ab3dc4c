//! Working trees beside the repository's own: made, set up, captured, removed. Changes in a submodule that is checked out
//! in one are captured as a patch of their own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::inspection::{GitInput, StorageForm};
use super::repository::Repository;
use super::{Git, GitError, files, finish, first_line, names, strip, submodule_of};

/// The most bytes of new ignored files that are kept.
const MOST_IGNORED: u64 = 32 << 20;
/// The most files and folders that one command is given.
const MOST_NAMED: usize = 500;
/// The depth to which submodules in submodules are captured.
const MOST_NESTED: usize = 8;
/// The most bytes that a program may print that copies or links.
const MOST_PRINTED: u64 = 64 << 10;

/// The most working trees of a repository that are read, and the most names that are tried for a new one.
const MOST_TREES: usize = 10_000;

/// The command that lists what version control ignores.
const IGNORED: [&str; 5] = ["ls-files", "-z", "-o", "-i", "--exclude-standard"];

/// The changes in a working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedTree {
    /// A patch for the commit from which the tree started.
    pub patch: Vec<u8>,
    pub files: u64,
    /// New files that version control ignores, as a tar archive.
    pub ignored: Option<Vec<u8>>,
    pub submodules: Vec<CapturedSubmodule>,
    /// A description of the first change that could not be captured.
    pub left: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedSubmodule {
    pub path: String,
    /// The commit of the submodule that the patch is for.
    pub base: String,
    /// The patch, in which names begin with that path.
    pub patch: Vec<u8>,
    pub files: u64,
    /// New files that version control ignores there, as a tar archive.
    pub ignored: Option<Vec<u8>>,
}

/// The files of submodules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubmoduleFiles {
    /// Every file that the submodules' commits have.
    pub names: BTreeSet<String>,
    /// Those that are new, changed or gone.
    pub changed: Vec<String>,
}

/// The way in which a file of the repository comes into a working tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkOrCopy {
    Link,
    Copy,
}

#[derive(Default)]
struct CheckedOutSubmodules {
    found: Vec<CheckedOutSubmodule>,
    /// Those whose repository is not the working tree's own; the repositories they lead to are not read.
    strange: Vec<String>,
}

impl CheckedOutSubmodules {
    /// The paths of all submodules, which git must not look into.
    fn untouchable(&self) -> impl Iterator<Item = String> {
        let found = self.found.iter().map(|it| &it.path);
        found.chain(&self.strange).cloned()
    }
}

struct CheckedOutSubmodule {
    path: String,
    /// The commit against which changes in it are captured.
    base: String,
    /// Set if the working tree's own patch leads to that commit, because others can fetch it from the submodule's remote.
    is_moved: bool,
}

impl Git {
    /// Makes a working tree at a commit, with a patch applied. `folder` must not exist.
    pub fn make(
        &self,
        repository: &Path,
        base: &str,
        folder: &Path,
        patch: Option<&[u8]>,
    ) -> Result<(), GitError> {
        let main = self.repository(repository)?;
        if StorageForm::of(&main.settings)?.has_tables {
            let what = "extensions.refStorage = reftable";
            return Err(GitError::UnknownForm(what.to_owned()));
        }
        let tree = add(&main, base, folder)?;
        let words = ["read-tree", "--reset", "-u", "--no-sparse-checkout", base];
        let asked = GitInput {
            words: &words,
            ..GitInput::default()
        };
        self.inspect(&tree, folder, asked)?;
        if let Some(patch) = patch.filter(|patch| !patch.is_empty()) {
            let words = ["apply", "--whitespace=nowarn", "--binary", "-"];
            self.run(folder, &words, &[], Some(patch))?;
        }
        Ok(())
    }

    /// Removes a working tree, and the repository's record of it.
    pub fn remove(&self, repository: &Path, folder: &Path) -> Result<(), GitError> {
        let main = match self.repository(repository) {
            Err(GitError::NoRepository(_) | GitError::NotOwned(_)) => return Ok(()),
            main => main?,
        };
        for entry in files::names(&main.common.join("worktrees"), MOST_TREES) {
            let own = main.common.join("worktrees").join(entry);
            let Some(link) = files::read_line(&own.join("gitdir")) else {
                continue;
            };
            let is_this = Path::new(&link)
                .parent()
                .is_some_and(|it| is_same(it, folder));
            let is_gone =
                !files::is_there(Path::new(&link)) && !files::is_there(&own.join("locked"));
            if is_this || is_gone {
                files::remove_folder(&own);
            }
        }
        files::remove_folder(folder);
        Ok(())
    }

    /// Returns those of the paths, given from the top of a working tree, that contain tracked files.
    pub fn tracked(&self, folder: &Path, paths: &[String]) -> Result<Vec<String>, GitError> {
        let mut tracked = Vec::new();
        for path in paths {
            let literal = format!(":(top,literal){path}");
            let listed = self.run(folder, &["ls-files", "-z", "--", &literal], &[], None)?;
            if !listed.is_empty() {
                tracked.push(path.clone());
            }
        }
        Ok(tracked)
    }

    /// Puts a file or folder at another path, where there is nothing.
    pub fn bring(&self, from: &Path, to: &Path, how: LinkOrCopy) -> Result<(), GitError> {
        let (name, words) = match how {
            LinkOrCopy::Link => ("ln", &["-s", "-T", "--"][..]),
            LinkOrCopy::Copy => ("cp", &["-a", "-T", "--reflink=auto", "--"][..]),
        };
        let mut command = self.tool(name);
        command.args(words).arg(from).arg(to);
        finish(command, name, None, MOST_PRINTED).map(|_| ())
    }

    /// The files in a working tree that version control ignores.
    pub fn ignored(&self, folder: &Path) -> Result<Vec<String>, GitError> {
        Ok(names(&self.run(folder, &IGNORED, &[], None)?))
    }

    /// Copies ignored files from one working tree into another, except some, and what is checked out of submodules. Files that
    /// a link would put outside the target are left out.
    pub fn bring_ignored(&self, from: &Path, to: &Path, except: &[String]) -> Result<(), GitError> {
        let mut words = IGNORED.to_vec();
        // Whole folders are copied faster.
        words.extend(except.is_empty().then_some("--directory"));
        let mut listed = names(&self.run(from, &words, &[], None)?);
        listed.retain(|name| !except.contains(name));
        listed.extend(self.submodules(from)?.into_iter().map(|(path, _)| path));
        let is_inside = |name: &&String| {
            let mut above = Path::new(name.as_str()).ancestors().skip(1);
            let nearest = above.find_map(|folder| {
                let folder = to.join(folder);
                files::is_there(&folder).then_some(folder)
            });
            let real = nearest.and_then(|folder| files::real(&folder));
            real.is_some_and(|real| files::real(to).is_some_and(|to| real.starts_with(to)))
        };
        let listed: Vec<&String> = listed.iter().filter(is_inside).collect();
        for some in listed.chunks(MOST_NAMED) {
            let mut copy = self.tool("cp");
            copy.args(["-a", "--reflink=auto", "--parents", "--"]);
            copy.args(some).arg(to).current_dir(from);
            finish(copy, "cp", None, MOST_PRINTED)?;
        }
        Ok(())
    }

    pub fn unpack(&self, folder: &Path, archive: &[u8]) -> Result<(), GitError> {
        let mut tar = self.tool("tar");
        tar.arg("-C").arg(folder).args(["-xf", "-"]);
        finish(tar, "tar", Some(archive), MOST_PRINTED).map(|_| ())
    }

    /// A program beside git, which is found where git is.
    fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env_clear().envs(self.environment.iter().cloned());
        command
    }

    /// Captures the changes in a working tree since a commit, except the paths in `apart`, which are given from its top.
    pub fn capture(
        &self,
        folder: &Path,
        base: &str,
        scratch: &Path,
        apart: &[String],
    ) -> Result<CapturedTree, GitError> {
        self.capture_below(folder, base, scratch, apart, Path::new(""), 0)
    }

    fn capture_below(
        &self,
        folder: &Path,
        base: &str,
        scratch: &Path,
        apart: &[String],
        below: &Path,
        depth: usize,
    ) -> Result<CapturedTree, GitError> {
        let index = scratch.join(format!("capture-index-{depth}"));
        let CheckedOutSubmodules {
            found: checked_out,
            strange,
        } = self.checked_out(folder, base)?;
        let tree = self.tree_now(folder, base, &index, apart)?;
        let patch = self.patch_below(folder, base, &tree, below)?;
        let files = self.changed(folder, base, &tree)?.len() as u64;
        self.check_patch(folder, base, &tree, &patch, scratch, below)?;
        let mut captured = CapturedTree {
            patch,
            files,
            ..CapturedTree::default()
        };
        let known: Vec<&str> = checked_out.iter().map(|it| it.path.as_str()).collect();
        let strange = strange.first();
        let strange = strange.map(|path| format!("the submodule {path} is a different repository"));
        captured.left = strange.or(self.strange_repository(folder, &tree, &known)?);
        self.take_ignored(folder, &index, apart, &mut captured)?;
        for submodule in &checked_out {
            if depth >= MOST_NESTED {
                let why = format!("the submodule {} is nested too deep", submodule.path);
                captured.left.get_or_insert(why);
                continue;
            }
            let inner = folder.join(&submodule.path);
            let below = below.join(&submodule.path);
            let base = &submodule.base;
            let done = self.capture_below(&inner, base, scratch, &[], &below, depth + 1)?;
            captured.left = captured.left.take().or(done.left);
            if !done.patch.is_empty() || done.ignored.is_some() {
                captured.submodules.push(CapturedSubmodule {
                    path: below.to_string_lossy().into_owned(),
                    base: base.clone(),
                    patch: done.patch,
                    files: done.files,
                    ignored: done.ignored,
                });
            }
            captured.submodules.extend(done.submodules);
        }
        Ok(captured)
    }

    /// Checks that the patch on top of the commit gives exactly the files that are there.
    fn check_patch(
        &self,
        folder: &Path,
        base: &str,
        tree: &str,
        patch: &[u8],
        scratch: &Path,
        below: &Path,
    ) -> Result<(), GitError> {
        let check = scratch.join("check-index");
        let check = check.to_string_lossy();
        let with_check = [("GIT_INDEX_FILE", &*check)];
        self.run(folder, &["read-tree", base], &with_check, None)?;
        if !patch.is_empty() {
            let strip = strip(below);
            let words = [
                "apply",
                "--cached",
                "--binary",
                "--whitespace=nowarn",
                &strip,
                "-",
            ];
            self.run(folder, &words, &with_check, Some(patch))?;
        }
        let applied = self.run(folder, &["write-tree", "--missing-ok"], &with_check, None)?;
        if first_line(&applied) != tree {
            return Err(GitError::NotTheSame);
        }
        Ok(())
    }

    /// The tree of everything in a working tree as it is now; the paths in `apart` are as in the commit.
    pub(super) fn tree_now(
        &self,
        folder: &Path,
        base: &str,
        index: &Path,
        apart: &[String],
    ) -> Result<String, GitError> {
        let index = index.to_string_lossy();
        let with_index = [("GIT_INDEX_FILE", &*index)];
        let top = &self.repository(folder)?.top;
        self.run(top, &["read-tree", base], &with_index, None)?;
        let submodules = self.checked_out(top, base)?;
        let mut without = self.not_ignored(top, &with_index, apart);
        // git would ask a submodule for its state with another git, which obeys the configuration that a child wrote there.
        without.extend(submodules.untouchable());
        let without = without
            .iter()
            .map(|path| format!(":(exclude,literal){path}"));
        let without: Vec<String> = without.collect();
        let mut words = vec!["add", "-A", "--", "."];
        words.extend(without.iter().map(String::as_str));
        self.run(top, &words, &with_index, None)?;
        for moved in submodules.found.iter().filter(|it| it.is_moved) {
            let entry = format!("160000,{},{}", moved.base, moved.path);
            let words = ["update-index", "--cacheinfo", &entry];
            self.run(top, &words, &with_index, None)?;
        }
        let tree = self.run(top, &["write-tree", "--missing-ok"], &with_index, None)?;
        Ok(first_line(&tree))
    }

    /// The paths that git does not ignore by itself: git refuses to exclude a path that it ignores anyway.
    fn not_ignored(&self, top: &Path, index: &[(&str, &str)], paths: &[String]) -> Vec<String> {
        let asked: Vec<u8> = paths
            .iter()
            .flat_map(|it| [it.as_bytes(), b"\0"].concat())
            .collect();
        let words = ["check-ignore", "-z", "--stdin"];
        let ignored = match paths {
            [] => Vec::new(),
            // The command fails when no path is ignored.
            _ => self
                .run(top, &words, index, Some(&asked))
                .unwrap_or_default(),
        };
        let ignored = names(&ignored);
        let paths = paths.iter().filter(|path| !ignored.contains(path));
        paths.cloned().collect()
    }

    fn checked_out(&self, folder: &Path, base: &str) -> Result<CheckedOutSubmodules, GitError> {
        let mut all = CheckedOutSubmodules::default();
        for (commit, path) in self.links(folder, base)? {
            let inner = folder.join(&path);
            if files::entries(&inner, 1).is_empty() {
                continue;
            }
            if !self.is_top(folder, &path) || !self.is_own_repository(folder, &inner) {
                all.strange.push(path);
                continue;
            }
            let head = self.line(&inner, &["rev-parse", "--verify", "-q", "HEAD^{commit}"])?;
            let is_moved = head != commit && self.is_published(&inner, &head);
            all.found.push(CheckedOutSubmodule {
                path,
                base: if is_moved { head } else { commit },
                is_moved,
            });
        }
        Ok(all)
    }

    /// Returns true if the repository of a submodule lies in the submodule or with the working tree. A child can make it
    /// point anywhere else, and Grove would then read and write that place.
    fn is_own_repository(&self, folder: &Path, inner: &Path) -> bool {
        let (Ok(tree), Ok(inner)) = (self.repository(folder), self.repository(inner)) else {
            return false;
        };
        inner.own == inner.top.join(".git") || inner.own.starts_with(tree.own.join("modules"))
    }

    /// Returns true if a commit is known from a remote of the repository.
    fn is_published(&self, folder: &Path, commit: &str) -> bool {
        let contains = format!("--contains={commit}");
        let words = ["for-each-ref", "--count=1", &contains, "refs/remotes"];
        self.run(folder, &words, &[], None)
            .is_ok_and(|refs| !refs.is_empty())
    }

    /// Describes a repository inside a working tree that is no submodule of the base commit: no patch has its changes.
    fn strange_repository(
        &self,
        folder: &Path,
        tree: &str,
        known: &[&str],
    ) -> Result<Option<String>, GitError> {
        let links = self.links(folder, tree)?;
        let mut strange = links
            .iter()
            .filter(|(_, path)| !known.contains(&path.as_str()) && self.is_top(folder, path));
        Ok(strange
            .next()
            .map(|(_, path)| format!("the repository {path} inside it may have been changed")))
    }

    fn links(&self, folder: &Path, tree: &str) -> Result<Vec<(String, String)>, GitError> {
        let words = ["ls-tree", "-r", "-z", "--full-tree", tree];
        let listed = names(&self.run(folder, &words, &[], None)?);
        let links = listed.iter().filter_map(|entry| {
            let path = submodule_of(entry)?.to_owned();
            let commit = entry.split(['\t', ' ']).nth(2)?;
            Some((commit.to_owned(), path))
        });
        Ok(links.collect())
    }

    /// Returns true if a folder below a working tree's top is the top of another. The paths of both are free of links.
    fn is_top(&self, folder: &Path, below: &str) -> bool {
        match (
            self.repository(folder),
            self.repository(&folder.join(below)),
        ) {
            (Ok(outer), Ok(inner)) => inner.top == outer.top.join(below),
            _ => false,
        }
    }

    /// The tree's own submodules that are checked out at `HEAD`: their paths from its top, and their folders.
    pub(super) fn submodules(&self, top: &Path) -> Result<Vec<(String, PathBuf)>, GitError> {
        let checked_out = self.checked_out(top, "HEAD")?.found.into_iter();
        let with_folder = |it: CheckedOutSubmodule| (it.path.clone(), top.join(it.path));
        Ok(checked_out.map(with_folder).collect())
    }

    /// The files of the submodules of a tree, and those of them that are not as in the submodules' commits, by path from the
    /// top. One whose repository is gone or another one cannot be compared, which is an error.
    pub fn submodule_files(
        &self,
        top: &Path,
        tree: &str,
        scratch: &Path,
    ) -> Result<SubmoduleFiles, GitError> {
        let mut all = SubmoduleFiles::default();
        for (commit, path) in self.links(top, tree)? {
            let inner = top.join(&path);
            if files::entries(&inner, 1).is_empty() {
                continue;
            }
            if !self.is_top(top, &path) || !self.is_own_repository(top, &inner) {
                return Err(GitError::NoSubmodule(path));
            }
            let index = scratch.join("submodule-index");
            let now = self.tree_now(&inner, &commit, &index, &[])?;
            let from_top = |name: &String| format!("{path}/{name}");
            let before = self.files_of(&inner, &commit)?;
            all.names.extend(before.names.iter().map(from_top));
            let changed = self.changed(&inner, &commit, &now)?;
            all.changed.extend(changed.iter().map(from_top));
        }
        Ok(all)
    }

    fn take_ignored(
        &self,
        folder: &Path,
        index: &Path,
        apart: &[String],
        captured: &mut CapturedTree,
    ) -> Result<(), GitError> {
        let index = index.to_string_lossy();
        let listed = self.run(folder, &IGNORED, &[("GIT_INDEX_FILE", &*index)], None)?;
        let is_apart = |name: &[u8]| {
            apart.iter().any(|path| {
                let rest = name.strip_prefix(path.as_bytes());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
            })
        };
        let mut ignored = Vec::new();
        for name in listed.split(|byte| *byte == 0) {
            if !name.is_empty() && !is_apart(name) {
                ignored.extend_from_slice(name);
                ignored.push(0);
            }
        }
        if ignored.is_empty() {
            return Ok(());
        }
        let mut tar = self.tool("tar");
        tar.arg("-C").arg(folder);
        tar.args(["--null", "--verbatim-files-from", "-T", "-", "-cf", "-"]);
        match finish(tar, "tar", Some(&ignored), MOST_IGNORED) {
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
}

/// Adds a working tree without files. git itself would obey the repository's configuration and hooks in doing so.
fn add(main: &Repository, base: &str, folder: &Path) -> Result<Repository, GitError> {
    let all = main.common.join("worktrees");
    files::make_folder(&all)?;
    let own = own_folder(&all, folder)?;
    files::make_folder(folder)?;
    let folder = files::real(folder).unwrap_or_else(|| folder.to_path_buf());
    let line = |path: &Path| format!("{}\n", path.display()).into_bytes();
    let link = folder.join(".git");
    // While this file is there, no other git takes the unfinished tree for one that is gone.
    files::write_new(&own.join("locked"), b"initializing\n")?;
    files::write_new(&own.join("gitdir"), &line(&link))?;
    files::write_new(&own.join("HEAD"), format!("{base}\n").as_bytes())?;
    files::write_new(&own.join("commondir"), b"../..\n")?;
    files::write_new(&link, &[b"gitdir: ", &line(&own)[..]].concat())?;
    let _ = rustix::fs::unlink(own.join("locked"));
    Ok(Repository {
        top: folder,
        own,
        common: main.common.clone(),
        settings: main.settings.clone(),
    })
}

/// Makes the folder for a working tree's own data, under a name like the tree's.
fn own_folder(all: &Path, folder: &Path) -> Result<PathBuf, GitError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    for number in 0..MOST_TREES {
        let own = match number {
            0 => all.join(&*name),
            number => all.join(format!("{name}{number}")),
        };
        if files::make_folder(&own)? {
            return Ok(own);
        }
    }
    Err(GitError::File {
        path: all.to_path_buf(),
        why: "it has too many working trees".to_owned(),
    })
}

/// Returns true if two paths lead to one folder, or are written alike where one of them is gone.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || files::real(one).is_some_and(|one| files::real(other) == Some(one))
}
