//! The place of the collections of real skills, which this repository does not hold.
//!
//! They lie in a folder `shared` beside the repository, or where `GROVE_SHARED` points. They are
//! read-only; a test that has to write works on a copy.

use std::fs;
use std::io;
#[cfg(test)]
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Names the folder of the corpora when it is not beside the repository.
pub const SHARED_VARIABLE: &str = "GROVE_SHARED";

/// The folder that holds `corpus/`.
pub fn shared() -> Result<PathBuf, String> {
    let folder = match std::env::var_os(SHARED_VARIABLE) {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    folder.canonicalize().map_err(|_| missing(&folder))
}

/// The collections of real skills: `<owner>/<collection>/…/SKILL.md`.
pub fn real_corpus() -> Result<PathBuf, String> {
    existing(shared()?.join("corpus/real"))
}

/// The hostile cases as they were first written, with a script for what git cannot hold; the repository has them as
/// [rows](crate::hostile).
pub fn hostile_originals() -> Result<PathBuf, String> {
    existing(shared()?.join("corpus/hostile"))
}

/// Every file in a folder and those below it, in the order of their paths.
pub fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                &mut folders
            } else {
                &mut files
            }
            .push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn existing(folder: PathBuf) -> Result<PathBuf, String> {
    if folder.is_dir() {
        Ok(folder)
    } else {
        Err(missing(&folder))
    }
}

fn missing(folder: &Path) -> String {
    format!(
        "the collections of real skills are missing: {} is not a folder; put the folder `shared` \
         beside the repository, or set {SHARED_VARIABLE} to the folder that holds corpus/real",
        folder.display()
    )
}

#[cfg(test)]
pub(crate) fn copy_writable(source: &Path, dest: &Path) -> io::Result<()> {
    fs::create_dir_all(dest)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let (from, to) = (entry.path(), dest.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_writable(&from, &to)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&from)?, &to)?;
        } else {
            fs::copy(&from, &to)?;
            let mode = fs::metadata(&to)?.permissions().mode();
            fs::set_permissions(&to, fs::Permissions::from_mode(mode | 0o200))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_writable_and_keeps_content_modes_and_links() {
        let dir = tempfile::tempdir().unwrap();
        let (source, dest) = (dir.path().join("source"), dir.path().join("dest"));
        fs::create_dir_all(source.join("inner/.hidden")).unwrap();
        let script = source.join("inner/.hidden/run.sh");
        fs::write(&script, "echo").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o555)).unwrap();
        symlink("inner/missing", source.join("link")).unwrap();

        copy_writable(&source, &dest).unwrap();

        let copy = dest.join("inner/.hidden/run.sh");
        assert_eq!(fs::read(&copy).unwrap(), b"echo");
        let mode = fs::metadata(&copy).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        let target = fs::read_link(dest.join("link")).unwrap();
        assert_eq!(target, Path::new("inner/missing"));
    }

    #[test]
    fn what_is_missing_is_said_with_how_to_provide_it() {
        let message = existing(PathBuf::from("/nonexistent/corpus/real")).unwrap_err();
        assert!(message.contains("/nonexistent/corpus/real"), "{message}");
        assert!(message.contains(SHARED_VARIABLE), "{message}");
    }
}
