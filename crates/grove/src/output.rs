//! Where output goes: data to stdout, everything else to stderr, and no control characters to either.

use std::io::{self, IsTerminal as _, Write as _};

use grove_spec::Diagnostic;
use grove_spec::text::{is_control, visible, without_controls};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, PrettyFormatter};

use crate::command_error::CommandError;

/// Collects a command's output and writes it in one go.
pub(crate) struct Output {
    data: Vec<u8>,
    notes: Vec<u8>,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self {
            data: Vec::new(),
            notes: Vec::new(),
        }
    }

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
        let mut serializer = serde_json::Serializer::with_formatter(
            &mut self.data,
            CleanFormatter(PrettyFormatter::new()),
        );
        if let Err(error) = value.serialize(&mut serializer) {
            self.note(&format!("error: could not write JSON: {error}"));
        }
        self.data.push(b'\n');
    }

    /// A value as one line of JSON, written at once with everything before it: for what goes on and on.
    pub(crate) fn json_line<T: Serialize>(&mut self, value: &T) -> io::Result<()> {
        let formatter = CleanFormatter(CompactFormatter);
        let mut serializer = serde_json::Serializer::with_formatter(&mut self.data, formatter);
        value.serialize(&mut serializer)?;
        self.data.push(b'\n');
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(&self.data).and_then(|()| stdout.flush());
        self.data.clear();
        written
    }

    /// A rendered diagnostic beside the data.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        self.notes
            .extend_from_slice(grove_spec::render::render(diagnostic, None).as_bytes());
    }

    /// An error with its hints.
    pub(crate) fn error(&mut self, error: &CommandError) {
        self.note(&format!("error: {}", error.message));
        for hint in &error.hints {
            self.note(&format!("hint: {hint}"));
        }
    }

    /// Writes everything, the data first. A reader that closed the pipe has seen what it wanted.
    pub(crate) fn finish(self) -> Result<(), Unwritten> {
        let data = io::stdout()
            .lock()
            .write_all(&self.data)
            .and_then(|()| io::stdout().lock().flush());
        let notes = io::stderr().lock().write_all(&self.notes);
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        match (data, notes) {
            (Err(error), _) if !gone(&error) => Err(Unwritten::Data(error)),
            (Ok(()), Err(error)) if self.data.is_empty() && !gone(&error) => {
                Err(Unwritten::Everything)
            }
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
        .get("COLUMNS")
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

/// JSON without control characters: neither raw nor escaped.
struct CleanFormatter<F>(F);

impl<F: Formatter> Formatter for CleanFormatter<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        writer.write_all(without_controls(fragment).as_bytes())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        let control = match &escape {
            CharEscape::Backspace | CharEscape::FormFeed | CharEscape::CarriageReturn => true,
            CharEscape::AsciiControl(byte) => is_control(char::from(*byte)),
            _ => false,
        };
        if control {
            Ok(())
        } else {
            self.0.write_char_escape(writer, escape)
        }
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}
