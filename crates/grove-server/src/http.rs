//! Streamable HTTP on loopback, for clients that know the token.
//!
//! A web page can make a browser send requests to this machine. So a request must carry the token, must
//! name this machine as its host, and must not come from a page of another origin.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use crate::connection::{ClientConnection, OpenConnections};
use crate::pending_connections::{PendingConnection, PendingConnections};
use crate::server::{MAX_MESSAGE, ServeError, Served};
use crate::token::Token;

pub(crate) const PATH: &str = "/mcp";
/// The most conversations that are remembered at once. Without a handshake every request is one, so there are more
/// than connections.
const MOST_SESSIONS: usize = 256;
const MOST_CONNECTIONS: usize = 128;
/// The time for which a conversation without messages is remembered.
const SESSION_IDLE: Duration = Duration::from_hours(1);
/// The time in which a client that has shown the token has to say what it wants next.
pub(crate) const HEADER_WAIT: Duration = Duration::from_secs(10);

/// The address to listen on, and the token that clients need.
#[derive(Debug)]
pub struct HttpOptions {
    /// The address, which must be a loopback one; port 0 takes any free port.
    pub address: SocketAddr,
    /// The secret that a client must know.
    pub token: Token,
}

impl HttpOptions {
    /// The loopback address with any free port.
    pub const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
}

pub(crate) struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    token: Token,
}

impl Listening {
    pub(crate) async fn bind(options: HttpOptions) -> Result<Self, ServeError> {
        let address = options.address;
        if !address.ip().is_loopback() {
            return Err(ServeError::NotLoopback(address));
        }
        let listen = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        Ok(Self {
            address: listener.local_addr().map_err(listen)?,
            listener,
            token: options.token,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

type Service = StreamableHttpService<ClientConnection, LocalSessionManager>;
type Answer = Response<BoxBody<Bytes, Infallible>>;

pub(crate) async fn serve(listening: Listening, served: Served, ended: CancellationToken) {
    let service = service(&listening, served, ended.clone());
    let token = Arc::new(listening.token);
    accept(listening.listener, ended, move |stream, stranger| {
        talk(stream, service.clone(), Arc::clone(&token), stranger)
    })
    .await;
}

/// Accepts connections until `ended` is cancelled, and talks with each in a task of its own. Those that have not shown a token
/// make room for others.
pub(crate) async fn accept<F>(
    listener: TcpListener,
    ended: CancellationToken,
    talk: impl Fn(TcpStream, PendingConnection) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let strangers = Arc::<PendingConnections>::default();
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            () = ended.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Most likely the process is out of descriptors: open connections will close and free some.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        if connections.available_permits() == 0 {
            strangers.close_oldest();
        }
        // Without strangers all are clients, and another one waits for one of them.
        let permit = tokio::select! {
            () = ended.cancelled() => return,
            permit = Arc::clone(&connections).acquire_owned() => permit,
        };
        let Ok(permit) = permit else {
            return;
        };
        let stranger = strangers.add();
        let talk = talk(stream, stranger.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = talk => {}
                () = stranger.closed() => {}
            }
            stranger.settle();
            drop(permit);
        });
    }
}

fn service(listening: &Listening, served: Served, ended: CancellationToken) -> Service {
    let port = listening.address.port();
    let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
    let own = format!("{}", listening.address);
    let origins: Vec<String> = hosts
        .iter()
        .chain([&own])
        .map(|host| format!("http://{host}"))
        .collect();
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts.into_iter().chain([own]))
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_MESSAGE)
        .with_cancellation_token(ended);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE);
    let open = Arc::<OpenConnections>::default();
    let connect = move || {
        ClientConnection::open(&served, &open, MOST_SESSIONS)
            .ok_or_else(|| std::io::Error::other("too many conversations are open"))
    };
    StreamableHttpService::new(connect, Arc::new(sessions), config)
}

/// Everything one client says on one connection. What goes wrong there ends there.
async fn talk(stream: TcpStream, service: Service, token: Arc<Token>, stranger: PendingConnection) {
    let answering = service_fn(move |request: Request<Incoming>| {
        let (mut service, token) = (service.clone(), Arc::clone(&token));
        let stranger = stranger.clone();
        async move {
            if request.uri().path() != PATH {
                return Ok::<Answer, Infallible>(plain(
                    StatusCode::NOT_FOUND,
                    "only /mcp is here\n",
                ));
            }
            if !is_allowed(request.headers(), &token) {
                let mut answer = plain(StatusCode::UNAUTHORIZED, "the token is missing or wrong\n");
                let challenge = http::HeaderValue::from_static("Bearer");
                answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
                return Ok(answer);
            }
            stranger.settle();
            service.call(request).await
        }
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_WAIT)
        .serve_connection(TokioIo::new(stream), answering)
        .await;
}

fn is_allowed(headers: &HeaderMap, token: &Token) -> bool {
    let given = headers.get(AUTHORIZATION).map(http::HeaderValue::as_bytes);
    let given = given.and_then(|value| {
        let (scheme, given) = value.split_at_checked("Bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"Bearer ").then_some(given)
    });
    given.is_some_and(|given| token.is(given.trim_ascii()))
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}
