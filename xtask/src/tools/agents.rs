//! Agent programs, which the host views are compared with.
//!
//! Each is an npm package whose program is a native one in a package for the platform; that one is
//! started, since a launcher in between would outlive a killed test.

use std::fs;
use std::path::{Path, PathBuf};

use super::node::npm_install;
use super::{folder, marker};

/// An agent program on npm.
pub(crate) struct Agent {
    name: &'static str,
    package: &'static str,
    version: &'static str,
    /// Where the program is in its package for the platform; `*` is whatever the folder is called.
    program: &'static str,
}

pub(crate) const CLAUDE: Agent = Agent {
    name: "claude",
    package: "@anthropic-ai/claude-code",
    version: "2.1.197",
    program: "claude",
};

pub(crate) const CODEX: Agent = Agent {
    name: "codex",
    package: "@openai/codex",
    version: "0.166.0",
    program: "vendor/*/bin/codex",
};

pub(crate) const COPILOT: Agent = Agent {
    name: "copilot",
    package: "@github/copilot",
    version: "1.0.102",
    program: "copilot",
};

impl Agent {
    /// Installs it; without a program for this platform that is a failure.
    pub(crate) fn install(&self) -> Result<(), String> {
        npm_install(self.name, self.package, self.version)?;
        self.program().map(drop)
    }

    /// Its native program.
    pub(super) fn program(&self) -> Result<PathBuf, String> {
        let missing = || format!("{} is not installed; run `cargo xtask test`", self.package);
        if !marker::is_installed(self.name, self.version) {
            return Err(missing());
        }
        let package = folder()
            .join(self.name)
            .join("node_modules")
            .join(self.package);
        let (Some(scope), Some(name)) = (package.parent(), package.file_name()) else {
            return Err(missing());
        };
        // npm takes the package of this platform alone, so whichever is there is the right one.
        let prefix = format!("{}-linux-", name.to_string_lossy());
        entries(scope)
            .into_iter()
            .filter(|entry| {
                let name = entry.file_name().unwrap_or_default();
                name.to_string_lossy().starts_with(&prefix)
            })
            .find_map(|platform| resolve(&platform, self.program))
            .ok_or_else(|| format!("{} has no program for this platform", self.package))
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

/// What is in a folder, sorted; nothing when it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    entries.sort();
    entries
}
