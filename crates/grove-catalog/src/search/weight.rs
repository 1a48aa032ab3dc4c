//! The weight of a word: fielded BM25 with the fields' lengths, and rarity in the library.
//!
//! The numbers were chosen on the `tune` half of the search tasks (`cargo xtask bench search-quality`).

use super::entry::FIELDS;

/// The weights of name, description, headings and body.
const FIELD_WEIGHTS: [f32; FIELDS] = [5.0, 3.0, 2.0, 1.0];
/// The share in which a field's length counts against a word in it.
const FIELD_LENGTHS: [f32; FIELDS] = [0.4, 0.6, 0.8, 0.8];
/// The saturation of repeated words: the smaller it is, the less a repetition adds.
const SATURATION: f32 = 3.0;
/// The part of its weight that a word keeps if only bodies have it: a word in no name, description or heading seldom
/// says what a skill is about.
const BODY_ALONE: f32 = 0.7;

#[derive(Debug, Clone, Copy)]
pub(super) struct AverageLengths([f32; FIELDS]);

impl AverageLengths {
    pub(super) fn of(all: impl Iterator<Item = [u32; FIELDS]>) -> Self {
        let mut totals = [0_u64; FIELDS];
        let mut count = 0_u64;
        for lengths in all {
            count += 1;
            for (total, length) in totals.iter_mut().zip(lengths) {
                *total += u64::from(length);
            }
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "an average of lengths needs no more digits"
        )]
        Self(totals.map(|total| (total as f32 / count.max(1) as f32).max(1.0)))
    }

    /// Returns how much a document is about a word, from 0 to 1.
    pub(super) fn frequency(&self, counts: [u16; FIELDS], lengths: [u32; FIELDS]) -> f32 {
        let mut sum = 0.0;
        for field in 0..FIELDS {
            let at = |values: &[f32; FIELDS]| values.get(field).copied().unwrap_or(0.0);
            let count = f32::from(counts.get(field).copied().unwrap_or(0));
            if count > 0.0 {
                #[expect(clippy::cast_precision_loss, reason = "as above")]
                let length = lengths.get(field).copied().unwrap_or(0) as f32;
                let share = at(&FIELD_LENGTHS);
                sum += at(&FIELD_WEIGHTS) * count / (1.0 - share + share * length / at(&self.0));
            }
        }
        sum / (sum + SATURATION)
    }
}

/// Returns a frequency as one byte, which is never zero for a word that is there.
#[expect(clippy::cast_sign_loss, reason = "a frequency is between 0 and 1")]
pub(super) fn quantised(frequency: f32) -> u8 {
    ((frequency * 255.0).round() as u8).max(1)
}

/// Returns the weight of a word that `documents` of `all` documents have, `told` of them outside their bodies.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of documents fit well enough"
)]
pub(super) fn term_weight(documents: usize, told: usize, all: usize) -> f32 {
    let (having, told, all) = (documents as f32, told as f32, all as f32);
    let rarity = logarithm(1.0 + (all - having + 0.5) / (having + 0.5));
    let is_told = (3.0 * told / having.max(1.0)).min(1.0);
    rarity * (BODY_ALONE + (1.0 - BODY_ALONE) * is_told)
}

/// Returns the natural logarithm of a number from 1 on. That of the system's library differs between machines in the last
/// digit, and indexes have to be the same everywhere.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the result needs no more digits than the number has"
)]
fn logarithm(number: f32) -> f32 {
    let (mut rest, mut doublings) = (f64::from(number), 0.0);
    while rest > std::f64::consts::SQRT_2 {
        rest /= 2.0;
        doublings += 1.0;
    }
    let ratio = (rest - 1.0) / (rest + 1.0);
    let square = ratio * ratio;
    let terms = [15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0];
    let series = terms
        .iter()
        .fold(0.0, |sum, term| sum * square + 1.0 / term);
    (2.0 * ratio * series + doublings * std::f64::consts::LN_2) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_library() {
        for number in [1.0_f32, 1.000_1, 1.5, 2.0, 2.72, 10.0, 20_001.0, 1e9] {
            let difference = (logarithm(number) - number.ln()).abs();
            assert!(difference <= number.ln() * f32::EPSILON, "{number}");
        }
    }

    #[test]
    fn rare_words_and_telling_places_weigh_more() {
        assert!(term_weight(1, 1, 1000) > term_weight(100, 100, 1000));
        assert!(term_weight(10, 10, 1000) > term_weight(10, 0, 1000));
        assert!(term_weight(1000, 1000, 1000) > 0.0);
        let lengths = AverageLengths::of([[2, 20, 10, 500]; 3].into_iter());
        let at = |counts| lengths.frequency(counts, [2, 20, 10, 500]);
        assert!(at([1, 0, 0, 0]) > at([0, 1, 0, 0]));
        assert!(at([0, 1, 0, 0]) > at([0, 0, 0, 1]));
        assert!(at([0, 0, 0, 2]) > at([0, 0, 0, 1]));
        assert!(at([u16::MAX; 4]) <= 1.0);
        let short = lengths.frequency([0, 0, 0, 1], [2, 20, 10, 50]);
        assert!(
            short > at([0, 0, 0, 1]),
            "a short text is more about its words"
        );
        assert_eq!(quantised(0.0), 1);
        assert_eq!(quantised(1.0), 255);
    }
}
