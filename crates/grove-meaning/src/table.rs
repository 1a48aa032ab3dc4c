//! The reader of the table's file: tokens with their weights and rows of small integers.
//!
//! Numbers are little-endian. One checksum covers everything after it. The head: magic, checksum, four counts (tokens,
//! tokens that begin a word, width of pooled rows, width of late rows), the settings. Then the slots of a hash table from
//! letters to tokens, the ends of the letters, the letters, the weights of tokens, the rows.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::search::{MeaningBounds, Meanings};
use grove_fs::{FsError, files};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The name of the file that this reader is for, by the beginning of its content's digest.
pub const FILE_NAME: &str = concat!(
    "grove-meaning-",
    include_str!("../data/digest.txt"),
    ".table"
);

const MAGIC: &[u8; 8] = b"grovemt1";
/// The start of what the checksum covers.
const CHECKED: usize = 16;
/// The number of counts and settings in the head.
const NUMBERS: usize = 4 + 7;
/// The start of the slots.
const SLOTS_AT: usize = CHECKED + NUMBERS * 4;
/// The number of slots, which is more than the tokens that have a number.
const SLOTS: usize = 1 << 16;
/// The mark of a slot without a token.
const FREE: u16 = u16::MAX;
/// The largest file that is read.
const MOST_BYTES: u64 = 64 << 20;
/// The parts of each token's weights: asked and told, pooled and late.
const WEIGHTS: usize = 4;

/// The reasons for having no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file is damaged or of another version.
    #[error("the table of meanings is damaged or of another version")]
    Damaged,
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FsError),
}

/// The settings of a table, which were chosen with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableSettings {
    /// The part of name and description in a document's vector, of 32,768.
    pub(crate) share: i64,
    /// The weight of the pooled vectors beside the best score by words, of 4,096.
    pub(crate) pooled: i32,
    /// The weight of late interaction, likewise.
    pub(crate) late: i32,
    /// The bounds for what is worth reading.
    pub(crate) bounds: MeaningBounds,
}

/// The vectors of tokens, in their order.
#[derive(Debug)]
pub struct Table {
    bytes: Vec<u8>,
    digest: [u8; 32],
    tokens: usize,
    /// The number of tokens that begin a word; the others continue one.
    first: usize,
    pooled_width: usize,
    late_width: usize,
    letters: Range<usize>,
    weights: usize,
    pooled: usize,
    late: usize,
    pub(crate) settings: TableSettings,
}

/// Returns the file of this reader's table in the first of some folders that has it.
pub fn find<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Option<PathBuf> {
    let files = folders.into_iter().map(|folder| folder.join(FILE_NAME));
    let mut there = files.filter(|file| files::is_there(file));
    there.next()
}

/// Opens a table's file for a search.
pub fn open_file(path: &Path) -> Result<Arc<dyn Meanings>, TableError> {
    let bytes = files::read_bounded(path, MOST_BYTES)?;
    Ok(Arc::new(Table::open(bytes)?))
}

impl Table {
    /// Opens the bytes of a table.
    pub fn open(bytes: Vec<u8>) -> Result<Self, TableError> {
        Self::read(bytes).ok_or(TableError::Damaged)
    }

    fn read(bytes: Vec<u8>) -> Option<Self> {
        let checked = bytes.get(CHECKED..)?;
        let sum = xxh3_64(checked);
        let said = bytes.get(MAGIC.len()..CHECKED)?;
        if bytes.get(..MAGIC.len())? != MAGIC || said != sum.to_le_bytes() {
            return None;
        }
        let number = |at: usize| {
            let start = CHECKED + at * 4;
            let bytes = bytes.get(start..start + 4)?;
            Some(i32::from_le_bytes(bytes.try_into().ok()?))
        };
        let count = |at: usize| usize::try_from(number(at)?).ok();
        let (tokens, first) = (count(0)?, count(1)?);
        let (pooled_width, late_width) = (count(2)?, count(3)?);
        let ends = SLOTS_AT + SLOTS * 2;
        let letters = ends + tokens * 4;
        let last = tokens.checked_sub(1)?;
        let length = bytes.get(ends + last * 4..ends + last * 4 + 4)?;
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        let weights = letters + length;
        let pooled = weights + tokens * WEIGHTS * 2;
        let late = pooled + tokens * pooled_width;
        let is_whole = late + tokens * late_width == bytes.len();
        let is_sound = is_whole && first <= tokens && tokens < usize::from(FREE);
        let mut digest = [0; 32];
        digest.get_mut(..8)?.copy_from_slice(&sum.to_le_bytes());
        digest
            .get_mut(8..16)?
            .copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        is_sound.then_some(())?;
        Some(Self {
            digest,
            tokens,
            first,
            pooled_width,
            late_width,
            letters: letters..weights,
            weights,
            pooled,
            late,
            settings: TableSettings {
                share: i64::from(number(4)?),
                pooled: number(5)?,
                late: number(6)?,
                bounds: MeaningBounds {
                    least: number(7)?,
                    weight: number(8)?,
                    perhaps: number(9)?,
                    well: number(10)?,
                },
            },
            bytes,
        })
    }

    /// Returns a digest of what is in it.
    pub(crate) fn own_digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The width of the rows for whole texts.
    pub(crate) fn pooled_width(&self) -> usize {
        self.pooled_width
    }

    /// The number of its tokens.
    pub(crate) fn tokens(&self) -> usize {
        self.tokens
    }

    /// Returns the token with these letters, which begins or continues a word.
    pub(crate) fn token(&self, letters: &str, continues: bool) -> Option<u16> {
        let mut slot = xxh3_64_with_seed(letters.as_bytes(), u64::from(continues)) as usize % SLOTS;
        for _ in 0..SLOTS {
            let at = SLOTS_AT + slot * 2;
            let bytes = self.bytes.get(at..at + 2)?;
            let token = u16::from_le_bytes(bytes.try_into().ok()?);
            if token == FREE {
                return None;
            }
            let is_continuing = usize::from(token) >= self.first;
            if is_continuing == continues && self.letters(token) == letters.as_bytes() {
                return Some(token);
            }
            slot = (slot + 1) % SLOTS;
        }
        None
    }

    fn letters(&self, token: u16) -> &[u8] {
        let end_of = |token: usize| {
            let at = SLOTS_AT + SLOTS * 2 + token * 4;
            let bytes = self.bytes.get(at..at + 4)?.try_into().ok()?;
            Some(self.letters.start + u32::from_le_bytes(bytes) as usize)
        };
        let token = usize::from(token);
        let start = token
            .checked_sub(1)
            .map_or(Some(self.letters.start), end_of);
        let range = start.zip(end_of(token)).map(|(start, end)| start..end);
        range
            .and_then(|range| self.bytes.get(range))
            .unwrap_or_default()
    }

    fn weight(&self, token: u16, which: usize) -> i64 {
        let at = self.weights + (usize::from(token) * WEIGHTS + which) * 2;
        let bytes = self
            .bytes
            .get(at..at + 2)
            .and_then(|bytes| bytes.try_into().ok());
        i64::from(u16::from_le_bytes(bytes.unwrap_or_default()))
    }

    /// The weight of a token in the vector of a query.
    pub(crate) fn asked(&self, token: u16) -> i64 {
        self.weight(token, 0)
    }

    /// The weight of a token in the vector of a document.
    pub(crate) fn told(&self, token: u16) -> i64 {
        self.weight(token, 1)
    }

    /// The weight of a token of a query in late interaction.
    pub(crate) fn late_asked(&self, token: u16) -> i64 {
        self.weight(token, 2)
    }

    /// The worth of a token of a document in late interaction, of 128.
    pub(crate) fn late_told(&self, token: u16) -> i64 {
        self.weight(token, 3)
    }

    /// The row of a token for whole texts.
    pub(crate) fn pooled_row(&self, token: u16) -> &[u8] {
        self.row(self.pooled, self.pooled_width, token)
    }

    /// The row of a token for late interaction.
    pub(crate) fn late_row(&self, token: u16) -> &[u8] {
        self.row(self.late, self.late_width, token)
    }

    fn row(&self, part: usize, width: usize, token: u16) -> &[u8] {
        let start = part + usize::from(token) * width;
        self.bytes.get(start..start + width).unwrap_or_default()
    }
}
