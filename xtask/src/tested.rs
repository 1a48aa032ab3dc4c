//! The memory of the last `cargo xtask test` that passed: the files it was about, and the tests that it left out.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use grove_testkit::need::{self, LeftOut};

use grove_testkit::task::{step, workspace};

/// Listing the files of the repository takes no time.
const LIST_LIMIT: Duration = Duration::from_mins(1);

/// The tests that are run: alone, or against the programs that Grove is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run {
    Alone,
    AgainstHosts,
}

/// The file that takes the tests which a run leaves out; begins empty.
pub(crate) fn new_account(run: Run) -> Result<PathBuf, String> {
    if run == Run::Alone {
        // There may be nothing to forget.
        let _ = fs::remove_file(mark());
    }
    let account = account(run);
    match fs::remove_file(&account) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", account.display()))
        }
        _ => Ok(account),
    }
}

/// The tests in an account.
pub(crate) fn left_out(run: Run) -> Result<Vec<LeftOut>, String> {
    let account = account(run);
    need::account(&account).map_err(|error| format!("cannot read {}: {error}", account.display()))
}

/// Remembers that the files as they are have passed alone, but for the tests in the account.
pub(crate) fn remember() -> Result<(), String> {
    let mark = mark();
    fs::write(&mark, files(&workspace::root())?)
        .map_err(|error| format!("cannot write {}: {error}", mark.display()))
}

/// Returns true if the files as they are have passed alone, but for the tests in the account.
pub(crate) fn is_remembered() -> bool {
    let now = files(&workspace::root());
    fs::read_to_string(mark()).is_ok_and(|before| now.is_ok_and(|now| now == before))
}

fn account(run: Run) -> PathBuf {
    workspace::target().join(match run {
        Run::Alone => "left-out.jsonl",
        Run::AgainstHosts => "left-out-against-hosts.jsonl",
    })
}

fn mark() -> PathBuf {
    workspace::target().join("tested")
}

/// A digest of all files of a repository that git does not ignore.
fn files(root: &Path) -> Result<String, String> {
    let mut git = Command::new("git");
    git.current_dir(root).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listed = step::quiet("git ls-files", &mut git, LIST_LIMIT)?;
    let listed = listed.stdout_text();
    let mut hasher = DefaultHasher::new();
    for name in listed.split_terminator('\0') {
        // A file that was removed is listed too.
        (name, fs::read(root.join(name)).ok()).hash(&mut hasher);
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_a_new_and_a_removed_file_are_seen_and_an_ignored_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let mut git = Command::new("git");
        git.args(["init", "-q"]).current_dir(root);
        step::quiet("git init", &mut git, LIST_LIMIT).unwrap();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        write(".gitignore", "target\n");
        write("a", "1");
        let mut seen = vec![files(root).unwrap()];
        write("target", "built");
        assert_eq!(files(root).unwrap(), seen[0]);
        for (name, text) in [("a", "2"), ("b", "1")] {
            write(name, text);
            seen.push(files(root).unwrap());
        }
        fs::remove_file(root.join("a")).unwrap();
        seen.push(files(root).unwrap());
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 4);
    }
}
