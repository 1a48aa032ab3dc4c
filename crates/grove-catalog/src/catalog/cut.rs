//! Cuts a text to a length: at a space if one is near, and always the longest cut within the length asked for, so that
//! more room never gives a shorter text.

use super::budget::BudgetUnit;
use super::style::CatalogStyle;

/// The mark in place of text that was left out.
const MARK: char = '…';

/// The most characters to go back to a space. A word that begins farther back is broken, as a text without spaces would
/// otherwise be cut to nothing.
const NEAR: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextCut {
    /// Its end in bytes.
    pub(crate) end: usize,
    /// Its characters, the mark included.
    pub(crate) length: usize,
}

impl TextCut {
    pub(crate) fn of(self, text: &str) -> String {
        let kept = text.get(..self.end).unwrap_or(text);
        if self.end >= text.len() {
            kept.to_owned()
        } else {
            format!("{kept}{MARK}")
        }
    }
}

/// Shortens a text to at most `room` characters.
pub fn shorten(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    // Only the end is examined: a word that begins at a space is cut as it would be from the beginning of the text.
    let near_end = room.saturating_sub(2 * NEAR);
    let before = text.char_indices().nth(near_end).map_or(0, |(at, _)| at);
    let before = text.get(..before).unwrap_or_default();
    let start = before.rfind(char::is_whitespace).unwrap_or(0);
    let longest = cuts_after(text, start).take_while(|cut| cut.length <= room);
    longest.last().map_or_else(String::new, |cut| cut.of(text))
}

/// All cuts of a text, shortest first; the last one is the whole text.
pub(crate) fn cuts(text: &str) -> impl Iterator<Item = TextCut> + '_ {
    cuts_after(text, 0)
}

fn cuts_after(text: &str, start: usize) -> impl Iterator<Item = TextCut> + '_ {
    let (before, after) = text.split_at(start);
    let n_before = before.chars().count();
    let kept = before.trim_end_matches(is_joining);
    let mut since_space = 0;
    let mut trimmed = TextCut {
        end: kept.len(),
        // The mark is one character more.
        length: kept.chars().count() + 1,
    };
    let places = after.char_indices().enumerate().map(Some).chain([None]);
    places.filter_map(move |place| {
        let Some((count, (at, c))) = place else {
            let length = text.chars().count();
            let end = text.len();
            return Some(TextCut { end, length });
        };
        since_space += 1;
        let here = c.is_whitespace() || since_space > NEAR;
        let cut = (here && trimmed.end > 0).then_some(trimmed);
        if c.is_whitespace() {
            since_space = 0;
        }
        if !is_joining(c) {
            trimmed = TextCut {
                end: start + at + c.len_utf8(),
                length: n_before + count + 2,
            };
        }
        cut
    })
}

pub(crate) struct CutCosts<'a> {
    text: &'a str,
    style: CatalogStyle,
    unit: BudgetUnit,
    end: usize,
    kept: usize,
}

impl<'a> CutCosts<'a> {
    pub(crate) fn new(text: &'a str, style: CatalogStyle, unit: BudgetUnit) -> Self {
        Self {
            text,
            style,
            unit,
            end: 0,
            kept: 0,
        }
    }

    /// Returns the cost of a cut, which must be no shorter than the one before.
    pub(crate) fn of(&mut self, cut: TextCut) -> usize {
        let more = self.text.get(self.end..cut.end).unwrap_or_default();
        self.kept += self.style.cost(more, self.unit);
        self.end = cut.end;
        let is_whole = cut.end >= self.text.len();
        let mark = self.unit.of(MARK.encode_utf8(&mut [0; 4]));
        self.kept + if is_whole { 0 } else { mark }
    }
}

/// Returns true for characters after which a text does not stop.
fn is_joining(c: char) -> bool {
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
    fn a_cut_is_the_longest_within_the_length() {
        let text = "Reviews pull requests for security faults, performance and style";
        for (room, expected) in [
            (100, text),
            (64, text),
            (
                63,
                "Reviews pull requests for security faults, performance and…",
            ),
            (45, "Reviews pull requests for security faults…"),
            (42, "Reviews pull requests for security faults…"),
            (41, "Reviews pull requests for security…"),
            (8, "Reviews…"),
            (7, ""),
        ] {
            assert_eq!(shorten(text, room), expected, "{room}");
        }
    }

    #[test]
    fn a_text_without_spaces_is_broken() {
        assert_eq!(shorten(&"日本語".repeat(80), 50).chars().count(), 50);
        assert_eq!(shorten(&"a".repeat(500), 100).len(), 99 + MARK.len_utf8());
        // A space that is near is preferred.
        let text = format!("short {}", "a".repeat(500));
        assert_eq!(shorten(&text, 20), "short…");
        assert_eq!(shorten(&text, 30), format!("short {}…", "a".repeat(23)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn more_room_never_gives_less(
            words in prop::collection::vec("[a-zA-Z<&]{1,12}[.,;:!?]{0,1}|\\(|-|—|é{1,60}", 0..60),
            styled in 0_usize..4,
        ) {
            let text = words.join(" ");
            let style = [CatalogStyle::Xml, CatalogStyle::Markdown, CatalogStyle::Json, CatalogStyle::Names][styled];
            let mut costs = CutCosts::new(&text, style, BudgetUnit::Bytes);
            for cut in cuts(&text) {
                prop_assert_eq!(costs.of(cut), style.cost(&cut.of(&text), BudgetUnit::Bytes));
            }
            let mut before = String::new();
            for room in 0..text.chars().count() + 2 {
                let kept = shorten(&text, room);
                let longest = cuts(&text).take_while(|cut| cut.length <= room).last();
                prop_assert_eq!(&kept, &longest.map_or_else(String::new, |cut| cut.of(&text)));
                prop_assert!(kept.chars().count() <= room);
                let words = before.trim_end_matches(MARK);
                prop_assert!(kept.starts_with(words), "{before} then {kept}");
                before = kept;
            }
            prop_assert_eq!(before, text);
        }
    }
}
