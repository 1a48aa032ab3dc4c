//! The folders and files of runs.

use std::path::{Path, PathBuf};

use grove_plan::{Attempt, NodeId};
use grove_store::LoadedRun;

use crate::envelope::{EnvelopeError, RunEnvelope};

/// The state folder of runs. Nothing of a run lies in a project, except what a child was asked to write there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPlaces {
    folder: PathBuf,
}

impl RunPlaces {
    /// Returns the places in a folder for the state of runs.
    pub fn in_state(state: &Path) -> Self {
        Self {
            folder: state.to_path_buf(),
        }
    }

    /// Returns the state folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the file of the journal.
    pub fn journal(&self) -> PathBuf {
        self.folder.join("runs.db")
    }

    /// Returns the file whose lock a supervisor holds. Supervisors with other surroundings have other files.
    pub fn supervisor(&self, surroundings: &str) -> PathBuf {
        self.folder.join(format!("supervisor-{surroundings}"))
    }

    /// Returns the log file of a supervisor itself.
    pub fn supervisor_log(&self, surroundings: &str) -> PathBuf {
        self.folder.join(format!("supervisor-{surroundings}.log"))
    }

    /// Returns the folder of a run's logs and long outputs, beside the journal. Nothing depends on it.
    pub fn of_run(&self, run: &str) -> PathBuf {
        self.folder.join("logs").join(run)
    }

    /// Returns the file for the log of an attempt.
    pub fn log(&self, run: &str, of: &Attempt) -> PathBuf {
        self.of_run(run).join(format!("{}.jsonl", file_name(of)))
    }

    /// Returns the file of a child's session, in a folder that was chosen or among what is kept of the run.
    pub fn session(&self, run: &str, node: &NodeId, folder: Option<&Path>) -> PathBuf {
        let of = Attempt::none_at(node);
        let name = file_name(&of);
        let name = name.trim_end_matches("-0");
        match folder {
            Some(folder) => folder.join(format!("{run}.{name}.jsonl")),
            None => self.of_run(run).join(format!("{name}.session.jsonl")),
        }
    }

    /// Returns the folder of outputs that are too long for a model.
    pub fn outputs(&self, run: &str, of: &Attempt) -> PathBuf {
        self.of_run(run).join(format!("{}-outputs", file_name(of)))
    }

    /// Returns the working tree of a child.
    pub fn worktree(&self, run: &str, node: &NodeId) -> PathBuf {
        let of = Attempt::none_at(node);
        self.worktrees(run).join(file_name(&of))
    }

    /// Returns the folder of a run's working trees, which is there as long as one of them is.
    pub fn worktrees(&self, run: &str) -> PathBuf {
        self.folder.join("worktrees").join(run)
    }

    /// Returns the folder that the steps of a run share: `{chain_dir}`.
    pub(crate) fn chain_folder(&self, run: &LoadedRun) -> Result<PathBuf, EnvelopeError> {
        Ok(match RunEnvelope::read(&run.envelope)?.chain_dir {
            Some(chosen) => chosen.join(&run.id),
            None => self.of_run(&run.id).join("chain"),
        })
    }

    /// Returns the folder of an agent program's files for one attempt: what it is given, and what it leaves of its own.
    pub fn program_folder(&self, run: &str, of: &Attempt) -> PathBuf {
        self.folder.join("programs").join(run).join(file_name(of))
    }

    /// Returns the folder of an agent program's configuration for one child, and of what it remembers of the conversation.
    pub fn program_home(&self, run: &str, node: &NodeId) -> PathBuf {
        let of = Attempt::none_at(node);
        self.of_run(run).join(format!("{}-program", file_name(&of)))
    }

    /// Returns the socket at which a supervisor is woken.
    pub fn wake_socket(&self, surroundings: &str) -> PathBuf {
        self.folder
            .join(format!("supervisor-{surroundings}.socket"))
    }
}

/// Returns an attempt as a file name, with `_` for odd characters: keys of items may have any character.
fn file_name(of: &Attempt) -> String {
    let name = format!("{}-{}", of.node, of.n);
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    name.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect()
}
