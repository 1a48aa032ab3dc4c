//! The reader of an index file.

use std::sync::Arc;

use super::entry::{CountedDocument, FIELDS};
use super::format::{DOCUMENT, IndexHead, TERM, number32, number64, take_varint};
use super::meanings::Meanings;
use super::weight::AverageLengths;

/// An index over documents that have numbers.
#[derive(Debug)]
pub struct SearchIndex {
    bytes: Vec<u8>,
    head: IndexHead,
    lengths: AverageLengths,
    /// The source of the records, if it is the one that they were made with.
    source: Option<Arc<dyn Meanings>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct IndexTerm {
    pub(super) documents: u32,
    pub(super) weight: f32,
    pub(super) postings: u64,
    pub(super) stem: u32,
}

/// The documents that have a word, each with the weight of the word in it.
pub(super) struct Postings<'a> {
    weights: &'a [u8],
    /// The difference between each document and the one before, and further bytes of other words.
    steps: &'a [u8],
}

impl Postings<'_> {
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u8)> + '_ {
        let (mut document, mut steps) = (0_u32, self.steps);
        self.weights.iter().map_while(move |weight| {
            document = document.checked_add(take_varint(&mut steps)?)?;
            Some((document, *weight))
        })
    }
}

impl SearchIndex {
    /// Opens an index; none if it is damaged or of another version.
    pub fn open(bytes: Vec<u8>) -> Option<Self> {
        let head = IndexHead::read(&bytes)?;
        let mut index = Self {
            bytes,
            head,
            lengths: AverageLengths::of(std::iter::empty()),
            source: None,
        };
        let documents = 0..index.head.documents;
        index.lengths = AverageLengths::of(documents.filter_map(|at| index.lengths_of(at)));
        Some(index)
    }

    /// Lets searches go by meaning too, if the records were made with this source.
    #[must_use]
    pub fn with_meanings(self, source: Option<Arc<dyn Meanings>>) -> Self {
        let made_with = self.head.meanings;
        Self {
            source: source.filter(|source| source.digest() == made_with),
            ..self
        }
    }

    /// The source of closeness by meaning.
    pub(super) fn source(&self) -> Option<&dyn Meanings> {
        self.source.as_deref()
    }

    fn core(&self) -> &[u8] {
        self.bytes.get(self.head.core.clone()).unwrap_or_default()
    }

    /// Returns the digest of the library that it was made for.
    pub fn digest(&self) -> [u8; 32] {
        self.head.digest
    }

    /// Returns the digest of the meanings that its records were made with; zeros without any.
    pub fn meanings(&self) -> [u8; 32] {
        self.head.meanings
    }

    /// Returns the record of a document's meaning; empty if there is none.
    pub(super) fn record(&self, document: u32) -> &[u8] {
        let records = self.bytes.get(self.head.records.clone());
        let records = records.unwrap_or_default();
        let end_of = |at: usize| number32(records, at * 4).map(|end| end as usize);
        let at = document as usize;
        let ends = self.head.documents as usize * 4;
        let start = at.checked_sub(1).map_or(Some(0), end_of);
        let range = start
            .zip(end_of(at))
            .filter(|_| document < self.head.documents);
        let range = range.map(|(start, end)| ends + start..ends + end);
        range
            .and_then(|range| records.get(range))
            .unwrap_or_default()
    }

    /// Returns the number of its documents.
    pub fn documents(&self) -> u32 {
        self.head.documents
    }

    /// Returns the key of a document.
    pub fn key(&self, document: u32) -> Option<u128> {
        let row = self.document(document)?;
        Some(u128::from_le_bytes(row.get(..16)?.try_into().ok()?))
    }

    /// Returns the number of its different words, stems not counted.
    pub(super) fn words(&self) -> u32 {
        self.head.words
    }

    fn document(&self, document: u32) -> Option<&[u8]> {
        if document >= self.head.documents {
            return None;
        }
        let start = document as usize * DOCUMENT;
        self.core().get(start..start + DOCUMENT)
    }

    pub(super) fn lengths_of(&self, document: u32) -> Option<[u32; FIELDS]> {
        let row = self.document(document)?;
        let mut lengths = [0; FIELDS];
        for (at, length) in lengths.iter_mut().enumerate() {
            *length = number32(row, 28 + at * 4)?;
        }
        Some(lengths)
    }

    /// Returns how much a document is about a word of its entry.
    pub(super) fn frequency(&self, document: u32, counts: [u16; FIELDS]) -> f32 {
        self.lengths_of(document)
            .map_or(0.0, |lengths| self.lengths.frequency(counts, lengths))
    }

    /// Returns a document's words; none if its numbers lead nowhere.
    pub(super) fn entry(&self, document: u32) -> Option<CountedDocument> {
        let row = self.document(document)?;
        let (start, length) = (number64(row, 16)?, number32(row, 24)? as usize);
        let entries = self.bytes.get(self.head.entries.clone())?;
        let start = usize::try_from(start).ok()?;
        let bytes = entries.get(start..start.checked_add(length)?)?;
        let mut entry = read_entry(bytes, self.head.words)?;
        entry.key = self.key(document)?;
        entry.lengths = self.lengths_of(document)?;
        Some(entry)
    }

    fn row(&self, term: u32) -> Option<&[u8]> {
        if term >= self.head.words.checked_add(self.head.stems)? {
            return None;
        }
        let start = self.head.documents as usize * DOCUMENT + term as usize * TERM;
        self.core().get(start..start + TERM)
    }

    /// Returns a word by number, or a stem by its number after the words.
    pub(super) fn term(&self, term: u32) -> Option<IndexTerm> {
        let row = self.row(term)?;
        Some(IndexTerm {
            documents: number32(row, 8)?,
            weight: f32::from_bits(number32(row, 12)?),
            postings: number64(row, 16)?,
            stem: number32(row, 24)?,
        })
    }

    /// Returns the number of a stem among all terms.
    pub(super) fn stem_term(&self, stem: u32) -> u32 {
        self.head.words.saturating_add(stem)
    }

    pub(super) fn letters(&self, term: u32) -> Option<&str> {
        let row = self.row(term)?;
        let start = usize::try_from(self.head.rows()).ok()? + 4 + number32(row, 0)? as usize;
        let bytes = self.core().get(start..start + number32(row, 4)? as usize)?;
        std::str::from_utf8(bytes).ok()
    }

    pub(super) fn find_word(&self, word: &str) -> Option<u32> {
        let at = self.first_not_before(0, self.head.words, word);
        (at < self.head.words && self.letters(at) == Some(word)).then_some(at)
    }

    pub(super) fn find_stem(&self, stem: &str) -> Option<u32> {
        let end = self.head.words.checked_add(self.head.stems)?;
        let at = self.first_not_before(self.head.words, end, stem);
        (at < end && self.letters(at) == Some(stem)).then_some(at)
    }

    pub(super) fn words_from(&self, start: &str, most: u32) -> impl Iterator<Item = (u32, &str)> {
        let first = self.first_not_before(0, self.head.words, start);
        (first..self.head.words.min(first.saturating_add(most)))
            .map_while(|at| Some((at, self.letters(at)?)))
            .take_while(move |(_, letters)| letters.starts_with(start))
    }

    fn first_not_before(&self, mut start: u32, mut end: u32, wanted: &str) -> u32 {
        while start < end {
            let middle = start + (end - start) / 2;
            if self.letters(middle).is_some_and(|word| word < wanted) {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        start
    }

    /// Returns the postings of a term; none if its numbers lead nowhere.
    pub(super) fn postings(&self, term: &IndexTerm) -> Option<Postings<'_>> {
        let all = self.bytes.get(self.head.postings.clone())?;
        let start = usize::try_from(term.postings).ok()?;
        let (weights, steps) = all
            .get(start..)?
            .split_at_checked(term.documents as usize)?;
        Some(Postings { weights, steps })
    }

    /// Returns the abbreviations that the documents explain, each with its words.
    pub(super) fn links(&self) -> impl Iterator<Item = (&str, &str)> {
        let start = usize::try_from(self.head.rows()).unwrap_or(usize::MAX);
        let length = number32(self.core(), start).unwrap_or(0) as usize;
        let bytes = start
            .checked_add(4 + length)
            .and_then(|start| self.core().get(start..));
        let text = std::str::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        text.lines().filter_map(|line| line.split_once('\t'))
    }
}

fn read_entry(mut bytes: &[u8], words: u32) -> Option<CountedDocument> {
    let count = take_varint(&mut bytes)?;
    let mut entry = CountedDocument::default();
    let mut number = 0_u32;
    for _ in 0..count {
        number = number.checked_add(take_varint(&mut bytes)?)?;
        let mask = take_varint(&mut bytes)?;
        let mut counts = [0_u16; FIELDS];
        for (at, count) in counts.iter_mut().enumerate() {
            if mask & (1 << at) != 0 {
                *count = u16::try_from(take_varint(&mut bytes)?).ok()?;
            }
        }
        if number >= words {
            return None;
        }
        entry.terms.push((number, counts));
    }
    let links = std::str::from_utf8(bytes).ok()?.lines();
    let links = links.filter_map(|line| line.split_once('\t'));
    entry.links = links.map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    Some(entry)
}
