//! The kinds of values that fields of agents have: how each is read, written, shown and set from outside a file.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::{OutputFile, naming};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::engine::EngineName;
use crate::field_reader::FieldReader;
use crate::json;
use crate::skill::split_outside_parentheses;
use crate::text::{is_control, one_line};
use crate::yaml::{YamlEntry, YamlValue};

pub(super) trait FieldKind {
    /// The type of the value in an [`super::AgentFile`].
    type Value: Default + Serialize;
    /// The values that a file may have, in words.
    const TAKES: &'static str;
    /// The values that an override may have, in words.
    const OVERRIDE_TAKES: &'static str = "";
    /// The value of an agent without the field, in words.
    const DEFAULT: &'static str = "(none)";
    /// A note on the value on the command line.
    const FLAG_NOTE: &'static str = "";
    /// True if a value is several items.
    const IS_LIST: bool = false;
    /// True if `false` on the command line removes the field.
    const CLEARED_BY_FALSE: bool = true;
    /// The value that counts if a restricting one cannot be read, in words.
    const STRICTEST: &'static str = "";

    /// The value that counts if a restricting one cannot be read.
    fn strictest() -> Self::Value {
        Self::Value::default()
    }

    /// Reads a value of a file; one of the wrong kind is a finding.
    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Self::Value;

    /// The value as a file has it; nothing if an agent without the field has the same.
    fn written(value: &Self::Value) -> Option<Json> {
        serde_json::to_value(value).ok().filter(|it| !it.is_null())
    }

    /// The value as it is shown; nothing if there is nothing to show.
    fn shown(value: &Self::Value) -> Option<Json> {
        Self::written(value)
    }

    /// Reads an override; nothing if it is of the wrong kind.
    fn overriding(_: &Json) -> Option<Self::Value> {
        None
    }

    /// The value as an override has it; `false` for a cleared one.
    fn setting(value: &Self::Value) -> Json {
        Self::written(value).unwrap_or(Json::Bool(false))
    }
}

pub(super) struct AgentName;

impl FieldKind for AgentName {
    type Value = Option<String>;
    const TAKES: &'static str = "text";
    const DEFAULT: &'static str = "(the file's name)";

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Option<String> {
        // The name is judged as written: cleaning would turn one with a line end into another name.
        let written = entry.value.as_text().unwrap_or_default().trim();
        if is_dangerous(written) {
            let message = format!("the name `{}` cannot be used", one_line(written));
            return reader.report(Code::AgentName, message, entry);
        }
        let text = reader.required_text(entry)?;
        let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Invisible characters are gone by now, and may have hidden the name's first character.
        if is_dangerous(&name) {
            let message = format!("the name `{name}` cannot be used");
            return reader.report(Code::AgentName, message, entry);
        }
        let (length, most) = (name.chars().count(), crate::skill::MAX_NAME);
        if length > most {
            let message = format!("name has {length} characters, more than {most}");
            reader.report::<()>(Code::NameTooLong, message, entry);
        }
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | ':');
        if !name.chars().all(fits) {
            let message = format!(
                "name `{name}` has characters other than letters, digits, `-`, `_` and `.`"
            );
            reader.report::<()>(Code::NameInvalid, message, entry);
        }
        Some(name)
    }
}

pub(super) struct PackageName;

impl FieldKind for PackageName {
    type Value = Option<String>;
    const TAKES: &'static str = "text";

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Option<String> {
        if entry.value.is_null() {
            return None;
        }
        let text = reader.required_text(entry).unwrap_or_default();
        let quoted_nothing =
            matches!(&entry.value.value, YamlValue::Text(scalar) if scalar.text.is_empty());
        if quoted_nothing || text == "false" {
            return None;
        }
        naming::package(&text).or_else(|| {
            let message = format!("`package` is `{text}`, which has no usable characters");
            reader.report(Code::AgentPackage, message, entry)
        })
    }
}

pub(super) struct RequiredText;

impl FieldKind for RequiredText {
    type Value = Option<String>;
    const TAKES: &'static str = "text";
    const CLEARED_BY_FALSE: bool = false;

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Option<String> {
        reader.required_text(entry)
    }
}

/// Text on one line.
pub(super) struct TextField;

impl FieldKind for TextField {
    type Value = Option<String>;
    const TAKES: &'static str = "text";
    const OVERRIDE_TAKES: &'static str = "text or `false`";

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Option<String> {
        reader.text(entry)
    }

    fn overriding(value: &Json) -> Option<Option<String>> {
        let text = or_cleared(value, |value| setting_text(value).map(Some))?;
        Some(text.filter(|text| !text.is_empty()))
    }
}

/// A whole text, which can only be set in settings.
pub(super) struct WholeText;

impl FieldKind for WholeText {
    type Value = String;
    const TAKES: &'static str = "text";
    const OVERRIDE_TAKES: &'static str = "text or `false`";

    fn read(_: &YamlEntry, _: &mut FieldReader<'_>) -> String {
        String::new()
    }

    fn overriding(value: &Json) -> Option<String> {
        or_cleared(value, |value| value.as_str().map(str::to_owned))
    }
}

/// Texts in order; an empty list is the same as no field.
pub(super) type List = ListOf<false>;

/// Names in order, each once; `false` stands for an empty list.
pub(super) type Names = ListOf<true>;

/// Texts in order, or names.
pub(super) struct ListOf<const ARE_NAMES: bool>;

impl<const ARE_NAMES: bool> FieldKind for ListOf<ARE_NAMES> {
    type Value = Vec<String>;
    const TAKES: &'static str = "list";
    const OVERRIDE_TAKES: &'static str = "a list of texts or `false`";
    const FLAG_NOTE: &'static str = ", with commas";
    const IS_LIST: bool = true;

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Vec<String> {
        let mut items = reader.list(entry, split_items).unwrap_or_default();
        if ARE_NAMES {
            items = each_once(items);
            // The items are judged after cleaning, so that a printed list is read back the same.
            if items == ["false"] {
                items.clear();
            }
        }
        items
    }

    fn written(value: &Vec<String>) -> Option<Json> {
        (!value.is_empty()).then(|| json!(value))
    }

    fn overriding(value: &Json) -> Option<Vec<String>> {
        let items = or_cleared(value, setting_list)?;
        Some(if ARE_NAMES { each_once(items) } else { items })
    }

    fn setting(value: &Vec<String>) -> Json {
        json!(value)
    }
}

/// A list whose absence means the usual one. With `EMPTY_IS_NONE` the key without a value means an empty list.
pub(super) struct ListOrDefault<const EMPTY_IS_NONE: bool>;

impl<const EMPTY_IS_NONE: bool> FieldKind for ListOrDefault<EMPTY_IS_NONE> {
    type Value = Option<Vec<String>>;
    const TAKES: &'static str = List::TAKES;
    const OVERRIDE_TAKES: &'static str = List::OVERRIDE_TAKES;
    const DEFAULT: &'static str = "(the usual)";
    const FLAG_NOTE: &'static str = ", with commas; `[]` for none, empty for whatever is usual";
    const IS_LIST: bool = true;
    const STRICTEST: &'static str = "none";

    fn strictest() -> Option<Vec<String>> {
        Some(Vec::new())
    }

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Option<Vec<String>> {
        let items = reader.list(entry, split_items);
        items.or_else(|| EMPTY_IS_NONE.then(Vec::new))
    }

    fn overriding(value: &Json) -> Option<Option<Vec<String>>> {
        or_cleared(value, |value| setting_list(value).map(Some))
    }
}

/// A switch that is off without the field.
pub(super) struct Switch;

impl FieldKind for Switch {
    type Value = bool;
    const TAKES: &'static str = "true or false";
    const OVERRIDE_TAKES: &'static str = Self::TAKES;
    const DEFAULT: &'static str = "false";
    const CLEARED_BY_FALSE: bool = false;
    const STRICTEST: &'static str = "false";

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> bool {
        SwitchOrDefault::read(entry, reader).unwrap_or(false)
    }

    fn written(value: &bool) -> Option<Json> {
        value.then_some(Json::Bool(true))
    }

    fn overriding(value: &Json) -> Option<bool> {
        value.as_bool()
    }
}

/// A switch whose absence means the usual setting.
pub(super) struct SwitchOrDefault;

impl FieldKind for SwitchOrDefault {
    type Value = Option<bool>;
    const TAKES: &'static str = Switch::TAKES;
    const OVERRIDE_TAKES: &'static str = Switch::TAKES;
    const DEFAULT: &'static str = "(the usual)";
    const CLEARED_BY_FALSE: bool = false;

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Option<bool> {
        reader.boolean(entry)
    }

    fn overriding(value: &Json) -> Option<Option<bool>> {
        value.as_bool().map(Some)
    }
}

pub(super) struct NumberField<const LEAST: u64>;

impl<const LEAST: u64> FieldKind for NumberField<LEAST> {
    type Value = Option<u64>;
    const TAKES: &'static str = if LEAST == 0 {
        "whole number"
    } else {
        "whole number from 1"
    };
    const OVERRIDE_TAKES: &'static str = "a whole number from one or `false`";
    const STRICTEST: &'static str = if LEAST == 0 { "0" } else { "1" };

    fn strictest() -> Option<u64> {
        Some(LEAST)
    }

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Option<u64> {
        if entry.value.is_null() {
            return None;
        }
        let text = entry.value.as_text().map(str::trim);
        let number = text.and_then(|text| text.parse().ok());
        number.filter(|number| *number >= LEAST).or_else(|| {
            let message = format!("`{}` is not a whole number from {LEAST}", entry.key);
            reader.report(Code::FieldType, message, entry)
        })
    }

    fn overriding(value: &Json) -> Option<Option<u64>> {
        let positive = |value: &Json| value.as_u64().filter(|number| *number > 0);
        or_cleared(value, |value| positive(value).map(Some))
    }
}

pub(crate) trait WordChoice: Copy + PartialEq + Serialize + 'static {
    /// The words, the default first if there is one.
    const WORDS: &'static [(&'static str, Self)];
    const TAKES: &'static str;
    const OVERRIDE_TAKES: &'static str;

    fn of(word: &str) -> Option<Self> {
        let known = Self::WORDS.iter().find(|(known, _)| *known == word);
        known.map(|(_, value)| *value)
    }

    fn refusal(key: &str) -> String {
        let words = Self::WORDS.iter().map(|(word, _)| format!("`{word}`"));
        let words: Vec<String> = words.collect();
        format!("`{key}` is neither {}", words.join(" nor "))
    }
}

pub(super) struct OneOf<T>(PhantomData<T>);

impl<T: WordChoice> FieldKind for OneOf<T> {
    type Value = Option<T>;
    const TAKES: &'static str = T::TAKES;
    const OVERRIDE_TAKES: &'static str = T::OVERRIDE_TAKES;

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Option<T> {
        if entry.value.is_null() {
            return None;
        }
        let word = entry.value.as_text().unwrap_or_default().trim();
        T::of(word).or_else(|| reader.report(Code::FieldType, T::refusal(&entry.key), entry))
    }

    fn overriding(value: &Json) -> Option<Option<T>> {
        or_cleared(value, |value| T::of(value.as_str()?).map(Some))
    }
}

/// One of a few words; without the field, the first one.
pub(super) struct Mode<T>(PhantomData<T>);

impl<T: WordChoice + Default> FieldKind for Mode<T> {
    type Value = T;
    const TAKES: &'static str = T::TAKES;
    const OVERRIDE_TAKES: &'static str = T::OVERRIDE_TAKES;
    const DEFAULT: &'static str = match T::WORDS {
        [(word, _), ..] => word,
        [] => "",
    };

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> T {
        OneOf::<T>::read(entry, reader).unwrap_or_default()
    }

    fn written(value: &T) -> Option<Json> {
        (*value != T::default()).then(|| json!(value))
    }

    fn shown(value: &T) -> Option<Json> {
        Some(json!(value))
    }

    fn overriding(value: &Json) -> Option<T> {
        OneOf::<T>::overriding(value).map(Option::unwrap_or_default)
    }

    fn setting(value: &T) -> Json {
        json!(value)
    }
}

/// The file for an answer, or `false` for none.
pub(super) struct OutputField;

impl FieldKind for OutputField {
    type Value = Option<OutputFile>;
    const TAKES: &'static str = "text, or `false` for none";
    const FLAG_NOTE: &'static str = "; `false` for none";
    const CLEARED_BY_FALSE: bool = false;

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Option<OutputFile> {
        match reader.text(entry) {
            Some(text) if text == "false" => Some(OutputFile::None),
            file => file.map(OutputFile::File),
        }
    }
}

/// A value with a form of its own, which agents and chains share. One that cannot be read makes an agent invalid, since
/// the agent would run without the limits that it sets.
pub(crate) trait Structured: Serialize + Sized {
    const TAKES: &'static str;
    const HELP: &'static str;
    /// Reads a value, or returns all its faults.
    fn read(value: &Json) -> Result<Self, Vec<String>>;
}

pub(super) struct StructuredField<T>(PhantomData<T>);

impl<T: Structured> FieldKind for StructuredField<T> {
    type Value = Option<T>;
    const TAKES: &'static str = T::TAKES;
    const CLEARED_BY_FALSE: bool = false;
    const STRICTEST: &'static str = "the agent is not used";

    fn read(entry: &YamlEntry, reader: &mut FieldReader<'_>) -> Option<T> {
        if entry.value.is_null() {
            return None;
        }
        let faults = match T::read(&json::value_of(&entry.value)) {
            Ok(value) => return Some(value),
            Err(faults) => faults,
        };
        for message in faults {
            let finding = Diagnostic::new(Code::AgentContract, message).with_help(T::HELP);
            reader.diagnostics.push(finding.at(entry.value.position));
        }
        None
    }
}

pub(super) type EngineField = StructuredField<EngineName>;

/// Reads a value that `false` clears; nothing if it is of the wrong kind.
fn or_cleared<T: Default>(value: &Json, read: impl Fn(&Json) -> Option<T>) -> Option<T> {
    if *value == Json::Bool(false) {
        return Some(T::default());
    }
    read(value)
}

fn setting_text(value: &Json) -> Option<String> {
    value.as_str().map(|text| one_line(text).trim().to_owned())
}

fn setting_list(value: &Json) -> Option<Vec<String>> {
    let texts: Option<Vec<String>> = value.as_array()?.iter().map(setting_text).collect();
    let mut texts = texts?;
    texts.retain(|text| !text.is_empty());
    Some(texts)
}

fn each_once(mut names: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// Returns true if a name could end a line, leave a folder or be taken for an option in a command or file.
pub(crate) fn is_dangerous(name: &str) -> bool {
    name.starts_with(['.', '-']) || name.contains(|c: char| is_control(c) || "\n\t/\\".contains(c))
}

/// The parts of a text between commas and line ends outside parentheses: `Bash(git add, git mv), Read` has two.
pub(crate) fn split_items(text: &str) -> Vec<String> {
    split_outside_parentheses(text, |c| matches!(c, ',' | '\n'))
}
