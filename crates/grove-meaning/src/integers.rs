//! Roots and lengths in integers.

/// The length of a vector that counts as one.
pub(crate) const ONE: i64 = 1 << 14;

/// Returns the root of a number, rounded down.
pub(crate) fn root(number: u64) -> u64 {
    number.isqrt()
}

/// Returns a vector in the direction of `sums` with the length [`ONE`]; zeros for zeros.
pub(crate) fn unit(sums: &[i64]) -> Vec<i64> {
    let most = sums.iter().map(|sum| sum.unsigned_abs()).max().unwrap_or(0);
    // With 24 bits a square has 48, and thousands of them fit into one number.
    let excess = (u64::BITS - most.leading_zeros()).saturating_sub(24);
    let small = sums.iter().map(|sum| sum >> excess);
    let length = root(small.clone().map(|sum| (sum * sum).unsigned_abs()).sum());
    let length = i64::try_from(length).unwrap_or(i64::MAX).max(1);
    small.map(|sum| sum * ONE / length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_keeps_its_direction() {
        assert_eq!(unit(&[3, -4]), [9830, -13107]);
        assert_eq!(unit(&[0, 0]), [0, 0]);
        let large = unit(&[3 << 50, -(4 << 50)]);
        assert_eq!(large, [9830, -13107]);
        assert_eq!(root(u64::MAX), u64::from(u32::MAX));
    }
}
