//! One vector for a text: the rows of its tokens, each by its weight and the root of its count, added.

use std::collections::BTreeMap;

use crate::integers::{root, unit};
use crate::table::Table;

/// The digits by which the amount of a token is cut. A text has at most 400 tokens, so that the sum of their amounts and
/// rows stays far below 31 digits; and an amount has 15, so that the compiler can make wide instructions of the sums.
const CUT: u32 = 12;

/// Returns the vector of a text's tokens, of the length one.
pub(crate) fn vector(
    table: &Table,
    counts: &BTreeMap<u16, u32>,
    weight: impl Fn(u16) -> i64,
) -> Vec<i64> {
    let mut sums = vec![0_i32; table.pooled_width()];
    for (token, count) in counts {
        // Roots with eight digits behind the point, in binary.
        let often = root(u64::from(*count) << 16).cast_signed();
        let amount = i16::try_from((weight(*token) * often) >> CUT).unwrap_or(i16::MAX);
        for (sum, value) in sums.iter_mut().zip(table.pooled_row(*token)) {
            *sum += i32::from(amount) * i32::from(i16::from(value.cast_signed()));
        }
    }
    let sums: Vec<i64> = sums.into_iter().map(i64::from).collect();
    unit(&sums)
}

/// Returns the sum of the products of two rows. Products of these sizes add up without overflow in 32 bits, and there is
/// no early exit, so that the compiler makes wide instructions of the loop; the result does not depend on how.
pub(crate) fn product(a: &[i16], b: &[u8]) -> i32 {
    let pairs = a.iter().zip(b);
    pairs
        .map(|(a, b)| i32::from(*a) * i32::from(i16::from(b.cast_signed())))
        .sum()
}
