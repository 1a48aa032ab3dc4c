//! The live page with the real binary and a real browser: who gets in, what is seen, and what is done.

mod getting_in;
mod large;
mod library;
mod one_run;
mod pictures;
mod reading;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use grove_testkit::browser::{BrowserPage, BrowserPerson};
use grove_testkit::model_server::{ModelServer, Reply, Script, ScriptedReply};
use grove_testkit::session::Session;
use serde_json::{Value, json};

use crate::run_sessions::within;

/// Far more than anything of a page takes, however busy the machine is.
const LIMIT: Duration = Duration::from_secs(30);

/// The page of a session while it is served.
struct ServedPage {
    process: Child,
    /// The link that it printed.
    link: String,
}

impl ServedPage {
    fn start(session: &Session, arguments: &[&str]) -> Self {
        let mut command = session.command("project");
        command.args(["web", "--no-open"]).args(arguments);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let link = lines.next().unwrap().unwrap();
        Self { process, link }
    }

    /// The address below which all pages lie.
    fn base(&self) -> String {
        self.link.split("/in/").next().unwrap().to_owned()
    }

    fn port(&self) -> u16 {
        let rest = self.link.strip_prefix("http://127.0.0.1:").unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    }

    /// Ends the process without a chance to do anything.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for ServedPage {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A page of a person who follows a link first.
fn page_of(person: &BrowserPerson, link: &str) -> BrowserPage {
    let page = person.page();
    assert_eq!(page.open(link), 200, "{link}");
    page
}

/// Another link to the page.
fn another_link(session: &Session, words: &str) -> String {
    let link = session.grove(&format!("web link {words}")).ok();
    link.stdout.trim().to_owned()
}

/// The first message of a conversation and the number of answers since the last message of the person's.
fn asked(request: &Value) -> (String, String, usize) {
    let messages = request["messages"].as_array().unwrap();
    let text = |message: &Value| {
        let blocks = message["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        texts.join("\n")
    };
    let first = text(&messages[0]);
    let told = messages
        .iter()
        .rposition(|message| message["role"] == "user" && !text(message).is_empty());
    let told = told.unwrap();
    let turns = messages[told..]
        .iter()
        .filter(|message| message["role"] == "assistant");
    (first, text(&messages[told]), turns.count())
}

/// A model that answers by the first message of a conversation, its last words and the answers since.
fn model<R: Into<ScriptedReply>>(
    choose: impl Fn(&str, &str, usize) -> R + Send + Sync + 'static,
) -> ModelServer {
    let script = Script::chosen_by(move |_, request| {
        let request: Value = serde_json::from_slice(&request.body).unwrap();
        let (first, last, turns) = asked(&request);
        choose(&first, &last, turns)
    });
    ModelServer::start(script).unwrap()
}

/// A session with a model and an agent that has every tool.
fn scene(server: &ModelServer) -> Session {
    let session = crate::session()
        .without_bundled()
        .with_env("ANTHROPIC_BASE_URL", server.url())
        .with_env("ANTHROPIC_API_KEY", "sk-marker-0123456789abcdef");
    let tools = "tools: read, write, bash, contact_supervisor\n";
    session.definition("home/.grove/agents/worker.md", tools, "You work.");
    session
}

fn bash(command: &str) -> Reply {
    Reply::call("bash", json!({ "command": command }))
}

/// The bodies of all requests to a model in which a text occurs.
fn requests_with(server: &ModelServer, text: &str) -> usize {
    let requests = server.requests();
    let bodies = requests
        .iter()
        .map(|request| String::from_utf8_lossy(&request.body).into_owned());
    bodies.filter(|body| body.contains(text)).count()
}

/// Waits until something holds.
fn until(what: &str, holds: impl FnMut() -> bool) {
    within(LIMIT, what, holds);
}
