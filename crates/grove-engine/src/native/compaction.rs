//! Shortens work that does not fit into a model's window any more.
//!
//! The journal has the place of each cut; the text in place of the part before the cut is a function of that part, so that it
//! is the same after a crash. No model is asked to sum up: that would be a request that can fail, and the words of a model in
//! the place of what was done.

use std::fmt::Write as _;

use grove_model::MessageBlock;
use serde::Serialize;

use super::about;
use super::conversation::TurnSoFar;

const MOST_OUTPUT_TOKENS: u32 = 16_384;
/// The most bytes of one text in a line about a turn.
const MOST_SAID: usize = 240;

/// The size of a model's window in tokens, if it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    context: Option<u64>,
}

/// Returns the bytes of a value as JSON, without writing them anywhere.
pub(super) fn bytes_of(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        Err(_) => 0,
    }
}

/// Returns the tokens of so many bytes, rather too many.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(3)
}

fn bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(3)).unwrap_or(usize::MAX)
}

impl Window {
    pub(super) fn new(context: Option<u64>) -> Self {
        Self { context }
    }

    /// Returns true if a request can be too long for it: of one that is not known, only the provider says that.
    pub(super) fn is_known(self) -> bool {
        self.context.is_some()
    }

    /// Returns the most tokens of one answer.
    pub(super) fn output(self) -> u32 {
        let quarter = self.context.map(|context| context / 4);
        let quarter = quarter.and_then(|most| u32::try_from(most).ok());
        quarter.map_or(MOST_OUTPUT_TOKENS, |most| most.clamp(1, MOST_OUTPUT_TOKENS))
    }

    /// Returns true if a request of so many bytes leaves too little room for its answer. `counted` is the number of tokens that
    /// the provider counted for the last one, and `since` the bytes that came after it.
    pub(super) fn is_full(self, request: usize, counted: Option<u64>, since: usize) -> bool {
        let Some(context) = self.context else {
            return false;
        };
        let counted = counted.map_or(0, |counted| counted.saturating_add(tokens(since)));
        let needed = tokens(request).max(counted);
        needed.saturating_add(u64::from(self.output())) > context
    }

    /// Returns the bytes that a request has after a cut: half of the window, so that the next cut is not at the next turn.
    pub(super) fn after_cut(self) -> usize {
        self.context
            .map_or(usize::MAX, |context| bytes(context / 2))
    }

    /// Returns the most bytes of the text for everything before a cut.
    fn digest(self) -> usize {
        self.context
            .map_or(8 << 10, |context| bytes(context / 10).clamp(200, 8 << 10))
    }

    /// Returns a result of a tool; one of more than a quarter of the window is cut in the middle.
    pub(super) fn result(self, text: &str) -> String {
        let most = self
            .context
            .map_or(usize::MAX, |context| bytes(context / 4));
        if text.len() <= most {
            return text.to_owned();
        }
        let head = text.floor_char_boundary(most / 2);
        let tail = text.ceil_char_boundary(text.len() - most / 2);
        let (head, rest) = text.split_at(head);
        let (left_out, tail) = rest.split_at(tail - head.len());
        format!(
            "{head}\n[{} bytes are left out here]\n{tail}",
            left_out.len()
        )
    }

    /// Returns the text in place of turns: in short what was done, the newest as far as there is room, and in full the
    /// instructions of skills that were asked for.
    pub(super) fn told_of(self, turns: &[TurnSoFar]) -> String {
        let mut lines = Vec::new();
        let mut room = self.digest();
        for turn in turns.iter().rev() {
            let line = line_of(turn);
            if line.len() > room {
                lines.push(format!(
                    "- {} turns before that\n",
                    turns.len() - lines.len()
                ));
                break;
            }
            room -= line.len();
            lines.push(line);
        }
        lines.reverse();
        let mut text =
            "[What came before does not fit any more. In short, the oldest first:]\n".to_owned();
        text.extend(lines);
        for skill in skills_of(turns) {
            let _ = write!(
                text,
                "\n[Instructions that you asked for before:]\n{skill}\n"
            );
        }
        text
    }
}

fn line_of(turn: &TurnSoFar) -> String {
    let mut line = String::new();
    let short = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = text.floor_char_boundary(MOST_SAID);
        text.get(..end).unwrap_or_default().to_owned()
    };
    let words = turn.blocks.iter().filter_map(|block| match block {
        MessageBlock::Text { text } => Some(short(text)),
        _ => None,
    });
    for words in words.filter(|words| !words.is_empty()) {
        let _ = writeln!(line, "- you said: {words}");
    }
    for (given, call) in turn.calls() {
        let how = match &call.result {
            Some(result) if result.is_error => "failed",
            Some(_) => "done",
            None => "not run",
        };
        let (tool, about) = (given.tool, about(given.input));
        let _ = writeln!(line, "- you called {tool} ({about}): {how}");
    }
    for heard in turn.heard() {
        let _ = writeln!(line, "- you were told: {}", short(heard));
    }
    line
}

/// Returns the texts of skills that were given in some turns, each once.
fn skills_of(turns: &[TurnSoFar]) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for turn in turns {
        for (_, call) in turn.calls().filter(|(given, _)| given.tool == "skill") {
            if let Some(result) = call.result.as_ref().filter(|result| !result.is_error)
                && !found.contains(&result.text.as_str())
            {
                found.push(&result.text);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut_in_the_middle_at_whole_characters() {
        let window = Window::new(Some(40));
        let text = "ü".repeat(100);
        let cut = window.result(&text);
        assert!(cut.starts_with("üü") && cut.ends_with("üü") && cut.contains("left out here"));
        assert!(cut.len() < text.len());
        assert_eq!(window.result("short"), "short");
        assert_eq!(Window::new(None).result(&text), text);
    }

    #[test]
    fn a_window_is_full_by_either_count_and_one_that_is_not_known_never() {
        let window = Window::new(Some(4_000));
        assert_eq!(window.output(), 1_000);
        for (request, counted, since, expected) in [
            (9_000, None, 0, false),
            (9_003, None, 0, true),
            (10, Some(2_990), 30, false),
            (10, Some(2_990), 33, true),
        ] {
            assert_eq!(
                window.is_full(request, counted, since),
                expected,
                "{request}"
            );
        }
        assert!(!Window::new(None).is_full(usize::MAX, Some(u64::MAX), 0));
        assert_eq!(Window::new(None).output(), MOST_OUTPUT_TOKENS);
    }
}
