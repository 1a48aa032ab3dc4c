//! `strictyaml.load(text).data`.

use super::Data;
use super::compose::compose;
use super::construct::construct;
use super::fault::Fault;

/// Loads a document: its mapping, or `None` when it is something else.
pub(super) fn load(text: &str) -> Result<Option<Vec<(String, Data)>>, Fault> {
    match compose(text)? {
        (tree, Some(root)) => construct(tree, root),
        (_, None) => Ok(None),
    }
}
