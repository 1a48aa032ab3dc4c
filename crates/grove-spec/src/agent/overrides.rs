//! Overrides: fields of agents set from outside their files, in pi's settings or in Grove's configuration.
//!
//! Both files give the same tree, so one reader serves both. Each field is taken by itself: a value of the
//! wrong kind is a finding that names the agent and the field, and every other field still counts. `false`
//! means that the agent is as if its file did not have the field.

use std::path::{Path, PathBuf};

pub use super::override_fields::Field;
use super::{Agent, ContextMode, PromptMode, SkillInjection};
use crate::config::{LayerScope, Origin};
use crate::diagnostic::Position;
use crate::json::text_of;
use crate::text::one_line;
use crate::yaml::{Entry, Node, Value};

/// What an override makes of one field; nothing means that it is cleared.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the field of the same name")]
pub enum Change {
    Model(Option<String>),
    FallbackModels(Vec<String>),
    Thinking(Option<String>),
    SystemPrompt(String),
    SystemPromptMode(PromptMode),
    InheritProjectContext(bool),
    InheritSkills(bool),
    DefaultContext(Option<ContextMode>),
    Disabled(bool),
    Skills(Vec<String>),
    SkillInjection(SkillInjection),
    Tools(Option<Vec<String>>),
    CompletionGuard(bool),
    MaxExecutionTimeMs(Option<u64>),
    MaxTokens(Option<u64>),
}

impl Change {
    /// The field.
    pub const fn field(&self) -> Field {
        match self {
            Self::Model(_) => Field::Model,
            Self::FallbackModels(_) => Field::FallbackModels,
            Self::Thinking(_) => Field::Thinking,
            Self::SystemPrompt(_) => Field::SystemPrompt,
            Self::SystemPromptMode(_) => Field::SystemPromptMode,
            Self::InheritProjectContext(_) => Field::InheritProjectContext,
            Self::InheritSkills(_) => Field::InheritSkills,
            Self::DefaultContext(_) => Field::DefaultContext,
            Self::Disabled(_) => Field::Disabled,
            Self::Skills(_) => Field::Skills,
            Self::SkillInjection(_) => Field::SkillInjection,
            Self::Tools(_) => Field::Tools,
            Self::CompletionGuard(_) => Field::CompletionGuard,
            Self::MaxExecutionTimeMs(_) => Field::MaxExecutionTimeMs,
            Self::MaxTokens(_) => Field::MaxTokens,
        }
    }

    /// Makes the change to an agent's fields. Its text and whether it is switched off are not among them.
    pub fn apply(&self, agent: &mut Agent) {
        match self {
            Self::Model(model) => agent.model.clone_from(model),
            Self::FallbackModels(models) => agent.fallback_models.clone_from(models),
            Self::Thinking(level) => agent.thinking.clone_from(level),
            Self::SystemPromptMode(mode) => agent.system_prompt_mode = *mode,
            Self::InheritProjectContext(flag) => agent.inherit_project_context = *flag,
            Self::InheritSkills(flag) => agent.inherit_skills = *flag,
            Self::DefaultContext(mode) => agent.default_context = *mode,
            Self::Skills(names) => agent.skills.clone_from(names),
            Self::SkillInjection(mode) => agent.skill_injection = *mode,
            Self::Tools(tools) => agent.tools.clone_from(tools),
            Self::CompletionGuard(flag) => agent.completion_guard = Some(*flag),
            Self::MaxExecutionTimeMs(number) => agent.max_execution_time_ms = *number,
            Self::MaxTokens(number) => agent.max_tokens = *number,
            Self::SystemPrompt(_) | Self::Disabled(_) => {}
        }
    }

    /// The value as settings have it; `false` for what is cleared.
    pub fn value(&self) -> serde_json::Value {
        use serde_json::{Value, json};
        let or_false = |value: Option<Value>| value.unwrap_or(Value::Bool(false));
        match self {
            Self::Model(text) | Self::Thinking(text) => or_false(text.as_ref().map(|t| json!(t))),
            Self::SystemPrompt(text) => json!(text),
            Self::FallbackModels(list) | Self::Skills(list) => json!(list),
            Self::Tools(list) => or_false(list.as_ref().map(|list| json!(list))),
            Self::SystemPromptMode(mode) => json!(mode),
            Self::SkillInjection(mode) => json!(mode),
            Self::DefaultContext(mode) => or_false(mode.map(|mode| json!(mode))),
            Self::InheritProjectContext(flag)
            | Self::InheritSkills(flag)
            | Self::Disabled(flag)
            | Self::CompletionGuard(flag) => json!(flag),
            Self::MaxExecutionTimeMs(number) | Self::MaxTokens(number) => {
                or_false(number.map(|number| json!(number)))
            }
        }
    }

    /// Reads a value; nothing when it is of the wrong kind.
    pub fn read(field: Field, value: &Node) -> Option<Self> {
        Some(match field {
            Field::Model => Self::Model(given(value, text)?.kept().filter(|it| !it.is_empty())),
            Field::Thinking => {
                Self::Thinking(given(value, text)?.kept().filter(|it| !it.is_empty()))
            }
            Field::SystemPrompt => {
                let whole = |node: &Node| text_of(node).map(str::to_owned);
                Self::SystemPrompt(given(value, whole)?.kept().unwrap_or_default())
            }
            Field::FallbackModels => {
                Self::FallbackModels(given(value, list)?.kept().unwrap_or_default())
            }
            Field::Tools => Self::Tools(given(value, list)?.kept()),
            Field::Skills => {
                let mut seen = std::collections::BTreeSet::new();
                let mut names = given(value, list)?.kept().unwrap_or_default();
                names.retain(|name| seen.insert(name.clone()));
                Self::Skills(names)
            }
            Field::SystemPromptMode => {
                let modes = [
                    ("replace", PromptMode::Replace),
                    ("append", PromptMode::Append),
                ];
                let mode = given(value, |node| one_of(node, &modes))?;
                Self::SystemPromptMode(mode.kept().unwrap_or_default())
            }
            Field::SkillInjection => {
                let modes = [
                    ("full", SkillInjection::Full),
                    ("light", SkillInjection::Light),
                ];
                let mode = given(value, |node| one_of(node, &modes))?;
                Self::SkillInjection(mode.kept().unwrap_or_default())
            }
            Field::DefaultContext => {
                let modes = [("fresh", ContextMode::Fresh), ("fork", ContextMode::Fork)];
                let mode = given(value, |node| one_of(node, &modes))?;
                Self::DefaultContext(mode.kept())
            }
            Field::InheritProjectContext => Self::InheritProjectContext(switch(value)?),
            Field::InheritSkills => Self::InheritSkills(switch(value)?),
            Field::Disabled => Self::Disabled(switch(value)?),
            Field::CompletionGuard => Self::CompletionGuard(switch(value)?),
            Field::MaxExecutionTimeMs => Self::MaxExecutionTimeMs(given(value, number)?.kept()),
            Field::MaxTokens => Self::MaxTokens(given(value, number)?.kept()),
        })
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
}

impl Overrides {
    /// Nothing.
    pub fn none(scope: LayerScope, file: &Path) -> Self {
        Self {
            scope,
            file: file.to_path_buf(),
            agents: Vec::new(),
            disable_builtins: None,
        }
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty() && self.disable_builtins.is_none()
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
        Field::ALL.into_iter().find(|field| match self {
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
        match Change::read(field, &entry.value) {
            Some(change) => fields.push(Set {
                change,
                origin: origin(file, entry.position),
            }),
            None => wrong(entry, Fault::Kind(field)),
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

/// A value, or `false` in its place.
enum Given<T> {
    Cleared,
    Value(T),
}

impl<T> Given<T> {
    fn kept(self) -> Option<T> {
        match self {
            Self::Cleared => None,
            Self::Value(value) => Some(value),
        }
    }
}

/// Reads a value that may be cleared; nothing when it is of the wrong kind.
fn given<T>(node: &Node, read: impl Fn(&Node) -> Option<T>) -> Option<Given<T>> {
    if switch(node) == Some(false) {
        return Some(Given::Cleared);
    }
    read(node).map(Given::Value)
}

/// Text on one line.
fn text(node: &Node) -> Option<String> {
    text_of(node).map(|text| one_line(text).trim().to_owned())
}

fn list(node: &Node) -> Option<Vec<String>> {
    let Value::List(items) = &node.value else {
        return None;
    };
    let texts: Option<Vec<String>> = items.iter().map(text).collect();
    let mut texts = texts?;
    texts.retain(|text| !text.is_empty());
    Some(texts)
}

fn one_of<T: Copy>(node: &Node, words: &[(&str, T)]) -> Option<T> {
    let text = text_of(node)?;
    let known = words.iter().find(|(word, _)| *word == text);
    known.map(|(_, value)| *value)
}

fn number(node: &Node) -> Option<u64> {
    match &node.value {
        Value::Text(scalar) if scalar.plain => {
            let number: Option<u64> = scalar.text.parse().ok();
            number.filter(|number| *number > 0)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_written_is_read_as_it_was() {
        for (field, text) in [
            (Field::Model, "\"m\""),
            (Field::Model, "false"),
            (Field::Tools, "[\"a\",\"b\"]"),
            (Field::Tools, "false"),
            (Field::SystemPrompt, "\"a\\nb\""),
            (Field::SystemPromptMode, "\"append\""),
            (Field::SkillInjection, "\"light\""),
            (Field::DefaultContext, "\"fork\""),
            (Field::DefaultContext, "false"),
            (Field::Disabled, "true"),
            (Field::MaxTokens, "7"),
            (Field::MaxExecutionTimeMs, "false"),
        ] {
            let change = Change::read(field, &crate::json::parse(text).unwrap().node).unwrap();
            assert_eq!(change.value().to_string(), text);
        }
    }

    #[test]
    fn every_field_has_one_name_in_each_file() {
        assert_eq!(
            Field::MaxExecutionTimeMs.config_key(),
            "max_execution_time_ms"
        );
        for field in Field::ALL {
            assert_eq!(Spelling::Settings.field(field.as_str()), Some(field));
            assert_eq!(Spelling::Config.field(&field.config_key()), Some(field));
        }
    }
}
