//! A graph in which somebody stands still for a while, or the clock of the machine is set. Nobody is dead then, and nobody
//! takes anybody's work away; limits and leases go by the time since the machine was started. Here each once and for a
//! short while; `cargo xtask nemesis disturbances` has them stand for a minute, at several moments.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use grove_engine::below::grove_store::Store;
use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::session::Session;

use super::super::super::within;
use super::super::{ALL, LIMIT, wait_for};
use super::aftermath::Ends;
use super::{Graph, Whom, moment, processes, side_by_side, signal, undisturbed};

/// Further than any limit of a run.
const DAY: i64 = 24 * 60 * 60;

enum Kind {
    /// Somebody gets SIGSTOP, and SIGCONT after such a time.
    Standstill(Whom, Duration),
    /// By so many seconds.
    Clock(i64),
}

struct Disturbance {
    kind: Kind,
    after: Duration,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Standstill(whom, time) => write!(f, "{whom:?} stands still for {time:?}")?,
            Kind::Clock(seconds) => write!(f, "the clock jumps by {seconds} s")?,
        }
        write!(f, " after {:?}", self.after)
    }
}

/// A graph whose processes see a clock that the test sets.
fn with_clock(graph: Graph) -> Graph {
    let library = Need::Faketime.path();
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

fn stand_still(whom: Whom, time: Duration, after: Duration) -> Result<String, String> {
    let graph = Graph::new();
    let session = &graph.session;
    let mut client = graph.client();
    thread::sleep(after);
    let mut found = Vec::new();
    within(LIMIT, "nobody comes and nothing ends", || {
        found = processes(session, whom);
        !found.is_empty() || client.try_wait().unwrap().is_some()
    });
    let is_stopped = signal("-STOP", &found);
    let end = Instant::now() + time;
    let mut drivers = 0;
    while is_stopped && Instant::now() < end {
        // Who stands still is alive: nobody takes its work away.
        let _ = session.grove(["runs", "list"]);
        drivers = drivers.max(processes(session, Whom::Supervisor).len());
        thread::sleep(Duration::from_millis(500).min(time));
    }
    signal("-CONT", &found);
    let run = graph.run().unwrap_or_default();
    let checked = graph.check(&run, Ends::AsPlanned);
    wait_for(&mut client);
    if drivers > 1 {
        return Err("a second supervisor took over from a living one".to_owned());
    }
    Ok(match (checked?, is_stopped) {
        (true, true) => format!("{whom:?} stood still, complete"),
        (true, false) => format!("{whom:?} was gone already"),
        (false, _) => return Err("somebody was held for dead".to_owned()),
    })
}

fn set_clock(seconds: i64, after: Duration) -> Result<String, String> {
    let graph = with_clock(Graph::new());
    let mut client = graph.client();
    thread::sleep(after);
    graph.session.file("clock", format!("{seconds:+}"));
    within(LIMIT, "there is no run", || graph.run().is_some());
    let run = graph.run().unwrap_or_default();
    let checked = graph.check(&run, Ends::AsPlanned);
    wait_for(&mut client);
    if !checked? {
        return Err("a clock that was set ended something".to_owned());
    }
    let store = Store::open(&graph.session.path("state/grove/runs.db"));
    let events = store.unwrap().load(&run).unwrap().events;
    let walls = || events.iter().map(|event| event.at.wall);
    let (first, last) = (walls().min().unwrap(), walls().max().unwrap());
    let jump = seconds.unsigned_abs() * 1_000;
    Ok(match (last - first).checked_sub(jump / 2) {
        Some(_) => "the clock jumped in the middle, complete".to_owned(),
        None => "the clock jumped before or after, complete".to_owned(),
    })
}

fn strike(disturbance: &Disturbance) -> Result<String, String> {
    match disturbance.kind {
        Kind::Standstill(whom, time) => stand_still(whom, time, disturbance.after),
        Kind::Clock(seconds) => set_clock(seconds, disturbance.after),
    }
}

#[test]
fn whoever_stands_still_and_however_the_clock_jumps_a_graph_goes_on() {
    needs![Codex, Faketime];
    let is_all = std::env::var_os(ALL).is_some();
    let (still, often) = if is_all {
        (Duration::from_mins(1), 8)
    } else {
        (Duration::from_secs(2), 1)
    };
    let time = undisturbed();
    let kinds = || {
        [
            Kind::Standstill(Whom::Supervisor, still),
            Kind::Clock(DAY),
            Kind::Standstill(Whom::Keeper, still),
            Kind::Standstill(Whom::Child, still),
            Kind::Clock(-DAY),
        ]
    };
    let all = (0..often).flat_map(|n| {
        let after = time / 4 + moment(n + 1, time / 2);
        kinds().map(|kind| Disturbance { kind, after })
    });
    let outcomes = side_by_side(&all.collect::<Vec<_>>(), strike);
    let kinds = [
        "Supervisor stood",
        "Keeper stood",
        "Child stood",
        "clock jumped in",
    ];
    let happened = |what: &&&str| outcomes.keys().any(|it| it.contains(**what));
    let happened = kinds.iter().filter(happened).count();
    // A single try of each may come too late; of many, each happened.
    let owed = if is_all { kinds.len() } else { 1 };
    assert!(happened >= owed, "{outcomes:?}");
}
