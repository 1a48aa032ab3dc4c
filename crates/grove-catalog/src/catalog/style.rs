//! The form of a catalog: the marks around entries, and the one place where text from files is escaped.

use std::borrow::Cow;

use grove_spec::text::{added_by_escape_xml, escape_xml, is_control};

use super::budget::BudgetUnit;
use super::{INSTRUCTIONS, INSTRUCTIONS_BY_NAME};

/// The shape of a catalog's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CatalogStyle {
    /// `<available_skills>` with one `<skill>` a line.
    #[default]
    Xml,
    /// A list with one item a line.
    Markdown,
    /// One JSON object with one skill a line.
    Json,
    /// The short form: one line a skill, and no locations, for a reader whose program opens a skill by its name.
    Names,
}

struct EntryMarks {
    before_name: &'static str,
    before_description: &'static str,
    before_location: &'static str,
    after: &'static str,
}

impl CatalogStyle {
    const fn marks(self) -> EntryMarks {
        match self {
            Self::Xml => EntryMarks {
                before_name: "<skill><name>",
                before_description: "</name><description>",
                before_location: "</description><location>",
                after: "</location></skill>\n",
            },
            Self::Markdown => EntryMarks {
                before_name: "- **",
                before_description: "**: ",
                before_location: " [",
                after: "]\n",
            },
            Self::Json => EntryMarks {
                before_name: "{\"name\":\"",
                before_description: "\",\"description\":\"",
                before_location: "\",\"location\":\"",
                after: "\"},\n",
            },
            Self::Names => EntryMarks {
                before_name: "- ",
                before_description: ": ",
                before_location: "",
                after: "\n",
            },
        }
    }

    /// Returns the mark between name and location when there is no description.
    const fn straight_to_location(self) -> &'static str {
        match self {
            Self::Xml => "</name><location>",
            Self::Markdown => "** [",
            Self::Json => "\",\"location\":\"",
            Self::Names => "",
        }
    }

    pub(crate) const fn has_locations(self) -> bool {
        !matches!(self, Self::Names)
    }

    pub(crate) const fn instructions(self) -> &'static str {
        match self {
            Self::Xml | Self::Markdown | Self::Json => INSTRUCTIONS,
            Self::Names => INSTRUCTIONS_BY_NAME,
        }
    }

    /// Escapes text from a file or a path, so that it cannot end the element that it is in.
    pub(crate) fn escape(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Xml | Self::Names => escape_xml(text),
            Self::Markdown => escape_markdown(text),
            Self::Json => escape_json(text),
        }
    }

    /// Returns the cost of an entry without its name, description and location.
    pub(crate) const fn overhead(self, described: bool) -> usize {
        let marks = self.marks();
        let middle = if described {
            marks.before_description.len() + marks.before_location.len()
        } else {
            self.straight_to_location().len()
        };
        marks.before_name.len() + middle + marks.after.len()
    }

    /// Returns the cost of a text; `is_plain` is the result of [`is_plain_line`] for it.
    pub(crate) fn cost_of(self, text: &str, is_plain: bool, unit: BudgetUnit) -> usize {
        match self {
            Self::Xml | Self::Names if is_plain => text.len(),
            _ => self.cost(text, unit),
        }
    }

    /// Returns the cost of a text once it is escaped.
    pub(crate) fn cost(self, text: &str, unit: BudgetUnit) -> usize {
        match self {
            Self::Xml | Self::Names => unit.of(text) + added_by_escape_xml(text),
            Self::Markdown | Self::Json => unit.of(&self.escape(text)),
        }
    }

    /// Writes one entry; every part is escaped here.
    pub(crate) fn entry(
        self,
        out: &mut String,
        name: &str,
        description: Option<&str>,
        location: &str,
    ) {
        let description = description.map(|description| self.escape(description));
        let (name, location) = (self.escape(name), self.escape(location));
        self.escaped_entry(out, &name, description.as_deref(), &[&location]);
    }

    /// Writes one entry from parts that were escaped before; the location may be in several parts.
    pub(crate) fn escaped_entry(
        self,
        out: &mut String,
        name: &str,
        description: Option<&str>,
        location: &[&str],
    ) {
        let marks = self.marks();
        out.push_str(marks.before_name);
        out.push_str(name);
        if let Some(description) = description {
            out.push_str(marks.before_description);
            out.push_str(description);
            out.push_str(marks.before_location);
        } else {
            out.push_str(self.straight_to_location());
        }
        for part in location.iter().filter(|_| self.has_locations()) {
            out.push_str(part);
        }
        out.push_str(marks.after);
    }

    pub(crate) fn opening(self, instructions: &str) -> String {
        match self {
            Self::Xml | Self::Names => format!("{instructions}\n<available_skills>\n"),
            Self::Markdown => format!("## Skills\n\n{instructions}\n\n"),
            Self::Json => format!(
                "{{\"instructions\":\"{}\",\"skills\":[\n",
                escape_json(instructions)
            ),
        }
    }

    pub(crate) const fn closing(self) -> &'static str {
        match self {
            Self::Xml | Self::Names => "</available_skills>\n",
            Self::Markdown => "",
            Self::Json => "]}\n",
        }
    }

    /// Returns the entries as they stand in the text: JSON has no comma after the last one.
    pub(crate) fn joined(self, mut entries: String) -> String {
        if self == Self::Json && entries.ends_with(",\n") {
            entries.truncate(entries.len() - 2);
            entries.push('\n');
        }
        entries
    }
}

/// Returns one entry in the form of a catalog, for lists of skills outside of one.
pub fn entry_line(name: &str, description: Option<&str>, location: &str) -> String {
    let mut line = String::new();
    let description = description.map(one_line).filter(|text| !text.is_empty());
    CatalogStyle::Xml.entry(
        &mut line,
        &shown_name(name),
        description.as_deref(),
        location,
    );
    line
}

const LONGEST_NAME: usize = 64;

/// Returns a name on one line and no longer than the standard allows.
pub(crate) fn shown_name(name: &str) -> Cow<'_, str> {
    let name = one_line(name);
    if name.len() <= LONGEST_NAME || name.chars().nth(LONGEST_NAME).is_none() {
        return name;
    }
    let kept: String = name.chars().take(LONGEST_NAME - 1).collect();
    format!("{kept}…").into()
}

/// Returns text on one line, without control characters.
///
/// Escaping then needs no rule for line ends, and an entry is one line in every style.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if is_ascii_line(text) || is_line(text) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let mut word = word.chars().filter(|c| !is_control(*c)).peekable();
        if word.peek().is_some() && !line.is_empty() {
            line.push(' ');
        }
        line.extend(word);
    }
    Cow::Owned(line)
}

/// Returns true if a text is one line without control characters, and has no blanks but single spaces inside.
fn is_line(text: &str) -> bool {
    let mut before = ' ';
    let all_fit = text.chars().all(|c| {
        let fits = match c {
            ' ' => before != ' ',
            c if c.is_ascii() => c.is_ascii_graphic(),
            c => !c.is_whitespace() && !is_control(c),
        };
        before = c;
        fits
    });
    all_fit && !text.ends_with(' ')
}

/// Returns true if a text is ASCII on one line, without control characters and double blanks.
pub(crate) fn is_ascii_line(text: &str) -> bool {
    at_a_glance(text).0
}

/// Returns true if a text is such a line and has nothing to escape between tags: it is written as it is, costs its length,
/// and need not be read again. Most descriptions are such lines, and there are as many as there are skills.
pub(crate) fn is_plain_line(text: &str) -> bool {
    at_a_glance(text) == (true, false)
}

/// Tells if a text is ASCII on one line, and if it has markup. There is no early exit, so that the compiler makes wide
/// compares of the loop.
#[inline]
fn at_a_glance(text: &str) -> (bool, bool) {
    let bytes = text.as_bytes();
    let [first, rest @ ..] = bytes else {
        return (true, false);
    };
    // As signed bytes, control characters and all bytes beyond ASCII are below 0x20.
    let is_odd = |b: u8| u8::from(b.cast_signed() < 0x20) | u8::from(b == 0x7f);
    let is_markup = |b: u8| u8::from(b == b'&') | u8::from(b == b'<') | u8::from(b == b'>');
    let (mut odd, mut markup) = (is_odd(*first), is_markup(*first));
    for (before, b) in bytes.iter().zip(rest) {
        odd |= is_odd(*b) | (u8::from(*before == b' ') & u8::from(*b == b' '));
        markup |= is_markup(*b);
    }
    let is_line = odd == 0 && *first != b' ' && bytes.last() != Some(&b' ');
    (is_line, markup != 0)
}

/// Escapes Markdown so that a text cannot begin a heading, a link, an image, code or emphasis.
fn escape_markdown(text: &str) -> Cow<'_, str> {
    let special = |c: char| matches!(c, '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '#' | '!');
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if special(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    Cow::Owned(escaped)
}

/// Escapes the inside of a JSON string; `<` too, so that a reader that looks for tags finds none in it.
fn escape_json(text: &str) -> Cow<'_, str> {
    if !text.contains(['"', '\\', '<', '\n', '\t']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '<' => escaped.push_str("\\u003c"),
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_an_entry_is_its_length() {
        for style in [
            CatalogStyle::Xml,
            CatalogStyle::Markdown,
            CatalogStyle::Json,
            CatalogStyle::Names,
        ] {
            for description in [None, Some("a <b> & \"c\" *d* [e] \\ 語")] {
                let (name, location) = ("n<a>me", "~/a&b/SKILL.md");
                let mut text = String::new();
                style.entry(&mut text, name, description, location);
                for unit in [BudgetUnit::Chars, BudgetUnit::Bytes] {
                    let location = Some(location).filter(|_| style.has_locations());
                    let parts = [Some(name), description, location];
                    let cost: usize = parts
                        .into_iter()
                        .flatten()
                        .map(|part| style.cost(part, unit))
                        .sum();
                    assert_eq!(
                        unit.of(&text),
                        cost + style.overhead(description.is_some()),
                        "{style:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_line_of_ascii_is_known_at_a_glance() {
        for code in 0..0x800_u32 {
            let Some(c) = char::from_u32(code) else {
                continue;
            };
            let (long, pair) = (format!("{}{c}b", "a".repeat(40)), format!("a {c}"));
            for text in [c.to_string(), long, pair] {
                let words: Vec<&str> = text.split_whitespace().collect();
                let is_line =
                    text.is_ascii() && !text.contains(is_control) && words.join(" ") == text;
                assert_eq!(is_ascii_line(&text), is_line, "{code:x} in {text:?}");
                let is_plain = is_line && escape_xml(&text) == text;
                assert_eq!(is_plain_line(&text), is_plain, "{code:x} in {text:?}");
            }
        }
    }

    #[test]
    fn an_entry_is_one_line_whatever_its_text() {
        assert_eq!(one_line("a\nb\t c\u{1b}[0m\u{2028}d  "), "a b c[0m d");
        assert_eq!(one_line(" a"), "a");
        assert_eq!(one_line("plain text"), "plain text");
        assert_eq!(one_line("a \u{7} b"), "a b");
    }
}
