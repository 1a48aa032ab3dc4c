//! As much of HTTP/1.1 as clients of model APIs use: bodies of a length or in chunks, kept connections,
//! answers whole or as a stream of events.

use std::io;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
};

use super::script::ScriptedError;

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

    /// All of it as JSON; a body that is not JSON is a text.
    pub(super) fn described(&self) -> Value {
        let body = match self.json() {
            Value::Null => String::from_utf8_lossy(&self.body).into(),
            body => body,
        };
        json!({
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "headers": self.headers,
            "body": body,
        })
    }

    pub(super) fn closes(&self) -> bool {
        self.header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// Reads the next request; none when the client is done.
pub(super) async fn read(
    reader: &mut (impl AsyncBufRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
) -> io::Result<Option<Request>> {
    let mut head = reader.take(HEAD_LIMIT);
    let mut first = String::new();
    if head.read_line(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(invalid("no request line"));
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if head.read_line(&mut line).await? == 0 {
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
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    request.body = read_body(&request, reader).await?;
    Ok(Some(request))
}

async fn read_body(
    request: &Request,
    reader: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Vec<u8>> {
    let chunked = request
        .header("transfer-encoding")
        .is_some_and(|value| value.to_ascii_lowercase().contains("chunked"));
    if chunked {
        return read_chunks(reader).await;
    }
    let length: u64 = match request.header("content-length") {
        None => 0,
        Some(value) => value.parse().map_err(|_| invalid("no length"))?,
    };
    let mut body = Vec::new();
    read_exactly(reader, length, &mut body).await?;
    Ok(body)
}

async fn read_chunks(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(reader).await?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| invalid("no chunk"))?;
        if size > 0 {
            read_exactly(reader, size, &mut body).await?;
        }
        // The line end after a chunk, or the blank line after the last.
        read_line(reader).await?;
        if size == 0 {
            return Ok(body);
        }
    }
}

async fn read_line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut line = String::new();
    reader.take(HEAD_LIMIT).read_line(&mut line).await?;
    Ok(line)
}

async fn read_exactly(
    reader: &mut (impl AsyncBufRead + Unpin),
    length: u64,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    if (body.len() as u64).saturating_add(length) > BODY_LIMIT {
        return Err(invalid("a body beyond the limit"));
    }
    let read = reader.take(length).read_to_end(body).await?;
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
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// Events, each sent as one chunk unless portions are asked for.
    Stream(Vec<Vec<u8>>),
}

impl Answer {
    pub(super) fn json(status: u16, value: &Value) -> Self {
        Self::Whole {
            status,
            headers: Vec::new(),
            body: value.to_string().into_bytes(),
        }
    }

    /// A failure; `value` is the provider's form of it.
    pub(super) fn error(error: &ScriptedError, value: &Value) -> Self {
        Self::Whole {
            status: error.status,
            headers: error.headers.clone(),
            body: match &error.body {
                Some(body) => body.clone().into_bytes(),
                None => value.to_string().into_bytes(),
            },
        }
    }

    /// The head, without the blank line that ends it.
    pub(super) fn head(&self) -> String {
        match self {
            Self::Whole {
                status,
                headers,
                body,
            } => {
                let fields = headers
                    .iter()
                    .map(|(name, value)| format!("{name}: {value}\r\n"));
                format!(
                    "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{}",
                    phrase(*status),
                    body.len(),
                    fields.collect::<String>()
                )
            }
            Self::Stream(_) => "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                cache-control: no-cache\r\ntransfer-encoding: chunked\r\n"
                .to_owned(),
        }
    }
}

const fn phrase(status: u16) -> &'static str {
    match status {
        200..=299 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500..=599 => "Server Error",
        _ => "Status",
    }
}
