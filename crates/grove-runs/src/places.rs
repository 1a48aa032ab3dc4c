//! Where runs are kept.

use std::path::{Path, PathBuf};

use grove_plan::Attempt;

/// The state folder of runs. Nothing of a run lies in a project, except what a child was asked to write there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPlaces {
    folder: PathBuf,
}

impl RunPlaces {
    /// Below Grove's state folder.
    pub fn in_state(state: &Path) -> Self {
        Self {
            folder: state.to_path_buf(),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The journal.
    pub fn journal(&self) -> PathBuf {
        self.folder.join("runs.db")
    }

    /// The file whose lock a supervisor holds. Supervisors with other surroundings are others.
    pub fn supervisor(&self, surroundings: &str) -> PathBuf {
        self.folder.join(format!("supervisor-{surroundings}"))
    }

    /// What a supervisor says about itself.
    pub fn supervisor_log(&self, surroundings: &str) -> PathBuf {
        self.folder.join(format!("supervisor-{surroundings}.log"))
    }

    /// The log of an attempt: what it does while it does it.
    pub fn log(&self, run: &str, of: &Attempt) -> PathBuf {
        let name = format!("{}-{}.jsonl", of.node, of.n);
        // Keys of items may have any character; a file name has none of them.
        let name: String = name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || "-._".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        self.folder.join("logs").join(run).join(name)
    }

    /// The address at which a supervisor is woken: a name that is no file, so that it can be of any folder.
    pub fn wake_name(&self, surroundings: &str) -> String {
        let path = self.supervisor(surroundings);
        let digest = grove_spec::Digest::of(path.as_os_str().as_encoded_bytes());
        format!("grove-supervisor-{}", digest.first_digits(24))
    }
}
