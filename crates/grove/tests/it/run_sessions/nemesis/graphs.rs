//! `kill -9` at every point of a graph: a chain with a child for each item of a list, each in a working tree of its own and
//! each asking another agent. Afterwards everybody has one end, every patch is there, and nothing is left: no process, no
//! lease, no working tree.
//!
//! `cargo xtask nemesis graph` goes through all points, and with `--random N` through so many moments by chance.

use std::fmt;
use std::process::Command;
use std::time::{Duration, Instant};

use grove_store::{RunFilter, Store};
use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::super::{bash, end_all, environments, holder_of};
use super::{
    AFTERWARDS, ALL, CALLS, end_trace, go_through, injected, most_of_one, points_of, supervisor,
    traced, wait_for, was_killed,
};

/// How many moments by chance.
const RANDOM: &str = "GROVE_NEMESIS_RANDOM";

/// Where somebody is killed.
enum Point {
    /// The supervisor's tree, when one of it enters a system call for the nth time.
    Supervisor(String, usize),
    /// The view, likewise.
    Client(String, usize),
    /// The supervisor, so many milliseconds after the beginning.
    After(u64),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Supervisor(call, n) => write!(f, "supervisor at {call} {n}"),
            Self::Client(call, n) => write!(f, "client at {call} {n}"),
            Self::After(milliseconds) => write!(f, "supervisor after {milliseconds} ms"),
        }
    }
}

struct Graph {
    _server: ModelServer,
    session: Session,
}

impl Graph {
    fn new() -> Self {
        let (server, session) = super::super::graphs::scene(|task, turns| {
            let first = task.lines().next().unwrap_or_default();
            match (first, turns) {
                ("Which?", _) => {
                    let items = json!({ "items": [{ "key": "a" }, { "key": "b" }] });
                    Reply::call("structured_output", items)
                }
                (line, 0) if line.starts_with("Do ") => bash("echo ran >> ran"),
                (line, 1) if line.starts_with("Do ") => {
                    Reply::call("subagent", json!({ "agent": "judge", "task": "Look" }))
                }
                (line, _) => Reply::text(format!("<{line}>")),
            }
        });
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
                { "agent": "judge", "task": "Sum up" },
            ],
        });
        session.file("project/request.json", request.to_string());
        let line = "git init -q . && git add request.json && git -c user.name=t -c user.email=t@t commit -qm first";
        let made = Command::new("sh")
            .args(["-c", line])
            .current_dir(session.path("project"))
            .status();
        assert!(made.unwrap().success());
        Self {
            _server: server,
            session,
        }
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
        if shown["state"] != "complete" && !is_of_git {
            return Err(format!("it ended as {shown}"));
        }
        let nodes = shown["nodes"].as_array().cloned().unwrap_or_default();
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
    let mut killed = None;
    match point {
        Point::Supervisor(call, n) => {
            killed = Some(supervisor(session, &injected(call, *n)));
            session.grove(Graph::words(&["--bg"])).ok();
        }
        Point::Client(call, n) => {
            let mut client = traced(session, &injected(call, *n), &Graph::words(&[]));
            wait_for(&mut client);
            killed = Some(client);
        }
        Point::After(milliseconds) => {
            let id = session.grove(Graph::words(&["--bg"])).ok().stdout;
            std::thread::sleep(Duration::from_millis(*milliseconds));
            let logs = session.grove(["runs", "logs", id.trim(), "--json"]).ok();
            if logs.stdout.contains("leased") {
                let pid = holder_of(session, id.trim());
                let _ = Command::new("kill").args(["-9", &pid]).status();
            }
        }
    }
    let Some(run) = graph.run() else {
        // Nobody was promised anything.
        return Ok("not accepted");
    };
    graph.check(&run)?;
    let is_killed = killed.is_none_or(was_killed);
    Ok(if is_killed { "killed" } else { "not reached" })
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
    let random = std::env::var(RANDOM).ok();
    let random: Option<u64> = random.and_then(|it| it.parse().ok());
    let points = if let Some(count) = random {
        // Spread over the two seconds that such a run takes, with steps that have no common measure with anything in it.
        let moments = (0..count).map(|n| n.saturating_mul(7_919) % 2_003);
        moments.map(Point::After).collect()
    } else if std::env::var_os(ALL).is_some() {
        all_points()
    } else {
        [4, 9, 14, 19, 24, 30, 36, 42]
            .map(|n| Point::Supervisor("fdatasync".to_owned(), n))
            .into()
    };
    go_through(&points, strike);
}
