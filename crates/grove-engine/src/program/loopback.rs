//! A server of one attempt on loopback, for clients that know its token: the meter and the bridge stand behind it.
//!
//! It ends with the attempt. A web page can make a browser send requests to this machine, so a request must carry the
//! token, must name this machine as its host, and must not come from a page.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use grove_spec::Digest;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// The header that some programs send their key in.
const API_KEY: &str = "x-api-key";
/// The most bytes of a request.
const MOST_BODY: usize = 64 << 20;
/// The most connections that one program has open at once.
const MOST_CONNECTIONS: usize = 64;
/// The time that a client may take to send the head of a request.
const HEADER_WAIT: Duration = Duration::from_secs(10);

pub(super) type Answer = Response<UnsyncBoxBody<Bytes, std::io::Error>>;
type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;
pub(super) type Handler = dyn Fn(Request<Incoming>) -> Answering + Send + Sync;

/// A server that ends when it is dropped, with all its connections.
pub(super) struct Loopback {
    address: SocketAddr,
    token: String,
    _serving: AbortOnDropHandle<()>,
}

impl Loopback {
    /// Listens on a port that is free, with a token that cannot be guessed.
    pub(super) async fn serve(handler: Arc<Handler>) -> std::io::Result<Self> {
        let mut chance = [0; 32];
        getrandom::fill(&mut chance).map_err(std::io::Error::other)?;
        let token = Digest::of(&chance).first_digits(48);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let gate = Gate {
            address,
            token: Digest::of(token.as_bytes()),
        };
        let serving = tokio::spawn(accept(listener, Arc::new(gate), handler));
        Ok(Self {
            address,
            token,
            _serving: AbortOnDropHandle::new(serving),
        })
    }

    /// Returns the address, as `http://127.0.0.1:PORT`.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the token that a client must know.
    pub(super) fn token(&self) -> &str {
        &self.token
    }
}

/// The check of requests before they are let in.
struct Gate {
    address: SocketAddr,
    /// The digest of the token, so that comparing gives away nothing of it.
    token: Digest,
}

impl Gate {
    fn refusal(&self, headers: &HeaderMap) -> Option<StatusCode> {
        let text = |value: &http::HeaderValue| value.to_str().map(str::to_owned).ok();
        let port = self.address.port();
        let hosts = [self.address.to_string(), format!("localhost:{port}")];
        let host = headers.get(HOST).and_then(text);
        if host.is_none_or(|host| !hosts.contains(&host)) || headers.contains_key(ORIGIN) {
            return Some(StatusCode::FORBIDDEN);
        }
        let bearer = headers.get(AUTHORIZATION).and_then(text);
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer ").map(str::to_owned));
        let given = bearer.or_else(|| headers.get(API_KEY).and_then(text));
        let is_known = given.is_some_and(|given| Digest::of(given.trim().as_bytes()) == self.token);
        (!is_known).then_some(StatusCode::UNAUTHORIZED)
    }
}

async fn accept(listener: TcpListener, gate: Arc<Gate>, handler: Arc<Handler>) {
    // Dropped with this task, which ends all connections.
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely the descriptors are used up: open connections will close.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        if connections.len() < MOST_CONNECTIONS {
            connections.spawn(talk(stream, Arc::clone(&gate), Arc::clone(&handler)));
        }
    }
}

async fn talk(stream: TcpStream, gate: Arc<Gate>, handler: Arc<Handler>) {
    let answering = service_fn(move |request: Request<Incoming>| {
        let (gate, handler) = (Arc::clone(&gate), Arc::clone(&handler));
        async move {
            Ok::<Answer, Infallible>(match gate.refusal(request.headers()) {
                Some(status) => refused(status, "this is for one program alone"),
                None => handler(request).await,
            })
        }
    });
    let _ = stream.set_nodelay(true);
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_WAIT)
        .serve_connection(TokioIo::new(stream), answering)
        .await;
}

/// Returns the whole body of a request; none if it is too large or was cut.
pub(super) async fn body_of(body: Incoming) -> Option<Bytes> {
    let body = Limited::new(body, MOST_BODY).collect().await;
    body.ok().map(http_body_util::Collected::to_bytes)
}

pub(super) fn json_answer(status: StatusCode, value: &Value) -> Answer {
    let body = Full::new(Bytes::from(value.to_string()));
    let body = body.map_err(|never| match never {}).boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let kind = http::HeaderValue::from_static("application/json");
    let headers = answer.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, kind);
    answer
}

/// Returns a refusal in a form that every provider's clients read.
pub(super) fn refused(status: StatusCode, message: &str) -> Answer {
    let kind = "invalid_request_error";
    let error = json!({ "type": kind, "message": message, "code": kind });
    json_answer(status, &json!({ "type": "error", "error": error }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        Gate {
            address: "127.0.0.1:4711".parse().unwrap(),
            token: Digest::of(b"secret"),
        }
    }

    #[test]
    fn only_who_knows_the_token_and_means_this_machine_is_let_in() {
        type Given<'a> = &'a [(&'static str, &'static str)];
        let table: [(Given<'_>, Option<u16>); 9] = [
            (
                &[
                    ("host", "127.0.0.1:4711"),
                    ("authorization", "Bearer secret"),
                ],
                None,
            ),
            (&[("host", "localhost:4711"), ("x-api-key", "secret")], None),
            (
                &[("host", "127.0.0.1:4711"), ("x-api-key", "other")],
                Some(401),
            ),
            (
                &[("host", "127.0.0.1:4711"), ("authorization", "secret")],
                Some(401),
            ),
            (&[("host", "127.0.0.1:4711")], Some(401)),
            (
                &[("host", "127.0.0.1:4712"), ("x-api-key", "secret")],
                Some(403),
            ),
            (
                &[("host", "evil.example"), ("x-api-key", "secret")],
                Some(403),
            ),
            (&[("x-api-key", "secret")], Some(403)),
            (
                &[
                    ("host", "127.0.0.1:4711"),
                    ("origin", "http://evil.example"),
                    ("x-api-key", "secret"),
                ],
                Some(403),
            ),
        ];
        for (given, expected) in table {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                let name = http::HeaderName::from_static(name);
                headers.insert(name, http::HeaderValue::from_static(value));
            }
            let refusal = gate().refusal(&headers).map(|status| status.as_u16());
            assert_eq!(refusal, expected, "{given:?}");
        }
    }
}
