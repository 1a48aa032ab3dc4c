//! Protection of the files of a repository that could name a program to the person's next git. They are kept before a
//! child or a command starts that may write there, compared afterwards, and put back where something new would run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::repository::Repository;
use super::settings::GitSettings;
use super::{Git, GitError, files};

/// Files that decide what git runs or where it reads: in the folder that all working trees share, and in a tree's own.
const SHARED: [&str; 5] = [
    "config",
    "config.worktree",
    "info/attributes",
    "objects/info/alternates",
    "objects/info/http-alternates",
];
const OWN: [&str; 3] = ["config.worktree", "commondir", "gitdir"];
/// Limits: bytes of one such file, names in a folder, and the depth of modules in modules.
const MOST: u64 = 1 << 20;
const MOST_NAMES: usize = 1_000;
const MOST_NESTED: usize = 8;
/// The ending of a file that was put aside. git reads no such file.
const ASIDE: &str = ".grove-kept";
/// Keys that may change: none of them names a program. `*` stands for any text.
const HARMLESS: [&str; 41] = [
    "advice.*",
    "branch.*",
    "color.*",
    "core.autocrlf",
    "core.bare",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.commentchar",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.precomposeunicode",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "core.untrackedcache",
    "extensions.objectformat",
    "extensions.refstorage",
    "extensions.worktreeconfig",
    "fetch.prune",
    "gc.auto",
    "index.sparse",
    "index.version",
    "init.defaultbranch",
    "lfs.repositoryformatversion",
    "merge.conflictstyle",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "remote.*.fetch",
    "remote.*.url",
    "submodule.*.active",
    "submodule.*.url",
    "user.email",
    "user.name",
];

#[derive(Debug, Clone)]
pub struct GuardedRepository {
    repository: Repository,
    kept: BTreeMap<PathBuf, Vec<u8>>,
}

impl GuardedRepository {
    /// The two folders that identify the repository: the one with its commits, and the working tree's own.
    pub fn folders(&self) -> (&Path, &Path) {
        (&self.repository.common, &self.repository.own)
    }

    /// Takes over the shared files that an earlier guard of another working tree of the same repository has kept.
    pub fn take_over(&mut self, earlier: &Self) {
        let common = &self.repository.common;
        if earlier.repository.common != *common {
            return;
        }
        let is_shared = |path: &Path| {
            let of_tree = common.join("worktrees");
            path.starts_with(common) && !path.starts_with(of_tree)
        };
        self.kept.retain(|path, _| !is_shared(path));
        let shared = earlier.kept.iter().filter(|(path, _)| is_shared(path));
        self.kept
            .extend(shared.map(|(path, text)| (path.clone(), text.clone())));
    }
}

impl Git {
    /// Keeps the files that could name a program, of the repository that a folder is in; none if it is in none.
    pub fn guard(&self, folder: &Path) -> Option<GuardedRepository> {
        let repository = self.repository(folder).ok()?;
        let paths = guarded(&repository).into_iter();
        let kept = paths.filter_map(|path| Some((path.clone(), files::read(&path, MOST)?)));
        Some(GuardedRepository {
            kept: kept.collect(),
            repository,
        })
    }

    /// Puts back the files that would run something new, and returns their paths. The changed files are put aside.
    pub fn put_back(&self, guarded_before: &GuardedRepository) -> Result<Vec<PathBuf>, GitError> {
        let GuardedRepository { repository, kept } = guarded_before;
        let mut paths = guarded(repository);
        paths.extend(kept.keys().cloned());
        let mut done = Vec::new();
        for path in paths {
            let before = kept.get(&path).map(Vec::as_slice);
            let is_link = path == repository.top.join(".git");
            let now = files::read(&path, MOST);
            if now.as_deref() == before || (!files::is_there(&path) && !is_link) {
                continue;
            }
            if is_config(&path) && !self.has_new_programs(&path, before)? {
                continue;
            }
            restore(&path, before, is_link)?;
            done.push(path);
        }
        Ok(done)
    }

    /// Returns true if a configuration has new settings that may name programs.
    fn has_new_programs(&self, path: &Path, before: Option<&[u8]>) -> Result<bool, GitError> {
        let Ok(now) = GitSettings::of_file(path, &self.environment) else {
            return Ok(true);
        };
        let before = GitSettings::of_text(before.unwrap_or_default(), &self.environment)?;
        let of = |settings: &GitSettings| -> BTreeSet<(String, Option<String>)> {
            let entries = settings.entries().filter(|(key, _)| !is_harmless(key));
            let owned = entries.map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
            owned.collect()
        };
        Ok(!of(&now).is_subset(&of(&before)))
    }
}

/// The paths that are guarded, also those at which there is no file.
fn guarded(repository: &Repository) -> BTreeSet<PathBuf> {
    let Repository {
        top, own, common, ..
    } = repository;
    let mut paths = BTreeSet::new();
    paths.extend(SHARED.iter().map(|name| common.join(name)));
    if repository.is_linked() {
        paths.extend(OWN.iter().map(|name| own.join(name)));
        modules(own, 0, &mut paths);
    }
    if !files::is_folder(&top.join(".git")) {
        paths.insert(top.join(".git"));
    }
    hooks(common, &mut paths);
    modules(common, 0, &mut paths);
    paths
}

fn hooks(folder: &Path, paths: &mut BTreeSet<PathBuf>) {
    let folder = folder.join("hooks");
    let names = files::names(&folder, MOST_NAMES).into_iter();
    let names = names.filter(|name| !name.ends_with(".sample") && !name.ends_with(ASIDE));
    paths.extend(names.map(|name| folder.join(name)));
}

/// Adds the same files of submodules' repositories, which lie in folders named by the paths of the submodules.
fn modules(folder: &Path, depth: usize, paths: &mut BTreeSet<PathBuf>) {
    let folder = match depth {
        0 => folder.join("modules"),
        _ => folder.to_path_buf(),
    };
    for name in files::names(&folder, MOST_NAMES) {
        let inner = folder.join(name);
        if !files::is_folder(&inner) || depth > MOST_NESTED {
            continue;
        }
        if files::is_there(&inner.join("HEAD")) {
            paths.extend(SHARED.iter().map(|name| inner.join(name)));
            hooks(&inner, paths);
            modules(&inner, 0, paths);
        } else {
            modules(&inner, depth + 1, paths);
        }
    }
}

fn restore(path: &Path, before: Option<&[u8]>, is_link: bool) -> Result<(), GitError> {
    // A file `.git` lies in the working tree, where the file that is put aside would be a new file.
    if !is_link {
        files::put_aside(path, ASIDE)?;
    }
    if let Some(content) = before {
        files::write_over(path, content, mode_of(path))
    } else {
        files::remove(path);
        Ok(())
    }
}

/// The mode of a restored file: hooks are programs.
fn mode_of(path: &Path) -> u32 {
    let is_hook = path.parent().is_some_and(|it| it.ends_with("hooks"));
    if is_hook { 0o755 } else { 0o644 }
}

fn is_config(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name == "config" || name == "config.worktree"
}

fn is_harmless(key: &str) -> bool {
    HARMLESS
        .iter()
        .any(|pattern| match pattern.split_once('*') {
            Some((start, end)) => {
                key.len() >= start.len() + end.len() && key.starts_with(start) && key.ends_with(end)
            }
            None => key == *pattern,
        })
}
