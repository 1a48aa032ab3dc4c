//! An isolated home in which a test runs the `grove` program.
//!
//! The program sees nothing of the machine it runs on: its environment is built from nothing and
//! every folder it may look into lies in one temporary folder. The builders panic, since a test
//! that cannot make its tree has nothing left to do but to say why.
#![expect(
    clippy::panic,
    reason = "a test that cannot build its tree should fail with the reason"
)]

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::process::{self, Finished};

/// The commands a test may need are all in the usual places; what else is installed on the
/// machine must not change a result.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// One temporary folder with `home/`, `project/` and the four XDG folders in it.
#[derive(Debug)]
pub struct TestHome {
    grove: PathBuf,
    /// Removed with everything in it when the home is dropped.
    folder: TempDir,
    /// The folder without links in its path, so that paths in outputs can be compared.
    root: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

impl TestHome {
    /// An empty home for the program at `grove`: `env!("CARGO_BIN_EXE_grove")` in its tests.
    pub fn new(grove: impl Into<PathBuf>) -> Self {
        let place = place();
        let folder = done("make a folder in", &place, tempfile::tempdir_in(&place));
        let root = done("resolve", folder.path(), folder.path().canonicalize());
        let home = Self {
            grove: grove.into(),
            folder,
            root,
            variables: Vec::new(),
        };
        for relative in ["home", "project", "config", "state", "data", "cache", "tmp"] {
            home.dir(relative);
        }
        home
    }

    /// The absolute path of something in the temporary folder, for example `home/.agents`.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Sets a variable for every later run, also one that is set by default.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Makes a folder and those above it.
    pub fn dir(&self, relative: impl AsRef<Path>) -> &Self {
        let path = self.path(relative);
        done("make", &path, fs::create_dir_all(&path));
        self
    }

    /// Writes a file and makes the folders above it.
    pub fn file(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(relative);
        if let Some(folder) = path.parent() {
            done("make", folder, fs::create_dir_all(folder));
        }
        done("write", &path, fs::write(&path, content));
        self
    }

    /// Makes a link at `relative` that points to `target`, which is taken as it is.
    pub fn link(&self, relative: impl AsRef<Path>, target: impl AsRef<Path>) -> &Self {
        let path = self.path(relative);
        if let Some(folder) = path.parent() {
            done("make", folder, fs::create_dir_all(folder));
        }
        done("link", &path, std::os::unix::fs::symlink(target, &path));
        self
    }

    /// Writes `<folder>/SKILL.md` with this name and description, each on one line as given.
    pub fn skill(&self, folder: impl AsRef<Path>, name: &str, description: &str) -> &Self {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n");
        self.file(folder.as_ref().join("SKILL.md"), text)
    }

    /// The program with its isolated environment, in the folder `cwd` of the temporary folder.
    pub fn command(&self, cwd: impl AsRef<Path>) -> Command {
        let mut command = Command::new(&self.grove);
        command
            .current_dir(self.path(cwd))
            .env_clear()
            .env("PATH", PATH)
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("TMPDIR", self.path("tmp"))
            // Packages that are installed for everybody on this machine are nobody's here.
            .env("npm_config_prefix", self.path("npm"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program with `arguments` in `cwd` until it ends.
    pub fn run<A: AsRef<OsStr>>(
        &self,
        cwd: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Finished {
        let mut command = self.command(cwd);
        command.args(arguments);
        let finished = process::capture(&mut command, process::HANGING);
        done("run", &self.grove, finished)
    }

    /// Keeps the temporary folder after the test, to look into it, and gives its path.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

/// Where temporary folders are made in which the program is run.
pub fn place() -> PathBuf {
    place_apart(&std::env::temp_dir())
}

/// The place for temporary files, or another one where that lies in a project: its skills would be those of the tests.
fn place_apart(usual: &Path) -> PathBuf {
    let is_apart = |place: &Path| {
        let real = place.canonicalize().unwrap_or_default();
        place.is_dir() && !real.ancestors().any(is_project)
    };
    let mut places = [usual, Path::new("/tmp"), Path::new("/var/tmp")].into_iter();
    places
        .find(|place| is_apart(place))
        .unwrap_or_else(|| panic!("{} lies in a project; set TMPDIR", usual.display()))
        .to_owned()
}

/// Whether the program would take a folder for a project, or look in it for one that lies below.
fn is_project(folder: &Path) -> bool {
    let markers = [".git", ".grove", ".pi", ".agents", "node_modules"];
    markers
        .iter()
        .any(|marker| folder.join(marker).symlink_metadata().is_ok())
}

fn done<T, E: Display>(action: &str, path: &Path, result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("cannot {action} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_sees_only_the_isolated_environment() {
        let home = TestHome::new("/usr/bin/env")
            .with_env("EXTRA", "1")
            .with_env("TMPDIR", "/tmp");
        let output = home.run("project", [] as [&str; 0]).stdout_text();
        let mut names: Vec<&str> = output
            .lines()
            .filter_map(|line| line.split('=').next())
            .collect();
        names.sort_unstable();
        let expected = [
            "EXTRA",
            "HOME",
            "LC_ALL",
            "PATH",
            "TMPDIR",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_STATE_HOME",
            "npm_config_prefix",
        ];
        assert_eq!(names, expected);
        assert!(output.contains("TMPDIR=/tmp\n"), "{output}");
    }

    #[test]
    fn a_skill_is_written_where_it_is_said_to_be() {
        let home = TestHome::new("/bin/cat");
        home.skill("home/.agents/skills/x", "x", "Does x")
            .link("project/l", "../home/.agents");
        let output = home.run("project", ["l/skills/x/SKILL.md"]);
        assert_eq!(
            output.stdout_text(),
            "---\nname: x\ndescription: Does x\n---\n\n# x\n"
        );
    }

    #[test]
    fn a_home_is_not_made_in_a_project() {
        let folder = tempfile::tempdir_in(place()).unwrap();
        let below = folder.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        assert_eq!(place_apart(&below), below);
        for marker in [".git", ".agents"] {
            fs::create_dir(folder.path().join(marker)).unwrap();
            let place = place_apart(&below);
            assert!(!place.starts_with(folder.path()), "{}", place.display());
            fs::remove_dir(folder.path().join(marker)).unwrap();
        }
    }

    #[test]
    fn the_folder_is_gone_with_the_home() {
        let home = TestHome::new("/bin/true");
        let root = home.path("home");
        drop(home);
        assert!(!root.exists());
    }
}
