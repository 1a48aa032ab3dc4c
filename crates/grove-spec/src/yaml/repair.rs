//! The reading of text that people write as YAML but that is not: an unquoted colon, a value that starts with a sign
//! YAML reserves, a stray quote.
//!
//! A block that only needs its blanks corrected is corrected. Otherwise it is cut into its top-level entries; each that
//! is YAML on its own is taken as YAML, any other as the text a person sees there. Every repair is a diagnostic. A key
//! that restricts is never lost in a text: if its value is not clear, it gets a value that no key accepts.

use std::borrow::Cow;

use super::cut::{KeyChunk, cut, decorated_key, nested_key, written_key};
use super::events::{self, YamlRefusal, YamlRefusalKind};
use super::{
    IsKnown, KeySpelling, KnownKeys, YamlBlock, YamlEntry, YamlNode, YamlValue, key, lenient,
};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::fence::{line_at, lines};

/// Reads a refused block, or returns it with the refusal as its finding.
pub(super) fn repair(
    text: &str,
    first_line: u32,
    refusal: YamlRefusal,
    known: KnownKeys,
) -> YamlBlock {
    let mut block = repaired(text, first_line, refusal, known);
    if !block.diagnostics.iter().any(Diagnostic::is_error) {
        keep_restrictions(&mut block.entries, text, first_line, known.restricts);
    }
    block
}

/// Adds the restricting keys that the repair took for a part of another key's text.
fn keep_restrictions(
    entries: &mut Vec<YamlEntry>,
    text: &str,
    first_line: u32,
    restricts: IsKnown,
) {
    let (mut offset, mut number) = (0, first_line);
    while offset < text.len() {
        let (line, next) = line_at(text, offset);
        // Other readers also end lines at these characters.
        for line in line.split(['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']) {
            let words = [written_key(line), decorated_key(line).map(Into::into)];
            let mut words = words.into_iter().flatten().filter(|word| restricts(word));
            let is_new = |word: &Cow<'_, str>| !entries.iter().any(|entry| entry.key == **word);
            if let Some(word) = words.next().filter(is_new) {
                let indent = line.len() - line.trim_start().len();
                let position = Position::new(number, u32::try_from(indent + 1).unwrap_or(1));
                entries.push(YamlEntry {
                    key: key(&word),
                    position,
                    value: unreadable_value(position),
                });
            }
        }
        offset = next;
        number = number.saturating_add(1);
    }
}

/// A value that no key accepts.
fn unreadable_value(position: Position) -> YamlNode {
    let inner = YamlNode::new(YamlValue::List(Vec::new()), position);
    YamlNode::new(YamlValue::List(vec![inner]), position)
}

fn repaired(text: &str, first_line: u32, refusal: YamlRefusal, known: KnownKeys) -> YamlBlock {
    let is_known = known.is_known;
    let refused = |diagnostic: Diagnostic| YamlBlock {
        entries: Vec::new(),
        diagnostics: vec![diagnostic],
    };
    if refusal.kind == YamlRefusalKind::Guard {
        return refused(refusal.diagnostic);
    }
    if let Some((entries, diagnostics)) = lenient::parse(text, first_line) {
        return YamlBlock {
            entries,
            diagnostics,
        };
    }
    let Some(chunks) = cut(text, first_line, is_known) else {
        return refused(refusal.diagnostic);
    };
    // A colon alone does not make a text a list of keys.
    if refusal.diagnostic.code == Code::YamlNotMapping
        && !chunks.iter().any(|chunk| is_known(chunk.key))
    {
        return refused(refusal.diagnostic);
    }
    let mut block = YamlBlock::default();
    for chunk in &chunks {
        let repaired = match chunk.read(known.restricts) {
            Ok(read) => read,
            Err(diagnostic) => return refused(diagnostic),
        };
        if let Some(first) = block
            .entries
            .iter()
            .find(|entry| entry.key == repaired.entry.key)
        {
            let message = format!(
                "key `{}` appears twice, first in line {}",
                chunk.key, first.position.line
            );
            let finding = Diagnostic::new(Code::DuplicateKey, message);
            return refused(finding.at(repaired.entry.position));
        }
        block.diagnostics.extend(repaired.findings);
        block.entries.push(repaired.entry);
    }
    // If every entry is YAML on its own but the whole is not, the repair has not found the fault.
    if block.diagnostics.is_empty() {
        return refused(refusal.diagnostic);
    }
    block
}

struct RepairedEntry {
    entry: YamlEntry,
    findings: Vec<Diagnostic>,
}

impl KeyChunk<'_> {
    fn read(&self, restricts: IsKnown) -> Result<RepairedEntry, Diagnostic> {
        let mut findings: Vec<Diagnostic> = self.odd_sign().into_iter().collect();
        let refusal = match events::parse(&self.text, self.line) {
            Ok(entries) => match self.alone(entries) {
                Some(entry) => return Ok(RepairedEntry { entry, findings }),
                None => None,
            },
            Err(refusal) => Some(refusal),
        };
        if let Some((entries, put_right)) = lenient::parse(&self.text, self.line)
            && let Some(entry) = self.alone(entries)
        {
            findings.extend(put_right);
            return Ok(RepairedEntry { entry, findings });
        }
        if let Some(refusal) = &refusal
            && refusal.kind == YamlRefusalKind::Guard
            && !self.is_prose()
        {
            return Err(refusal.diagnostic.clone());
        }
        let value = match self.as_nested_keys() {
            Some(value) => value,
            None if restricts(self.key) && !self.ends_on_its_line() => {
                unreadable_value(self.value_position())
            }
            None => self.as_text(),
        };
        findings.push(self.as_text_finding(refusal.as_ref()));
        Ok(RepairedEntry {
            entry: YamlEntry {
                key: key(self.key),
                position: self.position(),
                value,
            },
            findings,
        })
    }

    fn position(&self) -> Position {
        Position::new(self.line, u32::try_from(self.indent + 1).unwrap_or(1))
    }

    /// Returns the entry if it is the only one and has this key.
    fn alone(&self, mut entries: Vec<YamlEntry>) -> Option<YamlEntry> {
        let mut entry = entries.pop()?;
        if !entries.is_empty() || entry.key != self.key {
            return None;
        }
        if self.sign != KeySpelling::Proper {
            // The entry was read from a line that was written anew, so its position is not that of the file.
            entry.position = self.position();
            if entry.value.position.line == self.line {
                entry.value.position = self.value_position();
            }
        }
        Some(entry)
    }

    fn value_position(&self) -> Position {
        let value = self.value.trim_start_matches([' ', '\t']);
        let before = self.indent + self.key.chars().count() + 1;
        let column = before + self.value.len() - value.len() + 1;
        Position::new(self.line, u32::try_from(column).unwrap_or(1))
    }

    /// The finding about a key that is not written as YAML requires.
    fn odd_sign(&self) -> Option<Diagnostic> {
        let (what, help) = match self.sign {
            KeySpelling::Proper => return None,
            KeySpelling::Indented => (
                "has a blank too many before it and was read as a key".to_owned(),
                "begin the key in the first column",
            ),
            KeySpelling::NoBlank => (
                "has no blank after its colon".to_owned(),
                "write a blank after the colon",
            ),
            KeySpelling::Blank(blank) => (
                format!("has {} after its colon in place of a blank", named(blank)),
                "write a blank after the colon",
            ),
            KeySpelling::Colon(colon) => (
                format!("has {} after it in place of a colon", named(colon)),
                "write `:` and a blank",
            ),
        };
        let finding = Diagnostic::new(Code::YamlRepaired, format!("`{}` {what}", self.key));
        Some(finding.with_help(help).at(self.position()))
    }

    fn as_text_finding(&self, refusal: Option<&YamlRefusal>) -> Diagnostic {
        let Some(first) = self.flush else {
            let why = refusal.map_or_else(String::new, |refusal| {
                format!(" ({})", refusal.diagnostic.message)
            });
            let message = format!("`{}` was read as plain text{why}", self.key);
            let finding = Diagnostic::new(Code::YamlRepaired, message);
            // A missing end is noticed only after the value.
            let n_lines = u32::try_from(self.text.trim_end().lines().count()).unwrap_or(1);
            let is_within = |at: &Position| at.line < self.line.saturating_add(n_lines);
            let fault = refusal.and_then(|refusal| refusal.diagnostic.position);
            let fault = fault.filter(is_within);
            return finding.at(fault.unwrap_or_else(|| self.position()));
        };
        let message = format!(
            "`{}` goes on in lines that are not indented; everything up to the next key was read as its text",
            self.key
        );
        let help = format!(
            "write `{}: |` and the text below it, indented by two blanks",
            self.key
        );
        let finding = Diagnostic::new(Code::YamlRepaired, message);
        finding.with_help(help).at(Position::new(first, 1))
    }

    /// Returns true if the value is on the key's line alone, without brackets or quotes that may go on.
    fn ends_on_its_line(&self) -> bool {
        let value = without_comments_after(self.value).trim();
        !value.starts_with(['[', '{', '"', '\'', '|', '>']) && !value.contains(['\n', '\r'])
    }

    /// Returns true if the value starts on the key's line with a sign that prose may start with.
    ///
    /// Aliases and single-mark tags look like `*emphasis*` and `!important`; a list, mapping or type tag does not.
    fn is_prose(&self) -> bool {
        let value = self.value.trim_start();
        let is_marked = value.starts_with(['&', '!', '*']);
        (value.starts_with('*') && value.contains(' ')) || (self.flush.is_some() && !is_marked)
    }

    /// The text that a person sees: quotes at both ends removed, lines joined.
    fn as_text(&self) -> YamlNode {
        let trimmed = without_comments_after(self.value).trim();
        let block = trimmed.strip_prefix(['>', '|']).map(|rest| {
            rest.trim_start_matches(['-', '+', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        });
        let (prose, literal) = match block {
            Some(rest) if rest.starts_with(['\n', '\r']) => (rest.trim(), trimmed.starts_with('|')),
            _ => (trimmed, false),
        };
        let unquoted = strip_quotes(prose);
        let lines = unquoted.lines().flat_map(|line| line.split('\r'));
        let text = joined(lines.map(str::trim), literal);
        // Prose that looks like `null` is still prose, so it is never a plain scalar.
        YamlNode::text(text.trim(), self.value_position())
    }

    /// Reads `key: value` lines at one indent below an empty value, each as text if it is not YAML.
    fn as_nested_keys(&self) -> Option<YamlNode> {
        let (first, _) = line_at(self.value, 0);
        if !first.trim().is_empty() {
            return None;
        }
        let mut entries: Vec<YamlEntry> = Vec::new();
        let mut indent = None;
        for (number, (offset, line, _)) in (self.line..).zip(lines(self.value)) {
            let content = line.trim_start_matches([' ', '\t']);
            if offset > 0 && !content.is_empty() && !content.starts_with('#') {
                let this = line.len() - content.len();
                let same_level = *indent.get_or_insert(this) == this && this > 0;
                let (key, key_length) = nested_key(content).filter(|_| same_level)?;
                let value = content.get(key_length + 1..)?.trim();
                if entries.iter().any(|entry| entry.key == key) {
                    return None;
                }
                let position = Position::new(number, u32::try_from(this + 1).ok()?);
                let node = match events::parse_value(value, number) {
                    // `author: me: myself` is a sentence with a colon, not a mapping in a mapping.
                    Ok(Some(YamlNode {
                        value: YamlValue::Map(_),
                        ..
                    })) if !value.starts_with('{') => YamlNode::text(value, position),
                    Ok(Some(node)) => YamlNode { position, ..node },
                    Ok(None) => YamlNode::plain("", position),
                    Err(refusal) if refusal.kind == YamlRefusalKind::Syntax => {
                        YamlNode::text(strip_quotes(value), position)
                    }
                    Err(_) => return None,
                };
                entries.push(YamlEntry {
                    key: super::key(key),
                    position,
                    value: node,
                });
            }
        }
        let position = Position::new(self.line + 1, u32::try_from(indent? + 1).ok()?);
        Some(YamlNode::new(YamlValue::Map(entries), position))
    }
}

/// Joins lines to one text: as they are, or as YAML folds them, where an empty line is a line end.
fn joined<'a>(lines: impl Iterator<Item = &'a str>, literal: bool) -> String {
    let mut text = String::new();
    let (mut is_first, mut blanks) = (true, 0);
    for line in lines {
        if line.is_empty() && !literal {
            blanks += 1;
            continue;
        }
        match (is_first, literal, blanks) {
            (true, ..) => {}
            (_, true, _) => text.push('\n'),
            (_, false, 0) => text.push(' '),
            (_, false, _) => text.extend(std::iter::repeat_n('\n', blanks)),
        }
        text.push_str(line);
        (is_first, blanks) = (false, 0);
    }
    text
}

/// The lines of a value without the comments in the first column after its last line, which are about the next key.
fn without_comments_after(value: &str) -> &str {
    let mut end = 0;
    for (offset, line, next) in lines(value) {
        if offset == 0 || !(line.trim().is_empty() || line.starts_with('#')) {
            end = next;
        }
    }
    value.get(..end).unwrap_or(value)
}

/// A character that is easily taken for another, by name and number.
fn named(c: char) -> String {
    let name = match c {
        '\u{a0}' => "a no-break space",
        '\u{3000}' => "an ideographic space",
        '\u{ff1a}' => "a full-width colon",
        c if c.is_whitespace() => "another space",
        _ => "another sign",
    };
    format!("{name} (U+{:04X})", u32::from(c))
}

/// Text without the quotes around the whole of it.
///
/// `'it's broken'` is quoted as a whole; `"Quick" and "easy"` is not: its second quote closes a word.
fn strip_quotes(text: &str) -> &str {
    for quote in ['"', '\''] {
        let Some(inner) = text
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        else {
            continue;
        };
        let closes_a_word = inner.find(quote).is_some_and(|at| {
            let before = inner
                .get(..at)
                .and_then(|before| before.chars().next_back());
            let after = inner.get(at + 1..).and_then(|after| after.chars().next());
            before.is_some_and(|c| !c.is_whitespace()) && !after.is_some_and(char::is_alphanumeric)
        });
        return if closes_a_word { text } else { inner };
    }
    text
}

#[cfg(test)]
mod tests;
