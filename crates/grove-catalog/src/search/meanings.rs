//! A source of closeness by meaning, beside the words. It is data that is made elsewhere; without it, words alone decide.

use std::fmt::Debug;

use super::SearchFit;
use super::entry::SearchDocument;
use super::index::SearchIndex;

/// A source of closeness between texts by what they mean.
pub trait Meanings: Debug + Send + Sync {
    /// Returns a digest of everything that its records and scores depend on.
    fn digest(&self) -> [u8; 32];

    /// Returns what an index keeps of a document.
    fn record(&self, document: &SearchDocument<'_>) -> Vec<u8>;

    /// Returns the scores of all documents by words and meaning; the best score by words is 1.
    fn fuse(&self, query: &str, records: &Records<'_>, by_words: &[f32]) -> FusedScores;

    /// Returns the bounds for what is worth reading.
    fn bounds(&self) -> MeaningBounds;
}

/// The bounds for what is worth reading, in parts of 16,384.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeaningBounds {
    /// The least closeness of a result without the words of the query.
    pub least: i32,
    /// The weight of closeness beside the share of the query that a document is about.
    pub weight: i32,
    /// The sum of both from which on a document fits perhaps.
    pub perhaps: i32,
    /// The sum from which on it fits well.
    pub well: i32,
}

impl MeaningBounds {
    /// The number that counts as one.
    const ONE: f32 = 16_384.0;

    /// Returns the certainty that a document is the right one, by words and meaning.
    pub(super) fn fit(self, share: f32, closeness: i32) -> SearchFit {
        #[expect(clippy::cast_precision_loss, reason = "parts of 16,384 are exact")]
        let part = |number: i32| number as f32 / Self::ONE;
        let sum = share + part(self.weight) * part(closeness);
        if sum >= part(self.well) {
            SearchFit::Well
        } else if sum >= part(self.perhaps) {
            SearchFit::Perhaps
        } else {
            SearchFit::Hardly
        }
    }
}

/// The results of a query by words and meaning, by document.
#[derive(Debug)]
pub struct FusedScores {
    /// Scores by words and meaning; greater is better.
    pub scores: Vec<f32>,
    /// The closeness of each document to the query.
    pub closeness: Vec<i32>,
}

/// The records of an index, and the documents that may be results.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    pub(super) index: &'a SearchIndex,
    pub(super) allowed: &'a dyn Fn(u32) -> bool,
}

impl<'a> Records<'a> {
    /// Returns the record of a document; empty if there is none.
    pub fn of(&self, document: u32) -> &'a [u8] {
        self.index.record(document)
    }

    /// Returns true if a document may be a result.
    pub fn is_allowed(&self, document: u32) -> bool {
        (self.allowed)(document)
    }
}
