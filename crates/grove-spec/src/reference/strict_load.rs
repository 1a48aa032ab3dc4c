//! `strictyaml.load(text).data`.

use super::Data;
use super::compose::compose;
use super::construct::{Document, Key, Value, construct};
use super::fault::Fault;

/// Loads a document: its mapping, or `None` when it is something else.
pub(super) fn load(text: &str) -> Result<Option<Vec<(String, Data)>>, Fault> {
    let (tree, root) = compose(text)?;
    let Some(root) = root else {
        return Ok(None);
    };
    match construct(tree, root)? {
        Document::Scalar => Ok(None),
        Document::Mapping(pairs) => mapping(pairs).map(Some),
        Document::Sequence(mappings) => {
            for pairs in mappings {
                mapping(pairs)?;
            }
            Ok(None)
        }
    }
}

/// The depth of a value is bounded where it is constructed.
fn data(value: Value) -> Result<Data, Fault> {
    Ok(match value {
        Value::Text(text) => text.into(),
        Value::Tagged(text) => Data::Tagged(text.into_shown()),
        Value::Sequence(items) => {
            Data::List(items.into_iter().map(data).collect::<Result<_, _>>()?)
        }
        Value::Mapping(pairs) => Data::Map(mapping(pairs)?),
    })
}

fn mapping(pairs: Vec<(Key, Value)>) -> Result<Vec<(String, Data)>, Fault> {
    pairs
        .into_iter()
        .map(|(key, value)| match key {
            Key::Text(text) => Ok((text.into_shown(), data(value)?)),
            Key::Tuple(_) => Err(Fault::crash("a list is a key")),
        })
        .collect()
}
