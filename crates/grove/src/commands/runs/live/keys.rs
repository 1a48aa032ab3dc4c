//! The keys of a terminal, and the answer that the person types with them.

use std::io::{IsTerminal as _, Stdin};

use grove_engine::view::NodeId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

use super::frame::AskingChild;

/// An answer is no longer than this.
const MOST_TYPED: usize = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PressedKey {
    Char(char),
    Enter,
    Backspace,
    /// Clears the line (Ctrl-U).
    ClearLine,
    /// Ends the input (Ctrl-D).
    EndOfInput,
    Tab,
    Escape,
}

/// The keys of a terminal, each as it is struck; the terminal is as it was when this is dropped.
pub(super) struct TerminalKeys {
    input: Stdin,
    before: Termios,
    /// The beginning of a character whose end has not come.
    rest: Vec<u8>,
}

impl TerminalKeys {
    /// None without a terminal, or when the terminal belongs to another process for now.
    pub(super) fn of_terminal() -> Option<Self> {
        let input = std::io::stdin();
        if !(input.is_terminal() && std::io::stderr().is_terminal()) {
            return None;
        }
        let is_ours = tcgetpgrp(&input).ok()? == rustix::process::getpgrp();
        let before = tcgetattr(&input).ok().filter(|_| is_ours)?;
        let mut each_key = before.clone();
        each_key.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Now, &each_key).ok()?;
        Some(Self {
            input,
            before,
            rest: Vec::new(),
        })
    }

    pub(super) fn struck(&mut self) -> Vec<PressedKey> {
        let mut sources = [PollFd::new(&self.input, PollFlags::IN)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let is_there = poll(&mut sources, Some(&at_once)).is_ok_and(|n| n > 0);
        if !is_there {
            return Vec::new();
        }
        let mut struck = [0; 1024];
        let n = rustix::io::read(&self.input, &mut struck).unwrap_or(0);
        self.rest
            .extend_from_slice(struck.get(..n).unwrap_or_default());
        keys_in(&mut self.rest)
    }
}

impl Drop for TerminalKeys {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.input, OptionalActions::Now, &self.before);
    }
}

/// The keys in what a terminal sent; what is not whole yet stays. Arrows and the like are sequences that begin with an
/// escape and come in one piece: they are no keys here.
fn keys_in(sent: &mut Vec<u8>) -> Vec<PressedKey> {
    let whole = match std::str::from_utf8(sent) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => sent.len(),
    };
    let rest = sent.split_off(whole);
    let text = std::mem::replace(sent, rest);
    let text = String::from_utf8_lossy(&text);
    let mut keys = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        keys.push(match c {
            '\u{1b}' => match chars.next_if(|c| matches!(c, '[' | 'O')) {
                Some(_) => {
                    let is_end = |c: &char| c.is_ascii_alphabetic() || *c == '~';
                    let _ = chars.find(is_end);
                    continue;
                }
                None => PressedKey::Escape,
            },
            '\r' | '\n' => PressedKey::Enter,
            '\u{8}' | '\u{7f}' => PressedKey::Backspace,
            '\u{15}' => PressedKey::ClearLine,
            '\u{4}' => PressedKey::EndOfInput,
            '\t' => PressedKey::Tab,
            c if c.is_control() => continue,
            c => PressedKey::Char(c),
        });
    }
    keys
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyOutcome {
    Leave,
    Answer {
        run: String,
        node: NodeId,
        answer: String,
    },
}

/// The question that is answered, and what is typed so far.
#[derive(Debug, Default)]
pub(super) struct AnswerPrompt {
    of: Option<(String, NodeId)>,
    typed: String,
    /// True if the person does not want to answer now.
    is_put_away: bool,
}

impl AnswerPrompt {
    /// Takes note of who asks now: a question that is gone is not answered any more, and a new one is asked at once.
    pub(super) fn settle(&mut self, askers: &[AskingChild<'_>]) {
        if self.at(askers).is_none() {
            self.of = None;
            self.typed.clear();
        }
        if askers.is_empty() {
            self.is_put_away = false;
        } else if self.of.is_none() && !self.is_put_away {
            self.choose(askers, 0);
        }
    }

    /// Returns the number of the question that is answered, and the words.
    pub(super) fn shown(&self, askers: &[AskingChild<'_>]) -> Option<(usize, &str)> {
        Some((self.at(askers)?, self.typed.as_str()))
    }

    pub(super) fn strike(
        &mut self,
        key: PressedKey,
        askers: &[AskingChild<'_>],
    ) -> Option<KeyOutcome> {
        let Some(at) = self.at(askers) else {
            match key {
                PressedKey::Char('d' | 'q') | PressedKey::EndOfInput => {
                    return Some(KeyOutcome::Leave);
                }
                PressedKey::Char('a') | PressedKey::Tab => self.choose(askers, 0),
                _ => {}
            }
            return None;
        };
        match key {
            PressedKey::Char(c) if self.typed.len() < MOST_TYPED => self.typed.push(c),
            PressedKey::Backspace => {
                self.typed.pop();
            }
            PressedKey::ClearLine => self.typed.clear(),
            PressedKey::Tab => self.choose(askers, (at + 1) % askers.len()),
            PressedKey::Escape => {
                self.of = None;
                self.typed.clear();
                self.is_put_away = true;
            }
            PressedKey::EndOfInput if self.typed.is_empty() => return Some(KeyOutcome::Leave),
            PressedKey::Char(_) | PressedKey::EndOfInput => {}
            PressedKey::Enter => {
                let answer = self.typed.trim().to_owned();
                let (run, node) = self.of.clone().filter(|_| !answer.is_empty())?;
                self.typed.clear();
                return Some(KeyOutcome::Answer { run, node, answer });
            }
        }
        None
    }

    fn at(&self, askers: &[AskingChild<'_>]) -> Option<usize> {
        let (run, node) = self.of.as_ref()?;
        let is_meant = |asker: &AskingChild<'_>| asker.run == run && asker.child.id == *node;
        askers.iter().position(is_meant)
    }

    fn choose(&mut self, askers: &[AskingChild<'_>], at: usize) {
        if let Some(asker) = askers.get(at) {
            let of = (asker.run.to_owned(), asker.child.id.clone());
            if self.of.as_ref() != Some(&of) {
                self.typed.clear();
            }
            self.of = Some(of);
            self.is_put_away = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_whole_and_sequences_are_none() {
        let mut sent = "aé\u{1b}[A\u{1b}OP\u{7f}\r\u{1b}".as_bytes().to_vec();
        // The beginning of a character whose end comes later.
        sent.push(0xc3);
        let read = keys_in(&mut sent);
        let expected = [
            PressedKey::Char('a'),
            PressedKey::Char('é'),
            PressedKey::Backspace,
            PressedKey::Enter,
            PressedKey::Escape,
        ];
        assert_eq!(read, expected);
        sent.push(0xbc);
        assert_eq!(keys_in(&mut sent), [PressedKey::Char('ü')]);
        assert!(sent.is_empty());
    }
}
