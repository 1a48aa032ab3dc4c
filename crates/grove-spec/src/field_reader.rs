//! Values of frontmatter by the kinds that they must have, for skills and agents alike.

use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::skill::fields::{clean, parse_boolean};
use crate::yaml::{YamlEntry, YamlValue};

/// A reader of frontmatter values, which reports those of the wrong kind.
pub(crate) struct FieldReader<'a> {
    pub(crate) diagnostics: &'a mut Vec<Diagnostic>,
    /// For a restricting key: the code of a value that cannot be read, and the reading that counts instead, in words.
    strictest: Option<(Code, &'static str)>,
    /// Set if the value that was read last is not of its kind.
    is_unread: bool,
}

impl<'a> FieldReader<'a> {
    pub(crate) fn new(diagnostics: &'a mut Vec<Diagnostic>) -> Self {
        Self {
            diagnostics,
            strictest: None,
            is_unread: false,
        }
    }

    /// Reads a key that restricts; nothing if any part of its value cannot be read, which is an error.
    pub(crate) fn restricting<T>(
        &mut self,
        code: Code,
        strictest: &'static str,
        read: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        self.strictest = Some((code, strictest));
        self.is_unread = false;
        let value = read(self);
        self.strictest = None;
        (!self.is_unread).then_some(value)
    }

    /// Reads optional text; anything else is left out with a warning.
    pub(crate) fn text(&mut self, entry: &YamlEntry) -> Option<String> {
        match &entry.value.value {
            YamlValue::Text(scalar) if scalar.is_null() => None,
            YamlValue::Text(scalar) => {
                Some(clean(&scalar.text, entry, self.diagnostics)).filter(|text| !text.is_empty())
            }
            YamlValue::List(_) | YamlValue::Map(_) => self.wrong_kind(entry, "text"),
        }
    }

    /// Reads text that a file needs: a list or mapping makes the file invalid.
    pub(crate) fn required_text(&mut self, entry: &YamlEntry) -> Option<String> {
        if let YamlValue::Text(_) = entry.value.value {
            return self.text(entry);
        }
        let message = format!("`{}` is {}, not text", entry.key, entry.value.kind());
        self.report(Code::FieldRequiredType, message, entry)
    }

    /// Reads a list, or text that is split; nothing when there is no value.
    pub(crate) fn list(
        &mut self,
        entry: &YamlEntry,
        split: fn(&str) -> Vec<String>,
    ) -> Option<Vec<String>> {
        match &entry.value.value {
            YamlValue::Text(scalar) if scalar.is_null() => None,
            YamlValue::Text(scalar) => Some(split(&clean(&scalar.text, entry, self.diagnostics))),
            YamlValue::List(items) => {
                let mut texts = Vec::with_capacity(items.len());
                for text in items.iter().filter_map(|item| item.as_text()) {
                    texts.push(clean(text, entry, self.diagnostics));
                }
                if texts.len() != items.len() {
                    self.wrong_kind::<()>(entry, "a list of texts");
                }
                texts.retain(|text| !text.is_empty());
                Some(texts)
            }
            YamlValue::Map(switches) if self.strictest.is_some() => match switched_on(switches) {
                Some(names) => Some(names),
                None => self.wrong_kind(entry, "text, a list, or names with `true` or `false`"),
            },
            YamlValue::Map(_) => self.wrong_kind(entry, "text or a list"),
        }
    }

    pub(crate) fn boolean(&mut self, entry: &YamlEntry) -> Option<bool> {
        let parsed = entry.value.as_text().and_then(parse_boolean);
        if parsed.is_none() && !entry.value.is_null() {
            return self.wrong_kind(entry, "true or false");
        }
        parsed
    }

    /// Reads a switch that must have a value.
    pub(crate) fn required_boolean(&mut self, entry: &YamlEntry) -> Option<bool> {
        if entry.value.is_null() {
            return self.wrong_kind(entry, "true or false");
        }
        self.boolean(entry)
    }

    pub(crate) fn wrong_kind<T>(&mut self, entry: &YamlEntry, wanted: &str) -> Option<T> {
        let message = format!("`{}` is {}, not {wanted}", entry.key, entry.value.kind());
        self.report(Code::FieldType, message, entry)
    }

    pub(crate) fn report<T>(
        &mut self,
        code: Code,
        message: String,
        entry: &YamlEntry,
    ) -> Option<T> {
        let finding = match self.strictest.filter(|_| code == Code::FieldType) {
            Some((code, strictest)) => {
                self.is_unread = true;
                let message = match code {
                    Code::RestrictionUnreadable => {
                        format!("{message}, so the strictest reading is used: {strictest}")
                    }
                    _ => message,
                };
                Diagnostic::new(code, message)
            }
            None => Diagnostic::new(code, message),
        };
        self.diagnostics.push(finding.at(entry.value.position));
        None
    }
}

/// The names of a mapping that are switched on; nothing if it switches on `*` or has a value that is no switch.
pub(crate) fn switched_on(switches: &[YamlEntry]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for switch in switches {
        let is_on = parse_boolean(switch.value.as_text()?)?;
        match (&*switch.key, is_on) {
            ("*", true) => return None,
            (name, true) => names.push(name.trim().to_owned()),
            (_, false) => {}
        }
    }
    Some(names)
}
