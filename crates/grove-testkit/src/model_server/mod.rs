//! A model server on loopback that answers as it is told and remembers what it was asked.
//!
//! It speaks the wire formats of Anthropic Messages, of `OpenAI` Responses and Chat Completions and of Google's
//! `generateContent`, streamed and not, so that real agent programs run against it without a network. It knows nothing of
//! models: what it answers is a [`Script`]. It is also a program of its own, `grove-model-server`.

mod anthropic;
mod chat;
mod conversation;
mod delivery;
mod events;
mod google;
mod http;
mod responses;
mod script;
mod server;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub use http::Request;
pub use script::{
    Delivery, MarkedReplies, Reply, Script, ScriptFile, ScriptedError, ScriptedReply, TokenCounts,
    ToolCall,
};
pub use server::Stats;

use http::Answer;
use server::{Changing, State, accept};

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<State>,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts a server on a port that the system chooses.
    pub fn start(script: Script) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::new(script));
        let shared = Arc::clone(&state);
        let (stop, stopped) = oneshot::channel::<()>();
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_io().enable_time().build()?;
        let serving = thread::Builder::new()
            .name("model-server".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    let Ok(listener) = TcpListener::from_std(listener) else {
                        return;
                    };
                    let accepting = tokio::spawn(accept(listener, shared));
                    let _ = stopped.await;
                    accepting.abort();
                    let _ = accepting.await;
                });
            })?;
        Ok(Self {
            address,
            state,
            stop: Some(stop),
            serving: Some(serving),
        })
    }

    /// Where it listens, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything it was asked so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().requests.clone()
    }

    /// What it did so far.
    pub fn stats(&self) -> Stats {
        self.state.lock().stats
    }

    /// Waits until the first request for which `wanted` holds has arrived, at most for `limit`.
    pub fn wait_for(&self, limit: Duration, wanted: impl Fn(&Request) -> bool) -> Option<Request> {
        self.wait(limit, |changing| {
            let mut requests = changing.requests.iter();
            requests.find(|request| wanted(request)).cloned()
        })
    }

    /// Waits until `wanted` holds for what it did, at most for `limit`.
    pub fn wait_for_stats(
        &self,
        limit: Duration,
        wanted: impl Fn(&Stats) -> bool,
    ) -> Option<Stats> {
        self.wait(limit, |changing| Some(changing.stats).filter(&wanted))
    }

    fn wait<T>(&self, limit: Duration, mut look: impl FnMut(&Changing) -> Option<T>) -> Option<T> {
        let end = Instant::now() + limit;
        let mut changing = self.state.lock();
        loop {
            if let Some(found) = look(&changing) {
                return Some(found);
            }
            let left = end.checked_duration_since(Instant::now())?;
            (changing, _) = self
                .state
                .changed
                .wait_timeout(changing, left)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

/// Serves `listener` until it is dropped, with as many threads as the runtime has: for the program.
pub async fn serve(listener: TcpListener, script: Script) {
    accept(listener, Arc::new(State::new(script))).await;
}

/// The wire format that a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Responses.
    Responses,
    /// `OpenAI` Chat Completions.
    Chat,
    /// Google's `generateContent`.
    Google,
    /// Google's `streamGenerateContent`.
    GoogleStream,
}

impl Format {
    fn of(request: &Request) -> Option<Self> {
        if request.method != "POST" {
            return None;
        }
        [
            ("/messages", Self::Anthropic),
            ("/responses", Self::Responses),
            ("/chat/completions", Self::Chat),
            (":generateContent", Self::Google),
            (":streamGenerateContent", Self::GoogleStream),
        ]
        .into_iter()
        .find(|(end, _)| request.path.ends_with(end))
        .map(|(_, format)| format)
    }

    fn answer(self, reply: &ScriptedReply, asked: &serde_json::Value, number: usize) -> Answer {
        match self {
            Self::Anthropic => anthropic::answer(reply, asked, number),
            Self::Responses => responses::answer(reply, asked, number),
            Self::Chat => chat::answer(reply, asked, number),
            Self::Google | Self::GoogleStream => {
                google::answer(reply, self == Self::GoogleStream, number)
            }
        }
    }

    /// The bytes of a reply that is streamed, or of a failure's body: for tests of decoders.
    pub fn stream(self, reply: &ScriptedReply) -> Vec<u8> {
        let asked = serde_json::json!({ "model": "fake-model", "stream": true });
        match self.answer(reply, &asked, 0) {
            Answer::Whole { body, .. } => body,
            Answer::Stream(events) => events.concat(),
        }
    }
}
