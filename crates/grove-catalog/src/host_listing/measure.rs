//! The units that hosts count: UTF-16 units, columns, or tokens of four bytes.

use unicode_width::UnicodeWidthStr;

use crate::hosts::ListMeasure;

/// Returns the cost of a text by a host's measure, for a list that another program made.
pub fn cost(measure: ListMeasure, text: &str) -> usize {
    match measure {
        ListMeasure::Units => units(text),
        ListMeasure::Columns => text.lines().map(|line| columns(line) + 1).sum(),
        ListMeasure::Tokens => text.lines().map(|line| tokens(line.len() + 1)).sum(),
    }
}

/// Counts UTF-16 units, as JavaScript does.
pub(super) fn units(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    }
}

/// Counts columns on a terminal; control characters have none.
pub(super) fn columns(text: &str) -> usize {
    text.split(char::is_control)
        .map(UnicodeWidthStr::width)
        .sum()
}

/// Counts the tokens of a line with this many bytes: four bytes each, rounded up.
pub(super) const fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// Returns the start of a text, at most `units` UTF-16 units and never half a character.
pub(super) fn first_units(text: &str, units: usize) -> &str {
    let mut left = units;
    for (index, c) in text.char_indices() {
        if c.len_utf16() > left {
            return text.get(..index).unwrap_or_default();
        }
        left -= c.len_utf16();
    }
    text
}

pub(super) fn first_chars(text: &str, chars: usize) -> &str {
    match text.char_indices().nth(chars) {
        Some((index, _)) => text.get(..index).unwrap_or_default(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measure_counts_in_its_own_way() {
        for (text, n_units, n_columns) in [
            ("plain", 5, 5),
            ("é", 1, 1),
            ("日本", 2, 4),
            ("😀", 2, 2),
            ("a\nb\tc", 5, 3),
            ("high→max — so", 13, 13),
        ] {
            assert_eq!(units(text), n_units, "{text}");
            assert_eq!(cost(ListMeasure::Units, text), n_units, "{text}");
            assert_eq!(columns(text), n_columns, "{text}");
        }
        assert_eq!([tokens(0), tokens(1), tokens(4), tokens(5)], [0, 1, 1, 2]);
    }

    #[test]
    fn a_start_never_ends_inside_a_character() {
        assert_eq!(first_units("a😀b", 2), "a");
        assert_eq!(first_units("a😀b", 3), "a😀");
        assert_eq!(first_units("ab", 9), "ab");
        assert_eq!(first_chars("a😀b", 2), "a😀");
        assert_eq!(first_chars("", 2), "");
    }
}
