//! The files of chains: made, changed, renamed, deleted.

use std::path::Path;

use grove_spec::chain::{Format, compose, edit};
use grove_spec::config::LayerScope;
use serde_json::Value;

use super::own_files::{full_name, package, sanitised};
use super::{CHAINS, Changed, ManageError, Manager, Renaming};

/// A chain that is to be made.
#[derive(Debug, Clone)]
pub struct NewChain<'a> {
    /// Its name, as typed.
    pub name: &'a str,
    /// Its package, as typed.
    pub package: Option<&'a str>,
    /// Whose it is.
    pub scope: LayerScope,
    /// What it is for.
    pub description: &'a str,
    /// Its steps, as JSON.
    pub steps: &'a Value,
}

/// What is to be changed of a chain.
#[derive(Debug, Clone, Default)]
pub struct ChainAsks<'a> {
    /// Another description.
    pub description: Option<&'a str>,
    /// Other steps, as JSON.
    pub steps: Option<&'a Value>,
}

impl Manager {
    /// Makes a chain's file.
    pub fn create_chain(&mut self, asked: &NewChain<'_>) -> Result<Changed, ManageError> {
        let name = sanitised(asked.name)?;
        let package = asked.package.map(package).transpose()?.flatten();
        let runtime = full_name(&name, package.as_deref());
        self.require_new(&runtime, asked.scope, None)?;
        if asked.description.trim().is_empty() {
            return Err(field("description", "a new chain needs one"));
        }
        let made = compose::create(
            &name,
            package.as_deref(),
            asked.description.trim(),
            asked.steps,
        );
        let (format, text) = made.map_err(|why| field("steps", why))?;
        let below = Path::new(CHAINS).join(format!("{runtime}{}", format.ending()));
        let place = self.new_file(asked.scope, &below)?;
        place.create(text.as_bytes(), None)?;
        Ok(self.report_chain(&runtime, asked.scope, place.path(), true))
    }

    /// Changes the description or the steps of a chain's file.
    pub fn edit_chain(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
        asks: &ChainAsks<'_>,
    ) -> Result<Changed, ManageError> {
        let files_of = self.chain_files();
        let (chain, scope) = files_of.own(name, scope)?;
        let (name, location) = (chain.name.clone(), files_of.location(chain));
        let (place, before) = files_of.readable(chain)?;
        let format = Format::of(&chain.path).unwrap_or(Format::Markdown);
        let mut after = before.clone();
        if let Some(description) = asks.description {
            after = edit::set(&after, format, "description", description.trim())
                .map_err(|_| field("description", "it cannot be changed alone in this file"))?;
        }
        if let Some(steps) = asks.steps {
            after =
                compose::with_steps(&after, format, steps).map_err(|why| field("steps", why))?;
        }
        let changed = after != before;
        if changed {
            place.replace(before.as_bytes(), after.as_bytes())?;
        }
        Ok(self.report_chain(&name, scope, &location, changed))
    }

    /// Gives a chain and its file another name.
    pub fn rename_chain(&mut self, asked: &Renaming<'_>) -> Result<Changed, ManageError> {
        let files_of = self.chain_files();
        let (chain, scope) = files_of.own(asked.name, asked.scope)?;
        let location = files_of.location(chain);
        let kept = chain.file().and_then(|file| file.package.clone());
        let package = match asked.package {
            Some(text) => package(text)?,
            None => kept,
        };
        let name = sanitised(asked.to)?;
        let runtime = full_name(&name, package.as_deref());
        self.require_new(&runtime, scope, Some(&location))?;
        let (_, before) = files_of.readable(chain)?;
        let format = Format::of(&chain.path).unwrap_or(Format::Markdown);
        let renamed = edit::set(&before, format, "name", &name).and_then(|text| match &package {
            Some(package)
                if chain
                    .file()
                    .is_some_and(|file| file.package.as_ref() == Some(package)) =>
            {
                Ok(text)
            }
            Some(package) => edit::set(&text, format, "package", package),
            None => edit::remove(&text, format, "package"),
        });
        let after =
            renamed.map_err(|_| field("name", "it cannot be changed alone in this file"))?;
        let file = location.with_file_name(format!("{runtime}{}", format.ending()));
        let changed = after != before || file != location;
        if changed {
            files_of.moved(chain, &file, &before, &after)?;
        }
        let mut report = self.report_chain(&runtime, scope, &file, changed);
        report.previous = Some(location).filter(|previous| *previous != report.file);
        Ok(report)
    }

    /// Deletes a chain's file.
    pub fn delete_chain(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
    ) -> Result<Changed, ManageError> {
        let files_of = self.chain_files();
        let (chain, scope) = files_of.own(name, scope)?;
        let (name, location) = (chain.name.clone(), files_of.location(chain));
        let (_, before) = files_of.readable(chain)?;
        files_of.delete(chain, &before)?;
        let mut report = self.report_chain(&name, scope, &location, true);
        let chains = self.chains();
        let mut left = chains.chains.iter();
        if let Some(next) = left.find(|chain| chain.name == name && chain.state.is_offered()) {
            let note = format!("{} is used in its place now", chains.address(next));
            report.notes.push(grove_spec::text::one_line(&note));
        }
        Ok(report)
    }

    /// What is to be known about a chain after its file was written.
    fn report_chain(
        &mut self,
        name: &str,
        scope: LayerScope,
        file: &Path,
        changed: bool,
    ) -> Changed {
        self.look = self.library.look();
        let all = self.chains();
        let mut found = all.chains.iter();
        let chain = found.find(|chain| all.location(chain) == file);
        Changed {
            name: name.to_owned(),
            scope,
            file: file.to_path_buf(),
            previous: None,
            changed,
            state: chain.map(|chain| chain.state),
            reasons: chain.map_or_else(Vec::new, |chain| chain.reasons.clone()),
            notes: self.chain_files().stands_in_for(file),
            warnings: chain.map_or_else(Vec::new, |chain| chain.diagnostics.clone()),
        }
    }
}

fn field(field: &str, message: impl Into<String>) -> ManageError {
    ManageError::Field {
        field: field.to_owned(),
        message: message.into(),
    }
}
