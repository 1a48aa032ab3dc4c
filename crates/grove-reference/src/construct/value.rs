//! Values as they are handed from one collection to the next.

use super::super::Data;
use super::super::python_text::PyText;

/// A value just built.
pub(super) enum Value {
    Text(PyText),
    /// A plain `=` or `<<`, which the library keeps as an object instead of text.
    Tagged(PyText),
    List(Vec<Data>),
    Mapping(Vec<Pair>),
}

/// A value, and whether a mapping in it has a list as a key.
pub(super) struct Built {
    pub(super) value: Value,
    pub(super) list_key: bool,
}

/// A key with its value.
pub(super) struct Pair {
    pub(super) key: Key,
    pub(super) data: Data,
    pub(super) list_key: bool,
}

/// A mapping key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Text(PyText),
    /// A list used as a key.
    Tuple(Vec<TupleItem>),
}

/// An item of a list used as a key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TupleItem {
    Text(PyText),
    /// An object is equal to itself alone: the mapping's how-manieth key, and where in it.
    Tagged(usize, usize),
}

impl From<Value> for Built {
    fn from(value: Value) -> Self {
        Self {
            value,
            list_key: false,
        }
    }
}

impl Built {
    pub(super) fn into_data(self) -> Data {
        match self.value {
            Value::Text(text) => text.into(),
            Value::Tagged(text) => Data::Tagged(text.into_shown()),
            Value::List(items) => Data::List(items),
            Value::Mapping(pairs) => Data::Map(into_map(pairs)),
        }
    }

    /// The pairs of a mapping.
    pub(super) fn into_pairs(self) -> Option<Vec<(String, Data)>> {
        match self.value {
            Value::Mapping(pairs) => Some(into_map(pairs)),
            _ => None,
        }
    }
}

/// A list as a key has no place in the result, which [`Built::list_key`] turns into an error.
fn into_map(pairs: Vec<Pair>) -> Vec<(String, Data)> {
    let mut map = Vec::with_capacity(pairs.len());
    for pair in pairs {
        if let Key::Text(text) = pair.key {
            map.push((text.into_shown(), pair.data));
        }
    }
    map
}
