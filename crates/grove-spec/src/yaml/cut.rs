//! The cutting of a block that is not valid YAML into its top-level keys and the lines of each.
//!
//! A proper key is in the first column with a colon and a blank after it. Other spellings (one blank too many before
//! the key, none after the colon, another blank or colon than YAML's) count as a key only if the word is one of the
//! keys that the file may have, and no other line of the file is that key. A text that goes on in lines without indent
//! goes on up to the next such key: `Context:` and `user:` of an example are no keys.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::lenient::{closed_length, is_nothing};
use super::{IsKnown, KeySpelling, events};
use crate::fence::{line_at, lines};

/// One top-level key with the lines that belong to it.
pub(super) struct KeyChunk<'a> {
    pub(super) key: &'a str,
    /// From the first character after the key's colon to the end of its last line.
    pub(super) value: &'a str,
    /// The whole entry in the form that YAML requires.
    pub(super) text: Cow<'a, str>,
    pub(super) line: u32,
    pub(super) indent: usize,
    pub(super) sign: KeySpelling,
    /// The number of the first line of its text that is not indented.
    pub(super) flush: Option<u32>,
}

/// Cuts a block; nothing if it is not a list of keys.
pub(super) fn cut(text: &str, first_line: u32, is_known: IsKnown) -> Option<Vec<KeyChunk<'_>>> {
    let lines = SourceLine::all(text, first_line);
    let proper: BTreeSet<&str> = lines
        .iter()
        .filter_map(|line| KeyLine::proper(line.text))
        .map(|key_line| key_line.key)
        .collect();
    let mut cutter = BlockCutter {
        text,
        is_known,
        proper,
        taken: BTreeSet::new(),
        starts: Vec::new(),
        inside_until: 0,
        left: text.len().saturating_mul(4),
    };
    for line in &lines {
        cutter.take(line)?;
    }
    cutter.chunks()
}

struct SourceLine<'a> {
    text: &'a str,
    offset: usize,
    number: u32,
}

impl<'a> SourceLine<'a> {
    fn all(text: &'a str, first_line: u32) -> Vec<Self> {
        let numbered = (first_line..).zip(lines(text));
        let all = numbered.map(|(number, (offset, text, _))| SourceLine {
            text,
            offset,
            number,
        });
        all.collect()
    }

    /// Returns true if the line is blank, or a comment in the first column.
    fn is_blank_or_comment(&self) -> bool {
        self.text.trim().is_empty() || self.text.starts_with('#')
    }
}

struct KeyLine<'a> {
    key: &'a str,
    /// Number of bytes of the line up to and with the colon.
    length: usize,
    indent: usize,
    spelling: KeySpelling,
}

impl<'a> KeyLine<'a> {
    /// Reads a key in the first column with a colon and a blank after it.
    fn proper(line: &'a str) -> Option<Self> {
        Self::read(line).filter(|key_line| key_line.spelling == KeySpelling::Proper)
    }

    fn read(line: &'a str) -> Option<Self> {
        let inner = line.trim_start_matches(' ');
        let indent = line.len() - inner.len();
        let (at, colon) = inner
            .char_indices()
            .find(|(_, c)| is_colon(*c))
            .filter(|(at, _)| *at > 0)?;
        let key = word(inner.get(..at)?)?;
        let after = inner.get(at + colon.len_utf8()..)?;
        let sign = match after.chars().next() {
            _ if colon != ':' => KeySpelling::Colon(colon),
            None | Some(' ' | '\t') if indent > 0 => KeySpelling::Indented,
            None | Some(' ' | '\t') => KeySpelling::Proper,
            Some(blank) if blank.is_whitespace() => KeySpelling::Blank(blank),
            Some(_) => KeySpelling::NoBlank,
        };
        Some(Self {
            key,
            length: indent + at + colon.len_utf8(),
            indent,
            spelling: sign,
        })
    }
}

/// Returns true for the colon of YAML and for characters that look like it.
pub(crate) fn is_colon(c: char) -> bool {
    matches!(c, ':' | '\u{ff1a}' | '\u{fe55}' | '\u{2236}' | '\u{a789}')
}

/// The word of a key, in quotes or not.
fn word(key: &str) -> Option<&str> {
    let bare = key.trim_end().trim_matches(['"', '\'']);
    let first = bare.chars().next()?;
    let fits = (first.is_alphanumeric() || first == '_')
        && bare.len() <= 64
        && bare
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    fits.then_some(bare)
}

/// The key at the beginning of an indented line, and its length up to the colon.
pub(super) fn nested_key(content: &str) -> Option<(&str, usize)> {
    let colon = content.find(':')?;
    Some((word(content.get(..colon)?)?, colon))
}

/// The key of a line, after any blanks, brackets, anchor, tag or question mark.
pub(super) fn written_key(line: &str) -> Option<Cow<'_, str>> {
    let mut rest = line.trim_start_matches(|c: char| c.is_whitespace() || "{[,".contains(c));
    let is_explicit = rest.starts_with('?');
    while rest.starts_with(['&', '!', '?', '-', '*']) {
        rest = rest.split_once(char::is_whitespace)?.1.trim_start();
    }
    if rest.starts_with('"') {
        let (quoted, after) = rest.split_at_checked(closed_length(rest)?)?;
        let key = events::parse_value(quoted, 1).ok()??;
        let is_key = is_explicit || after.trim_start().starts_with(is_colon);
        let text = key.as_text().filter(|_| is_key)?;
        return Some(text.to_owned().into());
    }
    let end = rest.find(is_colon).or(is_explicit.then_some(rest.len()))?;
    word(rest.get(..end)?).map(Cow::Borrowed)
}

/// The key of a line with decoration around it or another sign after it: `**key**: value`, `> key = value`.
pub(super) fn decorated_key(line: &str) -> Option<&str> {
    let is_sign = |c: char| !c.is_alphanumeric();
    let rest = line.trim_start_matches(is_sign);
    let (word, _) = rest.split_once(|c| is_colon(c) || c == '=')?;
    Some(word.trim_end_matches(is_sign))
}

struct KeyStart<'a> {
    offset: usize,
    line: u32,
    key_line: KeyLine<'a>,
    /// Set as long as the key's own line is the only one.
    is_alone: bool,
    /// Set if the value is a text, which may go on in lines that are not indented.
    is_text: bool,
    flush: Option<u32>,
}

struct BlockCutter<'a> {
    text: &'a str,
    is_known: IsKnown,
    /// The keys that are written as YAML requires.
    proper: BTreeSet<&'a str>,
    /// The keys that were found so far.
    taken: BTreeSet<&'a str>,
    starts: Vec<KeyStart<'a>>,
    /// Byte offset at which the brackets or quotes close that a key's line opened.
    inside_until: usize,
    /// Bytes that may still be searched for closing brackets, so that a file full of brackets does not cost more.
    left: usize,
}

impl<'a> BlockCutter<'a> {
    fn take(&mut self, line: &SourceLine<'a>) -> Option<()> {
        if line.offset < self.inside_until {
            return Some(());
        }
        if let Some(key_line) = KeyLine::read(line.text)
            && self.is_key(&key_line, line.text)
        {
            self.start(line, key_line);
            return Some(());
        }
        let Some(last) = self.starts.last_mut() else {
            return line.is_blank_or_comment().then_some(());
        };
        if line.is_blank_or_comment() {
            return Some(());
        }
        // A list may begin in the first column, and so may the bracket that closes one.
        let is_flush = !line.text.starts_with([' ', '\t', ']', '}'])
            && line.text != "-"
            && !line.text.starts_with("- ");
        if is_flush && last.is_alone && !last.is_text {
            last.is_text = last.key_line.length == last.text_length(self.text);
        }
        if is_flush && last.is_text {
            last.flush.get_or_insert(line.number);
        }
        last.is_alone = false;
        Some(())
    }

    fn is_key(&self, key_line: &KeyLine<'_>, line: &str) -> bool {
        let last = self.starts.last();
        let in_flush_text = last.is_some_and(|last| last.flush.is_some());
        let is_known = (self.is_known)(key_line.key);
        let is_free = !self.proper.contains(key_line.key) && !self.taken.contains(key_line.key);
        let after = line.get(key_line.length..).unwrap_or_default();
        match key_line.spelling {
            KeySpelling::Proper => is_known || !in_flush_text,
            // Below a value on the key's own line YAML allows only text, which has no `key: ` in it.
            KeySpelling::Indented => {
                is_known
                    && is_free
                    && last.is_none_or(|last| {
                        last.is_alone && last.is_text && !last.begins_block(self.text)
                    })
            }
            _ if key_line.indent > 0 => false,
            KeySpelling::NoBlank => {
                let is_setting = !in_flush_text
                    && key_line.key.starts_with(|c: char| c.is_ascii_lowercase())
                    && !after.contains(char::is_whitespace);
                is_free && !after.starts_with("//") && (is_known || is_setting)
            }
            KeySpelling::Blank(_) | KeySpelling::Colon(_) => is_known && is_free,
        }
    }

    fn start(&mut self, line: &SourceLine<'a>, key_line: KeyLine<'a>) {
        self.taken.insert(key_line.key);
        let value_offset = line.offset + key_line.length;
        let rest = self.text.get(value_offset..).unwrap_or_default();
        let (first, _) = line_at(rest, 0);
        let inner = first.trim_start();
        let value_start = value_offset + first.len() - inner.len();
        let mut is_text = !inner.is_empty() && !inner.starts_with('#');
        if inner.starts_with(['[', '{', '"', '\'']) {
            let closed = self.closed(value_start);
            is_text = closed.map_or(!inner.starts_with(['[', '{']), |at_line_end| !at_line_end);
            if closed == Some(true) {
                let value = self.text.get(value_start..).unwrap_or_default();
                self.inside_until = value_start + closed_length(value).unwrap_or_default();
                // A line after a quoted text may still be a key with a blank too many.
                is_text = inner.starts_with(['"', '\'']);
            }
        }
        self.starts.push(KeyStart {
            offset: line.offset,
            line: line.number,
            key_line,
            is_alone: true,
            is_text,
            flush: None,
        });
    }

    /// Returns true if brackets or quotes close at the end of a line; nothing if they do not close before a known key.
    fn closed(&mut self, start: usize) -> Option<bool> {
        let value = self.text.get(start..)?;
        let found = (self.left > 0).then(|| closed_length(value))?;
        let looked_at = found.unwrap_or(value.len());
        self.left = self.left.saturating_sub(looked_at);
        let length = found?;
        let (after, _) = line_at(value, length);
        let after = after.trim_start().strip_prefix(',').unwrap_or(after);
        let is_key = |line: &str| {
            let known = KeyLine::proper(line);
            known.is_some_and(|key_line| (self.is_known)(key_line.key))
        };
        let mut below = lines(value)
            .skip(1)
            .take_while(|(offset, ..)| *offset < length);
        let has_key = below.any(|(_, line, _)| is_key(line));
        (!has_key).then(|| is_nothing(after))
    }

    fn chunks(self) -> Option<Vec<KeyChunk<'a>>> {
        let mut chunks = Vec::with_capacity(self.starts.len());
        let ends = self.starts.iter().skip(1).map(|start| start.offset);
        let ends: Vec<usize> = ends.chain([self.text.len()]).collect();
        for (start, end) in self.starts.into_iter().zip(ends) {
            let whole = self.text.get(start.offset..end)?;
            let value = whole.get(start.key_line.length..)?;
            let (key, sign) = (start.key_line.key, start.key_line.spelling);
            let text = match sign {
                KeySpelling::Proper => Cow::Borrowed(whole),
                _ => Cow::Owned(format!("{key}: {}", value.trim_start())),
            };
            chunks.push(KeyChunk {
                key,
                value,
                text,
                line: start.line,
                indent: start.key_line.indent,
                sign,
                flush: start.flush,
            });
        }
        (!chunks.is_empty()).then_some(chunks)
    }
}

impl KeyStart<'_> {
    /// The length of the key's line without the blanks at its end.
    fn text_length(&self, text: &str) -> usize {
        let (line, _) = line_at(text, self.offset);
        line.trim_end().len()
    }

    /// Returns true if the value is the sign that begins a block of text.
    fn begins_block(&self, text: &str) -> bool {
        let (line, _) = line_at(text, self.offset);
        let value = line.get(self.key_line.length..).unwrap_or_default();
        value.trim_start().starts_with(['|', '>'])
    }
}
