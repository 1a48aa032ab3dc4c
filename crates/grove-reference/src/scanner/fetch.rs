//! Which token starts here.

use super::super::fault::Fault;
use super::super::reader::{END, is_end_or_blank};
use super::super::token::{Kind, Token, Version};
use super::{Flow, Scanner};

impl Scanner {
    /// Queues at least one token.
    pub(super) fn fetch(&mut self) -> Result<(), Fault> {
        if let Some(start) = self.skip_to_token() {
            let end = self.reader.mark();
            self.tokens.push_back(Token::new(Kind::Comment, start, end));
            return Ok(());
        }
        self.drop_stale_keys()?;
        self.unwind_indent(Some(self.reader.column()));
        let first_column = self.reader.column() == 0;
        let in_block = self.flow.is_empty();
        match self.reader.peek(0) {
            END => self.fetch_stream_end(),
            '%' if first_column => self.fetch_directive(),
            '.' if first_column && self.reader.at_document_end() => self.fetch_document_end(),
            '[' => self.fetch_flow_start(Flow::Sequence),
            '{' => self.fetch_flow_start(Flow::Mapping),
            ']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            '}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            ',' => {
                self.allow_simple_key = true;
                self.remove_simple_key()?;
                self.push_indicator(Kind::FlowEntry);
                Ok(())
            }
            '-' if is_end_or_blank(self.reader.peek(1)) => self.fetch_block_entry(),
            '?' if !in_block || is_end_or_blank(self.reader.peek(1)) => self.fetch_key(),
            ':' if self.at_value() => self.fetch_value(),
            '*' => {
                self.start_simple_key()?;
                let token = self.scan_alias()?;
                self.tokens.push_back(token);
                Ok(())
            }
            '&' => {
                self.start_simple_key()?;
                let token = self.scan_anchor()?;
                self.tokens.push_back(token);
                Ok(())
            }
            '!' => {
                self.start_simple_key()?;
                let token = self.scan_tag()?;
                self.tokens.push_back(token);
                Ok(())
            }
            style @ ('|' | '>') if in_block => {
                self.allow_simple_key = true;
                self.remove_simple_key()?;
                let token = self.scan_block_scalar(style)?;
                self.tokens.push_back(token);
                Ok(())
            }
            quote @ ('\'' | '"') => {
                self.start_simple_key()?;
                let token = self.scan_quoted(quote)?;
                self.tokens.push_back(token);
                Ok(())
            }
            _ if self.at_plain() => {
                self.start_simple_key()?;
                let token = self.scan_plain();
                self.tokens.push_back(token);
                Ok(())
            }
            found => Err(Fault::yaml(
                format!("no value can start with {found:?}"),
                self.reader.mark(),
            )),
        }
    }

    fn start_simple_key(&mut self) -> Result<(), Fault> {
        self.save_simple_key()?;
        self.allow_simple_key = false;
        Ok(())
    }

    fn push_indicator(&mut self, kind: Kind) {
        let start = self.reader.mark();
        self.reader.forward(1);
        let end = self.reader.mark();
        self.tokens.push_back(Token::new(kind, start, end));
    }

    fn fetch_stream_end(&mut self) -> Result<(), Fault> {
        self.unwind_indent(None);
        self.remove_simple_key()?;
        self.allow_simple_key = false;
        self.simple_keys.clear();
        let mark = self.reader.mark();
        self.tokens
            .push_back(Token::new(Kind::StreamEnd, mark, mark));
        self.done = true;
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), Fault> {
        self.unwind_indent(None);
        self.remove_simple_key()?;
        self.allow_simple_key = false;
        let token = self.scan_directive()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_document_end(&mut self) -> Result<(), Fault> {
        self.unwind_indent(None);
        self.remove_simple_key()?;
        self.allow_simple_key = false;
        let start = self.reader.mark();
        self.reader.forward(3);
        let end = self.reader.mark();
        self.tokens
            .push_back(Token::new(Kind::DocumentEnd, start, end));
        Ok(())
    }

    fn fetch_flow_start(&mut self, flow: Flow) -> Result<(), Fault> {
        self.save_simple_key()?;
        let kind = match flow {
            Flow::Sequence => Kind::FlowSequenceStart,
            Flow::Mapping => Kind::FlowMappingStart,
        };
        self.flow.push(flow);
        self.allow_simple_key = true;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind) -> Result<(), Fault> {
        self.remove_simple_key()?;
        self.flow.pop();
        self.allow_simple_key = false;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Fault> {
        if self.flow.is_empty() {
            if !self.allow_simple_key {
                return Err(Fault::yaml(
                    "a list entry cannot start here",
                    self.reader.mark(),
                ));
            }
            self.open_block(Kind::BlockSequenceStart);
        }
        self.allow_simple_key = true;
        self.remove_simple_key()?;
        self.push_indicator(Kind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Fault> {
        if self.flow.is_empty() {
            if !self.allow_simple_key {
                return Err(Fault::yaml(
                    "a mapping key cannot start here",
                    self.reader.mark(),
                ));
            }
            self.open_block(Kind::BlockMappingStart);
        }
        self.allow_simple_key = self.flow.is_empty();
        self.remove_simple_key()?;
        self.push_indicator(Kind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Fault> {
        if let Some(key) = self.simple_keys.remove(&self.flow.len()) {
            let at = key.number.saturating_sub(self.taken).min(self.tokens.len());
            self.tokens
                .insert(at, Token::new(Kind::Key, key.mark, key.mark));
            if self.flow.is_empty() && self.add_indent(key.mark.column) {
                self.tokens
                    .insert(at, Token::new(Kind::BlockMappingStart, key.mark, key.mark));
            }
            self.allow_simple_key = false;
        } else {
            if self.flow.is_empty() {
                if !self.allow_simple_key {
                    return Err(Fault::yaml(
                        "a mapping value cannot start here; text with ': ' in it needs quotes",
                        self.reader.mark(),
                    ));
                }
                self.open_block(Kind::BlockMappingStart);
            }
            self.allow_simple_key = self.flow.is_empty();
            self.remove_simple_key()?;
        }
        self.push_indicator(Kind::Value);
        Ok(())
    }

    fn open_block(&mut self, kind: Kind) {
        if self.add_indent(self.reader.column()) {
            let mark = self.reader.mark();
            self.tokens.push_back(Token::new(kind, mark, mark));
        }
    }

    /// Whether the `:` here is an indicator.
    fn at_value(&self) -> bool {
        let last = self.tokens.back().map(|token| &token.kind);
        let doubled = matches!(last, Some(Kind::Value));
        is_end_or_blank(self.reader.peek(1))
            || self.flow.last().is_some_and(|flow| {
                self.version() == Version::V1_1 || (*flow == Flow::Mapping && !doubled)
            })
    }

    /// Whether a plain scalar starts here.
    fn at_plain(&self) -> bool {
        let here = self.reader.peek(0);
        let next = self.reader.peek(1);
        if !is_end_or_blank(here) && !"-?:,[]{}#&*!|>'\"%@`".contains(here) {
            return true;
        }
        let in_block = self.flow.is_empty();
        if here == ':'
            && !in_block
            && self.version() != Version::V1_1
            && !matches!(next, ' ' | '\t')
        {
            return true;
        }
        !is_end_or_blank(next) && (here == '-' || (in_block && matches!(here, '?' | ':')))
    }
}
