//! Names in a task: `Postgres`, `iOS`, `Play`. A skill that never has the name does not help with such a task.

use super::words::words;

/// Returns the words of a text that are written as names are, in lower case.
///
/// The first word of a sentence has a capital anyway, and in a text of mostly capitals they mean nothing.
pub(super) fn typed_names(text: &str) -> Vec<String> {
    let (mut n_words, mut n_capitals) = (0_usize, 0_usize);
    let mut names = Vec::new();
    let mut begins_sentence = true;
    for typed in text.split_whitespace() {
        for word in typed.split(|c: char| !c.is_alphanumeric()) {
            let Some(first) = word.chars().next() else {
                continue;
            };
            let has_inner_capital = word.chars().skip(1).any(char::is_uppercase);
            n_words += 1;
            n_capitals += usize::from(first.is_uppercase() || has_inner_capital);
            if has_inner_capital || (first.is_uppercase() && !begins_sentence) {
                // `words` gives the whole word first; its parts are not the name.
                names.extend(words(word).into_iter().take(1));
            }
            begins_sentence = false;
        }
        begins_sentence |= typed.ends_with(['.', '!', '?', ':']);
    }
    if n_capitals * 2 > n_words {
        names.clear();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_by_their_capitals() {
        for (text, expected) in [
            ("tune a slow join in Postgres with an index", "postgres"),
            ("put the iOS app into the Play store", "ios play"),
            ("iOS needs push notifications today", "ios"),
            ("Merge these files. Then I send the CSV on", "csv"),
            ("scan the OT-2 and its GitHub page", "ot github"),
            ("how do I merge files", ""),
            ("Merge The PDF Files", ""),
            ("POSTGRES SLOW", ""),
            ("", ""),
        ] {
            assert_eq!(typed_names(text).join(" "), expected, "{text}");
        }
    }
}
