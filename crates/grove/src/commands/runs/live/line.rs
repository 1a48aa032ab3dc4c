//! A line of a frame: text with marks of meaning, and how wide it is without them.

use grove_spec::money::{amount, in_words};
use grove_spec::text::one_line;
use unicode_width::UnicodeWidthStr as _;

use crate::colour::{ColourMeaning, marked};
use crate::table::shorten;

/// A text in one line of at most so many columns, cut between words where one is there.
pub(super) fn fitted(text: &str, columns: usize) -> String {
    let text = one_line(text);
    match columns {
        _ if text.width() <= columns => text,
        0 => String::new(),
        // A wide character and the mark that something is missing have no room.
        1 | 2 => "…".to_owned(),
        _ => shorten(&text, columns),
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FrameLine {
    /// With marks of meaning: see [`crate::output::Output::painted`].
    pub(super) text: String,
    pub(super) width: usize,
}

impl FrameLine {
    /// A line of plain words, cut where there is no more room.
    pub(super) fn of(text: &str, columns: usize) -> Self {
        let mut line = Self::default();
        line.push(&fitted(text, columns));
        line
    }

    pub(super) fn meaning(meaning: ColourMeaning, text: &str, columns: usize) -> Self {
        let mut line = Self::default();
        line.push_marked(Some(meaning), &fitted(text, columns));
        line
    }

    /// Adds what has no control characters and has room.
    pub(super) fn push(&mut self, text: &str) {
        self.push_marked(None, text);
    }

    pub(super) fn push_marked(&mut self, meaning: Option<ColourMeaning>, text: &str) {
        self.width += text.width();
        match meaning {
            Some(meaning) if !text.is_empty() => self.text.push_str(&marked(meaning, text)),
            _ => self.text.push_str(text),
        }
    }

    /// Goes on at a column; a line that is beyond it already stays as it is.
    pub(super) fn go_to_column(&mut self, column: usize) {
        let blanks = column.saturating_sub(self.width);
        self.push(&" ".repeat(blanks));
    }

    pub(super) fn push_ending_at(
        &mut self,
        column: usize,
        meaning: Option<ColourMeaning>,
        text: &str,
    ) {
        self.go_to_column(column.saturating_sub(text.width()));
        self.push_marked(meaning, text);
    }
}

/// `5 s`, `3:05`, `1:02:03`.
pub(in crate::commands::runs) fn time(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

pub(super) fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Millionths of money for people.
pub(super) fn money(millionths: u64) -> String {
    in_words(amount(millionths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1:00"),
            (605, "10:05"),
            (3_723, "1:02:03"),
        ] {
            assert_eq!(time(seconds * 1_000 + 999), expected);
        }
    }
}
