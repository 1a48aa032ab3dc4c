//! Output: data to stdout, everything else to stderr, and no control characters to either.
//!
//! Everything that people read goes through [`visible`]: lines, notes, tables, the words of children. What other programs
//! read exactly goes through it where a terminal shows it ([`CommandOutput::text`], [`CommandOutput::patch`]).
//!
//! A command that is done at once is written in one go when it ends. One that goes on writes what it has with
//! [`CommandOutput::flush`] as often as it likes: the same cleaning, and the same silence when the reader is gone.

use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::path::Path;

use grove_skills::environment_variables::{COLUMNS, NO_COLOR, TERM};
use grove_spec::Diagnostic;
use grove_spec::hidden_text::is_direction_control;
use grove_spec::text::{is_control, visible, visible_json, without_controls};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::colour::{self, ColourMeaning, marked};
use crate::command_error::CommandError;
use grove_spec::text::grouped;

#[derive(Default)]
pub(crate) struct CommandOutput {
    data: Vec<u8>,
    notes: Vec<u8>,
    has_data: bool,
    /// The outcome of writing so far; nothing is written to a stream that failed.
    data_written: WriteOutcome,
    notes_written: WriteOutcome,
    has_coloured_data: bool,
    has_coloured_notes: bool,
    /// The width of lines on a terminal; elsewhere they are as long as they are.
    data_width: Option<usize>,
    notes_width: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableReader {
    Columns(usize),
    /// Another program: everything, with tabs between cells and without headings.
    Tabs,
}

impl TableReader {
    /// A number as its reader takes it: people see thousands apart, programs read plain digits.
    pub(crate) fn number(self, number: usize) -> String {
        match self {
            Self::Columns(_) => grouped(number),
            Self::Tabs => number.to_string(),
        }
    }
}

impl From<usize> for TableReader {
    fn from(columns: usize) -> Self {
        Self::Columns(columns)
    }
}

type Variables = std::collections::BTreeMap<String, std::ffi::OsString>;

#[derive(Default)]
enum WriteOutcome {
    #[default]
    Whole,
    /// The reader closed the pipe: it has seen what it wanted.
    ReaderGone,
    Failed(io::Error),
}

impl WriteOutcome {
    /// Writes what was collected, unless an earlier write failed.
    fn write(&mut self, stream: &mut impl Write, collected: &mut Vec<u8>) {
        if matches!(self, Self::Whole) {
            let written = stream.write_all(collected).and_then(|()| stream.flush());
            match written {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => *self = Self::ReaderGone,
                Err(error) => *self = Self::Failed(error),
            }
        }
        collected.clear();
    }
}

impl CommandOutput {
    /// Wraps lines and has colours where a terminal shows them; colours only if they are wanted.
    pub(crate) fn set_terminal(&mut self, variables: &Variables) {
        let width = |is_terminal: bool| is_terminal.then(|| columns(variables));
        self.data_width = width(io::stdout().is_terminal());
        self.notes_width = width(io::stderr().is_terminal());
        let is_set = |name: &str| variables.get(name).is_some_and(|value| !value.is_empty());
        let is_dumb = variables.get(TERM).is_some_and(|value| value == "dumb");
        let is_wanted = !is_set(NO_COLOR) && !is_dumb;
        self.has_coloured_data = is_wanted && io::stdout().is_terminal();
        self.has_coloured_notes = is_wanted && io::stderr().is_terminal();
    }

    /// Data in which marks of meaning become colours on a terminal; control characters do not come through.
    pub(crate) fn painted(&mut self, text: &str) {
        let painted = painted(text, self.has_coloured_data);
        self.data.extend_from_slice(painted.as_bytes());
    }

    /// A line of data; on a terminal a long one goes on below its beginning.
    pub(crate) fn line(&mut self, line: &str) {
        let indent = line.len() - line.trim_start_matches(' ').len() + 2;
        self.wrapped_line(line, indent);
    }

    /// A line with a label and a value, which goes on below its own beginning.
    pub(crate) fn labelled(&mut self, label: &str, value: &str) {
        self.wrapped_line(&format!("{label:<12} {value}"), 13);
    }

    /// A page of help, in which a long explanation goes on below its own beginning.
    pub(crate) fn help(&mut self, page: &str) {
        for line in page.lines() {
            let indent = explanation_column(line, self.data_width.unwrap_or_default());
            self.wrapped_line(line, indent);
        }
    }

    fn wrapped_line(&mut self, line: &str, indent: usize) {
        for part in in_lines(&visible(line), self.data_width, indent) {
            self.data.extend_from_slice(part.as_bytes());
            self.data.push(b'\n');
        }
    }

    /// Text that another program may read as it is, but for control characters; a terminal shows what is hidden in it.
    pub(crate) fn text(&mut self, text: &str) {
        let text = if self.data_width.is_some() {
            visible(text)
        } else {
            without_controls(text)
        };
        self.data.extend_from_slice(text.as_bytes());
    }

    /// The words of a child, or what it was told, for people: nothing in them is hidden, wherever they go.
    pub(crate) fn child_text(&mut self, text: &str) {
        self.data.extend_from_slice(visible(text).as_bytes());
        if !text.ends_with('\n') {
            self.data.push(b'\n');
        }
    }

    /// A patch, which `git apply` reads as it is; a terminal shows what is hidden in it.
    pub(crate) fn patch(&mut self, bytes: &[u8]) {
        if self.data_width.is_some() {
            for line in String::from_utf8_lossy(bytes).split_inclusive('\n') {
                // A line ending of Windows is a difference to see.
                let text = line.strip_suffix('\n');
                self.data
                    .extend_from_slice(visible(text.unwrap_or(line)).as_bytes());
                self.data.extend(text.map(|_| b'\n'));
            }
        } else {
            self.exact(bytes);
        }
    }

    /// Bytes that another program's output must equal.
    pub(crate) fn exact(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
    }

    /// Bytes beside the data that another program's must equal.
    pub(crate) fn exact_note(&mut self, bytes: &[u8]) {
        self.notes.extend_from_slice(bytes);
    }

    /// The same beside the data, without the end of a line.
    pub(crate) fn painted_note(&mut self, text: &str) {
        let painted = painted(text, self.has_coloured_notes);
        self.notes.extend_from_slice(painted.as_bytes());
    }

    /// A line beside the data, for people.
    pub(crate) fn note(&mut self, line: &str) {
        for part in in_lines(&visible(line), self.notes_width, 2) {
            self.notes.extend_from_slice(part.as_bytes());
            self.notes.push(b'\n');
        }
    }

    pub(crate) fn json<T: Serialize>(&mut self, value: &T) {
        self.json_text(serde_json::to_string_pretty(value));
    }

    pub(crate) fn json_line<T: Serialize>(&mut self, value: &T) {
        self.json_text(serde_json::to_string(value));
    }

    fn json_text(&mut self, text: serde_json::Result<String>) {
        match text {
            Ok(text) => {
                self.exact(visible_json(&text).as_bytes());
                self.exact(b"\n");
            }
            Err(error) => self.note(&format!("error: could not write JSON: {error}")),
        }
    }

    /// A rendered diagnostic beside the data.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        for line in grove_spec::render::render(diagnostic, None).lines() {
            let indent = line.len() - line.trim_start_matches(' ').len() + 2;
            for part in in_lines(line, self.notes_width, indent) {
                self.notes.extend_from_slice(part.as_bytes());
                self.notes.push(b'\n');
            }
        }
    }

    pub(crate) fn diagnostics<'a>(&mut self, all: impl IntoIterator<Item = &'a Diagnostic>) {
        for diagnostic in all {
            self.diagnostic(diagnostic);
        }
    }

    /// A finding as a line that GitHub Actions shows at its place.
    pub(crate) fn annotation(&mut self, finding: &Diagnostic, folder: &Path) {
        let line = grove_spec::render::annotation(finding, folder);
        self.data.extend_from_slice(visible(&line).as_bytes());
    }

    /// A finding as data, with the line that it speaks of and a blank line after it.
    pub(crate) fn finding(&mut self, finding: &Diagnostic, source: Option<&str>) {
        let text = grove_spec::render::render(finding, source);
        let text = without_controls(&text);
        let (severity, rest) = text.split_at(text.find('[').unwrap_or(0));
        match colour::of_word(severity) {
            Some(meaning) => self.painted(&marked(meaning, severity)),
            None => self.text(severity),
        }
        let mut rest = rest.lines();
        // The severity stands before the first line already.
        let first = format!("{severity}{}", rest.next().unwrap_or_default());
        let mut parts = in_lines(&first, self.data_width, 2).into_iter();
        let head = parts.next().unwrap_or_default();
        self.text(head.get(severity.len()..).unwrap_or_default());
        self.text("\n");
        for part in parts {
            self.text(&part);
            self.text("\n");
        }
        for line in rest {
            match self.data_width {
                // A line of a file stays one line, so that the mark below it stands under its place.
                Some(width) if is_quoted(line) => self.text(&cut_line(line, width)),
                _ => {
                    self.line(line);
                    continue;
                }
            }
            self.text("\n");
        }
        self.line("");
    }

    pub(crate) fn error(&mut self, error: &CommandError) {
        self.note_after(ColourMeaning::Bad, "error:", error.message().as_str());
        for hint in &error.hints {
            self.note_after(ColourMeaning::Quiet, "hint:", hint);
        }
    }

    fn note_after(&mut self, meaning: ColourMeaning, word: &str, line: &str) {
        let painted_word = painted(&marked(meaning, word), self.has_coloured_notes);
        let line = visible(line);
        let parts = in_lines(&format!("{word} {line}"), self.notes_width, 2);
        for (at, part) in parts.iter().enumerate() {
            let begins_with_word = part.strip_prefix(word).filter(|_| at == 0);
            if begins_with_word.is_some() {
                self.notes.extend_from_slice(painted_word.as_bytes());
            }
            let rest = begins_with_word.unwrap_or(part);
            self.notes.extend_from_slice(rest.as_bytes());
            self.notes.push(b'\n');
        }
    }

    /// Writes what there is, the data first, while the command goes on; returns true if the data still has a reader.
    pub(crate) fn flush(&mut self) -> bool {
        self.has_data |= !self.data.is_empty();
        self.data_written
            .write(&mut io::stdout().lock(), &mut self.data);
        self.notes_written
            .write(&mut io::stderr().lock(), &mut self.notes);
        matches!(self.data_written, WriteOutcome::Whole)
    }

    #[expect(clippy::unused_self, reason = "it is about where this output goes")]
    pub(crate) fn can_ask(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks the person at the terminal, after everything that the question is about; none without a terminal.
    pub(crate) fn ask(&mut self, question: &str) -> Option<bool> {
        self.flush();
        if !self.can_ask() {
            return None;
        }
        self.notes
            .extend_from_slice(visible(&format!("{question} [y/N] ")).as_bytes());
        self.flush();
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        Some(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    /// Writes the rest, and says what the machine did not take.
    pub(crate) fn finish(mut self) -> Result<(), UnwrittenOutput> {
        self.flush();
        match (self.data_written, self.notes_written) {
            (WriteOutcome::Failed(error), _) => Err(UnwrittenOutput::Data(error)),
            (WriteOutcome::Whole, WriteOutcome::Failed(_)) if !self.has_data => {
                Err(UnwrittenOutput::Everything)
            }
            _ => Ok(()),
        }
    }
}

/// Returns true if standard output has no reader any more; a file can always be read.
pub(crate) fn reader_is_gone() -> bool {
    let stdout = io::stdout();
    let mut sources = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    poll(&mut sources, Some(&at_once)).is_ok()
        && sources
            .iter()
            .any(|source| source.revents().intersects(gone))
}

/// The reason why output was not written whole.
#[derive(Debug)]
pub(crate) enum UnwrittenOutput {
    Data(io::Error),
    /// There were notes alone, and the machine did not take them.
    Everything,
}

/// A text in as many lines as a terminal needs, broken between words, the later ones behind blanks: none of them can be
/// taken for one of ours.
fn in_lines(text: &str, width: Option<usize>, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (n, line) in text.split('\n').enumerate() {
        if n == 0 || line.is_empty() {
            lines.extend(wrapped(line, width, indent));
        } else {
            let line = format!("{}{line}", " ".repeat(indent));
            lines.extend(wrapped(&line, width, indent));
        }
    }
    lines
}

fn wrapped(line: &str, width: Option<usize>, indent: usize) -> Vec<String> {
    let Some(width) = width.filter(|width| line.width() > *width) else {
        return vec![line.to_owned()];
    };
    let start = line.len() - line.trim_start_matches(' ').len();
    let (blanks, text) = line.split_at(start);
    let mut lines = Vec::new();
    let mut now = blanks.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && now.width() + 1 + word.width() > width {
            // A long word begins as far to the left as it needs.
            let indent = indent.min(width.saturating_sub(word.width()));
            lines.push(std::mem::replace(&mut now, " ".repeat(indent)));
        } else if !is_empty {
            now.push(' ');
        }
        now.push_str(word);
        is_empty = false;
    }
    lines.push(now);
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// The column in which the explanation of a line of help begins, which is behind two blanks; where that leaves less than
/// half of the width, some columns behind the beginning of the line.
fn explanation_column(line: &str, width: usize) -> usize {
    let text = line.trim_start_matches(' ');
    let start = line.len() - text.len();
    let Some((name, rest)) = text.split_once("  ") else {
        return start;
    };
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    let column = start + name.width() + 2 + blanks;
    if column > width / 2 {
        start + 4
    } else {
        column
    }
}

/// Returns true if a line of a finding is one of the file, or the mark below it.
fn is_quoted(line: &str) -> bool {
    let number = line.trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    number.starts_with('|')
}

/// A line in no more columns than there are, with a mark if it was cut; its blanks stay as they are.
fn cut_line(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut kept = String::new();
    for c in line.chars() {
        if kept.width() + c.width().unwrap_or(0) + 1 > width {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// A text with colours in place of marks, or without either.
fn painted(text: &str, has_colours: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match colour::code_of(c) {
            Some(code) if has_colours => out.push_str(code),
            None if is_direction_control(c) => out.extend(c.escape_unicode()),
            None if !is_control(c) => out.push(c),
            _ => {}
        }
    }
    out
}

/// Returns the reader of tables: a terminal or a set `COLUMNS` gets columns, another program gets tabs.
pub(crate) fn page(variables: &Variables) -> TableReader {
    if variables.contains_key(COLUMNS) || io::stdout().is_terminal() {
        TableReader::Columns(columns(variables))
    } else {
        TableReader::Tabs
    }
}

/// Returns the number of columns that lines may use: `COLUMNS`, the terminal's width, or 100.
pub(crate) fn columns(variables: &Variables) -> usize {
    let set = variables
        .get(COLUMNS)
        .and_then(|value| value.to_str())
        .and_then(|value| value.parse().ok());
    let terminal = || {
        io::stdout()
            .is_terminal()
            .then(|| rustix::termios::tcgetwinsize(io::stdout()).ok())
            .flatten()
            .map(|size| usize::from(size.ws_col))
            .filter(|width| *width > 0)
    };
    set.or_else(terminal).unwrap_or(100).clamp(40, 400)
}

pub(crate) fn notes_terminal(variables: &Variables) -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok();
    let rows = size.map_or(0, |size| usize::from(size.ws_row));
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    let is_set = variables.contains_key(COLUMNS) || columns == 0;
    let columns = if is_set {
        self::columns(variables)
    } else {
        columns
    };
    // A terminal that does not say how high it is has the usual height.
    (columns.clamp(20, 400), if rows == 0 { 24 } else { rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    impl CommandOutput {
        /// The data, then the notes, of an output that was not written.
        fn into_text(self) -> String {
            String::from_utf8([self.data, self.notes].concat()).unwrap()
        }
    }

    const PATCH: &str = "+a\u{202e}b\r\n-\u{200f}\u{1b}[2J\n\\ no end";

    fn on_terminal() -> CommandOutput {
        CommandOutput {
            data_width: Some(80),
            notes_width: Some(80),
            ..CommandOutput::default()
        }
    }

    #[test]
    fn a_terminal_shows_what_is_hidden_and_a_pipe_has_it_exactly() {
        let mut pipe = CommandOutput::default();
        pipe.patch(PATCH.as_bytes());
        assert_eq!(pipe.into_text(), PATCH);
        let mut terminal = on_terminal();
        terminal.patch(PATCH.as_bytes());
        let shown = "+a\\u{202e}b\\u{d}\n-\\u{200f}\\u{1b}[2J\n\\ no end";
        assert_eq!(terminal.into_text(), shown);
        for (mut out, expected) in [
            (CommandOutput::default(), "a\u{202e}b\n"),
            (on_terminal(), "a\\u{202e}b\n"),
        ] {
            out.text("a\u{202e}b\n");
            assert_eq!(out.into_text(), expected);
        }
    }

    #[test]
    fn no_line_of_a_text_is_taken_for_one_of_ours() {
        for mut out in [CommandOutput::default(), on_terminal()] {
            out.line("asks: one\nerror: two\r\nhint: three");
            out.note("one\nerror: two");
            out.child_text("a\u{2066}");
            let text = out.into_text();
            let forged = ["error:", "hint:"];
            let is_forged = |line: &str| forged.iter().any(|word| line.starts_with(word));
            assert!(!text.lines().any(is_forged), "{text}");
            assert!(text.contains("a\\u{2066}\n"), "{text}");
        }
    }
}
