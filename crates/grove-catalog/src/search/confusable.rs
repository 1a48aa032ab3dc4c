//! Skills that a model would mix up.

use super::index::{Index, Source};
use super::query::Damaged;
use crate::snapshot::Snapshot;

/// What would be mixed up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Confusable {
}

/// Finds.
pub fn find<S: Source>(_snapshot: &Snapshot, _index: &Index<S>) -> Result<Confusable, Damaged> { Ok(Confusable::default()) }
