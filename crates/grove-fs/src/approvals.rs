//! Commands and programs of projects that the user has read and approved, by the digest of their exact text.
//!
//! One file for each beside the grants, and like them the user's alone: one that others may write is no approval.

use std::path::{Path, PathBuf};

use crate::atomic;
use crate::error::FsError;
use crate::files;

const END: &str = "approved";
const MAX_ABOUT: u64 = 64 * 1024;
const MAX_LISTED: usize = 100_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub digest: String,
    pub about: String,
}

#[derive(Debug, Clone)]
pub struct Approvals {
    folder: PathBuf,
}

impl Approvals {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub fn has(&self, digest: &str) -> bool {
        let is_digest = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest && self.read(digest).is_some()
    }

    pub fn store(&self, approval: &Approval) -> Result<(), FsError> {
        let file = self.file_of(&approval.digest);
        files::make_own_folder(&file)?;
        atomic::write_mode(&file, approval.about.as_bytes(), 0o600)
    }

    pub fn remove(&self, approval: &Approval) -> Result<(), FsError> {
        files::remove(&self.file_of(&approval.digest))
    }

    pub fn all(&self) -> Vec<Approval> {
        let names = files::list(&self.folder, MAX_LISTED).unwrap_or_default();
        let digests = names.iter().filter_map(|(name, _)| {
            let name = Path::new(name);
            let is_one = name.extension().is_some_and(|end| end == END);
            name.file_stem()?.to_str().filter(|_| is_one)
        });
        digests.filter_map(|digest| self.read(digest)).collect()
    }

    fn read(&self, digest: &str) -> Option<Approval> {
        let about = files::read_own(&self.file_of(digest), MAX_ABOUT).ok()??;
        Some(Approval {
            digest: digest.to_owned(),
            about: String::from_utf8_lossy(&about).into_owned(),
        })
    }

    fn file_of(&self, digest: &str) -> PathBuf {
        self.folder.join(format!("{digest}.{END}"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_approval_is_of_one_text_and_the_users_alone() {
        let state = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(state.path().join("state/trust"));
        assert_eq!(
            (approvals.has("ab12"), approvals.all()),
            (false, Vec::new())
        );
        let approval = Approval {
            digest: "ab12".to_owned(),
            about: "hook.sh".to_owned(),
        };
        approvals.store(&approval).unwrap();
        assert!(approvals.has("ab12") && !approvals.has("ab1") && !approvals.has("../x"));
        assert_eq!(approvals.all(), std::slice::from_ref(&approval));
        let file = approvals.file_of("ab12");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(!approvals.has("ab12"), "others may have written it");
        approvals.remove(&approval).unwrap();
        assert_eq!(approvals.all(), Vec::new());
    }
}
