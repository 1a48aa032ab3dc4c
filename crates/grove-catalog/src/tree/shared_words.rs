//! The test if a text leads a reader from a parent to its child: they must have a word in common.
//!
//! Deliberately crude. A word counts if it is long, or if the name of one of the two has it; words of every description
//! do not count. Scripts without spaces have no words here, so there are no findings about them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::search::stem;

/// The fewest letters of a word that counts although no name has it.
const LONG: usize = 4;
const MAX_WORDS: usize = 2_000;

pub(super) struct ListedWords {
    name: BTreeSet<String>,
    all: BTreeSet<String>,
    is_spaced: bool,
}

impl ListedWords {
    pub(super) fn of(name: &str, description: &str) -> Self {
        let name_words: BTreeSet<String> = stems(name).collect();
        let all = stems(description).chain(name_words.iter().cloned());
        Self {
            all: all.collect(),
            is_spaced: !name.chars().chain(description.chars()).any(is_unspaced),
            name: name_words,
        }
    }

    /// Returns true if the two share a word that counts, or if their scripts cannot be compared.
    pub(super) fn share_a_word(&self, other: &Self) -> bool {
        let counts = |word: &&String| {
            word.chars().count() >= LONG || self.name.contains(*word) || other.name.contains(*word)
        };
        !(self.is_spaced && other.is_spaced)
            || self.all.intersection(&other.all).any(|w| counts(&w))
    }
}

fn stems(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().nth(1).is_some())
        .take(MAX_WORDS)
        .filter_map(|word| {
            let lower = word.to_lowercase();
            let stem = stem(&lower);
            (!SAYS_NOTHING.contains(&stem)).then_some(stem)
        })
}

/// Returns true if a word in lower case says nothing about what a skill is for.
pub(crate) fn is_stop_word(word: &str) -> bool {
    SAYS_NOTHING.contains(&stem(word))
}

/// Returns true for scripts that are written without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

static SAYS_NOTHING: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| STOP_WORDS.split(' ').map(stem).collect());

const STOP_WORDS: &str = "\
    about above activate after agent all also always an and any anything are as ask at available be \
    before best both by can child children common could describe do does during each every everything \
    follow for from general good guide handle have help how if in include instruction into is it just \
    kind like lot make many more most much must need never not of on only or other over provide relate \
    request should skill some something stuff support task than that the their them then these they \
    thing this those to tool us use useful user various very want what when where which while will \
    with work would you your";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sensible_parent_meets_its_child() {
        for (parent, child) in [
            (
                ("git", "Everything about git repositories"),
                ("commit", "Writes a git commit"),
            ),
            (
                ("pdf", "Works with PDF documents"),
                ("pdf-merge", "Joins several into one"),
            ),
            (
                ("documents", "Reads and writes PDF"),
                ("pdf", "Extracts text"),
            ),
            (
                ("db", "Queries a database"),
                ("explain", "Explain a slow query"),
            ),
            (
                ("ops", "Debugging in production"),
                ("debug", "Find out what is wrong"),
            ),
            (("cloud", "AWS, GCP and Azure"), ("aws", "Deploys a stack")),
            (
                ("review", "Code review for Rust and Python"),
                ("python", "Idioms"),
            ),
            (("書類", "文書を扱う"), ("pdf", "PDFを読む")),
        ] {
            assert!(
                ListedWords::of(parent.0, parent.1)
                    .share_a_word(&ListedWords::of(child.0, child.1)),
                "{parent:?} {child:?}"
            );
        }
    }

    #[test]
    fn a_vague_parent_does_not() {
        for (parent, child) in [
            (
                ("misc", "Various useful things"),
                ("pdf", "Reads PDF files"),
            ),
            (
                ("helpers", "Use this skill when you need help with tasks"),
                ("git", "Use this skill when you need help with commits"),
            ),
            (
                ("web", "Builds web pages"),
                ("postgres", "Tunes a database"),
            ),
            (
                ("toolbox", "All the tools"),
                ("tmux", "Controls terminal sessions"),
            ),
            // A short word counts only if one of the two names has it.
            (("web", "Do it as one"), ("sql", "Run it as one")),
        ] {
            assert!(
                !ListedWords::of(parent.0, parent.1)
                    .share_a_word(&ListedWords::of(child.0, child.1)),
                "{parent:?} {child:?}"
            );
        }
    }
}
