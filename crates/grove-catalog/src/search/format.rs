//! How an index lies in a file: a head, a core that every search reads, and pieces that few searches read.
//!
//! Numbers are little-endian. Every part has a checksum, so a file can be used without reading all of it.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::entry::FIELDS;

pub(super) const MAGIC: [u8; 8] = *b"grovesr1";
/// Magic, three counts, the digest, core, postings and entries as start and end, checksums of core and head.
pub(super) const HEAD: usize = 8 + 3 * 4 + 32 + 6 * 8 + 4 + 4;
/// A word: where its letters are, in how many documents it is, its weight, its postings, their checksum, its stem.
pub(super) const TERM: usize = 4 + 4 + 4 + 4 + 8 + 4 + 4;
/// A document: its key, where its entry is, the checksum of that, the lengths of its fields.
pub(super) const DOCUMENT: usize = 16 + 8 + 4 + 4 + FIELDS * 4;
/// A posting: a document and a weight, kept as two arrays.
pub(super) const POSTING: usize = 4 + 1;

/// The checksum of a part.
pub fn checksum(bytes: &[u8]) -> u32 {
    xxh3_64(bytes) as u32
}

/// The head of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) documents: u32,
    /// Words as they are written; they come first.
    pub(super) words: u32,
    pub(super) stems: u32,
    pub(super) digest: [u8; 32],
    pub(super) core: Range<u64>,
    pub(super) postings: Range<u64>,
    pub(super) entries: Range<u64>,
    pub(super) core_checksum: u32,
}

impl Head {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD);
        out.extend_from_slice(&MAGIC);
        for count in [self.documents, self.words, self.stems] {
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.extend_from_slice(&self.digest);
        for part in [&self.core, &self.postings, &self.entries] {
            out.extend_from_slice(&part.start.to_le_bytes());
            out.extend_from_slice(&part.end.to_le_bytes());
        }
        out.extend_from_slice(&self.core_checksum.to_le_bytes());
        let own = checksum(&out);
        out.extend_from_slice(&own.to_le_bytes());
        out
    }

    /// A head whose numbers agree with one another and with the size of the file.
    pub(super) fn read(bytes: &[u8], file_size: u64) -> Option<Self> {
        let bytes = bytes.get(..HEAD)?;
        let (content, own) = bytes.split_at_checked(HEAD - 4)?;
        if content.get(..8)? != MAGIC || number32(own, 0)? != checksum(content) {
            return None;
        }
        let part = |at: usize| {
            let part = number64(content, at)?..number64(content, at + 8)?;
            (part.start <= part.end && part.end <= file_size).then_some(part)
        };
        let head = Self {
            documents: number32(content, 8)?,
            words: number32(content, 12)?,
            stems: number32(content, 16)?,
            digest: content.get(20..52)?.try_into().ok()?,
            core: part(52)?,
            postings: part(68)?,
            entries: part(84)?,
            core_checksum: number32(content, 100)?,
        };
        let rows = head.rows();
        (rows <= head.core.end - head.core.start).then_some(head)
    }

    /// How many bytes the rows of documents and words take; the letters and links follow.
    pub(super) fn rows(&self) -> u64 {
        let terms = u64::from(self.words) + u64::from(self.stems);
        u64::from(self.documents) * DOCUMENT as u64 + terms * TERM as u64
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

/// Appends a number in as few bytes as it needs.
pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push((number as u8) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number from the start of some bytes.
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
    fn a_head_is_read_as_it_was_written_or_not_at_all() {
        let head = Head {
            documents: 1,
            words: 2,
            stems: 1,
            digest: [3; 32],
            core: 108..1000,
            postings: 1000..2000,
            entries: 2000..2001,
            core_checksum: 9,
        };
        let bytes = head.write();
        assert_eq!((bytes.len(), HEAD), (HEAD, 108));
        assert_eq!(Head::read(&bytes, 2001), Some(head));
        assert_eq!(Head::read(&bytes, 2000), None, "cut short");
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 4;
            assert_eq!(Head::read(&bad, 2001), None, "bit flipped at {at}");
        }
    }

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
