//! How much a catalog may take, and how it is shared between the user's own skills and the others.

use crate::root::Source;

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
}

impl Budget {
    /// A size as it is asked for and shown: characters, or tokens rounded up.
    pub const fn shown(&self, size: usize) -> (usize, &'static str) {
        match self.unit {
            Unit::Chars => (size, "characters"),
            Unit::Bytes => (size.div_ceil(BYTES_PER_TOKEN), "tokens"),
        }
    }
}

/// Whose skills compete for one share of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pool {
    /// The user's own: user, managed and extra roots.
    Own,
    /// What came with a project, a package or the binary.
    Others,
}

impl Pool {
    /// Whose a source is.
    pub const fn of(source: Source) -> Self {
        match source {
            Source::User | Source::Managed | Source::Extra => Self::Own,
            Source::Project | Source::Package | Source::Bundled => Self::Others,
        }
    }
}

/// The share of the user's own skills when both pools need `own` and `others` of `whole`.
///
/// At least half is theirs as long as they need it, and they come first: only a quarter is kept for the
/// others, so that a project's skills do not vanish behind a large collection.
pub fn own_share(whole: usize, own: usize, others: usize) -> usize {
    let kept_for_others = others.min(whole / 4);
    own.min(whole - kept_for_others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_reserved_and_nobody_starves() {
        for (whole, own, others, expected) in [
            (100, 30, 30, 30),
            (100, 60, 60, 60),
            (100, 90, 90, 75),
            (100, 90, 5, 90),
            (100, 10, 900, 10),
            (100, 900, 0, 100),
            (0, 5, 5, 0),
        ] {
            assert_eq!(
                own_share(whole, own, others),
                expected,
                "{whole} {own} {others}"
            );
            assert!(own_share(whole, own, others) >= own.min(whole / 2));
        }
    }
}
