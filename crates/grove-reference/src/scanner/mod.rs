//! Text to tokens: the queue the parser reads from.
//!
//! Comments and blank lines are tokens too, and the queue is filled further ahead than the
//! parser needs. Both decide which error a broken text is reported with, so the order of work
//! here is the library's order.

mod block_scalar;
mod fetch;
mod markup;
mod plain;
mod quoted;

use std::collections::{BTreeMap, VecDeque};

use super::fault::Fault;
use super::reader::{Mark, Reader, is_end};
use super::token::{Before, Comment, CommentId, Comments, Kind, Token, Version};

/// A token that becomes a mapping key if a `:` follows on its line.
struct SimpleKey {
    /// The token's number, counted over all tokens ever queued.
    number: usize,
    required: bool,
    index: usize,
    mark: Mark,
}

#[derive(PartialEq, Eq)]
enum Flow {
    Sequence,
    Mapping,
}

/// How far a simple key may be from its `:`.
const SIMPLE_KEY_REACH: usize = 1024;

/// The scanner.
pub(super) struct Scanner {
    reader: Reader,
    tokens: VecDeque<Token>,
    /// How many tokens have left the queue.
    taken: usize,
    done: bool,
    flow: Vec<Flow>,
    /// The column of the open block, `None` outside all blocks.
    indent: Option<usize>,
    indents: Vec<Option<usize>>,
    allow_simple_key: bool,
    /// At most one candidate for each flow level.
    simple_keys: BTreeMap<usize, SimpleKey>,
    version: Option<Version>,
    comments: Comments,
}

impl Scanner {
    pub(super) fn new(reader: Reader) -> Self {
        let mark = reader.mark();
        Self {
            reader,
            tokens: VecDeque::from([Token::new(Kind::StreamStart, mark, mark)]),
            taken: 0,
            done: false,
            flow: Vec::new(),
            indent: None,
            indents: Vec::new(),
            allow_simple_key: true,
            simple_keys: BTreeMap::new(),
            version: None,
            comments: Comments::default(),
        }
    }

    /// The YAML version in force: of the last directive scanned, which may lie ahead of the
    /// token the parser is at.
    pub(super) fn version(&self) -> Version {
        self.version.unwrap_or(Version::V1_2)
    }

    pub(super) fn comments(&mut self) -> &mut Comments {
        &mut self.comments
    }

    pub(super) fn into_comments(self) -> Comments {
        self.comments
    }

    /// The next token, left in the queue.
    pub(super) fn peek(&mut self) -> Result<&mut Token, Fault> {
        self.fill()?;
        self.gather_comments()?;
        self.head()
    }

    /// Takes the next token, with the comments that follow it.
    pub(super) fn take(&mut self) -> Result<Token, Fault> {
        self.fill()?;
        self.gather_comments()?;
        self.take_comments_after()?;
        self.taken += 1;
        self.tokens.pop_front().ok_or_else(no_token)
    }

    fn head(&mut self) -> Result<&mut Token, Fault> {
        self.tokens.front_mut().ok_or_else(no_token)
    }

    fn fill(&mut self) -> Result<(), Fault> {
        while self.needs_more()? {
            self.fetch()?;
        }
        Ok(())
    }

    fn needs_more(&mut self) -> Result<bool, Fault> {
        if self.done {
            return Ok(false);
        }
        if self.tokens.is_empty() {
            return Ok(true);
        }
        self.drop_stale_keys()?;
        let nearest = self.simple_keys.values().map(|key| key.number).min();
        Ok(nearest == Some(self.taken))
    }

    /// Hangs the comments at the head of the queue on the token after them.
    fn gather_comments(&mut self) -> Result<(), Fault> {
        if self.tokens.is_empty() {
            return Ok(());
        }
        let mut found = self.drop_comment(0);
        while self.needs_more()? {
            self.fetch()?;
            found |= self.drop_comment(0);
        }
        if found {
            self.comment_before_head()?;
        }
        if !self.done && self.tokens.len() < 2 {
            self.fetch()?;
        }
        Ok(())
    }

    /// Hangs the comments behind the head of the queue on it, where it can carry them.
    fn take_comments_after(&mut self) -> Result<(), Fault> {
        let (Some(head), Some(next)) = (self.tokens.front(), self.tokens.get(1)) else {
            return Ok(());
        };
        if !matches!(next.kind, Kind::Comment) {
            return Ok(());
        }
        let same_line = head.end.line == next.start.line;
        let carries = match head.kind {
            Kind::Scalar(_) => true,
            Kind::Value | Kind::FlowSequenceEnd | Kind::FlowMappingEnd => same_line,
            _ => false,
        };
        if !carries {
            return Ok(());
        }
        while self.drop_comment(1) {
            self.fetch()?;
        }
        let id = self.head()?.comment;
        let mut comment = id.map_or_else(Comment::default, |id| self.comments.get(id));
        comment.after = true;
        match id {
            Some(id) => self.comments.set(id, comment),
            None => self.head()?.comment = Some(self.comments.add(comment)),
        }
        Ok(())
    }

    fn drop_comment(&mut self, at: usize) -> bool {
        let found = self
            .tokens
            .get(at)
            .is_some_and(|token| matches!(token.kind, Kind::Comment));
        if found {
            self.tokens.remove(at);
            self.taken += 1;
        }
        found
    }

    fn comment_before_head(&mut self) -> Result<(), Fault> {
        let Some(id) = self.head()?.comment else {
            let id = self.new_comment(false, Before::Some);
            self.head()?.comment = Some(id);
            return Ok(());
        };
        let mut comment = self.comments.get(id);
        if comment.before != Before::None {
            return Err(Fault::crash("comments meet before one value"));
        }
        comment.before = Before::Some;
        self.comments.set(id, comment);
        Ok(())
    }

    fn new_comment(&mut self, after: bool, before: Before) -> CommentId {
        self.comments.add(Comment { after, before })
    }

    /// Skips to the next token. A comment or a run of blank lines stops it, and its start is
    /// returned.
    fn skip_to_token(&mut self) -> Option<Mark> {
        if self.reader.index() == 0 && self.reader.peek(0) == '\u{feff}' {
            self.reader.forward(1);
        }
        loop {
            self.reader.skip_spaces();
            if self.reader.peek(0) == '#' {
                let start = self.reader.mark();
                self.reader.skip_line();
                // Of CR LF only the CR goes here; the LF is then one of the blank lines.
                if is_end(self.reader.peek(0)) {
                    self.reader.forward(1);
                }
                while self.reader.line_break().is_some() {}
                self.allow_key_in_block();
                return Some(start);
            }
            self.reader.line_break()?;
            self.allow_key_in_block();
            if self.reader.peek(0) == '\n' {
                let start = self.reader.mark();
                // Runs into the next line's indentation, tabs included.
                while self.reader.line_break().is_some() || self.skip_blank() {}
                return Some(start);
            }
        }
    }

    fn skip_blank(&mut self) -> bool {
        let blank = matches!(self.reader.peek(0), ' ' | '\t');
        if blank {
            self.reader.forward(1);
        }
        blank
    }

    fn allow_key_in_block(&mut self) {
        if self.flow.is_empty() {
            self.allow_simple_key = true;
        }
    }

    fn drop_stale_keys(&mut self) -> Result<(), Fault> {
        let (line, index) = (self.reader.line(), self.reader.index());
        let stale = |key: &SimpleKey| {
            key.mark.line != line || index.saturating_sub(key.index) > SIMPLE_KEY_REACH
        };
        if self
            .simple_keys
            .values()
            .any(|key| stale(key) && key.required)
        {
            return Err(missing_colon(self.reader.mark()));
        }
        self.simple_keys.retain(|_, key| !stale(key));
        Ok(())
    }

    fn save_simple_key(&mut self) -> Result<(), Fault> {
        if !self.allow_simple_key {
            return Ok(());
        }
        self.remove_simple_key()?;
        let key = SimpleKey {
            number: self.taken + self.tokens.len(),
            required: self.flow.is_empty() && self.indent == Some(self.reader.column()),
            index: self.reader.index(),
            mark: self.reader.mark(),
        };
        self.simple_keys.insert(self.flow.len(), key);
        Ok(())
    }

    fn remove_simple_key(&mut self) -> Result<(), Fault> {
        match self.simple_keys.remove(&self.flow.len()) {
            Some(key) if key.required => Err(missing_colon(self.reader.mark())),
            _ => Ok(()),
        }
    }

    /// Closes the blocks that are indented deeper than `column`.
    fn unwind_indent(&mut self, column: Option<usize>) {
        if !self.flow.is_empty() {
            return;
        }
        while self.indent > column {
            let mark = self.reader.mark();
            self.indent = self.indents.pop().flatten();
            self.tokens
                .push_back(Token::new(Kind::BlockEnd, mark, mark));
        }
    }

    /// Opens a block at `column` unless one is open there.
    fn add_indent(&mut self, column: usize) -> bool {
        let deeper = self.indent < Some(column);
        if deeper {
            self.indents.push(self.indent);
            self.indent = Some(column);
        }
        deeper
    }
}

fn missing_colon(mark: Mark) -> Fault {
    Fault::yaml("a key here has no ':' after it", mark)
}

fn no_token() -> Fault {
    Fault::crash("the text ended early")
}
