//! Frontmatter as read by a host whose only repair is to put values in quotes: Claude Code.
//!
//! The host takes everything from the first line `---` to the next three hyphens, wherever they are, as YAML. If that
//! fails, it puts quotes around every value of a line `key: value` that has a character with a meaning in YAML, and
//! tries once more. If that fails too, the file has no frontmatter for it. Bytes that are not text are replaced, and of
//! a key that appears twice the last one counts.
//!
//! Grove's own reader judges if a text is YAML. Constructs that it refuses but a parser of YAML takes (tabs, tags,
//! repeated keys) are smoothed out first, so that it answers only one question: could the text be read.

use std::collections::BTreeMap;

use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::yaml::{self, KnownKeys, YamlEntry, YamlValue};

/// The line that begins frontmatter, and the characters that end it.
const FENCE: &str = "---";
/// Characters that have a meaning in YAML in some place.
const SPECIAL: [char; 13] = [
    '{', '}', '[', ']', '*', '&', '#', '!', '|', '>', '%', '@', '`',
];

#[derive(Debug)]
pub(crate) struct QuotedFrontmatter {
    pub(crate) entries: Vec<YamlEntry>,
    pub(crate) body_offset: usize,
}

/// The reason why such a host finds no frontmatter in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrontmatterNotFound {
    /// The file does not begin with a fence, or no fence ends the frontmatter.
    NoFence,
    /// The text is not YAML, even with quotes.
    NotYaml,
}

impl FrontmatterNotFound {
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::NoFence => {
                "for this host the file has no frontmatter: it must begin with a line `---`, without a byte order mark and without bare carriage returns as line ends"
            }
            Self::NotYaml => {
                "the frontmatter is no YAML, and this host repairs no more than values with a character of YAML in them"
            }
        }
    }
}

/// The offset at which the body starts for such a host, in a file whose frontmatter it cannot read; nothing if it can.
///
/// Frontmatter that it cannot read is left out of the body; a file without fences is body as a whole.
pub fn unread_body(bytes: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    match read(&text) {
        Ok(_) => None,
        Err(FrontmatterNotFound::NoFence) => Some(0),
        Err(FrontmatterNotFound::NotYaml) => Some(fenced(&text)?.1),
    }
}

pub(crate) fn read(text: &str) -> Result<QuotedFrontmatter, FrontmatterNotFound> {
    let (inside, body_offset) = fenced(text).ok_or(FrontmatterNotFound::NoFence)?;
    let smooth = smoothed(inside);
    let entries = strict(&smooth)
        .or_else(|| strict(&with_quotes(&smooth)))
        .ok_or(FrontmatterNotFound::NotYaml)?;
    Ok(QuotedFrontmatter {
        entries,
        body_offset,
    })
}

/// The text between the fences, and the byte offset of the body.
fn fenced(text: &str) -> Option<(&str, usize)> {
    let after = text.strip_prefix(FENCE)?;
    let line_end = after.find('\n')?;
    if !after.get(..line_end)?.trim().is_empty() {
        return None;
    }
    let start = FENCE.len() + line_end + 1;
    let length = text.get(start..)?.find(FENCE)?;
    let close = start + length + FENCE.len();
    let rest = text.get(close..)?;
    let blank = rest.len() - rest.trim_start().len();
    Some((text.get(start..start + length)?, close + blank))
}

/// The entries of a text that is YAML without any repair.
fn strict(text: &str) -> Option<Vec<YamlEntry>> {
    let block = yaml::read_block(text, 2, KnownKeys::NONE);
    // Every repair leaves a diagnostic, so none but the one for size may be there.
    let is_size = |finding: &Diagnostic| finding.code == Code::FrontmatterTooLarge;
    block
        .diagnostics
        .iter()
        .all(is_size)
        .then_some(block.entries)
}

/// The text with each construct that Grove's reader refuses and a parser of YAML takes put in another form, line by line.
fn smoothed(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(plain_line).collect();
    blank_out_repeated(&mut lines);
    let mut smooth = lines.join("\n");
    smooth.push('\n');
    smooth
}

fn plain_line(line: &str) -> String {
    let line = line.trim_end_matches('\r').replace('\t', "  ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    let Some((key, value)) = key_and_value(&line) else {
        return line;
    };
    // A tag or an anchor does not change the text after it.
    if let Some(word) = value.split(' ').next()
        && (word.starts_with('!') || word.starts_with('&'))
        && let Some(rest) = value.strip_prefix(word)
        && !rest.trim().is_empty()
    {
        return format!("{key}: {}", rest.trim_start());
    }
    if value.starts_with(',') {
        return format!("{key}: {}", in_quotes(value));
    }
    line
}

/// Blanks out all but the last of repeated top-level keys, and merge keys. Lines keep their numbers.
fn blank_out_repeated(lines: &mut [String]) {
    let key_of = |line: &String| {
        let is_top = !line.starts_with([' ', '#', '-', '"', '\'']);
        let (key, _) = line.split_once(':').filter(|_| is_top)?;
        Some(key.trim_end().to_owned())
    };
    let keys: Vec<Option<String>> = lines.iter().map(key_of).collect();
    let last: BTreeMap<String, usize> = keys
        .iter()
        .enumerate()
        .filter_map(|(at, key)| Some((key.clone()?, at)))
        .collect();
    let mut is_dropped = false;
    for (at, key) in keys.iter().enumerate() {
        if let Some(key) = key {
            is_dropped = key == "<<" || last.get(key).is_some_and(|last| *last > at);
        }
        if is_dropped && let Some(line) = lines.get_mut(at) {
            line.clear();
        }
    }
}

/// The text with quotes around the values that have a character with a meaning in YAML.
fn with_quotes(text: &str) -> String {
    let quoted = text.lines().map(|line| match key_and_value(line) {
        Some((key, value)) if needs_quotes(value) => format!("{key}: {}\n", in_quotes(value)),
        _ => format!("{line}\n"),
    });
    quoted.collect()
}

/// The key of letters, `_` and `-` that begins a line, and its value, which follows a blank.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '-'));
    let text = value.trim_start();
    (is_key && !text.is_empty() && text.len() < value.len()).then_some((key, text))
}

fn needs_quotes(value: &str) -> bool {
    let is_within =
        |quote: char| value.len() > 1 && value.starts_with(quote) && value.ends_with(quote);
    let is_quoted = is_within('"') || is_within('\'');
    !is_quoted && (value.contains(SPECIAL) || value.contains(": "))
}

fn in_quotes(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// Returns true if a parser of YAML reads the value as text: `42` and `true` are not, unless they are quoted.
pub(crate) fn is_text(value: &YamlValue) -> bool {
    let YamlValue::Text(scalar) = value else {
        return false;
    };
    !scalar.plain || !is_number_or_truth(&scalar.text)
}

fn is_number_or_truth(text: &str) -> bool {
    const WORDS: [&str; 10] = [
        "true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL", "~",
    ];
    if WORDS.contains(&text) {
        return true;
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = |prefix: &str, radix: u32| {
        text.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix)))
    };
    let is_decimal = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.contains(|c: char| c.is_ascii_digit())
        && unsigned.parse::<f64>().is_ok();
    is_decimal
        || digits("0x", 16)
        || digits("0o", 8)
        || matches!(unsigned, ".inf" | ".Inf" | ".INF")
        || matches!(text, ".nan" | ".NaN" | ".NAN")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(frontmatter: &str) -> bool {
        read(&format!("---\n{frontmatter}\n---\nBody\n")).is_ok()
    }

    #[test]
    fn values_with_a_character_of_yaml_are_quoted_and_nothing_else_is_repaired() {
        for line in [
            "plain",
            "Use when: x",
            "\"a\": b",
            "say \"hi\": now",
            "'It's a: reviewer' x",
            "@handle",
            "`code`",
            "%x",
            "*bold* text",
            "| text",
            "{a} text",
            "[Read, Grep",
            "wow! ends:",
            ", x",
            "!!str x",
            "&a x",
            "it's fine",
            "a\\d: c",
        ] {
            assert!(reads(&format!("description: {line}")), "{line}");
        }
        for line in [
            "Ends with a colon:",
            "\"Matches \\d+\"",
            "'It's a reviewer'",
            "\"It\" is",
            "\"a\" and \"b\"",
            "\"never closed",
            "- item",
            "? what",
        ] {
            assert!(!reads(&format!("description: {line}")), "{line}");
        }
    }

    #[test]
    fn only_lines_with_a_plain_key_at_their_start_are_quoted() {
        for text in [
            "a: b\na: c",
            "a: b\n<<: c",
            "a:\n\t- x",
            "a: b # c",
            "a: [b,\n  c]",
            "a: |\n  b: c: d",
        ] {
            assert!(reads(text), "{text:?}");
        }
        for text in [
            "key2: a: b",
            "key.x: a: b",
            "my key: a: b",
            "meta:\n  x: a: b",
            "a: first\nno key",
            "a: first\n- item",
            "a: [b,\n  c",
        ] {
            assert!(!reads(text), "{text:?}");
        }
    }

    #[test]
    fn three_hyphens_end_the_frontmatter_wherever_they_stand() {
        for (text, expected) in [
            ("---\na: b\n---\nBody", Some("Body")),
            ("---  \na: b\n--- # end\nBody", Some("# end\nBody")),
            ("---\na: b\n----\nBody", Some("-\nBody")),
            ("---\na: b\n  ---\nBody", Some("Body")),
            ("---\na: b --- c\n---\nBody", Some("c\n---\nBody")),
            ("---\r\na: b\r\n---\r\nBody", Some("Body")),
            ("---\na: b\n---", Some("")),
            ("\u{feff}---\na: b\n---\n", None),
            ("---\ra: b\r---\r", None),
            ("\n---\na: b\n---\n", None),
            ("----\na: b\n----\n", None),
            ("---\na: b\n...\n", None),
            ("", None),
            ("---", None),
        ] {
            let body = read(text).ok().and_then(|it| text.get(it.body_offset..));
            assert_eq!(body, expected, "{text:?}");
        }
    }

    #[test]
    fn the_last_of_a_key_that_stands_twice_counts() {
        let quoted = read("---\na: 1\nb: |\n  x\na: 2\n---\n").unwrap();
        let values: Vec<(&str, Option<&str>)> = quoted
            .entries
            .iter()
            .map(|entry| (&*entry.key, entry.value.as_text()))
            .collect();
        assert_eq!(values.last(), Some(&("a", Some("2"))));
        assert_eq!(values.len(), 2);
    }

    #[test]
    fn numbers_and_truths_are_no_texts() {
        for (written, expected) in [
            ("42", false),
            ("-5", false),
            ("1.5", false),
            ("1e3", false),
            ("0x1f", false),
            ("0o17", false),
            (".inf", false),
            ("True", false),
            ("false", false),
            ("\"42\"", true),
            ("yes", true),
            ("1_000", true),
            ("12:30", true),
            ("2020-01-01", true),
            ("infinity", true),
            ("word", true),
        ] {
            let quoted = read(&format!("---\na: {written}\n---\n")).unwrap();
            assert_eq!(
                is_text(&quoted.entries[0].value.value),
                expected,
                "{written}"
            );
        }
    }
}
