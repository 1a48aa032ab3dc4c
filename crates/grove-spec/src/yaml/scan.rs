//! The fast tier: plain top-level keys, quoted and block texts, one level of mapping or list.
//!
//! It declines (returns `None`) at the first thing it is not sure of. The law, held by a property
//! test, is that it agrees with the full parser or declines.

use super::{Entry, Node, Scalar, Value};
use crate::diagnostic::Position;
use crate::fence::line_at;

/// Reads a block, or declines.
pub fn scan(text: &str, first_line: u32) -> Option<Vec<Entry>> {
    let mut lines = Lines {
        text,
        offset: 0,
        number: first_line,
    };
    let mut entries: Vec<Entry> = Vec::with_capacity(8);
    while let Some(line) = lines.next_line() {
        if line.text.is_empty() || line.text.starts_with('#') {
            continue;
        }
        let pair = split_pair(line.text, 0)?;
        if entries.iter().any(|entry| entry.key == pair.key) {
            return None;
        }
        let value = match pair.value {
            "" => nested_value(&mut lines, Position::new(line.number, 1))?,
            "|" | "|-" | ">" | ">-" => block_text(pair.value, &mut lines)?,
            inline => {
                // A line that is indented, or blank with an indented one after it, continues the value.
                if lines.peek_is_continuation() {
                    return None;
                }
                inline_text(inline, Position::new(line.number, pair.value_column))?
            }
        };
        entries.push(Entry {
            key: pair.key.to_owned(),
            position: Position::new(line.number, 1),
            value,
        });
    }
    Some(entries)
}

struct Lines<'a> {
    text: &'a str,
    offset: usize,
    number: u32,
}

struct Line<'a> {
    text: &'a str,
    number: u32,
}

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&'a str> {
        (self.offset < self.text.len()).then(|| line_at(self.text, self.offset).0)
    }

    fn next_line(&mut self) -> Option<Line<'a>> {
        if self.offset >= self.text.len() {
            return None;
        }
        let (text, next) = line_at(self.text, self.offset);
        let line = Line {
            text,
            number: self.number,
        };
        self.offset = next;
        self.number += 1;
        Some(line)
    }

    fn peek_is_continuation(&self) -> bool {
        self.peek()
            .is_some_and(|line| line.is_empty() || line.starts_with([' ', '\t']))
    }
}

struct Pair<'a> {
    key: &'a str,
    value: &'a str,
    value_column: u32,
}

/// `key: value` at an indent, where the key is a plain word.
fn split_pair(line: &str, indent: usize) -> Option<Pair<'_>> {
    let rest = line.get(indent..)?;
    let key_length = rest.bytes().position(|b| !is_key_byte(b))?;
    if key_length == 0 || rest.as_bytes().get(key_length) != Some(&b':') {
        return None;
    }
    let key = rest.get(..key_length)?;
    let after = rest.get(key_length + 1..)?;
    // A key that starts with a hyphen could be a list item or a document mark.
    if !key.as_bytes().first()?.is_ascii_alphanumeric() || is_null_word(key) {
        return None;
    }
    let value = after.trim_start_matches(' ');
    if !after.is_empty() && value.len() == after.len() {
        return None;
    }
    let value_column = u32::try_from(line.len() - value.len() + 1).ok()?;
    Some(Pair {
        key,
        value: value.trim_end_matches(' '),
        value_column,
    })
}

const fn is_key_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'-' || b == b'_'
}

fn is_null_word(text: &str) -> bool {
    matches!(text, "~" | "null" | "Null" | "NULL")
}

/// A value on the key's own line.
fn inline_text(value: &str, position: Position) -> Option<Node> {
    match value.as_bytes().first()? {
        quote @ (b'"' | b'\'') => {
            let inner = value.get(1..)?.strip_suffix(char::from(*quote))?;
            // Escapes and doubled quotes are the full parser's business.
            if inner.bytes().any(|b| b == *quote || b == b'\\') || !is_quiet(inner) {
                return None;
            }
            Some(Node::text(inner, position))
        }
        first if is_plain_start(*first) => {
            is_plain_text(value).then(|| Node::plain(value, position))
        }
        _ => None,
    }
}

const fn is_plain_start(b: u8) -> bool {
    b.is_ascii_alphanumeric()
        || b >= 0x80
        || matches!(
            b,
            b'(' | b'/' | b'_' | b'.' | b'$' | b'+' | b'<' | b'~' | b'^' | b';'
        )
}

/// Text in which nothing ends a plain scalar: no `: `, no ` #`, no trailing colon.
fn is_plain_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    if !is_quiet(text) || bytes.last() == Some(&b':') || text.starts_with("...") {
        return false;
    }
    !bytes.windows(2).any(|pair| pair == b": " || pair == b" #")
}

/// No control characters, and none of the characters that some YAML versions treat as line ends
/// or byte order marks.
fn is_quiet(text: &str) -> bool {
    if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return false;
    }
    text.is_ascii()
        || !text.contains([
            '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}', '\u{fffe}', '\u{ffff}',
        ]) && !text.contains(|c: char| matches!(c, '\u{80}'..='\u{9f}'))
}

/// A literal or folded block with `|`, `|-`, `>` or `>-`, all lines at one indent.
fn block_text(header: &str, lines: &mut Lines<'_>) -> Option<Node> {
    let first_line = lines.number;
    let folded = header.starts_with('>');
    let strip = header.ends_with('-');
    let mut text = String::new();
    let mut indent = 0;
    let mut blank_run = 0;
    while let Some(line) = lines.peek() {
        let content = line.trim_start_matches(' ');
        if content.is_empty() {
            // Blank lines before the first text, or with spaces of their own, have rules of their own.
            if !line.is_empty() || indent == 0 {
                return None;
            }
            blank_run += 1;
            lines.next_line();
            continue;
        }
        let this = line.len() - content.len();
        if this == 0 {
            break;
        }
        if indent == 0 {
            indent = this;
        } else if this != indent {
            return None;
        }
        if !is_quiet(content) {
            return None;
        }
        if !text.is_empty() {
            match (folded, blank_run) {
                (true, 0) => text.push(' '),
                (true, blanks) => (0..blanks).for_each(|_| text.push('\n')),
                (false, blanks) => (0..=blanks).for_each(|_| text.push('\n')),
            }
        }
        blank_run = 0;
        text.push_str(content);
        lines.next_line();
    }
    if indent == 0 || lines.peek().is_some_and(|line| line.starts_with('#')) {
        return None;
    }
    if !strip {
        text.push('\n');
    }
    let position = Position::new(first_line, u32::try_from(indent + 1).ok()?);
    Some(Node::new(
        Value::Text(Scalar { text, plain: false }),
        position,
    ))
}

/// What stands below a key without a value: one level of mapping or list of plain values.
fn nested_value(lines: &mut Lines<'_>, position: Position) -> Option<Node> {
    let Some(first) = lines.peek() else {
        return Some(Node::plain("", position));
    };
    if first.is_empty() || first.starts_with('#') || first.starts_with('\t') {
        return None;
    }
    let indent = first.len() - first.trim_start_matches(' ').len();
    if first.get(indent..)?.starts_with("- ") {
        return nested_list(lines, indent);
    }
    if indent == 0 {
        return Some(Node::plain("", position));
    }
    nested_map(lines, indent)
}

fn nested_map(lines: &mut Lines<'_>, indent: usize) -> Option<Node> {
    let mut entries: Vec<Entry> = Vec::new();
    let start = Position::new(lines.number, u32::try_from(indent + 1).ok()?);
    while let Some(line) = indented_line(lines, indent)? {
        let pair = split_pair(line.text, indent)?;
        if pair.value.is_empty() || entries.iter().any(|entry| entry.key == pair.key) {
            return None;
        }
        let value = inline_text(pair.value, Position::new(line.number, pair.value_column))?;
        let position = Position::new(line.number, start.column);
        entries.push(Entry {
            key: pair.key.to_owned(),
            position,
            value,
        });
    }
    Some(Node::new(Value::Map(entries), start))
}

fn nested_list(lines: &mut Lines<'_>, indent: usize) -> Option<Node> {
    let mut items = Vec::new();
    let start = Position::new(lines.number, u32::try_from(indent + 1).ok()?);
    while lines
        .peek()
        .is_some_and(|line| indent > 0 || line.starts_with("- "))
    {
        let Some(line) = indented_line(lines, indent)? else {
            break;
        };
        let item = line.text.get(indent..)?.strip_prefix("- ")?;
        let value = item.trim_start_matches(' ');
        let column = u32::try_from(line.text.len() - value.len() + 1).ok()?;
        items.push(inline_text(
            value.trim_end_matches(' '),
            Position::new(line.number, column),
        )?);
    }
    // `-` alone or something else at the list's own column is not ours to judge.
    if indent == 0 && lines.peek().is_some_and(|line| line.starts_with('-')) {
        return None;
    }
    // The full parser places a list without an indent at its first item.
    let start = if indent == 0 {
        items.first().map_or(start, |item: &Node| item.position)
    } else {
        start
    };
    Some(Node::new(Value::List(items), start))
}

/// The next line if it has exactly this indent; `Some(None)` at the end of the nested value.
#[expect(
    clippy::option_option,
    reason = "declining, ending and a line are three different answers"
)]
fn indented_line<'a>(lines: &mut Lines<'a>, indent: usize) -> Option<Option<Line<'a>>> {
    let Some(line) = lines.peek() else {
        return Some(None);
    };
    let this = line.len() - line.trim_start_matches(' ').len();
    if line.is_empty() || this == line.len() || line.as_bytes().get(this) == Some(&b'#') {
        return None;
    }
    if this == 0 && indent > 0 {
        return Some(None);
    }
    if this != indent {
        return None;
    }
    Some(lines.next_line())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::yaml::events;

    #[test]
    fn takes_what_the_world_mostly_writes() {
        for text in [
            "name: pdf\ndescription: Reads PDF files. Use when asked.\n",
            "name: pdf\ndescription: >-\n  Reads PDF\n  files.\n\n  Second.\nlicense: MIT\n",
            "name: pdf\ndescription: |\n  a\n  b\nmetadata:\n  author: x\n  version: \"1.0\"\n",
            "name: 'x'\nallowed-tools:\n  - Read\n  - Bash(git:*)\n",
            "allowed-tools:\n- Read\n- Write\nname: x\n",
            "name: x\ndescription:\n",
            "# comment\nname: http://x.y/z\n",
        ] {
            let scanned = scan(text, 1).unwrap_or_else(|| panic!("declined {text:?}"));
            assert_eq!(Ok(scanned), events::parse(text, 1), "{text:?}");
        }
    }

    #[test]
    fn declines_what_it_is_not_sure_of() {
        for text in [
            "a: b: c\n",
            "a: [x]\n",
            "a: b # c\n",
            "a: \"x\\n\"\n",
            "a: x\n  y\n",
            "a: &x y\n",
            "a: *x\n",
            "a: - x\n",
            "a:\tb\n",
            "a: b\na: c\n",
            "a: |+\n  x\n",
            "a: >\n  x\n   y\n",
            "a: |2\n   x\n",
            "- a\n",
            "a: 'it''s'\n",
            "? a\n",
            "a: x:\n",
            "a: b\u{85}c\n",
        ] {
            assert_eq!(scan(text, 1), None, "{text:?}");
        }
    }

    fn line() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a",
            "b",
            "name",
            "description",
            ":",
            ": ",
            " ",
            "  ",
            "-",
            "- ",
            "#",
            " #",
            "'",
            "\"",
            "|",
            ">",
            ">-",
            "|-",
            "[",
            "]",
            "{",
            "}",
            "&",
            "*",
            "!",
            "%",
            "@",
            "`",
            ",",
            "?",
            "~",
            "null",
            "é",
            "\u{85}",
            "\u{2028}",
            "\t",
            "\\",
            "...",
            "---",
            "0",
            "x y",
            "<<",
            "k: v",
            "  k: v",
            "  - i",
        ]);
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn agrees_with_the_full_parser_or_declines(lines in prop::collection::vec(line(), 0..7), end in prop::sample::select(vec!["\n", "\r\n", "\r"])) {
            let text: String = lines.iter().map(|line| format!("{line}{end}")).collect();
            if let Some(entries) = scan(&text, 1) {
                prop_assert_eq!(Ok(entries), events::parse(&text, 1), "{:?}", text);
            }
        }
    }
}
