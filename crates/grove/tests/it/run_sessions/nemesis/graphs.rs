//! `kill -9` at every point of a graph: a chain with a child for each item of a list, each in a working tree of its own and
//! each asking another agent, and with an agent program as the last step. Afterwards everybody has one end, every patch is
//! there, and nothing is left: no process, no lease, no working tree.
//!
//! `cargo xtask nemesis graph` goes through all points, and `--random N` through so many moments ([`moments`]). What else a
//! machine does to a run is in [`disturbances`] and [`full_disk`], and what has to hold in the end in [`aftermath`].

mod aftermath;
mod disturbances;
mod full_disk;
mod moments;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use grove_testkit::model_server::{ModelServer, Reply, Request, Script};
use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::session::{PATH, Session, USER_CONFIG};
use serde_json::{Value, json};

use aftermath::Ends;

use super::super::{AGENT, KEY, bash, end_all, environments};
use super::{
    ALL, CALLS, end_trace, go_through, injected, most_of_one, points_of, supervisor, traced,
    wait_for, was_killed,
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

/// Whom something happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whom {
    Supervisor,
    Keeper,
    /// A process that a tool started, or an agent program.
    Child,
    /// The view.
    Client,
}

struct Graph {
    _server: ModelServer,
    session: Session,
}

/// Graphs wait more than they work.
const AT_A_TIME: usize = 4;
/// The events that a client was told.
const TOLD: &str = "told.jsonl";

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
        Self::of(|_| {})
    }

    /// The same in a home that is prepared before anything is in it.
    fn of(prepare: impl FnOnce(&Session)) -> Self {
        let server = ModelServer::start(Script::chosen_by(|_, request| answer(request))).unwrap();
        let session = crate::session();
        let path = format!("{}:{PATH}", session.path("bin").display());
        let session = session
            .with_env("PATH", path)
            .with_env("ANTHROPIC_BASE_URL", server.url())
            .with_env("ANTHROPIC_API_KEY", KEY)
            .with_env("TEST_KEY", KEY);
        prepare(&session);
        session.dir("bin").dir("project");
        symlink(Need::Codex.path(), session.path("bin/codex")).unwrap();
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

    /// Somebody who runs the graph and keeps what is told of it.
    fn client(&self) -> Child {
        let told = File::create(self.session.path(TOLD)).unwrap();
        let mut command = self.session.command("project");
        let command = command.args(Graph::words(&["--json"])).stdin(Stdio::null());
        command.stdout(told).stderr(Stdio::null()).spawn().unwrap()
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

/// The processes of a session that are `whom`.
fn processes(session: &Session, whom: Whom) -> Vec<u32> {
    let ours = format!("XDG_STATE_HOME={}\0", session.path("state").display());
    let root = session.path("");
    // A keeper has no environment of its own.
    let drivers = match whom {
        Whom::Keeper => processes(session, Whom::Supervisor),
        _ => Vec::new(),
    };
    let is = |(pid, environment): &(u32, String)| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let argument = line.split(|byte| *byte == 0).nth(1).unwrap_or_default();
        match whom {
            Whom::Supervisor => environment.contains(&ours) && argument == b"supervise",
            Whom::Keeper => argument == b"__keeper" && drivers.contains(&parent_of(*pid)),
            Whom::Child => {
                let is_marked = environment.contains("GROVE_RUN=");
                is_marked && argument != b"__keeper" && works_below(*pid, &root)
            }
            Whom::Client => environment.contains(&ours) && argument == b"run",
        }
    };
    let all = environments().into_iter();
    all.filter(is).map(|(pid, _)| pid).collect()
}

/// Who started a process; nobody when it is gone.
fn parent_of(pid: u32) -> u32 {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program may have spaces in it.
    let after = line.rsplit(')').next().unwrap_or_default();
    let parent = after.split_whitespace().nth(1);
    parent.and_then(|it| it.parse().ok()).unwrap_or_default()
}

fn works_below(pid: u32, folder: &Path) -> bool {
    let place = std::fs::read_link(format!("/proc/{pid}/cwd"));
    place.is_ok_and(|place| place.starts_with(folder))
}

fn signal(name: &str, pids: &[u32]) -> bool {
    let mut kill = grove_testkit::process::kill();
    kill.arg(name).args(pids.iter().map(u32::to_string));
    !pids.is_empty() && kill.stderr(Stdio::null()).status().unwrap().success()
}

/// How long a graph takes when nobody disturbs it but the others beside it.
fn undisturbed() -> Duration {
    let one = || {
        let graph = Graph::new();
        let began = Instant::now();
        wait_for(&mut graph.client());
        began.elapsed()
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(one)).collect();
        let all = all.into_iter().map(|it| it.join().unwrap());
        all.max().unwrap()
    })
}

/// The nth of many moments in such a time, with steps that have no common measure with anything in it.
fn moment(n: usize, time: Duration) -> Duration {
    let time = u64::try_from(time.as_millis()).unwrap().max(1);
    Duration::from_millis(n as u64 * 7_919 % time)
}

/// Strikes at every point, several graphs at a time, and says how it goes; all have to come out well.
fn side_by_side<P: fmt::Display + Sync>(
    points: &[P],
    strike: impl Fn(&P) -> Result<String, String> + Sync,
) -> BTreeMap<String, usize> {
    let (next, began) = (AtomicUsize::new(0), Instant::now());
    let ends: Mutex<(BTreeMap<String, usize>, Vec<String>)> = Mutex::default();
    let work = || {
        while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
            let end = catch_unwind(AssertUnwindSafe(|| strike(point)));
            let end = end.unwrap_or_else(|_| Err("the strike itself failed".to_owned()));
            let mut ends = ends.lock().unwrap();
            match end {
                Ok(outcome) => *ends.0.entry(outcome).or_default() += 1,
                Err(message) => {
                    println!("FAILED {point}: {message}");
                    ends.1.push(point.to_string());
                }
            }
            let done = ends.0.values().sum::<usize>() + ends.1.len();
            if done.is_multiple_of(50) || done == points.len() {
                let (failed, time) = (ends.1.len(), began.elapsed().as_secs());
                let of = points.len();
                println!("{done} of {of} in {time} s, {failed} failed: {:?}", ends.0);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(work);
        }
    });
    let (outcomes, failed) = ends.into_inner().unwrap();
    assert_eq!(failed, Vec::<String>::new());
    outcomes
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
    graph.check(&run, Ends::AsPlanned)?;
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
    // Whoever mends something wants the points of one call alone.
    let wanted = std::env::var("GROVE_NEMESIS_CALL").ok();
    points.retain(|point| {
        let wanted = wanted.as_deref();
        wanted.is_none_or(|call| point.to_string().contains(call))
    });
    points
}

#[test]
fn whoever_is_killed_in_a_graph_everybody_has_one_end_and_nothing_is_left() {
    needs![Codex, Strace];
    let points = if std::env::var_os(ALL).is_some() {
        all_points()
    } else {
        [4, 9, 14, 19, 24, 30, 36, 42]
            .map(|n| Point::Supervisor("fdatasync".to_owned(), n))
            .into()
    };
    go_through(&points, strike);
}
