//! A relay that passes on another program's requests to a provider unchanged and counts the tokens of the answers.
//!
//! A request becomes exactly one request to the one provider, with the provider's key. A recording can be made of the
//! exchanges, and can answer instead.

use std::sync::Arc;

use grove_plan::{ModelFailure, Usage};
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST,
};
use http::header::{HeaderName, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use serde_json::Value;
use tokio::time::timeout;

use crate::answer::{ModelAnswer, ModelEvent};
use crate::assembly::AnswerLimits;
use crate::client::Deadlines;
use crate::endpoint::Endpoint;
use crate::error::{ModelError, bounded_line};
use crate::network::{Connection, Network};
use crate::passing::Passing;
use crate::recording::{PassingAnswer, PassingRecord, Places, Player, RecordingSink};
use crate::said_usage::OwnCount;
use crate::wire::{AnswerDecoder, Api};

/// Headers that belong to one connection, or that are set anew.
const NOT_PASSED_ON: [HeaderName; 6] = [
    HOST,
    CONNECTION,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    ACCEPT_ENCODING,
    AUTHORIZATION,
];
/// The header in which some programs send their key.
const API_KEY: &str = "x-api-key";

/// A relay to one provider, or to a recording of one.
#[derive(Debug, Clone)]
pub struct Relay {
    upstream: Upstream,
    /// The system text and the message of the child, by which a recording finds the answer.
    told: [String; 2],
}

#[derive(Debug, Clone)]
enum Upstream {
    Provider {
        network: Arc<Network>,
        endpoint: Box<Endpoint>,
        deadlines: Deadlines,
        record: Option<PassingRecord>,
    },
    Recording(Api, Player),
}

/// A request as another program made it.
#[derive(Debug)]
pub struct AskedRequest {
    /// The HTTP method, mostly `POST`.
    pub method: Method,
    /// The path with its query; `/v1` at its beginning stands for the provider's address.
    pub target: String,
    /// The headers of the request; keys and those of the connection are replaced.
    pub headers: HeaderMap,
    /// The body of the request.
    pub body: Bytes,
}

/// An answer while it comes. Dropping it closes the connection.
#[derive(Debug)]
pub struct RelayedAnswer {
    /// The HTTP status of the answer.
    pub status: StatusCode,
    /// The headers of the answer, without those of the connection.
    pub headers: HeaderMap,
    body: AnswerBody,
    _connection: Option<Connection>,
    passing: Option<PassingAnswer>,
}

#[derive(Debug)]
enum AnswerBody {
    Coming(Incoming),
    Recorded(Option<Bytes>),
}

impl Relay {
    /// Returns a relay to `endpoint`.
    pub fn new(network: Arc<Network>, endpoint: Endpoint, deadlines: Deadlines) -> Self {
        Self {
            upstream: Upstream::Provider {
                network,
                endpoint: Box::new(endpoint),
                deadlines,
                record: None,
            },
            told: Default::default(),
        }
    }

    /// Returns a relay that answers from a recording of this interface.
    pub fn recorded(api: Api, player: Player) -> Self {
        Self {
            upstream: Upstream::Recording(api, player),
            told: Default::default(),
        }
    }

    /// Makes the relay record the exchanges; one that answers from a recording stays as it is.
    pub fn recording_to(
        mut self,
        sink: Arc<dyn RecordingSink>,
        places: Places,
    ) -> std::io::Result<Self> {
        if let Upstream::Provider { record, .. } = &mut self.upstream {
            *record = Some(PassingRecord::new(sink, places)?);
        }
        Ok(self)
    }

    /// Sets the system text and the message of the child.
    #[must_use]
    pub fn telling(mut self, told: [String; 2]) -> Self {
        self.told = told;
        self
    }

    /// Returns the interface that it answers with.
    pub fn api(&self) -> Api {
        match &self.upstream {
            Upstream::Provider { endpoint, .. } => endpoint.api(),
            Upstream::Recording(api, _) => *api,
        }
    }

    /// Sends a request once and waits for the head of its answer.
    pub async fn send(&self, asked: AskedRequest) -> Result<RelayedAnswer, ModelError> {
        let wrong = |what: &str| ModelError::provider(ModelFailure::BadRequest, what);
        let passing = Passing::of(self.api(), &asked.method, &asked.target);
        let api = match passing {
            Some(Passing::Counted(api)) => Some(api),
            Some(Passing::Free) => None,
            None => return Err(wrong("this is not passed on")),
        };
        let (network, endpoint, deadlines, record) = match &self.upstream {
            Upstream::Provider {
                network,
                endpoint,
                deadlines,
                record,
            } => (network, endpoint, deadlines, record),
            Upstream::Recording(_, player) => return self.replay(api, player, &asked.body),
        };
        let passing = record.as_ref().zip(api);
        let passing = passing.map(|(record, api)| record.asked(api, &asked.body, &self.told));
        let target = endpoint.target_of(&asked.target);
        let target = target.ok_or_else(|| wrong("the path cannot be asked for"))?;
        let mut message = Request::new(Full::new(asked.body));
        *message.method_mut() = asked.method;
        *message.uri_mut() = target;
        let headers = message.headers_mut();
        *headers = asked.headers;
        strip(headers);
        headers.remove(API_KEY);
        headers.insert(HOST, endpoint.host_header().clone());
        // The tokens of a compressed answer could not be counted.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some((name, value)) = endpoint.key_header() {
            headers.insert(name, value.clone());
        }
        let connecting = network.connect(endpoint.origin(), deadlines.connect);
        let mut connection = connecting.await?;
        let lost = |message: String| ModelError::provider(ModelFailure::Network, message);
        let sent = timeout(deadlines.first_byte, connection.send(message)).await;
        let sent = sent.map_err(|_| lost("the provider did not answer in time".to_owned()))?;
        let sent = sent.map_err(|error| lost(format!("the connection was lost: {error}")))?;
        let (mut head, body) = sent.into_parts();
        strip(&mut head.headers);
        Ok(RelayedAnswer {
            status: head.status,
            headers: head.headers,
            body: AnswerBody::Coming(body),
            _connection: Some(connection),
            passing,
        })
    }

    fn replay(
        &self,
        api: Option<Api>,
        player: &Player,
        body: &[u8],
    ) -> Result<RelayedAnswer, ModelError> {
        // A recording has only answers of models, so other paths are not found.
        let (status, kind, bytes) = match api {
            Some(api) => player
                .pass_on(api, body, &self.told)
                .map_err(ModelError::Replay)?,
            None => (StatusCode::NOT_FOUND, "application/json", b"{}".to_vec()),
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        Ok(RelayedAnswer {
            status,
            headers,
            body: AnswerBody::Recorded(Some(bytes.into())),
            _connection: None,
            passing: None,
        })
    }

    /// Returns the failure and the message of an answer without success.
    pub fn refusal(&self, status: StatusCode, body: &[u8]) -> (ModelFailure, String) {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let (format, key) = match &self.upstream {
            Upstream::Provider { endpoint, .. } => (endpoint.format(), endpoint.key()),
            Upstream::Recording(api, _) => (api.format(), None),
        };
        let refusal = (format.refusal)(status.as_u16(), &body);
        let message = refusal.message.unwrap_or_else(|| status.to_string());
        let message = bounded_line(&message);
        let message = key.map_or(message.clone(), |key| key.masked(&message));
        (refusal.failure, message)
    }
}

impl RelayedAnswer {
    /// Returns the next bytes; none at the end of the answer, an error where it was cut.
    pub async fn next(&mut self) -> Option<Result<Bytes, ()>> {
        let body = match &mut self.body {
            AnswerBody::Recorded(bytes) => return bytes.take().map(Ok),
            AnswerBody::Coming(body) => body,
        };
        loop {
            let Some(frame) = body.frame().await else {
                self.end();
                return None;
            };
            match frame {
                Ok(frame) => {
                    if let Ok(bytes) = frame.into_data() {
                        if let Some(passing) = &mut self.passing {
                            passing.push(&bytes);
                        }
                        return Some(Ok(bytes));
                    }
                }
                Err(_) => return Some(Err(())),
            }
        }
    }

    /// Takes note that the answer is whole, whatever else comes: a program that has all of it may hang up before its
    /// connection ends.
    pub fn end(&mut self) {
        if let Some(passing) = self.passing.take() {
            passing.end(self.status, self.is_stream());
        }
    }

    /// Returns true if the answer comes as server-sent events.
    pub fn is_stream(&self) -> bool {
        let kind = self.headers.get(CONTENT_TYPE);
        kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event"))
    }
}

fn strip(headers: &mut HeaderMap) {
    for name in NOT_PASSED_ON {
        headers.remove(name);
    }
}

/// Reads an answer while it passes by.
#[derive(Debug)]
pub struct AnswerCounter {
    api: Api,
    /// The decoder of a stream; none after something that it cannot read.
    decoder: Option<AnswerDecoder>,
    /// The bytes of an answer that is not a stream.
    whole: Option<Vec<u8>>,
    request_bytes: usize,
    told: Usage,
}

/// The content and the tokens of an answer that was read.
#[derive(Debug)]
pub struct CountedAnswer {
    /// The answer; none for one that was cut, that cannot be read, or that was not a stream.
    pub answer: Option<ModelAnswer>,
    /// The tokens that the provider counted, or an estimate for a whole answer without a count.
    pub usage: Usage,
    /// True if the end of the answer came.
    pub is_whole: bool,
}

impl AnswerCounter {
    /// Returns a reader of the answer to a request of `request_bytes`.
    pub fn new(api: Api, is_stream: bool, request_bytes: usize) -> Self {
        let limits = AnswerLimits::default();
        Self {
            api,
            decoder: is_stream.then(|| AnswerDecoder::new(api, limits)),
            whole: (!is_stream).then(Vec::new),
            request_bytes,
            told: Usage::default(),
        }
    }

    /// Takes the next bytes of the answer.
    pub fn push(&mut self, bytes: &[u8]) {
        if let Some(whole) = &mut self.whole {
            let room = AnswerLimits::default().answer_bytes - whole.len();
            whole.extend_from_slice(bytes.get(..bytes.len().min(room)).unwrap_or_default());
        }
        let told = &mut self.told;
        let mut on_event = |event: ModelEvent| {
            if let ModelEvent::Usage { usage } = event {
                *told = usage;
            }
        };
        let decoder = self.decoder.as_mut();
        if decoder.is_some_and(|decoder| decoder.push(bytes, &mut on_event).is_err()) {
            self.decoder = None;
        }
    }

    /// Returns true if the end of the answer came.
    pub fn is_complete(&self) -> bool {
        self.decoder
            .as_ref()
            .is_some_and(AnswerDecoder::is_complete)
    }

    /// Returns the content and the tokens. `is_ended` is true if the bytes came to their end and were not cut.
    pub fn finish(self, is_ended: bool) -> CountedAnswer {
        if let Some(whole) = self.whole {
            let usage = is_ended.then(|| usage_of_whole(self.api, &whole, self.request_bytes));
            return CountedAnswer {
                answer: None,
                usage: usage.unwrap_or_default(),
                is_whole: is_ended,
            };
        }
        let finished = self
            .decoder
            .and_then(|decoder| decoder.finish(self.request_bytes).ok());
        let is_whole = finished.is_some();
        let usage = finished.as_ref().map_or(self.told, |answer| answer.usage);
        CountedAnswer {
            answer: finished,
            usage,
            is_whole,
        }
    }
}

/// The usage of an answer that is no stream.
fn usage_of_whole(api: Api, whole: &[u8], request_bytes: usize) -> Usage {
    let body: Value = serde_json::from_slice(whole).unwrap_or_default();
    let said = (api.format().usage)(&body["usage"]);
    let answer_bytes = if said.is_nothing() {
        whole.len()
    } else {
        let words = match api {
            Api::Anthropic => &body["content"],
            Api::OpenaiResponses => &body["output"],
            Api::OpenaiChat => &body["choices"],
        };
        bytes_of_texts(words)
    };
    said.counted(OwnCount {
        request_bytes,
        answer_bytes,
    })
}

/// The bytes of all texts in a value.
fn bytes_of_texts(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes_of_texts).sum(),
        Value::Object(fields) => fields.values().map(bytes_of_texts).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use grove_testkit::model_server::{Format, ScriptedReply, TokenCounts};
    use serde_json::json;

    fn reply() -> ScriptedReply {
        ScriptedReply {
            text: Some("Some words.".to_owned()),
            usage: TokenCounts {
                input: 11,
                output: 7,
                cached: 5,
                cache_write: 0,
            },
            ..ScriptedReply::default()
        }
    }

    const FORMATS: [(Format, Api); 3] = [
        (Format::Anthropic, Api::Anthropic),
        (Format::Responses, Api::OpenaiResponses),
        (Format::Chat, Api::OpenaiChat),
    ];

    #[test]
    fn what_passes_by_is_counted_in_any_portions_and_a_cut_answer_is_none() {
        for (format, api) in FORMATS {
            let mut bytes = format.stream(&reply());
            if api == Api::OpenaiChat {
                // This format sends counts only to clients that ask for them.
                let counts = json!({ "prompt_tokens": 16, "completion_tokens": 7,
                    "prompt_tokens_details": { "cached_tokens": 5 } });
                let last = json!({ "choices": [], "usage": counts });
                let text = String::from_utf8(bytes).unwrap();
                let last = format!("data: {last}\n\ndata: [DONE]");
                bytes = text.replace("data: [DONE]", &last).into_bytes();
            }
            for portion in [1, 7, bytes.len()] {
                let mut counter = AnswerCounter::new(api, true, 400);
                bytes.chunks(portion).for_each(|part| counter.push(part));
                let counted = counter.finish(true);
                let usage = counted.usage;
                assert!(counted.is_whole, "{api:?}");
                assert_eq!((usage.input, usage.output, usage.cached), (11, 7, 5));
                assert!(!usage.estimated, "{api:?}");
            }
            let mut counter = AnswerCounter::new(api, true, 400);
            counter.push(&bytes[..bytes.len() / 2]);
            let cut = counter.finish(false);
            assert!(!cut.is_whole && cut.answer.is_none(), "{api:?}");
        }
    }

    #[test]
    fn an_answer_of_which_nothing_is_said_is_guessed_and_marked() {
        let reply = ScriptedReply {
            without_usage: true,
            ..reply()
        };
        for (format, api) in FORMATS {
            let mut counter = AnswerCounter::new(api, true, 400);
            counter.push(&format.stream(&reply));
            let usage = counter.finish(true).usage;
            assert!(usage.estimated, "{api:?}");
            assert_eq!(usage.input, 100, "{api:?}: four bytes are a token");
        }
    }

    #[test]
    fn an_answer_that_is_no_stream_is_counted_too() {
        for (api, body, expected) in [
            (
                Api::Anthropic,
                json!({ "usage": { "input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 1 } }),
                Some((3, 2, 1)),
            ),
            (
                Api::OpenaiResponses,
                json!({ "status": "completed", "output": [], "usage": { "input_tokens": 4, "output_tokens": 2,
                    "input_tokens_details": { "cached_tokens": 1 } } }),
                Some((3, 2, 1)),
            ),
            (
                Api::OpenaiChat,
                json!({ "usage": { "prompt_tokens": 4, "completion_tokens": 2,
                    "prompt_tokens_details": { "cached_tokens": 1 } } }),
                Some((3, 2, 1)),
            ),
            (Api::OpenaiChat, json!({ "choices": [] }), None),
        ] {
            let mut counter = AnswerCounter::new(api, false, 40);
            counter.push(body.to_string().as_bytes());
            let usage = counter.finish(true).usage;
            match expected {
                Some(counts) => assert_eq!((usage.input, usage.output, usage.cached), counts),
                None => assert!(usage.estimated),
            }
        }
    }
}
