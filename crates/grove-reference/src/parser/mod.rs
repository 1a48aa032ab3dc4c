//! Tokens to events. Flow collections, anchors and tags are refused where they would begin, so
//! only block structure is parsed.

mod carry;

use std::collections::BTreeSet;

use super::fault::Fault;
use super::python_text::PyText;
use super::reader::Mark;
use super::scanner::Scanner;
use super::token::{CommentId, Directive, Kind, Scalar, Version};

/// What the parser reports.
#[derive(Debug)]
pub(super) enum Event {
    StreamStart,
    StreamEnd,
    DocumentStart {
        start: Mark,
    },
    DocumentEnd,
    Alias {
        name: String,
        start: Mark,
    },
    Scalar(ScalarEvent),
    SequenceStart {
        start: Mark,
        comment: Option<CommentId>,
    },
    MappingStart {
        start: Mark,
        comment: Option<CommentId>,
    },
    CollectionEnd {
        end: Mark,
        comment: Option<CommentId>,
    },
}

/// A scalar, written or implied.
#[derive(Debug)]
pub(super) struct ScalarEvent {
    pub(super) text: PyText,
    pub(super) plain: bool,
    pub(super) start: Mark,
    pub(super) end: Mark,
    pub(super) comment: Option<CommentId>,
}

#[derive(Clone, Copy)]
enum State {
    StreamStart,
    ImplicitDocumentStart,
    DocumentStart,
    DocumentEnd,
    BlockNode,
    SequenceFirstEntry,
    SequenceEntry,
    IndentlessEntry,
    MappingFirstKey,
    MappingKey,
    MappingValue,
    End,
}

/// The parser: a state and the states to return to.
pub(super) struct Parser {
    scanner: Scanner,
    state: State,
    states: Vec<State>,
}

impl Parser {
    pub(super) fn new(scanner: Scanner) -> Self {
        Self {
            scanner,
            state: State::StreamStart,
            states: Vec::new(),
        }
    }

    pub(super) fn scanner(&mut self) -> &mut Scanner {
        &mut self.scanner
    }

    pub(super) fn into_scanner(self) -> Scanner {
        self.scanner
    }

    /// The next event.
    pub(super) fn next(&mut self) -> Result<Event, Fault> {
        match self.state {
            State::StreamStart => {
                let mut token = self.scanner.take()?;
                self.pass_comment_on(&mut token, false)?;
                self.state = State::ImplicitDocumentStart;
                Ok(Event::StreamStart)
            }
            State::ImplicitDocumentStart => self.implicit_document_start(),
            State::DocumentStart => self.document_start(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(false),
            State::SequenceFirstEntry => {
                self.scanner.take()?;
                self.sequence_entry()
            }
            State::SequenceEntry => self.sequence_entry(),
            State::IndentlessEntry => self.indentless_entry(),
            State::MappingFirstKey => {
                self.scanner.take()?;
                self.mapping_key()
            }
            State::MappingKey => self.mapping_key(),
            State::MappingValue => self.mapping_value(),
            State::End => Ok(Event::StreamEnd),
        }
    }

    /// Whether the next token is of the kind. Every look may scan further ahead.
    fn at(&mut self, kind: fn(&Kind) -> bool) -> Result<bool, Fault> {
        Ok(kind(&self.scanner.peek()?.kind))
    }

    fn return_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    fn implicit_document_start(&mut self) -> Result<Event, Fault> {
        if self.at(|kind| matches!(kind, Kind::Directive(_) | Kind::StreamEnd))? {
            return self.document_start();
        }
        let start = self.scanner.peek()?.start;
        self.states.push(State::DocumentEnd);
        self.state = State::BlockNode;
        Ok(Event::DocumentStart { start })
    }

    fn document_start(&mut self) -> Result<Event, Fault> {
        while self.at(|kind| matches!(kind, Kind::DocumentEnd))? {
            self.scanner.take()?;
        }
        if self.at(|kind| matches!(kind, Kind::StreamEnd))? {
            self.scanner.take()?;
            self.state = State::End;
            return Ok(Event::StreamEnd);
        }
        self.directives()?;
        let token = self.scanner.peek()?;
        Err(Fault::yaml(
            format!(
                "a document must start with '---' here, not with {}",
                token.kind.name()
            ),
            token.start,
        ))
    }

    fn directives(&mut self) -> Result<(), Fault> {
        let mut has_version = false;
        let mut handles = BTreeSet::new();
        while self.at(|kind| matches!(kind, Kind::Directive(_)))? {
            let token = self.scanner.take()?;
            let fine = match token.kind {
                Kind::Directive(Directive::Yaml(version)) => {
                    !std::mem::replace(&mut has_version, true) && version.major == 1
                }
                Kind::Directive(Directive::Tag { handle }) => handles.insert(handle),
                _ => true,
            };
            if !fine {
                return Err(Fault::yaml(
                    "there may be one YAML version, 1.x, and one tag prefix for each handle",
                    token.start,
                ));
            }
        }
        Ok(())
    }

    fn document_end(&mut self) -> Result<Event, Fault> {
        self.scanner.peek()?;
        if self.at(|kind| matches!(kind, Kind::DocumentEnd))? {
            self.scanner.take()?;
        }
        self.state = if self.scanner.version() == Version::V1_1 {
            State::DocumentStart
        } else {
            State::ImplicitDocumentStart
        };
        Ok(Event::DocumentEnd)
    }

    /// A node where one must be. `indentless` allows a list at its key's own column.
    fn node(&mut self, indentless: bool) -> Result<Event, Fault> {
        self.refuse_markup()?;
        let token = self.scanner.peek()?;
        let start = token.start;
        match &token.kind {
            Kind::Alias(_) => {
                let token = self.scanner.take()?;
                self.return_state();
                let name = match token.kind {
                    Kind::Alias(name) => name,
                    _ => String::new(),
                };
                Ok(Event::Alias { name, start })
            }
            Kind::BlockEntry if indentless => {
                let comment = self.split_comment_after()?;
                self.state = State::IndentlessEntry;
                Ok(Event::SequenceStart { start, comment })
            }
            Kind::Scalar(_) => {
                let token = self.scanner.take()?;
                self.return_state();
                let Kind::Scalar(Scalar { text, plain }) = token.kind else {
                    return Err(Fault::crash("a scalar changed its kind"));
                };
                Ok(Event::Scalar(ScalarEvent {
                    text,
                    plain,
                    start,
                    end: token.end,
                    comment: token.comment,
                }))
            }
            Kind::BlockSequenceStart => {
                let comment = token.comment;
                self.state = State::SequenceFirstEntry;
                Ok(Event::SequenceStart { start, comment })
            }
            Kind::BlockMappingStart => {
                let comment = token.comment;
                self.state = State::MappingFirstKey;
                Ok(Event::MappingStart { start, comment })
            }
            other => Err(Fault::yaml(
                format!("a value is expected, not {}", other.name()),
                start,
            )),
        }
    }

    fn refuse_markup(&mut self) -> Result<(), Fault> {
        let token = self.scanner.peek()?;
        match token.kind {
            Kind::Anchor => Err(Fault::yaml(
                "anchors are not allowed; quote the text to keep it as it is",
                token.end,
            )),
            Kind::Tag => Err(Fault::yaml("tags are not allowed", token.start)),
            Kind::FlowSequenceStart | Kind::FlowMappingStart => Err(Fault::yaml(
                "flow style is not allowed; quote the text to keep it as it is",
                token.end,
            )),
            _ => Ok(()),
        }
    }

    fn sequence_entry(&mut self) -> Result<Event, Fault> {
        if self.at(|kind| matches!(kind, Kind::BlockEntry))? {
            let mut token = self.scanner.take()?;
            self.pass_comment_on(&mut token, false)?;
            if self.at(|kind| matches!(kind, Kind::BlockEntry | Kind::BlockEnd))? {
                self.state = State::SequenceEntry;
                return Ok(empty_scalar(token.end, None));
            }
            self.states.push(State::SequenceEntry);
            return self.node(false);
        }
        self.expect_block_end("a list")?;
        let token = self.scanner.take()?;
        self.return_state();
        Ok(Event::CollectionEnd {
            end: token.end,
            comment: token.comment,
        })
    }

    fn indentless_entry(&mut self) -> Result<Event, Fault> {
        if self.at(|kind| matches!(kind, Kind::BlockEntry))? {
            let mut token = self.scanner.take()?;
            self.pass_comment_on(&mut token, false)?;
            if self.at(|kind| {
                matches!(
                    kind,
                    Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd
                )
            })? {
                self.state = State::IndentlessEntry;
                return Ok(empty_scalar(token.end, None));
            }
            self.states.push(State::IndentlessEntry);
            return self.node(false);
        }
        // The list ends where the next token starts and shares that token's comments.
        let token = self.scanner.peek()?;
        let (end, comment) = (token.start, token.comment);
        self.return_state();
        Ok(Event::CollectionEnd { end, comment })
    }

    fn mapping_key(&mut self) -> Result<Event, Fault> {
        if self.at(|kind| matches!(kind, Kind::Key))? {
            let mut token = self.scanner.take()?;
            self.pass_comment_on(&mut token, false)?;
            if self.at(is_mapping_part)? {
                self.state = State::MappingValue;
                return Ok(empty_scalar(token.end, None));
            }
            self.states.push(State::MappingValue);
            return self.node(true);
        }
        if self.scanner.version() > Version::V1_1 && self.at(|kind| matches!(kind, Kind::Value))? {
            self.state = State::MappingValue;
            let start = self.scanner.peek()?.start;
            return Ok(empty_scalar(start, None));
        }
        self.expect_block_end("a mapping")?;
        let mut token = self.scanner.take()?;
        self.pass_comment_on(&mut token, false)?;
        self.return_state();
        Ok(Event::CollectionEnd {
            end: token.end,
            comment: token.comment,
        })
    }

    fn mapping_value(&mut self) -> Result<Event, Fault> {
        if !self.at(|kind| matches!(kind, Kind::Value))? {
            self.state = State::MappingKey;
            let start = self.scanner.peek()?.start;
            return Ok(empty_scalar(start, None));
        }
        let mut token = self.scanner.take()?;
        if self.at(|kind| matches!(kind, Kind::Value))? {
            self.pass_comment_on(&mut token, false)?;
        } else if !self.at(|kind| matches!(kind, Kind::Key))? {
            self.pass_comment_on(&mut token, true)?;
        }
        if !self.at(is_mapping_part)? {
            self.states.push(State::MappingKey);
            return self.node(true);
        }
        self.state = State::MappingKey;
        if token.comment.is_some() {
            return Ok(empty_scalar(token.end, token.comment));
        }
        // The absent value then takes its place, and the comment after it, from the next token.
        let next = self.scanner.peek()?;
        let end = next.end;
        let comment = self.split_comment_after_value()?;
        Ok(empty_scalar(end, comment))
    }

    fn expect_block_end(&mut self, what: &str) -> Result<(), Fault> {
        let token = self.scanner.peek()?;
        if matches!(token.kind, Kind::BlockEnd) {
            return Ok(());
        }
        Err(Fault::yaml(
            format!("{what} must end here, before {}", token.kind.name()),
            token.start,
        ))
    }
}

fn is_mapping_part(kind: &Kind) -> bool {
    matches!(kind, Kind::Key | Kind::Value | Kind::BlockEnd)
}

fn empty_scalar(mark: Mark, comment: Option<CommentId>) -> Event {
    Event::Scalar(ScalarEvent {
        text: PyText::default(),
        plain: true,
        start: mark,
        end: mark,
        comment,
    })
}
