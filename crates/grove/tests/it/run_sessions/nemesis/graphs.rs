//! `kill -9` at every point of a graph: a chain with a child for each item of a list, each in a working tree of its own and
//! each asking another agent, and with an agent program as the last step. Afterwards everybody has one end, every patch is
//! there, and nothing is left: no process, no lease, no working tree.
//!
//! `cargo xtask nemesis graph` goes through all points, and `--random N` through so many moments ([`moments`]).

mod moments;

use std::fmt;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use grove_store::{RunFilter, Store};
use grove_testkit::model_server::{ModelServer, Reply, Request, Script};
use grove_testkit::session::{PATH, Session, USER_CONFIG};
use serde_json::{Value, json};

use super::super::engines::installed;
use super::super::{AGENT, KEY, bash, end_all, environments};
use super::{
    AFTERWARDS, ALL, CALLS, end_trace, go_through, injected, most_of_one, points_of, supervisor,
    traced, wait_for, was_killed,
};

/// Where somebody is killed.
enum Point {
    /// The supervisor's tree, when one of it enters a system call for the nth time.
    Supervisor(String, usize),
    /// The view, likewise.
    Client(String, usize),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Supervisor(call, n) => write!(f, "supervisor at {call} {n}"),
            Self::Client(call, n) => write!(f, "client at {call} {n}"),
        }
    }
}

struct Graph {
    _server: ModelServer,
    session: Session,
}

/// The first words of a child's task, and how many turns it has had.
fn asked(request: &Request) -> (String, usize) {
    let body = request.json();
    if let Some(items) = body["input"].as_array() {
        // The program's, whose provider speaks another interface.
        let called = |item: &&Value| item["type"] == "function_call";
        return (
            "by a program".to_owned(),
            items.iter().filter(called).count(),
        );
    }
    let text = body["messages"][0]["content"][0]["text"].as_str();
    let first = text.and_then(|text| text.lines().next());
    let turns = body["messages"].as_array().map_or(0, Vec::len) / 2;
    (first.unwrap_or_default().to_owned(), turns)
}

fn answer(request: &Request) -> Reply {
    let (first, turns) = asked(request);
    match (first.as_str(), turns) {
        ("Which?", _) => {
            let items = json!({ "items": [{ "key": "a" }, { "key": "b" }] });
            Reply::call("structured_output", items)
        }
        ("by a program", 0) => Reply::call(
            "exec_command",
            json!({ "cmd": "echo ran >> summed; sleep 0.1" }),
        ),
        (line, 0) if line.starts_with("Do ") => bash("echo ran >> ran; sleep 0.1"),
        (line, 1) if line.starts_with("Do ") => {
            Reply::call("subagent", json!({ "agent": "judge", "task": "Look" }))
        }
        (line, _) => Reply::text(format!("<{line}>")),
    }
}

impl Graph {
    fn new() -> Self {
        let server = ModelServer::start(Script::chosen_by(|_, request| answer(request))).unwrap();
        let session = crate::session();
        let path = format!("{}:{PATH}", session.path("bin").display());
        let session = session
            .with_env("PATH", path)
            .with_env("ANTHROPIC_BASE_URL", server.url())
            .with_env("ANTHROPIC_API_KEY", KEY)
            .with_env("TEST_KEY", KEY);
        session.dir("bin").dir("project");
        symlink(installed("GROVE_TEST_CODEX"), session.path("bin/codex")).unwrap();
        let providers = format!(
            "[runs]\nmodel = 'anthropic/m'\n\n[providers.other]\napi = \"openai-responses\"\nbase_url = \"{}/v1\"\n\
             key = {{ env = \"TEST_KEY\" }}\n",
            server.url()
        );
        session.file(USER_CONFIG, providers);
        session.definition(AGENT, "tools: read, write, bash\n", "You work.");
        session.definition("home/.grove/agents/judge.md", "", "You judge.");
        let tools = "tools: read, write, bash, subagent\n";
        session.definition("home/.grove/agents/boss.md", tools, "You lead.");
        let request = json!({
            "task": "Which?",
            "worktree": true,
            "chain": [
                { "agent": "judge", "as": "found", "outputSchema": { "type": "object" } },
                {
                    "expand": { "from": { "output": "found", "path": "/items" }, "key": "/key", "maxItems": 2 },
                    "parallel": { "agent": "boss", "task": "Do {item.key}" },
                    "collect": { "as": "done" },
                },
                { "agent": "worker", "task": "Sum up", "engine": "codex", "model": "other/claude-sonnet-4-5" },
            ],
        });
        session.file("project/request.json", request.to_string());
        super::first_commit(&session);
        Self {
            _server: server,
            session,
        }
    }

    /// The same with another environment.
    fn with_session(mut self, change: impl FnOnce(Session) -> Session) -> Self {
        let session = std::mem::replace(&mut self.session, crate::session());
        self.session = change(session);
        self
    }

    fn words(more: &[&'static str]) -> Vec<&'static str> {
        [&["run", "--request", "request.json"], more].concat()
    }

    /// Everybody has one end, and nothing is left.
    fn check(&self, run: &str) -> Result<(), String> {
        let waited = self
            .session
            .grove(["runs", "wait", run, "--timeout", "50", "--json"]);
        let over = Instant::now();
        let last = waited.stdout.lines().last().unwrap_or_default();
        let shown: Value =
            serde_json::from_str(last).map_err(|error| format!("{error}: {waited}"))?;
        // Where every git is killed, no working tree can be made, and that is said.
        let reason = shown["reason"].as_str().unwrap_or_default();
        let is_of_git = shown["cause"]["kind"] == "isolation" && reason.contains("signal 9");
        let nodes = shown["nodes"].as_array().cloned().unwrap_or_default();
        // A program that was cut off is not asked the same again, and that is said too.
        let is_of_program = nodes.iter().all(|node| {
            node["state"] == "complete"
                || node["id"] == "3" && !node["reason"].as_str().unwrap_or_default().is_empty()
        });
        if shown["state"] != "complete" && !is_of_git && !is_of_program {
            return Err(format!("it ended as {shown}"));
        }
        let ids: Vec<&str> = nodes.iter().filter_map(|it| it["id"].as_str()).collect();
        if ids != ["1", "2", "2[a]", "2[b]", "3"] && !is_of_git {
            return Err(format!("its nodes are {ids:?}"));
        }
        let items = nodes
            .iter()
            .filter(|it| it["agent"] == "boss" && it["items"].is_null());
        for node in items.filter(|it| it["state"] == "complete") {
            self.check_item(run, node)?;
        }
        for node in &nodes {
            let tries = node["attempts"].as_array().cloned().unwrap_or_default();
            let ends = tries.iter().filter(|it| it["state"] == "complete");
            if ends.count() > 1 {
                return Err(format!("more than one end: {node}"));
            }
        }
        let summed = self.session.has("project/summed");
        if summed && self.session.read("project/summed") != "ran\n" {
            return Err("the program's command ran twice".to_owned());
        }
        self.check_store(run, is_of_git)?;
        let mark = format!("GROVE_RUN={run}/");
        while environments().iter().any(|(_, it)| it.contains(&mark)) {
            if over.elapsed() > AFTERWARDS {
                return Err("a process is left".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // What could not be captured stays, and is named.
        let kept = |node: &Value| !node["worktree"]["kept"].is_null();
        let trees = self.session.path("state/grove/worktrees").join(run);
        if trees.exists() && !nodes.iter().any(kept) {
            return Err("a working tree is left".to_owned());
        }
        Ok(())
    }

    /// Its command ran once at most, and once when somebody saw it; it asked for one run, and that is over.
    fn check_item(&self, run: &str, node: &Value) -> Result<(), String> {
        let id = node["id"].as_str().unwrap_or_default();
        let patch = self.session.grove(["runs", "diff", &format!("{run}.{id}")]);
        let times = patch.stdout.lines().filter(|line| *line == "+ran").count();
        let is_kept = !node["worktree"]["kept"].is_null();
        if times > 1 || (node["patch"].is_null() && !is_kept) {
            return Err(format!("{id} has a patch with {times} lines: {patch}"));
        }
        let tries = node["attempts"].as_array().cloned().unwrap_or_default();
        let asked: Vec<Value> = tries
            .iter()
            .flat_map(|it| it["delegated"].as_array().cloned().unwrap_or_default())
            .collect();
        let [nested] = asked.as_slice() else {
            return Err(format!("{id} asked for {asked:?}"));
        };
        let nested = nested.as_str().unwrap_or_default();
        let below = self.session.json(["runs", "show", nested]);
        if below["state"] != "complete" || below["result"] != "<Look>" {
            return Err(format!("below {id} there is {below}"));
        }
        Ok(())
    }

    /// Every journal is whole, and nobody holds anything.
    fn check_store(&self, run: &str, is_of_git: bool) -> Result<(), String> {
        let text = |error: grove_store::StoreError| error.to_string();
        let store = Store::open(&self.session.path("state/grove/runs.db")).map_err(text)?;
        let rows = store.runs(&RunFilter::default()).map_err(text)?;
        if rows.len() != 3 && !is_of_git {
            return Err(format!("there are {} runs", rows.len()));
        }
        let mut spent = 0;
        for row in &rows {
            if let Some(fault) = store.verify(&row.id).map_err(text)? {
                return Err(format!("the chain of {} is broken: {fault}", row.id));
            }
            let own = store.load(&row.id).map_err(text)?;
            let own = own.state.nodes.values().flat_map(|node| &node.attempts);
            spent += own.map(|attempt| attempt.usage.counted()).sum::<u64>();
        }
        let open = store.outbox().map_err(text)?;
        if !open.is_empty() {
            return Err(format!("{} effects are open", open.len()));
        }
        let whole = store.load(run).map_err(text)?.state.spent.counted();
        if whole != spent {
            return Err(format!("{spent} tokens were used, and {whole} are counted"));
        }
        Ok(())
    }

    /// The run that nobody is above, if one was accepted.
    fn run(&self) -> Option<String> {
        let listed = self.session.json("runs list");
        let runs = listed["runs"].as_array()?.iter();
        let first = runs.rev().find(|it| it["parent"].is_null())?;
        first["id"].as_str().map(str::to_owned)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        end_all(&self.session);
    }
}

fn strike(point: &Point) -> Result<&'static str, String> {
    let graph = Graph::new();
    let session = &graph.session;
    let killed = match point {
        Point::Supervisor(call, n) => {
            let supervisor = supervisor(session, &injected(call, *n));
            session.grove(Graph::words(&["--bg"])).ok();
            supervisor
        }
        Point::Client(call, n) => {
            let mut client = traced(session, &injected(call, *n), &Graph::words(&[]));
            wait_for(&mut client);
            client
        }
    };
    let Some(run) = graph.run() else {
        // Nobody was promised anything.
        return Ok("not accepted");
    };
    graph.check(&run)?;
    Ok(if was_killed(killed) {
        "killed"
    } else {
        "not reached"
    })
}

fn all_points() -> Vec<Point> {
    let options = vec!["-e".to_owned(), format!("trace={}", CALLS.join(","))];
    let graph = Graph::new();
    let whole = supervisor(&graph.session, &options);
    graph.session.grove(Graph::words(&[])).ok();
    end_trace(whole);
    let counts = most_of_one(&graph.session, &CALLS);
    println!("system calls of the supervisor's tree {counts:?}");
    let mut points: Vec<Point> = points_of(&counts)
        .map(|(call, n)| Point::Supervisor(call, n))
        .collect();
    let clients = ["fdatasync", "pwrite64", "connect", "sendto"];
    points.extend(clients.map(|call| Point::Client(call.to_owned(), 1)));
    points
}

#[test]
fn whoever_is_killed_in_a_graph_everybody_has_one_end_and_nothing_is_left() {
    let points = if std::env::var_os(ALL).is_some() {
        all_points()
    } else {
        [4, 9, 14, 19, 24, 30, 36, 42]
            .map(|n| Point::Supervisor("fdatasync".to_owned(), n))
            .into()
    };
    go_through(&points, strike);
}
