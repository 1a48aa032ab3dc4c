//! Reading an index: the core at once, postings and entries as they are asked for.

use std::ops::Deref;
use std::sync::Arc;

use super::entry::{Entry, FIELDS};
use super::format::{
    DOCUMENT, HEAD, Head, POSTING, TERM, checksum, number32, number64, take_varint,
};
use super::weight::Lengths;

/// Where the bytes of an index come from.
pub trait Source {
    /// How many bytes there are.
    fn size(&self) -> u64;
    /// Some bytes, if they are there and their checksum is this one.
    fn read(&self, offset: u64, length: usize, checksum: u32) -> Option<Piece<'_>>;
    /// The first bytes, unchecked: a head checks itself.
    fn head(&self, length: usize) -> Option<Vec<u8>>;
}

/// Bytes of a source.
#[derive(Debug)]
pub enum Piece<'a> {
    /// In memory already.
    Borrowed(&'a [u8]),
    /// Read just now, or before and kept.
    Shared(Arc<[u8]>),
}

impl Deref for Piece<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// Bytes that were made here are as they were made.
impl Source for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, length: usize, _: u32) -> Option<Piece<'_>> {
        let start = usize::try_from(offset).ok()?;
        self.get(start..start.checked_add(length)?)
            .map(Piece::Borrowed)
    }

    fn head(&self, length: usize) -> Option<Vec<u8>> {
        self.get(..length).map(<[u8]>::to_vec)
    }
}

/// An index over documents that are known by number.
#[derive(Debug)]
pub struct Index<S> {
    source: S,
    head: Head,
    core: Vec<u8>,
    lengths: Lengths,
}

/// A word or stem of an index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Term {
    pub(super) documents: u32,
    pub(super) weight: f32,
    pub(super) postings: u64,
    check: u32,
    pub(super) stem: u32,
}

/// The documents that have a word, and how much each is about it.
pub(super) struct Postings<'a>(Piece<'a>);

impl Postings<'_> {
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u8)> + '_ {
        let (documents, weights) = self.0.split_at(self.0.len() / POSTING * 4);
        let numbers = documents.as_chunks::<4>().0.iter();
        numbers
            .map(|bytes| u32::from_le_bytes(*bytes))
            .zip(weights.iter().copied())
    }
}

impl<S: Source> Index<S> {
    /// Opens an index; none when it is damaged or of another version.
    pub fn open(source: S) -> Option<Self> {
        let head = Head::read(&source.head(HEAD)?, source.size())?;
        let length = usize::try_from(head.core.end - head.core.start).ok()?;
        let core = source
            .read(head.core.start, length, head.core_checksum)?
            .to_vec();
        if checksum(&core) != head.core_checksum {
            return None;
        }
        let mut index = Self {
            source,
            head,
            core,
            lengths: Lengths::of(std::iter::empty()),
        };
        let documents = 0..index.head.documents;
        index.lengths = Lengths::of(documents.filter_map(|at| index.lengths_of(at)));
        Some(index)
    }

    /// What it was made for.
    pub fn digest(&self) -> [u8; 32] {
        self.head.digest
    }

    /// How many documents it has.
    pub fn documents(&self) -> u32 {
        self.head.documents
    }

    /// The key of a document.
    pub fn key(&self, document: u32) -> Option<u128> {
        let row = self.document(document)?;
        Some(u128::from_le_bytes(row.get(..16)?.try_into().ok()?))
    }

    /// How many different words it has, stems not counted.
    pub(super) fn words(&self) -> u32 {
        self.head.words
    }

    fn document(&self, document: u32) -> Option<&[u8]> {
        if document >= self.head.documents {
            return None;
        }
        let start = document as usize * DOCUMENT;
        self.core.get(start..start + DOCUMENT)
    }

    pub(super) fn lengths_of(&self, document: u32) -> Option<[u32; FIELDS]> {
        let row = self.document(document)?;
        let mut lengths = [0; FIELDS];
        for (at, length) in lengths.iter_mut().enumerate() {
            *length = number32(row, 32 + at * 4)?;
        }
        Some(lengths)
    }

    /// How much a document is about a word of its entry.
    pub(super) fn frequency(&self, document: u32, counts: [u16; FIELDS]) -> f32 {
        self.lengths_of(document)
            .map_or(0.0, |lengths| self.lengths.frequency(counts, lengths))
    }

    /// A document's words; none when they are damaged.
    pub(super) fn entry(&self, document: u32) -> Option<Entry> {
        let row = self.document(document)?;
        let (start, length) = (number64(row, 16)?, number32(row, 24)?);
        let offset = self.head.entries.start.checked_add(start)?;
        let bytes = self
            .source
            .read(offset, length as usize, number32(row, 28)?)?;
        let mut entry = read_entry(&bytes, self.head.words)?;
        entry.key = self.key(document)?;
        entry.lengths = self.lengths_of(document)?;
        Some(entry)
    }

    fn row(&self, term: u32) -> Option<&[u8]> {
        if term >= self.head.words.checked_add(self.head.stems)? {
            return None;
        }
        let start = self.head.documents as usize * DOCUMENT + term as usize * TERM;
        self.core.get(start..start + TERM)
    }

    /// A word by number, or a stem by its number after the words.
    pub(super) fn term(&self, term: u32) -> Option<Term> {
        let row = self.row(term)?;
        Some(Term {
            documents: number32(row, 8)?,
            weight: f32::from_bits(number32(row, 12)?),
            postings: number64(row, 16)?,
            check: number32(row, 24)?,
            stem: number32(row, 28)?,
        })
    }

    /// The number of a stem among all terms.
    pub(super) fn stem_term(&self, stem: u32) -> u32 {
        self.head.words.saturating_add(stem)
    }

    /// The letters of a word or stem.
    pub(super) fn letters(&self, term: u32) -> Option<&str> {
        let row = self.row(term)?;
        let start = usize::try_from(self.head.rows()).ok()? + 4 + number32(row, 0)? as usize;
        let bytes = self.core.get(start..start + number32(row, 4)? as usize)?;
        std::str::from_utf8(bytes).ok()
    }

    /// The number of a word.
    pub(super) fn find_word(&self, word: &str) -> Option<u32> {
        let at = self.first_not_before(0, self.head.words, word);
        (at < self.head.words && self.letters(at) == Some(word)).then_some(at)
    }

    /// The number of a stem among all terms.
    pub(super) fn find_stem(&self, stem: &str) -> Option<u32> {
        let end = self.head.words.checked_add(self.head.stems)?;
        let at = self.first_not_before(self.head.words, end, stem);
        (at < end && self.letters(at) == Some(stem)).then_some(at)
    }

    /// The words that begin with some letters, at most so many.
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

    /// The postings of a term; none when they are damaged.
    pub(super) fn postings(&self, term: &Term) -> Option<Postings<'_>> {
        let offset = self.head.postings.start.checked_add(term.postings)?;
        let length = (term.documents as usize).checked_mul(POSTING)?;
        if offset.checked_add(length as u64)? > self.head.postings.end {
            return None;
        }
        self.source.read(offset, length, term.check).map(Postings)
    }

    /// The abbreviations that the documents explain, each with its words.
    pub(super) fn links(&self) -> impl Iterator<Item = (&str, &str)> {
        let start = usize::try_from(self.head.rows()).unwrap_or(usize::MAX);
        let length = number32(&self.core, start).unwrap_or(0) as usize;
        let bytes = start
            .checked_add(4 + length)
            .and_then(|start| self.core.get(start..));
        let text = std::str::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        text.lines().filter_map(|line| line.split_once('\t'))
    }
}

fn read_entry(mut bytes: &[u8], words: u32) -> Option<Entry> {
    let count = take_varint(&mut bytes)?;
    let mut entry = Entry::default();
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
