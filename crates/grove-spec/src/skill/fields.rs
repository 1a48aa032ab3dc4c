//! The reading of top-level entries into the fields of a [`SkillFile`].

use super::{
    MAX_COMPATIBILITY, MAX_DESCRIPTION, MAX_NAME, SkillDetails, SkillFile, body, conduct,
    requirements, split_tools, tree_keys,
};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::field_reader::FieldReader;
use crate::hidden_text;
use crate::text::{edits, is_control, is_plain, without_credentials};
use crate::yaml::{KnownKeys, YamlEntry, YamlNode, YamlValue};

pub(super) struct SkillKey {
    name: &'static str,
    others: &'static [&'static str],
    /// The value that counts if a restricting one cannot be read, in words.
    strictest: Option<&'static str>,
}

const fn row(name: &'static str, others: &'static [&'static str]) -> SkillKey {
    SkillKey {
        name,
        others,
        strictest: None,
    }
}

const fn restricting(
    name: &'static str,
    others: &'static [&'static str],
    strictest: &'static str,
) -> SkillKey {
    SkillKey {
        name,
        others,
        strictest: Some(strictest),
    }
}

/// The keys of the open standard, and those beyond it. Restrictions by a key under `metadata` are handled in
/// [`requirements`].
const KEYS: [SkillKey; 20] = [
    row("name", &[]),
    row("description", &[]),
    row("license", &[]),
    row("compatibility", &[]),
    row("metadata", &[]),
    restricting("allowed-tools", &["allowed_tools"], "none"),
    restricting("disable-model-invocation", &[], "true"),
    restricting("user-invocable", &[], "false"),
    row("argument-hint", &[]),
    row("arguments", &[]),
    row("when_to_use", &["when-to-use"]),
    row("paths", &[]),
    row("model", &[]),
    row("context", &[]),
    row("agent", &[]),
    row("homepage", &["website", "url"]),
    row("emoji", &[]),
    row("command-dispatch", &["command_dispatch"]),
    row("command-tool", &["command_tool"]),
    row("command-arg-mode", &["command_arg_mode"]),
];

/// Keys that many skills have although no program reads them.
const FURTHER_KEYS: &str = "version author tags category keywords tools disallowed-tools effort shell hooks fallback \
    title triggers requires dependencies";

impl SkillKey {
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        KEYS.iter().map(|row| row.name)
    }

    /// Returns the row of a word.
    pub(super) fn of(word: &str) -> Option<&'static Self> {
        let is_it = |row: &&Self| row.name == word || row.others.contains(&word);
        KEYS.iter().find(is_it).or_else(|| Self::restricting(word))
    }

    /// Returns the row of a word that restricts. It may be written in any case, with or without hyphens, since other
    /// readers of the file may accept it so.
    fn restricting(word: &str) -> Option<&'static Self> {
        // Every unknown key of every skill comes here, and few are this long.
        if word.len() < "allowedtools".len() {
            return None;
        }
        let mut rows = KEYS.iter().filter(|row| row.strictest.is_some());
        rows.find(|row| letters(row.name).eq(letters(word)))
    }
}

/// The letters and digits of a word, in lower case, without the parts that people write differently or do not see.
fn letters(word: &str) -> impl Iterator<Item = char> {
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase)
}

/// A word without the parts that people write differently or do not see: its letters and digits, in lower case.
pub(crate) fn bare(word: &str) -> String {
    letters(word).collect()
}

/// The keys that guide the reading of a skill's frontmatter where it is not valid YAML.
pub(super) const KNOWN: KnownKeys = KnownKeys {
    is_known: |key| {
        SkillKey::of(key).is_some() || FURTHER_KEYS.split_whitespace().any(|word| word == key)
    },
    restricts: |key| {
        // The requirements are in `metadata`.
        key == "metadata" || SkillKey::of(key).is_some_and(|row| row.strictest.is_some())
    },
};

pub(super) fn read(entries: Vec<YamlEntry>, diagnostics: &mut Vec<Diagnostic>) -> SkillFile {
    let mut reader = SkillReader {
        values: FieldReader::new(diagnostics),
        skill: SkillFile::default(),
    };
    let mut description_at = None;
    for entry in entries {
        if entry.key == "description" {
            description_at = Some(entry.position);
        }
        reader.take(entry);
    }
    let SkillReader { mut skill, .. } = reader;
    if skill.description.is_none() && !diagnostics.iter().any(Diagnostic::is_error) {
        let finding = Diagnostic::new(Code::DescriptionMissing, "no description");
        diagnostics.push(finding.at(description_at.unwrap_or(Position::new(1, 1))));
    }
    if skill.requirements.is_none() {
        skill.requirements = requirements::read(&skill.metadata, diagnostics).map(Box::new);
    }
    if let Some(tree) = tree_keys::read(&skill.metadata, diagnostics) {
        skill.details.get_or_insert_default().tree = Some(tree);
    }
    skill
}

struct SkillReader<'a> {
    values: FieldReader<'a>,
    skill: SkillFile,
}

impl SkillReader<'_> {
    fn take(&mut self, entry: YamlEntry) {
        let Some(row) = SkillKey::of(&entry.key) else {
            self.nearly_restricting(&entry);
            return self.skill.unknown.push(entry);
        };
        match row.name {
            "name" => self.skill.name = self.name(&entry),
            "description" => self.skill.description = self.description(&entry),
            "license" => self.set_text(&entry, Self::text, |details| &mut details.license),
            "compatibility" => self.set_text(&entry, Self::compatibility, |details| {
                &mut details.compatibility
            }),
            "allowed-tools" => {
                let tools = self.restricted(row, |values| values.list(&entry, split_tools));
                let tools = tools.flatten().unwrap_or_default();
                if !tools.is_empty() {
                    self.skill.details.get_or_insert_default().allowed_tools = tools;
                }
            }
            "metadata" => self.metadata(entry),
            "disable-model-invocation" => {
                let disabled = self.restricted(row, |values| values.required_boolean(&entry));
                self.skill.model_invocable &= disabled.flatten() == Some(false);
            }
            "user-invocable" => {
                let invocable = self.restricted(row, |values| values.required_boolean(&entry));
                self.skill.user_invocable &= invocable.flatten() == Some(true);
            }
            "argument-hint" => {
                self.set_text(&entry, Self::hint, |details| &mut details.argument_hint);
            }
            "arguments" => self.set_list(&entry, split_words, |details| &mut details.arguments),
            "when_to_use" => {
                self.set_text(&entry, Self::text, |details| &mut details.when_to_use);
            }
            "paths" => self.set_list(&entry, split_commas, |details| &mut details.paths),
            "model" => self.set_text(&entry, Self::text, |details| &mut details.model),
            "context" => self.set_text(&entry, Self::text, |details| &mut details.context),
            "agent" => self.set_text(&entry, Self::text, |details| &mut details.agent),
            "homepage" => {
                self.set_text(&entry, Self::address, |details| &mut details.homepage);
            }
            "emoji" => self.set_text(&entry, Self::text, |details| &mut details.emoji),
            "command-dispatch" => {
                self.set_text(&entry, Self::text, |details| &mut details.command_dispatch);
            }
            "command-tool" => {
                self.set_text(&entry, Self::text, |details| &mut details.command_tool);
            }
            "command-arg-mode" => {
                self.set_text(&entry, Self::text, |details| &mut details.command_arg_mode);
            }
            _ => self.skill.unknown.push(entry),
        }
    }

    /// Reports an unknown key that is nearly written as one that restricts.
    fn nearly_restricting(&mut self, entry: &YamlEntry) {
        let written = bare(&entry.key);
        let mut rows = KEYS.iter().filter(|row| row.strictest.is_some());
        if let Some(row) = rows.find(|row| edits(&written, &bare(row.name), 2).is_some()) {
            let message = format!(
                "`{}` is not known here and keeps the skill from nothing",
                entry.key
            );
            let finding = Diagnostic::new(Code::RestrictionUnreadable, message)
                .with_severity(Severity::Warning)
                .with_help(format!("did you mean `{}`?", row.name));
            self.values.diagnostics.push(finding.at(entry.position));
        }
    }

    /// Applies a switch below `metadata`, where no program reads it: its author meant to restrict the skill all the same.
    fn misplaced(&mut self, metadata: &[YamlEntry]) {
        for entry in metadata {
            let Some(row) = SkillKey::restricting(&entry.key) else {
                continue;
            };
            let (open, switch) = match row.name {
                "disable-model-invocation" => (false, &mut self.skill.model_invocable),
                "user-invocable" => (true, &mut self.skill.user_invocable),
                _ => continue,
            };
            if entry.value.as_text().and_then(parse_boolean) != Some(open) {
                *switch = false;
                let message = format!(
                    "`{}` is below `metadata`, where no program reads it, so the strictest reading is used: {}",
                    entry.key,
                    row.strictest.unwrap_or_default()
                );
                self.report(Code::RestrictionUnreadable, message, entry);
            }
        }
    }

    fn restricted<T>(
        &mut self,
        row: &SkillKey,
        read: impl FnOnce(&mut FieldReader<'_>) -> T,
    ) -> Option<T> {
        let strictest = row.strictest.unwrap_or_default();
        self.values
            .restricting(Code::RestrictionUnreadable, strictest, read)
    }

    fn set_text(
        &mut self,
        entry: &YamlEntry,
        read: fn(&mut Self, &YamlEntry) -> Option<String>,
        field: fn(&mut SkillDetails) -> &mut Option<String>,
    ) {
        if let Some(text) = read(self, entry) {
            *field(self.skill.details.get_or_insert_default()) = Some(text);
        }
    }

    fn set_list(
        &mut self,
        entry: &YamlEntry,
        split: fn(&str) -> Vec<String>,
        field: fn(&mut SkillDetails) -> &mut Vec<String>,
    ) {
        let list = self.values.list(entry, split).unwrap_or_default();
        if !list.is_empty() {
            *field(self.skill.details.get_or_insert_default()) = list;
        }
    }

    fn name(&mut self, entry: &YamlEntry) -> Option<String> {
        let text = self.required_text(entry)?;
        let name = if text.contains(char::is_whitespace) {
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        } else {
            text
        };
        if name.is_empty() {
            return None;
        }
        let length = name.chars().count();
        if length > MAX_NAME {
            self.report(
                Code::NameTooLong,
                format!("name has {length} characters, more than {MAX_NAME}"),
                entry,
            );
        }
        if !is_standard_name(&name) {
            self.report(
                Code::NameInvalid,
                format!("name `{name}` is not lower-case letters, digits and single hyphens"),
                entry,
            );
        }
        Some(name)
    }

    fn description(&mut self, entry: &YamlEntry) -> Option<String> {
        let text = self.required_text(entry)?;
        let length = if text.len() > MAX_DESCRIPTION {
            text.chars().count()
        } else {
            0
        };
        if length > MAX_DESCRIPTION {
            self.report(
                Code::DescriptionTooLong,
                format!("description has {length} characters, more than {MAX_DESCRIPTION}"),
                entry,
            );
        }
        Some(text)
    }

    fn compatibility(&mut self, entry: &YamlEntry) -> Option<String> {
        let text = self.text(entry)?;
        let length = text.chars().count();
        if length > MAX_COMPATIBILITY {
            self.report(
                Code::CompatibilityTooLong,
                format!("compatibility has {length} characters, more than {MAX_COMPATIBILITY}"),
                entry,
            );
        }
        Some(text)
    }

    /// Reads text that is shown to a model: a list or mapping makes the skill invalid.
    fn required_text(&mut self, entry: &YamlEntry) -> Option<String> {
        match &entry.value.value {
            YamlValue::Text(scalar) if scalar.is_null() => None,
            YamlValue::Text(scalar) => {
                let cleaned = self.clean(&scalar.text, entry);
                self.check_structure(&cleaned, entry);
                if let Some(words) = conduct::claims_everything(&cleaned) {
                    let message = format!("`{}` claims \"{words}\"", entry.key);
                    self.report(Code::OverbroadTrigger, message, entry);
                }
                (!cleaned.is_empty()).then_some(cleaned)
            }
            YamlValue::List(_) | YamlValue::Map(_) => self.values.required_text(entry),
        }
    }

    /// Reports tags and markers with which a text would leave its place in a prompt.
    fn check_structure(&mut self, text: &str, entry: &YamlEntry) {
        // Tags and markers begin with one of these, which few texts have.
        if memchr::memchr2(b'<', b'[', text.as_bytes()).is_none() {
            return;
        }
        if let Some(tag) = structure_tag(text) {
            let message = format!("`{}` contains the tag `{tag}`", entry.key);
            self.report(Code::StructureBreakout, message, entry);
        }
        if let Some(marker) = conduct::role_marker(text) {
            let message = format!("`{}` contains the marker `{marker}`", entry.key);
            self.report(Code::RoleMarker, message, entry);
        }
    }

    fn text(&mut self, entry: &YamlEntry) -> Option<String> {
        self.values.text(entry)
    }

    fn address(&mut self, entry: &YamlEntry) -> Option<String> {
        let address = self.text(entry)?;
        Some(without_credentials(&address).into_owned())
    }

    /// Reads `argument-hint: [file] [mode]`, which is meant as text and is a list only to YAML.
    fn hint(&mut self, entry: &YamlEntry) -> Option<String> {
        match &entry.value.value {
            YamlValue::List(items) => {
                let words: Vec<&str> = items.iter().filter_map(YamlNode::as_text).collect();
                Some(self.clean(&format!("[{}]", words.join(", ")), entry))
            }
            _ => self.text(entry),
        }
    }

    fn metadata(&mut self, entry: YamlEntry) {
        match entry.value.value {
            YamlValue::Map(entries) => {
                self.misplaced(&entries);
                self.skill.metadata = entries;
            }
            YamlValue::Text(ref scalar) if scalar.is_null() => {}
            YamlValue::Text(ref scalar) => {
                match requirements::json_to_node(&scalar.text, entry.value.position) {
                    Some(YamlNode {
                        value: YamlValue::Map(entries),
                        ..
                    }) => self.skill.metadata = entries,
                    // Text that looks like an object or names a key, but is not a mapping, may hide requirements.
                    _ if requirements::may_be_in(&scalar.text) => {
                        self.hidden_requirements("`metadata` is neither YAML nor JSON", &entry);
                        self.skill.unknown.push(entry);
                    }
                    _ => {
                        self.values.wrong_kind::<()>(&entry, "a mapping");
                        self.skill.unknown.push(entry);
                    }
                }
            }
            YamlValue::List(ref items) => {
                // A list of words cannot hide requirements.
                if items.iter().any(|item| item.as_text().is_none()) {
                    self.hidden_requirements("`metadata` is a list, not a mapping", &entry);
                } else {
                    self.values.wrong_kind::<()>(&entry, "a mapping");
                }
                self.skill.unknown.push(entry);
            }
        }
    }

    /// Makes the skill ineligible, since this value may hide requirements.
    fn hidden_requirements(&mut self, reason: &str, entry: &YamlEntry) {
        self.report(Code::RequirementsUnreadable, reason.to_owned(), entry);
        self.skill.requirements = Some(Box::new(super::Requirements {
            unreadable: Some(reason.to_owned()),
            ..Default::default()
        }));
    }

    fn clean(&mut self, text: &str, entry: &YamlEntry) -> String {
        clean(text, entry, self.values.diagnostics)
    }

    fn report(&mut self, code: Code, message: String, entry: &YamlEntry) {
        self.values.report::<()>(code, message, entry);
    }
}

/// Text without control and hidden characters, trimmed; each kind found is reported once.
pub(crate) fn clean(text: &str, entry: &YamlEntry, diagnostics: &mut Vec<Diagnostic>) -> String {
    if is_plain(text) {
        return text.trim().to_owned();
    }
    let mut cleaned = std::borrow::Cow::Borrowed(text);
    // The mark of byte order belongs at the beginning of a file; a value does not begin a file.
    let mark = '\u{feff}';
    if text.starts_with(mark) || text.contains(is_control) {
        let kept: String = cleaned
            .replace("\r\n", "\n")
            .chars()
            .filter_map(|c| match c {
                // Terminals take these for line ends, which separate words, so a space replaces them.
                '\r' | '\u{85}' | '\u{b}' | '\u{c}' | '\u{2028}' | '\u{2029}' => Some(' '),
                c if is_control(c) || c == mark => None,
                c => Some(c),
            })
            .collect();
        let message = format!("control characters in `{}` were removed", entry.key);
        let finding = Diagnostic::new(Code::ControlCharacters, message);
        diagnostics.push(finding.at(entry.value.position));
        cleaned = kept.into();
    }
    let hidden = hidden_text::find(&cleaned);
    for finding in &hidden {
        let finding = body::hidden(finding, &format!("field `{}`", entry.key));
        diagnostics.push(finding.at(entry.value.position));
    }
    if hidden.is_empty() {
        cleaned.trim().to_owned()
    } else {
        hidden_text::strip(&cleaned).trim().to_owned()
    }
}

/// The standard's grammar for names: lower-case letters and digits of any script, single hyphens.
pub fn is_standard_name(name: &str) -> bool {
    let is_plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let mut plain_parts = name.as_bytes().split(|b| *b == b'-');
    // Nearly every name is plain, and every skill has one.
    if plain_parts.all(|part| !part.is_empty() && part.iter().all(is_plain)) {
        return true;
    }
    let is_letter = |c: char| c.is_alphanumeric() && !c.is_uppercase();
    name.split('-')
        .all(|part| !part.is_empty() && part.chars().all(is_letter))
}

pub(crate) fn parse_boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn split_words(text: &str) -> Vec<String> {
    text.split([',', ' ', '\t', '\n'])
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

pub(super) fn split_commas(text: &str) -> Vec<String> {
    text.split([',', '\n'])
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The first tag in a text that is part of the structure of a prompt or catalog.
fn structure_tag(text: &str) -> Option<&str> {
    const CLOSED: [&str; 8] = [
        "available_skills",
        "skill",
        "skills",
        "name",
        "description",
        "location",
        "system",
        "system-reminder",
    ];
    const OPENED: [&str; 4] = ["available_skills", "skill", "system", "system-reminder"];
    let mut from = 0;
    while let Some(at) = text.get(from..)?.find('<').map(|found| from + found) {
        let rest = text.get(at + 1..)?;
        let (names, inner): (&[&str], &str) = match rest.trim_start().strip_prefix('/') {
            Some(inner) => (&CLOSED, inner),
            None => (&OPENED, rest),
        };
        let word_end = inner
            .trim_start()
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
            .unwrap_or(inner.trim_start().len());
        let word = inner
            .trim_start()
            .get(..word_end)
            .unwrap_or_default()
            .to_ascii_lowercase();
        let ends = inner.trim_start().get(word_end..).is_some_and(|tail| {
            tail.trim_start().starts_with(['>', '/']) || tail.starts_with(char::is_whitespace)
        });
        if names.contains(&word.as_str()) && ends {
            let end = rest.find('>').map_or(text.len(), |found| at + found + 2);
            return text.get(at..end.min(text.len()));
        }
        from = at + 1;
    }
    None
}
