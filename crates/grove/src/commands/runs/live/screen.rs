//! The lower part of a terminal that is written over again and again, beside the data.

use super::line::FrameLine;
use crate::output::CommandOutput;

#[derive(Debug, Default)]
pub(super) struct FrameScreen {
    lines: Vec<FrameLine>,
}

impl FrameScreen {
    /// Writes a frame over what stands there; nothing when it is the same.
    pub(super) fn show(&mut self, lines: Vec<FrameLine>, columns: usize, out: &mut CommandOutput) {
        if lines == self.lines {
            return;
        }
        self.go_up(columns, out);
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                out.exact_note(b"\r\n");
            }
            // Erased first: behind a line that fills its row, the cursor stands on its last character.
            out.exact_note(b"\x1b[2K");
            out.painted_note(&line.text);
        }
        out.exact_note(b"\x1b[J");
        out.flush();
        self.lines = lines;
    }

    /// Takes it away, so that something else can be written. It is gone when this returns: data that is collected
    /// afterwards is written before the notes that are collected with it, and would be erased by them.
    pub(super) fn clear(&mut self, columns: usize, out: &mut CommandOutput) {
        if !self.lines.is_empty() {
            self.go_up(columns, out);
            out.exact_note(b"\x1b[J");
            out.flush();
            self.lines.clear();
        }
    }

    /// To the beginning of the first line. A terminal that became narrower shows long lines in several rows.
    fn go_up(&self, columns: usize, out: &mut CommandOutput) {
        let columns = columns.max(1);
        let rows = self
            .lines
            .iter()
            .map(|line| line.width.div_ceil(columns).max(1));
        let up = rows.sum::<usize>().saturating_sub(1);
        out.exact_note(b"\r");
        if up > 0 {
            out.exact_note(format!("\x1b[{up}A").as_bytes());
        }
    }
}
