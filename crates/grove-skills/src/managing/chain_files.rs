//! The files of chains: made, changed, renamed, deleted.

use std::path::{Path, PathBuf};

use grove_catalog::chains::Chain;
use grove_catalog::entry::Entries;
use grove_spec::chain::{ChainFormat, compose, edit};
use grove_spec::config::LayerScope;
use grove_spec::package::EntryKind;
use serde_json::Value;

use super::own_files::{full_name, package, sanitised};
use super::{CHAINS, ChangeReport, ManageError, ManagedEntry, Manager};
use crate::library::Discovery;
use crate::planning::PlannedRoot;
use crate::sources::Sources;

/// A chain that is to be made.
#[derive(Debug, Clone)]
pub struct NewChain<'a> {
    /// Its name, as typed.
    pub name: &'a str,
    /// Its package, as typed.
    pub package: Option<&'a str>,
    /// The scope that it is made in.
    pub scope: LayerScope,
    /// The description of its purpose.
    pub description: &'a str,
    /// Its steps, as JSON.
    pub steps: &'a Value,
}

/// The changes to make to a chain.
#[derive(Debug, Clone, Default)]
pub struct ChainChanges<'a> {
    /// The description that it is to have.
    pub description: Option<&'a str>,
    /// Other steps, as JSON.
    pub steps: Option<&'a Value>,
}

impl ManagedEntry for Chain {
    fn all(discovery: &Discovery) -> Entries<'_, Self> {
        discovery.snapshot.chains.entries()
    }

    fn bytes(&self, sources: &Sources) -> Option<Vec<u8>> {
        sources.chains.read_bytes(self)
    }

    fn planned<'a>(&self, sources: &'a Sources) -> Option<&'a PlannedRoot> {
        sources.chains.planned(self)
    }

    fn is_read(&self) -> bool {
        self.content.is_some()
    }

    fn package(&self) -> Option<&str> {
        let content = self.content.as_ref()?;
        content.parsed.chain.package.as_deref()
    }

    fn renamed(
        &self,
        file: &Path,
        before: &str,
        name: &str,
        package: Option<&str>,
    ) -> Result<(PathBuf, String), ManageError> {
        let format = format_of(&self.path);
        let said = grove_spec::chain::parse_bytes(before.as_bytes(), format)
            .chain
            .package;
        let renamed = edit::set(before, format, "name", name).and_then(|text| match package {
            Some(package) if said.as_deref() == Some(package) => Ok(text),
            Some(package) => edit::set(&text, format, "package", package),
            None => edit::remove(&text, format, "package"),
        });
        let refused = |_| ManageError::field("name", "it cannot be changed alone in this file");
        let after = renamed.map_err(refused)?;
        let file_name = format!("{}{}", full_name(name, package), format.ending());
        Ok((file.with_file_name(file_name), after))
    }
}

impl Manager {
    /// Makes a chain's file.
    pub fn create_chain(&mut self, asked: &NewChain<'_>) -> Result<ChangeReport, ManageError> {
        let name = sanitised(asked.name)?;
        let package = asked.package.map(package).transpose()?.flatten();
        let runtime = full_name(&name, package.as_deref());
        self.require_new(EntryKind::Chains, &runtime, asked.scope, None)?;
        let description = asked.description.trim();
        if description.is_empty() {
            return Err(ManageError::field("description", "a new chain needs one"));
        }
        let made = compose::create(&name, package.as_deref(), description, asked.steps);
        let (format, text) = made.map_err(|why| ManageError::field("steps", &why))?;
        let below = Path::new(CHAINS).join(format!("{runtime}{}", format.ending()));
        let place = self.new_file(asked.scope, &below)?;
        place.create(text.as_bytes(), None)?;
        self.keep_trust(&place.real(), None, &text);
        Ok(self.report_chain(&runtime, asked.scope, place.path(), true))
    }

    /// Changes the description or the steps of a chain's file.
    pub fn edit_chain(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
        asks: &ChainChanges<'_>,
    ) -> Result<ChangeReport, ManageError> {
        let files = Chain::own_files(self);
        let (chain, scope) = files.own(name, scope)?;
        let (name, location) = (chain.name.clone(), files.location(chain));
        let (place, before) = files.readable(chain)?;
        let format = format_of(&chain.path);
        let mut after = before.clone();
        if let Some(description) = asks.description {
            let changed = edit::set(&after, format, "description", description.trim());
            let refusal = "it cannot be changed alone in this file";
            after = changed.map_err(|_| ManageError::field("description", refusal))?;
        }
        if let Some(steps) = asks.steps {
            let changed = compose::with_steps(&after, format, steps);
            after = changed.map_err(|why| ManageError::field("steps", &why))?;
        }
        let changed = after != before;
        if changed {
            place.replace(before.as_bytes(), after.as_bytes())?;
            self.keep_trust(&place.real(), Some(&before), &after);
        }
        Ok(self.report_chain(&name, scope, &location, changed))
    }

    fn report_chain(
        &mut self,
        name: &str,
        scope: LayerScope,
        file: &Path,
        changed: bool,
    ) -> ChangeReport {
        let file = file.to_path_buf();
        let mut report = self.report::<Chain>(name, scope, file, changed, Vec::new());
        let files = Chain::own_files(self);
        report.notes.extend(files.stands_in_for(&report.file));
        report
    }
}

fn format_of(path: &str) -> ChainFormat {
    ChainFormat::of(path).unwrap_or(ChainFormat::Markdown)
}
