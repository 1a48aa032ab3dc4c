//! Tables that fit: every column as wide as it needs, the last one takes what is left.

use std::ops::Range;

use grove_spec::text::one_line;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Rows of cells under headings.
pub(crate) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// The columns that have numbers, which stand under their headings' ends.
    numbers: Range<usize>,
}

impl Table {
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Self {
            headings: headings.to_vec(),
            rows: Vec::new(),
            numbers: 0..0,
        }
    }

    /// The same with numbers in these columns.
    pub(crate) fn with_numbers(mut self, columns: Range<usize>) -> Self {
        self.numbers = columns;
        self
    }

    /// Adds a row; each cell becomes one line without control characters.
    pub(crate) fn row(&mut self, cells: &[&str]) {
        self.rows
            .push(cells.iter().map(|cell| one_line(cell)).collect());
    }

    /// The table in at most `columns` columns of the terminal.
    pub(crate) fn render(&self, columns: usize) -> String {
        let mut widths: Vec<usize> = self
            .headings
            .iter()
            .map(|heading| heading.width())
            .collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        fit(&mut widths, columns);
        let headings = self.headings.iter().map(|heading| (*heading).to_owned());
        let mut out = self.line(&headings.collect::<Vec<_>>(), &widths);
        for row in &self.rows {
            out.push_str(&self.line(row, &widths));
        }
        out
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut out = String::new();
        for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let shown = shorten(cell, *width);
            let padding = " ".repeat(width.saturating_sub(shown.width()));
            if self.numbers.contains(&index) {
                out.push_str(&padding);
                out.push_str(&shown);
            } else {
                out.push_str(&shown);
                out.push_str(&padding);
            }
            out.push_str(&" ".repeat(GAP));
        }
        let mut out = out.trim_end().to_owned();
        out.push('\n');
        out
    }
}

const GAP: usize = 2;
/// No column is squeezed below this.
const NARROWEST: usize = 8;

/// Takes room from the widest column until the table fits or nothing can give.
fn fit(widths: &mut [usize], columns: usize) {
    let gaps = widths.len().saturating_sub(1) * GAP;
    while widths.iter().sum::<usize>() + gaps > columns {
        let over = widths.iter().sum::<usize>() + gaps - columns;
        let Some(widest) = widths.iter_mut().max() else {
            return;
        };
        if *widest <= NARROWEST {
            return;
        }
        *widest = widest.saturating_sub(over.min(8)).max(NARROWEST);
    }
}

/// A text cut at a word end where one is near, with a mark that it was cut.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        kept.push(c);
    }
    let word_end = kept.rfind(' ').filter(|at| *at * 5 >= kept.len() * 3);
    if let Some(at) = word_end {
        kept.truncate(at);
    }
    format!("{}…", kept.trim_end())
}

/// A text in lines of at most `width` columns, broken between words alone: a word that is longer has a line to itself.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_alone() {
        let text = "  one two  three unbreakablelongword four";
        let lines = ["one two", "three", "unbreakablelongword", "four"];
        assert_eq!(wrapped(text, 9), lines);
        assert_eq!(
            wrapped(text, 100).join(""),
            "one two three unbreakablelongword four"
        );
        assert!(wrapped(" ", 9).is_empty());
    }

    #[test]
    fn every_line_fits_and_nothing_hostile_is_printed() {
        let mut table = Table::new(&["NAME", "STATE", "DESCRIPTION"]);
        table.row(&[
            "pdf",
            "ok",
            "Reads PDF files and extracts their text. Use when a user asks about a document.",
        ]);
        table.row(&["日本語の名前", "ineligible", "x\n\u{1b}[2Jy"]);
        for columns in [40, 60, 100] {
            let rendered = table.render(columns);
            assert!(
                rendered.lines().all(|line| line.width() <= columns),
                "{rendered}"
            );
            assert!(
                !rendered.contains(grove_spec::text::is_control),
                "{rendered:?}"
            );
            assert_eq!(rendered.lines().count(), 3);
        }
    }

    #[test]
    fn cutting_prefers_word_ends_and_says_so() {
        assert_eq!(shorten("short", 10), "short");
        assert_eq!(shorten("one two three four", 12), "one two…");
        assert_eq!(shorten("unbreakablelongword", 8), "unbreak…");
    }
}
