//! From top-level entries to the fields of a [`Skill`].

use super::{
    Details, MAX_COMPATIBILITY, MAX_DESCRIPTION, MAX_NAME, Skill, body, conduct, requirements,
    split_tools, tree_keys,
};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::field_reader::FieldReader;
use crate::hidden_text;
use crate::text::{is_control, is_plain};
use crate::yaml::{Entry, Node, Value};

/// The six keys of the open standard.
pub(super) const STANDARD_KEYS: [&str; 6] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];

/// Keys beyond the standard that Grove understands.
pub(super) const EXTENSION_KEYS: [&str; 15] = [
    "disable-model-invocation",
    "user-invocable",
    "argument-hint",
    "arguments",
    "when_to_use",
    "paths",
    "model",
    "context",
    "agent",
    "homepage",
    "emoji",
    "command-dispatch",
    "command-tool",
    "command-arg-mode",
    "when-to-use",
];

/// Other ways of writing those, and keys that many skills have although nobody reads them.
const FURTHER_KEYS: &str = "allowed_tools website url command_dispatch command_tool command_arg_mode version author \
    tags category keywords tools disallowed-tools effort shell hooks fallback title \
    user_invocable triggers requires dependencies";

/// Whether a word is a key where a skill's frontmatter is no YAML and somebody has to decide.
pub(super) fn is_known_key(key: &str) -> bool {
    STANDARD_KEYS.contains(&key)
        || EXTENSION_KEYS.contains(&key)
        || FURTHER_KEYS.split_whitespace().any(|word| word == key)
}

/// Reads the fields of a skill.
pub(super) fn read(entries: Vec<Entry>, diagnostics: &mut Vec<Diagnostic>) -> Skill {
    let mut reader = SkillReader {
        values: FieldReader { diagnostics },
        skill: Skill::default(),
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
    skill: Skill,
}

impl SkillReader<'_> {
    fn take(&mut self, entry: Entry) {
        match &*entry.key {
            "name" => self.skill.name = self.name(&entry),
            "description" => self.skill.description = self.description(&entry),
            "license" => self.set_text(&entry, Self::text, |details| &mut details.license),
            "compatibility" => self.set_text(&entry, Self::compatibility, |details| {
                &mut details.compatibility
            }),
            "allowed-tools" | "allowed_tools" => {
                self.set_list(&entry, split_tools, |details| &mut details.allowed_tools);
            }
            "metadata" => self.metadata(entry),
            "disable-model-invocation" => {
                if let Some(disabled) = self.values.boolean(&entry) {
                    self.skill.model_invocable = !disabled;
                }
            }
            "user-invocable" => {
                if let Some(invocable) = self.values.boolean(&entry) {
                    self.skill.user_invocable = invocable;
                }
            }
            "argument-hint" => {
                self.set_text(&entry, Self::hint, |details| &mut details.argument_hint);
            }
            "arguments" => self.set_list(&entry, split_words, |details| &mut details.arguments),
            "when_to_use" | "when-to-use" => {
                self.set_text(&entry, Self::text, |details| &mut details.when_to_use);
            }
            "paths" => self.set_list(&entry, split_commas, |details| &mut details.paths),
            "model" => self.set_text(&entry, Self::text, |details| &mut details.model),
            "context" => self.set_text(&entry, Self::text, |details| &mut details.context),
            "agent" => self.set_text(&entry, Self::text, |details| &mut details.agent),
            "homepage" | "website" | "url" => {
                self.set_text(&entry, Self::text, |details| &mut details.homepage);
            }
            "emoji" => self.set_text(&entry, Self::text, |details| &mut details.emoji),
            "command-dispatch" | "command_dispatch" => {
                self.set_text(&entry, Self::text, |details| &mut details.command_dispatch);
            }
            "command-tool" | "command_tool" => {
                self.set_text(&entry, Self::text, |details| &mut details.command_tool);
            }
            "command-arg-mode" | "command_arg_mode" => {
                self.set_text(&entry, Self::text, |details| &mut details.command_arg_mode);
            }
            _ => self.skill.unknown.push(entry),
        }
    }

    fn set_text(
        &mut self,
        entry: &Entry,
        read: fn(&mut Self, &Entry) -> Option<String>,
        field: fn(&mut Details) -> &mut Option<String>,
    ) {
        if let Some(text) = read(self, entry) {
            *field(self.skill.details.get_or_insert_default()) = Some(text);
        }
    }

    fn set_list(
        &mut self,
        entry: &Entry,
        split: fn(&str) -> Vec<String>,
        field: fn(&mut Details) -> &mut Vec<String>,
    ) {
        let list = self.values.list(entry, split).unwrap_or_default();
        if !list.is_empty() {
            *field(self.skill.details.get_or_insert_default()) = list;
        }
    }

    fn name(&mut self, entry: &Entry) -> Option<String> {
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

    fn description(&mut self, entry: &Entry) -> Option<String> {
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

    fn compatibility(&mut self, entry: &Entry) -> Option<String> {
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

    /// Text that a model is shown: a list or mapping here makes the skill invalid.
    fn required_text(&mut self, entry: &Entry) -> Option<String> {
        match &entry.value.value {
            Value::Text(scalar) if scalar.is_null() => None,
            Value::Text(scalar) => {
                let cleaned = self.clean(&scalar.text, entry);
                self.check_structure(&cleaned, entry);
                if let Some(words) = conduct::claims_everything(&cleaned) {
                    let message = format!("`{}` claims \"{words}\"", entry.key);
                    self.report(Code::OverbroadTrigger, message, entry);
                }
                (!cleaned.is_empty()).then_some(cleaned)
            }
            Value::List(_) | Value::Map(_) => self.values.required_text(entry),
        }
    }

    /// Reports tags and markers with which a text would leave its place in a prompt.
    fn check_structure(&mut self, text: &str, entry: &Entry) {
        // Both begin with one of these, which few texts have.
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

    fn text(&mut self, entry: &Entry) -> Option<String> {
        self.values.text(entry)
    }

    /// `argument-hint: [file] [mode]` is meant as text and is a list only to YAML.
    fn hint(&mut self, entry: &Entry) -> Option<String> {
        match &entry.value.value {
            Value::List(items) => {
                let words: Vec<&str> = items.iter().filter_map(Node::as_text).collect();
                Some(self.clean(&format!("[{}]", words.join(", ")), entry))
            }
            _ => self.text(entry),
        }
    }

    fn metadata(&mut self, entry: Entry) {
        match entry.value.value {
            Value::Map(entries) => self.skill.metadata = entries,
            Value::Text(ref scalar) if scalar.is_null() => {}
            Value::Text(ref scalar) => {
                match requirements::json_to_node(&scalar.text, entry.value.position) {
                    Some(Node {
                        value: Value::Map(entries),
                        ..
                    }) => self.skill.metadata = entries,
                    // Text that means to be an object and is none may hide requirements: the skill is not offered.
                    _ if scalar.text.trim_start().starts_with('{') => {
                        let reason = "`metadata` is neither YAML nor JSON".to_owned();
                        self.report(Code::RequirementsUnreadable, reason.clone(), &entry);
                        self.skill.requirements = Some(Box::new(super::Requirements {
                            unreadable: Some(reason),
                            ..Default::default()
                        }));
                        self.skill.unknown.push(entry);
                    }
                    _ => {
                        self.values.wrong_kind::<()>(&entry, "a mapping");
                        self.skill.unknown.push(entry);
                    }
                }
            }
            Value::List(_) => {
                self.values.wrong_kind::<()>(&entry, "a mapping");
                self.skill.unknown.push(entry);
            }
        }
    }

    fn clean(&mut self, text: &str, entry: &Entry) -> String {
        clean(text, entry, self.values.diagnostics)
    }

    fn report(&mut self, code: Code, message: String, entry: &Entry) {
        self.values.report::<()>(code, message, entry);
    }
}

/// Text without control and hidden characters, trimmed; each kind found is reported once.
pub(crate) fn clean(text: &str, entry: &Entry, diagnostics: &mut Vec<Diagnostic>) -> String {
    if is_plain(text) {
        return text.trim().to_owned();
    }
    let mut cleaned = std::borrow::Cow::Borrowed(text);
    // Where a file begins it marks the order of bytes; a value does not begin a file.
    let mark = '\u{feff}';
    if text.starts_with(mark) || text.contains(is_control) {
        let kept: String = cleaned
            .replace("\r\n", "\n")
            .chars()
            .filter_map(|c| match c {
                // What a terminal takes for a line end separates words, so a space stands in for it.
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

/// The first tag in a text that belongs to the structure a model is shown.
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
