//! `config.toml`: one layer for each file, and the settings that several layers make.
//!
//! A wrong value is a finding with file, line and key, and switches off that key alone. A project's
//! file may only narrow: it cannot set environment, folders, or permissions.

pub mod edit;
mod keys;
mod kinds;
mod layer;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use keys::{ConfigKey, ConfigLayer, ConfiguredLimits, Setting, Settings, keys};
pub use kinds::{CatalogOrder, HookSetting};
pub use layer::parse;

/// The owner of the file that a layer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerScope {
    /// The user's own configuration.
    User,
    /// The configuration of a project, which counts only once the project is trusted.
    Project,
}

/// The place where a value was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The path of the file.
    pub file: PathBuf,
    /// The number of the line in it.
    pub line: u32,
}

/// A value with its origin; none means the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value in force.
    pub value: T,
    /// The place that set it.
    pub origin: Option<Origin>,
}

impl Sourced<u64> {
    /// Returns the value as a number of things in memory.
    pub fn count(&self) -> usize {
        usize::try_from(self.value).unwrap_or(usize::MAX)
    }
}

impl<T> Sourced<T> {
    fn default_value(value: T) -> Self {
        Self {
            value,
            origin: None,
        }
    }
}

/// The configuration of one skill, by its key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillEntry {
    /// The switch for the skill, if it is set.
    pub enabled: Option<Sourced<bool>>,
    /// Environment variables for the child that needs them; values are never shown.
    pub env: BTreeMap<String, String>,
    /// The value for the skill's `primaryEnv`; never shown.
    pub api_key: Option<String>,
    /// Paths that are set and not false; they satisfy `requires.config`.
    pub config: Vec<String>,
    /// Set if a skill of a project may have these values.
    pub project: bool,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProviderEntry {
    /// The API that the provider speaks, by its word.
    pub api: String,
    /// The address of the provider.
    pub base_url: Option<String>,
    /// The place of the key for the provider.
    pub key: Option<KeyPlace>,
    /// The models that it is known to have.
    pub models: Vec<ModelEntry>,
    /// The line of each of its keys.
    #[serde(skip)]
    pub lines: KeyLines,
}

/// The lines of the keys of a table, in the table's file.
pub type KeyLines = BTreeMap<String, u32>;

/// The configuration of a model. Prices are for a million tokens, in millionths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ModelEntry {
    /// The id of the model.
    pub id: String,
    /// The most tokens that it can read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// The price of its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// The price of its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The price of input that is read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// The price of input that is written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
}

/// A server of `mcp:` tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpEntry {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables for this server alone; values are never shown.
    pub env: BTreeMap<String, String>,
    /// The line of each of its keys.
    pub lines: KeyLines,
}

/// The place of a provider's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyPlace {
    /// In an environment variable with this name.
    Env(String),
    /// In a file with this path.
    File(String),
    /// In the output of a program, given with its arguments.
    Command(Vec<String>),
}

impl KeyPlace {
    /// Returns the place without anything that may be secret: of a command, only the program.
    pub fn shown(&self) -> String {
        match self {
            Self::Env(name) => format!("variable {name}"),
            Self::File(path) => format!("file {path}"),
            Self::Command(words) => {
                let program = words.first().map_or("", String::as_str);
                format!("output of {program}")
            }
        }
    }
}

impl Settings {
    /// Applies one more layer to the settings.
    ///
    /// A user's layer replaces values; a project's can only narrow them: lower limits, fewer names, switched off.
    pub fn apply_layer(&mut self, mut layer: ConfigLayer, scope: LayerScope) {
        self.apply_keys(&mut layer, scope);
        let narrow = scope == LayerScope::Project;
        for (key, entry) in layer.entries {
            let slot = self.entries.entry(key).or_default();
            if let Some(enabled) = entry.enabled
                && !(narrow && enabled.value)
            {
                slot.enabled = Some(enabled);
            }
            slot.env.extend(entry.env);
            slot.api_key = entry.api_key.or(slot.api_key.take());
            slot.config.extend(entry.config);
            slot.project |= entry.project;
        }
        // Only a user's file can have any.
        self.providers.extend(layer.providers);
        self.mcp.extend(layer.mcp);
        self.agent_overrides.extend(layer.agents);
    }

    /// Lifts the caps that leave skills out.
    pub fn lift_caps(&mut self) {
        self.limits.candidates_per_root = Sourced::default_value(u64::MAX);
        self.limits.loaded_per_root = Sourced::default_value(u64::MAX);
        self.limits.loaded_per_source = Sourced::default_value(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn apply_layer(user: &str, project: &str) -> Settings {
        let mut settings = Settings::default();
        settings.apply_layer(
            parse(user, LayerScope::User, Path::new("u")).0,
            LayerScope::User,
        );
        settings.apply_layer(
            parse(project, LayerScope::Project, Path::new("p")).0,
            LayerScope::Project,
        );
        settings
    }

    #[test]
    fn a_project_only_narrows() {
        let settings = apply_layer(
            "[limits]\nfile_bytes = 1000\ngroup_depth = 4",
            "[limits]\nfile_bytes = 2000\ngroup_depth = 2",
        );
        assert_eq!(settings.limits.file_bytes.value, 1000);
        assert_eq!(settings.limits.group_depth.value, 2);
        assert_eq!(
            settings.limits.group_depth.origin,
            Some(Origin {
                file: "p".into(),
                line: 3
            })
        );
        let settings = apply_layer("[skills]\nonly = ['a', 'b']", "[skills]\nonly = ['b', 'c']");
        assert_eq!(settings.only.value, Some(vec!["b".to_owned()]));
        let settings = apply_layer(
            "[skills.entries.x]\nenabled = false",
            "[skills.entries.x]\nenabled = true",
        );
        assert_eq!(
            settings.entries["x"].enabled.as_ref().map(|e| e.value),
            Some(false)
        );
        let settings = apply_layer("compat_roots = false", "compat_roots = true");
        assert!(!settings.compat_roots.value);
        let settings = apply_layer("catalog.pinned = ['a']", "catalog.pinned = ['b']");
        assert_eq!(
            settings.pinned.value,
            ["a"],
            "what comes first is the user's"
        );
    }

    #[test]
    fn a_project_may_limit_runs_and_not_choose_who_answers() {
        let settings = apply_layer(
            "[runs]\nmodel = 'a/b'\nmaxTokens = 100\n[providers.a]\napi = 'anthropic'",
            "[runs]\nmodel = 'c/d'\nmaxTokens = 200\ntimeoutMs = 5\nkeepDays = 0\n[providers.a]\napi = 'openai-chat'",
        );
        assert_eq!(settings.run_model.value.as_deref(), Some("a/b"));
        assert_eq!(settings.run_max_tokens.value, Some(100));
        assert_eq!(settings.run_timeout_ms.value, Some(5));
        assert_eq!(settings.run_keep_days.value, 30);
        assert_eq!(settings.providers["a"].value.api, "anthropic");
    }

    #[test]
    fn nothing_set_is_the_default() {
        assert_eq!(apply_layer("", ""), Settings::default());
        assert_eq!(Settings::default().limits.file_bytes.value, 256_000);
    }
}
