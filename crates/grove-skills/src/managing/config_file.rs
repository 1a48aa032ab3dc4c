//! One value of a configuration file, set or removed.

use std::path::{Path, PathBuf};

use grove_fs::files;
use grove_spec::agent::overrides::AgentField;
use grove_spec::config::LayerScope;
use grove_spec::config::edit::{self, ConfigRefusal};
use serde_json::Value;

use super::own_files::utf8;
use super::within::WritePlace;
use super::{ManageError, Manager};
use crate::settings::{MAX_CONFIG_BYTES, PROJECT_FILE, user_file};

const TABLE: [&str; 2] = ["agents", "overrides"];

pub(super) struct ConfigFile {
    /// The file that a reader reads.
    pub(super) path: PathBuf,
    /// The place that is written: a link stays, and what it leads to is replaced.
    place: WritePlace,
    before: Option<String>,
    pub(super) text: String,
}

impl Manager {
    pub(super) fn config(&mut self, scope: LayerScope) -> Result<ConfigFile, ManageError> {
        self.opens_settings = true;
        let place = match scope {
            LayerScope::User => {
                let file = user_file(&self.discovery.world.environment);
                WritePlace::of_user(&self.recording, file)
            }
            LayerScope::Project => {
                let root = self.discovery.world.project.settings_folder();
                let root = root.ok_or_else(ManageError::no_project)?;
                WritePlace::within(&self.recording, root, Path::new(PROJECT_FILE))?
            }
        };
        let path = place.path().to_path_buf();
        let before = match files::read_bounded(&place.real(), MAX_CONFIG_BYTES) {
            Ok(bytes) => Some(utf8(bytes, &path)?),
            Err(error) if error.is_not_found() && !files::is_there(&path) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(ConfigFile {
            path,
            place,
            text: before.clone().unwrap_or_default(),
            before,
        })
    }
}

impl ConfigFile {
    pub(super) fn set(
        &mut self,
        agent: &str,
        field: AgentField,
        value: &Value,
    ) -> Result<(), ManageError> {
        let path = [TABLE[0], TABLE[1], agent, &field.config_key()];
        self.take(edit::set(&self.text, &path, value))
    }

    pub(super) fn remove(&mut self, agent: &str, field: AgentField) -> Result<(), ManageError> {
        let path = [TABLE[0], TABLE[1], agent, &field.config_key()];
        self.take(edit::remove(&self.text, &path))
    }

    pub(super) fn remove_all(&mut self, agent: &str) -> Result<(), ManageError> {
        self.take(edit::remove(&self.text, &[TABLE[0], TABLE[1], agent]))
    }

    pub(super) fn set_value(&mut self, path: &[&str], value: &Value) -> Result<(), ManageError> {
        self.take(edit::set(&self.text, path, value))
    }

    pub(super) fn remove_value(&mut self, path: &[&str]) -> Result<(), ManageError> {
        self.take(edit::remove(&self.text, path))
    }

    fn take(&mut self, text: Result<String, ConfigRefusal>) -> Result<(), ManageError> {
        self.text = text.map_err(|refusal| {
            let why = match refusal {
                ConfigRefusal::NotToml { why, line } => match line {
                    Some(line) => format!("line {line} is not TOML: {why}"),
                    None => format!("it is not TOML: {why}"),
                },
                ConfigRefusal::Form => {
                    "it is written in a way that does not allow changing this alone".to_owned()
                }
            };
            ManageError::unreadable(&self.path, &why)
        })?;
        Ok(())
    }

    /// The content of the file; none when there is no file.
    pub(super) fn saved(&self) -> Option<String> {
        self.before.clone()
    }

    /// Makes the file what it was before, since a change did not do what it was made for.
    pub(super) fn restore(mut self, saved: Option<String>) -> Result<(), ManageError> {
        match (saved, &self.before) {
            (Some(text), _) => {
                self.text = text;
                self.write()?;
            }
            (None, Some(written)) => {
                self.place.remove_same(written.as_bytes())?;
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// Writes the text if it is another one; says whether it is.
    pub(super) fn write(&mut self) -> Result<bool, ManageError> {
        let new = self.text.as_bytes();
        match &self.before {
            Some(before) if *before == self.text => return Ok(false),
            None if self.text.is_empty() => return Ok(false),
            Some(before) => self.place.replace(before.as_bytes(), new)?,
            None => self.place.create(new, None)?,
        }
        self.before = Some(self.text.clone());
        Ok(true)
    }
}
