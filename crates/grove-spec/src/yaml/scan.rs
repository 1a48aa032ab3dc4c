//! The fast tier: plain top-level keys, quoted and block texts, one level of mapping or list.
//!
//! It declines (returns `None`) at the first thing it is not sure of. The law, checked by a property test, is that it
//! agrees with the full parser or declines.

use super::{Scalar, YamlEntry, YamlNode, YamlValue, key};
use crate::diagnostic::Position;
use crate::fence::line_at;

/// Reads a block into its entries, or declines.
pub fn scan(text: &str, first_line: u32) -> Option<Vec<YamlEntry>> {
    if !is_quiet(text) {
        return None;
    }
    let mut lines = BlockLines::new(text, first_line);
    let mut entries: Vec<YamlEntry> = Vec::with_capacity(8);
    while let Some(line) = lines.next_line() {
        if line.text.is_empty() || line.text.starts_with('#') {
            continue;
        }
        let pair = split_pair(line.text, 0)?;
        if entries.iter().any(|entry| entry.key == pair.key) {
            return None;
        }
        let value = match pair.value {
            "" => nested_value(&mut lines, 0, Position::new(line.number, 1), 0)?,
            "|" | "|-" | ">" | ">-" => block_text(pair.value, &mut lines)?,
            inline => {
                // A line that is indented, or blank with an indented one after it, continues the value.
                if lines.peek_is_continuation() {
                    return None;
                }
                inline_value(inline, Position::new(line.number, pair.value_column))?
            }
        };
        entries.push(YamlEntry {
            key: key(pair.key),
            position: Position::new(line.number, 1),
            value,
        });
    }
    Some(entries)
}

/// The lines of a block, with the next one ready, so that the end of each is searched for once.
struct BlockLines<'a> {
    text: &'a str,
    next: Option<&'a str>,
    after_next: usize,
    number: u32,
}

struct BlockLine<'a> {
    text: &'a str,
    number: u32,
}

impl<'a> BlockLines<'a> {
    fn new(text: &'a str, first_line: u32) -> Self {
        let mut lines = Self {
            text,
            next: None,
            after_next: 0,
            number: first_line,
        };
        lines.read_ahead();
        lines
    }

    fn peek(&self) -> Option<&'a str> {
        self.next
    }

    fn next_line(&mut self) -> Option<BlockLine<'a>> {
        let line = BlockLine {
            text: self.next?,
            number: self.number,
        };
        self.number += 1;
        self.read_ahead();
        Some(line)
    }

    fn read_ahead(&mut self) {
        if self.after_next >= self.text.len() {
            self.next = None;
            return;
        }
        let (line, after) = line_at(self.text, self.after_next);
        self.next = Some(line);
        self.after_next = after;
    }

    /// The number of bytes that are left, the next line included.
    fn left(&self) -> usize {
        self.peek().map_or(0, str::len) + self.text.len() - self.after_next
    }

    fn peek_is_continuation(&self) -> bool {
        self.peek()
            .is_some_and(|line| line.is_empty() || line.starts_with([' ', '\t']))
    }
}

struct KeyValueLine<'a> {
    key: &'a str,
    value: &'a str,
    value_column: u32,
}

/// Reads `key: value` at an indent, where the key is a plain word.
fn split_pair(line: &str, indent: usize) -> Option<KeyValueLine<'_>> {
    let rest = line.get(indent..)?;
    let key_length = rest.bytes().position(|b| !KEY_BYTES[usize::from(b)])?;
    if key_length == 0 || rest.as_bytes().get(key_length) != Some(&b':') {
        return None;
    }
    let key = rest.get(..key_length)?;
    let after = rest.get(key_length + 1..)?;
    // A key that starts with a hyphen could be a list item or a document mark.
    if !key.as_bytes().first()?.is_ascii_alphanumeric() || is_null_word(key) {
        return None;
    }
    let value = without_lead(after);
    if !after.is_empty() && value.len() == after.len() {
        return None;
    }
    let value_column = u32::try_from(line.len() - value.len() + 1).ok()?;
    Some(KeyValueLine {
        key,
        value: without_trail(value),
        value_column,
    })
}

/// A text without the spaces before it. It goes by bytes, because every line passes through here.
fn without_lead(text: &str) -> &str {
    let lead = text.bytes().take_while(|b| *b == b' ').count();
    text.get(lead..).unwrap_or_default()
}

fn without_trail(text: &str) -> &str {
    let trail = text.bytes().rev().take_while(|b| *b == b' ').count();
    text.get(..text.len() - trail).unwrap_or_default()
}

/// Letters, digits, `-` and `_`, by byte.
const KEY_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0_u8;
    while b < 128 {
        table[b as usize] = b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        b += 1;
    }
    table
};

fn is_null_word(text: &str) -> bool {
    matches!(text, "~" | "null" | "Null" | "NULL")
}

fn inline_text(value: &str, position: Position) -> Option<YamlNode> {
    match value.as_bytes().first()? {
        quote @ (b'"' | b'\'') => {
            let inner = value.get(1..)?.strip_suffix(char::from(*quote))?;
            // Escapes and doubled quotes are left to the full parser.
            if memchr::memchr2(*quote, b'\\', inner.as_bytes()).is_some() {
                return None;
            }
            Some(YamlNode::text(inner, position))
        }
        first if is_plain_start(*first) => {
            is_plain_text(value).then(|| YamlNode::plain(value, position))
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

/// Returns true for text in which nothing ends a plain scalar: no `: `, no ` #`, no trailing colon.
fn is_plain_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.last() == Some(&b':') || text.starts_with("...") {
        return false;
    }
    !memchr::memchr2_iter(b':', b'#', bytes).any(|at| match bytes.get(at) {
        Some(b':') => bytes.get(at + 1) == Some(&b' '),
        _ => at > 0 && bytes.get(at - 1) == Some(&b' '),
    })
}

/// Returns true if a text has no control characters but line ends, and none of the characters that some YAML versions
/// treat as line ends or byte order marks.
fn is_quiet(text: &str) -> bool {
    let (mut low, mut high) = (0_u8, 0_u8);
    for &b in text.as_bytes() {
        low |= u8::from(b < 0x20) & u8::from(b != b'\n') & u8::from(b != b'\r');
        low |= u8::from(b == 0x7f);
        high |= b;
    }
    let unsure = |c: char| {
        matches!(
            c,
            '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
    };
    low == 0 && (high < 0x80 || !text.contains(unsure))
}

/// Reads a literal or folded block with `|`, `|-`, `>` or `>-`, all lines at one indent.
fn block_text(header: &str, lines: &mut BlockLines<'_>) -> Option<YamlNode> {
    let first_line = lines.number;
    let folded = header.starts_with('>');
    let strip = header.ends_with('-');
    // Little else is left to read, and what is read is copied when it is cleaned.
    let mut text = String::with_capacity(lines.left());
    let mut indent = 0;
    let mut blank_run = 0;
    while let Some(line) = lines.peek() {
        let content = line.trim_start_matches(' ');
        if content.is_empty() {
            // Blank lines before the first text, or with spaces of their own, follow special rules.
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
    Some(YamlNode::new(
        YamlValue::Text(Scalar { text, plain: false }),
        position,
    ))
}

/// The deepest nesting of mappings and lists that is read here and not by the full parser.
const MAX_NESTING: usize = 3;

/// Reads the value below a key at an indent: a deeper mapping, a list, or nothing.
fn nested_value(
    lines: &mut BlockLines<'_>,
    key_indent: usize,
    key: Position,
    depth: usize,
) -> Option<YamlNode> {
    let Some(first) = lines.peek() else {
        return Some(YamlNode::plain("", key));
    };
    let indent = indent_of(first)?;
    let is_item = first.get(indent..)?.starts_with("- ");
    if indent < key_indent || (indent == key_indent && !is_item) {
        return Some(YamlNode::plain("", key));
    }
    if depth >= MAX_NESTING {
        return None;
    }
    if is_item {
        nested_list(lines, indent, key_indent)
    } else {
        nested_map(lines, indent, depth)
    }
}

fn nested_map(lines: &mut BlockLines<'_>, indent: usize, depth: usize) -> Option<YamlNode> {
    let mut entries: Vec<YamlEntry> = Vec::with_capacity(4);
    let start = position(lines.number, indent)?;
    while let Some(line) = line_of_block(lines, indent)? {
        let pair = split_pair(line.text, indent)?;
        if entries.iter().any(|entry| entry.key == pair.key) {
            return None;
        }
        let key_position = position(line.number, indent)?;
        let value = if pair.value.is_empty() {
            nested_value(lines, indent, key_position, depth + 1)?
        } else {
            inline_value(pair.value, Position::new(line.number, pair.value_column))?
        };
        entries.push(YamlEntry {
            key: key(pair.key),
            position: key_position,
            value,
        });
    }
    Some(YamlNode::new(YamlValue::Map(entries), start))
}

fn nested_list(lines: &mut BlockLines<'_>, indent: usize, key_indent: usize) -> Option<YamlNode> {
    let mut items: Vec<YamlNode> = Vec::with_capacity(4);
    let start = position(lines.number, indent)?;
    loop {
        // A list may begin at its key's own indent, and then the next key ends it.
        let at_next_key = indent == key_indent
            && lines
                .peek()
                .is_some_and(|line| !line.get(indent..).unwrap_or_default().starts_with('-'));
        if at_next_key {
            break;
        }
        let Some(line) = line_of_block(lines, indent)? else {
            break;
        };
        let item = line.text.get(indent..)?.strip_prefix("- ")?;
        let value = item.trim_start_matches(' ');
        let column = u32::try_from(line.text.len() - value.len() + 1).ok()?;
        items.push(inline_value(
            value.trim_end_matches(' '),
            Position::new(line.number, column),
        )?);
    }
    // The full parser gives a list without an indent of its own the position of its first item.
    let start = if indent == key_indent {
        items.first()?.position
    } else {
        start
    };
    Some(YamlNode::new(YamlValue::List(items), start))
}

/// The next line of a block at an indent; `Some(None)` if the block ends.
#[expect(
    clippy::option_option,
    reason = "declining, ending and a line are three different answers"
)]
fn line_of_block<'a>(lines: &mut BlockLines<'a>, indent: usize) -> Option<Option<BlockLine<'a>>> {
    let Some(line) = lines.peek() else {
        return Some(None);
    };
    match indent_of(line)?.cmp(&indent) {
        std::cmp::Ordering::Less => Some(None),
        std::cmp::Ordering::Equal => Some(lines.next_line()),
        // A deeper line continues the value before it.
        std::cmp::Ordering::Greater => None,
    }
}

/// The indent of a line; blank lines, comments and tabs are left to the full parser.
fn indent_of(line: &str) -> Option<usize> {
    let indent = line.bytes().position(|b| b != b' ')?;
    (!matches!(line.as_bytes().get(indent), Some(b'#' | b'\t'))).then_some(indent)
}

fn position(line: u32, indent: usize) -> Option<Position> {
    Some(Position::new(line, u32::try_from(indent + 1).ok()?))
}

/// Reads a text, or a list of words in brackets.
fn inline_value(value: &str, at: Position) -> Option<YamlNode> {
    match value.strip_prefix('[') {
        Some(rest) => flow_list(rest.strip_suffix(']')?, at),
        None => inline_text(value, at),
    }
}

/// Reads `[a, b-c, "d e"]`: words and plainly quoted texts, nothing nested.
fn flow_list(inner: &str, at: Position) -> Option<YamlNode> {
    if inner.trim().is_empty() {
        return inner
            .is_empty()
            .then(|| YamlNode::new(YamlValue::List(Vec::new()), at));
    }
    let mut items = Vec::new();
    let mut column = at.column + 1;
    for piece in inner.split(',') {
        let word = piece.trim_start_matches(' ');
        let lead = u32::try_from(piece.len() - word.len()).ok()?;
        let word = word.trim_end_matches(' ');
        let place = Position::new(at.line, column + lead);
        let is_word = word
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/' | b' '));
        let node = match word.as_bytes().first()? {
            b'"' | b'\'' if word.len() > 1 && word.is_ascii() => inline_text(word, place)?,
            first if first.is_ascii_alphanumeric() && is_word => YamlNode::plain(word, place),
            _ => return None,
        };
        items.push(node);
        column += u32::try_from(piece.len() + 1).ok()?;
    }
    Some(YamlNode::new(YamlValue::List(items), at))
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
            "metadata:\n  author: x\n  tags:\n    - a\n    - b c\n  more:\n    k: v\nname: x\n",
            "metadata:\n  tags:\n  - a\n  - b\n  k: v\nname: x\n",
            "allowed-tools: [Read, \"Write x\", a-b]\nempty: []\n",
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
            "a: [x: y]\n",
            "a: [x, [y]]\n",
            "a: [x,]\n",
            "a: [ ]\n",
            "m:\n  a: 1\n b: 2\n",
            "m:\n  a:\n    b: 1\n   c: 2\n",
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
            "    - j",
            "    k: v",
            "  m:",
            "[a, b]",
            "[\"a\"]",
            "- i",
        ]);
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn agrees_with_the_full_parser_or_declines(lines in prop::collection::vec(line(), 0..7), end in prop::sample::select(vec!["\n", "\r\n", "\r"])) {
            let text = lines.iter().flat_map(|line| [line.as_str(), end]).collect::<String>();
            if let Some(entries) = scan(&text, 1) {
                prop_assert_eq!(Ok(entries), events::parse(&text, 1), "{:?}", text);
            }
        }
    }
}
