//! Messages as lines of bounded length on two streams; a line that is not a message is answered with its fault.
//!
//! The caller may drop the future that waits for a message at any moment and wait again later, so neither bytes that
//! were read nor an answer that is owed may live in that future.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

#[derive(Debug)]
pub(crate) struct LineTransport<R, W> {
    from: BufReader<R>,
    to: Arc<Mutex<Option<W>>>,
    /// The part of the line that was read so far.
    line: Vec<u8>,
    /// True if the line is longer than any message may be; the rest of it is ignored.
    too_long: bool,
    most: usize,
    /// An answer to a line that is not a message. No more is read until it is sent.
    owed: Option<JoinHandle<io::Result<()>>>,
}

enum LineEnd {
    Line,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    pub(crate) fn new(from: R, to: W, most: usize) -> Self {
        Self {
            from: BufReader::new(from),
            to: Arc::new(Mutex::new(Some(to))),
            line: Vec::new(),
            too_long: false,
            most,
            owed: None,
        }
    }

    async fn read_line(&mut self) -> io::Result<LineEnd> {
        loop {
            let piece = self.from.fill_buf().await?;
            if piece.is_empty() {
                return Ok(LineEnd::End);
            }
            let end = piece.iter().position(|b| *b == b'\n');
            let part = piece.get(..end.unwrap_or(piece.len())).unwrap_or(piece);
            let taken = part.len() + usize::from(end.is_some());
            self.too_long |= self.line.len() + part.len() > self.most;
            if self.too_long {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            self.from.consume(taken);
            if end.is_some() {
                let too_long = std::mem::take(&mut self.too_long);
                return Ok(if too_long {
                    LineEnd::TooLong
                } else {
                    LineEnd::Line
                });
            }
        }
    }

    /// Waits for the next message; `None` when there will be no more.
    async fn next(&mut self) -> io::Result<Option<RxJsonRpcMessage<RoleServer>>> {
        loop {
            if let Some(owed) = &mut self.owed {
                // If the task was cancelled, no client is left that could take the answer.
                let done = owed.await.unwrap_or(Ok(()));
                self.owed = None;
                done?;
            }
            let answer = match self.read_line().await? {
                LineEnd::End => return Ok(None),
                LineEnd::TooLong => Some(answer(None, "the message is too long")),
                LineEnd::Line => {
                    let read = read(&std::mem::take(&mut self.line));
                    match read {
                        Ok(message) => return Ok(Some(*message)),
                        Err(answer) => answer,
                    }
                }
            };
            if let Some(answer) = answer {
                let sending = send(Arc::clone(&self.to), answer.to_string());
                self.owed = Some(tokio::spawn(sending));
            }
        }
    }
}

async fn send<W: AsyncWrite + Unpin>(
    to: Arc<Mutex<Option<W>>>,
    mut line: String,
) -> io::Result<()> {
    line.push('\n');
    let mut to = to.lock().await;
    let to = to.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    to.write_all(line.as_bytes()).await?;
    to.flush().await
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let to = Arc::clone(&self.to);
        async move { send(to, serde_json::to_string(&item)?).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.next().await.ok().flatten()
    }

    async fn close(&mut self) -> io::Result<()> {
        self.to.lock().await.take();
        Ok(())
    }
}

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;

/// Returns a message, or the answer to a line that is not one; no answer where the protocol forbids it.
///
/// A line that is not even JSON is answered too. This cannot go on without end with a client that sends back what it does
/// not understand: an answer that comes back is JSON.
fn read(line: &[u8]) -> Result<Box<RxJsonRpcMessage<RoleServer>>, Option<Value>> {
    let line = line.trim_ascii();
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if line.is_empty() {
        return Err(None);
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Ok(Box::new(message));
    }
    Err(match serde_json::from_slice::<Value>(line) {
        Ok(json) => answer_to(&json),
        Err(error) => {
            let message = format!("the line is not JSON: {error}");
            Some(error_answer(PARSE_ERROR, Some(&Value::Null), &message))
        }
    })
}

/// Returns the answer to JSON that is not a message. Notifications and answers are never answered.
fn answer_to(message: &Value) -> Option<Value> {
    let id = message.get("id");
    let is_notification = id.is_none() && message.get("method").is_some_and(Value::is_string);
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    if is_notification || is_answer {
        return None;
    }
    let id = id.filter(|id| id.is_string() || id.is_number());
    let about = "the message is not a request of the protocol: it needs `jsonrpc`, `id` and `method`, and `params` is an object";
    Some(answer(id, about))
}

fn answer(id: Option<&Value>, about: &str) -> Value {
    error_answer(INVALID_REQUEST, id, about)
}

fn error_answer(code: i32, id: Option<&Value>, about: &str) -> Value {
    let mut answer = json!({ "jsonrpc": "2.0", "error": { "code": code, "message": about } });
    if let (Some(id), Some(fields)) = (id, answer.as_object_mut()) {
        fields.insert("id".to_owned(), id.clone());
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_answered_to_its_sender() {
        for (line, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"skills/list","params":[]}"#,
                Some(Some(json!(7))),
            ),
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":3}"#,
                Some(Some(json!("a"))),
            ),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Some(None)),
            ("[]", Some(None)),
            ("{", Some(Some(Value::Null))),
            ("nonsense", Some(Some(Value::Null))),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/nothing","params":[1]}"#,
                None,
            ),
            (r#"{"jsonrpc":"2.0","id":1,"result":7,"error":8}"#, None),
            ("   ", None),
        ] {
            let found = read(line.as_bytes()).expect_err(line);
            let found = found.map(|found| {
                let is_json = serde_json::from_str::<Value>(line).is_ok();
                let code = if is_json {
                    INVALID_REQUEST
                } else {
                    PARSE_ERROR
                };
                assert_eq!(found["error"]["code"], code, "{line}");
                // An answer that the client sends back is not answered.
                let sent_back = read(found.to_string().as_bytes());
                assert!(!matches!(sent_back, Err(Some(_))), "{found}");
                found.get("id").cloned()
            });
            assert_eq!(found, expected, "{line}");
        }
        let message = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert!(matches!(
            read(message).as_deref(),
            Ok(RxJsonRpcMessage::<RoleServer>::Request(_))
        ));
    }
}
