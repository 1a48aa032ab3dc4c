//! Nodes to values, under strictyaml's rules: no key twice, sibling mappings indented alike.
//!
//! The library builds whatever is inside a mapping at once, but a list outside any mapping, and
//! the mappings in it, one level at a time. The order decides which of several errors is
//! reported.

mod mapping;
mod value;

use std::collections::VecDeque;
use std::vec;

use super::Data;
use super::compose::{Content, NodeId, Sense, Tree};
use super::fault::Fault;
use mapping::MappingDraft;
use value::{Built, Value};

/// Collections inside each other, counted from the outermost mapping, before the library's
/// recursion ends in a traceback.
const MAX_DEPTH: usize = 245;

/// The same, counted from the root, for a list that holds only lists.
const MAX_LIST_DEPTH: usize = 323;

/// Builds the document's mapping; `None` when it is something else.
pub(super) fn construct(tree: Tree, root: NodeId) -> Result<Option<Vec<(String, Data)>>, Fault> {
    let mut builder = Builder {
        tree,
        waiting: VecDeque::new(),
    };
    let mut document = None;
    let mut list_key = false;
    match builder.tree.node(root)?.content {
        Content::Scalar { .. } => {}
        Content::Sequence(_) => builder.waiting.push_back(Waiting {
            id: root,
            depth: 1,
            merged: false,
        }),
        Content::Mapping(_) => {
            let built = builder.build(root)?;
            list_key = built.list_key;
            document = built.into_pairs();
        }
    }
    list_key |= builder.run_waiting()?;
    if list_key {
        // The library notices only after everything is built.
        return Err(Fault::crash("a list is a key"));
    }
    Ok(document)
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

/// A collection in the making.
enum Frame {
    List {
        items: vec::IntoIter<NodeId>,
        built: Vec<Data>,
        list_key: bool,
    },
    Mapping(Box<MappingDraft>),
}

struct Builder {
    tree: Tree,
    waiting: VecDeque<Waiting>,
}

impl Builder {
    /// Builds what waits; true when a mapping in it has a list as a key.
    fn run_waiting(&mut self) -> Result<bool, Fault> {
        let mut list_key = false;
        while let Some(Waiting { id, depth, merged }) = self.waiting.pop_front() {
            if depth > MAX_LIST_DEPTH {
                return Err(too_deep());
            }
            match &self.tree.node(id)?.content {
                Content::Scalar { .. } => {}
                Content::Mapping(_) => list_key |= self.build(id)?.list_key && !merged,
                Content::Sequence(items) => self.waiting.extend(items.iter().map(|&id| Waiting {
                    id,
                    depth: depth + 1,
                    merged,
                })),
            }
        }
        Ok(list_key)
    }

    /// Builds a mapping that is in no other mapping, and everything in it.
    fn build(&mut self, id: NodeId) -> Result<Built, Fault> {
        let mut open = Vec::new();
        let mut done = self.enter(id, Merge::Later, &mut open)?;
        while let Some(frame) = open.last_mut() {
            if let Some(built) = done.take() {
                frame.accept(&self.tree, built)?;
            }
            match frame.next()? {
                Some(id) => done = self.enter(id, Merge::Now, &mut open)?,
                None => done = open.pop().map(Frame::finish).transpose()?,
            }
        }
        done.ok_or_else(|| Fault::crash("nothing was built"))
    }

    /// Gives a scalar's value, or opens a collection.
    fn enter(
        &mut self,
        id: NodeId,
        merge: Merge,
        open: &mut Vec<Frame>,
    ) -> Result<Option<Built>, Fault> {
        let frame = match self.tree.take(id)? {
            Content::Scalar { text, sense } => {
                let value = match sense {
                    Sense::Text => Value::Text(text),
                    Sense::Merge | Sense::Default => Value::Tagged(text),
                };
                return Ok(Some(value.into()));
            }
            Content::Sequence(items) => Frame::List {
                built: Vec::with_capacity(items.len()),
                items: items.into_iter(),
                list_key: false,
            },
            Content::Mapping(pairs) => {
                let draft = MappingDraft::new(&self.tree, pairs, merge, &mut self.waiting)?;
                Frame::Mapping(Box::new(draft))
            }
        };
        if open.len() >= MAX_DEPTH {
            return Err(too_deep());
        }
        open.push(frame);
        Ok(None)
    }
}

impl Frame {
    /// The next node to build, `None` when all are.
    fn next(&mut self) -> Result<Option<NodeId>, Fault> {
        match self {
            Self::List { items, .. } => Ok(items.next()),
            Self::Mapping(draft) => draft.next(),
        }
    }

    fn accept(&mut self, tree: &Tree, part: Built) -> Result<(), Fault> {
        match self {
            Self::List {
                built, list_key, ..
            } => {
                *list_key |= part.list_key;
                built.push(part.into_data());
                Ok(())
            }
            Self::Mapping(draft) => draft.accept(tree, part),
        }
    }

    fn finish(self) -> Result<Built, Fault> {
        match self {
            Self::List {
                built, list_key, ..
            } => Ok(Built {
                value: Value::List(built),
                list_key,
            }),
            Self::Mapping(draft) => draft.finish(),
        }
    }
}

fn too_deep() -> Fault {
    Fault::crash("collections are nested too deeply")
}
