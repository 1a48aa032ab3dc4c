//! Connections to providers: TLS for `https` addresses and plain for `http`, kept open between requests.
//!
//! A connection is a task, not a thread. Dropping the exchange that it serves ends it at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use grove_plan::ModelFailure;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::error::{ModelError, ProviderError, TLS};

/// The largest head of an answer, and the most of a body that waits to be read.
pub(crate) const HEAD_LIMIT: usize = 64 << 10;
/// The most unused connections to one address that are kept.
const MOST_IDLE: usize = 256;
/// The longest time that an unused connection is kept: less than servers keep theirs.
const IDLE_LIFETIME: Duration = Duration::from_secs(50);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ServerOrigin {
    pub(crate) is_secure: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// The connections of a process, shared by all that ask models.
#[derive(Debug, Default)]
pub struct Network {
    idle: Mutex<HashMap<ServerOrigin, Vec<IdleConnections>>>,
    tls: OnceLock<Arc<ClientConfig>>,
    roots: Vec<CertificateDer<'static>>,
}

#[derive(Debug)]
struct IdleConnections {
    connection: HttpConnection,
    since: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the certificates: {0}")]
pub struct BadCertificates(String);

impl Network {
    /// Returns connections that trust the certificate authorities of the web.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns connections that also trust the authorities of `pem`, for a network that has its own.
    pub fn trusting(pem: &[u8]) -> Result<Self, BadCertificates> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let roots = read.map_err(|error| BadCertificates(error.to_string()))?;
        if roots.is_empty() {
            return Err(BadCertificates("there are none".to_owned()));
        }
        let network = Self {
            roots,
            ..Self::default()
        };
        Ok(network)
    }

    /// Returns a kept connection, if one is still open.
    pub(crate) fn kept(&self, origin: &ServerOrigin) -> Option<HttpConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.get_mut(origin)?;
        kept.retain(IdleConnections::is_usable);
        kept.pop().map(|idle| idle.connection)
    }

    /// Keeps a connection whose answer was read to its end.
    pub(crate) fn keep(&self, origin: &ServerOrigin, connection: HttpConnection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.entry(origin.clone()).or_default();
        kept.retain(IdleConnections::is_usable);
        if kept.len() < MOST_IDLE {
            let since = Instant::now();
            kept.push(IdleConnections { connection, since });
        }
    }

    pub(crate) async fn connect(
        &self,
        origin: &ServerOrigin,
        limit: Duration,
    ) -> Result<HttpConnection, ModelError> {
        let connecting = timeout(limit, self.connect_without_limit(origin));
        connecting.await.unwrap_or_else(|_| {
            let message = format!("no connection to {} within {limit:?}", origin.host);
            Err(ModelError::provider(ModelFailure::Network, message))
        })
    }

    async fn connect_without_limit(
        &self,
        origin: &ServerOrigin,
    ) -> Result<HttpConnection, ModelError> {
        let failed = |error: std::io::Error| {
            let message = format!("cannot connect to {}:{}: {error}", origin.host, origin.port);
            ModelError::provider(ModelFailure::Network, message)
        };
        let host = origin.host.trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((host, origin.port))
            .await
            .map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        if !origin.is_secure {
            return HttpConnection::over(stream).await;
        }
        let not_secure = |error: &dyn std::fmt::Display| {
            let message = format!("cannot set up encryption with {}: {error}", origin.host);
            let error = ProviderError::new(ModelFailure::Network, &message).with_kind(TLS);
            ModelError::Provider(Box::new(error))
        };
        let name = ServerName::try_from(host.to_owned()).map_err(|error| not_secure(&error))?;
        let connector = TlsConnector::from(self.tls().map_err(|error| not_secure(&error))?);
        let stream = connector.connect(name, stream).await.map_err(|error| {
            // A connection that was lost meanwhile is worth another try; a bad certificate is not.
            match error.kind() {
                std::io::ErrorKind::InvalidData => not_secure(&error),
                _ => failed(error),
            }
        })?;
        HttpConnection::over(stream).await
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, tokio_rustls::rustls::Error> {
        if let Some(config) = self.tls.get() {
            return Ok(Arc::clone(config));
        }
        let mut roots = RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        for root in &self.roots {
            roots.add(root.clone())?;
        }
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::clone(self.tls.get_or_init(|| Arc::new(config))))
    }
}

impl IdleConnections {
    fn is_usable(&self) -> bool {
        self.since.elapsed() < IDLE_LIFETIME && !self.connection.sender.is_closed()
    }
}

#[derive(Debug)]
pub(crate) struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    /// The task that reads and writes the socket; it is owned here so that it ends with the connection.
    task: JoinHandle<()>,
}

impl Drop for HttpConnection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HttpConnection {
    async fn over(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, ModelError> {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_LIMIT);
        let (sender, connection) =
            builder
                .handshake(TokioIo::new(stream))
                .await
                .map_err(|error| {
                    ModelError::provider(
                        ModelFailure::Network,
                        format!("cannot start the HTTP connection: {error}"),
                    )
                })?;
        // The request that waits for an answer gets the error, so it is dropped here.
        let task = tokio::spawn(async move { drop(connection.await) });
        Ok(Self { sender, task })
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, hyper::Error> {
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }
}
