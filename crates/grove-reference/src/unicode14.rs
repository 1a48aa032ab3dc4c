//! Character questions as Python 3.11 answers them, from Unicode 14.
//!
//! The tables at hand are newer (categories Unicode 16, case and normalisation 17), so what was
//! assigned after 14 is taken out by [`LATER`]. One difference is left: U+1171E counts as a
//! spacing mark here and as a non-spacing mark there, which no answer below depends on.

use unicode_general_category::{GeneralCategory, get_general_category};

/// `str.isspace()`, which is what `str.strip()` removes.
pub(super) fn is_space(found: char) -> bool {
    matches!(
        found,
        '\t'..='\r' | '\u{1c}'..=' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
            | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// `str.strip()`.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `str.isalnum()` of one character: letters and numbers of every kind, no marks.
pub(super) fn is_alphanumeric(found: char) -> bool {
    use GeneralCategory as Category;
    matches!(
        category(found),
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
            | Category::DecimalNumber
            | Category::LetterNumber
            | Category::OtherNumber
    )
}

/// `str.isprintable()` of one character.
pub(super) fn is_printable(found: char) -> bool {
    use GeneralCategory as Category;
    found == ' '
        || !matches!(
            category(found),
            Category::Control
                | Category::Format
                | Category::Surrogate
                | Category::PrivateUse
                | Category::Unassigned
                | Category::LineSeparator
                | Category::ParagraphSeparator
                | Category::SpaceSeparator
        )
}

/// Whether Unicode 14 has the character.
pub(super) fn is_assigned(found: char) -> bool {
    category(found) != GeneralCategory::Unassigned
}

fn category(found: char) -> GeneralCategory {
    let after = LATER.partition_point(|(first, _)| *first <= found);
    let later = after
        .checked_sub(1)
        .and_then(|at| LATER.get(at))
        .is_some_and(|(_, last)| found <= *last);
    if later {
        GeneralCategory::Unassigned
    } else {
        get_general_category(found)
    }
}

/// Ranges first assigned in Unicode 15, 15.1 and 16.
#[rustfmt::skip]
const LATER: &[(char, char)] = &[
    ('\u{897}', '\u{897}'), ('\u{cf3}', '\u{cf3}'), ('\u{ece}', '\u{ece}'),
    ('\u{1b4e}', '\u{1b4f}'), ('\u{1b7f}', '\u{1b7f}'), ('\u{1c89}', '\u{1c8a}'),
    ('\u{2427}', '\u{2429}'), ('\u{2ffc}', '\u{2fff}'), ('\u{31e4}', '\u{31e5}'),
    ('\u{31ef}', '\u{31ef}'), ('\u{a7cb}', '\u{a7cd}'), ('\u{a7da}', '\u{a7dc}'),
    ('\u{105c0}', '\u{105f3}'), ('\u{10d40}', '\u{10d65}'), ('\u{10d69}', '\u{10d85}'),
    ('\u{10d8e}', '\u{10d8f}'), ('\u{10ec2}', '\u{10ec4}'), ('\u{10efc}', '\u{10eff}'),
    ('\u{1123f}', '\u{11241}'), ('\u{11380}', '\u{11389}'), ('\u{1138b}', '\u{1138b}'),
    ('\u{1138e}', '\u{1138e}'), ('\u{11390}', '\u{113b5}'), ('\u{113b7}', '\u{113c0}'),
    ('\u{113c2}', '\u{113c2}'), ('\u{113c5}', '\u{113c5}'), ('\u{113c7}', '\u{113ca}'),
    ('\u{113cc}', '\u{113d5}'), ('\u{113d7}', '\u{113d8}'), ('\u{113e1}', '\u{113e2}'),
    ('\u{116d0}', '\u{116e3}'), ('\u{11b00}', '\u{11b09}'), ('\u{11bc0}', '\u{11be1}'),
    ('\u{11bf0}', '\u{11bf9}'), ('\u{11f00}', '\u{11f10}'), ('\u{11f12}', '\u{11f3a}'),
    ('\u{11f3e}', '\u{11f5a}'), ('\u{1342f}', '\u{1342f}'), ('\u{13439}', '\u{13455}'),
    ('\u{13460}', '\u{143fa}'), ('\u{16100}', '\u{16139}'), ('\u{16d40}', '\u{16d79}'),
    ('\u{18cff}', '\u{18cff}'), ('\u{1b132}', '\u{1b132}'), ('\u{1b155}', '\u{1b155}'),
    ('\u{1cc00}', '\u{1ccf9}'), ('\u{1cd00}', '\u{1ceb3}'), ('\u{1d2c0}', '\u{1d2d3}'),
    ('\u{1df25}', '\u{1df2a}'), ('\u{1e030}', '\u{1e06d}'), ('\u{1e08f}', '\u{1e08f}'),
    ('\u{1e4d0}', '\u{1e4f9}'), ('\u{1e5d0}', '\u{1e5fa}'), ('\u{1e5ff}', '\u{1e5ff}'),
    ('\u{1f6dc}', '\u{1f6dc}'), ('\u{1f774}', '\u{1f776}'), ('\u{1f77b}', '\u{1f77f}'),
    ('\u{1f7d9}', '\u{1f7d9}'), ('\u{1f8b2}', '\u{1f8bb}'), ('\u{1f8c0}', '\u{1f8c1}'),
    ('\u{1fa75}', '\u{1fa77}'), ('\u{1fa87}', '\u{1fa89}'), ('\u{1fa8f}', '\u{1fa8f}'),
    ('\u{1faad}', '\u{1faaf}'), ('\u{1fabb}', '\u{1fabf}'), ('\u{1fac6}', '\u{1fac6}'),
    ('\u{1face}', '\u{1facf}'), ('\u{1fada}', '\u{1fadc}'), ('\u{1fadf}', '\u{1fadf}'),
    ('\u{1fae8}', '\u{1fae9}'), ('\u{1faf7}', '\u{1faf8}'), ('\u{1fbcb}', '\u{1fbef}'),
    ('\u{2b739}', '\u{2b739}'), ('\u{2ebf0}', '\u{2ee5d}'), ('\u{31350}', '\u{323af}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_leaves_exactly_unicode_14() {
        let assigned = (char::MIN..=char::MAX)
            .filter(|found| is_assigned(*found))
            .count();
        assert_eq!(assigned, 282_230);
    }

    #[test]
    fn marks_are_not_alphanumeric() {
        assert!(is_alphanumeric('\u{661}') && is_alphanumeric('\u{b2}'));
        assert!(!is_alphanumeric('\u{94d}') && !is_alphanumeric('\u{24b6}'));
    }

    #[test]
    fn strip_takes_the_information_separators() {
        assert_eq!(strip("\u{1c}\u{a0} x\u{1f}\u{3000}\n"), "x");
    }
}
