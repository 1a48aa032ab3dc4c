//! Late interaction: each token of the query finds the token nearest to it in a document.
//!
//! The documents that are compared share most of their tokens, so the nearness of two tokens is computed once.

use crate::record::Record;
use crate::table::Table;

/// The most different tokens of a query that are compared.
const MOST_REQUESTS: usize = 24;
/// The digits of a token's worth.
const WORTH_DIGITS: u32 = 7;

/// The tokens of a query.
pub(crate) struct AskedTokens<'t> {
    table: &'t Table,
    rows: Vec<Vec<i16>>,
    weights: Vec<i64>,
    /// By token of the table: one more than the place of its nearness to each asked token; zero until it is met.
    places: Vec<u32>,
    near: Vec<i32>,
}

impl<'t> AskedTokens<'t> {
    /// The different tokens of a query, in the order of their numbers.
    pub(crate) fn of(table: &'t Table, tokens: impl Iterator<Item = u16>) -> Self {
        let tokens: Vec<u16> = tokens.take(MOST_REQUESTS).collect();
        Self {
            table,
            rows: tokens
                .iter()
                .map(|token| wide(table.late_row(*token)))
                .collect(),
            weights: tokens
                .iter()
                .map(|token| table.late_asked(*token))
                .collect(),
            places: vec![0; table.tokens()],
            near: Vec::new(),
        }
    }

    /// Returns the closeness of a document: 16,129 for one that has every token.
    pub(crate) fn closeness(&mut self, record: Record<'_>) -> i64 {
        let mut best = vec![i32::MIN; self.rows.len()];
        for token in record.tokens() {
            let place = self.place(token);
            let near = self.near.get(place..place + best.len()).unwrap_or_default();
            for (best, near) in best.iter_mut().zip(near) {
                *best = (*best).max(*near);
            }
        }
        let all: i64 = self.weights.iter().sum();
        if all == 0 || best.contains(&i32::MIN) {
            return 0;
        }
        let pairs = best.iter().zip(&self.weights);
        pairs
            .map(|(best, weight)| i64::from(*best) * weight)
            .sum::<i64>()
            / all
    }

    /// Returns the place of a token's nearness to each asked one.
    fn place(&mut self, token: u16) -> usize {
        let Some(place) = self.places.get_mut(usize::from(token)) else {
            return self.near.len();
        };
        if *place == 0 {
            *place = self.near.len() as u32 + 1;
            let row = wide(self.table.late_row(token));
            let worth = i32::try_from(self.table.late_told(token)).unwrap_or(0);
            let near = self
                .rows
                .iter()
                .map(|asked| (product(asked, &row) * worth) >> WORTH_DIGITS);
            self.near.extend(near);
        }
        *place as usize - 1
    }
}

/// Returns a row in wider numbers: it is multiplied with many others.
fn wide(row: &[u8]) -> Vec<i16> {
    row.iter()
        .map(|value| i16::from(value.cast_signed()))
        .collect()
}

/// Returns the sum of the products of two rows; see [`crate::pooled::product`].
fn product(a: &[i16], b: &[i16]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| i32::from(*a) * i32::from(*b))
        .sum()
}
