//! `kill -9` of supervisor, keeper, tool and client at every point of one run: whoever comes next finds a journal that folds
//! to what is listed, nothing ran twice, the run ends in a state that says what happened, and nothing of it is left.
//!
//! Here a short list; `cargo xtask nemesis one` goes through all points, and `nemesis gates` through those of a run whose work
//! is looked at: asked for what is missing, verified twice, and reviewed; `nemesis sessions` through those at which the file
//! of a session is written.

mod graphs;
mod session_files;

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use grove_engine::below::grove_store::{RunFilter, Store};
use grove_testkit::model_server::{
    MarkedReplies, ModelServer, Reply, Script, ScriptFile, ScriptedError, ScriptedReply,
};
use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::{end_all, environments, within};

/// Whether all points are gone through.
const ALL: &str = "GROVE_NEMESIS_ALL";
/// Between the end of a recovered run and the end of everything that it started.
const AFTERWARDS: Duration = Duration::from_secs(2);
/// Far more than a run takes, however busy the machine is.
const LIMIT: Duration = Duration::from_mins(1);
/// The system calls around which something is done: commits, connections, requests, processes and their ends.
const CALLS: [&str; 12] = [
    "fdatasync",
    "pwrite64",
    "connect",
    "sendto",
    "writev",
    "clone3",
    "vfork",
    "execve",
    "setsid",
    "pidfd_open",
    "wait4",
    "unlink",
];
/// More of one call is more of the same.
const MOST_OF_ONE: usize = 60;
const TASK: &str = "NEMESIS: count";

/// Where somebody is killed.
#[derive(Debug, Clone)]
enum Point {
    /// A process of the supervisor's tree, when it enters a system call for the nth time.
    Supervisor(String, usize),
    /// The view, likewise.
    Client(String, usize),
    /// By the tool itself.
    Tool(&'static str, &'static str),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Supervisor(call, n) => write!(f, "supervisor at {call} {n}"),
            Self::Client(call, n) => write!(f, "client at {call} {n}"),
            Self::Tool(name, _) => write!(f, "tool: {name}"),
        }
    }
}

/// What the first command does; `$PPID` is the keeper, and its parent the supervisor.
const TOOLS: [(&str, &str); 5] = [
    (
        "its keeper before the effect",
        "kill -9 $PPID; sleep 5; echo ran >> ran",
    ),
    (
        "its keeper after the effect",
        "echo ran >> ran; kill -9 $PPID; sleep 5",
    ),
    ("itself after the effect", "echo ran >> ran; kill -9 $$"),
    (
        "the supervisor before the effect",
        "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 5; echo ran >> ran",
    ),
    (
        "keeper and supervisor after the effect",
        "echo ran >> ran; S=$(cut -d' ' -f4 /proc/$PPID/stat); setsid sleep 3071.5 & kill -9 $S $PPID; sleep 5",
    ),
];
const COMMAND: &str = "echo ran >> ran";

fn script(command: &str) -> Script {
    let call = |command: &str| Reply::call("bash", json!({ "command": command }));
    let refused = ScriptedReply {
        error: Some(ScriptedError {
            status: 429,
            message: "later".to_owned(),
            headers: vec![("retry-after".to_owned(), "0".to_owned())],
            ..ScriptedError::default()
        }),
        ..ScriptedReply::default()
    };
    let first = ScriptedReply {
        text: Some("I run it.".to_owned()),
        ..call(command).into()
    };
    let first = ScriptedReply {
        tries: vec![refused, first],
        ..ScriptedReply::default()
    };
    let data = ScriptedReply {
        structured: Some(json!({ "n": 3 })),
        ..ScriptedReply::default()
    };
    Script::from(ScriptFile {
        marked: vec![MarkedReplies {
            marker: "NEMESIS".to_owned(),
            turns: vec![first, call("echo two >> two; sleep 0.02").into(), data],
        }],
        ..ScriptFile::default()
    })
}

/// What the run is that somebody is killed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// Text, calls, data and a retry.
    One,
    /// Work that is looked at.
    Gates,
}

struct Scene {
    server: ModelServer,
    session: Session,
    act: Act,
}

impl Scene {
    fn new(act: Act, command: &str) -> Self {
        match act {
            Act::One => Self::one(command),
            Act::Gates => Self::gates(command),
        }
    }

    /// A child that forgets something, is asked for it, mends it, and is looked at by another.
    fn gates(command: &str) -> Self {
        let command = command.to_owned();
        let (server, session) = super::graphs::scene(move |task, turns| {
            if task.starts_with("Look at what another agent did") {
                let fine = json!({ "blockers": [], "notes": [] });
                return Reply::call("structured_output", fine);
            }
            match turns {
                0 => super::bash(&command),
                2 => super::bash("touch mended"),
                _ => Reply::text("Done."),
            }
        });
        let request = json!({
            "agent": "worker",
            "task": TASK,
            "acceptance": { "verify": ["test -e mended"], "review": { "agent": "judge" } },
        });
        session.file("project/request.json", request.to_string());
        first_commit(&session);
        let act = Act::Gates;
        Self {
            server,
            session,
            act,
        }
    }

    fn one(command: &str) -> Self {
        let server = ModelServer::start(script(command)).unwrap();
        let session = super::scene(&server);
        session.definition(super::AGENT, "tools: bash, write\n", "You count.");
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        session.file("project/schema.json", schema.to_string());
        let act = Act::One;
        Self {
            server,
            session,
            act,
        }
    }

    fn words<'a>(act: Act, more: &[&'a str]) -> Vec<&'a str> {
        match act {
            Act::One => super::run(TASK, &[&["--schema", "schema.json"], more].concat()),
            Act::Gates => [&["run", "--request", "request.json"], more].concat(),
        }
    }

    /// The run, if one was accepted.
    fn run(&self) -> Option<String> {
        let listed = self.session.json("runs list");
        listed["runs"][0]["id"].as_str().map(str::to_owned)
    }

    /// How often each system call is made by whoever makes it most often, when nobody is killed.
    fn count(act: Act, of_client: bool) -> BTreeMap<String, usize> {
        let scene = Self::new(act, COMMAND);
        let words = Self::words(act, &[]);
        let trace = vec!["-e".to_owned(), format!("trace={}", CALLS.join(","))];
        if of_client {
            let quiet = ["-e".to_owned(), "trace=none".to_owned()];
            let supervisor = supervisor(&scene.session, &quiet);
            wait_for(&mut traced(&scene.session, &trace, &words));
            end_trace(supervisor);
        } else {
            let supervisor = supervisor(&scene.session, &trace);
            scene.session.grove(words).ok();
            end_trace(supervisor);
        }
        most_of_one(&scene.session, &CALLS)
    }
}

/// A repository with the request in it.
fn first_commit(session: &Session) {
    let line = "git init -q . && git add request.json && git -c user.name=t -c user.email=t@t commit -qm first";
    let made = Command::new("sh")
        .args(["-c", line])
        .current_dir(session.path("project"))
        .status();
    assert!(made.unwrap().success());
}

/// The program under `strace`, which does what `options` say.
fn traced(session: &Session, options: &[String], words: &[&str]) -> Child {
    let grove = session.command("project");
    let mut strace = Command::new(Need::Strace.path());
    strace
        .args(["-f", "-q", "-o"])
        .arg(session.path("trace"))
        .args(options)
        .arg(grove.get_program())
        .args(words)
        .current_dir(session.path("project"))
        .env_clear()
        .envs(
            grove
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    strace.spawn().unwrap()
}

/// A supervisor under `strace`, once it listens or has ended.
fn supervisor(session: &Session, options: &[String]) -> Child {
    let mut supervisor = traced(session, options, &["supervise"]);
    until(|| {
        let health = session.json("doctor");
        health["runs"]["supervisor"] == true || supervisor.try_wait().unwrap().is_some()
    });
    supervisor
}

/// How often each of some system calls is made by whoever makes it most often, as `strace` has seen it.
fn most_of_one(session: &Session, calls: &[&str]) -> BTreeMap<String, usize> {
    let text = session.read("trace");
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in text.lines() {
        let mut parts = line.splitn(2, char::is_whitespace);
        let (Some(pid), Some(rest)) = (parts.next(), parts.next()) else {
            continue;
        };
        let name = rest.trim_start().split('(').next().unwrap_or_default();
        if calls.contains(&name) {
            *counts.entry((pid.to_owned(), name.to_owned())).or_default() += 1;
        }
    }
    let mut most: BTreeMap<String, usize> = BTreeMap::new();
    for ((_, name), n) in counts {
        let known = most.entry(name).or_default();
        *known = n.max(*known);
    }
    most
}

/// Asked to end, `strace` writes down what it has seen; killed, it would not.
fn end_trace(mut traced: Child) {
    let _ = grove_testkit::process::kill()
        .arg(traced.id().to_string())
        .status();
    wait_for(&mut traced);
}

/// Every nth time of every call, up to so many of one.
fn points_of(counts: &BTreeMap<String, usize>) -> impl Iterator<Item = (String, usize)> {
    let each = |(call, n): (&String, &usize)| {
        let call = call.clone();
        (1..=(*n).min(MOST_OF_ONE)).map(move |n| (call.clone(), n))
    };
    counts.iter().flat_map(each)
}

impl Drop for Scene {
    fn drop(&mut self) {
        // Supervisors stay for some seconds; none stays longer than its scene.
        end_all(&self.session);
    }
}

fn wait_for(child: &mut Child) {
    until(|| child.try_wait().unwrap().is_some());
}

fn until(holds: impl FnMut() -> bool) {
    within(LIMIT, "it does not come to that", holds);
}

fn injected(call: &str, n: usize) -> Vec<String> {
    let inject = format!("inject={call}:signal=KILL:when={n}");
    ["-e", &format!("trace={call}"), "-e", &inject]
        .map(str::to_owned)
        .to_vec()
}

fn was_killed(mut traced: Child) -> bool {
    let status = traced.try_wait().ok().flatten();
    status.is_some_and(|status| status.signal() == Some(9))
}

/// Kills somebody, lets somebody else go on, and looks at what there is.
fn strike(act: Act, point: &Point) -> Result<&'static str, String> {
    let command = match point {
        Point::Tool(_, command) => command,
        _ => COMMAND,
    };
    let scene = Scene::new(act, command);
    let traced = match point {
        Point::Supervisor(call, n) => {
            let supervisor = supervisor(&scene.session, &injected(call, *n));
            scene.session.grove(Scene::words(act, &["--bg"])).ok();
            Some(supervisor)
        }
        Point::Client(call, n) => {
            let mut client = traced(&scene.session, &injected(call, *n), &Scene::words(act, &[]));
            wait_for(&mut client);
            Some(client)
        }
        Point::Tool(..) => {
            scene.session.grove(Scene::words(act, &["--bg"])).ok();
            None
        }
    };
    let Some(run) = scene.run() else {
        // Nobody was promised anything.
        return Ok("not accepted");
    };
    let waited = scene
        .session
        .grove(["runs", "wait", &run, "--timeout", "40", "--json"]);
    let over = Instant::now();
    // Whoever was traced and is alive came to fewer of these calls than expected.
    let was_killed = traced.is_none_or(was_killed);
    let shown: Value = serde_json::from_str(waited.stdout.lines().last().unwrap_or_default())
        .map_err(|error| format!("{error}: {waited}"))?;
    check_state(&scene, &run, &shown)?;
    check_effects(&scene, &shown)?;
    let mark = format!("GROVE_RUN={run}/");
    let is_left = || {
        environments()
            .iter()
            .any(|(_, environment)| environment.contains(&mark))
    };
    while is_left() {
        if over.elapsed() > AFTERWARDS {
            return Err("a process is left".to_owned());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(if was_killed { "killed" } else { "not reached" })
}

/// The run is over, its journal is whole and folds to what is listed, and nothing is open.
fn check_state(scene: &Scene, run: &str, shown: &Value) -> Result<(), String> {
    let store = Store::open(&scene.session.path("state/grove/runs.db"))
        .map_err(|error| error.to_string())?;
    if let Some(fault) = store.verify(run).map_err(|error| error.to_string())? {
        return Err(format!("the chain is broken: {fault}"));
    }
    let loaded = store.load(run).map_err(|error| error.to_string())?;
    let rows = store
        .runs(&RunFilter::default())
        .map_err(|error| error.to_string())?;
    let row = rows
        .iter()
        .find(|row| row.id == run)
        .ok_or("it is not listed")?;
    let folded = loaded.state.run();
    if (folded.word(), loaded.state.spent.counted()) != (row.state.as_str(), row.tokens) {
        return Err(format!("listed as {row:?} and folds to {folded:?}"));
    }
    let open: Vec<String> = store
        .outbox_of(run)
        .map_err(|error| error.to_string())?
        .iter()
        .map(|row| row.effect.to_string())
        .collect();
    let expected: Vec<String> = loaded.state.open.keys().map(ToString::to_string).collect();
    if open != expected || !open.is_empty() {
        return Err(format!(
            "open are {open:?}, and the journal says {expected:?}"
        ));
    }
    let nodes = &shown["nodes"][0];
    let is_right = match scene.act {
        Act::One => nodes["output"]["structured"] == json!({ "n": 3 }),
        // One verdict, by what there is in the end: where the child's command was killed, nothing was mended; where the
        // verifying one was, nobody saw it succeed.
        Act::Gates => {
            let end = &nodes["checks"][0]["end"];
            let was_hit = !end["notStarted"].is_null() || !end["signal"].is_null();
            let is_mended = scene.session.has("project/mended") && !was_hit;
            let word = if is_mended { "reviewed" } else { "rejected" };
            shown["acceptance"] == word && nodes["output"]["text"] == "Done."
        }
    };
    if folded.word() != "complete" || !is_right {
        return Err(format!("it ended as {shown}"));
    }
    if nodes["notProvenEnded"] != Value::Null {
        return Err(format!("not proven ended: {}", nodes["notProvenEnded"]));
    }
    Ok(())
}

/// Nothing ran twice, and what returned well did run.
fn check_effects(scene: &Scene, shown: &Value) -> Result<(), String> {
    let run = shown["id"].as_str().unwrap_or_default();
    let logs = scene.session.grove(["runs", "logs", run, "--json"]).ok();
    let facts: Vec<Value> = logs
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let returned = |command: &str| {
        let call = facts.iter().find(|fact| {
            let text = fact["call"]["arguments"]["inline"]["command"].as_str();
            text.is_some_and(|text| text.contains(command))
        })?;
        let id = &call["call"]["id"];
        let end = facts
            .iter()
            .find(|fact| fact["fact"] == "returned" && fact["call"] == *id);
        Some(end.is_some_and(|end| end["outcome"]["isError"] == false))
    };
    for (file, command) in [("ran", ">> ran"), ("two", ">> two")] {
        let path = format!("project/{file}");
        let times = if scene.session.has(&path) {
            scene.session.read(&path).lines().count()
        } else {
            0
        };
        let is_right = match returned(command) {
            Some(true) => times == 1,
            _ => times <= 1,
        };
        if !is_right {
            return Err(format!("`{file}` was written {times} times"));
        }
    }
    // Each turn was asked for, and the first of them once more for the refusal.
    if scene.server.requests().len() < 4 {
        return Err("nobody asked".to_owned());
    }
    Ok(())
}

fn all_points(act: Act) -> Vec<Point> {
    let of_supervisor = Scene::count(act, false);
    let of_client = Scene::count(act, true);
    println!(
        "system calls of the supervisor's tree {of_supervisor:?}, of the client {of_client:?}"
    );
    let mut points: Vec<Point> = TOOLS
        .iter()
        .map(|(name, command)| Point::Tool(name, command))
        .collect();
    points.extend(points_of(&of_supervisor).map(|(call, n)| Point::Supervisor(call, n)));
    points.extend(points_of(&of_client).map(|(call, n)| Point::Client(call, n)));
    points
}

fn few_points(act: Act) -> Vec<Point> {
    let supervisor = |call: &str, n| Point::Supervisor(call.to_owned(), n);
    if act == Act::Gates {
        // The look before, the first verification, the asking, the second, and the review.
        return [2, 12, 16, 21, 25, 29]
            .map(|n| supervisor("fdatasync", n))
            .to_vec();
    }
    let mut points = vec![
        supervisor("fdatasync", 3),
        supervisor("fdatasync", 8),
        supervisor("pwrite64", 25),
        supervisor("connect", 1),
        supervisor("setsid", 1),
        Point::Client("fdatasync".to_owned(), 2),
    ];
    points.extend(
        TOOLS
            .iter()
            .map(|(name, command)| Point::Tool(name, command)),
    );
    points
}

#[test]
fn whoever_is_killed_nothing_is_lost_and_nothing_runs_twice() {
    needs![Strace];
    strike_all(Act::One);
}

#[test]
fn whoever_is_killed_while_work_is_looked_at_there_is_one_verdict() {
    needs![Strace];
    strike_all(Act::Gates);
}

fn strike_all(act: Act) {
    let is_all = std::env::var_os(ALL).is_some();
    let points = if is_all {
        all_points(act)
    } else {
        few_points(act)
    };
    go_through(&points, |point| strike(act, point));
}

/// Strikes at each point; all have to come out well, and most of them to be reached.
fn go_through<P: fmt::Display>(points: &[P], strike: impl Fn(&P) -> Result<&'static str, String>) {
    let ends = points.iter().map(|it| (it.to_string(), strike(it)));
    let outcomes = report(ends);
    // A point that nobody comes to shows nothing; how many calls there are differs a little from run to run.
    let killed = outcomes.get("killed").copied().unwrap_or_default();
    assert!(killed * 10 >= points.len() * 6, "{outcomes:?}");
}

/// Says what came of each point; all have to come out well.
fn report(
    ends: impl IntoIterator<Item = (String, Result<&'static str, String>)>,
) -> BTreeMap<&'static str, usize> {
    let (mut failed, mut outcomes) = (Vec::new(), BTreeMap::new());
    let mut count = 0;
    for (point, end) in ends {
        count += 1;
        match end {
            Ok(outcome) => *outcomes.entry(outcome).or_default() += 1,
            Err(message) => {
                println!("FAILED {point}: {message}");
                failed.push(point);
            }
        }
    }
    println!("{count} points, {} failed: {outcomes:?}", failed.len());
    assert_eq!(failed, Vec::<String>::new());
    outcomes
}
