//! The layout of an index file: a head, rows of documents and words, letters and links, postings, entries, records of
//! meaning (the ends of all of them, then their bytes).
//! The postings of a word are the weights of its documents and then the steps from one document to the next.
//!
//! Numbers are little-endian. One checksum covers everything, so that an index which could be opened is sound: reading
//! and checking 30 MB, an index of 10,000 skills with long bodies, takes a few milliseconds.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::entry::FIELDS;

pub(super) const MAGIC: [u8; 8] = *b"grovesr4";
/// The head: magic, checksum of the rest, three counts, the digests of library and meanings, then core, postings, entries
/// and records as start and end.
pub(super) const HEAD: usize = CHECKED + 3 * 4 + 2 * 32 + 8 * 8;
/// The start of the bytes that the checksum covers.
const CHECKED: usize = 8 + 8;
/// A word: the place of its letters, the number of its documents, its weight, its postings, its stem.
pub(super) const TERM: usize = 4 + 4 + 4 + 4 + 8 + 4;
/// A document: its key, the place of its entry, the lengths of its fields.
pub(super) const DOCUMENT: usize = 16 + 8 + 4 + FIELDS * 4;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct IndexHead {
    pub(super) documents: u32,
    /// Words as they are written; they come first.
    pub(super) words: u32,
    pub(super) stems: u32,
    pub(super) digest: [u8; 32],
    /// The digest of the meanings that records were made with; zeros without any.
    pub(super) meanings: [u8; 32],
    pub(super) core: Range<usize>,
    pub(super) postings: Range<usize>,
    pub(super) entries: Range<usize>,
    pub(super) records: Range<usize>,
}

impl IndexHead {
    pub(super) fn before(&self, parts: [&[u8]; 4]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.records.end);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[0; CHECKED - MAGIC.len()]);
        for count in [self.documents, self.words, self.stems] {
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.extend_from_slice(&self.digest);
        out.extend_from_slice(&self.meanings);
        for part in [&self.core, &self.postings, &self.entries, &self.records] {
            out.extend_from_slice(&(part.start as u64).to_le_bytes());
            out.extend_from_slice(&(part.end as u64).to_le_bytes());
        }
        for part in parts {
            out.extend_from_slice(part);
        }
        make_checksum_right(&mut out);
        out
    }

    /// Reads the head of a file that is as it was written and whose numbers agree with one another.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (magic, rest) = bytes.split_at_checked(MAGIC.len())?;
        if magic != MAGIC || number64(rest, 0)? != xxh3_64(bytes.get(CHECKED..)?) {
            return None;
        }
        let part = |at: usize| {
            let number = |at| usize::try_from(number64(bytes, at)?).ok();
            let part = number(at)?..number(at + 8)?;
            (part.start <= part.end && part.end <= bytes.len()).then_some(part)
        };
        let meanings = CHECKED + 3 * 4 + 32;
        let parts = meanings + 32;
        let head = Self {
            documents: number32(bytes, CHECKED)?,
            words: number32(bytes, CHECKED + 4)?,
            stems: number32(bytes, CHECKED + 8)?,
            digest: bytes.get(CHECKED + 12..meanings)?.try_into().ok()?,
            meanings: bytes.get(meanings..parts)?.try_into().ok()?,
            core: part(parts)?,
            postings: part(parts + 16)?,
            entries: part(parts + 32)?,
            records: part(parts + 48)?,
        };
        let rows = head.rows();
        (rows <= head.core.len() as u64).then_some(head)
    }

    /// Returns the bytes that the rows of documents and words take; the letters and links follow.
    pub(super) fn rows(&self) -> u64 {
        let terms = u64::from(self.words) + u64::from(self.stems);
        u64::from(self.documents) * DOCUMENT as u64 + terms * TERM as u64
    }
}

/// Writes the right checksum into the bytes of an index.
pub fn make_checksum_right(bytes: &mut [u8]) {
    let sum = xxh3_64(bytes.get(CHECKED..).unwrap_or_default());
    if let Some(slot) = bytes.get_mut(MAGIC.len()..CHECKED) {
        slot.copy_from_slice(&sum.to_le_bytes());
    }
}

pub(super) fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

pub(super) fn number64(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Appends a number in as few bytes as possible.
pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push((number as u8) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn take_varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    for shift in (0..35).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        for number in [0, 1, 127, 128, 300, u32::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            assert_eq!(take_varint(&mut bytes.as_slice()), Some(number));
        }
        assert_eq!(take_varint(&mut [0xff; 9].as_slice()), None);
        assert_eq!(take_varint(&mut [0x80].as_slice()), None);
    }
}
