//! Colour by meaning: a state, a severity, what was typed. Output is readable without it.
//!
//! A marked text has marks around it that no text from a file can have, since they are no characters and are removed from
//! everything that is printed; [`crate::output::Output`] makes colours of them on a terminal and nothing elsewhere.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColourMeaning {
    Good,
    /// It is there, but perhaps not as the reader expects.
    Doubtful,
    Bad,
    /// It needs no attention now.
    Quiet,
    Heading,
}

const END: char = '\u{fdd0}';
const MARKS: [(ColourMeaning, char, &str); 5] = [
    (ColourMeaning::Good, '\u{fdd1}', "\u{1b}[32m"),
    (ColourMeaning::Doubtful, '\u{fdd2}', "\u{1b}[33m"),
    (ColourMeaning::Bad, '\u{fdd3}', "\u{1b}[31m"),
    (ColourMeaning::Quiet, '\u{fdd4}', "\u{1b}[2m"),
    (ColourMeaning::Heading, '\u{fdd5}', "\u{1b}[1m"),
];

pub(crate) fn marked(meaning: ColourMeaning, text: &str) -> String {
    let mark = MARKS.iter().find(|(known, ..)| *known == meaning);
    let mark = mark.map_or(END, |(_, mark, _)| *mark);
    format!("{mark}{text}{END}")
}

/// Returns the terminal's code for a mark; nothing for every other character.
pub(crate) fn code_of(c: char) -> Option<&'static str> {
    if c == END {
        return Some("\u{1b}[0m");
    }
    let mark = MARKS.iter().find(|(_, mark, _)| *mark == c);
    mark.map(|(_, _, code)| *code)
}

/// Returns the meaning of a word of a table: a state, how well a skill fits, how a host shows it, a severity.
pub(crate) fn of_word(word: &str) -> Option<ColourMeaning> {
    Some(match word {
        "ok" | "well" | "whole" | "usable" | "trusted" | "named in its group" => {
            ColourMeaning::Good
        }
        "shadowed" | "disabled" | "filtered" | "hardly" => ColourMeaning::Quiet,
        "ineligible" | "untrusted" | "changed" | "perhaps" | "shortened" | "name-only"
        | "behind-entry" | "people-only" | "warning" => ColourMeaning::Doubtful,
        "invalid" | "error" | "left-out" | "not-looked-in" | "too-deep" | "flat-file"
        | "passed-over" | "no-description" => ColourMeaning::Bad,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use grove_spec::text::is_control;

    use super::*;

    #[test]
    fn no_text_from_a_file_can_have_a_mark() {
        assert!(is_control(END));
        assert!(MARKS.iter().all(|(_, mark, _)| is_control(*mark)));
        let text = marked(ColourMeaning::Bad, "x");
        assert_eq!(grove_spec::text::without_controls(&text), "x");
        assert_eq!(code_of('x'), None);
    }
}
