//! Literal (`|`) and folded (`>`) scalars.

use super::super::fault::Fault;
use super::super::python_text::PyText;
use super::super::reader::{END, Mark, is_break, is_end, is_end_or_space};
use super::super::token::{Before, Kind, Scalar, Token};
use super::Scanner;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Clip,
    Strip,
    Keep,
}

impl Scanner {
    pub(super) fn scan_block_scalar(&mut self, style: char) -> Result<Token, Fault> {
        let start = self.reader.mark();
        self.reader.forward(1);
        let (chomping, increment) = self.scan_block_header()?;
        let header_comment = self.scan_header_rest()?;

        let least = self.indent.map_or(0, |indent| indent + 1);
        let (indent, mut breaks, mut end) = match increment {
            None => {
                let (breaks, deepest, end) = self.scan_leading_lines();
                (least.max(deepest), breaks, end)
            }
            Some(increment) => {
                let indent = least.max(1) + increment - 1;
                let (breaks, end) = self.scan_empty_lines(indent);
                (indent, breaks, end)
            }
        };
        let top_level = least == 0 && increment.is_none();
        let folded = style == '>';
        let mut text = PyText::default();
        let mut last_break = None;
        while self.in_block(indent) {
            text.push_str(&breaks);
            let leading_blank = matches!(self.reader.peek(0), ' ' | '\t');
            let mut length = 0;
            while !is_end(self.reader.peek(length)) {
                length += 1;
            }
            text.push_str(&self.reader.take(length));
            last_break = self.reader.line_break();
            (breaks, end) = self.scan_empty_lines(indent);
            if (top_level && self.reader.column() == 0 && self.reader.at_document_end())
                || !self.in_block(indent)
            {
                break;
            }
            let folds = folded
                && last_break == Some('\n')
                && !leading_blank
                && !matches!(self.reader.peek(0), ' ' | '\t');
            if !folds {
                text.push_str(as_str(last_break, &mut [0; 4]));
            } else if breaks.is_empty() {
                text.push(' ');
            }
        }
        if chomping != Chomping::Strip {
            text.push_str(as_str(last_break, &mut [0; 4]));
        }
        let mut trailing = false;
        if chomping == Chomping::Keep {
            text.push_str(&breaks);
        } else {
            trailing = !breaks.is_empty();
        }

        let mut token = Token::new(Kind::Scalar(Scalar { text, plain: false }), start, end);
        if trailing {
            while self.skip_to_token().is_some() {}
        }
        if header_comment || trailing {
            let before = if header_comment {
                Before::Some
            } else {
                Before::None
            };
            token.comment = Some(self.new_comment(trailing, before));
        }
        Ok(token)
    }

    fn in_block(&self, indent: usize) -> bool {
        self.reader.column() == indent && self.reader.peek(0) != END
    }

    /// The chomping and indentation indicators, in either order.
    fn scan_block_header(&mut self) -> Result<(Chomping, Option<usize>), Fault> {
        let mut chomping = self.scan_chomping();
        let increment = self.scan_increment()?;
        if chomping.is_none() && increment.is_some() {
            chomping = self.scan_chomping();
        }
        if !is_end_or_space(self.reader.peek(0)) {
            return Err(Fault::yaml(
                "only '+', '-' and a digit may follow a block indicator",
                self.reader.mark(),
            ));
        }
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    fn scan_chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.reader.peek(0) {
            '+' => Chomping::Keep,
            '-' => Chomping::Strip,
            _ => return None,
        };
        self.reader.forward(1);
        Some(chomping)
    }

    fn scan_increment(&mut self) -> Result<Option<usize>, Fault> {
        match self.reader.peek(0).to_digit(10) {
            None => Ok(None),
            Some(0) => Err(Fault::yaml(
                "an indentation indicator is 1 to 9",
                self.reader.mark(),
            )),
            Some(digit) => {
                self.reader.forward(1);
                Ok(Some(digit as usize))
            }
        }
    }

    /// The rest of the header line; true when it holds a comment.
    fn scan_header_rest(&mut self) -> Result<bool, Fault> {
        self.reader.skip_spaces();
        let comment = self.reader.peek(0) == '#';
        if comment {
            self.reader.skip_line();
        }
        if !is_end(self.reader.peek(0)) {
            return Err(Fault::yaml(
                "only a comment may follow on a block indicator's line",
                self.reader.mark(),
            ));
        }
        self.reader.line_break();
        Ok(comment)
    }

    /// Empty lines before the text: the breaks, the deepest column reached and where they end.
    fn scan_leading_lines(&mut self) -> (String, usize, Mark) {
        let mut breaks = String::new();
        let mut deepest = 0;
        let mut end = self.reader.mark();
        loop {
            if self.reader.peek(0) == ' ' {
                self.reader.forward(1);
                deepest = deepest.max(self.reader.column());
            } else if let Some(found) = self.reader.line_break() {
                breaks.push(found);
                end = self.reader.mark();
            } else {
                return (breaks, deepest, end);
            }
        }
    }

    /// Empty lines between lines of text, and the indentation of the next line.
    fn scan_empty_lines(&mut self, indent: usize) -> (String, Mark) {
        let mut breaks = String::new();
        let mut end = self.reader.mark();
        loop {
            while self.reader.column() < indent && self.reader.peek(0) == ' ' {
                self.reader.forward(1);
            }
            if !is_break(self.reader.peek(0)) {
                return (breaks, end);
            }
            breaks.extend(self.reader.line_break());
            end = self.reader.mark();
        }
    }
}

fn as_str(found: Option<char>, buffer: &mut [u8; 4]) -> &str {
    match found {
        Some(found) => found.encode_utf8(buffer),
        None => "",
    }
}
