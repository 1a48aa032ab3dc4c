//! Overrides: fields of agents set from outside their files, in pi's settings or in Grove's configuration.
//!
//! Both files give the same tree, so one reader serves both. Each field is taken by itself: a value of the wrong kind
//! is a finding that names the agent and the field, and every other field still counts. `false` means that the agent is
//! as if its file did not have the field.

use std::path::{Path, PathBuf};

use super::AgentFile;
pub use super::fields::AgentField;
use super::fields::FieldRow;
use super::known_keys::misspelt;
use super::model_scope::ModelScope;
use crate::config::{LayerScope, Origin};
use crate::diagnostic::Position;
use crate::json;
use crate::yaml::{YamlEntry, YamlNode, YamlValue};

/// The new value of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    field: AgentField,
    value: serde_json::Value,
}

impl FieldChange {
    /// Reads a value; nothing if it is of the wrong kind.
    pub fn read(field: AgentField, value: &serde_json::Value) -> Option<Self> {
        let value = field.normalised(value)?;
        Some(Self { field, value })
    }

    /// Returns the field that changes.
    pub const fn field(&self) -> AgentField {
        self.field
    }

    /// Returns the value as settings have it; `false` for a cleared field.
    pub const fn value(&self) -> &serde_json::Value {
        &self.value
    }

    /// Makes the change to an agent's fields. The agent's text and its switch `disabled` are not among them.
    pub fn apply(&self, agent: &mut AgentFile) {
        self.field.apply(agent, &self.value);
    }
}

/// One field of one agent, with the place that sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldOverride {
    /// The new value of the field.
    pub change: FieldChange,
    /// The place in the file.
    pub origin: Origin,
}

/// All overrides of one agent in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOverride {
    /// The agent's name, or its `id@root`.
    pub agent: String,
    /// The place in the file.
    pub origin: Origin,
    /// The fields that it sets.
    pub fields: Vec<FieldOverride>,
}

/// All overrides of agents in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overrides {
    /// The scope of the file: whose settings it holds.
    pub scope: LayerScope,
    /// The path of the file.
    pub file: PathBuf,
    /// The overrides of each agent, in the order of the file.
    pub agents: Vec<AgentOverride>,
    /// The switch that turns off the agents that come with Grove, and its place.
    pub disable_builtins: Option<(bool, Origin)>,
    /// The model and thinking of agents that do not set them themselves.
    pub default_model: DefaultModel,
    /// The models that agents may use.
    pub model_scope: Option<ModelScope>,
}

/// The model and the level of thinking of agents that do not set them themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefaultModel {
    /// The name of the model.
    pub model: Option<String>,
    /// The level of thinking.
    pub thinking: Option<String>,
}

impl Overrides {
    /// Overrides that set nothing.
    pub fn none(scope: LayerScope, file: &Path) -> Self {
        Self {
            scope,
            file: file.to_path_buf(),
            agents: Vec::new(),
            disable_builtins: None,
            default_model: DefaultModel::default(),
            model_scope: None,
        }
    }

    /// Returns true if the file overrides nothing.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
            && self.disable_builtins.is_none()
            && self.default_model == DefaultModel::default()
            && self.model_scope.is_none()
    }
}

/// The spelling of fields in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldSpelling {
    /// As in frontmatter and in pi's settings: `fallbackModels`.
    Settings,
    /// As in Grove's configuration: `fallback_models`.
    Config,
}

impl FieldSpelling {
    fn field(self, word: &str) -> Option<AgentField> {
        AgentField::all().find(|field| match self {
            Self::Settings => field.as_str() == word,
            Self::Config => field.config_key() == word,
        })
    }
}

/// The fault of one field of an override.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideFault {
    /// No field has this name.
    Unknown,
    /// The value is not of the kind that this field takes.
    Kind(AgentField),
}

impl OverrideFault {
    /// Returns true if a key that settings cannot have is, or is nearly written as, a key that restricts an agent.
    pub fn loses_restriction(key: &str) -> bool {
        let row = FieldRow::of_file(misspelt(key).unwrap_or(key));
        row.is_some_and(|row| row.restricts)
    }

    /// Returns in words how a value of the wrong kind is treated.
    pub fn outcome(field: AgentField) -> &'static str {
        match field.strictest_setting() {
            Some(_) => "the strictest reading is used",
            None => "it was not used",
        }
    }
}

/// Reads the fields of one agent's override; `wrong` gets each faulty entry.
pub fn read_fields(
    entries: &[YamlEntry],
    spelling: FieldSpelling,
    file: &Path,
    mut wrong: impl FnMut(&YamlEntry, OverrideFault),
) -> Vec<FieldOverride> {
    let mut fields = Vec::new();
    for entry in entries {
        let Some(field) = spelling.field(&entry.key) else {
            wrong(entry, OverrideFault::Unknown);
            continue;
        };
        let change = FieldChange::read(field, &json::value_of(&entry.value));
        if change.is_none() {
            wrong(entry, OverrideFault::Kind(field));
        }
        // A restriction must not be lost because its value cannot be read.
        let strictest = || {
            let value = field.strictest_setting()?;
            Some(FieldChange { field, value })
        };
        if let Some(change) = change.or_else(strictest) {
            fields.push(FieldOverride {
                change,
                origin: origin(file, entry.position),
            });
        }
    }
    fields
}

pub(super) fn origin(file: &Path, position: Position) -> Origin {
    Origin {
        file: file.to_path_buf(),
        line: position.line,
    }
}

pub(super) fn switch(node: &YamlNode) -> Option<bool> {
    match &node.value {
        YamlValue::Text(scalar) if scalar.plain => scalar.text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_one_name_in_each_file() {
        let in_config = |field: &AgentField| field.config_key() == "max_execution_time_ms";
        assert_eq!(AgentField::all().filter(in_config).count(), 1);
        for field in AgentField::all() {
            assert_eq!(FieldSpelling::Settings.field(field.as_str()), Some(field));
            assert_eq!(
                FieldSpelling::Config.field(&field.config_key()),
                Some(field)
            );
        }
    }
}
