//! The record of a document in an index: its vector as small integers with their scale, then its different tokens.

use std::collections::{BTreeMap, BTreeSet};

use grove_catalog::search::SearchDocument;

use crate::pooled::vector;
use crate::table::Table;
use crate::tokens::each_token;

/// The most characters of a body that count; more made the results worse.
const BODY: usize = 1_500;
/// The most tokens of name and description, and of the whole, that count.
const SHORT: usize = 200;
const WHOLE: usize = 400;
/// The most different tokens that are kept for late interaction.
const KEPT: usize = 224;
/// The greatest of the small integers.
const GREATEST: i64 = 127;
/// The bytes of the scale.
const SCALE: usize = 2;

/// A record as it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    /// The length that the greatest of the small integers stands for.
    pub(crate) scale: i64,
    pub(crate) vector: &'a [u8],
    tokens: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads a record; none for a document without one.
    pub(crate) fn read(table: &Table, bytes: &'a [u8]) -> Option<Self> {
        let (scale, rest) = bytes.split_at_checked(SCALE)?;
        let (vector, tokens) = rest.split_at_checked(table.pooled_width())?;
        Some(Self {
            scale: i64::from(u16::from_le_bytes(scale.try_into().ok()?)),
            vector,
            tokens,
        })
    }

    /// The different tokens of the document.
    pub(crate) fn tokens(self) -> impl Iterator<Item = u16> + 'a {
        let pairs = self.tokens.chunks_exact(2);
        pairs.map(|pair| u16::from_le_bytes(pair.try_into().unwrap_or_default()))
    }
}

/// Returns the record of a document.
pub(crate) fn record(table: &Table, document: &SearchDocument<'_>) -> Vec<u8> {
    let end = document.body.char_indices().nth(BODY).map(|(at, _)| at);
    let body = end
        .and_then(|end| document.body.get(..end))
        .unwrap_or(document.body);
    let mut tokens = Vec::with_capacity(WHOLE);
    each_token(
        table,
        &document.name.replace(['-', '_'], " "),
        &mut |token| tokens.push(token),
    );
    each_token(table, document.description, &mut |token| tokens.push(token));
    let short = tokens.len().min(SHORT);
    each_token(table, body, &mut |token| tokens.push(token));
    tokens.truncate(WHOLE);
    let of_short = vector(
        table,
        &counts(tokens.get(..short).unwrap_or(&tokens)),
        |token| table.told(token),
    );
    let of_whole = vector(table, &counts(&tokens), |token| table.told(token));
    let share = table.settings.share;
    let both = of_short.iter().zip(&of_whole);
    let both: Vec<i64> = both
        .map(|(short, whole)| (short * share + whole * ((1 << 15) - share)) >> 15)
        .collect();
    let most = both
        .iter()
        .map(|value| value.abs())
        .max()
        .unwrap_or(0)
        .max(1);
    let mut record = Vec::with_capacity(SCALE + both.len() + KEPT * 2);
    record.extend_from_slice(&u16::try_from(most).unwrap_or(u16::MAX).to_le_bytes());
    // Rounded to the nearest.
    let small = both.iter().map(|value| {
        let half = most / 2 * value.signum();
        i8::try_from((value * GREATEST + half) / most)
            .unwrap_or(0)
            .cast_unsigned()
    });
    record.extend(small);
    let mut seen = BTreeSet::new();
    let once = tokens
        .into_iter()
        .filter(|token| seen.insert(*token))
        .take(KEPT);
    record.extend(once.flat_map(u16::to_le_bytes));
    record
}

/// Counts tokens, in the order of their numbers.
pub(crate) fn counts(tokens: &[u16]) -> BTreeMap<u16, u32> {
    let mut counts = BTreeMap::new();
    for token in tokens {
        *counts.entry(*token).or_default() += 1;
    }
    counts
}
