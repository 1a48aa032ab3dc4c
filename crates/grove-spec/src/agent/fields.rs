//! Every field of an agent, once: how it is called, read, written, overridden, exported, shown and documented.
//!
//! Adding a field is one row here and its use. The [`Agent`] itself, the flags of `grove agents edit`, the keys under
//! `agents.overrides` and the reference page come from the table.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

use super::field_kinds::{
    AgentName, Contract, EngineKind, FieldKind, List, ListOrUsual, Mode, Names, Number, OneOf,
    Output, PackageName, RequiredText, Switch, SwitchOrUsual, Text, WholeText,
};
use super::{ContextMode, OutputFile, OutputMode, PromptMode, SkillInjection};
use crate::acceptance::Acceptance;
use crate::budgets::{ToolBudget, TurnBudget};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::engine::Engine;
use crate::field_reader::FieldReader;
use crate::json;
use crate::yaml::Entry;

/// What becomes of a field in a file for another host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exported {
    /// It has a counterpart at some hosts, or is dealt with in a way of its own.
    Translated,
    /// It says how Grove runs the agent; whoever else runs it does so in its own way.
    OfGrove,
    /// It is missed where there is no counterpart.
    Missed,
}

/// Where a field may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetIn {
    /// In an agent's file alone.
    File,
    /// In an agent's file, and in settings and configuration instead.
    FileAndSettings,
    /// In settings and configuration alone.
    Settings,
}

/// One row of the table.
pub struct FieldRow {
    /// The frontmatter's and pi's word for it.
    pub key: &'static str,
    /// Another word for it, which goes before the first one unless it names nothing.
    pub other_key: Option<&'static str>,
    /// What it is, for the command line and the reference pages.
    pub about: &'static str,
    /// What it takes in a file, in words.
    pub takes: &'static str,
    /// What it takes in settings, in words.
    pub override_takes: &'static str,
    /// What an agent has without it, in words.
    pub default: &'static str,
    /// What is to be known of a value on the command line, to follow `about`.
    pub flag_note: &'static str,
    /// Whether its value is several items.
    pub is_list: bool,
    /// Whether `false` on the command line means that the field is not there.
    pub is_cleared_by_false: bool,
    /// Whether it keeps the agent from something. A value that cannot be read is an error then.
    pub restricts: bool,
    /// What counts of a restriction that cannot be read, in words.
    pub strictest: &'static str,
    /// Where it may be set.
    pub set_in: SetIn,
    /// What becomes of it in a file for another host.
    pub exported: Exported,
    read: fn(&mut Agent, &Entry, &mut FieldReader<'_>),
    written: fn(&Agent) -> Option<Json>,
    shown: fn(&Agent) -> Option<Json>,
    normalised: fn(&Json) -> Option<Json>,
    strictest_setting: fn() -> Json,
    apply: fn(&mut Agent, &Json),
}

macro_rules! agent_fields {
    (
        file { $($field:ident: $type:ty = $key:literal $(| $other:literal)?, $kind:ty, $set_in:ident, $exported:ident, $restricts:literal, $about:literal;)* }
        settings { $($setting:literal, $setting_kind:ty, $setting_about:literal;)* }
    ) => {
        /// What an agent file says about its agent; each field is the frontmatter key of the same name.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Agent {
            $(#[doc = $about] pub $field: $type,)*
            /// Whether it is switched off in its own file.
            pub is_disabled: bool,
            /// Keys that nobody here knows, as written.
            pub unknown: Vec<Entry>,
        }

        static ROWS: &[FieldRow] = &[
            $(FieldRow {
                set_in: SetIn::$set_in,
                exported: Exported::$exported,
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

// Written in files in this order.
agent_fields! {
    file {
        name: Option<String> = "name", AgentName, File, Translated, false, "Its name; by default the file's. A line end, a control character, a slash, or a dot or hyphen at the start is refused";
        package: Option<String> = "package", PackageName, File, Translated, false, "Its package, in lower case with blanks as hyphens; the agent is called `package.name`";
        description: Option<String> = "description", RequiredText, File, Translated, false, "What it does and when to use it";
        tools: Option<Vec<String>> = "tools", ListOrUsual<false>, FileAndSettings, Translated, true, "The tools it may use";
        model: Option<String> = "model", Text, FileAndSettings, Translated, false, "Its model";
        fallback_models: Vec<String> = "fallbackModels", List, FileAndSettings, Missed, false, "Models to try in order when that one fails";
        fallback_after_writes: bool = "fallbackAfterWrites", Switch, File, OfGrove, false, "Whether another model may continue after a tool has changed something";
        thinking: Option<String> = "thinking", Text, FileAndSettings, Translated, false, "How much the model thinks";
        engine: Option<Engine> = "engine", EngineKind, File, OfGrove, false, "The engine that drives it";
        system_prompt_mode: PromptMode = "systemPromptMode", Mode<PromptMode>, FileAndSettings, Missed, false, "What happens to the caller's prompt: left out, or put before its own";
        inherit_project_context: bool = "inheritProjectContext", Switch, FileAndSettings, OfGrove, true, "Whether the project's instructions are in its prompt";
        inherit_skills: bool = "inheritSkills", Switch, FileAndSettings, OfGrove, true, "Whether the catalog of all skills is in its prompt";
        skills: Vec<String> = "skills" | "skill", Names, FileAndSettings, Translated, false, "The skills in its prompt";
        skill_injection: SkillInjection = "skillInjection", Mode<SkillInjection>, FileAndSettings, Translated, false, "Whether their text or a list of them is in its prompt";
        skill_path: Vec<String> = "skillPath", List, File, Translated, false, "Further folders with its skills";
        extensions: Option<Vec<String>> = "extensions", ListOrUsual<true>, File, Missed, true, "Its extensions";
        default_context: Option<ContextMode> = "defaultContext", OneOf<ContextMode>, FileAndSettings, OfGrove, false, "How much it knows of the conversation that calls it";
        output: Option<OutputFile> = "output", Output, File, OfGrove, false, "The file for its answer";
        output_mode: Option<OutputMode> = "outputMode", OneOf<OutputMode>, File, OfGrove, false, "What its caller receives when the answer is written to a file";
        default_reads: Vec<String> = "defaultReads", List, File, OfGrove, false, "Files it reads first";
        default_progress: bool = "defaultProgress", Switch, File, OfGrove, false, "Whether it keeps a progress file";
        interactive: bool = "interactive", Switch, File, OfGrove, false, "Whether it may ask questions";
        max_subagent_depth: Option<u64> = "maxSubagentDepth", Number<0>, File, OfGrove, true, "How many levels of other agents it may call";
        completion_guard: Option<bool> = "completionGuard", SwitchOrUsual, FileAndSettings, OfGrove, false, "Kept as pi-subagents has it; it has no effect on a run";
        max_execution_time_ms: Option<u64> = "maxExecutionTimeMs", Number<1>, FileAndSettings, OfGrove, true, "The most milliseconds it may run";
        timeout_ms: Option<u64> = "timeoutMs", Number<1>, File, OfGrove, true, "The most milliseconds a whole request to it may take";
        tool_timeout_ms: Option<u64> = "toolTimeoutMs", Number<1>, File, OfGrove, true, "The most milliseconds one tool call may take";
        max_tokens: Option<u64> = "maxTokens", Number<1>, FileAndSettings, OfGrove, true, "The most tokens it may use";
        turn_budget: Option<TurnBudget> = "turnBudget", Contract<TurnBudget>, File, OfGrove, true, "The most turns it may take";
        tool_budget: Option<ToolBudget> = "toolBudget", Contract<ToolBudget>, File, OfGrove, true, "The most tool calls it may make";
        acceptance: Option<Acceptance> = "acceptance", Contract<Acceptance>, File, OfGrove, true, "When its work is accepted";
        acceptance_role: Option<String> = "acceptanceRole", Text, File, OfGrove, false, "Its role in accepting work";
        background: Option<bool> = "async", SwitchOrUsual, File, OfGrove, false, "Whether it runs in the background";
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
            set_in: SetIn::Settings,
            exported: Exported::Translated,
            read: |_, _, _| {},
            written: |_| None,
            shown: |_| None,
            normalised: |value| K::overriding(value).map(|value| K::setting(&value)),
            strictest_setting: || K::setting(&K::strictest()),
            apply: |_, _| {},
        }
    }

    /// The row of a key of an agent file, whichever of its names it has.
    pub fn of_file(key: &str) -> Option<&'static Self> {
        Self::in_files().find(|row| row.key == key || row.other_key == Some(key))
    }

    /// The rows of what an agent file may have, in the order in which it is written.
    pub fn in_files() -> impl Iterator<Item = &'static Self> {
        ROWS.iter().filter(|row| row.set_in != SetIn::Settings)
    }

    /// The flag of the command line that sets it.
    pub fn flag(&self) -> String {
        in_words(self.key, '-')
    }

    /// The value of an agent as a file has it; nothing when it is what an agent has without the field.
    pub fn written(&self, agent: &Agent) -> Option<Json> {
        (self.written)(agent)
    }
}

/// A field that can be overridden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Field(usize);

impl Field {
    /// The agent's own text.
    pub const SYSTEM_PROMPT: &'static str = "systemPrompt";
    /// Whether the agent is switched off.
    pub const DISABLED: &'static str = "disabled";

    /// All of them in the order of the reference page.
    pub fn all() -> impl Iterator<Item = Self> {
        let rows = ROWS.iter().enumerate();
        rows.filter(|(_, row)| row.set_in != SetIn::File)
            .map(|(at, _)| Self(at))
    }

    /// Its row.
    pub fn row(self) -> &'static FieldRow {
        static NONE: FieldRow = FieldRow::of_kind::<Text>("", "");
        debug_assert!(self.0 < ROWS.len(), "fields are made from the table");
        ROWS.get(self.0).unwrap_or(&NONE)
    }

    /// The frontmatter's and pi's word for it.
    pub fn as_str(self) -> &'static str {
        self.row().key
    }

    /// The configuration's word for it.
    pub fn config_key(self) -> String {
        in_words(self.as_str(), '_')
    }

    /// What it takes.
    pub fn wanted(self) -> &'static str {
        self.row().override_takes
    }

    /// The value that is in force when an override says this, as settings have it; nothing when it is of the wrong kind.
    pub(super) fn normalised(self, value: &Json) -> Option<Json> {
        (self.row().normalised)(value)
    }

    /// What an override means that cannot be read, where that must not give the agent more.
    pub(super) fn strictest_setting(self) -> Option<Json> {
        let row = self.row();
        match row.key {
            Self::DISABLED => Some(Json::Bool(true)),
            _ => row.restricts.then(row.strictest_setting),
        }
    }

    /// Sets the field; the agent's text and whether it is switched off are no fields of a file.
    pub(super) fn apply(self, agent: &mut Agent, value: &Json) {
        (self.row().apply)(agent, value);
    }
}

fn read_field<K: FieldKind>(
    entry: &Entry,
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

/// `maxTokens` with `-` is `max-tokens`.
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

/// Reads the fields of an agent that begins at `start`.
pub(crate) fn read(
    entries: Vec<Entry>,
    start: Position,
    diagnostics: &mut Vec<Diagnostic>,
) -> Agent {
    let mut agent = Agent::default();
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
        let mut other = Agent::default();
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

impl Agent {
    /// Every field that has a value, as it is shown; keys that nobody here knows are under `unknown`.
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

impl Serialize for Agent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.shown() {
            map.serialize_entry(&key, &value)?;
        }
        map.end()
    }
}
