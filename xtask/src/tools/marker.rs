//! The file that says an install is complete, and for which version.

use std::fs;
use std::path::PathBuf;

use super::retry;

/// Runs `install` unless the marker of `name` says that `version` is there already.
pub(super) fn once(
    name: &str,
    version: &str,
    install: impl FnMut() -> Result<(), String>,
) -> Result<(), String> {
    let marker = path(name);
    if is_installed(name, version) {
        return Ok(());
    }
    eprintln!("installing {name} {version}");
    // A failed install must not pass for the complete one it replaces.
    let _ = fs::remove_file(&marker);
    fs::create_dir_all(super::folder())
        .map_err(|error| format!("cannot make {}: {error}", super::folder().display()))?;
    retry::some_times(&format!("the install of {name}"), install)?;
    fs::write(&marker, version)
        .map_err(|error| format!("cannot write {}: {error}", marker.display()))
}

/// Returns true if `version` of `name` was installed to its end.
pub(super) fn is_installed(name: &str, version: &str) -> bool {
    fs::read_to_string(path(name)).is_ok_and(|found| found == version)
}

fn path(name: &str) -> PathBuf {
    super::folder().join(format!("{name}.installed"))
}
