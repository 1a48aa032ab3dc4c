//! Programs on a search path, found without running anything.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// Finds an executable file of this name in the folders of a `PATH` value.
///
/// Relative folders are passed over: a file in the working folder is not an installed program.
pub fn find(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    if name.is_empty() || name.contains(['/', '\0']) {
        return None;
    }
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| is_program(path))
}

pub fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_executable_files_in_absolute_folders_count() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        std::fs::write(here.join("tool"), "x").unwrap();
        std::fs::write(here.join("text"), "x").unwrap();
        std::fs::create_dir(here.join("folder")).unwrap();
        std::fs::set_permissions(here.join("tool"), std::fs::Permissions::from_mode(0o755))
            .unwrap();
        let path = std::env::join_paths([Path::new("."), Path::new("/nonexistent"), here]).unwrap();
        assert_eq!(find("tool", &path), Some(here.join("tool")));
        for missing in ["text", "folder", "absent", "", "../tool", "a\0b"] {
            assert_eq!(find(missing, &path), None, "{missing:?}");
        }
    }
}
