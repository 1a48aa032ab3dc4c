//! Nodes to values, under strictyaml's rules: no key twice, sibling mappings indented alike.
//!
//! The library builds whatever is inside a mapping at once, but a list outside any mapping, and
//! the mappings in it, one level at a time. The order decides which of several errors is
//! reported.

use std::collections::{BTreeMap, VecDeque};

use super::compose::{Content, NodeId, Sense, Tree};
use super::fault::Fault;
use super::python_text::PyText;
use super::token::{Before, Comment};

/// Collections inside each other, counted from the outermost mapping, before the library's
/// recursion ends in a traceback.
const MAX_DEPTH: usize = 245;

/// The same, counted from the root, for a list that holds only lists.
const MAX_LIST_DEPTH: usize = 323;

/// A constructed value.
#[derive(Debug)]
pub(super) enum Value {
    Text(PyText),
    /// A plain `=` or `<<`, which the library keeps as an object instead of text.
    Tagged(PyText),
    Sequence(Vec<Value>),
    Mapping(Vec<(Key, Value)>),
}

/// A mapping key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Text(PyText),
    /// A list used as a key.
    Tuple(Vec<TupleItem>),
}

/// An item of a list used as a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TupleItem {
    Text(PyText),
    /// An object is equal to itself alone.
    Tagged(usize),
}

/// What a document turned out to hold.
#[derive(Debug)]
pub(super) enum Document {
    Mapping(Vec<(Key, Value)>),
    /// A list, given as the mappings in it that are in no other mapping.
    Sequence(Vec<Vec<(Key, Value)>>),
    Scalar,
}

/// Builds the document's value.
pub(super) fn construct(tree: Tree, root: NodeId) -> Result<Document, Fault> {
    let mut builder = Builder {
        tree,
        waiting: VecDeque::new(),
        objects: 0,
    };
    match &builder.tree.node(root)?.content {
        Content::Scalar { .. } => Ok(Document::Scalar),
        Content::Mapping(_) => {
            let mapping = builder.mapping(root, 1, Merge::Later)?;
            builder.run_waiting()?;
            Ok(Document::Mapping(mapping))
        }
        Content::Sequence(_) => {
            builder.waiting.push_back(Waiting {
                id: root,
                depth: 1,
                merged: false,
            });
            Ok(Document::Sequence(builder.run_waiting()?))
        }
    }
}

/// When the mappings under a `<<` key are built.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Merge {
    /// At once, so that their keys are merged.
    Now,
    /// After the mapping they are merged into, which therefore gets none of their keys.
    Later,
}

/// A node to build later.
struct Waiting {
    id: NodeId,
    depth: usize,
    /// It is built for its errors alone; see [`Merge::Later`].
    merged: bool,
}

struct Builder {
    tree: Tree,
    waiting: VecDeque<Waiting>,
    objects: usize,
}

/// What the library has noted down for a key of a mapping.
#[derive(Default)]
struct Noted {
    before_key: bool,
    before_value: bool,
    present: bool,
}

impl Builder {
    fn run_waiting(&mut self) -> Result<Vec<Vec<(Key, Value)>>, Fault> {
        let mut mappings = Vec::new();
        while let Some(Waiting { id, depth, merged }) = self.waiting.pop_front() {
            if depth > MAX_LIST_DEPTH {
                return Err(too_deep());
            }
            match &self.tree.node(id)?.content {
                Content::Scalar { .. } => {}
                Content::Mapping(_) => {
                    let mapping = self.mapping(id, 1, Merge::Later)?;
                    if !merged {
                        mappings.push(mapping);
                    }
                }
                Content::Sequence(items) => {
                    let depth = depth + 1;
                    self.waiting
                        .extend(items.iter().map(|&id| Waiting { id, depth, merged }));
                }
            }
        }
        Ok(mappings)
    }

    fn value(&mut self, id: NodeId, depth: usize) -> Result<Value, Fault> {
        if matches!(self.tree.node(id)?.content, Content::Mapping(_)) {
            return Ok(Value::Mapping(self.mapping(id, depth, Merge::Now)?));
        }
        match self.tree.take(id)? {
            Content::Scalar {
                text,
                sense: Sense::Text,
            } => Ok(Value::Text(text)),
            Content::Scalar { text, .. } => Ok(Value::Tagged(text)),
            Content::Sequence(items) => {
                if depth > MAX_DEPTH {
                    return Err(too_deep());
                }
                let items = items.into_iter().map(|item| self.value(item, depth + 1));
                Ok(Value::Sequence(items.collect::<Result<_, _>>()?))
            }
            Content::Mapping(_) => Err(Fault::crash("a mapping is not a scalar")),
        }
    }

    fn mapping(
        &mut self,
        id: NodeId,
        depth: usize,
        merge: Merge,
    ) -> Result<Vec<(Key, Value)>, Fault> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let Content::Mapping(pairs) = self.tree.take(id)? else {
            return Err(Fault::crash("a mapping is expected"));
        };
        let (pairs, merged) = self.split_merges(pairs, depth, merge)?;
        let mut noted: BTreeMap<Key, Noted> = BTreeMap::new();
        let mut built = Vec::with_capacity(pairs.len());
        let mut inner = Vec::new();
        for (key_id, value_id) in pairs {
            let key = self.key(key_id, depth)?;
            let node = self.tree.node(value_id)?;
            if matches!(node.content, Content::Mapping(_)) {
                inner.push((node.start.column, node.end));
            }
            let value = self.value(value_id, depth + 1)?;
            let key = key.ok_or_else(|| Fault::crash("a list that holds a list is a key"))?;
            let key_node = self.tree.node(key_id)?;
            let value_node = self.tree.node(value_id)?;
            let entry = noted.entry(key.clone()).or_default();
            note(&mut entry.before_key, key_node.comment)?;
            note(&mut entry.before_value, value_node.comment)?;
            if entry.present {
                return Err(Fault::yaml("a key is given twice", key_node.end));
            }
            entry.present = true;
            built.push((key, value));
        }
        for (key, value) in merged {
            let entry = noted.entry(key.clone()).or_default();
            if !entry.present {
                entry.present = true;
                built.push((key, value));
            }
        }
        let first = inner.first().map(|(column, _)| *column);
        match inner.iter().find(|(column, _)| Some(*column) != first) {
            Some((_, end)) => Err(Fault::yaml(
                "mappings side by side must be indented alike",
                *end,
            )),
            None => Ok(built),
        }
    }

    /// Takes the `<<` pairs out and gives what they merge in.
    #[expect(clippy::type_complexity, reason = "two lists of pairs")]
    fn split_merges(
        &mut self,
        pairs: Vec<(NodeId, NodeId)>,
        depth: usize,
        merge: Merge,
    ) -> Result<(Vec<(NodeId, NodeId)>, Vec<(Key, Value)>), Fault> {
        let mut kept = Vec::with_capacity(pairs.len());
        let mut merged = Vec::new();
        let mut seen = false;
        for (key_id, value_id) in pairs {
            if !matches!(
                self.tree.node(key_id)?.content,
                Content::Scalar {
                    sense: Sense::Merge,
                    ..
                }
            ) {
                kept.push((key_id, value_id));
                continue;
            }
            if seen {
                return Err(Fault::crash("the key '<<' is given twice"));
            }
            seen = true;
            let value = self.tree.node(value_id)?;
            let sources = match &value.content {
                Content::Mapping(_) => vec![value_id],
                Content::Sequence(items) => items.clone(),
                Content::Scalar { .. } => {
                    return Err(Fault::yaml(
                        "'<<' needs a mapping or a list of mappings",
                        value.start,
                    ));
                }
            };
            for source in sources {
                let node = self.tree.node(source)?;
                if !matches!(node.content, Content::Mapping(_)) {
                    return Err(Fault::yaml("'<<' needs mappings alone", node.start));
                }
                match merge {
                    Merge::Now => merged.extend(self.mapping(source, depth + 1, merge)?),
                    Merge::Later => self.waiting.push_back(Waiting {
                        id: source,
                        depth: 1,
                        merged: true,
                    }),
                }
            }
        }
        Ok((kept, merged))
    }

    /// Builds a key: `None` for one that Python cannot hash but only notices later.
    fn key(&mut self, id: NodeId, depth: usize) -> Result<Option<Key>, Fault> {
        let start = self.tree.node(id)?.start;
        if let Content::Scalar { .. } = self.tree.node(id)?.content {
            // A plain `=` is text where it is a key.
            return match self.tree.take(id)? {
                Content::Scalar { text, .. } => Ok(Some(Key::Text(text))),
                _ => Ok(None),
            };
        }
        let Value::Sequence(items) = self.value(id, depth + 1)? else {
            return Err(Fault::yaml("a mapping cannot be a key", start));
        };
        let mut tuple = Vec::with_capacity(items.len());
        for item in items {
            tuple.push(match item {
                Value::Text(text) => TupleItem::Text(text),
                Value::Tagged(_) => {
                    self.objects += 1;
                    TupleItem::Tagged(self.objects)
                }
                Value::Sequence(_) | Value::Mapping(_) => return Ok(None),
            });
        }
        Ok(Some(Key::Tuple(tuple)))
    }
}

/// Notes a comment for a key or value. A second one, which only a repeated key can bring, ends
/// the library in a traceback if the first stood before.
fn note(before: &mut bool, comment: Option<Comment>) -> Result<(), Fault> {
    let Some(comment) = comment else {
        return Ok(());
    };
    if *before {
        return Err(Fault::crash("a repeated key has comments"));
    }
    *before = comment.before != Before::None;
    Ok(())
}

fn too_deep() -> Fault {
    Fault::crash("collections are nested too deeply")
}
