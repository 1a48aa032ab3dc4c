//! Agent programs, which the host views are compared with and which are children.
//!
//! Each is an npm package. Most have a native program in a package for the platform; that one is
//! started, since a launcher in between would outlive a killed test.

use std::fs;
use std::path::{Path, PathBuf};

use grove_testkit::need::variable;

use super::node::{PI, PI_VERSION, newest_version, npm_install};
use super::{folder, marker};

/// An agent program on npm.
pub(crate) struct Agent {
    name: &'static str,
    package: &'static str,
    version: &'static str,
    /// The variable through which the tests find it.
    variable: &'static str,
    /// The beginning of the names of its packages for platforms, beside its own; none for one that is the same on all.
    platforms: Option<&'static str>,
    /// The path of the program in its package for the platform; `*` stands for a folder of any name.
    program: &'static str,
}

pub(crate) const CLAUDE: Agent = Agent {
    name: "claude",
    package: "@anthropic-ai/claude-code",
    version: "2.1.197",
    variable: variable::CLAUDE,
    platforms: Some("claude-code-linux-"),
    program: "claude",
};

pub(crate) const CODEX: Agent = Agent {
    name: "codex",
    package: "@openai/codex",
    version: "0.166.0",
    variable: variable::CODEX,
    platforms: Some("codex-linux-"),
    program: "vendor/*/bin/codex",
};

pub(crate) const COPILOT: Agent = Agent {
    name: "copilot",
    package: "@github/copilot",
    version: "1.0.102",
    variable: variable::COPILOT,
    platforms: Some("copilot-linux-"),
    program: "copilot",
};

pub(crate) const PI_AGENT: Agent = Agent {
    name: "pi",
    package: PI,
    version: PI_VERSION,
    variable: variable::PI,
    platforms: None,
    // The tests take the folder with all of its modules.
    program: "",
};

pub(crate) const OPENCODE: Agent = Agent {
    name: "opencode",
    package: "opencode-ai",
    version: "1.18.33",
    variable: "GROVE_TEST_OPENCODE",
    platforms: Some("opencode-linux-"),
    program: "bin/opencode",
};

pub(crate) const GEMINI: Agent = Agent {
    name: "gemini",
    package: "@google/gemini-cli",
    version: "0.61.0",
    variable: "GROVE_TEST_GEMINI",
    platforms: None,
    program: "bundle/gemini.js",
};

/// A version, the variable through which the tests find its program, and the program.
pub(crate) type Newest = (String, &'static str, PathBuf);

impl Agent {
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) const fn version(&self) -> &'static str {
        self.version
    }

    /// Installs it; without a program for this platform that is a failure.
    pub(crate) fn install(&self) -> Result<(), String> {
        npm_install(self.name, self.package, self.version)?;
        self.program().map(drop)
    }

    /// Installs the newest version there is into a folder of its own, and gives that version and the
    /// variable with which the tests find it; nothing when it is the pinned one.
    pub(crate) fn install_newest(&self) -> Result<Option<Newest>, String> {
        let version = newest_version(self.package)?;
        if version == self.version {
            return Ok(None);
        }
        let name = format!("newest-{}", self.name);
        npm_install(&name, self.package, &version)?;
        let program = self.program_in(&name)?;
        Ok(Some((version, self.variable, program)))
    }

    /// The variable through which the tests find its program, and the program.
    pub(crate) fn variable(&self) -> (&'static str, Result<PathBuf, String>) {
        (self.variable, self.program())
    }

    fn program(&self) -> Result<PathBuf, String> {
        if !marker::is_installed(self.name, self.version) {
            let package = self.package;
            return Err(format!(
                "{package} is not installed; run `cargo xtask test --against-hosts`"
            ));
        }
        self.program_in(self.name)
    }

    /// Its program in the folder of an install.
    fn program_in(&self, name: &str) -> Result<PathBuf, String> {
        let modules = folder().join(name).join("node_modules");
        let package = modules.join(self.package);
        let missing = || format!("{} has no program for this platform", self.package);
        let Some(prefix) = self.platforms else {
            let whole = if self.program.is_empty() {
                modules
            } else {
                package.join(self.program)
            };
            return whole.exists().then_some(whole).ok_or_else(missing);
        };
        // npm takes the packages of this platform alone, so whichever is there is the right one.
        let beside = package.parent().map(entries).unwrap_or_default();
        beside
            .into_iter()
            .filter(|entry| {
                let name = entry.file_name().unwrap_or_default();
                name.to_string_lossy().starts_with(prefix)
            })
            .find_map(|platform| resolve(&platform, self.program))
            .ok_or_else(missing)
    }
}

/// A path below a folder, with the first folder that fits in place of a star.
fn resolve(folder: &Path, pattern: &str) -> Option<PathBuf> {
    let (first, rest) = match pattern.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (pattern, None),
    };
    let candidates = if first == "*" {
        entries(folder)
    } else {
        vec![folder.join(first)]
    };
    candidates.into_iter().find_map(|path| match rest {
        Some(rest) => resolve(&path, rest),
        None => path.is_file().then_some(path),
    })
}

/// Returns the sorted entries of a folder; none when it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    entries.sort();
    entries
}
