//! `grove mcp --http` in the background, ended when it is dropped.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use grove_testkit::home::TestHome;

/// It says where it listens within milliseconds.
const START: Duration = Duration::from_secs(30);

pub(crate) struct HttpServer {
    child: Child,
    pub(crate) url: String,
    pub(crate) token: String,
}

impl HttpServer {
    pub(crate) fn start(home: &TestHome, arguments: &[&str]) -> Self {
        let mut command = home.command("home/work");
        command.arg("mcp").args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        // A thread of its own, so that a server which says nothing does not stop the test.
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let said = |start: &str| {
            let line = lines.recv_timeout(START).unwrap_or_default();
            let rest = line.strip_prefix(start);
            rest.unwrap_or_else(|| panic!("expected {start:?}, heard {line:?}"))
                .to_owned()
        };
        let url = said("serving skills at ");
        let token = said("authorization: Bearer ");
        Self { child, url, token }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
