//! I/O errors that name the path and the action.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
#[error("could not {action} {}", path.display())]
pub struct FsError {
    /// The action that was tried, as a verb: `read`, `create`.
    pub action: &'static str,
    pub path: PathBuf,
    #[source]
    pub source: std::io::Error,
}

impl FsError {
    pub fn new(action: &'static str, path: &Path, source: impl Into<std::io::Error>) -> Self {
        Self {
            action,
            path: path.to_path_buf(),
            source: source.into(),
        }
    }

    pub fn is_not_found(&self) -> bool {
        matches!(
            self.source.kind(),
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
        )
    }

    /// Returns true if the kernel refused a path that leads out of the folder it must stay in.
    pub fn leads_out(&self) -> bool {
        let refused = [rustix::io::Errno::XDEV, rustix::io::Errno::LOOP];
        let number = self.source.raw_os_error();
        refused
            .iter()
            .any(|errno| number == Some(errno.raw_os_error()))
    }
}
