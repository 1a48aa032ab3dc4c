//! Tables that fit: names are never cut, cells wrap between words, the last column takes what is left; the last columns stand
//! below the others where they have no room beside them, and what has no room for columns is written as blocks. For
//! another program a table is whole lines with tabs.

use std::ops::Range;

use grove_spec::text::one_line;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr};

use crate::colour::{ColourMeaning, marked, of_word};
use crate::output::TableReader;

pub(crate) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// The columns that have numbers, which stand under their headings' ends.
    numbers: Range<usize>,
}

const GAP: usize = 2;
/// The last column is cut and not given less than this.
const LEAST_LAST: usize = 24;
/// The number of lines that a long cell of a block may take.
const BLOCK_LINES: usize = 3;
/// With fewer columns beside one another a row is a block.
const LEAST_BESIDE: usize = 2;
/// The number of lines that the last cell may take below the others.
const UNDER_LINES: usize = 2;

impl Table {
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Self {
            headings: headings.to_vec(),
            rows: Vec::new(),
            numbers: 0..0,
        }
    }

    pub(crate) fn with_numbers(mut self, columns: Range<usize>) -> Self {
        self.numbers = columns;
        self
    }

    /// Adds a row; each cell becomes one line without control characters.
    pub(crate) fn row(&mut self, cells: &[&str]) {
        self.rows
            .push(cells.iter().map(|cell| one_line(cell)).collect());
    }

    /// Renders the table for its reader, with marks of meaning: see [`crate::output::Output::painted`].
    pub(crate) fn render(&self, page: impl Into<TableReader>) -> String {
        match page.into() {
            TableReader::Tabs => self.rows.iter().map(|row| row.join("\t") + "\n").collect(),
            TableReader::Columns(columns) => {
                let last = self.headings.len().saturating_sub(1);
                let all = self
                    .widths(columns, last + 1)
                    .map(|widths| self.columns(&widths));
                // Without room for the last columns beside the others they stand below them, as few as possible.
                let below = |count| Some(self.over_last(&self.widths(columns, count)?, columns));
                all.or_else(|| (LEAST_BESIDE..=last).rev().find_map(below))
                    .unwrap_or_else(|| self.blocks(columns))
            }
        }
    }

    /// Returns the width of each of the first columns, if all of them have room for their words.
    fn widths(&self, columns: usize, count: usize) -> Option<Vec<usize>> {
        let last = self.headings.len().saturating_sub(1);
        let mut widths = Vec::new();
        let mut least = Vec::new();
        for (at, heading) in self.headings.iter().enumerate().take(count) {
            let cells = || self.rows.iter().filter_map(|row| row.get(at));
            let whole = cells().map(|cell| cell.width()).max().unwrap_or(0);
            let whole = whole.max(heading.width());
            let word = |cell: &String| cell.split(' ').map(UnicodeWidthStr::width).max();
            let words = cells().filter_map(word).max().unwrap_or(0);
            least.push(match at {
                // A name stays on its line.
                0 => whole,
                _ if at == last => whole.min(LEAST_LAST),
                _ => words.max(heading.width()),
            });
            widths.push(whole);
        }
        let room = columns.checked_sub(count.saturating_sub(1) * GAP)?;
        if least.iter().sum::<usize>() > room {
            return None;
        }
        while let over @ 1.. = widths.iter().sum::<usize>().saturating_sub(room) {
            let wide = widths.iter_mut().zip(&least);
            let mut wide: Vec<_> = wide.filter(|(width, least)| **width > **least).collect();
            wide.sort_by_key(|(width, _)| **width);
            let (width, least) = wide.pop()?;
            // No further than to the next one, so that they give way alike.
            let next = wide.last().map_or(0, |(width, _)| **width);
            let room_to_give = *width - (*least).max(next);
            *width -= over.min(room_to_give.max(1));
        }
        Some(widths)
    }

    fn columns(&self, widths: &[usize]) -> String {
        let headings: Vec<String> = self.headings.iter().map(|it| (*it).to_owned()).collect();
        let heading = self.line(&headings, widths, true);
        let rows = self.rows.iter().map(|row| self.line(row, widths, false));
        std::iter::once(heading).chain(rows).collect()
    }

    /// The last cell of a row, to stand below the others: with its heading, unless it describes what the row is about.
    fn last_below(&self, row: &[String]) -> String {
        match (self.headings.last(), row.last()) {
            (Some(&"DESCRIPTION"), Some(cell)) => cell.clone(),
            (Some(heading), Some(cell)) if !cell.is_empty() => {
                format!("{}: {cell}", heading.to_lowercase())
            }
            _ => String::new(),
        }
    }

    /// Rows of the first columns, with the others below each.
    fn over_last(&self, widths: &[usize], columns: usize) -> String {
        let headings: Vec<String> = self.headings.iter().map(|it| (*it).to_owned()).collect();
        let mut out = self.line(&headings, widths, true);
        let room = columns.saturating_sub(4);
        for row in &self.rows {
            out.push_str(&self.line(row, widths, false));
            let below = self.headings.iter().zip(row).skip(widths.len());
            let below = below.take(self.headings.len().saturating_sub(widths.len() + 1));
            let between: Vec<String> = below
                .filter(|(_, cell)| !cell.is_empty())
                .map(|(heading, cell)| format!("{}: {cell}", heading.to_lowercase()))
                .collect();
            let under = wrapped(&shorten(&self.last_below(row), room * UNDER_LINES), room);
            for line in wrapped(&between.join(" "), room).into_iter().chain(under) {
                out.push_str("    ");
                out.push_str(&line);
                out.push('\n');
            }
        }
        out
    }

    fn line(&self, row: &[String], widths: &[usize], is_heading: bool) -> String {
        let last = self.headings.len().saturating_sub(1);
        let cells: Vec<Vec<String>> = row
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(at, (cell, width))| match at {
                0 => vec![cell.clone()],
                _ if at == last => vec![shorten(cell, *width)],
                _ => wrapped(cell, *width),
            })
            .collect();
        let n_lines = cells.iter().map(Vec::len).max().unwrap_or(0);
        let mut out = String::new();
        for number in 0..n_lines {
            let mut line = String::new();
            // Blanks are written when something follows them.
            let mut owed = 0;
            for (at, (lines, width)) in cells.iter().zip(widths).enumerate() {
                let text = lines.get(number).map_or("", String::as_str);
                let blanks = width.saturating_sub(text.width());
                let is_number = self.numbers.contains(&at);
                owed += if is_number { blanks } else { 0 };
                if !text.is_empty() {
                    line.push_str(&" ".repeat(owed));
                    line.push_str(&self.painted(at, text, is_heading));
                    owed = 0;
                }
                owed += GAP + if is_number { 0 } else { blanks };
            }
            out.push_str(&line);
            out.push('\n');
        }
        out
    }

    /// A cell with the meaning that its word has, where the column is about one.
    fn painted(&self, at: usize, text: &str, is_heading: bool) -> String {
        let is_about = matches!(self.headings.get(at), Some(&("STATE" | "FITS" | "TRUST")));
        match of_word(text).filter(|_| is_about) {
            _ if is_heading => marked(ColourMeaning::Heading, text),
            Some(meaning) => marked(meaning, text),
            None => text.to_owned(),
        }
    }

    /// Every row as a block: the name, and each further cell on lines of its own.
    fn blocks(&self, columns: usize) -> String {
        let mut out = String::new();
        for row in &self.rows {
            for (at, (heading, cell)) in self.headings.iter().zip(row).enumerate() {
                if at == 0 {
                    out.push_str(&marked(ColourMeaning::Heading, cell));
                    out.push('\n');
                    continue;
                }
                let room = columns.saturating_sub(4);
                let cell = shorten(cell, room * BLOCK_LINES);
                let text = format!("{}: {cell}", heading.to_lowercase());
                for (number, line) in wrapped(&text, room).iter().enumerate() {
                    let indent = if number == 0 { "  " } else { "    " };
                    out.push_str(indent);
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
        out
    }
}

/// A text cut after a word, with a mark that it was cut; inside a word only where one is wider than everything.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let kept = wrapped(text, room).into_iter().next();
    format!("{}…", kept.unwrap_or_default())
}

/// A text in lines of at most `width` columns, broken between words; a word that is wider than that has lines to itself.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ if word.width() <= width => lines.push(word.to_owned()),
            _ => lines.extend(broken(word, width)),
        }
    }
    lines
}

fn broken(word: &str, width: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    for c in word.chars() {
        let room = width.saturating_sub(c.width().unwrap_or(0));
        match parts.last_mut() {
            Some(part) if part.is_empty() || part.width() <= room => part.push(c),
            _ => parts.push(c.to_string()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use grove_spec::text::without_controls;

    use super::*;

    fn shown(table: &Table, columns: usize) -> String {
        without_controls(&table.render(columns)).into_owned()
    }

    fn example() -> Table {
        let mut table = Table::new(&["NAME", "STATE", "ROOT", "DESCRIPTION"]);
        let about =
            "Reads PDF files and extracts their text. Use when a user asks about a document.";
        table.row(&["pdf-with-a-long-name", "ok", "user:.agents/skills", about]);
        table.row(&["日本語の名前", "ineligible", "two words", "x\n\u{1b}[2Jy"]);
        table
    }

    #[test]
    fn no_name_is_cut_and_no_word_broken_at_any_width() {
        for columns in 40..140 {
            let text = shown(&example(), columns);
            for name in [
                "pdf-with-a-long-name",
                "日本語の名前",
                "user:.agents/skills",
            ] {
                assert!(text.contains(name), "{columns}: {text}");
            }
            let whole = "NAME STATE ROOT DESCRIPTION name: state: root: description: root: pdf-with-a-long-name 日本語の名前 ok ineligible user:.agents/skills two words x \\u{1b}[2Jy Reads PDF files and extracts their text. Use when a user asks about a document.";
            let known: Vec<&str> = whole.split(' ').collect();
            for word in text.split_whitespace() {
                let word = word.trim_end_matches('…');
                assert!(
                    word.is_empty() || known.contains(&word),
                    "{columns}: {word}\n{text}"
                );
            }
            assert!(
                text.lines().all(|line| line.width() <= columns),
                "{columns}: {text}"
            );
            assert!(
                text.lines().all(|line| line.trim_end() == line),
                "{columns}: {text}"
            );
        }
    }

    #[test]
    fn columns_where_there_is_room_and_blocks_where_there_is_none() {
        assert_eq!(shown(&example(), 100).lines().count(), 3);
        let narrow = shown(&example(), 30);
        assert!(
            narrow.starts_with("pdf-with-a-long-name\n  state: ok\n"),
            "{narrow}"
        );
    }

    #[test]
    fn no_more_columns_than_needed_stand_below_the_others() {
        let starts = |columns: usize, expected: &str| {
            let text = shown(&example(), columns);
            assert!(text.starts_with(expected), "{columns}: {text}");
        };
        starts(
            60,
            "NAME                  STATE       ROOT\npdf-with-a-long-name  ok          user:.agents/skills\n    Reads PDF",
        );
        starts(
            40,
            "NAME                  STATE\npdf-with-a-long-name  ok\n    root: user:.agents/skills\n    Reads PDF",
        );
    }

    #[test]
    fn what_stands_below_says_what_it_is_unless_it_describes_the_row() {
        let mut table = Table::new(&["ENGINE", "STATE", "CANNOT"]);
        table.row(&["one", "installed", "streaming, in-band cancel"]);
        table.row(&["two", "installed", ""]);
        let expected = "ENGINE  STATE\none     installed\n    cannot: streaming, in-band\n    cancel\ntwo     installed\n";
        assert_eq!(shown(&table, 30), expected);
    }

    #[test]
    fn columns_that_give_way_give_way_alike() {
        let mut table = Table::new(&["RUN", "STATE", "WHAT"]);
        let (state, what) = (
            "failed because of this ".repeat(4),
            "worker: a task ".repeat(3),
        );
        table.row(&["0abc", &state, &what]);
        let text = shown(&table, 80);
        assert_eq!(text.lines().count(), 4, "{text}");
    }

    #[test]
    fn another_program_gets_everything_between_tabs() {
        let text = example().render(TableReader::Tabs);
        let first = text.lines().next().unwrap();
        assert_eq!(first.split('\t').count(), 4);
        assert!(first.ends_with("asks about a document."), "{first}");
        assert!(!text.contains(grove_spec::text::is_control), "{text:?}");
    }

    #[test]
    fn numbers_stand_under_the_ends_of_their_headings() {
        let mut table = Table::new(&["HOST", "SKILLS", "CUT"]).with_numbers(1..3);
        table.row(&["Grove", "5", "1,000"]);
        assert_eq!(
            shown(&table, 80),
            "HOST   SKILLS    CUT\nGrove       5  1,000\n"
        );
    }

    #[test]
    fn cutting_is_between_words_and_says_so() {
        assert_eq!(shorten("short", 10), "short");
        assert_eq!(shorten("one two three four", 12), "one two…");
        assert_eq!(shorten("unbreakablelongword", 8), "unbreak…");
    }

    #[test]
    fn lines_are_broken_between_words_alone() {
        let text = "  one two  three unbreakablelongword four";
        let lines = ["one two", "three", "unbreakab", "lelongwor", "d four"];
        assert_eq!(wrapped(text, 9), lines);
        assert_eq!(wrapped("漢字漢字", 5), ["漢字", "漢字"]);
        let line = wrapped(text, 100).join("");
        assert_eq!(line, "one two three unbreakablelongword four");
        assert!(wrapped(" ", 9).is_empty());
    }
}
