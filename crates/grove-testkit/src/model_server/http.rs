//! As much of HTTP/1.1 as clients of model APIs use: bodies of a length or in chunks, kept connections,
//! answers whole or as a stream of events.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// A header line or a head longer than this is no client of ours.
const HEAD_LIMIT: u64 = 64 << 10;
/// The largest body that is taken.
const BODY_LIMIT: u64 = 64 << 20;

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path without its query.
    pub path: String,
    /// What follows the question mark.
    pub query: Option<String>,
    /// The headers in order, their names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// A header's value, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub(super) fn closes(&self) -> bool {
        self.header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// Reads the next request; none where the client is done.
pub(super) fn read(
    reader: &mut impl BufRead,
    writer: &mut impl Write,
) -> io::Result<Option<Request>> {
    let mut head = reader.by_ref().take(HEAD_LIMIT);
    let mut first = String::new();
    if head.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(invalid("no request line"));
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Err(invalid("the head does not end"));
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("no header"))?;
        headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (target, None),
    };
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query,
        headers,
        body: Vec::new(),
    };
    if request.header("expect").is_some() {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    request.body = read_body(&request, reader)?;
    Ok(Some(request))
}

fn read_body(request: &Request, reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let chunked = request
        .header("transfer-encoding")
        .is_some_and(|value| value.to_ascii_lowercase().contains("chunked"));
    if chunked {
        return read_chunks(reader);
    }
    let length: u64 = match request.header("content-length") {
        None => 0,
        Some(value) => value.parse().map_err(|_| invalid("no length"))?,
    };
    let mut body = Vec::new();
    read_exactly(reader, length, &mut body)?;
    Ok(body)
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.by_ref().take(HEAD_LIMIT).read_line(&mut line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| invalid("no chunk"))?;
        if size > 0 {
            read_exactly(reader, size, &mut body)?;
        }
        // The line end after a chunk, or the blank line after the last.
        reader
            .by_ref()
            .take(HEAD_LIMIT)
            .read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn read_exactly(reader: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if (body.len() as u64).saturating_add(length) > BODY_LIMIT {
        return Err(invalid("a body beyond the limit"));
    }
    let read = reader.by_ref().take(length).read_to_end(body)?;
    if read as u64 == length {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// What goes back.
#[derive(Debug)]
pub(super) enum Answer {
    Whole {
        status: u16,
        body: Vec<u8>,
    },
    /// Events, each sent as one chunk.
    Stream(Vec<Vec<u8>>),
}

impl Answer {
    pub(super) fn json(status: u16, value: &Value) -> Self {
        Self::Whole {
            status,
            body: value.to_string().into_bytes(),
        }
    }

    pub(super) fn write(self, writer: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Whole { status, body } => {
                write!(
                    writer,
                    "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                )?;
                writer.write_all(&body)?;
            }
            Self::Stream(events) => {
                writer.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
                )?;
                for event in events {
                    write!(writer, "{:x}\r\n", event.len())?;
                    writer.write_all(&event)?;
                    writer.write_all(b"\r\n")?;
                    writer.flush()?;
                }
                writer.write_all(b"0\r\n\r\n")?;
            }
        }
        writer.flush()
    }
}
