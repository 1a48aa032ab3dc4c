//! One mapping: its merges, its keys, and the rules about them.

use std::collections::{BTreeMap, VecDeque};
use std::vec;

use super::super::Data;
use super::super::compose::{Content, Node, NodeId, Sense, Tree};
use super::super::fault::Fault;
use super::super::python_text::PyText;
use super::super::reader::Mark;
use super::super::token::{Before, Comment};
use super::value::{Built, Key, Pair, TupleItem, Value};
use super::{Merge, Waiting};

/// A mapping in the making.
pub(super) struct MappingDraft {
    merges: VecDeque<MergeStep>,
    pairs: vec::IntoIter<(NodeId, NodeId)>,
    at: At,
    merged: Vec<Pair>,
    built: Vec<Pair>,
    noted: BTreeMap<Key, Noted>,
    /// The columns and ends of the values that are mappings.
    inner: Vec<(usize, Mark)>,
}

/// What a draft waits for.
enum At {
    Merge,
    Key(NodeId, NodeId),
    /// A value. The key is `None` when Python cannot hash it but only notices later.
    Value(NodeId, NodeId, Option<Key>),
    Nothing,
}

/// What comes of one mapping under a `<<` key.
enum MergeStep {
    Build(NodeId),
    Fail(Fault),
}

/// What the library has noted down for a key.
#[derive(Default)]
struct Noted {
    before_key: bool,
    before_value: bool,
    present: bool,
}

impl MappingDraft {
    /// Starts a mapping. What is merged into it is built first, or left waiting.
    pub(super) fn new(
        tree: &Tree,
        pairs: Vec<(NodeId, NodeId)>,
        merge: Merge,
        waiting: &mut VecDeque<Waiting>,
    ) -> Result<Self, Fault> {
        let (pairs, mut merges) = split_merges(tree, pairs)?;
        if merge == Merge::Later {
            for step in std::mem::take(&mut merges) {
                match step {
                    MergeStep::Build(id) => waiting.push_back(Waiting {
                        id,
                        depth: 1,
                        merged: true,
                    }),
                    MergeStep::Fail(fault) => return Err(fault),
                }
            }
        }
        Ok(Self {
            merges,
            built: Vec::with_capacity(pairs.len()),
            pairs: pairs.into_iter(),
            at: At::Nothing,
            merged: Vec::new(),
            noted: BTreeMap::new(),
            inner: Vec::new(),
        })
    }

    /// The next node to build.
    pub(super) fn next(&mut self) -> Result<Option<NodeId>, Fault> {
        match self.merges.pop_front() {
            Some(MergeStep::Build(id)) => {
                self.at = At::Merge;
                return Ok(Some(id));
            }
            Some(MergeStep::Fail(fault)) => return Err(fault),
            None => {}
        }
        if let At::Value(_, value, _) = self.at {
            return Ok(Some(value));
        }
        Ok(self.pairs.next().map(|(key, value)| {
            self.at = At::Key(key, value);
            key
        }))
    }

    pub(super) fn accept(&mut self, tree: &Tree, part: Built) -> Result<(), Fault> {
        match std::mem::replace(&mut self.at, At::Nothing) {
            At::Merge => {
                if let Value::Mapping(pairs) = part.value {
                    self.merged.extend(pairs);
                }
            }
            At::Key(key_id, value_id) => {
                let key = self.key(tree.node(key_id)?, part.value)?;
                let value = tree.node(value_id)?;
                if matches!(value.content, Content::Mapping(_)) {
                    self.inner.push((value.start.column, value.end));
                }
                self.at = At::Value(key_id, value_id, key);
            }
            At::Value(key_id, value_id, key) => {
                let key = key.ok_or_else(|| Fault::crash("a list that holds a list is a key"))?;
                self.add(tree.node(key_id)?, tree.node(value_id)?, key, part)?;
            }
            At::Nothing => {}
        }
        Ok(())
    }

    fn key(&self, node: &Node, value: Value) -> Result<Option<Key>, Fault> {
        let items = match value {
            // A plain `=` is text where it is a key.
            Value::Text(text) | Value::Tagged(text) => return Ok(Some(Key::Text(text))),
            Value::List(items) => items,
            Value::Mapping(_) => {
                return Err(Fault::yaml("a mapping cannot be a key", node.start));
            }
        };
        let mut tuple = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            tuple.push(match item {
                Data::Text(text) => TupleItem::Text(PyText::Plain(text)),
                Data::Surrogates(points) => TupleItem::Text(PyText::Surrogates(points)),
                Data::Tagged(_) => TupleItem::Tagged(self.built.len(), at),
                Data::List(_) | Data::Map(_) => return Ok(None),
            });
        }
        Ok(Some(Key::Tuple(tuple)))
    }

    fn add(&mut self, key_node: &Node, value: &Node, key: Key, part: Built) -> Result<(), Fault> {
        let entry = self.noted.entry(key.clone()).or_default();
        note(&mut entry.before_key, key_node.comment)?;
        note(&mut entry.before_value, value.comment)?;
        if entry.present {
            return Err(Fault::yaml("a key is given twice", key_node.end));
        }
        entry.present = true;
        self.built.push(Pair {
            list_key: part.list_key || matches!(key, Key::Tuple(_)),
            key,
            data: part.into_data(),
        });
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Built, Fault> {
        for pair in self.merged {
            let entry = self.noted.entry(pair.key.clone()).or_default();
            if !entry.present {
                entry.present = true;
                self.built.push(pair);
            }
        }
        let first = self.inner.first().map(|(column, _)| *column);
        if let Some((_, end)) = self.inner.iter().find(|(column, _)| Some(*column) != first) {
            return Err(Fault::yaml(
                "mappings side by side must be indented alike",
                *end,
            ));
        }
        Ok(Built {
            list_key: self.built.iter().any(|pair| pair.list_key),
            value: Value::Mapping(self.built),
        })
    }
}

/// Takes the `<<` pairs out and says what comes of them.
#[expect(clippy::type_complexity, reason = "the pairs that stay, and the steps")]
fn split_merges(
    tree: &Tree,
    pairs: Vec<(NodeId, NodeId)>,
) -> Result<(Vec<(NodeId, NodeId)>, VecDeque<MergeStep>), Fault> {
    let mut kept = Vec::with_capacity(pairs.len());
    let mut steps = VecDeque::new();
    for (key_id, value_id) in pairs {
        let merges = matches!(
            tree.node(key_id)?.content,
            Content::Scalar {
                sense: Sense::Merge,
                ..
            }
        );
        if !merges {
            kept.push((key_id, value_id));
        } else if steps.is_empty() {
            add_steps(tree, value_id, &mut steps)?;
        } else {
            steps.push_back(MergeStep::Fail(Fault::crash("the key '<<' is given twice")));
        }
    }
    Ok((kept, steps))
}

fn add_steps(tree: &Tree, value_id: NodeId, steps: &mut VecDeque<MergeStep>) -> Result<(), Fault> {
    let value = tree.node(value_id)?;
    let sources = match &value.content {
        Content::Mapping(_) => &[value_id],
        Content::Sequence(items) => items.as_slice(),
        Content::Scalar { .. } => &[],
    };
    for &source in sources {
        let node = tree.node(source)?;
        steps.push_back(if matches!(node.content, Content::Mapping(_)) {
            MergeStep::Build(source)
        } else {
            MergeStep::Fail(Fault::yaml("'<<' needs mappings alone", node.start))
        });
    }
    if sources.is_empty() {
        let fault = Fault::yaml("'<<' needs a mapping or a list of mappings", value.start);
        steps.push_back(MergeStep::Fail(fault));
    }
    Ok(())
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
