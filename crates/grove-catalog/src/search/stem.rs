//! One stem for the forms of a word: `queries` and `query`, `validation` and `validate`.
//!
//! Deliberately light and for English alone. A wrong stem costs little, because the word is also searched for as it was
//! written.

/// Returns the stem of a word in lower case.
pub(crate) fn stem(word: &str) -> String {
    let mut stem = word.to_owned();
    if word.len() <= 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return stem;
    }
    drop_plural(&mut stem);
    drop_verb_ending(&mut stem);
    drop_derivation(&mut stem);
    if stem.len() > 4 && stem.ends_with('e') {
        stem.pop();
    }
    if stem.len() > 3 && stem.ends_with('y') {
        stem.pop();
        stem.push('i');
    }
    stem
}

fn drop_plural(word: &mut String) {
    let ends = |ending: &str| word.ends_with(ending);
    let hissing = ["sses", "ses", "xes", "zes", "ches", "shes"];
    if word.len() > 4 && ends("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if word.len() > 4 && hissing.into_iter().any(ends) {
        word.truncate(word.len() - 2);
    } else if ends("s") && !["ss", "us", "is"].into_iter().any(ends) {
        word.pop();
    }
}

fn drop_verb_ending(word: &mut String) {
    for ending in ["ing", "ed"] {
        let Some(start) = word.strip_suffix(ending) else {
            continue;
        };
        if start.len() < 3 || !start.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
            continue;
        }
        let length = start.len();
        word.truncate(length);
        let bytes = word.as_bytes();
        let doubled = bytes.last() == bytes.iter().rev().nth(1);
        if doubled && !word.ends_with(['l', 's', 'z']) {
            word.pop();
        }
        return;
    }
}

/// Endings that make one part of speech of another, the longest first, each with its replacement.
const DERIVATIONS: [(&str, &str); 24] = [
    ("ization", "ize"),
    ("isation", "ize"),
    ("ational", "ate"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("ability", "able"),
    ("ibility", "ible"),
    ("ication", "ic"),
    ("tional", "tion"),
    ("ation", "ate"),
    ("ently", "ent"),
    ("ator", "ate"),
    ("ally", "al"),
    ("ness", ""),
    ("ment", ""),
    ("ise", "ize"),
    ("yse", "yze"),
    ("ity", ""),
    ("ive", ""),
    ("ion", ""),
    ("er", ""),
    ("or", ""),
    ("al", ""),
];

fn drop_derivation(word: &mut String) {
    for (ending, instead) in DERIVATIONS {
        let shortest = if instead.is_empty() { 4 } else { 3 };
        let Some(start) = word.strip_suffix(ending) else {
            continue;
        };
        if start.len() >= shortest {
            let length = start.len();
            word.truncate(length);
            word.push_str(instead);
            return;
        }
    }
    if word.len() >= 6 && word.ends_with("ly") {
        word.truncate(word.len() - 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_have_one_stem() {
        for (a, b) in [
            ("query", "queries"),
            ("write", "writing"),
            ("writes", "writing"),
            ("process", "processes"),
            ("files", "file"),
            ("install", "installing"),
            ("validate", "validation"),
            ("validator", "validates"),
            ("debug", "debugging"),
            ("optimise", "optimization"),
            ("box", "boxes"),
            ("test", "tested"),
            ("cluster", "clustering"),
            ("statistic", "statistical"),
        ] {
            assert_eq!(stem(a), stem(b), "{a} {b}");
        }
    }

    #[test]
    fn different_words_keep_different_stems() {
        for (a, b) in [
            ("test", "text"),
            ("class", "clas"),
            ("king", "kin"),
            ("rust", "run"),
        ] {
            assert_ne!(stem(a), stem(b), "{a} {b}");
        }
        for kept in ["k8s", "日本", "café", "a", "c++"] {
            assert_eq!(stem(kept), kept);
        }
    }
}
