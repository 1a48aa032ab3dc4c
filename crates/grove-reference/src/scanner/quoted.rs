//! Single- and double-quoted scalars.

use super::super::fault::Fault;
use super::super::python_text::PyText;
use super::super::reader::{END, is_break, is_end};
use super::super::token::{Kind, Scalar, Token};
use super::Scanner;

impl Scanner {
    pub(super) fn scan_quoted(&mut self, quote: char) -> Result<Token, Fault> {
        let start = self.reader.mark();
        let mut text = PyText::default();
        self.reader.forward(1);
        self.scan_quoted_text(quote, &mut text)?;
        while self.reader.peek(0) != quote {
            self.scan_quoted_spaces(&mut text)?;
            self.scan_quoted_text(quote, &mut text)?;
        }
        self.reader.forward(1);
        let end = self.reader.mark();
        Ok(Token::new(
            Kind::Scalar(Scalar { text, plain: false }),
            start,
            end,
        ))
    }

    /// Text up to the closing quote or the next white space.
    fn scan_quoted_text(&mut self, quote: char, text: &mut PyText) -> Result<(), Fault> {
        let double = quote == '"';
        loop {
            match self.reader.peek(0) {
                ' ' | '\t' => return Ok(()),
                found if is_end(found) => return Ok(()),
                '\'' if !double && self.reader.peek(1) == '\'' => {
                    text.push('\'');
                    self.reader.forward(2);
                }
                found if found == quote => return Ok(()),
                '\\' if double => self.scan_escape(text)?,
                found => {
                    text.push(found);
                    self.reader.forward(1);
                }
            }
        }
    }

    fn scan_escape(&mut self, text: &mut PyText) -> Result<(), Fault> {
        self.reader.forward(1);
        let found = self.reader.peek(0);
        let replacement = match found {
            '0' => '\0',
            'a' => '\u{7}',
            'b' => '\u{8}',
            't' | '\t' => '\t',
            'n' => '\n',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'r' => '\r',
            'e' => '\u{1b}',
            ' ' | '"' | '/' | '\\' => found,
            'N' => '\u{85}',
            '_' => '\u{a0}',
            'L' => '\u{2028}',
            'P' => '\u{2029}',
            'x' => return self.scan_hex_escape(2, text),
            'u' => return self.scan_hex_escape(4, text),
            'U' => return self.scan_hex_escape(8, text),
            _ if is_break(found) => {
                self.reader.line_break();
                let breaks = self.scan_quoted_breaks()?;
                text.push_str(&breaks);
                return Ok(());
            }
            _ => {
                return Err(Fault::yaml(
                    format!("'\\{}' is not an escape", found.escape_debug()),
                    self.reader.mark(),
                ));
            }
        };
        text.push(replacement);
        self.reader.forward(1);
        Ok(())
    }

    fn scan_hex_escape(&mut self, length: usize, text: &mut PyText) -> Result<(), Fault> {
        self.reader.forward(1);
        let mut code: u32 = 0;
        for at in 0..length {
            let Some(digit) = self.reader.peek(at).to_digit(16) else {
                return Err(Fault::yaml(
                    format!("this escape needs {length} hexadecimal digits"),
                    self.reader.mark(),
                ));
            };
            code = code << 4 | digit;
        }
        if !text.push_code(code) {
            return Err(Fault::crash(format!("there is no character U+{code:X}")));
        }
        self.reader.forward(length);
        Ok(())
    }

    /// White space inside the quotes, a line fold included.
    fn scan_quoted_spaces(&mut self, text: &mut PyText) -> Result<(), Fault> {
        let mut length = 0;
        while matches!(self.reader.peek(length), ' ' | '\t') {
            length += 1;
        }
        let blanks = self.reader.take(length);
        if self.reader.peek(0) == END {
            return Err(Fault::yaml(
                "the text ends inside quotes",
                self.reader.mark(),
            ));
        }
        match self.reader.line_break() {
            None => text.push_str(&blanks),
            Some(first) => {
                let breaks = self.scan_quoted_breaks()?;
                if first != '\n' {
                    text.push(first);
                } else if breaks.is_empty() {
                    text.push(' ');
                }
                text.push_str(&breaks);
            }
        }
        Ok(())
    }

    fn scan_quoted_breaks(&mut self) -> Result<String, Fault> {
        let mut breaks = String::new();
        loop {
            if self.reader.at_document_end() {
                return Err(Fault::yaml(
                    "a document ends inside quotes",
                    self.reader.mark(),
                ));
            }
            while self.skip_blank() {}
            match self.reader.line_break() {
                Some(found) => breaks.push(found),
                None => return Ok(breaks),
            }
        }
    }
}
