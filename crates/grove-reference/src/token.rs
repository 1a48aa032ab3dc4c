//! Tokens, and the comments that ride on them.

use super::python_text::PyText;
use super::reader::Mark;

/// What a token is.
#[derive(Debug)]
pub(super) enum Kind {
    StreamStart,
    StreamEnd,
    Directive(Directive),
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowMappingStart,
    FlowSequenceEnd,
    FlowMappingEnd,
    Key,
    Value,
    BlockEntry,
    FlowEntry,
    Alias(String),
    Anchor,
    Tag,
    Scalar(Scalar),
    Comment,
}

impl Kind {
    /// How an error names the token.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::StreamStart => "the start of the text",
            Self::StreamEnd => "the end of the text",
            Self::Directive(_) => "a directive",
            Self::DocumentEnd => "'...'",
            Self::BlockSequenceStart => "the start of a list",
            Self::BlockMappingStart => "the start of a mapping",
            Self::BlockEnd => "the end of a block",
            Self::FlowSequenceStart => "'['",
            Self::FlowMappingStart => "'{'",
            Self::FlowSequenceEnd => "']'",
            Self::FlowMappingEnd => "'}'",
            Self::Key => "'?'",
            Self::Value => "':'",
            Self::BlockEntry => "'-'",
            Self::FlowEntry => "','",
            Self::Alias(_) => "an alias",
            Self::Anchor => "an anchor",
            Self::Tag => "a tag",
            Self::Scalar(_) => "text",
            Self::Comment => "a comment",
        }
    }
}

/// A `%` line.
#[derive(Debug)]
pub(super) enum Directive {
    Yaml(Version),
    Tag { handle: String },
    Other,
}

/// A YAML version as a directive gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) major: u64,
    pub(super) minor: u64,
}

impl Version {
    pub(super) const V1_1: Self = Self { major: 1, minor: 1 };
    pub(super) const V1_2: Self = Self { major: 1, minor: 2 };
}

/// A scalar's text and whether it was written without quotes or block indicator.
#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) text: PyText,
    pub(super) plain: bool,
}

/// One token.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: Mark,
    pub(super) end: Mark,
    pub(super) comment: Option<CommentId>,
}

impl Token {
    pub(super) fn new(kind: Kind, start: Mark, end: Mark) -> Self {
        Self {
            kind,
            start,
            end,
            comment: None,
        }
    }
}

/// Names a comment cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommentId(usize);

/// The comments before a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Before {
    #[default]
    None,
    /// An empty list, which the library tells apart from no list.
    Empty,
    Some,
}

/// Which comments a token, and later its node, carries. Their text never matters here, but
/// whether they exist does: two meeting on one token end the library in a traceback.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Comment {
    pub(super) after: bool,
    pub(super) before: Before,
}

/// All comment cells. Tokens, events and nodes share cells and see each other's changes.
#[derive(Debug, Default)]
pub(super) struct Comments(Vec<Comment>);

impl Comments {
    pub(super) fn add(&mut self, comment: Comment) -> CommentId {
        self.0.push(comment);
        CommentId(self.0.len() - 1)
    }

    pub(super) fn get(&self, id: CommentId) -> Comment {
        self.0.get(id.0).copied().unwrap_or_default()
    }

    pub(super) fn set(&mut self, id: CommentId, comment: Comment) {
        if let Some(cell) = self.0.get_mut(id.0) {
            *cell = comment;
        }
    }
}
