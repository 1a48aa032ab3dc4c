//! Serving: a runtime that lives as long as the server does.

use std::sync::Arc;

use grove_skills::live::LiveLibrary;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::connection::{Connection, Open};
use crate::gate::Gated;
use crate::http::{self, HttpOptions, Listening};
use crate::lines::Lines;
use crate::served_library::ServedLibrary;
use crate::subagents::Subagents;

/// The longest message that is read.
pub(crate) const MAX_MESSAGE: usize = 4 << 20;
/// Threads for work on files.
const WORKERS: usize = 8;
/// Threads for messages.
const TALKERS: usize = 2;

/// Why serving ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The system gave no runtime.
    #[error("the server cannot start")]
    Start(#[source] std::io::Error),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// The address is one that other machines reach.
    #[error("{0} is not an address of this machine alone")]
    NotLoopback(std::net::SocketAddr),
    /// The client did not begin as the protocol requires.
    #[error("the client did not begin as the protocol requires: {0}")]
    Beginning(String),
    /// The connection broke.
    #[error("the connection broke")]
    Broken,
}

/// A library that is served.
pub struct Server {
    served: Served,
}

/// What all connections share.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) library: Arc<ServedLibrary>,
    /// None where nobody can be delegated to.
    pub(crate) subagents: Option<Arc<dyn Subagents>>,
}

impl Server {
    /// A server for a library; the agents that it finds are prompts.
    pub fn new(library: LiveLibrary) -> Self {
        Self {
            served: Served {
                library: Arc::new(ServedLibrary::new(library)),
                subagents: None,
            },
        }
    }

    /// The same with the tool `subagent`.
    #[must_use]
    pub fn with_subagents(mut self, subagents: Arc<dyn Subagents>) -> Self {
        self.served.subagents = Some(subagents);
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
        let transport = Lines::new(from, to, MAX_MESSAGE);
        let connection = Connection::open(&self.served, &Arc::<Open>::default(), 1);
        let connection = connection.ok_or(ServeError::Broken)?.beside_host();
        let served = match rmcp::serve_server(connection, Gated::new(transport)).await {
            Ok(served) => served,
            // A client that leaves before it said anything has done nothing wrong.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Beginning(error.to_string())),
        };
        match served.waiting().await {
            Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
            _ => Err(ServeError::Broken),
        }
    }

    /// Serves clients over HTTP until the process ends; says where as soon as it listens.
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
        let runtime = grove_exec::runtime(&mut builder, TALKERS).map_err(ServeError::Start)?;
        let ended = CancellationToken::new();
        let done = runtime.block_on(serve(ended.clone()));
        ended.cancel();
        // A read of stdin that never returns must not keep the process.
        runtime.shutdown_background();
        self.served.library.save_cache();
        done
    }
}
