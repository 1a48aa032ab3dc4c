//! What a test needs beside cargo, git and a shell, and the account of the tests that were left out without it.
//!
//! A test says first what it needs: `needs![Claude, Node];`. Where something of it is missing, the test is written
//! into the account and passes. Under [`STRICT`] only the collections beside the repository may be missing.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::session;
use crate::shared;

/// Names the file that takes the account; without it nothing is written down.
pub const ACCOUNT: &str = "GROVE_TEST_LEFT_OUT";

/// When it is set, a test that needs a program or package which is missing fails.
pub const STRICT: &str = "GROVE_TEST_STRICT";

/// The variables through which tests find what `cargo xtask test --against-hosts` installs.
pub mod variable {
    /// A Python with `skills-ref`, `PyYAML` and `securesystemslib`.
    pub const ORACLE_PYTHON: &str = "GROVE_ORACLE_PYTHON";
    /// A Python with the MCP SDK and a server that people use.
    pub const MCP_PYTHON: &str = "GROVE_TEST_MCP_PYTHON";
    /// The folder of the MCP SDK for TypeScript.
    pub const MCP_SDK: &str = "GROVE_TEST_MCP_SDK";
    /// The script of the protocol's conformance suite.
    pub const MCP_CONFORMANCE: &str = "GROVE_TEST_MCP_CONFORMANCE";
    /// The program `node`.
    pub const NODE: &str = "GROVE_TEST_NODE";
    /// The program of Claude Code.
    pub const CLAUDE: &str = "GROVE_TEST_CLAUDE";
    /// The program of Codex.
    pub const CODEX: &str = "GROVE_TEST_CODEX";
    /// The program of Copilot CLI.
    pub const COPILOT: &str = "GROVE_TEST_COPILOT";
    /// The folder `node_modules` that pi is in.
    pub const PI: &str = "GROVE_TEST_PI";
    /// The folder of the package `playwright-core`.
    pub const PLAYWRIGHT: &str = "GROVE_TEST_PLAYWRIGHT";
    /// The folder of the package `axe-core`.
    pub const AXE: &str = "GROVE_TEST_AXE";
}

/// One thing that tests need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    RealCollections,
    HostileOriginals,
    Tmux,
    Strace,
    Valgrind,
    Faketime,
    Script,
    Pgrep,
    Namespaces,
    Python,
    OraclePython,
    McpPython,
    Node,
    McpSdk,
    McpConformance,
    Claude,
    Codex,
    Copilot,
    Pi,
    Chromium,
    Playwright,
    Axe,
}

impl Need {
    /// Its name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::RealCollections => "the real collections of skills",
            Self::HostileOriginals => "the hostile cases as they were first written",
            Self::Tmux => "tmux",
            Self::Strace => "strace",
            Self::Valgrind => "valgrind",
            Self::Faketime => "faketime",
            Self::Script => "script (of util-linux)",
            Self::Pgrep => "pgrep (of procps)",
            Self::Namespaces => "user namespaces (`unshare --user`)",
            Self::Python => "python3",
            Self::OraclePython => "Python with skills-ref, PyYAML and securesystemslib",
            Self::McpPython => "the MCP SDK for Python",
            Self::Node => "Node",
            Self::McpSdk => "the MCP SDK for TypeScript",
            Self::McpConformance => "the MCP conformance suite",
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Copilot => "Copilot CLI",
            Self::Pi => "pi",
            Self::Chromium => "Chromium",
            Self::Playwright => "playwright-core",
            Self::Axe => "axe-core",
        }
    }

    /// Whether it is a collection of files beside the repository, which no package has.
    pub const fn is_beside(self) -> bool {
        matches!(self, Self::RealCollections | Self::HostileOriginals)
    }

    /// Where it is, or why it is not there.
    pub fn find(self) -> Result<PathBuf, String> {
        match self {
            Self::RealCollections => shared::real_corpus(),
            Self::HostileOriginals => shared::hostile_originals(),
            Self::Tmux => on_path("tmux"),
            Self::Strace => on_path("strace"),
            Self::Valgrind => on_path("valgrind"),
            Self::Faketime => faketime_library(),
            Self::Script => on_path("script"),
            Self::Pgrep => on_path("pgrep"),
            Self::Namespaces => namespaces(),
            Self::Python => on_path("python3"),
            Self::OraclePython => named_by(variable::ORACLE_PYTHON),
            Self::McpPython => named_by(variable::MCP_PYTHON),
            Self::Node => named_by(variable::NODE),
            Self::McpSdk => named_by(variable::MCP_SDK),
            Self::McpConformance => named_by(variable::MCP_CONFORMANCE),
            Self::Claude => named_by(variable::CLAUDE),
            Self::Codex => named_by(variable::CODEX),
            Self::Copilot => named_by(variable::COPILOT),
            Self::Pi => named_by(variable::PI),
            Self::Chromium => on_path("chromium"),
            Self::Playwright => named_by(variable::PLAYWRIGHT),
            Self::Axe => named_by(variable::AXE),
        }
    }

    /// Where it is, for a test that said before that it needs it.
    #[expect(
        clippy::missing_panics_doc,
        clippy::panic,
        reason = "a test that did not say what it needs should fail with that"
    )]
    pub fn path(self) -> PathBuf {
        let found = self.find();
        found.unwrap_or_else(|why| {
            panic!("{why}; the test has to begin with `needs![{self:?}];` to be left out")
        })
    }
}

/// What a variable names.
fn named_by(variable: &str) -> Result<PathBuf, String> {
    let path = env::var_os(variable).map(PathBuf::from);
    path.filter(|path| path.exists()).ok_or_else(|| {
        format!("{variable} names nothing; `cargo xtask test --against-hosts` installs it")
    })
}

/// A program that tests and the sessions in them find: in our own search path and in theirs.
pub fn on_path(program: &str) -> Result<PathBuf, String> {
    let own = env::var_os("PATH").unwrap_or_default();
    let is_there = |folder: &PathBuf| folder.join(program).is_file();
    let is_ours = env::split_paths(&own).any(|folder| is_there(&folder));
    let theirs = env::split_paths(session::PATH).find(is_there);
    match theirs {
        Some(folder) if is_ours => Ok(folder.join(program)),
        _ => Err(format!(
            "{program} is not installed; `cargo xtask test --against-hosts` installs it"
        )),
    }
}

/// The library that changes what a process reads from the clock.
fn faketime_library() -> Result<PathBuf, String> {
    on_path("faketime")?;
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut libraries = folders.map(|it| it.path().join("faketime/libfaketimeMT.so.1"));
    let library = libraries.find(|library| library.exists());
    library.ok_or_else(|| "faketime has no library".to_owned())
}

/// The program that begins a namespace, where the kernel lets it.
fn namespaces() -> Result<PathBuf, String> {
    let program = on_path("unshare")?;
    let words = ["--user", "--map-root-user", "--mount", "true"];
    let began = Command::new(&program).args(words).output();
    match began {
        Ok(output) if output.status.success() => Ok(program),
        _ => Err("no user namespace can be made here".to_owned()),
    }
}

/// A test that was left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// The package that the test is in.
    pub package: String,
    /// Its name as `cargo test` prints it.
    pub test: String,
    /// What is missing.
    pub missing: Vec<Need>,
}

impl LeftOut {
    /// A test that a function inside it gives away, when something that it needs is missing.
    fn of(package: &str, inside: &str, missing: Vec<Need>) -> Self {
        let path = inside.split("::").skip(1);
        let mut path: Vec<&str> = path.filter(|part| *part != "{{closure}}").collect();
        path.pop();
        Self {
            package: package.to_owned(),
            test: path.join("::"),
            missing,
        }
    }

    fn write_to(&self, account: &Path) -> io::Result<()> {
        let mut line = serde_json::to_string(self)?;
        line.push('\n');
        // One write, since many test programs may write at a time.
        let mut file = fs::File::options()
            .create(true)
            .append(true)
            .open(account)?;
        file.write_all(line.as_bytes())
    }
}

/// The tests in an account, sorted and each once; none when there is no such file.
pub fn account(path: &Path) -> io::Result<Vec<LeftOut>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    let tests: Result<Vec<LeftOut>, _> = text.lines().map(serde_json::from_str).collect();
    let mut tests = tests?;
    tests.sort();
    tests.dedup();
    Ok(tests)
}

/// Says what a test needs, and returns from it when something of that is missing.
#[macro_export]
macro_rules! needs {
    ($($need:ident),+ $(,)?) => {{
        fn inside() {}
        let needs = [$($crate::need::Need::$need),+];
        let inside = ::std::any::type_name_of_val(&inside);
        if $crate::need::is_left_out(env!("CARGO_PKG_NAME"), inside, &needs) {
            return;
        }
    }};
}

/// Whether a test is left out; then it is in the account.
#[doc(hidden)]
#[expect(
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails with the reason, and says so when it is left out"
)]
pub fn is_left_out(package: &str, inside: &str, needs: &[Need]) -> bool {
    let why: Vec<(Need, String)> = needs
        .iter()
        .filter_map(|need| Some((*need, need.find().err()?)))
        .collect();
    let Some((_, reason)) = why.first() else {
        return false;
    };
    let refused = why.iter().find(|(need, _)| !need.is_beside());
    if let (Some((_, reason)), true) = (refused, env::var_os(STRICT).is_some()) {
        panic!("{reason}");
    }
    eprintln!("left out: {reason}");
    let missing = why.iter().map(|(need, _)| *need).collect();
    let left_out = LeftOut::of(package, inside, missing);
    if let Some(account) = env::var_os(ACCOUNT).map(PathBuf::from)
        && let Err(error) = left_out.write_to(&account)
    {
        panic!("{}: {error}", account.display());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside_a_test() -> &'static str {
        fn inside() {}
        std::any::type_name_of_val(&inside)
    }

    #[test]
    fn a_test_is_named_as_cargo_names_it() {
        let left_out = LeftOut::of("p", inside_a_test(), vec![Need::Tmux]);
        assert_eq!(left_out.test, "need::tests::inside_a_test");
        let left_out = LeftOut::of("p", "it::a::b::{{closure}}::inside", Vec::new());
        assert_eq!(left_out.test, "a::b");
    }

    #[test]
    fn an_account_has_every_test_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("account");
        assert_eq!(account(&path).unwrap(), []);
        let first = LeftOut::of("p", "it::a::inside", vec![Need::Tmux, Need::Claude]);
        let second = LeftOut::of("p", "it::b::inside", vec![Need::RealCollections]);
        for test in [&second, &first, &second] {
            test.write_to(&path).unwrap();
        }
        assert_eq!(account(&path).unwrap(), [first, second]);
    }

    #[test]
    fn a_program_that_is_nowhere_is_said_with_the_command_that_installs_it() {
        let message = on_path("no-such-program").unwrap_err();
        assert!(message.contains("--against-hosts"), "{message}");
    }
}
