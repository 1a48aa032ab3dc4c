//! The graph struck at moments instead of places: somebody is killed, whatever it is just doing. Here a few;
//! `cargo xtask nemesis graph --random 1000` goes through so many, several graphs at a time.

use std::fmt;
use std::thread;
use std::time::Duration;

use super::super::super::within;
use super::super::LIMIT;
use super::aftermath::Ends;
use super::{Graph, Whom, moment, processes, side_by_side, signal, undisturbed};
use grove_testkit::needs;

/// How many moments, when there are to be many.
const RANDOM: &str = "GROVE_NEMESIS_RANDOM";

struct Kill {
    whom: Whom,
    after: Duration,
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} after {:?}", self.whom, self.after)
    }
}

/// Kills one of those there are, or the first that comes, and lets everybody who is alive go on.
fn strike(kill: &Kill) -> Result<String, String> {
    let graph = Graph::new();
    let mut client = graph.client();
    thread::sleep(kill.after);
    let mut found = Vec::new();
    within(LIMIT, "nobody comes and nothing ends", || {
        found = processes(&graph.session, kill.whom);
        !found.is_empty() || client.try_wait().unwrap().is_some()
    });
    let at = usize::try_from(kill.after.as_millis()).unwrap() % found.len().max(1);
    let is_killed = found.get(at).is_some_and(|pid| signal("-KILL", &[*pid]));
    let run = graph.run();
    let checked = run.map(|run| graph.check(&run, Ends::AsPlanned));
    let _ = client.kill();
    let _ = client.wait();
    let whom = if is_killed {
        format!("{:?} killed", kill.whom)
    } else {
        "nobody killed".to_owned()
    };
    Ok(match checked.transpose()? {
        // Nobody was promised anything.
        None => format!("{whom}, not accepted"),
        Some(true) => format!("{whom}, complete"),
        Some(false) => format!("{whom}, a program or git was cut off"),
    })
}

#[test]
fn whenever_somebody_is_killed_a_graph_has_one_end() {
    needs![Codex];
    let count = std::env::var(RANDOM).ok();
    let count = count.and_then(|it| it.parse().ok()).unwrap_or(5);
    let kinds = [
        Whom::Supervisor,
        Whom::Keeper,
        Whom::Child,
        Whom::Client,
        Whom::Supervisor,
    ];
    let time = undisturbed();
    println!("{count} moments of {time:?}");
    let kills = (0..count).zip(kinds.into_iter().cycle());
    let kills: Vec<Kill> = kills
        .map(|(n, whom)| Kill {
            whom,
            after: moment(n, time),
        })
        .collect();
    let outcomes = side_by_side(&kills, strike);
    let killed = outcomes.iter().filter(|(it, _)| it.contains(" killed"));
    let killed = killed.filter(|(it, _)| !it.starts_with("nobody"));
    let killed: usize = killed.map(|(_, times)| times).sum();
    // A few moments may all come too late; of many, most hit somebody.
    let owed = if count < 50 { 1 } else { count * 6 / 10 };
    assert!(killed >= owed, "{outcomes:?}");
}
