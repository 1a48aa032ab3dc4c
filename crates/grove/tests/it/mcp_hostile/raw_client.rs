//! A client that sends whatever a test wants to `grove mcp`, and hears what comes back.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use grove_testkit::home::TestHome;
use serde_json::{Value, json};

/// An answer takes milliseconds; a busy machine is slower.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

pub(crate) struct RawClient {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    reading: Arc<AtomicBool>,
}

impl RawClient {
    /// Starts the server and says nothing.
    pub(crate) fn start(home: &TestHome) -> Self {
        let mut command = home.command("home/work");
        command
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        let reading = Arc::new(AtomicBool::new(true));
        let goes_on = Arc::clone(&reading);
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
                while !goes_on.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            lines,
            reading,
        }
    }

    /// Starts the server and shakes hands.
    pub(crate) fn connect(home: &TestHome) -> Self {
        let mut client = Self::start(home);
        client.send(&json!({
            "jsonrpc": "2.0", "id": "hello", "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "hostile", "version": "1" },
            },
        }));
        assert!(client.answer(&json!("hello"))["result"]["capabilities"].is_object());
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(message.to_string().as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin
            .write_all(line)
            .and_then(|()| stdin.write_all(b"\n"))
            .unwrap();
        stdin.flush().unwrap();
    }

    /// The next message.
    pub(crate) fn next(&self, wait: Duration) -> Option<Value> {
        let line = self.lines.recv_timeout(wait).ok()?;
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

    /// The answer to a request, passing over everything else.
    pub(crate) fn answer(&self, id: &Value) -> Value {
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
        self.send(&activate("well?"));
        let answer = self.answer(&json!("well?"));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("Pivot with care."), "{answer}");
    }

    /// Closes stdin and waits for the end; the exit code.
    pub(crate) fn leave(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.ended()
    }

    /// The exit code once it ended.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let end = Instant::now() + WAIT;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server did not end");
    }

    /// Memory that the server holds, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().unwrap() * 1024
    }

    /// Reads no more of what the server says.
    pub(crate) fn stop_reading(&mut self) {
        self.reading.store(false, Ordering::SeqCst);
    }

    /// Sends a message again and again, at most for some time; how often it was sent.
    pub(crate) fn send_for(&mut self, message: &Value, most: usize, time: Duration) -> usize {
        let mut stdin = self.stdin.take().unwrap();
        let line = format!("{message}\n");
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        let sending = std::thread::spawn(move || {
            for _ in 0..most {
                if stdin.write_all(line.as_bytes()).is_err() {
                    return;
                }
                count.fetch_add(1, Ordering::SeqCst);
            }
            // The server is to see an open pipe while it is looked at.
            std::thread::sleep(time);
        });
        let end = Instant::now() + time;
        while Instant::now() < end && !sending.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
        }
        sent.load(Ordering::SeqCst)
    }

    pub(crate) fn stdin(&mut self) -> &mut ChildStdin {
        self.stdin.as_mut().unwrap()
    }
}

impl Drop for RawClient {
    fn drop(&mut self) {
        self.reading.store(true, Ordering::SeqCst);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A call that gives the whole leaf every time.
pub(crate) fn activate(id: impl Into<Value>) -> Value {
    json!({
        "jsonrpc": "2.0", "id": id.into(), "method": "tools/call",
        "params": { "name": "skill", "arguments": { "name": "pivot", "again": true } },
    })
}
