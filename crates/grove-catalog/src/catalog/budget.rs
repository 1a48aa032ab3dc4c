//! The size limits of a catalog.

/// The unit in which text is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BudgetUnit {
    /// Characters, counted as Unicode scalar values.
    #[default]
    Chars,
    /// Bytes of UTF-8; four of them are about a token.
    Bytes,
}

/// Bytes that are counted as one token where nothing counts exactly.
pub const BYTES_PER_TOKEN: usize = 4;

impl BudgetUnit {
    /// The size of a text.
    pub fn of(self, text: &str) -> usize {
        match self {
            // Most texts are ASCII, and checking that is much faster than counting.
            Self::Chars if text.is_ascii() => text.len(),
            Self::Chars => text.chars().count(),
            Self::Bytes => text.len(),
        }
    }
}

/// The hard limits of one catalog: every character of its text counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogBudget {
    /// The most text that fits.
    pub size: usize,
    /// The unit of that size.
    pub unit: BudgetUnit,
    /// The most entries that fit.
    pub entries: usize,
}

impl CatalogBudget {
    /// A budget in characters.
    pub const fn chars(size: usize, entries: usize) -> Self {
        Self {
            size,
            unit: BudgetUnit::Chars,
            entries,
        }
    }

    /// A budget in tokens of four bytes.
    pub const fn tokens(tokens: usize, entries: usize) -> Self {
        Self {
            size: tokens.saturating_mul(BYTES_PER_TOKEN),
            unit: BudgetUnit::Bytes,
            entries,
        }
    }

    /// Returns a size in the unit in which it is asked for and shown: characters, or tokens rounded up.
    pub const fn shown(&self, size: usize) -> (usize, &'static str) {
        match self.unit {
            BudgetUnit::Chars => (size, "characters"),
            BudgetUnit::Bytes => (size.div_ceil(BYTES_PER_TOKEN), "tokens"),
        }
    }
}
