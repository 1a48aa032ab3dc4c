//! The words of a text as they are searched for: in lower case, identifiers also by their parts.

use std::sync::LazyLock;

/// The most bytes of a word; longer runs of letters are data.
const MAX_WORD: usize = 48;

/// Calls `each` with every word that has a meaning of its own, in order.
///
/// `configMapName` is given whole and as `config`, `map`, `name`; parts joined by `-`, `_`, `.` and `/` are words of
/// their own. Scripts without spaces are given in overlapping pairs of characters.
pub(super) fn each_word(text: &str, each: &mut dyn FnMut(&str)) {
    let mut buffer = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        rest = rest.get(start..).unwrap_or_default();
        let end = rest
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        run_of_letters(run, after, &mut buffer, each);
        rest = after;
    }
}

pub(super) fn words(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_word(text, &mut |word| all.push(word.to_owned()));
    all
}

fn run_of_letters(run: &str, after: &str, buffer: &mut String, each: &mut dyn FnMut(&str)) {
    if run.chars().any(is_unspaced) {
        pairs(run, buffer, each);
        return;
    }
    if run.len() > MAX_WORD {
        return;
    }
    lower(run, buffer);
    // Some languages have names of one letter and a mark, such as `C++` and `C#`.
    if let Some(mark) = ["++", "#"].into_iter().find(|mark| after.starts_with(mark))
        && run.len() == 1
    {
        buffer.push_str(mark);
        each(buffer);
        return;
    }
    if is_telling(buffer) {
        each(buffer);
    }
    let mut start = 0;
    for end in boundaries(run).chain([run.len()]) {
        let is_part = end - start > 1 && end - start < run.len();
        if let Some(part) = run.get(start..end).filter(|_| is_part) {
            lower(part, buffer);
            let is_number = buffer.bytes().all(|b| b.is_ascii_digit());
            if !is_number && is_telling(buffer) {
                each(buffer);
            }
        }
        start = end;
    }
}

/// Finds where the parts of an identifier end: `parseHTTPRequest2` has `parse`, `HTTP`, `Request` and `2`.
fn boundaries(run: &str) -> impl Iterator<Item = usize> + '_ {
    let mut kinds = run.char_indices().map(|(at, c)| (at, LetterKind::of(c)));
    let mut before = kinds.next().map(|(_, kind)| kind);
    let next = run.char_indices().skip(2).map(|(_, c)| LetterKind::of(c));
    let mut next = next.map(Some).chain([None]);
    std::iter::from_fn(move || {
        for (at, kind) in kinds.by_ref() {
            let last = before.replace(kind);
            let following = next.next().flatten();
            let begins = match (last, kind) {
                (Some(LetterKind::Lower | LetterKind::Digit), LetterKind::Upper) => true,
                // The last capital of several belongs to the word after it.
                (Some(LetterKind::Upper), LetterKind::Upper) => {
                    following == Some(LetterKind::Lower)
                }
                (Some(a), b) => (a == LetterKind::Digit) != (b == LetterKind::Digit),
                (None, _) => false,
            };
            if begins {
                return Some(at);
            }
        }
        None
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LetterKind {
    Upper,
    Lower,
    Digit,
}

impl LetterKind {
    fn of(c: char) -> Self {
        if c.is_uppercase() {
            Self::Upper
        } else if c.is_numeric() {
            Self::Digit
        } else {
            Self::Lower
        }
    }
}

fn lower(text: &str, buffer: &mut String) {
    buffer.clear();
    if text.is_ascii() {
        buffer.push_str(text);
        buffer.make_ascii_lowercase();
    } else {
        buffer.extend(text.chars().flat_map(char::to_lowercase));
    }
}

fn pairs(run: &str, buffer: &mut String, each: &mut dyn FnMut(&str)) {
    let mut before = None;
    for c in run.chars() {
        if let Some(before) = before.replace(c) {
            buffer.clear();
            buffer.push(before);
            buffer.push(c);
            each(buffer);
        }
    }
    if run.chars().nth(1).is_none() {
        each(run);
    }
}

/// Returns true for scripts that are written without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Returns true if a word is more than a letter and not one of those that every text has.
pub(super) fn is_telling(word: &str) -> bool {
    let alone = word.len() == 1 && !word.bytes().all(|b| b.is_ascii_digit());
    !alone && STOP.binary_search(&word).is_err()
}

/// The usual stop words of English, and words in which any task can be put; sorted.
static STOP: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("stop_words.txt").lines().collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_given_whole_and_in_parts() {
        for (text, expected) in [
            ("configMapName", "configmapname config map name"),
            ("parseHTTPRequest2", "parsehttprequest2 parse http request"),
            (
                "snake_case-kebab.dotted/path",
                "snake case kebab dotted path",
            ),
            ("Kubernetes (k8s)", "kubernetes k8s"),
            ("C++ and C#, not c", "c++ c#"),
            ("The quick  tests", "quick tests"),
            ("GRNBoost2", "grnboost2 grn boost"),
            ("東京都", "東京 京都"),
            ("山", "山"),
            ("ÜBER straße", "über straße"),
            ("v2 2024", "v2 2024"),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_word_is_not_given() {
        assert!(words(&"x".repeat(MAX_WORD + 1)).is_empty());
        assert!(words("\u{202e}\u{0}—…!").is_empty());
        assert!(words("how do I use it").is_empty());
    }

    #[test]
    fn the_stop_words_can_be_looked_up() {
        assert!(STOP.is_sorted(), "binary search needs order");
    }
}
