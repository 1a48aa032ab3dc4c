//! The server, with a runtime that lives as long as it serves.

use std::sync::Arc;

use grove_engine::Engine;
use grove_skills::live::LiveLibrary;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::connection::{ClientConnection, OpenConnections};
use crate::gate::GatedTransport;
use crate::http::{self, HttpOptions, Listening};
use crate::lines::LineTransport;
use crate::served_library::ServedLibrary;

pub(crate) const MAX_MESSAGE: usize = 4 << 20;
const WORKERS: usize = 8;
const TALKERS: usize = 2;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the server cannot start")]
    Start(#[source] std::io::Error),
    #[error("cannot listen on {address}")]
    Listen {
        address: std::net::SocketAddr,
        source: std::io::Error,
    },
    #[error("{0} is not an address of this machine alone")]
    NotLoopback(std::net::SocketAddr),
    #[error("the client did not begin as the protocol requires: {0}")]
    Beginning(String),
    #[error("the connection broke")]
    Broken,
}

pub struct Server {
    served: Served,
}

#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) library: Arc<ServedLibrary>,
    /// The engine behind the tool `subagent`; none where the tool is not offered.
    pub(crate) engine: Option<Arc<Engine>>,
}

impl Server {
    /// Returns a server for a library; the agents that it finds are prompts.
    pub fn new(library: Arc<LiveLibrary>) -> Self {
        Self {
            served: Served {
                library: Arc::new(ServedLibrary::new(library)),
                engine: None,
            },
        }
    }

    #[must_use]
    pub fn with_engine(mut self, engine: Arc<Engine>) -> Self {
        self.served.engine = Some(engine);
        self
    }

    /// Serves one client on stdin and stdout until stdin closes.
    pub fn stdio(&self) -> Result<(), ServeError> {
        self.run(|ended| async move {
            let served = self.talk(tokio::io::stdin(), tokio::io::stdout()).await;
            ended.cancel();
            served
        })
    }

    /// Serves one client on two streams until the first of them ends, in the runtime of the caller.
    pub async fn talk<R, W>(&self, from: R, to: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let transport = LineTransport::new(from, to, MAX_MESSAGE);
        let connection =
            ClientConnection::open(&self.served, &Arc::<OpenConnections>::default(), 1);
        let connection = connection.ok_or(ServeError::Broken)?.beside_host();
        let served = match rmcp::serve_server(connection, GatedTransport::new(transport)).await {
            Ok(served) => served,
            // A client may close the connection before it has sent anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Beginning(error.to_string())),
        };
        match served.waiting().await {
            Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
            _ => Err(ServeError::Broken),
        }
    }

    /// Serves clients over HTTP until the process ends; calls `ready` with the address as soon as it listens.
    pub fn http(
        &self,
        options: HttpOptions,
        ready: impl FnOnce(std::net::SocketAddr) + Send + 'static,
    ) -> Result<(), ServeError> {
        let served = self.served.clone();
        self.run(|ended| async move {
            let listening = Listening::bind(options).await?;
            ready(listening.address());
            http::serve(listening, served, ended).await;
            Ok(())
        })
    }

    fn run<F>(&self, serve: impl FnOnce(CancellationToken) -> F) -> Result<(), ServeError>
    where
        F: Future<Output = Result<(), ServeError>>,
    {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder
            .max_blocking_threads(WORKERS)
            .thread_name("grove-mcp")
            .enable_all();
        let runtime = grove_engine::runtime(&mut builder, TALKERS).map_err(ServeError::Start)?;
        let ended = CancellationToken::new();
        let done = runtime.block_on(serve(ended.clone()));
        ended.cancel();
        // A read of stdin that never returns must not keep the process alive.
        runtime.shutdown_background();
        self.served.library.save_cache();
        done
    }
}
