//! Scalars without quotes.

use super::super::python_text::PyText;
use super::super::reader::{is_break, is_end_or_blank};
use super::super::token::{Before, Kind, Scalar, Token, Version};
use super::Scanner;

impl Scanner {
    pub(super) fn scan_plain(&mut self) -> Token {
        let start = self.reader.mark();
        let mut end = start;
        // A continuation line must be deeper than the open block; outside all blocks any will do.
        let indent = self.indent.map_or(0, |indent| indent + 1);
        let mut text = String::new();
        let mut spaces = String::new();
        while self.reader.peek(0) != '#' {
            let mut length = 0;
            while self.plain_goes_on(length) {
                length += 1;
            }
            if length == 0 {
                break;
            }
            self.allow_simple_key = false;
            text.push_str(&spaces);
            text.push_str(&self.reader.take(length));
            end = self.reader.mark();
            spaces = self.scan_plain_spaces();
            if spaces.is_empty() || (self.flow.is_empty() && self.reader.column() < indent) {
                break;
            }
        }
        let scalar = Scalar {
            text: PyText::Plain(text),
            plain: true,
        };
        let mut token = Token::new(Kind::Scalar(scalar), start, end);
        if spaces.starts_with('\n') {
            token.comment = Some(self.new_comment(true, Before::None));
        }
        token
    }

    fn plain_goes_on(&self, ahead: usize) -> bool {
        let here = self.reader.peek(ahead);
        if is_end_or_blank(here) {
            return false;
        }
        match here {
            ':' => !is_end_or_blank(self.reader.peek(ahead + 1)),
            '?' => self.flow.is_empty() || self.version() != Version::V1_1,
            ',' | '[' | ']' | '{' | '}' => self.flow.is_empty(),
            _ => true,
        }
    }

    /// What stands between two words: the spaces, or a line fold. Empty when the scalar ends.
    fn scan_plain_spaces(&mut self) -> String {
        let mut length = 0;
        while self.reader.peek(length) == ' ' {
            length += 1;
        }
        let spaces = self.reader.take(length);
        let Some(first) = self.reader.line_break() else {
            return spaces;
        };
        self.allow_simple_key = true;
        if self.reader.at_document_end() {
            return String::new();
        }
        let mut breaks = String::new();
        loop {
            self.reader.skip_spaces();
            if !is_break(self.reader.peek(0)) {
                break;
            }
            breaks.extend(self.reader.line_break());
            if self.reader.at_document_end() {
                return String::new();
            }
        }
        if first != '\n' {
            breaks.insert(0, first);
        } else if breaks.is_empty() {
            breaks.push(' ');
        }
        breaks
    }
}
