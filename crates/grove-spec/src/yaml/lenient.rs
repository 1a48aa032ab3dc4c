//! YAML that other parsers accept and the full parser refuses, changed so that it is accepted: lines in brackets or
//! quotes that are not indented, tabs for blanks, a comma after a closing bracket.
//!
//! One pass over the lines tells structure from the inside of brackets, quotes and blocks of text. Only blanks are
//! added, removed or put in place of a tab or a comma, outside of texts, and the full parser must accept the result, so
//! that no text is read with another meaning than in YAML.

use super::events;
use super::{YamlEntry, YamlNode, YamlValue};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::fence::lines;

/// The deepest indent that is read, deeper than people write; it keeps the changed block small.
const MAX_INDENT: usize = 256;

/// Reads a refused block with its blanks corrected, and reports the corrections.
///
/// A tab after a key's colon is valid YAML, so it is not reported.
pub(super) fn parse(text: &str, first_line: u32) -> Option<(Vec<YamlEntry>, Vec<Diagnostic>)> {
    let mut pass = BlankCorrector::new(text);
    for (number, (offset, line, next)) in (first_line..).zip(lines(text)) {
        pass.line(line, number)?;
        pass.out
            .push_str(text.get(offset + line.len()..next).unwrap_or_default());
    }
    if pass.out == text {
        return None;
    }
    let mut entries = events::parse(&pass.out, first_line).ok()?;
    if pass.has_tabs && !entries.iter().all(|entry| has_plain_keys(&entry.value)) {
        return None;
    }
    for entry in &mut entries {
        pass.shift_back(entry);
    }
    Some((entries, pass.findings))
}

/// The number of bytes of a value in brackets or quotes, from its first character to the closing one.
pub(super) fn closed_length(value: &str) -> Option<usize> {
    let mut inside = OpenBrackets::opened_by(value)?;
    lines(value).find_map(|(offset, line, _)| {
        let skipped = usize::from(offset == 0);
        let length = inside.run(line.get(skipped..)?)?;
        Some(offset + skipped + length)
    })
}

struct OpenBrackets {
    depth: usize,
    quote: Option<char>,
}

impl OpenBrackets {
    /// Returns the brackets or quotes that the first character of a value opens.
    fn opened_by(value: &str) -> Option<Self> {
        let first = value.chars().next()?;
        let quote = matches!(first, '"' | '\'').then_some(first);
        let depth = usize::from(matches!(first, '[' | '{'));
        (quote.is_some() || depth > 0).then_some(Self { depth, quote })
    }

    /// Reads a line, or the rest of one, up to the character that closes the last open bracket or quote.
    fn run(&mut self, line: &str) -> Option<usize> {
        let mut chars = line.char_indices().peekable();
        // An apostrophe in a word opens nothing, and a hash in a word begins no comment.
        let (mut may_open, mut after_blank) = (true, true);
        while let Some((at, c)) = chars.next() {
            if let Some(quote) = self.quote {
                let is_next = |next: &(usize, char)| next.1 == quote;
                if c == '\\' && quote == '"' {
                    chars.next();
                } else if c == quote && (quote == '"' || chars.next_if(is_next).is_none()) {
                    self.quote = None;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                    (may_open, after_blank) = (false, false);
                }
                continue;
            }
            match c {
                '"' | '\'' if may_open => self.quote = Some(c),
                '#' if after_blank => return None,
                '[' | '{' => self.depth += 1,
                ']' | '}' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
            may_open = matches!(c, ',' | ':' | '[' | '{') || (may_open && matches!(c, ' ' | '\t'));
            after_blank = matches!(c, ' ' | '\t');
        }
        None
    }
}

enum LineContext {
    Structure,
    /// In brackets or quotes that were opened by a line with this indent.
    Inside(OpenBrackets, usize),
    /// In a block of text below a line with this indent.
    Block(usize),
}

struct BlankCorrector {
    state: LineContext,
    out: String,
    /// Number of blanks for one tab at the start of a line.
    tab_width: usize,
    has_tabs: bool,
    /// Lines whose indent was changed: number, old and new indent.
    shifted: Vec<(u32, usize, usize)>,
    findings: Vec<Diagnostic>,
    /// Number of findings when the last key in the first column began.
    n_findings_before: usize,
}

impl BlankCorrector {
    fn new(text: &str) -> Self {
        Self {
            state: LineContext::Structure,
            out: String::with_capacity(text.len() + 64),
            tab_width: blanks_of_a_level(text),
            has_tabs: false,
            shifted: Vec::new(),
            findings: Vec::new(),
            n_findings_before: 0,
        }
    }

    /// Reads one line without its end; nothing if its indent is too deep.
    fn line(&mut self, line: &str, number: u32) -> Option<()> {
        let content = line.trim_start_matches([' ', '\t']);
        let lead = line.get(..line.len() - content.len())?;
        let tabs = lead.matches('\t').count();
        let indent = lead.len() - tabs + tabs.checked_mul(self.tab_width)?;
        if indent > MAX_INDENT {
            return None;
        }
        if content.is_empty() {
            self.out.push_str(line);
            return Some(());
        }
        match &self.state {
            LineContext::Block(above) if indent > *above => {
                // After the blanks that indent a block, a tab is part of the text.
                let content = line.trim_start_matches('\t');
                let tabs = line.len() - content.len();
                let lead = line.get(..tabs)?;
                self.indent(number, lead, tabs * self.tab_width);
                self.out.push_str(content);
            }
            LineContext::Inside(_, above) => {
                let above = *above;
                self.inside(content, number, lead, above, indent);
            }
            _ => {
                self.state = LineContext::Structure;
                self.structure(content, number, lead, indent);
            }
        }
        Some(())
    }

    /// Reads a line that begins in brackets or quotes, where its indent has no meaning but is required.
    fn inside(&mut self, content: &str, number: u32, lead: &str, above: usize, indent: usize) {
        let LineContext::Inside(mut inside, above_line) =
            std::mem::replace(&mut self.state, LineContext::Structure)
        else {
            return;
        };
        if indent <= above {
            let message = if inside.quote.is_some() && inside.depth == 0 {
                "quoted text continues on a line that is not indented"
            } else {
                "text in brackets continues on a line that is not indented"
            };
            self.add_finding(
                number,
                lead.len() + 1,
                message,
                "indent the line by two blanks",
            );
        }
        let indent = above + 2;
        self.shifted.push((number, lead.len(), indent));
        self.out.extend(std::iter::repeat_n(' ', indent));
        match inside.run(content) {
            None => {
                self.out.push_str(content);
                self.state = LineContext::Inside(inside, above_line);
            }
            Some(length) => self.closed(content, length, number, lead.len()),
        }
    }

    /// Reads a line of keys and items.
    fn structure(&mut self, content: &str, number: u32, lead: &str, indent: usize) {
        if lead.is_empty() {
            self.n_findings_before = self.findings.len();
        }
        self.indent(number, lead, indent);
        let mut rest = content;
        while let Some(item) = rest.strip_prefix("- ").or(rest.strip_prefix("-\t")) {
            rest = item.trim_start_matches([' ', '\t']);
        }
        let items = content.len() - rest.len();
        self.out.push_str(content.get(..items).unwrap_or_default());
        let mut above = indent;
        if let Some(colon) = key_end(rest) {
            // The value of a key in an item is indented more than the key.
            above += items;
            let (key, value) = rest.split_at(colon);
            let after_tabs = value.trim_start_matches('\t');
            let inner = after_tabs.trim_start_matches([' ', '\t']);
            self.out.push_str(key);
            // The full parser accepts no letter directly after a tab.
            let tabs = value.len() - after_tabs.len();
            self.out.extend(std::iter::repeat_n(' ', tabs));
            let blanks = after_tabs.get(..after_tabs.len() - inner.len());
            self.out.push_str(blanks.unwrap_or_default());
            rest = inner;
        }
        let column = lead.len() + content.len() - rest.len();
        if rest.starts_with(['|', '>']) {
            self.out.push_str(rest);
            self.state = LineContext::Block(above);
        } else if let Some(mut inside) = OpenBrackets::opened_by(rest) {
            match rest.get(1..).and_then(|rest| inside.run(rest)) {
                None => {
                    self.out.push_str(rest);
                    self.state = LineContext::Inside(inside, above);
                }
                Some(length) => self.closed(rest, length + 1, number, column),
            }
        } else {
            self.out.push_str(rest);
        }
    }

    /// Reads the rest of a line after its brackets or quotes were closed.
    fn closed(&mut self, text: &str, length: usize, number: u32, column: usize) {
        let (value, after) = text.split_at_checked(length).unwrap_or((text, ""));
        self.out.push_str(value);
        let is_list = value.ends_with([']', '}']);
        match after.trim_start().strip_prefix(',') {
            Some(rest) if is_list && is_nothing(rest) => {
                let comma = after.len() - after.trim_start().len();
                let place = column + value.chars().count() + comma + 1;
                self.add_finding(
                    number,
                    place,
                    "there is a comma after the closing bracket",
                    "remove the comma",
                );
                self.out.extend(std::iter::repeat_n(' ', comma + 1));
                self.out.push_str(rest);
            }
            _ => self.out.push_str(after),
        }
    }

    fn indent(&mut self, number: u32, lead: &str, indent: usize) {
        if lead.contains('\t') {
            self.has_tabs = true;
            self.shifted.push((number, lead.len(), indent));
            let message =
                "a tab indents the line, which YAML does not allow; it was read as one level";
            self.add_finding(number, 1, message, "indent with blanks");
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// Adds a finding, one of each kind for each key in the first column.
    fn add_finding(&mut self, line: u32, column: usize, message: &str, help: &str) {
        let said = self
            .findings
            .get(self.n_findings_before..)
            .unwrap_or_default();
        if said.iter().any(|finding| finding.message == message) {
            return;
        }
        let place = Position::new(line, u32::try_from(column).unwrap_or(1));
        let finding = Diagnostic::new(Code::YamlRepaired, message);
        self.findings.push(finding.with_help(help).at(place));
    }

    /// Restores the columns that the entries have in the file.
    fn shift_back(&self, entry: &mut YamlEntry) {
        self.place_back(&mut entry.position);
        self.shift_node(&mut entry.value);
    }

    // The parser limits the nesting of values, so the recursion is bounded.
    fn shift_node(&self, node: &mut YamlNode) {
        self.place_back(&mut node.position);
        match &mut node.value {
            YamlValue::Text(_) => {}
            YamlValue::List(items) => items.iter_mut().for_each(|item| self.shift_node(item)),
            YamlValue::Map(entries) => entries.iter_mut().for_each(|entry| self.shift_back(entry)),
        }
    }

    fn place_back(&self, place: &mut Position) {
        // Lines are read in order, so the list is sorted.
        let found = self
            .shifted
            .binary_search_by_key(&place.line, |shifted| shifted.0);
        if let Some((_, old, new)) = found.ok().and_then(|at| self.shifted.get(at)) {
            let column = usize::try_from(place.column).unwrap_or(1) + old;
            let column = column.saturating_sub(*new).max(1);
            place.column = u32::try_from(column).unwrap_or(1);
        }
    }
}

/// The end of a line's key, after its colon.
fn key_end(line: &str) -> Option<usize> {
    let is_end = |after: &str| after.is_empty() || after.starts_with([' ', '\t']);
    if line.starts_with(['"', '\'']) {
        let length = closed_length(line)?;
        let after = line.get(length..)?.strip_prefix(':')?;
        return is_end(after).then_some(length + 1);
    }
    if line.starts_with(['[', '{', '#', '|', '>']) {
        return None;
    }
    let mut colons = line.match_indices(':').map(|(at, _)| at + 1);
    colons.find(|end| line.get(*end..).is_some_and(is_end))
}

/// Returns true if the rest of a line has nothing but a comment.
pub(super) fn is_nothing(rest: &str) -> bool {
    let inner = rest.trim_start();
    inner.is_empty() || (inner.starts_with('#') && inner.len() < rest.len())
}

/// The number of blanks for one level of indent in a block: the fewest at the beginning of a line, or two.
fn blanks_of_a_level(text: &str) -> usize {
    let indents = lines(text).filter_map(|(_, line, _)| {
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        (indent > 0 && !content.is_empty() && !content.starts_with('\t')).then_some(indent)
    });
    indents.min().unwrap_or(2)
}

/// Returns true if the keys of all mappings are words: `Use it when: asked` below a key is a sentence.
fn has_plain_keys(node: &YamlNode) -> bool {
    match &node.value {
        YamlValue::Text(_) => true,
        YamlValue::List(items) => items.iter().all(has_plain_keys),
        YamlValue::Map(entries) => entries
            .iter()
            .all(|entry| !entry.key.contains(char::is_whitespace) && has_plain_keys(&entry.value)),
    }
}
