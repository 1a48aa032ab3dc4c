//! Makes a description shorter without breaking it: whole sentences first, then clauses, then words.
//!
//! The first sentence says what a skill does and the "use when" sentence says when; both are kept as long
//! as there is room for them. A word is never cut, and a stump that says nothing is not made.

use crate::tree::is_unspaced;

/// What stands for text that was left out.
const MARK: char = '…';
const GAP: &str = " … ";
const END_MARK: &str = " …";

/// More sentences than anybody reads are not looked at.
const MOST_SENTENCES: usize = 64;

/// Fewer bytes than this say nothing about a skill.
pub(crate) const LEAST: usize = 20;

/// A begun second sentence shorter than this adds nothing.
const LEAST_MORE: usize = 12;

/// From this much room on, a cut description is shared between what a skill does and when to use it.
const ROOM_FOR_TWO: usize = 80;

/// The description in at most `room` characters, or nothing when that little room says nothing.
pub fn shorten(description: &str, room: usize) -> Option<String> {
    if fits(description, room) {
        return Some(description.to_owned());
    }
    Sentences::of(description).within(room)
}

/// A description taken apart, to be shortened to several lengths.
#[derive(Debug)]
pub(crate) struct Sentences<'a> {
    text: &'a str,
    parts: Vec<&'a str>,
    /// Characters of each.
    lengths: Vec<usize>,
    /// The first that says when to use the skill, unless it is the very first.
    when: Option<usize>,
}

impl<'a> Sentences<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let found = sentences(text);
        let when = says_when(text)
            .and_then(|at| found.iter().rposition(|(start, _)| *start <= at))
            .filter(|sentence| *sentence > 0);
        let parts: Vec<&str> = found.into_iter().map(|(_, sentence)| sentence).collect();
        Self {
            text,
            lengths: parts.iter().map(|s| s.chars().count()).collect(),
            parts,
            when,
        }
    }

    /// The description in at most `room` characters, or nothing when that little room says nothing.
    pub(crate) fn within(&self, room: usize) -> Option<String> {
        if fits(self.text, room) {
            return Some(self.text.to_owned());
        }
        if room < LEAST {
            return None;
        }
        let first = *self.parts.first()?;
        self.whole_sentences(room)
            .or_else(|| self.begun_sentence(room))
            .or_else(|| cut(first, room, LEAST))
            .filter(|kept| kept.trim_end_matches([MARK, ' ']).len() >= LEAST)
    }

    /// The first sentence, the one that says when, and as many of the others as there is room for.
    fn whole_sentences(&self, room: usize) -> Option<String> {
        let kept = (0..self.parts.len())
            .take_while(|last| self.length(*last) <= room)
            .last()?;
        let text = self.join(kept);
        // With half of the room left over, the beginning of the next sentence says more than silence.
        let used = text.trim_end_matches([MARK, ' ']);
        let spare = room.saturating_sub(used.chars().count() + 1);
        if self.when.is_none_or(|when| when <= kept) && spare > room / 2 {
            let next = self.parts.get(kept + 1);
            if let Some(begun) = next.and_then(|next| cut(next, spare, LEAST_MORE)) {
                return Some(format!("{used} {begun}"));
            }
        }
        Some(text)
    }

    /// The first sentence whole or begun, and the beginning of the one that says when.
    fn begun_sentence(&self, room: usize) -> Option<String> {
        let (first, whole) = (*self.parts.first()?, *self.lengths.first()?);
        let when = self.when.and_then(|at| self.parts.get(at).copied());
        if whole + 4 + LEAST_MORE <= room {
            let next = when.or_else(|| self.parts.get(1).copied())?;
            let follows = self.when.is_none_or(|at| at == 1);
            let gap = if follows { " " } else { GAP };
            let begun = cut(next, room - whole - gap.chars().count(), LEAST_MORE)?;
            return Some(format!("{first}{gap}{begun}"));
        }
        let when = when.filter(|_| room >= ROOM_FOR_TWO)?;
        let begun = cut(first, room * 11 / 20, LEAST)?;
        let rest = cut(when, room - begun.chars().count() - 1, LEAST_MORE)?;
        Some(format!("{begun} {rest}"))
    }

    /// The sentences up to `last` and the one that says when, with a mark where something is missing.
    fn join(&self, last: usize) -> String {
        let mut text = self.parts.get(..=last).unwrap_or_default().join(" ");
        let when = self.when.filter(|when| *when > last);
        if let Some(when) = when {
            text.push_str(if when == last + 1 { " " } else { GAP });
            text.push_str(self.parts.get(when).unwrap_or(&""));
        }
        if when.unwrap_or(last) + 1 < self.parts.len() {
            text.push_str(END_MARK);
        }
        text
    }

    /// How many characters [`Self::join`] gives.
    fn length(&self, last: usize) -> usize {
        let chars = |at: usize| self.lengths.get(at).copied().unwrap_or(0);
        let when = self.when.filter(|when| *when > last);
        let whole: usize = (0..=last).map(chars).sum::<usize>() + last;
        let gap = |when: usize| if when == last + 1 { 1 } else { 3 };
        let then = when.map_or(0, |when| chars(when) + gap(when));
        let cut = when.unwrap_or(last) + 1 < self.parts.len();
        whole + then + if cut { 2 } else { 0 }
    }
}

/// A text cut at the last clause end that leaves at least half of the room used, or else between words.
fn cut(text: &str, room: usize, least: usize) -> Option<String> {
    if fits(text, room) {
        return Some(text.to_owned());
    }
    // One character is for the mark.
    let end = text
        .char_indices()
        .nth(room.checked_sub(1)?)
        .map(|(at, _)| at)?;
    let prefix = text.get(..end)?;
    // Bytes, because a character of some scripts says as much as a word of others.
    let long_enough = |at: usize| {
        text.get(..at)
            .map(|kept| kept.trim_end_matches(is_loose))
            .filter(|kept| kept.len() >= least)
    };
    let clause = clause_ends(prefix)
        .last()
        .and_then(long_enough)
        .filter(|kept| kept.chars().count() >= room / 2);
    let word = || {
        let next = text.get(end..).and_then(|rest| rest.chars().next());
        let last = prefix.chars().next_back();
        // In some scripts every character can begin a word.
        let starts_next = next.is_some_and(char::is_whitespace)
            || next.is_some_and(is_unspaced)
            || last.is_some_and(is_unspaced);
        let at = if starts_next {
            Some(end)
        } else {
            prefix.rfind(char::is_whitespace)
        };
        at.and_then(long_enough)
    };
    clause.or_else(word).map(|kept| format!("{kept}{MARK}"))
}

/// Where clauses end: after a comma and its kin, before a dash or a parenthesis.
fn clause_ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.char_indices().filter_map(move |(at, c)| {
        let next = text
            .get(at + c.len_utf8()..)
            .and_then(|rest| rest.chars().next());
        let before_space = next.is_none_or(char::is_whitespace);
        match c {
            ',' | ';' | ':' if before_space => Some(at),
            '-' if before_space && text.get(..at).is_some_and(|t| t.ends_with(' ')) => Some(at),
            '、' | '，' | '；' | '：' | '—' | '–' | '(' | '（' | '[' => Some(at),
            _ => None,
        }
    })
}

/// The sentences of a description, without the blanks between them.
fn sentences(text: &str) -> Vec<(usize, &str)> {
    let mut all = Vec::new();
    let mut start = text.len() - text.trim_start().len();
    while let Some(rest) = text.get(start..).filter(|rest| !rest.trim().is_empty()) {
        let end = sentence_end(rest).filter(|_| all.len() < MOST_SENTENCES);
        let (sentence, more) = rest.split_at(end.unwrap_or(rest.len()));
        all.push((start, sentence.trim_end()));
        start = text.len() - more.trim_start().len();
    }
    all
}

/// Where the first sentence ends, if another one follows.
///
/// A full stop ends one only before a blank and something that can begin a sentence, and not after an
/// abbreviation such as `e.g.` or a single letter.
fn sentence_end(text: &str) -> Option<usize> {
    let stop = memchr::memchr3_iter(b'.', b'!', b'?', text.as_bytes())
        .map(|at| at + 1)
        .find(|end| {
            let (before, rest) = (
                text.get(..end - 1).unwrap_or_default(),
                text.get(*end..).unwrap_or_default(),
            );
            let next = rest.trim_start();
            let begins = next.chars().next().is_some_and(|c| !c.is_lowercase());
            rest.starts_with(char::is_whitespace) && begins && !ends_in_abbreviation(before)
        });
    let before = text.get(..stop.unwrap_or(text.len())).unwrap_or(text);
    if before.is_ascii() {
        return stop;
    }
    let wide = before.char_indices().find_map(|(at, c)| {
        let end = at + c.len_utf8();
        let more = || {
            let rest = text.get(end..);
            rest.is_some_and(|rest| !rest.trim_start().is_empty())
        };
        (matches!(c, '。' | '！' | '？') && more()).then_some(end)
    });
    [stop, wide].into_iter().flatten().min()
}

fn ends_in_abbreviation(text: &str) -> bool {
    let word = text
        .rsplit(|c: char| c.is_whitespace() || c == '(')
        .next()
        .unwrap_or_default();
    word.contains('.') && word.len() <= 4
        || word.chars().count() == 1
        || matches!(word, "etc" | "vs" | "incl" | "approx" | "cf")
}

/// Where a text begins to say when to use a skill.
fn says_when(text: &str) -> Option<usize> {
    const WORDS: [&[u8]; 10] = [
        b"use when",
        b"use this",
        b"use for",
        b"use it",
        b"use if",
        b"when the user",
        b"when user",
        b"when you",
        b"trigger",
        b"whenever",
    ];
    let lower = text.to_ascii_lowercase();
    let found = WORDS.iter();
    found
        .filter_map(|words| memchr::memmem::find(lower.as_bytes(), words))
        .min()
}

fn fits(text: &str, room: usize) -> bool {
    text.len() <= room || (text.len() <= room.saturating_mul(4) && text.chars().count() <= room)
}

fn is_loose(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            ',' | ';' | ':' | '-' | '(' | '[' | '、' | '，' | '；' | '：' | '—' | '–' | '（'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sentences_and_the_use_when_clause_are_kept() {
        let text = "Makes PDF files. Knows forms, tables and e.g. signatures. It is fast. Use when the user asks for a PDF.";
        for (room, expected) in [
            (200, Some(text)),
            (
                96,
                Some(
                    "Makes PDF files. Knows forms, tables and e.g. signatures. … Use when the user asks for a PDF.",
                ),
            ),
            (
                60,
                Some("Makes PDF files. … Use when the user asks for a PDF."),
            ),
            (40, Some("Makes PDF files. … Use when the user…")),
            (19, None),
        ] {
            assert_eq!(shorten(text, room).as_deref(), expected, "{room}");
        }
    }

    #[test]
    fn a_long_sentence_is_cut_at_a_clause_or_between_words() {
        let text = "Reviews pull requests for security faults, performance and style in large repositories";
        assert_eq!(
            shorten(text, 50).as_deref(),
            Some("Reviews pull requests for security faults…")
        );
        assert_eq!(
            shorten(text, 30).as_deref(),
            Some("Reviews pull requests for…")
        );
    }

    #[test]
    fn a_script_without_blanks_is_cut_between_characters() {
        let kept = shorten(&"日本語".repeat(80), 50).unwrap_or_default();
        assert_eq!(kept.chars().count(), 50);
        assert!(kept.ends_with('…'));
    }

    #[test]
    fn one_endless_word_is_not_cut() {
        assert_eq!(shorten(&"a".repeat(500), 100), None);
    }

    #[test]
    fn other_scripts_have_ends_of_their_own() {
        let text = "生成漂亮的文档，支持表格、图片和链接，还可以导出为其他格式。当用户需要编写报告时使用。";
        let kept = shorten(text, 25).unwrap_or_default();
        assert_eq!(kept, "生成漂亮的文档，支持表格、图片和链接…");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn never_longer_never_mid_word_never_a_stump(
            words in prop::collection::vec("[a-zA-Z]{1,12}[.,;:!?]{0,1}|\\(|-|—|é{1,9}", 0..60),
            room in 0_usize..300,
        ) {
            let text = words.join(" ");
            if let Some(kept) = shorten(&text, room) {
                prop_assert!(kept.chars().count() <= room);
                if kept != text {
                    prop_assert!(kept.trim_end_matches([MARK, ' ']).len() >= LEAST, "{kept}");
                    for word in kept.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
                        prop_assert!(text.split(|c: char| !c.is_alphanumeric()).any(|w| w == word), "{word} in {kept}");
                    }
                }
            }
        }
    }
}
