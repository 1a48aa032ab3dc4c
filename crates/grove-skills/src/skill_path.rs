//! The folders of skills that an agent brings with it.
//!
//! A user's own agent may name any folder. One that came with a project or a package may not: its file can name
//! anything, and the folders were not looked at when the file was trusted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use grove_catalog::Root;
use grove_fs::files;
use grove_spec::{Code, Diagnostic};

use crate::environment::Environment;

/// The folders that are looked in, and findings about the others.
#[derive(Debug, Default)]
pub(crate) struct SkillPath {
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) findings: Vec<Diagnostic>,
}

impl SkillPath {
    /// The folders of several, each once and in an order that does not depend on whose they are.
    pub(crate) fn of_all<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let folders: BTreeSet<&PathBuf> = all.flat_map(|path| &path.folders).collect();
        Self {
            folders: folders.into_iter().cloned().collect(),
            findings: Vec::new(),
        }
    }

    /// Reads an agent's `skillPath`: `~` is home, and relative paths begin at the agent's file.
    pub(crate) fn of(
        environment: &Environment,
        root: Option<&Root>,
        file: &Path,
        written: &[String],
    ) -> Self {
        let mut found = Self::default();
        let may_lead = root.is_some_and(|root| !root.source.contains_links());
        for path in written {
            let folder = environment.expand(path, file.parent().unwrap_or(file));
            let why = if !may_lead {
                "an agent that came with a project or a package may not add folders"
            } else if !files::is_folder(&folder) {
                "there is no such folder"
            } else {
                found.folders.push(folder);
                continue;
            };
            let message = format!("`skillPath`: `{path}` was not searched: {why}");
            let finding = Diagnostic::new(Code::SkillPathUnused, message);
            found.findings.push(finding.in_file(file));
        }
        found
    }
}
