//! The tokens of a text: words in lower case without accents, divided into the longest pieces that the table has.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::table::Table;

/// The longest word that is divided; a longer one is data.
const LONGEST_WORD: usize = 100;

/// Calls `take` with the tokens of a text, in their order.
pub(crate) fn each_token(table: &Table, text: &str, take: &mut dyn FnMut(u16)) {
    let mut word = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        } else if c.is_ascii() {
            end_word(table, &mut word, take);
            if c.is_ascii_punctuation() {
                word.push(c);
                end_word(table, &mut word, take);
            }
        } else if c.is_alphanumeric() || is_combining_mark(c) {
            for part in c.nfd().filter(|part| !is_combining_mark(*part)) {
                word.extend(part.to_lowercase());
            }
        } else {
            end_word(table, &mut word, take);
        }
    }
    end_word(table, &mut word, take);
}

/// Divides a word; one that cannot be divided wholly has no tokens.
fn end_word(table: &Table, word: &mut String, take: &mut dyn FnMut(u16)) {
    if let Some(token) = table.token(word, false) {
        take(token);
    } else if word.len() <= LONGEST_WORD
        && let Some(pieces) = pieces(table, word)
    {
        pieces.into_iter().for_each(take);
    }
    word.clear();
}

fn pieces(table: &Table, word: &str) -> Option<Vec<u16>> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while !rest.is_empty() {
        let ends = (1..=rest.len()).rev();
        let known = ends.filter_map(|end| {
            let piece = rest.get(..end)?;
            Some((table.token(piece, !pieces.is_empty())?, end))
        });
        let (token, end) = known.into_iter().next()?;
        pieces.push(token);
        rest = rest.get(end..)?;
    }
    Some(pieces)
}
