//! `grove mcp --http` in the background, ended when it is dropped.

use std::process::Stdio;
use std::time::Duration;

use grove_testkit::process::Running;
use grove_testkit::session::Session;

/// It says where it listens within milliseconds.
const START: Duration = Duration::from_secs(30);

pub(crate) struct HttpServer {
    _running: Running,
    pub(crate) url: String,
    pub(crate) token: String,
}

impl HttpServer {
    pub(crate) fn start(session: &Session, arguments: &[&str]) -> Self {
        let mut command = session.command("home/work");
        command
            .arg("mcp")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let running = Running::start(&mut command, 1_000).unwrap();
        let said = |start: &str| {
            let line = running.line(START).unwrap_or_default();
            let rest = line.strip_prefix(start).map(str::to_owned);
            rest.unwrap_or_else(|| panic!("expected {start:?}, heard {line:?}"))
        };
        Self {
            url: said("serving skills at "),
            token: said("authorization: Bearer "),
            _running: running,
        }
    }

    pub(crate) fn address_and_path(&self) -> (&str, &str) {
        let address = self.url.strip_prefix("http://").unwrap();
        address.split_once('/').unwrap()
    }
}
