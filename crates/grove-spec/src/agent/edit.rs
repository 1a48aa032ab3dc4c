//! A change of one field of an agent file and of nothing else.
//!
//! The file is cut into the lines of its top-level keys; those of one key are replaced, removed or added, and every
//! other byte stays: comments, order, quoting, unknown keys, line ends. The result is read again before it is returned:
//! if any other field would mean something else, or the new one does not have the value asked for, the edit is refused.

use crate::fence::{self, line_at, lines};
use crate::skill::print::{double_quoted, scalar_text};
use crate::yaml::{self, Scalar, YamlEntry, YamlNode, YamlValue as Yaml};

use super::block_list::BlockList;
use super::{known_keys, split_items};

/// The new value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue {
    /// Text, a number or a switch, as written.
    Text(String),
    /// A list; written in the form of the list it replaces, or else with commas.
    List(Vec<String>),
}

impl FieldValue {
    /// Makes a value of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Makes a value of items.
    pub fn list<T: Into<String>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

/// The reason why a file was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditRefusal {
    /// The file has no frontmatter.
    NoFrontmatter,
    /// The frontmatter cannot be read, so the effect of a change is unknown.
    Unreadable,
    /// The key is not a plain word.
    Key,
    /// The key is written in a way that does not allow changing it alone.
    Entangled,
}

/// The file with one field set; the same text if it is set so already.
pub fn set(text: &str, key: &str, value: &FieldValue) -> Result<String, EditRefusal> {
    let file = EditedFile::read(text, key)?;
    let old = file.entry(key);
    if old.is_some_and(|entry| means(&entry.value, value)) {
        return Ok(text.to_owned());
    }
    let (span, lines) = match (file.span(key), old) {
        (Some(span), Some(entry)) => {
            let lines = file.replaced(span, entry, key, value);
            (span, lines)
        }
        (None, None) => {
            let end = file.start + file.block.len();
            let lines = format!("{key}: {}{}", written(value, None), file.line_end);
            ((end, end), lines)
        }
        _ => return Err(EditRefusal::Entangled),
    };
    let changed = file.with(span, &lines);
    file.check(&changed, key, Some(value))?;
    Ok(changed)
}

/// The file without one field; the same text if the field is not there.
pub fn remove(text: &str, key: &str) -> Result<String, EditRefusal> {
    let file = EditedFile::read(text, key)?;
    if file.entry(key).is_none() {
        return Ok(text.to_owned());
    }
    let span = file.span(key).ok_or(EditRefusal::Entangled)?;
    let changed = file.with(span, "");
    file.check(&changed, key, None)?;
    Ok(changed)
}

/// The file with double quotes around each text that Grove understood although it is not YAML. Nothing if there is no
/// such text, or if other readers would still not understand the same.
pub fn requoted(text: &str) -> Option<String> {
    let file = EditedFile::read(text, "name").ok()?;
    let mut changed = text.to_owned();
    // Goes from the last entry to the first, so that the places of the others stay the same.
    let mut entries: Vec<&YamlEntry> = file.entries.iter().collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.position.line));
    for entry in entries {
        let (start, end) = file.span(&entry.key)?;
        if is_yaml_alone(text.get(start..end)?, entry) {
            continue;
        }
        // A restriction is left for its author to correct.
        if (known_keys::KNOWN.restricts)(&entry.key) {
            return None;
        }
        let value = double_quoted(entry.value.as_text()?);
        let line = format!("{}: {value}{}", entry.key, file.line_end);
        changed.replace_range(start..end, &line);
    }
    let fenced = fence::split(&changed).ok()?;
    let read = yaml::read_block(fenced.frontmatter, FIRST_LINE, known_keys::KNOWN);
    let same = |(old, new): (&YamlEntry, &YamlEntry)| {
        let texts = old.value.as_text().zip(new.value.as_text());
        old.key == new.key
            && texts.map_or_else(
                || PlainValue::of(&old.value) == PlainValue::of(&new.value),
                |(old, new)| old == new,
            )
    };
    let is_right = changed != text
        && read.diagnostics.is_empty()
        && read.entries.len() == file.entries.len()
        && file.entries.iter().zip(&read.entries).all(same);
    is_right.then_some(changed)
}

/// Returns true if the lines of a key mean the same to every reader.
fn is_yaml_alone(lines: &str, entry: &YamlEntry) -> bool {
    let read = yaml::read_block(lines, FIRST_LINE, known_keys::KNOWN);
    let is_same = |alone: &YamlEntry| {
        alone.key == entry.key && PlainValue::of(&alone.value) == PlainValue::of(&entry.value)
    };
    entry.position.column == 1
        && read.diagnostics.is_empty()
        && read.entries.len() == 1
        && read.entries.iter().all(is_same)
}

/// The number of the frontmatter's first line.
const FIRST_LINE: u32 = 2;

type Span = (usize, usize);

struct EditedFile<'a> {
    text: &'a str,
    /// The frontmatter and its byte offset.
    block: &'a str,
    start: usize,
    entries: Vec<YamlEntry>,
    line_end: &'static str,
}

impl<'a> EditedFile<'a> {
    fn read(text: &'a str, key: &str) -> Result<Self, EditRefusal> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if key.is_empty() || key.len() > 64 || !key.chars().all(is_word) {
            return Err(EditRefusal::Key);
        }
        let fenced = fence::split(text).map_err(|_| EditRefusal::NoFrontmatter)?;
        let entries = readable(fenced.frontmatter).ok_or(EditRefusal::Unreadable)?;
        Ok(Self {
            text,
            block: fenced.frontmatter,
            start: fenced.frontmatter_offset,
            entries,
            line_end: fence::line_end(text),
        })
    }

    fn entry(&self, key: &str) -> Option<&YamlEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The lines of a key: from its own to the last one before the next key that is neither blank nor a comment.
    ///
    /// The reader gives the lines where keys begin, since these cannot always be told from the text.
    fn span(&self, key: &str) -> Option<Span> {
        let start = self.entry(key)?.position.line;
        let later = self.entries.iter().map(|entry| entry.position.line);
        let next_key = later.filter(|line| *line > start).min();
        let numbered = (FIRST_LINE..).zip(lines(self.block));
        let mut found = None;
        for (number, (offset, line, next)) in
            numbered.take_while(|(number, _)| next_key.is_none_or(|line| *number < line))
        {
            match &mut found {
                None if number == start => found = Some((offset, next)),
                // A comment in the first column after a value is about the next key.
                Some(span) if !line.trim().is_empty() && !line.starts_with('#') => span.1 = next,
                _ => {}
            }
        }
        found.map(|(start, end): Span| (self.start + start, self.start + end))
    }

    fn replaced(&self, span: Span, old: &YamlEntry, key: &str, value: &FieldValue) -> String {
        let lines = self.text.get(span.0..span.1).unwrap_or_default();
        let (first, next) = line_at(lines, 0);
        let is_one_line = next >= lines.len();
        // The reader also accepts colons and blanks that YAML does not; these are replaced.
        let colon = first.char_indices().find(|(_, c)| yaml::is_colon(*c));
        let (end, next_char) = colon.map_or((first.len(), first.len()), |(at, c)| {
            (at, at + c.len_utf8())
        });
        let mut before = first.get(..end).unwrap_or_default();
        // Blanks before one of several keys are a mistake, and go with its old value.
        if self.entries.iter().any(|entry| entry.position.column == 1) {
            before = before.trim_start();
        }
        let after = first.get(next_char..).unwrap_or_default();
        let rest = after.trim_start();
        let gap = match after.get(..after.len() - rest.len()) {
            Some(gap) if !rest.is_empty() && gap.starts_with([' ', '\t']) => gap,
            _ => " ",
        };
        if let (FieldValue::List(items), Yaml::List(nodes)) = (value, &old.value.value)
            && !items.is_empty()
            && !is_one_line
            && (rest.is_empty() || rest.starts_with('#'))
        {
            let (key_line, below) = lines.split_at(next);
            let list = BlockList::cut(below, nodes);
            if let Some(list) = list {
                return format!("{key_line}{}", list.with(items, self.line_end, plain));
            }
        }
        let comment = if is_one_line {
            trailing_comment(first, key, old)
        } else {
            ""
        };
        let end = first.len() - comment.len();
        let value_text = rest.get(..rest.len() - comment.len().min(rest.len()));
        let manner = ValueStyle::of(value_text.unwrap_or_default(), &old.value);
        let comment = first.get(end..).unwrap_or_default();
        format!(
            "{before}:{gap}{}{comment}{}",
            written(value, Some(manner)),
            self.line_end
        )
    }

    fn with(&self, span: Span, lines: &str) -> String {
        let before = self.text.get(..span.0).unwrap_or_default();
        let after = self.text.get(span.1..).unwrap_or_default();
        format!("{before}{lines}{after}")
    }

    /// Refuses a changed text in which any other key means something else.
    fn check(
        &self,
        changed: &str,
        key: &str,
        value: Option<&FieldValue>,
    ) -> Result<(), EditRefusal> {
        let entangled = Err(EditRefusal::Entangled);
        let Ok(fenced) = fence::split(changed) else {
            return entangled;
        };
        let body = self.text.get(self.start + self.block.len()..);
        if changed.get(fenced.frontmatter_offset + fenced.frontmatter.len()..) != body {
            return entangled;
        }
        let Some(entries) = readable(fenced.frontmatter) else {
            return entangled;
        };
        let others = |all: &[YamlEntry]| -> Vec<(String, PlainValue)> {
            let others = all.iter().filter(|entry| entry.key != key);
            others
                .map(|entry| (entry.key.to_string(), PlainValue::of(&entry.value)))
                .collect()
        };
        let new = entries.iter().find(|entry| entry.key == key);
        let as_asked = match (new, value) {
            (None, None) => true,
            (Some(new), Some(value)) => means(&new.value, value),
            _ => false,
        };
        if as_asked && others(&entries) == others(&self.entries) {
            Ok(())
        } else {
            entangled
        }
    }
}

/// The entries of a block; a block of blank lines and comments has none.
fn readable(block: &str) -> Option<Vec<YamlEntry>> {
    let is_aside = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if lines(block).all(|(_, line, _)| is_aside(line)) {
        return Some(Vec::new());
    }
    let read = yaml::read_block(block, FIRST_LINE, known_keys::KNOWN);
    let sound = !read.diagnostics.iter().any(crate::Diagnostic::is_error);
    sound.then_some(read.entries)
}

#[derive(PartialEq, Eq)]
enum PlainValue {
    Text(Scalar),
    List(Vec<PlainValue>),
    Map(Vec<(String, PlainValue)>),
}

impl PlainValue {
    // The parser limits the nesting of values, so the recursion is bounded.
    fn of(node: &YamlNode) -> Self {
        match &node.value {
            Yaml::Text(scalar) => Self::Text(scalar.clone()),
            Yaml::List(items) => Self::List(items.iter().map(Self::of).collect()),
            Yaml::Map(entries) => Self::Map(
                entries
                    .iter()
                    .map(|entry| (entry.key.to_string(), Self::of(&entry.value)))
                    .collect(),
            ),
        }
    }
}

/// Returns true if a node means the value; a list may be written with commas.
fn means(node: &YamlNode, value: &FieldValue) -> bool {
    match (&node.value, value) {
        (Yaml::Text(scalar), FieldValue::Text(text)) => {
            scalar.text == *text && (text.is_empty() || !scalar.is_null())
        }
        (Yaml::Text(scalar), FieldValue::List(items)) if scalar.is_null() => items.is_empty(),
        (Yaml::Text(scalar), FieldValue::List(items)) => split_items(&scalar.text) == *items,
        (Yaml::List(nodes), FieldValue::List(items)) => {
            nodes.len() == items.len()
                && nodes
                    .iter()
                    .zip(items)
                    .all(|(node, item)| node.as_text() == Some(item))
        }
        _ => false,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueStyle {
    Single,
    Double,
    Flow,
    Other,
}

impl ValueStyle {
    fn of(text: &str, node: &YamlNode) -> Self {
        match (&node.value, text.chars().next()) {
            (Yaml::Text(_), Some('\'')) => Self::Single,
            (Yaml::Text(_), Some('"')) => Self::Double,
            (Yaml::List(_), _) => Self::Flow,
            _ => Self::Other,
        }
    }
}

/// A value on one line, in the style of the old one if that can express it.
fn written(value: &FieldValue, manner: Option<ValueStyle>) -> String {
    let text = match value {
        FieldValue::Text(text) => text.clone(),
        FieldValue::List(items) => {
            let commas = items.join(", ");
            let as_commas = manner != Some(ValueStyle::Flow) && split_items(&commas) == *items;
            if !as_commas || items.is_empty() {
                let items: Vec<String> = items.iter().map(|item| in_flow(item)).collect();
                return format!("[{}]", items.join(", "));
            }
            commas
        }
    };
    let is_one_line =
        !text.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'));
    match manner {
        Some(ValueStyle::Single) if is_one_line => format!("'{}'", text.replace('\'', "''")),
        Some(ValueStyle::Double) => double_quoted(&text),
        _ => plain(&text),
    }
}

fn plain(text: &str) -> String {
    scalar_text(&Scalar {
        text: text.to_owned(),
        plain: false,
    })
}

/// An item of a list in brackets: plain only if nothing in it could be taken for the list's own characters.
fn in_flow(item: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let starts_well = item.starts_with(char::is_alphanumeric);
    if starts_well && item.chars().all(is_word) && plain(item) == item {
        item.to_owned()
    } else {
        double_quoted(item)
    }
}

/// The comment at the end of a line with a key and its value, with the blanks before it.
fn trailing_comment<'a>(line: &'a str, key: &str, old: &YamlEntry) -> &'a str {
    for (at, _) in line.match_indices('#') {
        let Some(before) = line.get(..at) else {
            continue;
        };
        let value = before.trim_end();
        if value.len() == before.len() {
            continue;
        }
        let read = readable(&format!("{value}\n"));
        let same = read.is_some_and(|entries| {
            matches!(entries.as_slice(), [entry] if entry.key == key
                && PlainValue::of(&entry.value) == PlainValue::of(&old.value))
        });
        if same {
            return line.get(value.len()..).unwrap_or_default();
        }
    }
    ""
}
