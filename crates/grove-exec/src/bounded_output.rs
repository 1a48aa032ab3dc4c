//! Output that is kept up to a bound: its beginning and its end, and how much is missing between them.

use std::collections::VecDeque;

/// The part of an output that is kept, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputBounds {
    /// The bytes that are kept of its beginning.
    pub head: usize,
    /// The bytes that are kept of its end.
    pub tail: usize,
}

impl Default for OutputBounds {
    fn default() -> Self {
        Self {
            head: 16 << 10,
            tail: 32 << 10,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoundedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl BoundedOutput {
    pub fn push(&mut self, bounds: OutputBounds, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let for_head = bounds.head.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(for_head);
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(bounds.tail)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(bounds.tail);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Returns the length of the whole output, in bytes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of bytes that were not kept.
    pub fn omitted(&self) -> u64 {
        let kept = self.head.len() as u64 + self.tail.len() as u64;
        self.total.saturating_sub(kept)
    }

    /// Returns the text, with a line where bytes were left out. Bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        let omitted = self.omitted();
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if omitted == 0 {
            let whole = [self.head.as_slice(), &tail].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        format!(
            "{}\n[… {omitted} bytes left out …]\n{}",
            String::from_utf8_lossy(&self.head),
            String::from_utf8_lossy(&tail)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept_however_it_arrives() {
        let bounds = OutputBounds { head: 4, tail: 3 };
        for (whole, expected, omitted) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abcdefg", "abcdefg", 0),
            ("abcdefgh", "abcd\n[… 1 bytes left out …]\nfgh", 1),
            ("abcdefghijklm", "abcd\n[… 6 bytes left out …]\nklm", 6),
        ] {
            for chunk in 1..=whole.len().max(1) {
                let mut output = BoundedOutput::default();
                for part in whole.as_bytes().chunks(chunk) {
                    output.push(bounds, part);
                }
                assert_eq!(
                    (output.text().as_str(), output.omitted()),
                    (expected, omitted)
                );
                assert_eq!(output.total(), whole.len() as u64);
            }
        }
    }
}
