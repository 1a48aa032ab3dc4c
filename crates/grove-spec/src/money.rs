//! Money as whole millionths, so that sums and comparisons are exact.

/// An amount in millionths; nothing for an amount that is not above zero.
pub fn millionths(amount: f64) -> Option<u64> {
    let is_amount = amount.is_finite() && amount > 0.0 && amount < 1e12;
    #[expect(
        clippy::cast_sign_loss,
        reason = "it was seen to be above zero and far below the largest number"
    )]
    let whole = (amount * 1e6).round() as u64;
    (is_amount && whole > 0).then_some(whole)
}

/// The amount of a number of millionths, for people.
pub fn amount(millionths: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "no bill has more digits than a float is exact for"
    )]
    let millionths = millionths as f64;
    millionths / 1e6
}

/// An amount for people, with as many digits as say something.
pub fn in_words(amount: f64) -> String {
    let digits = match amount {
        1.0.. => 2,
        0.000_1.. => 4,
        _ => 6,
    };
    format!("{amount:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_in_words_is_short_and_above_zero() {
        for (given, expected) in [
            (0.000_024, "0.000024"),
            (0.031_2, "0.0312"),
            (0.000_1, "0.0001"),
            (12.345_678, "12.35"),
        ] {
            assert_eq!(in_words(given), expected);
        }
    }

    #[test]
    fn an_amount_is_above_zero_and_exact_to_a_millionth() {
        for (given, expected) in [
            (0.25, Some(250_000)),
            (3.0, Some(3_000_000)),
            (0.000_001, Some(1)),
            (0.000_000_1, None),
            (0.0, None),
            (-1.0, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(millionths(given), expected, "{given}");
        }
        assert!((amount(250_000) - 0.25).abs() < 1e-12);
    }
}
