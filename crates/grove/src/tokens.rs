//! Tokens: a quarter of the bytes, or exactly where the program was built to carry the tables.

/// True if tokens are counted and not estimated.
pub(crate) const EXACT: bool = cfg!(feature = "exact-tokens");

#[cfg(feature = "exact-tokens")]
pub(crate) fn count(text: &str) -> usize {
    grove_tokens::count(text)
}

#[cfg(not(feature = "exact-tokens"))]
pub(crate) fn count(text: &str) -> usize {
    text.len()
        .div_ceil(grove_catalog::catalog::budget::BYTES_PER_TOKEN)
}
