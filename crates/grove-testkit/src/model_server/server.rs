//! The server itself: connections, what was asked, what is answered.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Format;
use super::delivery::{Delivered, deliver};
use super::http::{self, Answer, Request};
use super::script::{Delivery, Script, Tried};

/// A client that is silent for so long is gone.
const READ_LIMIT: Duration = Duration::from_mins(1);
/// How many requests are kept, and how many bytes of them; what comes after is answered and only counted.
const MOST_REQUESTS: usize = 10_000;
const MOST_BYTES: usize = 256 << 20;
/// More connections than this at once are a program that leaks them.
const MOST_CONNECTIONS: usize = 20_000;

/// What a server did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Connections that were made.
    pub connections: u64,
    /// Connections that are open.
    pub open: u64,
    /// Requests that came.
    pub requests: u64,
    /// Replies of a model that were begun.
    pub replies: u64,
    /// Replies that were sent to their end.
    pub delivered: u64,
    /// Clients that wait for what will not come.
    pub hanging: u64,
    /// Clients that closed their connection before the reply's end.
    pub abandoned: u64,
}

#[derive(Debug)]
pub(super) struct State {
    script: Script,
    changing: Mutex<Changing>,
    /// Signalled when a request arrives or a count changes.
    pub(super) changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct Changing {
    pub(super) requests: Vec<Request>,
    bytes: usize,
    /// Replies of the script's list that were given.
    n_listed: usize,
    tried: Tried,
    pub(super) stats: Stats,
}

impl State {
    pub(super) fn new(script: Script) -> Self {
        Self {
            script,
            changing: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Changing> {
        // A test that panicked while it held the lock leaves nothing half done.
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, change: impl FnOnce(&mut Stats)) {
        change(&mut self.lock().stats);
        self.changed.notify_all();
    }
}

/// Answers connections until it is dropped.
pub(super) async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut serving = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptor is left; one may be in a moment.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        while serving.try_join_next().is_some() {}
        if serving.len() >= MOST_CONNECTIONS {
            continue;
        }
        let shared = Arc::clone(&state);
        shared.count(|stats| {
            stats.connections += 1;
            stats.open += 1;
        });
        serving.spawn(async move {
            // A client that hangs up or sends nonsense ends its own connection and nothing else.
            let _ = serve(stream, &shared).await;
            shared.count(|stats| stats.open -= 1);
        });
    }
}

async fn serve(stream: TcpStream, state: &State) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let read = timeout(READ_LIMIT, http::read(&mut reader, &mut writer));
        let Some(request) = read.await?? else {
            return Ok(());
        };
        let (answer, delivery) = answer(&request, state);
        let is_reply = Format::of(&request).is_some();
        let delivered = deliver(answer, &delivery, &mut writer).await;
        if is_reply {
            let is_whole = matches!(delivered, Ok(Delivered::Whole));
            state.count(|stats| {
                stats.delivered += u64::from(is_whole);
                stats.abandoned += u64::from(delivered.is_err());
            });
        }
        match delivered? {
            Delivered::Whole if request.closes() => return Ok(()),
            Delivered::Whole => {}
            Delivered::Cut => return Ok(()),
            Delivered::Hanging => {
                state.count(|stats| stats.hanging += 1);
                // Nothing more is expected: what comes is the client's end.
                let _ = reader.fill_buf().await;
                state.count(|stats| {
                    stats.hanging -= 1;
                    stats.abandoned += 1;
                });
                return Ok(());
            }
        }
    }
}

/// Records a request and makes its answer.
fn answer(request: &Request, state: &State) -> (Answer, Delivery) {
    if let Some(told) = told_about_itself(request, state) {
        return (Answer::json(200, &told), Delivery::default());
    }
    let format = Format::of(request);
    let marked = format.and_then(|_| state.script.marked_reply(request));
    let (serial, number, again) = {
        let mut changing = state.lock();
        changing.stats.requests += 1;
        if changing.requests.len() < MOST_REQUESTS && changing.bytes < MOST_BYTES {
            changing.bytes += request.body.len();
            changing.requests.push(request.clone());
        }
        let serial = changing.stats.replies as usize;
        let number = changing.n_listed;
        let mut again = 0;
        if format.is_some() {
            changing.stats.replies += 1;
            changing.n_listed += usize::from(marked.is_none());
            again = changing.tried.again(request);
        }
        state.changed.notify_all();
        (serial, number, again)
    };
    let Some(format) = format else {
        return (beside(request), Delivery::default());
    };
    let reply = marked.unwrap_or_else(|| state.script.reply(number, request));
    let reply = reply.of_try(again);
    let answer = format.answer(&reply, &request.json(), serial);
    (answer, reply.delivery)
}

/// What the server was asked and did, for whoever started it as a program.
fn told_about_itself(request: &Request, state: &State) -> Option<Value> {
    if request.method != "GET" {
        return None;
    }
    match request.path.as_str() {
        "/requests" => {
            let changing = state.lock();
            Some(changing.requests.iter().map(Request::described).collect())
        }
        "/stats" => Some(json!(state.lock().stats)),
        _ => None,
    }
}

/// What is asked beside the conversation itself.
fn beside(request: &Request) -> Answer {
    if request.path.ends_with("/messages/count_tokens") {
        return Answer::json(
            200,
            &json!({ "input_tokens": request.body.len().div_ceil(4) }),
        );
    }
    if request.path.ends_with(":countTokens") {
        let tokens = request.body.len().div_ceil(4);
        return Answer::json(200, &json!({ "totalTokens": tokens }));
    }
    if request.method == "GET" && request.path.ends_with("/models") {
        let model = json!({
            "id": "fake-model",
            "object": "model",
            "type": "model",
            "display_name": "fake-model",
            "created": 0,
            "owned_by": "test",
        });
        return Answer::json(
            200,
            &json!({ "object": "list", "data": [model], "has_more": false }),
        );
    }
    if request.method == "HEAD" {
        return Answer::json(200, &json!({}));
    }
    Answer::json(
        404,
        &json!({ "error": { "type": "not_found_error", "message": "no such path" } }),
    )
}
