//! The table of an agent's fields: the way each is named, read, written, overridden, exported, shown and documented.
//!
//! A new field needs one row here and its use. The [`AgentFile`] itself, the flags of `grove agents edit`, the keys under
//! `agents.overrides` and the reference page come from the table.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

use super::field_kinds::{
    AgentName, EngineField, FieldKind, List, ListOrDefault, Mode, Names, NumberField, OneOf,
    OutputField, PackageName, RequiredText, StructuredField, Switch, SwitchOrDefault, TextField,
    WholeText,
};
use super::{ContextMode, OutputFile, OutputMode, PromptMode, SkillInjection};
use crate::acceptance::Acceptance;
use crate::budgets::{ToolBudget, TurnBudget};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::engine::EngineName;
use crate::field_reader::FieldReader;
use crate::json;
use crate::yaml::YamlEntry;

/// The treatment of a field in a file for another host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldExport {
    /// It has a counterpart at some hosts, or is handled in its own way.
    Translated,
    /// It sets how Grove runs the agent; any other program runs it in its own way.
    OfGrove,
    /// The export reports it as missing where the host has no counterpart.
    Missed,
}

/// The places where a field may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettableIn {
    /// In an agent's file alone.
    File,
    /// In an agent's file, or in settings and configuration instead.
    FileAndSettings,
    /// In settings and configuration alone.
    Settings,
}

/// One row of the table of fields.
pub struct FieldRow {
    /// The key in frontmatter and in pi's settings.
    pub key: &'static str,
    /// Another key for the field, which takes precedence over the first one unless its value is empty.
    pub other_key: Option<&'static str>,
    /// The description of the field, for the command line and the reference pages.
    pub about: &'static str,
    /// The values that it takes in a file, in words.
    pub takes: &'static str,
    /// The values that it takes in settings, in words.
    pub override_takes: &'static str,
    /// The value of an agent without the field, in words.
    pub default: &'static str,
    /// A note on the value on the command line, to follow `about`.
    pub flag_note: &'static str,
    /// True if its value is several items.
    pub is_list: bool,
    /// True if `false` on the command line removes the field.
    pub is_cleared_by_false: bool,
    /// True if it restricts the agent. A value that cannot be read is an error then.
    pub restricts: bool,
    /// The value that counts if a restricting one cannot be read, in words.
    pub strictest: &'static str,
    /// The places where it may be set.
    pub set_in: SettableIn,
    /// Its treatment in a file for another host.
    pub exported: FieldExport,
    read: fn(&mut AgentFile, &YamlEntry, &mut FieldReader<'_>),
    written: fn(&AgentFile) -> Option<Json>,
    shown: fn(&AgentFile) -> Option<Json>,
    normalised: fn(&Json) -> Option<Json>,
    strictest_setting: fn() -> Json,
    apply: fn(&mut AgentFile, &Json),
}

macro_rules! agent_fields {
    (
        file { $($field:ident: $type:ty = $key:literal $(| $other:literal)?, $kind:ty, $set_in:ident, $exported:ident, $restricts:literal, $about:literal;)* }
        settings { $($setting:literal, $setting_kind:ty, $setting_about:literal;)* }
    ) => {
        /// The contents of an agent file; each field is the frontmatter key of the same name.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct AgentFile {
            $(#[doc = $about] pub $field: $type,)*
            /// Set if the agent is switched off in its own file.
            pub is_disabled: bool,
            /// Keys that Grove does not know, as written.
            pub unknown: Vec<YamlEntry>,
        }

        static ROWS: &[FieldRow] = &[
            $(FieldRow {
                set_in: SettableIn::$set_in,
                exported: FieldExport::$exported,
                restricts: $restricts,
                other_key: agent_fields!(@other $($other)?),
                read: |agent, entry, reader| {
                    agent.$field = read_field::<$kind>(entry, $restricts, reader);
                },
                written: |agent| <$kind>::written(&agent.$field),
                shown: |agent| <$kind>::shown(&agent.$field),
                apply: |agent, value| {
                    if let Some(value) = <$kind>::overriding(value) {
                        agent.$field = value;
                    }
                },
                ..FieldRow::of_kind::<$kind>($key, $about)
            },)*
            $(FieldRow::of_kind::<$setting_kind>($setting, $setting_about),)*
        ];
    };
    (@other) => { None };
    (@other $other:literal) => { Some($other) };
}

// The rows are in the order in which files are written.
agent_fields! {
    file {
        name: Option<String> = "name", AgentName, File, Translated, false, "Its name; by default the file's. A line end, a control character, a slash, or a dot or hyphen at the start is refused";
        package: Option<String> = "package", PackageName, File, Translated, false, "Its package, in lower case with blanks as hyphens; the agent is called `package.name`";
        description: Option<String> = "description", RequiredText, File, Translated, false, "What it does and when to use it";
        tools: Option<Vec<String>> = "tools", ListOrDefault<false>, FileAndSettings, Translated, true, "The tools it may use";
        model: Option<String> = "model", TextField, FileAndSettings, Translated, false, "Its model";
        fallback_models: Vec<String> = "fallbackModels", List, FileAndSettings, Missed, false, "Models to try in order when that one fails";
        fallback_after_writes: bool = "fallbackAfterWrites", Switch, File, OfGrove, false, "Whether another model may continue after a tool has changed something";
        thinking: Option<String> = "thinking", TextField, FileAndSettings, Translated, false, "How much the model thinks";
        engine: Option<EngineName> = "engine", EngineField, File, OfGrove, false, "The engine that drives it";
        system_prompt_mode: PromptMode = "systemPromptMode", Mode<PromptMode>, FileAndSettings, Missed, false, "What happens to the caller's prompt: left out, or put before its own";
        inherit_project_context: bool = "inheritProjectContext", Switch, FileAndSettings, OfGrove, true, "Whether the project's instructions are in its prompt";
        inherit_skills: bool = "inheritSkills", Switch, FileAndSettings, OfGrove, true, "Whether the catalog of all skills is in its prompt";
        skills: Vec<String> = "skills" | "skill", Names, FileAndSettings, Translated, false, "The skills in its prompt";
        skill_injection: SkillInjection = "skillInjection", Mode<SkillInjection>, FileAndSettings, Translated, false, "Whether their text or a list of them is in its prompt";
        skill_path: Vec<String> = "skillPath", List, File, Translated, false, "Further folders with its skills";
        extensions: Option<Vec<String>> = "extensions", ListOrDefault<true>, File, Missed, true, "Its extensions";
        default_context: Option<ContextMode> = "defaultContext", OneOf<ContextMode>, FileAndSettings, OfGrove, false, "How much it knows of the conversation that calls it";
        output: Option<OutputFile> = "output", OutputField, File, OfGrove, false, "The file for its answer";
        output_mode: Option<OutputMode> = "outputMode", OneOf<OutputMode>, File, OfGrove, false, "What its caller receives when the answer is written to a file";
        default_reads: Vec<String> = "defaultReads", List, File, OfGrove, false, "Files it reads first";
        default_progress: bool = "defaultProgress", Switch, File, OfGrove, false, "Whether it keeps a progress file";
        interactive: bool = "interactive", Switch, File, OfGrove, false, "Whether it may ask questions";
        max_subagent_depth: Option<u64> = "maxSubagentDepth", NumberField<0>, File, OfGrove, true, "How many levels of other agents it may call";
        completion_guard: Option<bool> = "completionGuard", SwitchOrDefault, FileAndSettings, OfGrove, false, "Kept as pi-subagents has it; it has no effect on a run";
        max_execution_time_ms: Option<u64> = "maxExecutionTimeMs", NumberField<1>, FileAndSettings, OfGrove, true, "The most milliseconds it may run";
        timeout_ms: Option<u64> = "timeoutMs", NumberField<1>, File, OfGrove, true, "The most milliseconds a whole request to it may take";
        tool_timeout_ms: Option<u64> = "toolTimeoutMs", NumberField<1>, File, OfGrove, true, "The most milliseconds one tool call may take";
        max_tokens: Option<u64> = "maxTokens", NumberField<1>, FileAndSettings, OfGrove, true, "The most tokens it may use";
        turn_budget: Option<TurnBudget> = "turnBudget", StructuredField<TurnBudget>, File, OfGrove, true, "The most turns it may take";
        tool_budget: Option<ToolBudget> = "toolBudget", StructuredField<ToolBudget>, File, OfGrove, true, "The most tool calls it may make";
        acceptance: Option<Acceptance> = "acceptance", StructuredField<Acceptance>, File, OfGrove, true, "When its work is accepted";
        acceptance_role: Option<String> = "acceptanceRole", TextField, File, OfGrove, false, "Its role in accepting work";
        background: Option<bool> = "async", SwitchOrDefault, File, OfGrove, false, "Whether it runs in the background";
        aliases: Vec<String> = "aliases", List, File, OfGrove, false, "Other names for it";
    }
    settings {
        "systemPrompt", WholeText, "Text that replaces the text in its file";
        "disabled", Switch, "Switches it off. Under a name that your own file shares with an agent from Grove, a package or an extra folder, the latter alone; a file of your own is named `id@root`";
    }
}

impl FieldRow {
    /// The row of a field that only settings have.
    const fn of_kind<K: FieldKind>(key: &'static str, about: &'static str) -> Self {
        Self {
            key,
            other_key: None,
            about,
            takes: K::TAKES,
            override_takes: K::OVERRIDE_TAKES,
            default: K::DEFAULT,
            flag_note: K::FLAG_NOTE,
            is_list: K::IS_LIST,
            is_cleared_by_false: K::CLEARED_BY_FALSE,
            restricts: false,
            strictest: K::STRICTEST,
            set_in: SettableIn::Settings,
            exported: FieldExport::Translated,
            read: |_, _, _| {},
            written: |_| None,
            shown: |_| None,
            normalised: |value| K::overriding(value).map(|value| K::setting(&value)),
            strictest_setting: || K::setting(&K::strictest()),
            apply: |_, _| {},
        }
    }

    /// Returns the row of a key of an agent file, by either of its keys.
    pub fn of_file(key: &str) -> Option<&'static Self> {
        Self::in_files().find(|row| row.key == key || row.other_key == Some(key))
    }

    /// Returns the rows of the fields that an agent file may have, in the order in which they are written.
    pub fn in_files() -> impl Iterator<Item = &'static Self> {
        ROWS.iter().filter(|row| row.set_in != SettableIn::Settings)
    }

    /// Returns the flag of the command line that sets the field.
    pub fn flag(&self) -> String {
        in_words(self.key, '-')
    }

    /// Returns the value of an agent as a file has it; nothing if an agent without the field has the same.
    pub fn written(&self, agent: &AgentFile) -> Option<Json> {
        (self.written)(agent)
    }
}

/// A field that can be overridden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentField(usize);

impl AgentField {
    /// The key for the agent's own text.
    pub const SYSTEM_PROMPT: &'static str = "systemPrompt";
    /// The key that switches the agent off.
    pub const DISABLED: &'static str = "disabled";

    /// Returns all fields in the order of the reference page.
    pub fn all() -> impl Iterator<Item = Self> {
        let rows = ROWS.iter().enumerate();
        rows.filter(|(_, row)| row.set_in != SettableIn::File)
            .map(|(at, _)| Self(at))
    }

    /// Returns the row of the field in the table.
    pub fn row(self) -> &'static FieldRow {
        static NONE: FieldRow = FieldRow::of_kind::<TextField>("", "");
        debug_assert!(self.0 < ROWS.len(), "fields are made from the table");
        ROWS.get(self.0).unwrap_or(&NONE)
    }

    /// Returns the key in frontmatter and in pi's settings.
    pub fn as_str(self) -> &'static str {
        self.row().key
    }

    /// Returns the key in Grove's configuration.
    pub fn config_key(self) -> String {
        in_words(self.as_str(), '_')
    }

    /// Returns the values that an override takes, in words.
    pub fn override_takes(self) -> &'static str {
        self.row().override_takes
    }

    /// The value in force for an override, as settings have it; nothing if it is of the wrong kind.
    pub(super) fn normalised(self, value: &Json) -> Option<Json> {
        (self.row().normalised)(value)
    }

    /// The value for an override that cannot be read, if ignoring the override could give the agent more.
    pub(super) fn strictest_setting(self) -> Option<Json> {
        let row = self.row();
        match row.key {
            Self::DISABLED => Some(Json::Bool(true)),
            _ => row.restricts.then(row.strictest_setting),
        }
    }

    /// Sets the field of an agent; its text and its switch `disabled` are not set here, since no file has them.
    pub(super) fn apply(self, agent: &mut AgentFile, value: &Json) {
        (self.row().apply)(agent, value);
    }
}

fn read_field<K: FieldKind>(
    entry: &YamlEntry,
    restricts: bool,
    reader: &mut FieldReader<'_>,
) -> K::Value {
    if !restricts {
        return K::read(entry, reader);
    }
    let read = reader.restricting(Code::AgentContract, K::STRICTEST, |reader| {
        K::read(entry, reader)
    });
    read.unwrap_or_else(K::strictest)
}

/// A key as words: `maxTokens` with `-` is `max-tokens`.
fn in_words(key: &str, separator: char) -> String {
    let mut words = String::new();
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            words.push(separator);
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

pub(crate) fn read(
    entries: Vec<YamlEntry>,
    start: Position,
    diagnostics: &mut Vec<Diagnostic>,
) -> AgentFile {
    let mut agent = AgentFile::default();
    let mut under_other_keys = Vec::new();
    let mut reader = FieldReader::new(diagnostics);
    for entry in entries {
        match FieldRow::of_file(&entry.key) {
            Some(row) if row.key == entry.key => (row.read)(&mut agent, &entry, &mut reader),
            Some(row) => under_other_keys.push((row, entry)),
            None => agent.unknown.push(entry),
        }
    }
    for (row, entry) in under_other_keys {
        let before = (row.written)(&agent);
        let mut other = AgentFile::default();
        (row.read)(&mut other, &entry, &mut reader);
        let after = (row.written)(&other);
        if after.is_none() {
            continue;
        }
        if before.is_some() && before != after {
            let message = format!(
                "`{0}` and `{1}` name different {1}; `{0}` is used",
                entry.key, row.key
            );
            let finding = Diagnostic::new(Code::FieldType, message).at(entry.position);
            reader.diagnostics.push(finding);
        }
        let mut said_already = Vec::new();
        let mut reader = FieldReader::new(&mut said_already);
        (row.read)(&mut agent, &entry, &mut reader);
    }
    if agent.description.is_none() && !diagnostics.iter().any(Diagnostic::is_error) {
        let finding = Diagnostic::new(Code::DescriptionMissing, "no description");
        diagnostics.push(finding.at(start));
    }
    agent
}

impl AgentFile {
    /// Returns every field that has a value, as it is shown; keys that Grove does not know are under `unknown`.
    pub fn shown(&self) -> Map<String, Json> {
        let shown = FieldRow::in_files();
        let mut shown: Map<String, Json> = shown
            .filter_map(|row| Some((row.key.to_owned(), (row.shown)(self)?)))
            .collect();
        if !self.unknown.is_empty() {
            let unknown = self.unknown.iter();
            let unknown: Map<String, Json> = unknown
                .map(|entry| (entry.key.to_string(), json::words_of(&entry.value)))
                .collect();
            shown.insert("unknown".to_owned(), unknown.into());
        }
        shown
    }
}

impl Serialize for AgentFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.shown() {
            map.serialize_entry(&key, &value)?;
        }
        map.end()
    }
}
