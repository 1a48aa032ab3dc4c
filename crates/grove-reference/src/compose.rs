//! Events to a tree of nodes.

use super::fault::Fault;
use super::parser::{Event, Parser, ScalarEvent};
use super::python_text::PyText;
use super::reader::{Mark, Reader};
use super::scanner::Scanner;
use super::token::{Before, Comment, CommentId, Comments, Version};

/// Collections inside each other before the library's recursion ends in a traceback.
const MAX_DEPTH: usize = 485;

/// Names a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeId(usize);

/// What a plain scalar stands for, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    Text,
    /// `<<`
    Merge,
    /// `=`
    Default,
}

/// What a node holds.
#[derive(Debug)]
pub(super) enum Content {
    Scalar { text: PyText, sense: Sense },
    Sequence(Vec<NodeId>),
    Mapping(Vec<(NodeId, NodeId)>),
}

/// One node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) content: Content,
    pub(super) start: Mark,
    pub(super) end: Mark,
    /// The comments the node carries, if it has a place for them at all.
    pub(super) comment: Option<Comment>,
}

/// All nodes of a document.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    pub(super) fn node(&self, id: NodeId) -> Result<&Node, Fault> {
        self.nodes
            .get(id.0)
            .ok_or_else(|| Fault::crash("a node is missing"))
    }

    /// Moves a node's content out.
    pub(super) fn take(&mut self, id: NodeId) -> Result<Content, Fault> {
        let node = self
            .nodes
            .get_mut(id.0)
            .ok_or_else(|| Fault::crash("a node is missing"))?;
        Ok(std::mem::replace(
            &mut node.content,
            Content::Sequence(Vec::new()),
        ))
    }
}

/// A document: its nodes and the root, absent when the text holds nothing.
pub(super) fn compose(text: &str) -> Result<(Tree, Option<NodeId>), Fault> {
    let parser = Parser::new(Scanner::new(Reader::new(text)?));
    let mut composer = Composer {
        parser,
        nodes: Vec::new(),
        open: Vec::new(),
    };
    let root = composer.single_document()?;
    Ok((composer.finish(), root))
}

struct Draft {
    content: Content,
    start: Mark,
    end: Mark,
    comment: Option<CommentId>,
}

struct Open {
    id: NodeId,
    /// In a mapping, the key that waits for its value.
    key: Option<NodeId>,
}

struct Composer {
    parser: Parser,
    nodes: Vec<Draft>,
    open: Vec<Open>,
}

impl Composer {
    fn single_document(&mut self) -> Result<Option<NodeId>, Fault> {
        self.parser.next()?;
        if matches!(self.parser.next()?, Event::StreamEnd) {
            return Ok(None);
        }
        let root = self.root()?;
        self.parser.next()?;
        match self.parser.next()? {
            Event::DocumentStart { start } => Err(Fault::yaml(
                "only one document is allowed, and another starts here",
                start,
            )),
            _ => Ok(Some(root)),
        }
    }

    fn root(&mut self) -> Result<NodeId, Fault> {
        loop {
            let closed = match self.parser.next()? {
                Event::Scalar(scalar) => Some(self.scalar(scalar)?),
                Event::SequenceStart { start, comment } => {
                    self.open(Content::Sequence(Vec::new()), start, comment)?;
                    None
                }
                Event::MappingStart { start, comment } => {
                    self.open(Content::Mapping(Vec::new()), start, comment)?;
                    None
                }
                Event::CollectionEnd { end, comment } => self.close(end, comment),
                Event::Alias { name, start } => {
                    return Err(Fault::yaml(format!("alias {name:?} has no anchor"), start));
                }
                Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart { .. }
                | Event::DocumentEnd => {
                    return Err(Fault::crash("the document ended early"));
                }
            };
            if let Some(id) = closed
                && !self.attach(id)
            {
                return Ok(id);
            }
        }
    }

    fn scalar(&mut self, scalar: ScalarEvent) -> Result<NodeId, Fault> {
        let mut sense = Sense::Text;
        if scalar.plain {
            let version = self.parser.scanner().version();
            if version != Version::V1_1 && version != Version::V1_2 {
                return Err(Fault::crash(format!(
                    "YAML version {}.{} is not known",
                    version.major, version.minor
                )));
            }
            if scalar.text.is("<<") {
                sense = Sense::Merge;
            } else if scalar.text.is("=") {
                sense = Sense::Default;
            }
        }
        let content = Content::Scalar {
            text: scalar.text,
            sense,
        };
        Ok(self.add(content, scalar.start, scalar.end, scalar.comment))
    }

    fn add(
        &mut self,
        content: Content,
        start: Mark,
        end: Mark,
        comment: Option<CommentId>,
    ) -> NodeId {
        self.nodes.push(Draft {
            content,
            start,
            end,
            comment,
        });
        NodeId(self.nodes.len() - 1)
    }

    fn open(
        &mut self,
        content: Content,
        start: Mark,
        comment: Option<CommentId>,
    ) -> Result<(), Fault> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Fault::crash("collections are nested too deeply"));
        }
        let id = self.add(content, start, start, comment);
        self.open.push(Open { id, key: None });
        Ok(())
    }

    fn close(&mut self, end: Mark, comment: Option<CommentId>) -> Option<NodeId> {
        let id = self.open.pop()?.id;
        let comments = self.parser.scanner().comments();
        let node = self.nodes.get_mut(id.0)?;
        node.end = end;
        if let Some(ending) = comment
            && comments.get(ending).before == Before::Some
        {
            // The node takes the comment, so that whoever shares the cell no longer has it.
            let mut left = comments.get(ending);
            left.before = Before::None;
            comments.set(ending, left);
            if node.comment.is_none() {
                node.comment = Some(comments.add(Comment::default()));
            }
        }
        Some(id)
    }

    /// Puts a finished node into the innermost open collection; false when there is none.
    fn attach(&mut self, id: NodeId) -> bool {
        let Some(open) = self.open.last_mut() else {
            return false;
        };
        match self.nodes.get_mut(open.id.0).map(|node| &mut node.content) {
            Some(Content::Sequence(items)) => items.push(id),
            Some(Content::Mapping(pairs)) => match open.key.take() {
                Some(key) => pairs.push((key, id)),
                None => open.key = Some(id),
            },
            _ => return false,
        }
        true
    }

    fn finish(self) -> Tree {
        let comments: Comments = self.parser.into_scanner().into_comments();
        let nodes = self.nodes.into_iter().map(|draft| Node {
            content: draft.content,
            start: draft.start,
            end: draft.end,
            comment: draft.comment.map(|id| comments.get(id)),
        });
        Tree {
            nodes: nodes.collect(),
        }
    }
}
