//! Changing one field of an agent file and nothing else.
//!
//! The file is cut into the lines of its top-level keys; those of one key are replaced, removed or added, and
//! every other byte stays: comments, order, quoting, unknown keys, line ends. The result is read again before
//! it is given: if any other field would mean something else, or the new one not what was asked for, the edit
//! is refused.

use crate::fence::{self, line_at, lines};
use crate::skill::print::{double_quoted, scalar_text};
use crate::yaml::{self, Entry, Node, Scalar, Value as Yaml};

use super::block_list::BlockList;
use super::{known_keys, split_items};

/// A field's new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue {
    /// Text, a number or a switch, as written.
    Text(String),
    /// A list; written as the list that was there, or else with commas.
    List(Vec<String>),
}

impl FieldValue {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A list.
    pub fn list<T: Into<String>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

/// Why a file was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditRefusal {
    /// It has no frontmatter.
    NoFrontmatter,
    /// Its frontmatter cannot be read, so nobody knows what a change would do.
    Unreadable,
    /// The key is not a plain word.
    Key,
    /// It is written in a way in which one field cannot be changed alone.
    Entangled,
}

/// The file with one field set; the same text when it is set so already.
pub fn set(text: &str, key: &str, value: &FieldValue) -> Result<String, EditRefusal> {
    let file = File::read(text, key)?;
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

/// The file without one field; the same text when it is not there.
pub fn remove(text: &str, key: &str) -> Result<String, EditRefusal> {
    let file = File::read(text, key)?;
    if file.entry(key).is_none() {
        return Ok(text.to_owned());
    }
    let span = file.span(key).ok_or(EditRefusal::Entangled)?;
    let changed = file.with(span, "");
    file.check(&changed, key, None)?;
    Ok(changed)
}

/// The file with each text in double quotes that was understood although it is not YAML; none where there is no such text, or
/// where other readers would still not understand the same.
pub fn requoted(text: &str) -> Option<String> {
    let file = File::read(text, "name").ok()?;
    let mut changed = text.to_owned();
    // From the last one up, so that the places of the others stay what they are.
    let mut entries: Vec<&Entry> = file.entries.iter().collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.position.line));
    for entry in entries {
        let (start, end) = file.span(&entry.key)?;
        if is_yaml_alone(text.get(start..end)?, entry) {
            continue;
        }
        // What keeps an agent from something is its author's to say.
        if (known_keys::KNOWN.restricts)(&entry.key) {
            return None;
        }
        let value = double_quoted(entry.value.as_text()?);
        let line = format!("{}: {value}{}", entry.key, file.line_end);
        changed.replace_range(start..end, &line);
    }
    let fenced = fence::split(&changed).ok()?;
    let read = yaml::read_block(fenced.frontmatter, FIRST_LINE, known_keys::KNOWN);
    let same = |(old, new): (&Entry, &Entry)| {
        let texts = old.value.as_text().zip(new.value.as_text());
        old.key == new.key
            && texts.map_or_else(
                || Plain::of(&old.value) == Plain::of(&new.value),
                |(old, new)| old == new,
            )
    };
    let is_right = changed != text
        && read.diagnostics.is_empty()
        && read.entries.len() == file.entries.len()
        && file.entries.iter().zip(&read.entries).all(same);
    is_right.then_some(changed)
}

/// Whether the lines of a key say the same to every reader.
fn is_yaml_alone(lines: &str, entry: &Entry) -> bool {
    let read = yaml::read_block(lines, FIRST_LINE, known_keys::KNOWN);
    let is_same = |alone: &Entry| {
        alone.key == entry.key && Plain::of(&alone.value) == Plain::of(&entry.value)
    };
    entry.position.column == 1
        && read.diagnostics.is_empty()
        && read.entries.len() == 1
        && read.entries.iter().all(is_same)
}

/// The number of the frontmatter's first line.
const FIRST_LINE: u32 = 2;

/// A range of bytes of the file.
type Span = (usize, usize);

struct File<'a> {
    text: &'a str,
    /// The frontmatter and where it starts.
    block: &'a str,
    start: usize,
    entries: Vec<Entry>,
    line_end: &'static str,
}

impl<'a> File<'a> {
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

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The lines of a key: from its own to the last that is neither blank nor a comment before the next key.
    ///
    /// The reader knows where keys begin, also where that is not plain to see.
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
                // A comment in the first column after a value is about what follows.
                Some(span) if !line.trim().is_empty() && !line.starts_with('#') => span.1 = next,
                _ => {}
            }
        }
        found.map(|(start, end): Span| (self.start + start, self.start + end))
    }

    /// The lines of a key with another value, in the manner of the old ones.
    fn replaced(&self, span: Span, old: &Entry, key: &str, value: &FieldValue) -> String {
        let lines = self.text.get(span.0..span.1).unwrap_or_default();
        let (first, next) = line_at(lines, 0);
        let is_one_line = next >= lines.len();
        // A key may be followed by another colon or blank than YAML's, and is not any longer.
        let colon = first.char_indices().find(|(_, c)| yaml::is_colon(*c));
        let (end, next_char) = colon.map_or((first.len(), first.len()), |(at, c)| {
            (at, at + c.len_utf8())
        });
        let mut before = first.get(..end).unwrap_or_default();
        // Blanks before one key of several are a slip, and go with its old value.
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
        let manner = Manner::of(value_text.unwrap_or_default(), &old.value);
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

    /// Whether a changed text means the same but for one key.
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
        let others = |all: &[Entry]| -> Vec<(String, Plain)> {
            let others = all.iter().filter(|entry| entry.key != key);
            others
                .map(|entry| (entry.key.to_string(), Plain::of(&entry.value)))
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
fn readable(block: &str) -> Option<Vec<Entry>> {
    let is_aside = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if lines(block).all(|(_, line, _)| is_aside(line)) {
        return Some(Vec::new());
    }
    let read = yaml::read_block(block, FIRST_LINE, known_keys::KNOWN);
    let sound = !read.diagnostics.iter().any(crate::Diagnostic::is_error);
    sound.then_some(read.entries)
}

/// A value without its positions.
#[derive(PartialEq, Eq)]
enum Plain {
    Text(Scalar),
    List(Vec<Plain>),
    Map(Vec<(String, Plain)>),
}

impl Plain {
    // Values are nested no deeper than the parser allows.
    fn of(node: &Node) -> Self {
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

/// Whether a node says what a value says; a list may be written with commas.
fn means(node: &Node, value: &FieldValue) -> bool {
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

/// How a value was written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Single,
    Double,
    Flow,
    Other,
}

impl Manner {
    fn of(text: &str, node: &Node) -> Self {
        match (&node.value, text.chars().next()) {
            (Yaml::Text(_), Some('\'')) => Self::Single,
            (Yaml::Text(_), Some('"')) => Self::Double,
            (Yaml::List(_), _) => Self::Flow,
            _ => Self::Other,
        }
    }
}

/// A value on one line, in the manner of the old one where that can say it.
fn written(value: &FieldValue, manner: Option<Manner>) -> String {
    let text = match value {
        FieldValue::Text(text) => text.clone(),
        FieldValue::List(items) => {
            let commas = items.join(", ");
            let as_commas = manner != Some(Manner::Flow) && split_items(&commas) == *items;
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
        Some(Manner::Single) if is_one_line => format!("'{}'", text.replace('\'', "''")),
        Some(Manner::Double) => double_quoted(&text),
        _ => plain(&text),
    }
}

fn plain(text: &str) -> String {
    scalar_text(&Scalar {
        text: text.to_owned(),
        plain: false,
    })
}

/// An item of a list in brackets: plain only when nothing in it could be taken for the list's own signs.
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
fn trailing_comment<'a>(line: &'a str, key: &str, old: &Entry) -> &'a str {
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
                && Plain::of(&entry.value) == Plain::of(&old.value))
        });
        if same {
            return line.get(value.len()..).unwrap_or_default();
        }
    }
    ""
}
