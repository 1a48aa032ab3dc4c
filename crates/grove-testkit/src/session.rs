//! An isolated home in which a test runs the `grove` program, and what the program said there.
//!
//! The program sees nothing of the machine it runs on: its environment is built from nothing and
//! every folder it may look into lies in one temporary folder. The builders panic, since a test
//! that cannot make its tree has nothing left to do but to say why.
#![expect(
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::return_self_not_must_use,
    reason = "a test that cannot go on should fail with the reason"
)]

use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{self, Ending, Finished};
use crate::shown_text::without_what_differs;

/// The commands a test may need are all in the usual places; what else is installed on the
/// machine must not change a result.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A little more than the time for which the program reads a file again, however it looks.
const SETTLED_AFTER: Duration = Duration::from_millis(30);

/// Names another program than the one that was just built, to see a test fail with an earlier one.
pub const PROGRAM_VARIABLE: &str = "GROVE_TEST_PROGRAM";

/// The user's configuration file.
pub const USER_CONFIG: &str = "config/grove/config.toml";

/// One temporary folder with `home/`, `project/` and the four XDG folders in it, and the program that runs there.
#[derive(Debug)]
pub struct Session {
    program: PathBuf,
    /// Removed with everything in it when the session is dropped.
    _folder: TempDir,
    /// The folder without links in its path, so that paths in outputs can be compared.
    root: PathBuf,
    working: PathBuf,
    /// What is set or left away.
    variables: Vec<(OsString, Option<OsString>)>,
}

/// What follows the name of a program: words of one text, or exactly these arguments.
pub trait Arguments {
    /// The arguments one by one.
    fn arguments(self) -> Vec<OsString>;
}

impl Arguments for &str {
    fn arguments(self) -> Vec<OsString> {
        self.split_whitespace().map(OsString::from).collect()
    }
}

impl Arguments for &String {
    fn arguments(self) -> Vec<OsString> {
        self.as_str().arguments()
    }
}

impl<W: AsRef<OsStr>> Arguments for &[W] {
    fn arguments(self) -> Vec<OsString> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<W: AsRef<OsStr>, const N: usize> Arguments for [W; N] {
    fn arguments(self) -> Vec<OsString> {
        self.as_slice().arguments()
    }
}

impl<W: AsRef<OsStr>> Arguments for Vec<W> {
    fn arguments(self) -> Vec<OsString> {
        self.as_slice().arguments()
    }
}

impl Session {
    /// An empty home for this program: `env!("CARGO_BIN_EXE_grove")` in its tests.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let place = place();
        let folder = done("make a folder in", &place, tempfile::tempdir_in(&place));
        let root = done("resolve", folder.path(), folder.path().canonicalize());
        let session = Self {
            program: std::env::var_os(PROGRAM_VARIABLE)
                .map_or_else(|| program.into(), PathBuf::from),
            _folder: folder,
            root,
            working: PathBuf::from("project"),
            variables: Vec::new(),
        };
        for relative in ["home", "project", "config", "state", "data", "cache", "tmp"] {
            session.dir(relative);
        }
        session
    }

    /// The program that it runs.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Sets a variable for every later run, also one that is set by default.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), Some(value.into())));
        self
    }

    /// Leaves a variable away from every later run.
    #[must_use]
    pub fn without_env(mut self, name: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), None));
        self
    }

    /// Without the skills and agents that come with the program.
    #[must_use]
    pub fn without_bundled(self) -> Self {
        let bundled = self.dir("home/bundled").path("home/bundled");
        self.with_env("GROVE_BUNDLED_DIR", bundled)
    }

    /// With a repository in the folder `project`.
    #[must_use]
    pub fn with_repository(self) -> Self {
        self.dir("project/.git");
        self
    }

    /// Runs later commands in this folder instead of `project`.
    #[must_use]
    pub fn working_in(mut self, relative: impl Into<PathBuf>) -> Self {
        self.working = relative.into();
        self.dir(&self.working);
        self
    }

    /// The absolute path of something in the temporary folder, for example `home/.agents`.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Makes a folder and those above it.
    pub fn dir(&self, relative: impl AsRef<Path>) -> &Self {
        let path = self.path(relative);
        done("make", &path, fs::create_dir_all(&path));
        self
    }

    /// Writes a file and makes the folders above it.
    pub fn file(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path_in_folder(relative);
        done("write", &path, fs::write(&path, content));
        self
    }

    /// Makes a link at `relative` that points to `target`, which is taken as it is.
    pub fn link(&self, relative: impl AsRef<Path>, target: impl AsRef<Path>) -> &Self {
        let path = self.path_in_folder(relative);
        done("link", &path, std::os::unix::fs::symlink(target, &path));
        self
    }

    /// Removes a file, a link, or a folder with everything in it.
    pub fn remove(&self, relative: impl AsRef<Path>) -> &Self {
        let path = self.path(relative);
        let is_folder = path.is_dir() && !path.is_symlink();
        let removed = if is_folder {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        done("remove", &path, removed);
        self
    }

    /// The text of a file.
    pub fn read(&self, relative: impl AsRef<Path>) -> String {
        let path = self.path(relative);
        done("read", &path, fs::read_to_string(&path))
    }

    /// Whether there is something, were it a link that leads nowhere.
    pub fn has(&self, relative: impl AsRef<Path>) -> bool {
        self.path(relative).symlink_metadata().is_ok()
    }

    /// The names of what is in a folder, in order.
    pub fn entries(&self, relative: impl AsRef<Path>) -> Vec<String> {
        let path = self.path(relative);
        let entries = done("list", &path, fs::read_dir(&path)).flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Writes `<folder>/SKILL.md` with this name and description, each on one line as given.
    pub fn skill(&self, folder: impl AsRef<Path>, name: &str, description: &str) -> &Self {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n");
        self.file(folder.as_ref().join("SKILL.md"), text)
    }

    /// Writes a skill or an agent that is called like its folder or file, with more lines of frontmatter and this body.
    ///
    /// `home/.agents/skills/pdf` is a skill in `pdf/SKILL.md`, `home/.agents/agents/scout.md` is an agent.
    pub fn definition(&self, path: impl AsRef<Path>, lines: &str, body: &str) -> &Self {
        let path = path.as_ref();
        let name = path.file_stem().unwrap_or_default().display();
        let text = format!("---\nname: {name}\ndescription: Does {name}.\n{lines}---\n\n{body}\n");
        match path.extension() {
            Some(_) => self.file(path, text),
            None => self.file(path.join("SKILL.md"), text),
        }
    }

    fn path_in_folder(&self, relative: impl AsRef<Path>) -> PathBuf {
        let path = self.path(relative);
        if let Some(folder) = path.parent() {
            done("make", folder, fs::create_dir_all(folder));
        }
        path
    }

    /// The program with its isolated environment, in the folder `cwd` of the temporary folder.
    pub fn command(&self, cwd: impl AsRef<Path>) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(self.path(cwd))
            .env_clear()
            .env("PATH", PATH)
            .env("LC_ALL", "C.UTF-8")
            // What a person sees; another program would get tabs.
            .env("COLUMNS", "100")
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("TMPDIR", self.path("tmp"))
            // Packages that are installed for everybody on this machine are nobody's here.
            .env("npm_config_prefix", self.path("npm"));
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
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
        done("run", &self.program, finished)
    }

    /// Runs the program in the session's working folder until it ends.
    pub fn grove(&self, arguments: impl Arguments) -> Outcome {
        self.grove_in(&self.working, arguments)
    }

    /// Runs a command that must succeed.
    #[track_caller]
    pub fn done(&self, arguments: impl Arguments) -> Outcome {
        self.grove(arguments).ok()
    }

    /// Runs a command that must fail and print nothing.
    #[track_caller]
    pub fn refused(&self, arguments: impl Arguments) -> Outcome {
        let outcome = self.grove(arguments);
        let is_refused = outcome.code != 0 && outcome.stdout.is_empty();
        assert!(is_refused, "grove {}\n{outcome}", outcome.command);
        outcome
    }

    /// Runs the program in the folder `cwd` of the temporary folder until it ends.
    pub fn grove_in(&self, cwd: impl AsRef<Path>, arguments: impl Arguments) -> Outcome {
        let arguments = arguments.arguments();
        let finished = self.run(cwd, &arguments);
        let code = match finished.ending {
            Ending::Exited(code) => code,
            other => panic!("{arguments:?} ended with {other:?}: {finished:?}"),
        };
        let command = arguments.join(OsStr::new(" "));
        Outcome {
            command: command.to_string_lossy().into_owned(),
            stdout: finished.stdout_text(),
            stderr: finished.stderr_text(),
            code,
            root: self.root.clone(),
        }
    }

    /// What a command that must succeed prints with `--json`.
    #[track_caller]
    pub fn json(&self, arguments: impl Arguments) -> Value {
        self.json_in(&self.working, arguments)
    }

    /// What a command that must succeed prints with `--json` in the folder `cwd`.
    #[track_caller]
    pub fn json_in(&self, cwd: impl AsRef<Path>, arguments: impl Arguments) -> Value {
        let mut arguments = arguments.arguments();
        arguments.push("--json".into());
        self.grove_in(cwd, arguments).ok().json()
    }

    /// Several commands one after the other, as they would stand in a terminal.
    pub fn transcript<A: Arguments>(&self, commands: impl IntoIterator<Item = A>) -> String {
        let shown = commands.into_iter().map(|command| {
            let outcome = self.grove(command);
            format!("$ grove {}\n{outcome}", outcome.shown(&outcome.command))
        });
        shown.collect()
    }

    /// Trusts the project of the working folder as it is now.
    #[track_caller]
    pub fn trust(&self) -> Outcome {
        self.trust_in(&self.working, "")
    }

    /// Trusts the project of the working folder with these words more, for example `--follow`.
    #[track_caller]
    pub fn trust_with(&self, words: &str) -> Outcome {
        self.trust_in(&self.working, words)
    }

    /// Trusts the project of the folder `cwd` with these words more.
    #[track_caller]
    pub fn trust_in(&self, cwd: impl AsRef<Path>, words: &str) -> Outcome {
        self.grove_in(cwd, &format!("trust --yes {words}")).ok()
    }
}

/// What a run of the program said. As text it is both streams and the exit code, with what differs from run to run
/// replaced: for `insta::assert_snapshot!`.
#[derive(Debug, Clone)]
pub struct Outcome {
    command: String,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// The exit code.
    pub code: i32,
    root: PathBuf,
}

impl Outcome {
    /// The same, of a run that must have succeeded.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.fails(0)
    }

    /// The same, of a run that must have ended with this code.
    #[track_caller]
    pub fn fails(self, code: i32) -> Self {
        assert_eq!(self.code, code, "grove {}\n{self}", self.command);
        self
    }

    /// The same, of a run whose standard output must have all of these texts.
    #[track_caller]
    pub fn prints<const N: usize>(self, texts: [&str; N]) -> Self {
        assert_text(&self.stdout, &texts, &[]);
        self
    }

    /// The same, of a run whose standard error must have all of these texts.
    #[track_caller]
    pub fn says<const N: usize>(self, texts: [&str; N]) -> Self {
        assert_text(&self.stderr, &texts, &[]);
        self
    }

    /// The same, of a run that must have none of these texts on either stream.
    #[track_caller]
    pub fn lacks<const N: usize>(self, texts: [&str; N]) -> Self {
        assert_text(&self.stdout, &[], &texts);
        assert_text(&self.stderr, &[], &texts);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: grove {}\n{self}", self.command))
    }

    fn shown(&self, text: &str) -> String {
        without_what_differs(text, &self.root)
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stream = |heading: &str, text: &str| {
            if text.is_empty() {
                return Ok(());
            }
            write!(f, "{heading}{}", self.shown(text))?;
            let is_whole = text.ends_with('\n');
            f.write_str(if is_whole { "" } else { "[no end of line]\n" })
        };
        stream("", &self.stdout)?;
        stream("[stderr]\n", &self.stderr)?;
        writeln!(f, "[exit code {}]", self.code)
    }
}

/// Requires that a text has all of the first and none of the second.
#[track_caller]
pub fn assert_text(text: &str, has: &[&str], lacks: &[&str]) {
    for part in has {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    for part in lacks {
        assert!(!text.contains(part), "{part:?} is in:\n{text}");
    }
}

/// These members of every item of a JSON list, as text: what is no text is as JSON writes it, what is missing is empty.
///
/// A member of a member is named with slashes, `reasons/0/code`.
pub fn rows<const N: usize>(list: &Value, members: [&str; N]) -> Vec<[String; N]> {
    let Value::Array(items) = list else {
        panic!("not a list: {list}");
    };
    let text = |item: &Value, member: &str| match item.pointer(&format!("/{member}")) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let rows = items
        .iter()
        .map(|item| members.map(|member| text(item, member)));
    rows.collect()
}

/// One member of every item of a JSON list, as [`rows`] has it.
pub fn column(list: &Value, member: &str) -> Vec<String> {
    let rows = rows(list, [member]).into_iter();
    rows.map(|[text]| text).collect()
}

/// Waits until what was written in temporary folders up to now is older, by the clock of their file system, than what the
/// program does not trust to have been left alone.
pub fn let_files_settle() {
    let place = place();
    let clock = done(
        "make a file in",
        &place,
        tempfile::NamedTempFile::new_in(&place),
    );
    let now = || {
        done("write", clock.path(), fs::write(clock.path(), ""));
        let found = clock.path().metadata().and_then(|found| found.modified());
        done("ask", clock.path(), found)
    };
    let start = now();
    while now()
        .duration_since(start)
        .is_ok_and(|passed| passed <= SETTLED_AFTER)
    {
        std::thread::yield_now();
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
        let session = Session::new("/usr/bin/env")
            .with_env("EXTRA", "1")
            .with_env("TMPDIR", "/tmp")
            .without_env("XDG_DATA_HOME");
        let output = session.grove("").ok().prints(["TMPDIR=/tmp\n"]).stdout;
        let lines = output.lines().filter_map(|line| line.split('=').next());
        let mut names: Vec<&str> = lines.collect();
        names.sort_unstable();
        assert_eq!(
            names.join(" "),
            "COLUMNS EXTRA HOME LC_ALL PATH TMPDIR XDG_CACHE_HOME XDG_CONFIG_HOME XDG_STATE_HOME npm_config_prefix"
        );
    }

    #[test]
    fn a_skill_is_written_where_it_is_said_to_be() {
        let home = Session::new("/bin/cat");
        home.skill("home/.agents/skills/x", "x", "Does x")
            .link("project/l", "../home/.agents");
        let output = home.grove("l/skills/x/SKILL.md").ok();
        let text = "---\nname: x\ndescription: Does x\n---\n\n# x\n";
        assert_eq!(output.stdout, text);
    }

    #[test]
    fn an_outcome_shows_both_streams_and_the_exit_code() {
        let session = Session::new("/bin/sh");
        let script = "echo $HOME; printf odd >&2; exit 3";
        let outcome = session.grove(["-c", script]).fails(3);
        let shown = "[T]/home\n[stderr]\nodd[no end of line]\n[exit code 3]\n";
        assert_eq!(outcome.to_string(), shown);
        let shown = "$ grove -c true\n[exit code 0]\n$ grove -c false\n[exit code 1]\n";
        assert_eq!(session.transcript(["-c true", "-c false"]), shown);
    }

    #[test]
    fn rows_are_the_texts_of_members() {
        let list = serde_json::json!([{"a": "x", "b": {"c": [1]}}, {"a": null}]);
        assert_eq!(rows(&list, ["a", "b/c/0"]), [["x", "1"], ["", ""]]);
        assert_eq!(column(&list, "a"), ["x", ""]);
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
        let home = Session::new("/bin/true");
        let root = home.path("home");
        drop(home);
        assert!(!root.exists());
    }
}
