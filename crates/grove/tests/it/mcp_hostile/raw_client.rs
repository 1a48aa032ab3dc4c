//! A client that sends whatever a test wants to `grove mcp`, and hears what comes back.

use std::io::Write as _;
use std::process::{ChildStdin, Stdio};
use std::time::{Duration, Instant};

use grove_testkit::process::{Ending, Running};
use grove_testkit::session::Session;
use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::{Value, json};

/// An answer takes milliseconds; a busy machine is slower.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// A server that has taken nothing for so long does not read any more.
const NOT_TAKEN: Timespec = Timespec {
    tv_sec: 2,
    tv_nsec: 0,
};

/// As many lines as any test leaves unread on purpose.
const AHEAD: usize = 1_000;

pub(crate) struct RawClient {
    server: Running,
    stdin: Option<ChildStdin>,
}

impl RawClient {
    /// Starts the server and says nothing; no more than so many lines are read ahead.
    pub(crate) fn start(session: &Session, ahead: usize) -> Self {
        let mut command = session.command("home/work");
        command
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut server = Running::start(&mut command, ahead).unwrap();
        let stdin = server.child.stdin.take();
        Self { server, stdin }
    }

    /// Starts the server and shakes hands.
    pub(crate) fn connect(session: &Session) -> Self {
        Self::connect_reading(session, AHEAD)
    }

    /// The same with another limit of lines that are read ahead.
    pub(crate) fn connect_reading(session: &Session, ahead: usize) -> Self {
        Self::connect_with(session, ahead, &hello())
    }

    /// The same as a client that calls itself so.
    pub(crate) fn connect_as(session: &Session, name: &str) -> Self {
        Self::connect_with(session, AHEAD, &hello_from(name))
    }

    fn connect_with(session: &Session, ahead: usize, hello: &Value) -> Self {
        let mut client = Self::start(session, ahead);
        let answer = client.ask(hello);
        assert!(answer["result"]["capabilities"].is_object(), "{answer}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(message.to_string().as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, line: &[u8]) {
        let line = [line, b"\n"].concat();
        self.stdin().write_all(&line).unwrap();
    }

    /// The next message.
    pub(crate) fn next(&self, wait: Duration) -> Option<Value> {
        let line = self.server.line(wait)?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// The next answer to a request, passing over what the server says of itself.
    pub(crate) fn next_answer(&self) -> Value {
        loop {
            let message = self.next(WAIT).unwrap();
            if !message["id"].is_null() {
                return message;
            }
        }
    }

    /// Sends a request and gives its answer, passing over everything else.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.send(request);
        self.answer(&request["id"])
    }

    fn answer(&self, id: &Value) -> Value {
        let end = Instant::now() + WAIT;
        while let Some(message) = self.next(end.saturating_duration_since(Instant::now())) {
            if message["id"] == *id {
                return message;
            }
        }
        panic!("no answer to {id}");
    }

    /// Shows that the server still does what it is for.
    pub(crate) fn assert_well(&mut self) {
        let answer = self.ask(&activate("well?"));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("Pivot with care."), "{answer}");
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn leave(mut self) -> Ending {
        drop(self.stdin.take());
        self.server.end(WAIT).unwrap()
    }

    /// Memory that the server holds, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.server.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().unwrap() * 1024
    }

    /// Sends a message again and again until the server takes no more, or so often; how often it was sent.
    pub(crate) fn send_until_full(&mut self, message: &Value, most: usize) -> usize {
        let line = format!("{message}\n");
        let takes_more = |stdin: &mut ChildStdin| {
            let mut asked = [PollFd::new(&*stdin, PollFlags::OUT)];
            let is_ready = rustix::event::poll(&mut asked, Some(&NOT_TAKEN)).unwrap() > 0;
            // A pipe that is ready takes a short line without waiting.
            is_ready && stdin.write_all(line.as_bytes()).is_ok()
        };
        let stdin = self.stdin();
        (0..most).take_while(|_| takes_more(stdin)).count()
    }

    pub(crate) fn stdin(&mut self) -> &mut ChildStdin {
        self.stdin.as_mut().unwrap()
    }
}

/// A request with this id.
pub(crate) fn request(id: impl Into<Value>, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

/// The first request of a connection.
pub(crate) fn hello() -> Value {
    hello_from("hostile")
}

fn hello_from(name: &str) -> Value {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": name, "version": "1" },
    });
    request("hello", "initialize", &params)
}

/// A call of the tool that gives skills.
pub(crate) fn call(id: impl Into<Value>, arguments: &Value) -> Value {
    let params = json!({ "name": "skill", "arguments": arguments });
    request(id, "tools/call", &params)
}

/// A call that gives the whole leaf every time.
pub(crate) fn activate(id: impl Into<Value>) -> Value {
    call(id, &json!({ "name": "pivot", "again": true }))
}
