//! Text from files on its way out: cleaned where it becomes data, made visible where it is shown to people.
//!
//! Control characters are handled after YAML, because a quoted escape passes every YAML parser.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::hidden_text;

/// Returns true for a character that may never reach a terminal, a prompt or JSON as it is.
///
/// These are C0 but newline and tab, DEL, C1, the two Unicode separators that some readers take for line ends, and
/// noncharacters, which XML may not have.
pub const fn is_control(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
        || (c as u32) & 0xfffe == 0xfffe
}

/// Returns true for ASCII without a character that [`is_control`]: most texts are, and need no second check.
pub fn is_plain(text: &str) -> bool {
    // Without an early exit the compiler makes wide operations of this loop. Counted from the tab, plain are 0 and 1 and
    // what lies between the blank and the tilde; counted from two after it, 0 and 1 are the largest of all.
    let (mut most, mut least) = (0, u8::MAX);
    for &b in text.as_bytes() {
        let from_tab = b.wrapping_sub(b'\t');
        most = most.max(from_tab);
        least = least.min(from_tab.wrapping_sub(2));
    }
    most <= b'~' - b'\t' && least >= b' ' - b'\t' - 2
}

/// Returns true if a text has a character that [`is_control`].
pub fn has_controls(text: &str) -> bool {
    !is_plain(text) && text.contains(is_control)
}

/// Returns true if a text is on one line and has no control characters.
pub fn is_line(text: &str) -> bool {
    !text.contains(|c: char| is_control(c) || matches!(c, '\n' | '\t'))
}

/// Text without control characters, for output of any kind.
pub fn without_controls(text: &str) -> Cow<'_, str> {
    if has_controls(text) {
        Cow::Owned(text.chars().filter(|c| !is_control(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Text for people: control characters, invisible ones, and those that set the direction of others become visible escapes
/// such as `\u{1b}`. An end of a line in the form of Windows stays one.
pub fn visible(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut hidden = hidden_text::places(text).into_iter().peekable();
    let is_odd = |c: char| is_control(c) || hidden_text::decides_direction(c);
    if hidden.peek().is_none() && !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        let is_hidden = hidden.next_if_eq(&at).is_some();
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with("\r\n") {
            continue;
        }
        if is_hidden || is_odd(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// JSON for output: without escaped control characters (raw ones are no JSON). What [`visible`] makes visible is
/// written as an escape, which means the same to every reader.
pub fn visible_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    // A line of JSON ends outside of texts. Nearly all lines of a long list are as they should be.
    for line in json.split_inclusive('\n') {
        if is_plain(line) && memchr::memchr(b'\\', line.as_bytes()).is_none() {
            shown.push_str(line);
        } else {
            push_visible_json(line, &mut shown);
        }
    }
    shown
}

fn push_visible_json(json: &str, shown: &mut String) {
    let json = without_escaped_controls(json);
    let mut hidden = hidden_text::places(&json).into_iter().peekable();
    for (at, c) in json.char_indices() {
        let is_hidden = hidden.next_if_eq(&at).is_some();
        if is_hidden || hidden_text::decides_direction(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else if !is_control(c) {
            shown.push(c);
        }
    }
}

fn without_escaped_controls(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        clean.push_str(before);
        let length = if escape.starts_with("\\u") { 6 } else { 2 };
        let (escape, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        if !is_escaped_control(escape) {
            clean.push_str(escape);
        }
        rest = after;
    }
    clean.push_str(rest);
    clean
}

fn is_escaped_control(escape: &str) -> bool {
    let number = escape.strip_prefix("\\u");
    let number = number.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    matches!(escape, "\\b" | "\\f" | "\\r")
        || number.and_then(char::from_u32).is_some_and(is_control)
}

/// Text for one line: every run of white space is one space, control characters become escapes.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&visible(word));
    }
    line
}

/// Text without the user names, passwords and tokens of the addresses in it.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    const MARK: &str = "://";
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(MARK) {
        shown.push_str(before);
        shown.push_str(MARK);
        let is_end = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
        let (address, others) = after.split_at(after.find(is_end).unwrap_or(after.len()));
        let (authority, _) = address.split_at(address.find('/').unwrap_or(address.len()));
        let is_port = |port: &str| port.bytes().all(|b| b.is_ascii_digit());
        // A password may have an unencoded slash in it.
        let is_cut = authority
            .split_once(':')
            .is_some_and(|(_, port)| !is_port(port));
        let user = if is_cut { address } else { authority };
        let end = user.rfind('@').map_or(0, |at| at + 1);
        let address = address.get(end..).unwrap_or_default();
        if end > 0 {
            shown.push_str("***@");
        }
        match address.split_once('?') {
            Some((path, _)) => {
                shown.push_str(path);
                shown.push_str("?***");
            }
            None => shown.push_str(address),
        }
        rest = others;
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Writes a number with a comma between thousands.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with its noun: `1 file`, `2 files`, `2 tries`.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else if let Some(start) = noun.strip_suffix("ry") {
        format!("{count} {start}ries")
    } else {
        format!("{count} {noun}s")
    }
}

/// The most names that are shown of a long list.
pub const NAMES_SHOWN: usize = 5;

/// The first few names of a long list.
pub fn first_names(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    if names.len() > NAMES_SHOWN {
        format!("{shown} and {} more", names.len() - NAMES_SHOWN)
    } else {
        shown
    }
}

/// Text with `&`, `<` and `>` replaced, so that it cannot end the element it is in.
///
/// Quotes stay: between tags they have no meaning, a reader need not undo them, and each would cost five characters.
pub fn escape_xml(text: &str) -> Cow<'_, str> {
    if markup(text.as_bytes()).next().is_none() {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut start = 0;
    for (at, entity) in markup(text.as_bytes()) {
        escaped.push_str(text.get(start..at).unwrap_or_default());
        escaped.push_str(entity);
        start = at + 1;
    }
    escaped.push_str(text.get(start..).unwrap_or_default());
    Cow::Owned(escaped)
}

/// Text escaped as in [`escape_xml`], with both quotes replaced too, for the value of an attribute.
pub fn escape_xml_attribute(text: &str) -> String {
    let escaped = escape_xml(text).replace('"', "&quot;");
    escaped.replace('\'', "&#x27;")
}

/// The number of characters, all of one byte, that [`escape_xml`] adds to a text.
pub fn added_by_escape_xml(text: &str) -> usize {
    let entities = markup(text.as_bytes());
    entities.map(|(_, entity)| entity.len() - 1).sum()
}

/// The bytes of a text that have a meaning in XML between tags, with their entities.
fn markup(bytes: &[u8]) -> impl Iterator<Item = (usize, &'static str)> {
    // Setting up a wide search costs more than a check of a few dozen bytes; without an early exit the compiler makes
    // wide comparisons of the check.
    let may_have = bytes.len() >= 64
        || bytes
            .iter()
            .fold(0, |any, b| any | u8::from(entity(*b).is_some()))
            != 0;
    let looked_at = if may_have { bytes } else { &[] };
    let found = memchr::memchr3_iter(b'&', b'<', b'>', looked_at);
    found.filter_map(|at| Some((at, entity(*looked_at.get(at)?)?)))
}

const fn entity(b: u8) -> Option<&'static str> {
    match b {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        _ => None,
    }
}

/// The number of edits between two short texts, if at most `allowed`; a swap of neighbours is one.
pub fn edits(a: &str, b: &str, allowed: usize) -> Option<usize> {
    let beginning = |text: &str| -> String { text.chars().take(80).collect() };
    let (a, b) = (beginning(a), beginning(b));
    if a.chars().count().abs_diff(b.chars().count()) > allowed {
        return None;
    }
    Some(strsim::osa_distance(&a, &b)).filter(|count| *count <= allowed)
}

/// The known word that is most nearly the written one.
pub fn nearest<T: AsRef<str> + Ord>(written: &str, known: impl Iterator<Item = T>) -> Option<T> {
    let near = known.filter_map(|word| {
        let edits = edits(written, word.as_ref(), allowed_edits(word.as_ref()));
        Some((edits?, word))
    });
    near.min().map(|(_, word)| word)
}

/// The most edits that a slip may be away from a known word: in a short word, one letter makes another word.
pub(crate) const fn allowed_edits(known: &str) -> usize {
    match known.len() {
        ..4 => 0,
        4..7 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_one_of_a_few_edits() {
        let known = ["model", "tools", "description"];
        let nearest = |written| nearest(written, known.into_iter());
        assert_eq!(nearest("modle"), Some("model"));
        assert_eq!(nearest("descripton"), Some("description"));
        assert_eq!(nearest("moo"), None);
        assert_eq!(nearest("unlike-any"), None);
    }

    #[test]
    fn edits_are_counted_with_swaps() {
        for (a, b, expected) in [
            ("tmux", "tmux", Some(0)),
            ("tmxu", "tmux", Some(1)),
            ("tmu", "tmux", Some(1)),
            ("abc", "xyz", None),
            ("", "ab", Some(2)),
        ] {
            assert_eq!(edits(a, b, 2), expected, "{a} {b}");
        }
    }

    #[test]
    fn markup_is_replaced_wherever_it_stands() {
        let long = "x".repeat(70);
        for lead in ["", "y", &long] {
            let text = format!("{lead}<a href='b'>\"c\" & d</a>{lead}");
            let expected = format!("{lead}&lt;a href='b'&gt;\"c\" &amp; d&lt;/a&gt;{lead}");
            assert_eq!(escape_xml(&text), expected);
            assert_eq!(added_by_escape_xml(&text), expected.len() - text.len());
            let expected = expected.replace('"', "&quot;").replace('\'', "&#x27;");
            assert_eq!(escape_xml_attribute(&text), expected);
        }
        assert!(matches!(escape_xml(&long), Cow::Borrowed(_)));
    }

    #[test]
    fn plain_text_is_ascii_without_controls() {
        for code in 0..0x2100_u32 {
            let Some(c) = char::from_u32(code) else {
                continue;
            };
            // The text is long enough for the wide comparisons and for the bytes that are left over after them.
            for at in [0, 17, 40] {
                let mut text = "x".repeat(40);
                text.insert(at, c);
                assert_eq!(is_plain(&text), c.is_ascii() && !is_control(c), "{code:x}");
                assert_eq!(has_controls(&text), is_control(c), "{code:x}");
            }
        }
    }

    #[test]
    fn shown_text_has_no_control_characters() {
        for code in 0..0x2100_u32 {
            let Some(c) = char::from_u32(code) else {
                continue;
            };
            let text = format!("a{c}b");
            assert!(!visible(&text).contains(is_control), "{code:x}");
            assert!(
                !one_line(&text).contains(|c| is_control(c) || c == '\n'),
                "{code:x}"
            );
            assert!(!without_controls(&text).contains(is_control), "{code:x}");
        }
    }

    #[test]
    fn what_decides_about_direction_is_shown_in_every_script() {
        let of_direction = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}";
        for c in of_direction.chars() {
            for around in ["plain", "שלום", "می\u{200c}خواهم"] {
                let text = format!("{around} {c} {around}\r\n");
                let shown = visible(&text);
                assert!(!shown.contains(c), "{shown}");
                assert!(shown.contains(&c.escape_unicode().to_string()), "{shown}");
                assert!(shown.ends_with(&format!("{around}\n")), "{shown}");
                let json = visible_json(&serde_json::to_string(&text).unwrap());
                assert!(!json.contains(c), "{json}");
                let read: String = serde_json::from_str(&json).unwrap();
                assert_eq!(read, without_controls(&text));
            }
        }
    }

    #[test]
    fn json_has_no_control_characters_raw_or_escaped() {
        let hostile = "a\u{1b}[2J\u{7}b\r\n\t\u{8}\u{c}\u{9b}\u{7f}\"\\\\u001b\\ü";
        let text = visible_json(&serde_json::to_string(hostile).unwrap());
        let read: String = serde_json::from_str(&text).unwrap();
        assert_eq!(read, without_controls(hostile));
        assert!(!text.chars().any(is_control), "{text}");
        // Two backslashes are one of the text, and what follows them is no escape.
        assert!(!text.replace("\\\\", "").contains("\\u00"), "{text}");
    }

    #[test]
    fn newline_and_tab_stay() {
        assert_eq!(without_controls("a\n\tb"), "a\n\tb");
        assert_eq!(one_line("a\n\tb  c "), "a b c");
    }
}
