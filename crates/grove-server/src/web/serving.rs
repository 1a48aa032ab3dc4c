//! Serving the page on loopback: connections, their requests, and who is refused before anything is looked up.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use grove_engine::Engine;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::access::{AccessError, WebAccess};
use super::answer::{self, Answer};
use super::asked::{Asked, Hosts, Misled, is_navigation};
use super::site::{Routed, Site};
use super::stream;
use super::watching::WatchedRuns;
use crate::http::{HEADER_WAIT, accept};
use crate::pending_connections::PendingConnection;

/// The most bytes of a form.
const MOST_FORM: usize = 1 << 20;
/// The number of threads for messages.
const TALKERS: usize = 2;
/// The most threads that write pages.
const WRITERS: usize = 8;

/// The place where the page is served.
#[derive(Debug, Clone, Default)]
pub struct WebOptions {
    /// The port; none for the one of the last time, or any that is free.
    pub port: Option<u16>,
    /// Names under which a tunnel of the person's leads here.
    pub tunnels: Vec<String>,
    /// The time without a browser after which serving ends; none to serve until the process ends.
    pub idle: Option<Duration>,
}

/// The reason why the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The system could not start the runtime or a thread.
    #[error("the page cannot be served")]
    Start(#[source] std::io::Error),
    /// The port cannot be listened on.
    #[error("cannot listen on port {port} of this machine")]
    Listen {
        /// The port that is served.
        port: u16,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Links and browsers cannot be kept.
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// Serves the page until the process ends; calls `ready` with the address as soon as it listens.
pub fn serve(
    engine: Arc<Engine>,
    access: WebAccess,
    options: &WebOptions,
    ready: impl FnOnce(&WebAccess, SocketAddr),
) -> Result<(), WebError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder
        .max_blocking_threads(WRITERS)
        .thread_name("grove-web")
        .enable_all();
    let runtime = grove_engine::runtime(&mut builder, TALKERS).map_err(WebError::Start)?;
    let ended = CancellationToken::new();
    let _serving = access.serve()?;
    runtime.block_on(async {
        let listener = listen(options.port, access.port()).await?;
        let address = listener.local_addr().map_err(WebError::Start)?;
        access.serve_at(address.port())?;
        ready(&access, address);
        let hosts = Hosts::of(address, &options.tunnels);
        let runs = WatchedRuns::start(engine).map_err(WebError::Start)?;
        let site = Arc::new(Site::new(runs, access));
        if let Some(idle) = options.idle {
            tokio::spawn(end_when_idle(Arc::clone(&site), idle, ended.clone()));
        }
        let hosts = Arc::new(hosts);
        accept(listener, ended, move |stream, stranger| {
            talk(stream, Arc::clone(&site), Arc::clone(&hosts), stranger)
        })
        .await;
        Ok(())
    })
}

/// Ends serving once no browser was there for some time.
async fn end_when_idle(site: Arc<Site>, idle: Duration, ended: CancellationToken) {
    while site.runs.idle_for() < idle {
        tokio::time::sleep(idle.saturating_sub(site.runs.idle_for())).await;
    }
    ended.cancel();
}

/// Listens on a port that was asked for, or on the one of the last time, or on any.
async fn listen(wanted: Option<u16>, last: Option<u16>) -> Result<TcpListener, WebError> {
    let bind = |port: u16| {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        async move {
            let listener = TcpListener::bind(address).await;
            listener.map_err(|source| WebError::Listen { port, source })
        }
    };
    match (wanted, last) {
        (Some(port), _) => bind(port).await,
        (None, Some(last)) => match bind(last).await {
            Ok(listener) => Ok(listener),
            Err(_) => bind(0).await,
        },
        (None, None) => bind(0).await,
    }
}

/// Everything one browser says on one connection. What goes wrong there ends there.
async fn talk(stream: TcpStream, site: Arc<Site>, hosts: Arc<Hosts>, stranger: PendingConnection) {
    let answering = service_fn(move |request: Request<Incoming>| {
        let (site, hosts, stranger) = (Arc::clone(&site), Arc::clone(&hosts), stranger.clone());
        async move { Ok::<Answer, Infallible>(answer(request, site, &hosts, &stranger).await) }
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_WAIT)
        .serve_connection(TokioIo::new(stream), answering)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    site: Arc<Site>,
    hosts: &Hosts,
    stranger: &PendingConnection,
) -> Answer {
    let (parts, body) = request.into_parts();
    let is_navigation = is_navigation(&parts);
    if let Err(misled) = hosts.check(&parts.headers, is_navigation) {
        return refusal(&misled);
    }
    let body = match Limited::new(body, MOST_FORM).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => {
            return answer::plain(StatusCode::PAYLOAD_TOO_LARGE, "a form has at most 1 MiB\n");
        }
    };
    let Some(asked) = Asked::read(&parts, &body, &site.folder()) else {
        let words = "nothing is here: open the link that `grove web` or `grove web link` printed\n";
        return answer::plain(StatusCode::NOT_FOUND, words);
    };
    let known = stranger.clone();
    let routing = Arc::clone(&site);
    let routed = tokio::task::spawn_blocking(move || routing.route(&asked, &|| known.settle()));
    match routed.await {
        Ok(Routed::Answer(answer)) => answer,
        Ok(Routed::Stream(order)) => stream::follow(site, *order),
        Err(_) => answer::plain(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the page cannot be written\n",
        ),
    }
}

/// The answer to a request that names another host or comes from another origin.
fn refusal(misled: &Misled) -> Answer {
    let words = match misled {
        Misled::Host(host) => format!(
            "this page is served for this machine alone, and not for `{host}`; `grove web --tunnel NAME` names a tunnel of yours\n"
        ),
        Misled::Origin(origin) => {
            format!("a page of {origin} asked for this; only the page itself may\n")
        }
        Misled::Embedded => {
            "a page of another site or port asked for this; only the page itself may\n".to_owned()
        }
    };
    let status = match misled {
        Misled::Host(_) => StatusCode::MISDIRECTED_REQUEST,
        Misled::Origin(_) | Misled::Embedded => StatusCode::FORBIDDEN,
    };
    let words: String = words
        .chars()
        .filter(|c| !c.is_control() || *c == '\n')
        .collect();
    answer::plain(status, words)
}

/// The longest time between two messages of a stream, so that a connection that is gone is noticed.
pub(super) const BEAT: Duration = Duration::from_secs(15);
