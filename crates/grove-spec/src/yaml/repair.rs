//! Reading what people write that is not YAML: an unquoted colon, a value that starts with a sign
//! YAML reserves, a stray quote.
//!
//! The block is cut into its top-level entries. Each entry that is YAML on its own is taken as YAML;
//! any other is taken as the text a person sees there. Every repair is a diagnostic.

use super::events::{self, Refusal, RefusalKind};
use super::{Block, Entry, Node, Value, key};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::fence::line_at;

/// Reads a refused block entry by entry, or returns it with the refusal as its finding.
pub fn repair(text: &str, first_line: u32, refusal: Refusal) -> Block {
    if refusal.kind == RefusalKind::Guard {
        return Block {
            entries: Vec::new(),
            diagnostics: vec![refusal.diagnostic],
        };
    }
    let Some(chunks) = cut(text, first_line) else {
        return Block {
            entries: Vec::new(),
            diagnostics: vec![refusal.diagnostic],
        };
    };
    let mut block = Block::default();
    for chunk in &chunks {
        let repaired = match chunk.read() {
            Ok(read) => read,
            Err(diagnostic) => {
                return Block {
                    entries: Vec::new(),
                    diagnostics: vec![diagnostic],
                };
            }
        };
        if let Some(first) = block
            .entries
            .iter()
            .find(|entry| entry.key == repaired.entry.key)
        {
            let message = format!(
                "key `{}` stands twice, first in line {}",
                chunk.key, first.position.line
            );
            let finding = Diagnostic::new(Code::DuplicateKey, message).at(repaired.entry.position);
            return Block {
                entries: Vec::new(),
                diagnostics: vec![finding],
            };
        }
        block.diagnostics.extend(repaired.finding);
        block.entries.push(repaired.entry);
    }
    // Every entry is YAML on its own and the whole is not: nothing was understood.
    if block.diagnostics.is_empty() {
        return Block {
            entries: Vec::new(),
            diagnostics: vec![refusal.diagnostic],
        };
    }
    block
}

/// One top-level key with the lines that belong to it.
struct Chunk<'a> {
    key: &'a str,
    /// From the first character after the key's colon to the end of its last line.
    value: &'a str,
    /// The whole entry.
    text: &'a str,
    line: u32,
}

struct Repaired {
    entry: Entry,
    finding: Option<Diagnostic>,
}

/// Cuts a block at the lines that start with a key in the first column.
///
/// A line before the first key that is neither blank nor a comment means that this is no list of
/// keys at all.
fn cut(text: &str, first_line: u32) -> Option<Vec<Chunk<'_>>> {
    let mut chunks: Vec<Chunk<'_>> = Vec::new();
    let mut starts: Vec<(usize, usize, u32)> = Vec::new();
    let (mut offset, mut number) = (0, first_line);
    while offset < text.len() {
        let (line, next) = line_at(text, offset);
        if let Some(key_length) = key_length(line) {
            starts.push((offset, key_length, number));
        } else if starts.is_empty() && !line.trim().is_empty() && !line.starts_with('#') {
            return None;
        }
        offset = next;
        number += 1;
    }
    for (index, (start, key_length, line)) in starts.iter().copied().enumerate() {
        let end = starts.get(index + 1).map_or(text.len(), |next| next.0);
        let whole = text.get(start..end)?;
        let key = whole
            .get(..key_length)?
            .trim_end()
            .trim_matches(['"', '\'']);
        let value = whole.get(key_length..)?.strip_prefix(':')?;
        chunks.push(Chunk {
            key,
            value,
            text: whole,
            line,
        });
    }
    (!chunks.is_empty()).then_some(chunks)
}

/// The length of the key that a line starts with, up to its colon.
fn key_length(line: &str) -> Option<usize> {
    let colon = line.find(':')?;
    let key = line.get(..colon)?.trim_end();
    let bare = key.trim_matches(['"', '\'']);
    let first = bare.chars().next()?;
    let fits = (first.is_alphanumeric() || first == '_')
        && bare.len() <= 64
        && bare
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    fits.then_some(colon)
}

impl Chunk<'_> {
    fn read(&self) -> Result<Repaired, Diagnostic> {
        let position = Position::new(self.line, 1);
        let refusal = match events::parse(self.text, self.line) {
            Ok(mut entries)
                if entries.len() == 1
                    && entries.first().is_some_and(|entry| entry.key == self.key) =>
            {
                if let Some(entry) = entries.pop() {
                    return Ok(Repaired {
                        entry,
                        finding: None,
                    });
                }
                None
            }
            Ok(_) => None,
            Err(refusal) if refusal.kind == RefusalKind::Guard && !self.is_prose() => {
                return Err(refusal.diagnostic);
            }
            Err(refusal) => Some(refusal),
        };
        let value = self.as_nested_keys().unwrap_or_else(|| self.as_text());
        let why = refusal.map_or_else(String::new, |refusal| {
            format!(" ({})", refusal.diagnostic.message)
        });
        let finding = Diagnostic::new(
            Code::YamlRepaired,
            format!("`{}` was read as plain text{why}", self.key),
        )
        .at(Position::new(self.line, 1));
        Ok(Repaired {
            entry: Entry {
                key: key(self.key),
                position,
                value,
            },
            finding: Some(finding),
        })
    }

    /// Whether the value starts on the key's line with a sign that prose may start with.
    ///
    /// Aliases and single-mark tags look like `*emphasis*` and `!important`; a list, mapping or type
    /// tag does not.
    fn is_prose(&self) -> bool {
        let value = self.value.trim_start();
        value.starts_with('*') && value.contains(' ')
    }

    /// The text a person sees: quotes at both ends removed, lines joined.
    fn as_text(&self) -> Node {
        let position = Position::new(self.line, u32::try_from(self.key.len() + 3).unwrap_or(1));
        let trimmed = self.value.trim();
        let block = trimmed.strip_prefix(['>', '|']).map(|rest| {
            rest.trim_start_matches(['-', '+', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        });
        let (prose, literal) = match block {
            Some(rest) if rest.starts_with(['\n', '\r']) => (rest.trim(), trimmed.starts_with('|')),
            _ => (trimmed, false),
        };
        let unquoted = strip_quotes(prose);
        let joined: Vec<&str> = unquoted
            .lines()
            .flat_map(|line| line.split('\r'))
            .map(str::trim)
            .collect();
        let text = joined.join(if literal { "\n" } else { " " });
        // Prose that reads like `null` is still prose, so it is never a plain scalar.
        Node::text(text.trim(), position)
    }

    /// `key: value` lines at one indent below an empty value, each read as text where it is no YAML.
    fn as_nested_keys(&self) -> Option<Node> {
        let (first, _) = line_at(self.value, 0);
        if !first.trim().is_empty() {
            return None;
        }
        let mut entries: Vec<Entry> = Vec::new();
        let mut indent = None;
        let (mut offset, mut number) = (0, self.line);
        while offset < self.value.len() {
            let (line, next) = line_at(self.value, offset);
            let content = line.trim_start_matches([' ', '\t']);
            if offset > 0 && !content.is_empty() && !content.starts_with('#') {
                let this = line.len() - content.len();
                let same_level = *indent.get_or_insert(this) == this && this > 0;
                let key_length = key_length(content).filter(|_| same_level)?;
                let key = content
                    .get(..key_length)?
                    .trim_end()
                    .trim_matches(['"', '\'']);
                let value = content.get(key_length + 1..)?.trim();
                if entries.iter().any(|entry| entry.key == key) {
                    return None;
                }
                let position = Position::new(number, u32::try_from(this + 1).ok()?);
                let node = match events::parse_value(value, number) {
                    // `author: me: myself` is a sentence with a colon, not a mapping in a mapping.
                    Ok(Some(Node {
                        value: Value::Map(_),
                        ..
                    })) if !value.starts_with('{') => Node::text(value, position),
                    Ok(Some(node)) => Node { position, ..node },
                    Ok(None) => Node::plain("", position),
                    Err(refusal) if refusal.kind == RefusalKind::Syntax => {
                        Node::text(strip_quotes(value), position)
                    }
                    Err(_) => return None,
                };
                entries.push(Entry {
                    key: super::key(key),
                    position,
                    value: node,
                });
            }
            offset = next;
            number += 1;
        }
        let position = Position::new(self.line + 1, u32::try_from(indent? + 1).ok()?);
        Some(Node::new(Value::Map(entries), position))
    }
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
mod tests {
    use crate::yaml::{Node, read_block};

    fn description(text: &str) -> (Option<String>, Vec<&'static str>) {
        let block = read_block(text, 2);
        let codes = block.diagnostics.iter().map(|d| d.code.as_str()).collect();
        let node = block
            .entries
            .iter()
            .find(|entry| entry.key == "description")
            .map(|entry| &entry.value);
        (node.and_then(Node::as_text).map(str::to_owned), codes)
    }

    #[test]
    fn what_people_write_is_read_as_they_see_it() {
        for (value, expected) in [
            ("Use when: the user asks", "Use when: the user asks"),
            ("[WIP] does things", "[WIP] does things"),
            ("{name} is replaced", "{name} is replaced"),
            ("@mention somebody", "@mention somebody"),
            ("*important* thing", "*important* thing"),
            ("& more", "& more"),
            ("&c is a thing", "&c is a thing"),
            ("!important note", "!important note"),
            ("%d items", "%d items"),
            ("`code` first", "`code` first"),
            ("\"quoted\" and more", "\"quoted\" and more"),
            ("'it's broken'", "it's broken"),
            ("\"a \\d regex\"", "a \\d regex"),
            ("\"Quick\" X \"make a GIF.\"", "\"Quick\" X \"make a GIF.\""),
            ("'a 'quoted' word: here'", "a 'quoted' word: here"),
            ("{{ product }} text", "{{ product }} text"),
            ("first: line\n  second: line", "first: line second: line"),
            ("- dash: first", "- dash: first"),
            (">\n  a: b\n c: d", "a: b c: d"),
        ] {
            let text = format!("name: x\ndescription: {value}\nlicense: MIT\n");
            assert_eq!(
                description(&text),
                (Some(expected.to_owned()), vec!["yaml-repaired"]),
                "{value:?}"
            );
        }
    }

    #[test]
    fn what_is_refused_stays_refused() {
        for (text, code) in [
            (
                "name: x\ndescription: d\ndescription: e: f\n",
                "duplicate-key",
            ),
            (
                "name: !!python/object/apply:os.system [\"x\"]\ndescription: a: b\n",
                "yaml-tag",
            ),
            (
                "name: x\ndescription: a: b\nmetadata:\n  a: &a [1]\n  b: *a\n",
                "yaml-anchor",
            ),
            ("just words\nmore words: and more: words\n", "yaml-syntax"),
        ] {
            assert_eq!(description(text), (None, vec![code]), "{text:?}");
        }
    }

    #[test]
    fn nested_keys_keep_their_shape() {
        let block = read_block(
            "name: x\nmetadata:\n  author: me: myself\n  version: 1\n",
            2,
        );
        let metadata = block
            .entries
            .iter()
            .find(|entry| entry.key == "metadata")
            .map(|entry| &entry.value);
        assert_eq!(
            metadata
                .and_then(|node| node.get("author"))
                .and_then(Node::as_text),
            Some("me: myself")
        );
        assert_eq!(
            metadata
                .and_then(|node| node.get("version"))
                .and_then(Node::as_text),
            Some("1")
        );
    }
}
