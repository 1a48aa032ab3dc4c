//! What the machine and the user's shell say, as values.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Everything the engine takes from its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The user's home folder, if there is one.
    pub home: Option<PathBuf>,
    /// The working folder.
    pub working: PathBuf,
    /// The folder for temporary files, which is never a project.
    pub temporary: PathBuf,
    /// Grove's configuration folder.
    pub config: PathBuf,
    /// Grove's state folder: trust grants, and which skills are used.
    pub state: PathBuf,
    /// Grove's data folder: managed and bundled skills.
    pub data: PathBuf,
    /// Grove's cache folder; none means that nothing is cached on disk.
    pub cache: Option<PathBuf>,
    /// A folder to use in place of the bundled skills.
    pub bundled_dir: Option<PathBuf>,
    /// Further folders with skills, from a variable.
    pub skill_dirs: Vec<PathBuf>,
    /// Further folders with agents, from variables.
    pub agent_dirs: Vec<PathBuf>,
    /// The operating system's name.
    pub os: String,
    /// The environment variables a skill or a host may ask for.
    pub variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// Where folders are when there is no home to put them in: nothing can be read or made here.
    pub const NOWHERE: &str = "/dev/null/no-home";

    /// The usual folders below a home folder and nothing else: for tests and for embedding.
    pub fn for_home(home: PathBuf, working: PathBuf) -> Self {
        Self {
            config: home.join(".config/grove"),
            state: home.join(".local/state/grove"),
            data: home.join(".local/share/grove"),
            cache: Some(home.join(".cache/grove")),
            home: Some(home),
            working,
            temporary: std::env::temp_dir(),
            bundled_dir: None,
            skill_dirs: Vec::new(),
            agent_dirs: Vec::new(),
            os: std::env::consts::OS.to_owned(),
            variables: BTreeMap::new(),
        }
    }

    /// A variable that is set and not blank.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables
            .get(name)
            .filter(|value| !value.to_string_lossy().trim().is_empty())
    }

    /// A path as people write it: `~` is home, and relative paths start in the working folder.
    pub fn expand(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ if path == "~" => self.home.clone().unwrap_or_else(|| self.working.clone()),
            _ => self.working.join(path),
        }
    }

    /// The folder that a variable names: `~` is the home, and a relative one begins where the program runs.
    pub fn folder(&self, name: &str) -> Option<PathBuf> {
        let folder = self.variable(name)?;
        Some(match folder.to_str() {
            Some(text) => self.expand(text),
            // A name that is not UTF-8 is a name all the same.
            None => self.working.join(folder),
        })
    }

    /// The folder in which pi keeps what is the user's.
    pub(crate) fn pi_folder(&self) -> Option<PathBuf> {
        let own = || Some(self.home.as_ref()?.join(".pi/agent"));
        self.folder("PI_CODING_AGENT_DIR").or_else(own)
    }
}
