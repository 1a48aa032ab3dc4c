//! Directives, anchors, aliases and tags: all refused in the end, but an error inside one comes
//! first.

use super::super::fault::Fault;
use super::super::reader::{Mark, is_end, is_end_or_blank, is_end_or_space};
use super::super::token::{Directive, Kind, Token, Version};
use super::Scanner;

/// Python refuses to turn longer digit runs into a number.
const MAX_DIGITS: usize = 4300;

impl Scanner {
    pub(super) fn scan_directive(&mut self) -> Result<Token, Fault> {
        let start = self.reader.mark();
        self.reader.forward(1);
        let name = self.scan_directive_name()?;
        let (directive, end) = match name.as_str() {
            "YAML" => {
                let version = self.scan_version()?;
                self.version = Some(version);
                (Directive::Yaml(version), self.reader.mark())
            }
            "TAG" => {
                let handle = self.scan_tag_directive()?;
                (Directive::Tag { handle }, self.reader.mark())
            }
            _ => {
                let end = self.reader.mark();
                self.reader.skip_line();
                (Directive::Other, end)
            }
        };
        self.reader.skip_spaces();
        if self.reader.peek(0) == '#' {
            self.reader.skip_line();
        }
        if !is_end(self.reader.peek(0)) {
            return Err(self.unexpected("a directive must end with its line"));
        }
        self.reader.line_break();
        Ok(Token::new(Kind::Directive(directive), start, end))
    }

    fn scan_directive_name(&mut self) -> Result<String, Fault> {
        let mut length = 0;
        while is_word(self.reader.peek(length)) || matches!(self.reader.peek(length), ':' | '.') {
            length += 1;
        }
        if length == 0 {
            return Err(self.unexpected("a directive needs a name"));
        }
        let name = self.reader.take(length);
        if !is_end_or_space(self.reader.peek(0)) {
            return Err(self.unexpected("a directive name must end with a space"));
        }
        Ok(name)
    }

    fn scan_version(&mut self) -> Result<Version, Fault> {
        self.reader.skip_spaces();
        let major = self.scan_number()?;
        if self.reader.peek(0) != '.' {
            return Err(self.unexpected("a YAML version needs a '.'"));
        }
        self.reader.forward(1);
        let minor = self.scan_number()?;
        if !is_end_or_space(self.reader.peek(0)) {
            return Err(self.unexpected("a YAML version must end with a space"));
        }
        Ok(Version { major, minor })
    }

    fn scan_number(&mut self) -> Result<u64, Fault> {
        let mut length = 0;
        while self.reader.peek(length).is_ascii_digit() {
            length += 1;
        }
        if length == 0 {
            return Err(self.unexpected("a YAML version needs a digit"));
        }
        let digits = self.reader.take(length);
        if digits.len() > MAX_DIGITS {
            return Err(Fault::crash("a YAML version has too many digits"));
        }
        Ok(digits.parse().unwrap_or(u64::MAX))
    }

    /// Reads the handle and the prefix of a `%TAG` line; the prefix is of no use here.
    fn scan_tag_directive(&mut self) -> Result<String, Fault> {
        self.reader.skip_spaces();
        let handle = self.scan_tag_handle()?;
        if self.reader.peek(0) != ' ' {
            return Err(self.unexpected("a tag handle must end with a space"));
        }
        self.reader.skip_spaces();
        self.scan_tag_uri()?;
        if !is_end_or_space(self.reader.peek(0)) {
            return Err(self.unexpected("a tag prefix must end with a space"));
        }
        Ok(handle)
    }

    pub(super) fn scan_alias(&mut self) -> Result<Token, Fault> {
        let start = self.reader.mark();
        let name = self.scan_anchor_name()?;
        Ok(Token::new(Kind::Alias(name), start, self.reader.mark()))
    }

    pub(super) fn scan_anchor(&mut self) -> Result<Token, Fault> {
        let start = self.reader.mark();
        self.scan_anchor_name()?;
        Ok(Token::new(Kind::Anchor, start, self.reader.mark()))
    }

    fn scan_anchor_name(&mut self) -> Result<String, Fault> {
        self.reader.forward(1);
        let mut length = 0;
        while is_anchor_char(self.reader.peek(length)) {
            length += 1;
        }
        if length == 0 {
            return Err(self.unexpected("an anchor or alias needs a name"));
        }
        let name = self.reader.take(length);
        let next = self.reader.peek(0);
        if !is_end_or_blank(next) && !"?:,[]{}%@`".contains(next) {
            return Err(self.unexpected("an anchor or alias must end with a space"));
        }
        Ok(name)
    }

    pub(super) fn scan_tag(&mut self) -> Result<Token, Fault> {
        let start = self.reader.mark();
        let next = self.reader.peek(1);
        if next == '<' {
            self.reader.forward(2);
            self.scan_tag_uri()?;
            if self.reader.peek(0) != '>' {
                return Err(self.unexpected("a tag must end with '>'"));
            }
            self.reader.forward(1);
        } else if is_end_or_blank(next) {
            self.reader.forward(1);
        } else {
            let mut length = 1;
            while !is_end_or_space(self.reader.peek(length)) && self.reader.peek(length) != '!' {
                length += 1;
            }
            if self.reader.peek(length) == '!' {
                self.scan_tag_handle()?;
            } else {
                self.reader.forward(1);
            }
            self.scan_tag_uri()?;
        }
        if !is_end_or_space(self.reader.peek(0)) {
            return Err(self.unexpected("a tag must end with a space"));
        }
        Ok(Token::new(Kind::Tag, start, self.reader.mark()))
    }

    fn scan_tag_handle(&mut self) -> Result<String, Fault> {
        if self.reader.peek(0) != '!' {
            return Err(self.unexpected("a tag handle must start with '!'"));
        }
        let mut length = 1;
        if self.reader.peek(length) != ' ' {
            while is_word(self.reader.peek(length)) {
                length += 1;
            }
            if self.reader.peek(length) != '!' {
                self.reader.forward(length);
                return Err(self.unexpected("a tag handle must end with '!'"));
            }
            length += 1;
        }
        Ok(self.reader.take(length))
    }

    fn scan_tag_uri(&mut self) -> Result<(), Fault> {
        let mut found = false;
        loop {
            let here = self.reader.peek(0);
            if here == '%' {
                self.scan_uri_escapes()?;
            } else if is_uri_char(here) || (here == '#' && self.version() > Version::V1_1) {
                self.reader.forward(1);
            } else if found {
                return Ok(());
            } else {
                return Err(self.unexpected("a tag needs a URI"));
            }
            found = true;
        }
    }

    fn scan_uri_escapes(&mut self) -> Result<(), Fault> {
        let start = self.reader.mark();
        let mut bytes = Vec::new();
        while self.reader.peek(0) == '%' {
            self.reader.forward(1);
            let digit = |at: usize| self.reader.peek(at).to_digit(16);
            let (Some(high), Some(low)) = (digit(0), digit(1)) else {
                return Err(self.unexpected("a URI escape needs two hexadecimal digits"));
            };
            bytes.push((high * 16 + low) as u8);
            self.reader.forward(2);
        }
        if std::str::from_utf8(&bytes).is_err() {
            return Err(not_utf8(start));
        }
        Ok(())
    }

    fn unexpected(&self, rule: &str) -> Fault {
        Fault::yaml(rule, self.reader.mark())
    }
}

fn not_utf8(mark: Mark) -> Fault {
    Fault::yaml("a URI escape is not UTF-8", mark)
}

fn is_word(found: char) -> bool {
    found.is_ascii_alphanumeric() || matches!(found, '-' | '_')
}

fn is_uri_char(found: char) -> bool {
    found.is_ascii_alphanumeric() || "-;/?:@&=+$,_.!~*'()[]".contains(found)
}

fn is_anchor_char(found: char) -> bool {
    match found {
        ',' | '[' | ']' | '{' | '}' | '\u{feff}' => false,
        '!'..='~' | '\u{a0}'..='\u{fffd}' | '\u{10000}'.. => true,
        _ => false,
    }
}
