//! A model server on loopback that answers as it is told and remembers what it was asked.
//!
//! It speaks the wire formats of Anthropic Messages, of `OpenAI` Responses and Chat Completions, streamed
//! and not, so that real agent programs run against it without a network. It knows nothing of
//! models: what it answers is a [`Script`].

mod anthropic;
mod chat;
mod events;
mod http;
mod responses;
mod script;

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::json;

pub use http::Request;
pub use script::{Reply, Script, ToolCall};

use http::Answer;

/// A client that is silent for so long is gone.
const READ_LIMIT: Duration = Duration::from_mins(1);
/// More requests than this are a program that does not stop.
const MOST_REQUESTS: usize = 10_000;
/// More connections than this at once are a program that leaks them.
const MOST_CONNECTIONS: usize = 256;

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    script: Script,
    changing: Mutex<Changing>,
}

#[derive(Debug, Default)]
struct Changing {
    requests: Vec<Request>,
    /// Replies of the script that were given.
    n_replies: usize,
    is_stopped: bool,
    /// Open connections by number, to be shut when the server ends.
    connections: Vec<(u64, TcpStream)>,
    n_connections: u64,
    threads: Vec<JoinHandle<()>>,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Changing> {
        // A test that panicked while it held the lock leaves nothing half done.
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelServer {
    /// Starts a server on a port that the system chooses.
    pub fn start(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            script,
            changing: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        let accepting = thread::Builder::new()
            .name("model-server".to_owned())
            .spawn(move || accept(&listener, &shared))?;
        Ok(Self {
            address,
            state,
            accepting: Some(accepting),
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
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        let open = {
            let mut changing = self.state.lock();
            changing.is_stopped = true;
            std::mem::take(&mut changing.connections)
        };
        for (_, stream) in open {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // The listener waits in the kernel; a connection wakes it.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        let threads = std::mem::take(&mut self.state.lock().threads);
        for thread in threads {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, state: &Arc<State>) {
    while let Ok((stream, _)) = listener.accept() {
        let mut changing = state.lock();
        if changing.is_stopped {
            return;
        }
        changing.threads.retain(|thread| !thread.is_finished());
        if changing.connections.len() >= MOST_CONNECTIONS {
            continue;
        }
        let Ok(copy) = stream.try_clone() else {
            continue;
        };
        let number = changing.n_connections;
        changing.n_connections += 1;
        changing.connections.push((number, copy));
        let shared = Arc::clone(state);
        changing.threads.push(thread::spawn(move || {
            // A client that hangs up or sends nonsense ends its own connection and nothing else.
            let _ = serve(stream, &shared);
            let mut changing = shared.lock();
            changing.connections.retain(|(open, _)| *open != number);
        }));
    }
}

fn serve(stream: TcpStream, state: &State) -> io::Result<()> {
    stream.set_read_timeout(Some(READ_LIMIT))?;
    stream.set_write_timeout(Some(READ_LIMIT))?;
    stream.set_nodelay(true)?;
    let mut reader = io::BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some(request) = http::read(&mut reader, &mut writer)? {
        answer(&request, state).write(&mut writer)?;
        if request.closes() {
            break;
        }
    }
    Ok(())
}

/// Records a request and makes its answer.
fn answer(request: &Request, state: &State) -> Answer {
    let format = Format::of(request);
    let reply = {
        let mut changing = state.lock();
        if changing.requests.len() >= MOST_REQUESTS {
            return Answer::json(429, &json!({"error": {"message": "too many requests"}}));
        }
        let reply = format.map(|_| {
            let number = changing.n_replies;
            changing.n_replies += 1;
            number
        });
        changing.requests.push(request.clone());
        reply
    };
    // A script may take its time; the lock is not held meanwhile.
    match (format, reply) {
        (Some(format), Some(number)) => {
            let reply = state.script.reply(number, request);
            let asked = request.json();
            match format {
                Format::Anthropic => anthropic::answer(&reply, &asked, number),
                Format::Responses => responses::answer(&reply, &asked, number),
                Format::Chat => chat::answer(&reply, &asked, number),
            }
        }
        _ => beside(request),
    }
}

/// The wire format that a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Anthropic,
    Responses,
    Chat,
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
        ]
        .into_iter()
        .find(|(end, _)| request.path.ends_with(end))
        .map(|(_, format)| format)
    }
}

/// What is asked beside the conversation itself.
fn beside(request: &Request) -> Answer {
    if request.path.ends_with("/messages/count_tokens") {
        let tokens = request.body.len().div_ceil(4);
        return Answer::json(200, &json!({ "input_tokens": tokens }));
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
        let list = json!({ "object": "list", "data": [model], "has_more": false });
        return Answer::json(200, &list);
    }
    if request.method == "HEAD" {
        return Answer::json(200, &json!({}));
    }
    script::error(404, "no such path")
}
