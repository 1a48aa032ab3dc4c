//! How much a catalog may take.

/// What is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unit {
    /// Unicode scalar values.
    #[default]
    Chars,
    /// Bytes of UTF-8; four of them are about a token.
    Bytes,
}

/// Bytes that are counted as one token where nothing counts exactly.
pub const BYTES_PER_TOKEN: usize = 4;

impl Unit {
    /// The size of a text.
    pub fn of(self, text: &str) -> usize {
        match self {
            // Most texts are ASCII, and to know that is much less than to count.
            Self::Chars if text.is_ascii() => text.len(),
            Self::Chars => text.chars().count(),
            Self::Bytes => text.len(),
        }
    }
}

/// The hard limits of one catalog: every character of its text counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// How much text.
    pub size: usize,
    /// Counted in what.
    pub unit: Unit,
    /// How many entries.
    pub entries: usize,
}

impl Budget {
    /// A budget in characters.
    pub const fn chars(size: usize, entries: usize) -> Self {
        Self {
            size,
            unit: Unit::Chars,
            entries,
        }
    }

    /// A budget in tokens of four bytes.
    pub const fn tokens(tokens: usize, entries: usize) -> Self {
        Self {
            size: tokens.saturating_mul(BYTES_PER_TOKEN),
            unit: Unit::Bytes,
            entries,
        }
    }

    /// A size as it is asked for and shown: characters, or tokens rounded up.
    pub const fn shown(&self, size: usize) -> (usize, &'static str) {
        match self.unit {
            Unit::Chars => (size, "characters"),
            Unit::Bytes => (size.div_ceil(BYTES_PER_TOKEN), "tokens"),
        }
    }
}
