//! The settings that git gets from configurations when it looks at a tree. Configurations are read as data: `git config`
//! prints them and obeys nothing in them.

use std::path::Path;
use std::process::Command;

use super::{GitError, MOST_OUTPUT, files, finish, names};

const MOST: u64 = 1 << 20;
/// A repository folder in which git finds nothing.
const NOWHERE: &str = "/dev/null";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingSource {
    RepositoryOrPerson,
    Person,
}

/// The keys that are passed on: they say how files are read and written. None of them names a program or a place that
/// another writes to. A key that is not here is not passed on, even if a later git gives it a meaning.
const PASSED_ON: [(&str, SettingSource); 17] = [
    ("core.autocrlf", SettingSource::RepositoryOrPerson),
    ("core.bigfilethreshold", SettingSource::RepositoryOrPerson),
    ("core.checkstat", SettingSource::RepositoryOrPerson),
    ("core.eol", SettingSource::RepositoryOrPerson),
    ("core.excludesfile", SettingSource::Person),
    ("core.filemode", SettingSource::RepositoryOrPerson),
    ("core.ignorecase", SettingSource::RepositoryOrPerson),
    ("core.precomposeunicode", SettingSource::RepositoryOrPerson),
    ("core.protecthfs", SettingSource::RepositoryOrPerson),
    ("core.protectntfs", SettingSource::RepositoryOrPerson),
    ("core.safecrlf", SettingSource::Person),
    ("core.sharedrepository", SettingSource::RepositoryOrPerson),
    ("core.symlinks", SettingSource::RepositoryOrPerson),
    ("core.trustctime", SettingSource::RepositoryOrPerson),
    ("status.showuntrackedfiles", SettingSource::Person),
    ("user.email", SettingSource::Person),
    ("user.name", SettingSource::Person),
];

/// Keys and values in the order in which they were written; a key without a value has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GitSettings(Vec<(String, Option<String>)>);

impl GitSettings {
    pub(super) const NONE: Self = Self(Vec::new());

    /// Reads the settings of the person and of the system.
    pub(super) fn of_person(environment: &[(String, String)]) -> Result<Self, GitError> {
        let mut git = reading(environment);
        git.args(["config", "--null", "--includes", "--list"]);
        Ok(Self::parse(&finish(git, "config", None, MOST_OUTPUT)?))
    }

    /// Reads the settings in a file, without the files that it includes.
    pub(super) fn of_file(file: &Path, environment: &[(String, String)]) -> Result<Self, GitError> {
        let text = match files::read(file, MOST) {
            Some(text) => text,
            None if files::is_there(file) => {
                return Err(GitError::File {
                    path: file.to_path_buf(),
                    why: "it is not a small file".to_owned(),
                });
            }
            None => return Ok(Self::default()),
        };
        Self::of_text(&text, environment)
    }

    pub(super) fn of_text(text: &[u8], environment: &[(String, String)]) -> Result<Self, GitError> {
        let mut git = reading(environment);
        git.args(["config", "--null", "--no-includes", "--file", "-", "--list"]);
        let listed = finish(git, "config", Some(text), MOST_OUTPUT)?;
        Ok(Self::parse(&listed))
    }

    fn parse(listed: &[u8]) -> Self {
        let entries = names(listed).into_iter();
        let entries = entries.map(|entry| match entry.split_once('\n') {
            Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
            None => (entry, None),
        });
        Self(entries.collect())
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let entries = self.0.iter();
        entries.map(|(key, value)| (key.as_str(), value.as_deref()))
    }

    pub(super) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let entries = self.entries().filter(move |(name, _)| *name == key);
        entries.map(|(_, value)| value.unwrap_or("true"))
    }

    /// The value that counts, which is the last one.
    pub(super) fn last<'a>(&'a self, key: &'a str) -> Option<&'a str> {
        self.all(key).last()
    }

    pub(super) fn is_on(&self, key: &str) -> bool {
        let value = self.last(key).map(str::to_ascii_lowercase);
        matches!(value.as_deref(), Some("true" | "yes" | "on" | "1"))
    }

    pub(super) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }
}

pub(super) fn passed_on(person: &GitSettings, repository: &GitSettings) -> Vec<(String, String)> {
    let mut told = Vec::new();
    for (key, from) in PASSED_ON {
        let of_repository = match from {
            SettingSource::RepositoryOrPerson => repository.last(key),
            SettingSource::Person => None,
        };
        if let Some(value) = of_repository.or_else(|| person.last(key)) {
            told.push((key.to_owned(), value.to_owned()));
        }
    }
    told
}

/// A git command that reads configurations and is in no repository.
fn reading(environment: &[(String, String)]) -> Command {
    let mut git = Command::new("git");
    git.env_clear();
    git.envs(environment.iter().cloned());
    git.envs([("LC_ALL", "C"), ("GIT_DIR", NOWHERE)]);
    git.current_dir("/");
    git
}
