//! Where output goes: data to stdout, everything else to stderr, and no control characters to either.
//!
//! A command that is done at once is written in one go when it ends. One that goes on writes what it has with
//! [`Output::flush`] as often as it likes: the same cleaning, and the same silence when nobody reads any more.

use std::io::{self, BufRead as _, IsTerminal as _, Write};

use grove_skills::environment_variables::COLUMNS;
use grove_spec::Diagnostic;
use grove_spec::text::{is_control, visible, without_controls};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::command_error::CommandError;

/// Collects a command's output and writes it.
#[derive(Default)]
pub(crate) struct Output {
    data: Vec<u8>,
    notes: Vec<u8>,
    /// Whether there was any data.
    has_data: bool,
    /// How writing went; nothing is written to a stream that failed.
    data_written: Written,
    notes_written: Written,
}

/// How writing to a stream went.
#[derive(Default)]
enum Written {
    #[default]
    Whole,
    /// The reader closed the pipe: it has seen what it wanted.
    ReaderGone,
    /// The machine did not take it.
    Failed(io::Error),
}

impl Written {
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

impl Output {
    /// A line of data.
    pub(crate) fn line(&mut self, line: &str) {
        self.text(line);
        self.data.push(b'\n');
    }

    /// Data as it is, but for control characters.
    pub(crate) fn text(&mut self, text: &str) {
        self.data
            .extend_from_slice(without_controls(text).as_bytes());
    }

    /// Bytes that another program's output must equal.
    pub(crate) fn exact(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
    }

    /// Bytes beside the data that another program's must equal.
    pub(crate) fn exact_note(&mut self, bytes: &[u8]) {
        self.notes.extend_from_slice(bytes);
    }

    /// A line beside the data, for people.
    pub(crate) fn note(&mut self, line: &str) {
        self.notes.extend_from_slice(visible(line).as_bytes());
        self.notes.push(b'\n');
    }

    /// A value as JSON.
    pub(crate) fn json<T: Serialize>(&mut self, value: &T) {
        self.json_text(serde_json::to_string_pretty(value));
    }

    /// A value as one line of JSON.
    pub(crate) fn json_line<T: Serialize>(&mut self, value: &T) {
        self.json_text(serde_json::to_string(value));
    }

    fn json_text(&mut self, text: serde_json::Result<String>) {
        match text {
            Ok(text) => self.line(&without_escaped_controls(&text)),
            Err(error) => self.note(&format!("error: could not write JSON: {error}")),
        }
    }

    /// A rendered diagnostic beside the data.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        self.notes
            .extend_from_slice(grove_spec::render::render(diagnostic, None).as_bytes());
    }

    /// Rendered diagnostics beside the data.
    pub(crate) fn diagnostics<'a>(&mut self, all: impl IntoIterator<Item = &'a Diagnostic>) {
        for diagnostic in all {
            self.diagnostic(diagnostic);
        }
    }

    /// A finding as data, with the line that it speaks of and a blank line after it.
    pub(crate) fn finding(&mut self, finding: &Diagnostic, source: Option<&str>) {
        self.text(&grove_spec::render::render(finding, source));
        self.line("");
    }

    /// An error with its hints.
    pub(crate) fn error(&mut self, error: &CommandError) {
        self.note(&format!("error: {}", error.message()));
        for hint in &error.hints {
            self.note(&format!("hint: {hint}"));
        }
    }

    /// Writes what there is, the data first, while the command goes on; says whether anybody reads the data.
    pub(crate) fn flush(&mut self) -> bool {
        self.has_data |= !self.data.is_empty();
        self.data_written
            .write(&mut io::stdout().lock(), &mut self.data);
        self.notes_written
            .write(&mut io::stderr().lock(), &mut self.notes);
        matches!(self.data_written, Written::Whole)
    }

    /// Asks whoever sits at the terminal, after everything that the question is about; none when there is nobody.
    pub(crate) fn ask(&mut self, question: &str) -> Option<bool> {
        self.flush();
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
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
    pub(crate) fn finish(mut self) -> Result<(), Unwritten> {
        self.flush();
        match (self.data_written, self.notes_written) {
            (Written::Failed(error), _) => Err(Unwritten::Data(error)),
            (Written::Whole, Written::Failed(_)) if !self.has_data => Err(Unwritten::Everything),
            _ => Ok(()),
        }
    }
}

/// Whether nobody can read standard output any more; a file can always be read.
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

/// Why output was not written whole.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// The machine did not take the data.
    Data(io::Error),
    /// There were notes alone, and the machine did not take them.
    Everything,
}

/// How many columns a table may use: `COLUMNS`, the terminal's width, or 100.
pub(crate) fn columns(
    environment: &std::collections::BTreeMap<String, std::ffi::OsString>,
) -> usize {
    let set = environment
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

/// JSON text without escaped control characters; a raw one is not JSON.
fn without_escaped_controls(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        clean.push_str(before);
        let length = if escape.starts_with("\\u") { 6 } else { 2 };
        let (escape, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        if !is_escaped_control(escape) {
            clean.push_str(escape);
        }
        rest = after;
    }
    clean.push_str(rest);
    clean
}

fn is_escaped_control(escape: &str) -> bool {
    let number = escape.strip_prefix("\\u");
    let number = number.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    matches!(escape, "\\b" | "\\f" | "\\r")
        || number.and_then(char::from_u32).is_some_and(is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_no_control_characters_raw_or_escaped() {
        let hostile = "a\u{1b}[2J\u{7}b\r\n\t\u{8}\u{c}\u{9b}\u{7f}\"\\\\u001b\\ü";
        let mut out = Output::default();
        out.json_line(&hostile);
        let text = String::from_utf8(out.data).unwrap();
        let read: String = serde_json::from_str(&text).unwrap();
        assert_eq!(read, without_controls(hostile));
        assert!(!text.trim_end().chars().any(is_control), "{text}");
        // Two backslashes are one of the text, and what follows them is no escape.
        assert!(!text.replace("\\\\", "").contains("\\u00"), "{text}");
    }
}
