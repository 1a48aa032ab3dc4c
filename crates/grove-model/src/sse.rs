//! A parser of server-sent events: bytes in any portions become events.
//!
//! Lines end with LF, CR or both; an event ends with an empty line; fields other than `event` and `data` are ignored, and
//! so are comments. An event that has not ended when the stream ends was cut and does not count.

use crate::error::{AnswerBound, ModelError};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerEvent {
    /// The name of the event; empty where it has none.
    pub(crate) name: String,
    /// The data of the event, its lines joined by line ends.
    pub(crate) data: String,
}

/// The state between two portions of bytes.
#[derive(Debug)]
pub(crate) struct EventLines {
    line: Vec<u8>,
    event: ServerEvent,
    has_data: bool,
    /// True if the last byte was a CR: a LF that follows ends the same line.
    after_return: bool,
    /// True until the first line has ended: it may begin with a byte order mark.
    is_first_line: bool,
    limit: usize,
}

impl EventLines {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            event: ServerEvent::default(),
            has_data: false,
            after_return: false,
            is_first_line: true,
            limit,
        }
    }

    /// Takes the next bytes and hands over every event that they end.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(ServerEvent) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + self.event.data.len() + piece.len() > self.limit {
                return Err(ModelError::TooLarge {
                    what: AnswerBound::Event,
                    limit: self.limit as u64,
                });
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else {
                return Ok(());
            };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if let Some(event) = self.end_line() {
                take(event)?;
            }
        }
        Ok(())
    }

    /// Takes the line that has ended; an empty one ends an event.
    fn end_line(&mut self) -> Option<ServerEvent> {
        let mut line = String::from_utf8_lossy(&self.line);
        if std::mem::take(&mut self.is_first_line)
            && let Some(rest) = line.strip_prefix('\u{feff}')
        {
            line = rest.to_owned().into();
        }
        if line.is_empty() {
            self.line.clear();
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
        // The memory of a large line is not kept for the next ones.
        let is_large = self.line.capacity() > 64 << 10;
        drop(line);
        if is_large {
            self.line = Vec::new();
        } else {
            self.line.clear();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(bytes: &[u8], portion: usize) -> Vec<(String, String)> {
        let mut lines = EventLines::new(1000);
        let mut events = Vec::new();
        for bytes in bytes.chunks(portion) {
            let taken = lines.push(bytes, |event| {
                events.push((event.name, event.data));
                Ok(())
            });
            taken.unwrap();
        }
        events
    }

    #[test]
    fn events_are_read_in_any_portions_and_with_any_line_ends() {
        let table: [(&str, &[(&str, &str)]); 8] = [
            ("event: a\ndata: 1\n\n", &[("a", "1")]),
            (
                "event: a\r\ndata: 1\r\n\r\ndata:2\r\n\r\n",
                &[("a", "1"), ("", "2")],
            ),
            ("event: a\rdata: 1\r\r", &[("a", "1")]),
            ("data: 1\ndata: 2\n\n", &[("", "1\n2")]),
            (": comment\nid: 7\nretry: 1\ndata\n\n", &[("", "")]),
            ("event: nothing\n\ndata: 1\n\n", &[("", "1")]),
            ("\u{feff}data:  ü\n\n", &[("", " ü")]),
            ("data: 1\n\ndata: cut", &[("", "1")]),
        ];
        for (text, expected) in table {
            for portion in 1..=text.len() {
                let read = events(text.as_bytes(), portion);
                let read: Vec<(&str, &str)> =
                    read.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
                assert_eq!(read, expected, "{text:?} by {portion}");
            }
        }
    }

    #[test]
    fn an_event_beyond_its_limit_is_refused_with_the_number() {
        for text in [
            "data: ".to_owned() + &"x".repeat(200),
            "data: x\n".repeat(100),
        ] {
            let mut lines = EventLines::new(99);
            let refused = lines.push(text.as_bytes(), |_| Ok(()));
            assert_eq!(
                refused,
                Err(ModelError::TooLarge {
                    what: AnswerBound::Event,
                    limit: 99
                }),
            );
        }
    }
}
