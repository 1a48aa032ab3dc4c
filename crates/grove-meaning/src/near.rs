//! The scores of documents by words and meaning together.
#![expect(
    clippy::cast_precision_loss,
    reason = "weights and closeness have fewer digits than a float"
)]

use grove_catalog::search::{FusedScores, MeaningBounds, Meanings, Records, SearchDocument};

use crate::integers::ONE;
use crate::late::AskedTokens;
use crate::pooled::{product, vector};
use crate::record::{Record, counts, record};
use crate::table::Table;
use crate::tokens::each_token;

/// The number of first documents that are compared token by token.
const FIRST: usize = 50;
/// The most tokens of a query that count.
const ASKED: usize = 64;
/// The digits by which the vector of a query is cut, so that products fit into 32 bits.
const CUT: u32 = 2;
/// The weight that counts as one.
const WEIGHT: f32 = 4_096.0;

impl Meanings for Table {
    fn digest(&self) -> [u8; 32] {
        self.own_digest()
    }

    fn record(&self, document: &SearchDocument<'_>) -> Vec<u8> {
        record(self, document)
    }

    fn fuse(&self, query: &str, records: &Records<'_>, by_words: &[f32]) -> FusedScores {
        let mut tokens = Vec::new();
        each_token(self, query, &mut |token| tokens.push(token));
        tokens.truncate(ASKED);
        let asked = counts(&tokens);
        let of_query = vector(self, &asked, |token| self.asked(token));
        let of_query: Vec<i16> = of_query
            .iter()
            .map(|value| i16::try_from(value >> CUT).unwrap_or(0))
            .collect();
        let documents = 0..by_words.len() as u32;
        let read = |document: u32| Record::read(self, records.of(document));
        let closeness: Vec<i32> = documents
            .map(|document| read(document).map_or(0, |record| cosine(&of_query, record)))
            .collect();
        let weight = |weight: i32| weight as f32 / WEIGHT / ONE as f32;
        let (pooled, late) = (weight(self.settings.pooled), weight(self.settings.late));
        let both = by_words.iter().zip(&closeness);
        let mut scores: Vec<f32> = both
            .map(|(score, near)| score + pooled * *near as f32)
            .collect();
        let mut compared = AskedTokens::of(self, asked.keys().copied());
        for document in first(&scores, records) {
            if let (Some(record), Some(score)) = (read(document), scores.get_mut(document as usize))
            {
                *score += late * compared.closeness(record) as f32;
            }
        }
        FusedScores { scores, closeness }
    }

    fn bounds(&self) -> MeaningBounds {
        self.settings.bounds
    }
}

/// Returns the closeness of a document's vector to that of a query.
pub(crate) fn cosine(query: &[i16], record: Record<'_>) -> i32 {
    let product = i64::from(product(query, record.vector)) << CUT;
    i32::try_from(product * record.scale / (127 * ONE)).unwrap_or(0)
}

/// Returns the documents with the best scores; of equals the first.
fn first(scores: &[f32], records: &Records<'_>) -> Vec<u32> {
    let mut all: Vec<u32> = (0..scores.len() as u32)
        .filter(|at| records.is_allowed(*at))
        .collect();
    let score = |at: &u32| scores.get(*at as usize).copied().unwrap_or(0.0);
    let order = |a: &u32, b: &u32| score(b).total_cmp(&score(a)).then(a.cmp(b));
    if all.len() > FIRST {
        all.select_nth_unstable_by(FIRST, order);
        all.truncate(FIRST);
    }
    all
}
