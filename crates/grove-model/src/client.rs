//! Requests to a model over HTTP.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use grove_plan::{ModelFailure, Usage};
use http::header::{ACCEPT, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::answer::{ModelAnswer, ModelEvent};
use crate::assembly::AnswerLimits;
use crate::endpoint::Endpoint;
use crate::error::{AnswerBound, ModelError, ProviderError};
use crate::network::{HEAD_LIMIT, HttpConnection, Network};
use crate::request::ModelRequest;
use crate::retry::{RandomSource, RequestTries, RetryPolicy, retry_after};
use crate::wire::AnswerDecoder;

pub type OnEvent<'a> = dyn FnMut(ModelEvent) + Send + 'a;

pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<ModelAnswer, ModelError>> + Send + 'a>>;

/// A source of answers: a provider, a recorder, or a recording.
pub trait ModelClient: Send + Sync {
    /// Asks the model and gives `on_event` the events. When `cancel` is cancelled or the future is dropped, the
    /// connection is closed.
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_event: &'a mut OnEvent<'_>,
        cancel: &'a CancellationToken,
    ) -> Asking<'a>;
}

impl<C: ModelClient + ?Sized> ModelClient for Arc<C> {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_event: &'a mut OnEvent<'_>,
        cancel: &'a CancellationToken,
    ) -> Asking<'a> {
        (**self).ask(request, on_event, cancel)
    }
}

#[derive(Debug, Clone)]
pub struct AskSettings {
    pub deadlines: RequestDeadlines,
    pub retry: RetryPolicy,
    pub limits: AnswerLimits,
    /// The chance that spreads the tries of many callers.
    pub random: RandomSource,
}

impl Default for AskSettings {
    fn default() -> Self {
        Self {
            deadlines: RequestDeadlines::default(),
            retry: RetryPolicy::default(),
            limits: AnswerLimits::default(),
            random: RandomSource::of_system(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestDeadlines {
    pub connect: Duration,
    /// The wait for the head of the answer, after the request was sent.
    pub first_byte: Duration,
    /// The wait for the next bytes of the answer.
    pub idle: Duration,
    pub whole: Duration,
}

impl Default for RequestDeadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_mins(5),
            idle: Duration::from_mins(3),
            whole: Duration::from_mins(30),
        }
    }
}

const REFUSAL_LIMIT: usize = 64 << 10;
/// The wait for the end of a stream after the end of its answer, so that the connection can be kept.
const END_OF_STREAM: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct HttpModel {
    network: Arc<Network>,
    endpoint: Endpoint,
    settings: AskSettings,
}

impl HttpModel {
    pub fn new(network: Arc<Network>, endpoint: Endpoint, settings: AskSettings) -> Self {
        Self {
            network,
            endpoint,
            settings,
        }
    }

    async fn ask_until_answered(
        &self,
        request: &ModelRequest,
        on_event: &mut OnEvent<'_>,
    ) -> Result<ModelAnswer, ModelError> {
        let mut tries = RequestTries::new(&self.settings.retry, &self.settings.random);
        let mut lost = Usage::default();
        loop {
            let (mut begun, mut used) = (false, Usage::default());
            let mut watched = |event: ModelEvent| {
                begun = begun || event.is_content();
                if let ModelEvent::Usage { usage } = &event {
                    used = *usage;
                }
                on_event(event);
            };
            let whole = self.settings.deadlines.whole;
            let answer = timeout(whole, self.try_once(request, &mut watched)).await;
            let answer = answer.unwrap_or_else(|_| Err(deadline_error("the whole answer", whole)));
            let mut error = match answer {
                Ok(mut answer) => {
                    answer.lost = lost;
                    return Ok(answer);
                }
                Err(ModelError::Provider(error)) => error,
                Err(other) => return Err(other),
            };
            // A sum has another form than its parts, so an empty count is not added.
            if used != Usage::default() {
                lost += used;
            }
            error.usage = lost;
            error.tries = tries.made;
            let next = error
                .is_worth_another_try(begun)
                .then(|| tries.wait_for_next(error.retry_after))
                .flatten();
            let Some(wait) = next else {
                return Err(ModelError::Provider(error));
            };
            on_event(ModelEvent::retrying(
                error.failure,
                &error.message,
                error.tries,
                wait,
            ));
            tokio::time::sleep(wait).await;
        }
    }

    async fn try_once(
        &self,
        request: &ModelRequest,
        on_event: &mut OnEvent<'_>,
    ) -> Result<ModelAnswer, ModelError> {
        let (connection, response, request_bytes) = self.send(request).await?;
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            return Err(self
                .refusal(head.status.as_u16(), &head.headers, body)
                .await);
        }
        let kind = head
            .headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let message = format!(
                "{} answered with {} and not with a stream of events: is the address that of a provider?",
                self.endpoint.base_url(),
                kind.unwrap_or("something"),
            );
            return Err(ModelError::provider(ModelFailure::BadRequest, message));
        }
        self.read(connection, body, request_bytes, on_event).await
    }

    async fn send(
        &self,
        request: &ModelRequest,
    ) -> Result<(HttpConnection, Response<Incoming>, usize), ModelError> {
        let body = Bytes::from((self.endpoint.format().body)(request).to_string());
        let request_bytes = body.len();
        let origin = self.endpoint.origin();
        let first_byte = self.settings.deadlines.first_byte;
        // The other side may have closed a kept connection just now; then a new one is made, which is not a new try.
        if let Some(mut kept) = self.network.kept(origin) {
            match timeout(first_byte, kept.send(self.message(body.clone()))).await {
                Ok(Ok(response)) => return Ok((kept, response, request_bytes)),
                Ok(Err(error)) if error.is_parse_too_large() => return Err(head_too_large()),
                Ok(Err(_)) => {}
                Err(_) => return Err(deadline_error("the first byte of the answer", first_byte)),
            }
        }
        let connect = self.settings.deadlines.connect;
        let mut connection = self.network.connect(origin, connect).await?;
        match timeout(first_byte, connection.send(self.message(body))).await {
            Ok(Ok(response)) => Ok((connection, response, request_bytes)),
            Ok(Err(error)) if error.is_parse_too_large() => Err(head_too_large()),
            Ok(Err(error)) => Err(lost_connection("before it answered", &error)),
            Err(_) => Err(deadline_error("the first byte of the answer", first_byte)),
        }
    }

    fn message(&self, body: Bytes) -> Request<Full<Bytes>> {
        let mut message = Request::new(Full::new(body));
        *message.method_mut() = Method::POST;
        *message.uri_mut() = self.endpoint.target().clone();
        let headers = message.headers_mut();
        headers.insert(HOST, self.endpoint.host_header().clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let agent = concat!("grove/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        for (name, value) in self.endpoint.format().headers {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        if let Some((name, value)) = self.endpoint.key_header() {
            headers.insert(name, value.clone());
        }
        message
    }

    /// Reads the answer, and keeps the connection if the stream came to its end.
    async fn read(
        &self,
        connection: HttpConnection,
        mut body: Incoming,
        request_bytes: usize,
        on_event: &mut OnEvent<'_>,
    ) -> Result<ModelAnswer, ModelError> {
        let secret = self.endpoint.key().cloned();
        let mut decoder = AnswerDecoder::of(self.endpoint.format(), self.settings.limits, secret);
        let idle = self.settings.deadlines.idle;
        while !decoder.is_complete() {
            match timeout(idle, body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    if let Some(bytes) = frame.data_ref() {
                        decoder.push(bytes, on_event)?;
                    }
                }
                Ok(Some(Err(error))) => {
                    let mut failed = lost_connection("in the middle of its answer", &error);
                    if let ModelError::Provider(error) = &mut failed {
                        error.failure = ModelFailure::CutStream;
                    }
                    return Err(failed);
                }
                Ok(None) => break,
                Err(_) => return Err(deadline_error("more of the answer", idle)),
            }
        }
        let answer = decoder.finish(request_bytes)?;
        if let Ok(None) = timeout(END_OF_STREAM, body.frame()).await {
            self.network.keep(self.endpoint.origin(), connection);
        }
        Ok(answer)
    }

    /// Returns the error that an answer without success means.
    async fn refusal(&self, status: u16, headers: &HeaderMap, body: Incoming) -> ModelError {
        let read = timeout(self.settings.deadlines.idle, start_of(body)).await;
        let body: Value = serde_json::from_slice(&read.unwrap_or_default()).unwrap_or_default();
        let mut refusal = (self.endpoint.format().refusal)(status, &body);
        if let 300..400 = status {
            let place = headers.get(LOCATION).and_then(|value| value.to_str().ok());
            let place = place.map_or_else(String::new, |place| format!(" to {place}"));
            refusal.message = Some(format!("it points elsewhere{place}; change `base_url`"));
        }
        let message = refusal
            .message
            .unwrap_or_else(|| "it gave no reason".to_owned());
        let kind = refusal.kind.unwrap_or_default();
        let (kind, message) = match self.endpoint.key() {
            Some(key) => (key.masked(&kind), key.masked(&message)),
            None => (kind, message),
        };
        let mut error = ProviderError::new(refusal.failure, &message);
        if !kind.is_empty() {
            error = error.with_kind(&kind);
        }
        error.status = Some(status);
        error.retry_after = retry_after(headers, SystemTime::now());
        ModelError::Provider(Box::new(error))
    }
}

impl ModelClient for HttpModel {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_event: &'a mut OnEvent<'_>,
        cancel: &'a CancellationToken,
    ) -> Asking<'a> {
        Box::pin(async move {
            let asking = self.ask_until_answered(request, on_event);
            let answer = cancel.run_until_cancelled(asking).await;
            answer.unwrap_or(Err(ModelError::Cancelled))
        })
    }
}

/// Returns the first [`REFUSAL_LIMIT`] bytes of a body.
async fn start_of(mut body: Incoming) -> Vec<u8> {
    let mut start = Vec::new();
    while start.len() < REFUSAL_LIMIT
        && let Some(Ok(frame)) = body.frame().await
    {
        let Some(bytes) = frame.data_ref() else {
            continue;
        };
        let room = REFUSAL_LIMIT - start.len();
        start.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
    start
}

fn deadline_error(what: &str, limit: Duration) -> ModelError {
    ModelError::provider(
        ModelFailure::Idle,
        format!("{what} did not come within {limit:?}"),
    )
}

fn lost_connection(when: &str, error: &hyper::Error) -> ModelError {
    let cause =
        std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    let message = format!("the connection to the provider was lost {when} ({error}{cause})");
    ModelError::provider(ModelFailure::Network, message)
}

const fn head_too_large() -> ModelError {
    ModelError::TooLarge {
        what: AnswerBound::Head,
        limit: HEAD_LIMIT as u64,
    }
}
