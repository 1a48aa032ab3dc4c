//! Everything that `grove mcp` serves, asked for by the official SDK for Python, over both transports and in
//! both generations of the protocol.

pub(crate) mod http_server;
pub(crate) mod library;

use std::process::Command;
use std::time::Duration;

use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::process;
use grove_testkit::session::Session;
use http_server::HttpServer;
use library::SKILLS;

/// Each run takes some seconds; only a hanging one meets this.
const LIMIT: Duration = Duration::from_mins(5);

/// Runs the client in the home's environment; its last line says that all checks were made.
fn ask(home: &Session, arguments: &[&str]) {
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp_sdk/client.py");
    let program = home.command("home/work");
    let mut command = Command::new(Need::McpPython.path());
    command.arg(client).args(arguments).env_clear();
    command.current_dir(home.path("home/work"));
    let variables = program.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    let finished = process::capture(&mut command, LIMIT).unwrap();
    let said = finished.stdout_text();
    assert!(
        finished.success() && said.ends_with("done\n"),
        "{arguments:?}\n{said}\n{}",
        finished.stderr_text()
    );
}

fn over_stdio(mode: &str) {
    let home = library::make();
    let skills = home.path(SKILLS);
    let arguments = [
        "stdio",
        mode,
        skills.to_str().unwrap(),
        env!("CARGO_BIN_EXE_grove"),
    ];
    ask(&home, &arguments);
}

fn over_http(mode: &str) {
    let home = library::make();
    let skills = home.path(SKILLS);
    let server = HttpServer::start(&home, &["--http"]);
    let arguments = [
        "http",
        mode,
        skills.to_str().unwrap(),
        &server.url,
        &server.token,
    ];
    ask(&home, &arguments);
}

#[test]
fn stdio_with_a_handshake() {
    needs![McpPython];
    over_stdio("legacy");
}

#[test]
fn stdio_with_the_newest_protocol() {
    needs![McpPython];
    over_stdio("auto");
}

#[test]
fn http_with_a_handshake() {
    needs![McpPython];
    over_http("legacy");
}

#[test]
fn http_with_the_newest_protocol() {
    needs![McpPython];
    over_http("auto");
}
