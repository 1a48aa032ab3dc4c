//! A catalog within a number of tokens that the caller counts exactly.

use super::ladder::Ladder;
use super::texts::CatalogMaterial;
use super::{Catalog, CatalogRequest, writing};
use crate::snapshot::Snapshot;

/// Returns the catalog of the highest rung that `count` finds within `tokens`; the lowest one if even that is over.
///
/// Tokens are not a sum over parts of a text, so the rung is found by halving. Whatever `count` counts, a higher limit
/// never leads to a lower rung, and the next rung was tried and does not fit.
pub fn within_tokens(
    snapshot: &Snapshot,
    request: &CatalogRequest<'_>,
    tokens: usize,
    count: impl Fn(&str) -> usize,
) -> Catalog {
    let material = CatalogMaterial::of(snapshot, request);
    if material.forest.nodes.len() == 1 {
        return Catalog::nothing(&material, request);
    }
    let ladder = Ladder::of(&material, request, usize::MAX);
    let (mut fits, mut too_much) = (0, ladder.len());
    while too_much - fits > 1 {
        let middle = fits.midpoint(too_much);
        let text = writing::draft(&material, &ladder.page(&material, middle), request);
        if count(&text) <= tokens {
            fits = middle;
        } else {
            too_much = middle;
        }
    }
    // The right names of index files may be more tokens than those that stood for them.
    loop {
        let made = writing::write(&material, &ladder.page(&material, fits), request);
        if fits == 0 || count(&made.text) <= tokens {
            return made;
        }
        fits -= 1;
    }
}
