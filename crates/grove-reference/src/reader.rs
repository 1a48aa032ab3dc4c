//! The character cursor: line and column as the reference library counts them.

use super::fault::Fault;

/// A place in the frontmatter text, both numbers counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// The end-of-text sentinel. It cannot occur in accepted text, because NUL is not printable.
pub(super) const END: char = '\0';

/// A cursor over the whole text.
pub(super) struct Reader {
    chars: Vec<char>,
    index: usize,
    mark: Mark,
}

impl Reader {
    /// Refuses text with a character the library does not take as printable.
    pub(super) fn new(text: &str) -> Result<Self, Fault> {
        // DEL and the C1 controls fall outside the accepted ranges, NEL inside.
        if let Some((position, found)) = text
            .chars()
            .enumerate()
            .find(|(_, found)| !is_printable(*found))
        {
            return Err(Fault::crash(format!(
                "character U+{:04X} at position {position} is not allowed in YAML",
                u32::from(found)
            )));
        }
        Ok(Self {
            chars: text.chars().collect(),
            index: 0,
            mark: Mark::default(),
        })
    }

    /// The character `ahead` places from here, or [`END`].
    pub(super) fn peek(&self, ahead: usize) -> char {
        self.chars
            .get(self.index.saturating_add(ahead))
            .copied()
            .unwrap_or(END)
    }

    /// The next `length` characters, fewer at the end of the text.
    pub(super) fn prefix(&self, length: usize) -> &[char] {
        let end = self.index.saturating_add(length).min(self.chars.len());
        self.chars.get(self.index..end).unwrap_or_default()
    }

    /// Moves on, counting only LF and lone CR as new lines: NEL, LS and PS break lines for the
    /// grammar, yet leave line and column running.
    pub(super) fn forward(&mut self, length: usize) {
        for _ in 0..length {
            let Some(&here) = self.chars.get(self.index) else {
                return;
            };
            self.index += 1;
            if here == '\n' || (here == '\r' && self.peek(0) != '\n') {
                self.mark.line += 1;
                self.mark.column = 0;
            } else if here != '\u{feff}' {
                self.mark.column += 1;
            }
        }
    }

    /// Takes the next `length` characters.
    pub(super) fn take(&mut self, length: usize) -> String {
        let taken = self.prefix(length).iter().collect();
        self.forward(length);
        taken
    }

    /// Takes one line break, if there is one here, in its normal form.
    pub(super) fn line_break(&mut self) -> Option<char> {
        match self.peek(0) {
            '\r' if self.peek(1) == '\n' => {
                self.forward(2);
                Some('\n')
            }
            '\r' | '\n' | '\u{85}' => {
                self.forward(1);
                Some('\n')
            }
            kept @ ('\u{2028}' | '\u{2029}') => {
                self.forward(1);
                Some(kept)
            }
            _ => None,
        }
    }

    /// Skips spaces (not tabs).
    pub(super) fn skip_spaces(&mut self) {
        while self.peek(0) == ' ' {
            self.forward(1);
        }
    }

    /// Skips to the end of the line or of the text.
    pub(super) fn skip_line(&mut self) {
        while !is_end(self.peek(0)) {
            self.forward(1);
        }
    }

    /// Whether a `...` marker starts here. Three hyphens cannot: the text ends before the first.
    pub(super) fn at_document_end(&self) -> bool {
        self.prefix(3) == ['.', '.', '.'] && is_end_or_blank(self.peek(3))
    }

    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    pub(super) fn line(&self) -> usize {
        self.mark.line
    }

    pub(super) fn column(&self) -> usize {
        self.mark.column
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }
}

fn is_printable(found: char) -> bool {
    matches!(
        found,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..
    )
}

/// A line break of any of the five kinds.
pub(super) fn is_break(found: char) -> bool {
    matches!(found, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A line break or the end of the text.
pub(super) fn is_end(found: char) -> bool {
    found == END || is_break(found)
}

/// A space, a line break or the end of the text.
pub(super) fn is_end_or_space(found: char) -> bool {
    found == ' ' || is_end(found)
}

/// A space, a tab, a line break or the end of the text.
pub(super) fn is_end_or_blank(found: char) -> bool {
    found == '\t' || is_end_or_space(found)
}
