//! Protection of the files of a repository that could name a program to the person's next git. They are kept before a
//! child or a command starts that may write there, compared afterwards, and put back where something new would run.
//!
//! The whole folder of the repository is looked through, because what decides lies in many places of it. Commits, branches
//! and logs are data, but no link among them: git writes through links.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::inspection::GitInput;
use super::repository::Repository;
use super::settings::GitSettings;
use super::{Git, GitError, files, names, submodule_of};

/// Names of files that decide what git runs, where it reads or what it sees.
const DECIDING: [&str; 9] = [
    "alternates",
    "attributes",
    "commondir",
    "config",
    "config.worktree",
    "exclude",
    "gitdir",
    "grafts",
    "http-alternates",
];
/// Folders of a repository in which there are no such files, only data: branches and logs.
const DATA: [&str; 2] = ["logs", "refs"];
/// Folders that are not looked through: git itself does not know them, and they may be large.
const OF_OTHERS: [&str; 2] = ["annex", "lfs"];
/// Limits: bytes of a file that is kept, names in a folder and in all, and the depth of folders and of submodules in
/// submodules.
const MOST: u64 = 1 << 20;
const MOST_IN_FOLDER: usize = 20_000;
const MOST_NAMES: usize = 200_000;
const MOST_LEVELS: usize = 64;
const MOST_NESTED: usize = 8;
/// The ending of a file that was put aside. git reads no such file.
const ASIDE: &str = ".grove-kept";
/// Keys that may change: none of them names a program, or changes which content of a file git sees. `*` stands for any text.
const HARMLESS: [&str; 35] = [
    "advice.*",
    "branch.*",
    "color.*",
    "core.bare",
    "core.bigfilethreshold",
    "core.commentchar",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.precomposeunicode",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
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

/// A file or a link that decides something.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Deciding {
    /// The target, if it is a link.
    target: Option<PathBuf>,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Text(Vec<u8>),
    /// A file that is too large to be kept, by what tells it from another one.
    Large(files::Stamp),
    /// There is no file.
    None,
}

impl Deciding {
    /// What is at a path; none if there is nothing.
    fn at(path: &Path) -> Option<Self> {
        let target = files::target(path);
        if target.is_none() && !files::is_there(path) {
            return None;
        }
        let content = match (files::read(path, MOST), files::stamp(path)) {
            (Some(text), _) => Content::Text(text),
            (None, Some(stamp)) => Content::Large(stamp),
            (None, None) => Content::None,
        };
        Some(Self { target, content })
    }

    fn text(&self) -> &[u8] {
        match &self.content {
            Content::Text(text) => text,
            _ => b"",
        }
    }
}

/// The guarded files of a repository as they were before.
#[derive(Debug, Clone)]
pub struct GuardedRepository {
    repository: Repository,
    kept: BTreeMap<PathBuf, Deciding>,
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
            .extend(shared.map(|(path, kept)| (path.clone(), kept.clone())));
    }
}

impl Git {
    /// Keeps the files that could name a program, of the repository that a folder is in; none if it is in none.
    pub fn guard(&self, folder: &Path) -> Option<GuardedRepository> {
        let repository = self.repository(folder).ok()?;
        let kept = self.deciding(&repository).found;
        Some(GuardedRepository { repository, kept })
    }

    /// Puts back the files that would run something new, and returns their paths. The changed files are put aside.
    pub fn put_back(&self, guarded_before: &GuardedRepository) -> Result<Vec<PathBuf>, GitError> {
        let GuardedRepository { repository, kept } = guarded_before;
        // A `.git` in the place of the repository's folder leads git elsewhere, so it goes first.
        let link = repository.top.join(".git");
        let (before, now) = (kept.get(&link), not_a_folder(&link));
        let is_exchanged = now.as_ref() != before && (now.is_some() || !files::is_there(&link));
        if is_exchanged {
            restore(&link, before)?;
        }
        let all_now = self.deciding(repository);
        let mut done: Vec<PathBuf> = Vec::new();
        for path in kept
            .keys()
            .chain(all_now.found.keys())
            .collect::<BTreeSet<_>>()
        {
            let (before, now) = (kept.get(path), all_now.found.get(path));
            // What was behind a link is gone with it.
            let is_uncovered = done.iter().any(|restored| path.starts_with(restored));
            let is_changed = match now {
                _ if is_uncovered => before.is_some(),
                // What was removed runs nothing.
                None => false,
                Some(now) => {
                    before != Some(now)
                        && !is_usual(path, before, now)
                        && (!is_config(path, now) || self.has_new_programs(path, before)?)
                }
            };
            if is_changed {
                restore(path, before)?;
                done.push(path.clone());
            }
        }
        done.extend(is_exchanged.then_some(link));
        all_now.problem.map_or(Ok(done), Err)
    }

    /// Returns true if a configuration has new settings that may name programs.
    fn has_new_programs(&self, path: &Path, before: Option<&Deciding>) -> Result<bool, GitError> {
        let Ok(now) = GitSettings::of_file(path, &self.environment) else {
            return Ok(true);
        };
        let text = before.map_or(&b""[..], Deciding::text);
        let text = GitSettings::of_text(text, &self.environment)?;
        // The repository of a new submodule says where its working tree is.
        let is_its_tree = |key: &str, value: Option<&str>| {
            let own = path
                .parent()
                .filter(|_| key == "core.worktree" && before.is_none());
            own.zip(value)
                .is_some_and(|(own, tree)| leads_back(own, tree))
        };
        let of = |settings: &GitSettings| -> BTreeSet<(String, Option<String>)> {
            let entries = settings.entries();
            let entries =
                entries.filter(|(key, value)| !is_harmless(key) && !is_its_tree(key, *value));
            let owned = entries.map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
            owned.collect()
        };
        Ok(!of(&now).is_subset(&of(&text)))
    }

    /// Everything that decides something, in a repository and in those of its submodules.
    fn deciding(&self, repository: &Repository) -> Everything {
        let mut all = Everything::default();
        all.add_link(&repository.top);
        for folder in [&repository.common, &repository.own] {
            all.add_repository(folder);
        }
        if let Err(error) = self.add_submodules(repository, &mut all, MOST_NESTED) {
            all.problem.get_or_insert(error);
        }
        all
    }

    /// Adds what decides in the submodules that the index names: git starts another git in each of them.
    fn add_submodules(
        &self,
        repository: &Repository,
        all: &mut Everything,
        levels: usize,
    ) -> Result<(), GitError> {
        if levels == 0 || !files::is_there(&repository.own.join("index")) {
            return Ok(());
        }
        let asked = GitInput {
            words: &["ls-files", "--stage", "-z"],
            ..GitInput::default()
        };
        let listed = names(&self.inspect(repository, &repository.top, asked)?);
        let modules = [&repository.common, &repository.own].map(|own| own.join("modules"));
        for path in listed.iter().filter_map(|entry| submodule_of(entry)) {
            let folder = repository.top.join(path);
            let found = Repository::find(&folder, &[]).filter(|found| found.top == folder);
            let is_kept_here = |own: &Path| {
                own == folder.join(".git") || modules.iter().any(|kept| own.starts_with(kept))
            };
            let Some(found) = found.filter(|found| is_kept_here(&found.own)) else {
                // What it leads to is no business of this repository.
                all.add_link(&folder);
                continue;
            };
            for inner in [&found.common, &found.own] {
                if inner.starts_with(&repository.top) || inner.starts_with(&repository.common) {
                    all.add_repository(inner);
                }
            }
            self.add_submodules(&found, all, levels - 1)?;
        }
        Ok(())
    }
}

/// The files and links that decide something, as they are found.
#[derive(Default)]
struct Everything {
    found: BTreeMap<PathBuf, Deciding>,
    /// The folders that were looked through.
    seen: BTreeSet<PathBuf>,
    n_names: usize,
    /// The reason why something was not looked through.
    problem: Option<GitError>,
}

impl Everything {
    /// Adds the `.git` of a working tree, if it is no folder.
    fn add_link(&mut self, top: &Path) {
        let link = top.join(".git");
        let found = not_a_folder(&link);
        self.found.extend(found.map(|found| (link, found)));
    }

    /// Adds what a folder of a repository has; what git always reads comes first.
    fn add_repository(&mut self, folder: &Path) {
        for place in ["", "info", "objects/info"] {
            for name in DECIDING {
                self.add(folder.join(place).join(name));
            }
        }
        self.add_below(&folder.join("hooks"), true, 1);
        self.add_below(folder, true, MOST_LEVELS);
    }

    fn add_below(&mut self, folder: &Path, decides: bool, levels: usize) {
        if levels == 0 || !self.seen.insert(folder.to_path_buf()) {
            return;
        }
        let entries = files::entries(folder, MOST_IN_FOLDER + 1);
        if entries.len() > MOST_IN_FOLDER {
            // No person has so many hooks or submodules; the folder as a whole is new.
            if decides {
                self.add(folder.to_path_buf());
            }
            return;
        }
        self.n_names += entries.len();
        if self.n_names > MOST_NAMES {
            self.problem.get_or_insert_with(|| GitError::File {
                path: folder.to_path_buf(),
                why: "there is too much in it to be looked through".to_owned(),
            });
            return;
        }
        let is_repository = entries.iter().any(|(name, _)| name == "HEAD");
        for (name, kind) in entries {
            let path = folder.join(&name);
            match kind {
                FileType::Directory if is_passed_over(folder, &name, is_repository) => {}
                FileType::Directory if decides && is_aside(&name) => {}
                FileType::Directory => {
                    let is_data = is_repository && DATA.iter().any(|data| name == *data);
                    self.add_below(&path, decides && !is_data, levels - 1);
                }
                FileType::Symlink => self.add_linked(path),
                _ if decides && is_deciding(folder, &name) => self.add(path),
                _ => {}
            }
        }
    }

    /// Adds a link, and what it leads to where git reads that like any other folder.
    fn add_linked(&mut self, link: PathBuf) {
        if link.ends_with("hooks") || link.ends_with("info") {
            for (name, _) in files::entries(&link, MOST_IN_FOLDER) {
                if is_deciding(&link, &name) {
                    self.add(link.join(&name));
                }
            }
        }
        self.add(link);
    }

    fn add(&mut self, path: PathBuf) {
        let found = Deciding::at(&path);
        self.found.extend(found.map(|found| (path, found)));
    }
}

/// Returns true if the `.git` of a working tree that a repository names leads to that repository.
fn leads_back(own: &Path, tree: &str) -> bool {
    let tree = files::real(&own.join(tree));
    let found = tree.and_then(|tree| Repository::find(&tree, &[]).filter(|it| it.top == tree));
    found.is_some_and(|found| Some(found.own) == files::real(own))
}

/// Returns what is at the path of a `.git`, if it is no folder.
fn not_a_folder(link: &Path) -> Option<Deciding> {
    let is_folder = files::is_folder(link) && files::target(link).is_none();
    Deciding::at(link).filter(|_| !is_folder)
}

/// Returns true for folders that are not looked through: objects by their names, and what others keep there.
fn is_passed_over(folder: &Path, name: &OsStr, is_repository: bool) -> bool {
    let is_hex = |byte: &u8| byte.is_ascii_hexdigit();
    let bytes = name.as_encoded_bytes();
    let is_of_objects = name == "pack" || (bytes.len() == 2 && bytes.iter().all(is_hex));
    (folder.ends_with("objects") && is_of_objects)
        || (is_repository && OF_OTHERS.iter().any(|other| name == *other))
}

fn is_deciding(folder: &Path, name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    let is_hook = folder.ends_with("hooks") && !text.ends_with(".sample");
    (is_hook || DECIDING.contains(&&*text)) && !is_aside(name)
}

fn is_aside(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(ASIDE.as_bytes())
}

/// Returns true for the files that git writes when somebody makes a working tree or a repository.
fn is_usual(path: &Path, before: Option<&Deciding>, now: &Deciding) -> bool {
    let above = path.parent().and_then(Path::parent);
    let is_of_tree = above.is_some_and(|it| it.ends_with("worktrees"));
    let is_usual = match path.file_name().and_then(OsStr::to_str) {
        Some("gitdir") => is_of_tree,
        Some("commondir") => is_of_tree && now.text().trim_ascii_end() == b"../..",
        Some("exclude") => {
            let mut lines = now.text().split(|byte| *byte == b'\n');
            lines.all(|line| line.is_empty() || line.starts_with(b"#"))
        }
        _ => false,
    };
    is_usual && before.is_none() && now.target.is_none()
}

fn restore(path: &Path, before: Option<&Deciding>) -> Result<(), GitError> {
    // In a working tree the file that is put aside would be a new file; of a link nothing is lost.
    if path.ends_with(".git") || files::target(path).is_some() {
        files::remove(path);
    } else if files::is_there(path) {
        files::put_aside(path, ASIDE)?;
    }
    let Some(before) = before else { return Ok(()) };
    if let Some(folder) = path.parent() {
        files::make_folder(folder)?;
    }
    match (&before.target, &before.content) {
        (Some(target), _) => files::link(target, path),
        (None, Content::Text(text)) => files::write_over(path, text, mode_of(path)),
        _ => Ok(()),
    }
}

/// The mode of a restored file: hooks are programs.
fn mode_of(path: &Path) -> u32 {
    let is_hook = path.parent().is_some_and(|it| it.ends_with("hooks"));
    if is_hook { 0o755 } else { 0o644 }
}

/// Returns true for a configuration, whose settings are compared.
fn is_config(path: &Path, now: &Deciding) -> bool {
    let name = path.file_name().unwrap_or_default();
    (name == "config" || name == "config.worktree") && now.target.is_none()
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
