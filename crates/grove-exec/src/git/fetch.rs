//! Fetching with git: from one address with that address's protocol alone, into a bare repository that is made for it.
//! The person's own configuration counts, and with it their credential helpers and proxies; no repository's configuration
//! does, and no submodule is followed.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::inspection::{GitInput, pass_settings};
use super::repository::Repository;
use super::{Git, GitError, MOST_OUTPUT, files, finish, first_line};

const FETCH_SETTINGS: [(&str, &str); 8] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("fetch.fsckObjects", "true"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("transfer.bundleURI", "false"),
];
const PROTOCOLS: [&str; 5] = ["https", "http", "ssh", "git", "file"];
/// The name under which the fetched commit is stored.
const FETCHED: &str = "refs/fetched/wanted";

impl Git {
    /// Fetches a branch, a tag or a commit into a staging folder, which must not exist, and returns the commit.
    pub fn fetch(&self, address: &str, revision: &str, staging: &Path) -> Result<String, GitError> {
        let protocol = protocol_of(address)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
        if revision.is_empty() || revision.starts_with('-') || !revision.chars().all(is_plain) {
            let why = "its revision is not the name of a branch, a tag or a commit";
            return Err(GitError::Address(address.to_owned(), why));
        }
        let staged = stage(staging)?;
        let wanted = format!("+{revision}:{FETCHED}");
        let mut git = Command::new("git");
        git.args(["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"]);
        git.args(["--depth=1", "--no-write-fetch-head", "--", address, &wanted]);
        git.env_clear();
        git.envs(self.environment.iter().cloned());
        git.envs([
            ("GIT_ALLOW_PROTOCOL", protocol),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "C"),
        ]);
        git.env("GIT_DIR", &staged);
        git.current_dir(&staged);
        pass_settings(&mut git, Vec::new(), &FETCH_SETTINGS);
        finish(git, "fetch", None, MOST_OUTPUT)?;
        let named = format!("{FETCHED}^{{commit}}");
        let words = ["rev-parse", "--verify", "-q", &named];
        let commit = self.inspect_staged(&staged, &staged, &words)?;
        Ok(first_line(&commit))
    }

    /// Writes the files of a fetched commit into a folder, which must not exist.
    pub fn unpack_commit(
        &self,
        staging: &Path,
        commit: &str,
        folder: &Path,
    ) -> Result<(), GitError> {
        files::make_folder(folder)?;
        let words = ["read-tree", "--reset", "-u", "--no-sparse-checkout", commit];
        self.inspect_staged(staging, folder, &words).map(|_| ())
    }

    fn inspect_staged(
        &self,
        staging: &Path,
        folder: &Path,
        words: &[&str],
    ) -> Result<Vec<u8>, GitError> {
        let none = || GitError::NoRepository(staging.to_path_buf());
        let staged = Repository::at(folder, staging).ok_or_else(none)?;
        let asked = GitInput {
            words,
            ..GitInput::default()
        };
        self.inspect(&staged, folder, asked)
    }
}

/// Makes an empty bare repository by hand, because git would copy the person's template with its hooks.
fn stage(staging: &Path) -> Result<PathBuf, GitError> {
    if !files::make_own_folder(staging)? {
        return Err(GitError::File {
            path: staging.to_path_buf(),
            why: "it is there already".to_owned(),
        });
    }
    for name in ["objects", "refs", "refs/heads"] {
        files::make_folder(&staging.join(name))?;
    }
    let config = b"[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n";
    files::write_new(&staging.join("config"), config)?;
    files::write_new(&staging.join("HEAD"), b"ref: refs/heads/none\n")?;
    Ok(files::real(staging).unwrap_or_else(|| staging.to_path_buf()))
}

/// The protocol that an address names: its scheme, `ssh` for `host:path`, `file` for a path.
fn protocol_of(address: &str) -> Result<&'static str, GitError> {
    let refused = |why| Err(GitError::Address(address.to_owned(), why));
    if address.starts_with('-') || address.chars().any(char::is_control) {
        return refused("it is no address");
    }
    if let Some((scheme, _)) = address.split_once("://") {
        let known = PROTOCOLS.iter().find(|protocol| **protocol == scheme);
        return match known {
            Some(protocol) => Ok(protocol),
            None => refused("its protocol is not one of https, http, ssh, git and file"),
        };
    }
    if address.contains("::") {
        return refused("it names a program");
    }
    match address.split_once(':') {
        _ if address.starts_with('/') => Ok("file"),
        Some((host, _)) if !host.is_empty() && !host.contains('/') => Ok("ssh"),
        _ => refused("it is no address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_protocol_and_never_a_program() {
        for (address, protocol) in [
            ("https://host/x.git", Some("https")),
            ("ssh://git@host/x.git", Some("ssh")),
            ("git@host:x/y.git", Some("ssh")),
            ("/srv/x.git", Some("file")),
            ("file:///srv/x.git", Some("file")),
            ("ext::sh -c x", None),
            ("ext::https://host/", None),
            ("fd::17/x", None),
            ("foo://host/x", None),
            ("-uploadpack=x", None),
            ("--upload-pack=x", None),
            ("../x", None),
            ("", None),
        ] {
            assert_eq!(protocol_of(address).ok(), protocol, "{address}");
        }
    }
}
