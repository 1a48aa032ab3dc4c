//! The facts about the machine and the user's shell, as values.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use grove_catalog::hosts;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};

use crate::environment_variables as names;
use crate::search::MeaningsFile;

/// The folders, variables and machine facts that the embedding program gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The user's home folder, if there is one.
    pub home: Option<PathBuf>,
    /// The folder that the program works in.
    pub working: PathBuf,
    /// The folder for temporary files, which is never a project.
    pub temporary: PathBuf,
    /// The folder of Grove's configuration.
    pub config: PathBuf,
    /// Grove's state folder: trust grants, and which skills are used.
    pub state: PathBuf,
    /// Grove's data folder: managed and bundled skills.
    pub data: PathBuf,
    /// Grove's cache folder; none means that nothing is cached on disk.
    pub cache: Option<PathBuf>,
    /// A folder to use in place of the bundled skills; the bundled chains are then left out.
    pub bundled_dir: Option<PathBuf>,
    /// Further folders with skills, from a variable.
    pub skill_dirs: Vec<PathBuf>,
    /// Further folders with agents, from variables.
    pub agent_dirs: Vec<PathBuf>,
    /// The operating system's name.
    pub os: String,
    /// The environment variables a skill or a host may ask for.
    pub variables: BTreeMap<String, OsString>,
    /// The file by which searches go by meaning too; none where words alone decide.
    pub meanings: Option<MeaningsFile>,
}

impl Environment {
    /// The place of folders that have no home to be in: nothing can be read or made here.
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
            meanings: None,
        }
    }

    /// The reason why Grove can keep nothing, if so: its folders need a home, or a variable for each.
    pub fn why_nowhere(&self) -> Option<String> {
        let is_nowhere = self.state.starts_with(Self::NOWHERE);
        is_nowhere.then(|| self.why_no_home())
    }

    pub(crate) fn why_no_home(&self) -> String {
        let home = self.variables.get(names::HOME);
        let home = home.map(|home| home.to_string_lossy());
        match home.filter(|home| !home.is_empty()) {
            Some(home) => format!(
                "HOME is `{}`, which is not an absolute path",
                one_line(&home)
            ),
            None => "HOME is not set".to_owned(),
        }
    }

    /// A variable that is set and not blank.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables
            .get(name)
            .filter(|value| !value.to_string_lossy().trim().is_empty())
    }

    /// A path as people write it in a file: `~` is home, and a relative one begins in the folder of that file. It never
    /// depends on the folder in which the program runs, which may be another user's.
    pub fn expand(&self, path: &str, from: &Path) -> PathBuf {
        Self::whole_folder(self.home.as_deref(), path.as_ref()).unwrap_or_else(|| from.join(path))
    }

    /// The folder that a variable names; none where it names a relative one.
    pub fn folder(&self, name: &str) -> Option<PathBuf> {
        Self::whole_folder(self.home.as_deref(), self.variable(name)?)
    }

    /// A folder that stands by itself: a whole path, or one in the home folder, of which there is none without a home.
    pub fn whole_folder(home: Option<&Path>, folder: &OsStr) -> Option<PathBuf> {
        let folder = Path::new(folder);
        if folder.is_absolute() {
            return Some(folder.to_path_buf());
        }
        let below = folder.strip_prefix("~").ok()?;
        Some(home.unwrap_or(Path::new(Self::NOWHERE)).join(below))
    }

    /// Findings about variables that name relative folders: each would be another folder wherever the program runs.
    pub(crate) fn refused_folders(&self) -> Vec<Diagnostic> {
        let is_theirs = |name: &str| {
            let mut roots = hosts::all().iter().flat_map(|host| &host.roots);
            roots.any(|root| {
                let mut names = root.env.iter().chain(&root.env_list);
                names.any(|it| it == name)
            })
        };
        let mut findings = Vec::new();
        for (name, value) in &self.variables {
            let is_ours = names::FOLDERS.contains(&name.as_str());
            let is_list = name.ends_with("DIRS");
            if !(is_ours || is_list || name.ends_with("_DIR") || name.ends_with("_HOME")) {
                continue;
            }
            let value = value.to_string_lossy();
            let separators: &[char] = if is_list { &[':', ','] } else { &[] };
            let folders = value.split(separators).map(str::trim);
            let folders = folders.filter(|folder| !folder.is_empty());
            let relative =
                folders.filter(|folder| Self::whole_folder(None, folder.as_ref()).is_none());
            let relative: Vec<String> = relative
                .map(|folder| format!("`{}`", one_line(folder)))
                .collect();
            // Variables of other programs may hold relative folders by their own rules.
            if relative.is_empty() || !(is_ours || is_theirs(name)) {
                continue;
            }
            let message = format!(
                "`{name}` names a relative folder, which was not used: {}",
                relative.join(", ")
            );
            let help = "write the whole path of the folder";
            findings.push(Diagnostic::new(Code::RootInvalid, message).with_help(help));
        }
        findings
    }

    pub(crate) fn pi_folder(&self) -> Option<PathBuf> {
        let own = || Some(self.home.as_ref()?.join(".pi/agent"));
        self.folder("PI_CODING_AGENT_DIR").or_else(own)
    }
}
