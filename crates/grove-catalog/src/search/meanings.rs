//! A source of closeness by meaning, beside the words. It is data that is made elsewhere; without it, words alone decide.

use std::fmt::Debug;

use super::entry::Document;
use super::index::Index;

/// The closeness of texts by what they mean.
pub trait Meanings: Debug + Send + Sync {
    /// Returns a digest of everything that its records and scores depend on.
    fn digest(&self) -> [u8; 32];

    /// Returns what an index keeps of a document.
    fn record(&self, document: &Document<'_>) -> Vec<u8>;

    /// Returns the scores of all documents by words and meaning; the best score by words is 1.
    fn fuse(&self, query: &str, records: &Records<'_>, by_words: &[f32]) -> FusedScores;

    /// Returns the closeness from which on a document fits perhaps, and from which on well.
    fn fits(&self) -> [i32; 2];
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
    pub(super) index: &'a Index,
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
