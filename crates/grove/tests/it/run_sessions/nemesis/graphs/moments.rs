//! The graph struck at moments instead of places: somebody is killed, the supervisor stands still for a while, the clock of
//! the machine jumps. Here a few; `cargo xtask nemesis graph --random 1000` goes through so many, several graphs at a time.

use std::fmt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use grove_testkit::session::Session;

use super::super::super::{environments, within};
use super::super::{LIMIT, report};
use super::Graph;

/// How many moments, when there are to be many.
const RANDOM: &str = "GROVE_NEMESIS_RANDOM";
/// Graphs wait more than they work.
const AT_A_TIME: usize = 4;
/// For how long a supervisor stands still.
const LONG_STANDSTILL: Duration = Duration::from_mins(1);
const SHORT_STANDSTILL: Duration = Duration::from_secs(2);
/// Further than any limit of a run.
const DAY: i64 = 24 * 60 * 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whom {
    Supervisor,
    Keeper,
    /// A process that a tool started, or an agent program, or git.
    Child,
    /// The view.
    Client,
}

#[derive(Debug, Clone, Copy)]
enum Strike {
    Kill(Whom),
    Standstill(Duration),
    /// By so many seconds.
    Clock(i64),
}

#[derive(Debug, Clone, Copy)]
struct Moment {
    after: Duration,
    strike: Strike,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} after {:?}", self.strike, self.after)
    }
}

/// The processes of a session that are `whom`.
fn processes(session: &Session, whom: Whom) -> Vec<u32> {
    let ours = format!("XDG_STATE_HOME={}\0", session.path("state").display());
    let root = session.path("");
    let is = |(pid, environment): &(u32, String)| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let argument = line.split(|byte| *byte == 0).nth(1).unwrap_or_default();
        match whom {
            Whom::Supervisor => environment.contains(&ours) && argument == b"supervise",
            Whom::Keeper => environment.contains(&ours) && argument == b"__keeper",
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

fn works_below(pid: u32, folder: &Path) -> bool {
    let place = std::fs::read_link(format!("/proc/{pid}/cwd"));
    place.is_ok_and(|place| place.starts_with(folder))
}

fn signal(name: &str, pids: &[u32]) -> bool {
    let mut kill = Command::new("kill");
    kill.arg(name).args(pids.iter().map(u32::to_string));
    !pids.is_empty() && kill.stderr(Stdio::null()).status().unwrap().success()
}

/// A graph whose processes see a clock that the test sets.
fn with_clock(graph: Graph) -> Graph {
    let folders = std::fs::read_dir("/usr/lib").unwrap().flatten();
    let mut libraries = folders.map(|it| it.path().join("faketime/libfaketimeMT.so.1"));
    let library = libraries.find(|it| it.exists());
    let library = library.expect("no libfaketime; `cargo xtask test` installs `faketime`");
    graph.session.file("clock", "+0");
    let clock = graph.session.path("clock");
    let change = |session: Session| {
        session
            .with_env("LD_PRELOAD", &library)
            .with_env("FAKETIME_TIMESTAMP_FILE", &clock)
            .with_env("FAKETIME_NO_CACHE", "1")
            // A machine's clock is set; the time since it was started is not.
            .with_env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
    };
    graph.with_session(change)
}

fn start(graph: &Graph, words: &[&str]) -> Child {
    let mut command = graph.session.command("project");
    let command = command.args(words).stdin(Stdio::null());
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Strikes, and lets everybody who is alive go on.
fn strike(moment: &Moment) -> Result<&'static str, String> {
    let graph = match moment.strike {
        Strike::Clock(_) => with_clock(Graph::new()),
        _ => Graph::new(),
    };
    let session = &graph.session;
    let mut client = start(&graph, &Graph::words(&[]));
    thread::sleep(moment.after);
    let is_struck = match moment.strike {
        Strike::Kill(whom) => {
            // One of those there are, or the first that comes.
            let mut found = Vec::new();
            within(LIMIT, "nobody comes and nothing ends", || {
                found = processes(session, whom);
                !found.is_empty() || client.try_wait().unwrap().is_some()
            });
            let at = usize::try_from(moment.after.as_millis()).unwrap() % found.len().max(1);
            found.get(at).is_some_and(|pid| signal("-KILL", &[*pid]))
        }
        Strike::Standstill(time) => {
            let found = processes(session, Whom::Supervisor);
            let is_struck = signal("-STOP", &found);
            let end = Instant::now() + time;
            while is_struck && Instant::now() < end {
                // Who stands still is alive: nobody takes its work away.
                let _ = session.grove(["runs", "list"]);
                thread::sleep(Duration::from_millis(500).min(time));
            }
            if is_struck && processes(session, Whom::Supervisor).len() > 1 {
                return Err("a second supervisor took over from a living one".to_owned());
            }
            signal("-CONT", &found);
            is_struck
        }
        Strike::Clock(seconds) => {
            session.file("clock", format!("{seconds:+}"));
            true
        }
    };
    let Some(run) = graph.run() else {
        let _ = client.kill();
        let _ = client.wait();
        return Ok("not accepted");
    };
    let checked = graph.check(&run);
    let _ = client.kill();
    let _ = client.wait();
    checked?;
    Ok(if is_struck { "struck" } else { "not reached" })
}

/// How long a graph takes when nobody disturbs it.
fn undisturbed() -> Duration {
    let graph = Graph::new();
    let began = Instant::now();
    let mut client = start(&graph, &Graph::words(&[]));
    within(LIMIT, "the graph does not end", || {
        client.try_wait().unwrap().is_some()
    });
    began.elapsed()
}

/// Moments spread over the time of a graph, with steps that have no common measure with anything in it.
fn moments(count: usize, time: Duration) -> Vec<Moment> {
    let time = u64::try_from(time.as_millis()).unwrap().max(1);
    let after = |n: usize| Duration::from_millis(n as u64 * 7_919 % time);
    let kinds = [
        Whom::Supervisor,
        Whom::Keeper,
        Whom::Child,
        Whom::Client,
        Whom::Supervisor,
    ];
    let kills = (0..count).zip(kinds.into_iter().cycle());
    let kills = kills.map(|(n, whom)| Moment {
        after: after(n),
        strike: Strike::Kill(whom),
    });
    let is_long = count >= 100;
    let standstill = if is_long {
        LONG_STANDSTILL
    } else {
        SHORT_STANDSTILL
    };
    let others = [
        Strike::Standstill(standstill),
        Strike::Clock(DAY),
        Strike::Clock(-DAY),
    ];
    let often = if is_long { 8 } else { 1 };
    let others = (0..often).flat_map(|n| others.map(|strike| (n, strike)));
    let others = others.map(|(n, strike)| Moment {
        after: after(n + 1) / 2,
        strike,
    });
    kills.chain(others).collect()
}

#[test]
fn whenever_somebody_is_killed_stands_still_or_the_clock_jumps_a_graph_has_one_end() {
    let count = std::env::var(RANDOM).ok();
    let count = count.and_then(|it| it.parse().ok());
    let moments = moments(count.unwrap_or(5), undisturbed());
    let (next, ends) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(moment) = moments.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let end = strike(moment);
                    ends.lock().unwrap().push((moment.to_string(), end));
                }
            });
        }
    });
    let outcomes = report(ends.into_inner().unwrap());
    assert!(outcomes.get("struck").copied().unwrap_or_default() > 0);
}
