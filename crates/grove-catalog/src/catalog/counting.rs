//! A catalog within a number of tokens that somebody counts exactly.

use super::budget::{BYTES_PER_TOKEN, Unit};
use super::{Budget, Catalog, Request, catalog};
use crate::snapshot::Snapshot;

/// Tokens are not a sum over parts of a text, so the budget in bytes is found by trying.
const MOST_TRIES: usize = 12;

/// The largest catalog that `count` finds within `tokens`. A text that is over although nothing shorter could
/// be made is returned as it is, as for any budget.
pub fn within_tokens(
    snapshot: &Snapshot,
    request: &Request<'_>,
    tokens: usize,
    count: impl Fn(&str) -> usize,
) -> Catalog {
    let plan = |size: usize| {
        let budget = Budget {
            size,
            unit: Unit::Bytes,
            entries: request.budget.entries,
        };
        let request = Request {
            budget,
            ..request.clone()
        };
        catalog(snapshot, &request)
    };
    let mut size = tokens.saturating_mul(BYTES_PER_TOKEN);
    let (mut best, mut too_large): (Option<Catalog>, usize) = (None, usize::MAX);
    let mut last = None;
    for _ in 0..MOST_TRIES {
        let made = plan(size);
        let counted = count(&made.text);
        let fits = counted <= tokens && made.report.used <= size;
        let near_enough = counted.saturating_mul(100) >= tokens.saturating_mul(97);
        if fits {
            let done = near_enough || made.report.is_whole();
            best = Some(made);
            if done {
                break;
            }
        } else {
            too_large = size;
            last = Some(made);
        }
        // A little below what the last text says of bytes and tokens, so that the next one fits.
        let next = size.saturating_mul(tokens) / counted.max(1);
        let next = (next - next / 50).min(too_large - too_large.min(1));
        if next == size || next == 0 {
            break;
        }
        size = if fits {
            next.max(size + 1)
        } else {
            next.min(size - size / 50 - 1)
        };
        if size >= too_large {
            break;
        }
    }
    best.or(last).unwrap_or_else(|| plan(size))
}
