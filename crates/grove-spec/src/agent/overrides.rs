//! Overrides: fields of agents set from outside their files, in pi's settings or in Grove's configuration.
//!
//! Both files give the same tree, so one reader serves both. Each field is taken by itself: a value of the
//! wrong kind is a finding that names the agent and the field, and every other field still counts. `false`
//! means that the agent is as if its file did not have the field.

use std::path::{Path, PathBuf};

use super::Agent;
pub use super::fields::Field;
use super::fields::FieldRow;
use super::known_keys::misspelt;
use super::model_scope::ModelScope;
use crate::config::{LayerScope, Origin};
use crate::diagnostic::Position;
use crate::json;
use crate::yaml::{Entry, Node, Value};

/// What an override makes of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    field: Field,
    value: serde_json::Value,
}

impl Change {
    /// Reads a value; nothing when it is of the wrong kind.
    pub fn read(field: Field, value: &serde_json::Value) -> Option<Self> {
        let value = field.normalised(value)?;
        Some(Self { field, value })
    }

    /// The field.
    pub const fn field(&self) -> Field {
        self.field
    }

    /// The value as settings have it; `false` for what is cleared.
    pub const fn value(&self) -> &serde_json::Value {
        &self.value
    }

    /// Makes the change to an agent's fields. Its text and whether it is switched off are not among them.
    pub fn apply(&self, agent: &mut Agent) {
        self.field.apply(agent, &self.value);
    }
}

/// One field of one agent, and who sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    /// What becomes of the field.
    pub change: Change,
    /// Where it is written.
    pub origin: Origin,
}

/// Everything that one file says about one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOverride {
    /// The agent's name, or its `id@root`.
    pub agent: String,
    /// Where it is written.
    pub origin: Origin,
    /// Its fields.
    pub fields: Vec<Set>,
}

/// What one file says about agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overrides {
    /// Whose file it is.
    pub scope: LayerScope,
    /// The file.
    pub file: PathBuf,
    /// Agent by agent, in the order of the file.
    pub agents: Vec<AgentOverride>,
    /// Whether the agents that come with Grove are switched off, and who says so.
    pub disable_builtins: Option<(bool, Origin)>,
    /// What agents have that say nothing of it themselves.
    pub usual: UsualModel,
    /// The models that agents may have.
    pub model_scope: Option<ModelScope>,
}

/// The model and the thinking of agents that say nothing of it themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsualModel {
    /// The model's name.
    pub model: Option<String>,
    /// How much it thinks.
    pub thinking: Option<String>,
}

impl Overrides {
    /// Nothing.
    pub fn none(scope: LayerScope, file: &Path) -> Self {
        Self {
            scope,
            file: file.to_path_buf(),
            agents: Vec::new(),
            disable_builtins: None,
            usual: UsualModel::default(),
            model_scope: None,
        }
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
            && self.disable_builtins.is_none()
            && self.usual == UsualModel::default()
            && self.model_scope.is_none()
    }
}

/// How fields are spelled in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// As in frontmatter and in pi's settings: `fallbackModels`.
    Settings,
    /// As in Grove's configuration: `fallback_models`.
    Config,
}

impl Spelling {
    fn field(self, word: &str) -> Option<Field> {
        Field::all().find(|field| match self {
            Self::Settings => field.as_str() == word,
            Self::Config => field.config_key() == word,
        })
    }
}

/// What is wrong with one field of an override.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No field has this name.
    Unknown,
    /// The value is not what this field takes.
    Kind(Field),
}

impl Fault {
    /// Whether a key that settings cannot have is one that restricts an agent, or is nearly written so: that was meant.
    pub fn loses_restriction(key: &str) -> bool {
        let row = FieldRow::of_file(misspelt(key).unwrap_or(key));
        row.is_some_and(|row| row.restricts)
    }

    /// What becomes of a value that is not what a field takes, in words.
    pub fn outcome(field: Field) -> &'static str {
        match field.strictest_setting() {
            Some(_) => "the strictest reading is used",
            None => "it was not used",
        }
    }
}

/// Reads the fields of one agent's override; what is wrong is told with the key's place.
pub fn read_fields(
    entries: &[Entry],
    spelling: Spelling,
    file: &Path,
    mut wrong: impl FnMut(&Entry, Fault),
) -> Vec<Set> {
    let mut fields = Vec::new();
    for entry in entries {
        let Some(field) = spelling.field(&entry.key) else {
            wrong(entry, Fault::Unknown);
            continue;
        };
        let change = Change::read(field, &json::value_of(&entry.value));
        if change.is_none() {
            wrong(entry, Fault::Kind(field));
        }
        // What was to keep the agent from something must not be lost with its value.
        let strictest = || {
            let value = field.strictest_setting()?;
            Some(Change { field, value })
        };
        if let Some(change) = change.or_else(strictest) {
            fields.push(Set {
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

pub(super) fn switch(node: &Node) -> Option<bool> {
    match &node.value {
        Value::Text(scalar) if scalar.plain => scalar.text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_one_name_in_each_file() {
        let in_config = |field: &Field| field.config_key() == "max_execution_time_ms";
        assert_eq!(Field::all().filter(in_config).count(), 1);
        for field in Field::all() {
            assert_eq!(Spelling::Settings.field(field.as_str()), Some(field));
            assert_eq!(Spelling::Config.field(&field.config_key()), Some(field));
        }
    }
}
