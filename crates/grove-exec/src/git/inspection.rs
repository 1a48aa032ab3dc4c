//! Looking with git at trees that others wrote. git is given a folder of Grove's own as its repository: a configuration
//! that Grove wrote, with links to the objects and branches that it reads. The rest of the repository's own folder, such
//! as its configuration, hooks and attributes, is not in it, so that no key of it can name a program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use super::repository::Repository;
use super::settings::{GitSettings, passed_on};
use super::{Git, GitError, MOST_OUTPUT, files, finish};

const FIXED_SETTINGS: [(&str, &str); 14] = [
    ("core.attributesFile", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.quotePath", "false"),
    ("commit.gpgSign", "false"),
    ("diff.ignoreSubmodules", "dirty"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("safe.directory", "*"),
    ("submodule.recurse", "false"),
    ("transfer.bundleURI", "false"),
];
const VARIABLES: [(&str, &str); 12] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CEILING_DIRECTORIES", "/"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];
/// The most bytes of the list of ignored files, and of the list of commits where a shallow history ends.
const MOST_COPIED: u64 = 16 << 20;
/// The most shared parts of indexes that are looked for.
const MOST_INDEXES: usize = 1_000;
/// The number of the next folder, which makes its name unique in this process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GitInput<'a> {
    pub(super) words: &'a [&'a str],
    /// Environment variables in addition to the usual ones.
    pub(super) variables: &'a [(&'a str, &'a str)],
    pub(super) input: Option<&'a [u8]>,
}

impl Git {
    /// Runs git in a folder, after finding the folder's repository.
    pub(super) fn run(
        &self,
        folder: &Path,
        words: &[&str],
        variables: &[(&str, &str)],
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, GitError> {
        let repository = self.repository(folder)?;
        let asked = GitInput {
            words,
            variables,
            input,
        };
        self.inspect(&repository, folder, asked)
    }

    pub(super) fn inspect(
        &self,
        repository: &Repository,
        folder: &Path,
        asked: GitInput<'_>,
    ) -> Result<Vec<u8>, GitError> {
        let view = RepositoryView::of(repository, &self.environment)?;
        let index = repository.own.join("index");
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(asked.words);
        git.env_clear();
        git.envs(self.environment.iter().cloned());
        git.envs(VARIABLES);
        git.env("GIT_DIR", &view.folder);
        git.env("GIT_WORK_TREE", &repository.top);
        git.env("GIT_OBJECT_DIRECTORY", repository.common.join("objects"));
        git.env("GIT_INDEX_FILE", index);
        pass_settings(
            &mut git,
            passed_on(self.person()?, &repository.settings),
            &FIXED_SETTINGS,
        );
        git.envs(asked.variables.iter().copied());
        let name = asked.words.first().copied().unwrap_or_default();
        finish(git, name, asked.input, MOST_OUTPUT)
    }

    pub(super) fn settings_of(&self, repository: &Repository) -> Result<GitSettings, GitError> {
        let file = repository.common.join("config");
        let mut settings = GitSettings::of_file(&file, &self.environment)?;
        if settings.is_on("extensions.worktreeconfig") {
            let file = repository.own.join("config.worktree");
            settings.extend(GitSettings::of_file(&file, &self.environment)?);
        }
        Ok(settings)
    }
}

/// Gives git settings through variables, because a key on a command line cannot have every character.
pub(super) fn pass_settings(
    git: &mut Command,
    more: Vec<(String, String)>,
    fixed: &[(&str, &str)],
) {
    let fixed = fixed.iter();
    let fixed = fixed.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let mut count = 0;
    for (key, value) in more.into_iter().chain(fixed) {
        git.env(format!("GIT_CONFIG_KEY_{count}"), key);
        git.env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    git.env("GIT_CONFIG_COUNT", count.to_string());
}

/// A folder that git takes for the repository, removed when it is no longer needed.
struct RepositoryView {
    folder: PathBuf,
}

impl Drop for RepositoryView {
    fn drop(&mut self) {
        files::remove_folder(&self.folder);
    }
}

impl RepositoryView {
    fn of(repository: &Repository, environment: &[(String, String)]) -> Result<Self, GitError> {
        let view = Self::make(environment)?;
        let (own, common) = (&repository.own, &repository.common);
        let form = StorageForm::of(&repository.settings)?;
        files::write_new(&view.folder.join("config"), form.config().as_bytes())?;
        let head = files::read_line(&own.join("HEAD")).unwrap_or_default();
        files::write_new(&view.folder.join("HEAD"), format!("{head}\n").as_bytes())?;
        for name in ["refs", "packed-refs", "reftable"] {
            let target = common.join(name);
            if files::is_there(&target) {
                files::link(&target, &view.folder.join(name))?;
            }
        }
        files::make_folder(&view.folder.join("info"))?;
        for name in ["info/exclude", "shallow"] {
            if let Some(text) = files::read(&common.join(name), MOST_COPIED) {
                files::write_new(&view.folder.join(name), &text)?;
            }
        }
        let indexes = files::names(own, MOST_INDEXES).into_iter();
        for name in indexes.filter(|name| name.starts_with("sharedindex.")) {
            files::link(&own.join(&name), &view.folder.join(&name))?;
        }
        Ok(view)
    }

    fn make(environment: &[(String, String)]) -> Result<Self, GitError> {
        let named = environment.iter().find(|(name, _)| name == "TMPDIR");
        let above = named.map_or("/tmp", |(_, folder)| folder.as_str());
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("grove-git-{}-{number}", std::process::id());
            let folder = Path::new(above).join(name);
            if files::make_own_folder(&folder)? {
                return Ok(Self { folder });
            }
        }
    }
}

pub(super) struct StorageForm {
    has_long_names: bool,
    /// Set if its branches are in tables (reftable).
    pub(super) has_tables: bool,
}

impl StorageForm {
    /// Reads the form from the settings. An unknown form is refused, as git does.
    pub(super) fn of(settings: &GitSettings) -> Result<Self, GitError> {
        let unknown = |key: &str, value: &str| {
            let what = format!("{key} = {value}");
            Err(GitError::UnknownForm(what))
        };
        let has_long_names = match settings.last("extensions.objectformat") {
            None | Some("sha1") => false,
            Some("sha256") => true,
            Some(value) => return unknown("extensions.objectFormat", value),
        };
        let has_tables = match settings.last("extensions.refstorage") {
            None | Some("files") => false,
            Some("reftable") => true,
            Some(value) => return unknown("extensions.refStorage", value),
        };
        Ok(Self {
            has_long_names,
            has_tables,
        })
    }

    fn config(&self) -> String {
        let mut config = "[core]\n\trepositoryFormatVersion = 1\n\tbare = false\n".to_owned();
        if self.has_long_names || self.has_tables {
            config.push_str("[extensions]\n");
        }
        if self.has_long_names {
            config.push_str("\tobjectFormat = sha256\n");
        }
        if self.has_tables {
            config.push_str("\trefStorage = reftable\n");
        }
        config
    }
}
