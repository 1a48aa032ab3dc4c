//! The meter: stands between an agent program and its provider, counts what the answers take, and refuses when a limit is
//! reached.
//!
//! The program is given the meter's token for a key, so the provider's own is neither in its environment nor in that of
//! its tools. A request is passed on once: it is the program that asks again. The usage of an answer is recorded before its
//! end is passed on, so that the next request comes after it.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use grove_exec::{StopTokens, now};
use grove_model::{
    AnswerCounter, AskedRequest, Block, CountedAnswer, ModelError, Passing, Relay, RelayedAnswer,
};
use grove_plan::{AddedText, Attempt, Cause, Fact, Limits, ModelFailure, Turn, Usage};
use grove_store::{Draft, Store};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, Incoming};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedSender, channel};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::first_request::added;
use super::loopback::{Answer, Loopback, body_of, refused};
use crate::attempt_log::{AttemptLog, LogLine};
use crate::native::{append, body};

/// The most portions of an answer that wait for the program.
const MOST_WAITING: usize = 16;
/// The most bytes of a provider's refusal that are read.
const MOST_REFUSAL: usize = 64 << 10;

/// The parts that a meter needs.
pub(super) struct Metered {
    pub(super) relay: Relay,
    pub(super) store: Arc<Store>,
    pub(super) run: String,
    pub(super) of: Attempt,
    pub(super) epoch: u32,
    pub(super) limits: Limits,
    /// Set if a budget counts the requests: then they are made one after the other, so that one at most is too many.
    pub(super) has_budget: bool,
    /// The prompt and the message of the child, in order.
    pub(super) told: [String; 2],
    pub(super) log: Arc<AttemptLog>,
    pub(super) stop: StopTokens,
    /// Cancelled when the child waits for an answer, and so makes no requests.
    pub(super) hold: CancellationToken,
    /// Receives the id of a run for which something else is to be done.
    pub(super) news: UnboundedSender<String>,
}

/// The meter of one attempt.
pub(super) struct Meter {
    loopback: Loopback,
    metering: Arc<Metering>,
}

/// The results of an attempt's requests.
#[derive(Debug, Default, Clone)]
pub(super) struct Reading {
    /// The number of answers that were passed on, and of the calls in them.
    turns: u64,
    calls: u64,
    /// The limit for which a request was refused.
    pub(super) refused: Option<Cause>,
    /// The failure of the last request, if it failed.
    pub(super) failure: Option<(ModelFailure, String)>,
    /// Set if the journal refused a record.
    pub(super) is_not_ours: bool,
}

struct Metering {
    metered: Metered,
    reading: Mutex<Reading>,
    /// Set once the first request was looked at.
    is_begun: AtomicBool,
    /// The text that the program added to the first request, until it is recorded with the first answer.
    added: Mutex<Option<AddedText>>,
    /// Taken by each request in turn, where a budget counts them.
    turn: Arc<Semaphore>,
    /// Answers on their way; their usage is recorded before the attempt ends.
    answers: TaskTracker,
}

impl Meter {
    pub(super) async fn start(metered: Metered) -> std::io::Result<Self> {
        let metering = Arc::new(Metering {
            metered,
            reading: Mutex::default(),
            is_begun: AtomicBool::new(false),
            added: Mutex::default(),
            turn: Arc::new(Semaphore::new(1)),
            answers: TaskTracker::new(),
        });
        let shared = Arc::clone(&metering);
        let loopback = Loopback::serve(Arc::new(move |request| {
            let metering = Arc::clone(&shared);
            Box::pin(async move { metering.answer(request).await })
        }));
        Ok(Self {
            loopback: loopback.await?,
            metering,
        })
    }

    pub(super) fn url(&self) -> String {
        self.loopback.url()
    }

    pub(super) fn token(&self) -> &str {
        self.loopback.token()
    }

    /// Ends the meter, and returns the results of the requests once all is recorded.
    pub(super) async fn finish(self) -> Reading {
        let Self { loopback, metering } = self;
        // The reader of an answer is gone with its connection, and the answer's task ends when it notices.
        drop(loopback);
        metering.answers.close();
        metering.answers.wait().await;
        metering.reading().clone()
    }
}

impl Metering {
    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn added(&self) -> MutexGuard<'_, Option<AddedText>> {
        self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let Some((passing, target)) = self.passing(&request) else {
            let all: Vec<String> = Passing::all(self.metered.relay.api()).collect();
            let why = format!("the meter passes on {} and nothing else", all.join(", "));
            return refused(StatusCode::NOT_FOUND, &why);
        };
        let api = match passing {
            Passing::Counted(api) => Some(api),
            Passing::Free => None,
        };
        let turn = match api.filter(|_| self.metered.has_budget) {
            Some(_) => Arc::clone(&self.turn).acquire_owned().await.ok(),
            None => None,
        };
        let why = match passing {
            Passing::Counted(_) => self.limit_reached(),
            Passing::Free => self.is_over(),
        };
        if let Some(why) = why {
            return refused(StatusCode::BAD_REQUEST, &why);
        }
        let (head, body) = request.into_parts();
        let Some(body) = body_of(body).await else {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
        };
        let request_bytes = body.len();
        if api.is_some() && !self.is_begun.swap(true, Ordering::Relaxed) {
            self.look_at_first(&body);
        }
        let asked = AskedRequest {
            method: head.method,
            target,
            headers: head.headers,
            body,
        };
        let answer = match self.metered.relay.send(asked).await {
            Ok(answer) => answer,
            Err(error) => {
                // A request that is not in the recording fails each time, so the program must not ask again.
                let (status, usual) = match &error {
                    ModelError::Replay(_) => (StatusCode::BAD_REQUEST, ModelFailure::BadRequest),
                    _ => (StatusCode::BAD_GATEWAY, ModelFailure::Network),
                };
                let failure = error.failure().unwrap_or(usual);
                let message = error.to_string();
                self.reading().failure = Some((failure, message.clone()));
                return refused(status, &message);
            }
        };
        let (sender, receiver) = channel(MOST_WAITING);
        let mut response = Response::new(PassedOn(receiver).boxed_unsync());
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers.clone();
        let counter = api
            .filter(|_| answer.status.is_success())
            .map(|api| AnswerCounter::new(api, answer.is_stream(), request_bytes));
        let metering = Arc::clone(&self);
        self.answers.spawn(async move {
            // The turn is given back when the usage is recorded.
            let _turn = turn;
            match (counter, api) {
                (Some(counter), _) => metering.pass_on(answer, counter, sender).await,
                (None, Some(_)) => metering.pass_on_refusal(answer, sender).await,
                (None, None) => pass_on_rest(answer, &sender).await,
            }
        });
        response
    }

    /// Takes note of how the program passes on what it is told.
    fn look_at_first(&self, body: &[u8]) {
        let request = serde_json::from_slice(body).unwrap_or_default();
        let [system, message] = &self.metered.told;
        let added = added(&request, &[system, message]);
        let note = |text: String| self.metered.log.write(&LogLine::Note { text });
        note(format!(
            "beside what it is told, its first request has {} bytes with the digest {}",
            added.bytes, added.digest
        ));
        for part in &added.not_whole {
            note(format!(
                "its first request has this not whole, once and in order: {part}"
            ));
        }
        *self.added() = Some(added);
    }

    /// Returns the way in which a request is passed on, and its path with its query; none if it is refused.
    fn passing(&self, request: &Request<Incoming>) -> Option<(Passing, String)> {
        let uri = request.uri();
        // Only a client of a proxy sends a whole address, and the meter is no proxy.
        if uri.scheme().is_some() || uri.authority().is_some() {
            return None;
        }
        let target = uri.path_and_query()?.as_str();
        let passing = Passing::of(self.metered.relay.api(), request.method(), target)?;
        Some((passing, target.to_owned()))
    }

    /// Returns the reason to refuse a request that takes no tokens, if there is one. Such a refusal does not end the child.
    fn is_over(&self) -> Option<String> {
        let reading = self.reading();
        let limit = reading.refused.clone();
        let limit = limit.or_else(|| self.metered.limits.reached(reading.turns, reading.calls));
        let is_held = self.metered.hold.is_cancelled();
        let is_over = is_held || self.metered.stop.is_told() || reading.is_not_ours;
        let stops = || "this child is to stop".to_owned();
        let limit = limit.map(|limit| limit.to_string());
        limit.or_else(|| is_over.then(stops))
    }

    /// Returns the reason to refuse a request, if there is one. A limit that is reached ends the child.
    fn limit_reached(&self) -> Option<String> {
        let mut reading = self.reading();
        if let Some(limit) = self.metered.limits.reached(reading.turns, reading.calls) {
            let why = limit.to_string();
            reading.refused = Some(limit);
            self.metered.stop.tell(false);
            return Some(why);
        }
        let is_held = self.metered.hold.is_cancelled();
        let is_over = is_held || self.metered.stop.is_told() || reading.is_not_ours;
        is_over.then(|| "this child is to stop".to_owned())
    }

    /// Passes an answer on, and records its usage before its end.
    async fn pass_on(
        &self,
        mut answer: RelayedAnswer,
        counter: AnswerCounter,
        sender: Sender<Portion>,
    ) {
        let mut counter = Some(counter);
        let mut is_ended = false;
        loop {
            let bytes = match next(&mut answer, &sender).await {
                Some(Ok(bytes)) => bytes,
                Some(Err(())) => break,
                None => {
                    is_ended = true;
                    break;
                }
            };
            if let Some(now) = counter.as_mut() {
                now.push(&bytes);
            }
            if let Some(done) = counter.take_if(|counter| counter.is_complete()) {
                answer.end();
                self.record(done.finish(true)).await;
            }
            if sender.send(Portion::Bytes(bytes)).await.is_err() {
                break;
            }
        }
        if let Some(counter) = counter {
            self.record(counter.finish(is_ended)).await;
        }
        if !is_ended {
            let _ = sender.send(Portion::Cut).await;
        }
    }

    async fn pass_on_refusal(&self, mut answer: RelayedAnswer, sender: Sender<Portion>) {
        let mut start = Vec::new();
        while let Some(Ok(bytes)) = next(&mut answer, &sender).await {
            let room = MOST_REFUSAL.saturating_sub(start.len()).min(bytes.len());
            start.extend_from_slice(bytes.get(..room).unwrap_or_default());
            if sender.send(Portion::Bytes(bytes)).await.is_err() {
                break;
            }
        }
        let failure = self.metered.relay.refusal(answer.status, &start);
        self.reading().failure = Some(failure);
    }

    /// Records an answer as the built-in engine records its own.
    async fn record(&self, counted: CountedAnswer) {
        let CountedAnswer {
            answer,
            usage,
            is_whole,
        } = counted;
        let blocks = answer.as_ref().map_or(&[][..], |answer| &answer.blocks);
        let is_call = |block: &&Block| matches!(block, Block::ToolUse { .. });
        let calls = blocks.iter().filter(is_call).count() as u64;
        {
            let mut reading = self.reading();
            let cut = "the answer ended before its end was sent".to_owned();
            reading.failure = (!is_whole).then_some((ModelFailure::CutStream, cut));
            reading.turns += u64::from(is_whole);
            reading.calls += calls;
        }
        // Of an answer that was cut only the usage is recorded.
        if !is_whole && usage == Usage::default() {
            return;
        }
        let blocks = serde_json::to_value(blocks).unwrap_or_default();
        let (content, artifacts) = body(blocks);
        let stop = answer.and_then(|answer| serde_json::to_value(&answer.stop).ok());
        let stop = stop.and_then(|stop| stop.as_str().map(str::to_owned));
        let unknown = if is_whole { "endTurn" } else { "cut" };
        let turn = Turn {
            content,
            usage,
            stop: stop.unwrap_or_else(|| unknown.to_owned()),
            added: self.added().take(),
        };
        let metered = &self.metered;
        let draft = Draft {
            fact: Fact::Turned {
                of: metered.of.clone(),
                epoch: metered.epoch,
                turn,
            },
            artifacts,
            at: now(),
        };
        let Ok(appended) = append(&metered.store, &metered.run, draft).await else {
            // Another process drives this child, or none does.
            self.reading().is_not_ours = true;
            return metered.stop.tell(true);
        };
        if appended.is_stopping {
            metered.stop.tell(false);
        }
        if !appended.step.opened.is_empty() {
            let _ = metered.news.send(metered.run.clone());
        }
        for other in appended.others {
            let _ = metered.news.send(other);
        }
    }
}

/// Returns the next bytes of an answer. A program that does not listen any more has hung up, also in the middle of silence.
async fn next(answer: &mut RelayedAnswer, sender: &Sender<Portion>) -> Option<Result<Bytes, ()>> {
    tokio::select! {
        () = sender.closed() => Some(Err(())),
        next = answer.next() => next,
    }
}

async fn pass_on_rest(mut answer: RelayedAnswer, sender: &Sender<Portion>) {
    while let Some(Ok(bytes)) = next(&mut answer, sender).await {
        if sender.send(Portion::Bytes(bytes)).await.is_err() {
            return;
        }
    }
}

/// A piece of an answer.
enum Portion {
    Bytes(Bytes),
    /// The provider's connection was lost, so the program's is cut too.
    Cut,
}

/// The body that a program reads.
struct PassedOn(Receiver<Portion>);

impl Body for PassedOn {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.0.poll_recv(context).map(|portion| match portion? {
            Portion::Bytes(bytes) => Some(Ok(Frame::data(bytes))),
            Portion::Cut => Some(Err(std::io::ErrorKind::UnexpectedEof.into())),
        })
    }
}
