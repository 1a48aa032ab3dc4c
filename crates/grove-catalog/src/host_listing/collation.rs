//! The order of a dictionary, as programs in JavaScript sort names: marks, digits, letters; accents and case count only
//! if everything else is equal.
//!
//! This is the part of the Unicode collation that names of skills need: ASCII, and letters that are an
//! ASCII letter with accents. Other characters come after those, by code point.

use std::cmp::Ordering;

use unicode_normalization::UnicodeNormalization as _;

const MARKS: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// Compares two names as a dictionary sorts them.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let plain = weights(a).cmp(weights(b));
    plain
        .then_with(|| accents(a).cmp(accents(b)))
        .then_with(|| capitals(a).cmp(capitals(b)))
        .then_with(|| a.cmp(b))
}

fn weights(text: &str) -> impl Iterator<Item = (u8, u32)> {
    letters(text).map(|c| {
        let lower = c.to_lowercase().next().unwrap_or(c);
        match MARKS.find(c) {
            Some(place) => (0, u32::try_from(place).unwrap_or(u32::MAX)),
            None if c.is_ascii_digit() => (1, u32::from(c)),
            None => (2, u32::from(lower)),
        }
    })
}

/// The characters without their accents.
fn letters(text: &str) -> impl Iterator<Item = char> {
    text.nfd().filter(|c| !is_accent(*c))
}

fn accents(text: &str) -> impl Iterator<Item = char> {
    text.nfd().filter(|c| is_accent(*c))
}

/// Sorts small letters before capitals.
fn capitals(text: &str) -> impl Iterator<Item = bool> {
    letters(text).map(char::is_uppercase)
}

const fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order in which Claude Code 2.1.197 listed skills of these names.
    #[test]
    fn names_are_in_the_order_of_a_dictionary() {
        let order = [
            "_x", "1x", "a", "A", "ä", "a10", "a2", "b", "B", "é", "Z", "z_c", "z-a", "z.b", "za",
            "zz",
        ];
        let mut sorted = order;
        sorted.reverse();
        sorted.sort_by(|a, b| compare(a, b));
        assert_eq!(sorted, order);
    }
}
