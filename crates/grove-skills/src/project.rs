//! The project around the working folder: the folders that belong to it, and the trust in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::Digest;
use grove_catalog::trust::{self, RootTrust};
use grove_fs::files;
use grove_fs::trust_store::{Grant, GrantLookup, GrantRefusal, TrustStore};
use grove_spec::{Code, Diagnostic};

use crate::environment::Environment;

/// The project around a working folder.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// The nearest folder with `.grove`, `.pi`, `.agents` or `.git`; none when that is home or the like.
    pub root: Option<PathBuf>,
    /// The folders whose skills count, nearest first: from the working folder to the repository root.
    pub folders: Vec<PathBuf>,
    /// Set if the folders end at a repository.
    pub is_repository: bool,
}

pub(crate) const MARKERS: [&str; 4] = [".grove", ".pi", ".agents", ".git"];

impl Project {
    /// Looks around a working folder.
    pub fn find(environment: &Environment) -> Self {
        let working =
            files::canonical(&environment.working).unwrap_or_else(|_| environment.working.clone());
        let permitted = ProjectRule::in_environment(environment);
        let has = |folder: &Path, name: &str| files::is_there(&folder.join(name));

        let root = working
            .ancestors()
            .find(|folder| MARKERS.iter().any(|marker| has(folder, marker)));
        let repository = working.ancestors().find(|folder| has(folder, ".git"));
        // Without a repository a folder above may be another user's: `/tmp/.agents` must not be every user's project.
        let last = repository.unwrap_or(&working);
        let folders = working
            .ancestors()
            .take_while(|folder| folder.starts_with(last))
            .filter(|folder| permitted.allows(folder))
            .map(Path::to_path_buf)
            .collect();
        Self {
            root: root
                .filter(|folder| permitted.allows(folder))
                .map(Path::to_path_buf),
            folders,
            is_repository: repository.is_some(),
        }
    }

    /// The same with every folder above that may be a project, up to home, for a host that does not stop where
    /// there is no repository. Grove itself does.
    pub(crate) fn climbed(&self, environment: &Environment) -> Self {
        let Some(nearest) = self.folders.first().filter(|_| !self.is_repository) else {
            return self.clone();
        };
        let permitted = ProjectRule::in_environment(environment);
        let home = permitted.home.as_deref();
        let folders = nearest
            .ancestors()
            .take_while(|folder| Some(*folder) != home)
            .filter(|folder| permitted.allows(folder))
            .map(Path::to_path_buf)
            .collect();
        Self {
            folders,
            ..self.clone()
        }
    }

    pub(crate) fn settings_folder(&self) -> Option<&Path> {
        self.root.as_deref().or_else(|| self.outermost())
    }

    /// The outermost folder whose content counts, from which labels are measured.
    pub fn outermost(&self) -> Option<&Path> {
        self.folders.last().map(PathBuf::as_path)
    }

    /// The folder that `grove trust` grants: everything that counts lies in it, the configuration included.
    pub(crate) fn grant_folder(&self) -> Option<&Path> {
        let outermost = self.outermost()?;
        let above = self.root.as_deref();
        Some(
            above
                .filter(|root| outermost.starts_with(root))
                .unwrap_or(outermost),
        )
    }
}

/// The rule for folders that may be a project at all: not home, nor a folder above it, nor a temporary folder.
pub(crate) struct ProjectRule {
    home: Option<PathBuf>,
    temporary: PathBuf,
}

impl ProjectRule {
    pub(crate) fn in_environment(environment: &Environment) -> Self {
        let resolved =
            |folder: &Path| files::canonical(folder).unwrap_or_else(|_| folder.to_path_buf());
        Self {
            home: environment.home.as_deref().map(resolved),
            temporary: resolved(&environment.temporary),
        }
    }

    /// Returns true if a folder, given by its canonical path, may be a project.
    pub(crate) fn allows(&self, folder: &Path) -> bool {
        trust::may_be_project(folder, self.home.as_deref(), &self.temporary)
    }
}

#[derive(Clone, Default)]
pub(crate) struct FolderTrust {
    pub(crate) grant: Option<Grant>,
    pub(crate) finding: Option<Diagnostic>,
    /// The settings that name the roots in question, where they are not as they were seen.
    pub(crate) named_anew: Option<PathBuf>,
}

/// The state of a file that names other places, compared with what was seen of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamingFileState {
    /// It is as it was seen, or the project was never looked at, or all changes are followed.
    AsSeen,
    New,
    /// It was different, or it was there and is gone.
    Changed,
}

impl FolderTrust {
    pub(crate) fn of(folder: &Path, store: &TrustStore) -> Self {
        let refused = |code: Code, message: String, file: &Path| Self {
            finding: Some(Diagnostic::new(code, message).in_file(file)),
            ..Self::default()
        };
        match store.covering(folder) {
            GrantLookup::Granted(grant) => Self {
                grant: Some(grant),
                ..Self::default()
            },
            GrantLookup::None => Self::default(),
            GrantLookup::Refused(file, why) => {
                let of = format!("the grant for {}", folder.display());
                match why {
                    GrantRefusal::Damaged => {
                        refused(Code::TrustDamaged, format!("{of} is damaged"), &file)
                    }
                    GrantRefusal::NotOwn => {
                        let message = format!(
                            "{of}, or a folder that contains it, can be written by other users"
                        );
                        refused(Code::TrustNotOwn, message, &file)
                    }
                    GrantRefusal::Newer(version) => {
                        let what = "was written by a later version of Grove and is left alone";
                        let message = format!("{of} {what} (format {version})");
                        refused(Code::TrustNewer, message, &file)
                    }
                }
            }
            GrantLookup::Moved(path) => {
                let message = "another folder was trusted at this path".to_owned();
                refused(Code::TrustMoved, message, &path)
            }
        }
    }

    pub(crate) fn of_root(&self, root: &Path) -> RootTrust {
        match &self.grant {
            None => RootTrust::Untrusted,
            Some(grant) => {
                if let Some(by) = &self.named_anew {
                    return RootTrust::NamedAnew { by: by.clone() };
                }
                if grant.follow {
                    return RootTrust::Trusted;
                }
                let below = root
                    .strip_prefix(&grant.path)
                    .unwrap_or(root)
                    .to_string_lossy();
                // A granted folder may itself be what is judged.
                let prefix = match &*below {
                    "" => String::new(),
                    below => format!("{below}/"),
                };
                RootTrust::Pinned {
                    pins: Arc::clone(&grant.pins),
                    prefix,
                    folders: Arc::default(),
                }
            }
        }
    }

    /// Returns true if a file other than a skill, given by path and digest, was seen as it is.
    pub(crate) fn covers_file(&self, file: &Path, digest: &str) -> bool {
        self.grant.as_ref().is_some_and(|grant| {
            let seen = seen_of(grant, file);
            grant.follow || seen.is_some_and(|pin| trust::is_of(pin, digest))
        })
    }

    /// Compares a file that names other places, given with its digest while it is there, with what was seen.
    pub(crate) fn naming(&self, file: &Path, digest: Option<&Digest>) -> NamingFileState {
        let pinned = self.grant.as_ref().filter(|grant| !grant.follow);
        let Some(grant) = pinned else {
            return NamingFileState::AsSeen;
        };
        match (seen_of(grant, file), digest) {
            (None, None) => NamingFileState::AsSeen,
            (None, Some(_)) => NamingFileState::New,
            (Some(pin), Some(digest)) if trust::is_of(pin, &digest.to_string()) => {
                NamingFileState::AsSeen
            }
            (Some(_), _) => NamingFileState::Changed,
        }
    }

    /// The trust of roots that are named by a file which is not as it was seen.
    pub(crate) fn through(&self, file: &Path) -> Self {
        Self {
            named_anew: Some(file.to_path_buf()),
            ..self.clone()
        }
    }
}

fn seen_of<'a>(grant: &'a Grant, file: &Path) -> Option<&'a String> {
    let below = file.strip_prefix(&grant.path).unwrap_or(file);
    grant.pins.get(below.to_string_lossy().as_ref())
}
