//! The values of a step's keys, by the kinds that they must have.

use serde_json::Value as JsonValue;

use super::step_fields::StepReader;
use super::{ChainFormat, MAX_ITEMS, MAX_TASKS, OutputSchema, references};
use crate::acceptance::Acceptance;
use crate::agent::{OutputFile, Structured as _, WordChoice, is_dangerous, split_items};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::json;
use crate::skill::fields::parse_boolean;
use crate::text::{one_line, without_controls};
use crate::yaml::{YamlEntry, YamlNode, YamlValue};

impl StepReader<'_> {
    pub(super) fn pointer(&mut self, entry: &YamlEntry) -> Option<String> {
        let pointer = self.raw_text(entry)?;
        if !references::is_pointer(&pointer) {
            let message = format!("`{}` is not a JSON pointer", one_line(&pointer));
            self.wrong(entry.value.position, message);
        }
        Some(pointer)
    }

    pub(super) fn item_name(&mut self, entry: &YamlEntry) -> Option<String> {
        let name = self.text(entry)?;
        if !references::is_identifier(&name) {
            self.wrong(entry.position, format!("`item` is `{name}`, not a name"));
        }
        Some(name)
    }

    /// Reads the text of a task, which keeps the line ends and blanks of its author.
    pub(super) fn instructions(&mut self, entry: &YamlEntry) -> Option<String> {
        let text = self.raw_text(entry)?;
        let clean = without_controls(&text).into_owned();
        // The body of a Markdown file has been checked already.
        if clean != text && self.format == ChainFormat::Json {
            let message = "control characters in `task` were left out";
            self.report(Code::ControlCharacters, entry.value.position, message);
        }
        Some(clean)
    }

    pub(super) fn agent(&mut self, entry: &YamlEntry) -> String {
        let written = self.raw_text(entry).unwrap_or_default();
        let name = written.trim();
        if is_dangerous(name) {
            let message = format!("the agent's name `{}` cannot be used", one_line(name));
            self.report(Code::AgentName, entry.value.position, message);
        }
        without_controls(name).trim().to_owned()
    }

    pub(super) fn output_name(&mut self, entry: &YamlEntry) -> Option<String> {
        let name = self.text(entry)?;
        if !references::is_identifier(&name) {
            let message = format!("`as` is `{name}`, not a name");
            self.report(Code::ChainOutputName, entry.value.position, message);
        }
        Some(name)
    }

    pub(super) fn collected_name(&mut self, entry: &YamlEntry) -> String {
        self.output_name(entry).unwrap_or_default()
    }

    pub(super) fn schema(&mut self, entry: &YamlEntry) -> Option<OutputSchema> {
        if matches!(entry.value.value, YamlValue::Map(_)) {
            return Some(OutputSchema::Inline(json::value_of(&entry.value)));
        }
        let path = self.text(entry)?;
        if path.starts_with(['{', '[']) {
            let message = "`outputSchema` is the path of a file here, not the schema itself";
            self.report(Code::ChainSchemaInline, entry.value.position, message);
            return None;
        }
        Some(OutputSchema::File(path))
    }

    pub(super) fn output(&mut self, entry: &YamlEntry) -> Option<OutputFile> {
        match switch(entry) {
            Some(true) => None,
            Some(false) => Some(OutputFile::None),
            None => self.text(entry).map(OutputFile::File),
        }
    }

    pub(super) fn acceptance(&mut self, entry: &YamlEntry) -> Option<Acceptance> {
        if entry.value.is_null() {
            return None;
        }
        let mut value = json::value_of(&entry.value);
        if self.format == ChainFormat::Markdown && value == "false" {
            value = JsonValue::Bool(false);
        }
        let faults = match Acceptance::read(&value) {
            Ok(acceptance) => return Some(acceptance),
            Err(faults) => faults,
        };
        for message in faults {
            self.wrong(entry.value.position, message);
        }
        None
    }

    /// Refuses a contract for several tasks: it is about one task, and no task is responsible for the work of all.
    pub(super) fn acceptance_of_several(&mut self, entry: &YamlEntry) -> Option<Acceptance> {
        let acceptance = self.acceptance(entry);
        if acceptance.is_some() {
            let message =
                "`acceptance` is about the work of one task: write it into each task of the step";
            self.wrong(entry.position, message.to_owned());
        }
        acceptance
    }

    pub(super) fn values(&mut self, entry: &YamlEntry) -> Option<Vec<JsonValue>> {
        match json::value_of(&entry.value) {
            JsonValue::Array(values) => Some(values),
            JsonValue::Null => None,
            _ => {
                self.wrong_kind(entry, "a list");
                None
            }
        }
    }

    /// Reads a list, or text with commas. `false` means an empty list, and `true` means the agent's own list.
    pub(super) fn list(&mut self, entry: &YamlEntry) -> Option<Vec<String>> {
        match (&entry.value.value, switch(entry)) {
            (_, Some(true)) => None,
            (_, Some(false)) => Some(Vec::new()),
            (YamlValue::Text(_), None) if entry.value.is_null() => {
                // In Markdown the key without a value means an empty list; in JSON, `false` does.
                (self.format == ChainFormat::Markdown).then(Vec::new)
            }
            (YamlValue::Text(_), None) => {
                let text = self.raw_text(entry)?;
                Some(split_items(&without_controls(&text)))
            }
            (YamlValue::List(items), _) => {
                let texts: Vec<String> = items
                    .iter()
                    .filter_map(|item| self.as_text(item))
                    .map(|text| without_controls(text).trim().to_owned())
                    .filter(|text| !text.is_empty())
                    .collect();
                if items.iter().any(|item| self.as_text(item).is_none()) {
                    self.wrong_kind(entry, "a list of texts");
                }
                Some(texts)
            }
            (YamlValue::Map(_), _) => {
                self.wrong_kind(entry, "a list of texts");
                None
            }
        }
    }

    /// Reads text as one line; blank text counts as absent.
    pub(super) fn text(&mut self, entry: &YamlEntry) -> Option<String> {
        let text = self.raw_text(entry)?;
        let clean = without_controls(&text);
        let words: Vec<&str> = clean.trim().split(['\n', '\t']).collect();
        Some(words.join(" ")).filter(|line| !line.is_empty())
    }

    pub(super) fn raw_text(&mut self, entry: &YamlEntry) -> Option<String> {
        if entry.value.is_null() {
            return None;
        }
        let text = self.as_text(&entry.value).map(str::to_owned);
        if text.is_none() {
            self.wrong_kind(entry, "text");
        }
        text
    }

    /// Returns a node's text: every value in Markdown is text; JSON tells `42` from `"42"`.
    pub(super) fn as_text<'n>(&self, node: &'n YamlNode) -> Option<&'n str> {
        match self.format {
            ChainFormat::Markdown => node.as_text(),
            ChainFormat::Json => json::text_of(node),
        }
    }

    pub(super) fn boolean(&mut self, entry: &YamlEntry) -> Option<bool> {
        let parsed = entry.value.as_text().and_then(parse_boolean);
        if parsed.is_none() && !entry.value.is_null() {
            self.wrong_kind(entry, "true or false");
        }
        parsed
    }

    pub(super) fn task_count(&mut self, entry: &YamlEntry) -> Option<u64> {
        self.number(entry, 1, MAX_TASKS as u64)
    }

    pub(super) fn item_count(&mut self, entry: &YamlEntry) -> Option<u64> {
        self.number(entry, 0, MAX_ITEMS)
    }

    fn number(&mut self, entry: &YamlEntry, least: u64, most: u64) -> Option<u64> {
        let text = entry.value.as_text().map(str::trim);
        let digits = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.map(|digits| digits.parse().unwrap_or(u64::MAX));
        match number {
            Some(number) if number > most => {
                let message = format!("`{}` is {number}, more than {most}", entry.key);
                self.report(Code::ChainLimit, entry.value.position, message);
                None
            }
            Some(number) if number >= least && text != Some("") => Some(number),
            _ => {
                let message = format!("`{}` is not a whole number from {least}", entry.key);
                self.wrong(entry.value.position, message);
                None
            }
        }
    }

    pub(super) fn one_of<T: WordChoice>(&mut self, entry: &YamlEntry) -> Option<T> {
        let known = T::of(entry.value.as_text().unwrap_or_default().trim());
        if known.is_none() {
            self.wrong(entry.value.position, T::refusal(&entry.key));
        }
        known
    }

    pub(super) fn unknown(&mut self, kept: &mut Vec<(String, JsonValue)>, entry: &YamlEntry) {
        let message = format!("the key `{}` is not known", one_line(&entry.key));
        self.report(Code::ChainUnknownKey, entry.position, message);
        let value = match self.format {
            ChainFormat::Markdown => entry.value.as_text().unwrap_or_default().into(),
            ChainFormat::Json => json::value_of(&entry.value),
        };
        kept.push((entry.key.to_string(), value));
    }

    pub(super) fn wrong_kind(&mut self, entry: &YamlEntry, wanted: &str) {
        let kind = json::kind_of(&entry.value);
        let message = format!("`{}` is {kind}, not {wanted}", entry.key);
        self.wrong(entry.value.position, message);
    }

    pub(super) fn wrong(&mut self, position: Position, message: impl Into<String>) {
        self.report(Code::ChainStep, position, message);
    }

    pub(super) fn report(&mut self, code: Code, position: Position, message: impl Into<String>) {
        let finding = Diagnostic::new(code, message).at(position);
        self.diagnostics.push(finding);
    }
}

/// Returns `true` or `false`, also from quotes, for keys whose other values are text.
fn switch(entry: &YamlEntry) -> Option<bool> {
    match entry.value.as_text()?.trim() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}
